package load

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"genreport/measure/broker"
	"genreport/measure/debian"
)

// node is the one shared broker of this package's tests, with a certificate.
var node struct {
	sync.Mutex
	b    *broker.Broker
	root debian.Rootfs
	dir  string
}

func theNode(t *testing.T) *broker.Broker {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a real node")
	}
	node.Lock()
	defer node.Unlock()
	if node.b != nil {
		return node.b
	}
	dir, err := os.MkdirTemp("", "genreport-load-test-")
	if err != nil {
		t.Fatal(err)
	}
	node.dir = dir
	secure, err := broker.GenerateCertificates(dir)
	if err != nil {
		t.Fatal(err)
	}
	node.root = forky(t)
	node.b, err = broker.Start(context.Background(), node.root, broker.Config{TLS: &secure}, broker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return node.b
}

func forky(t *testing.T) debian.Rootfs {
	t.Helper()
	root, err := debian.Debian{Log: func(line string) { t.Log(line) }}.Ensure(context.Background(), broker.Image(), "forky")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func stopNode() (err error) {
	if node.b != nil {
		err = node.b.Stop()
	}
	if node.dir != "" {
		os.RemoveAll(node.dir)
	}
	return err
}

func pikaCommand(ctx context.Context, root debian.Rootfs) *exec.Cmd {
	return root.Command(ctx, debian.CommandOptions{}, "python3", "-c", PikaScript)
}

var clientLabels = []string{"go", "go-batched", "pika"}

// begin starts a real client.
func begin(t *testing.T, label string, job Job) (*Client, error) {
	t.Helper()
	cmd := play(context.Background(), "worker")
	if label == "pika" {
		cmd = pikaCommand(context.Background(), node.root)
	}
	job.Batched = label == "go-batched"
	c, err := Start(context.Background(), cmd, job, nil)
	if c != nil {
		t.Cleanup(func() { c.kill() })
	}
	return c, err
}

func mustBegin(t *testing.T, label string, job Job) *Client {
	t.Helper()
	c, err := begin(t, label, job)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func authority(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestPublish(t *testing.T) {
	b := theNode(t)
	ctx := context.Background()
	for _, secure := range []bool{false, true} {
		uri, ca := b.URI(), ""
		if secure {
			uri, ca = b.TLSURI(), authority(t, b.CAFile())
		}
		for _, label := range clientLabels {
			t.Run(fmt.Sprint(label, " tls ", secure), func(t *testing.T) {
				queue := "load-test." + label
				if err := DeclareEmpty(ctx, uri, ca, queue, Classic); err != nil {
					t.Fatal(err)
				}
				job := Job{Role: Publish, URI: uri, CA: ca, Channels: 4, Queue: queue, Messages: 5000, Size: 100, Limit: 60}
				c := mustBegin(t, label, job)
				r, err := c.Run(ctx)
				if err != nil {
					t.Fatal(err)
				}
				if r.Sent != 5000 || r.Opened != 4 || r.Depth < 1 || r.Depth > 5000 || r.Elapsed <= 0 || r.CPU <= 0 || r.CPU > 2*r.Elapsed+0.1 || r.Error != "" {
					t.Errorf("%+v", r)
				}
				if began := time.Unix(0, r.Began); time.Since(began) < 0 || time.Since(began) > time.Minute {
					t.Errorf("began %v", began)
				}
				if err := c.Stop(); err != nil {
					t.Error(err)
				}
				if !c.cmd.ProcessState.Success() || c.stderr.String() != "" {
					t.Errorf("%v: %s", c.cmd.ProcessState, c.stderr)
				}
				n := 0
				for end := time.Now().Add(10 * time.Second); n < 5000 && err == nil && time.Now().Before(end); {
					n, err = Depth(ctx, uri, ca, queue) // the queue may answer before it has taken all in
				}
				if n != 5000 || err != nil {
					t.Errorf("depth %d, %v; want 5000", n, err)
				}
				library := map[string]string{"go": "amqp091-go", "go-batched": "amqp091-go", "pika": "pika"}[label]
				if c.Ready.Library != library || c.Ready.Version == "" || c.Ready.Runtime == "" {
					t.Errorf("%+v", c.Ready)
				}
				// Made anew it is empty, and deleted it is gone.
				if err := DeclareEmpty(ctx, uri, ca, queue, Classic); err != nil {
					t.Error(err)
				}
				if n, err := Depth(ctx, uri, ca, queue); n != 0 || err != nil {
					t.Errorf("depth %d, %v after declaring it anew", n, err)
				}
				if err := Delete(ctx, uri, ca, queue); err != nil {
					t.Error(err)
				}
				if _, err := Depth(ctx, uri, ca, queue); err == nil || !strings.Contains(err.Error(), "404") {
					t.Errorf("the depth of no queue: %v", err)
				}
			})
		}
	}
}

func TestOpenChannels(t *testing.T) {
	b := theNode(t)
	offered := 0
	for _, tt := range []struct{ label, want string }{
		{"go", "channel id space exhausted"}, // amqp091-go's ErrChannelMax
		{"go-batched", "channel id space exhausted"},
		{"pika", "NoFreeChannels"},
	} {
		c := mustBegin(t, tt.label, Job{Role: OpenChannels, URI: b.URI(), Channels: 100, ChannelMax: 16, Limit: 60})
		r, err := c.Run(context.Background())
		if err != nil {
			t.Errorf("%s: %v", tt.label, err)
			continue
		}
		if r.Opened != 16 || !strings.Contains(r.Error, tt.want) {
			t.Errorf("%s: %+v, want 16 and %q", tt.label, r, tt.want)
		}
		tune := c.Ready.Tune
		// 2047 is the default of rabbitmq.conf's channel_max.
		if tune.Offered != 2047 || tune.Own != 16 || tune.Agreed != 16 {
			t.Errorf("%s: %+v", tt.label, tune)
		}
		if offered != 0 && tune.Offered != offered {
			t.Errorf("the clients don't agree on what is offered: %d and %d", offered, tune.Offered)
		}
		offered = tune.Offered
		list, err := b.Connections(context.Background())
		ours := 0 // a TLS connection of a pika that has left may still be listed
		for _, l := range list {
			if l.Channels == 16 && l.ChannelMax == 16 {
				ours++
			}
		}
		if err != nil || ours != 1 {
			t.Errorf("%s: the broker lists %+v, %v", tt.label, list, err)
		}
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
		// As many as asked for is no error.
		c = mustBegin(t, tt.label, Job{Role: OpenChannels, URI: b.URI(), Channels: 5, Limit: 60})
		if r, err := c.Run(context.Background()); err != nil || r.Opened != 5 || r.Error != "" {
			t.Errorf("%s: %+v, %v", tt.label, r, err)
		}
		if own := map[string]int{"pika": 65535}[tt.label]; c.Ready.Tune.Own != max(own, 2047) || own == 0 && c.Ready.Tune.Own != 2047 {
			t.Errorf("%s: %+v", tt.label, c.Ready.Tune)
		}
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	}
}

func TestRefused(t *testing.T) {
	b := theNode(t)
	other, err := broker.GenerateCertificates(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	open := Job{Role: OpenChannels, Channels: 1, Limit: 30}
	for _, label := range clientLabels {
		for _, tt := range []struct{ name, uri, ca, want string }{
			{"another authority", b.TLSURI(), authority(t, other.CAFile), "certificate"},
			{"the system's authorities", b.TLSURI(), "", "certificate"},
			{"password", strings.Replace(b.URI(), "guest:guest", "guest:s3cret", 1), "", "403"},
		} {
			job := open
			job.URI, job.CA = tt.uri, tt.ca
			_, err := begin(t, label, job)
			if err == nil || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%s, %s: %v", label, tt.name, err)
			} else if !strings.Contains(strings.ToLower(err.Error()), tt.want) {
				t.Errorf("%s, %s: %v, want %q", label, tt.name, err, tt.want)
			}
		}
	}
	// The same certificate by its address: verification takes 127.0.0.1 too.
	job := open
	job.URI, job.CA = strings.Replace(b.TLSURI(), "localhost", "127.0.0.1", 1), authority(t, b.CAFile())
	for _, label := range clientLabels {
		if err := mustBegin(t, label, job).Stop(); err != nil {
			t.Error(err)
		}
	}
}

// endless is a publish job that does not end by itself.
func endless(uri, queue string) Job {
	return Job{Role: Publish, URI: uri, Channels: 2, Queue: queue, Messages: 1e9, Size: 10, Limit: 300}
}

// A job whose node dies ends within seconds, with an error.
func TestNodeDies(t *testing.T) {
	theNode(t)
	b, err := broker.Start(context.Background(), node.root, broker.Config{}, broker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Stop()
	const queue = "load-test.dies"
	if err := DeclareEmpty(context.Background(), b.URI(), "", queue, Classic); err != nil {
		t.Fatal(err)
	}
	var running []*Client
	for _, label := range clientLabels {
		running = append(running, mustBegin(t, label, endless(b.URI(), queue)))
	}
	for _, c := range running {
		if err := c.Go(); err != nil {
			t.Fatal(err)
		}
	}
	within(t, "publishing", func() {
		for {
			if n, err := Depth(context.Background(), b.URI(), "", queue); err != nil || n > 100 {
				return
			}
		}
	})
	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	within(t, "a job whose node has ended", func() {
		for i, c := range running {
			r, err := c.Wait(context.Background())
			if err == nil {
				t.Errorf("%s: %+v", clientLabels[i], r)
			}
			t.Logf("%s: %v", clientLabels[i], err)
			if err := c.Stop(); err != nil {
				t.Error(err)
			}
			wantGone(t, c.cmd.Process.Pid)
		}
	})
	if err := DeclareEmpty(context.Background(), b.URI(), "", queue, Classic); err == nil {
		t.Error("declared a queue on a node that has ended")
	}
}

// A connection that served longer than a closing may take is closed in order
// all the same.
func TestClosesInOrder(t *testing.T) {
	b := theNode(t)
	// A virtual host of its own tells its lines of the log from others.
	for _, args := range [][]string{{"add_vhost", "orderly"}, {"set_permissions", "-p", "orderly", "guest", ".*", ".*", ".*"}} {
		if _, err := b.Ctl(context.Background(), args...); err != nil {
			t.Fatal(err)
		}
	}
	for _, label := range clientLabels {
		c := mustBegin(t, label, Job{Role: OpenChannels, URI: strings.TrimSuffix(b.URI(), "/") + "/orderly", Channels: 1, Limit: 60})
		if label == "go" {
			time.Sleep(11 * time.Second)
		}
		if _, err := c.Run(context.Background()); err != nil {
			t.Error(err)
		}
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	}
	within(t, "the log", func() { // it is written a little later
		for closed := 0; closed < len(clientLabels); time.Sleep(50 * time.Millisecond) {
			closed = 0
			for line := range strings.Lines(b.LogTail(500)) {
				if strings.Contains(line, "vhost: 'orderly'") && strings.Contains(line, "closing AMQP connection") {
					closed++
					if !strings.Contains(line, "[info]") { // a warning: the client is gone without a word
						t.Errorf("not closed in order: %s", line)
						return
					}
				}
			}
		}
	})
}

// parent starts a client that publishes on and on, tells its process id, and
// waits to be killed. Its own input holds the label, the root file system and
// the job.
func parent() {
	var task parentTask
	if err := json.NewDecoder(os.Stdin).Decode(&task); err != nil {
		panic(err)
	}
	cmd := play(context.Background(), "worker")
	if task.Label == "pika" {
		cmd = pikaCommand(context.Background(), task.Root)
	}
	c, err := Start(context.Background(), cmd, task.Job, nil)
	if err == nil {
		err = c.Go()
	}
	if err != nil {
		panic(err)
	}
	fmt.Println(c.cmd.Process.Pid)
	time.Sleep(time.Hour)
}

type parentTask struct {
	Label string
	Root  debian.Rootfs
	Job   Job
}

// kill -9 of who started a client leaves no client behind.
func TestParentKilled(t *testing.T) {
	b := theNode(t)
	for _, label := range clientLabels {
		t.Run(label, func(t *testing.T) {
			queue := "load-test.orphan." + label
			if err := DeclareEmpty(context.Background(), b.URI(), "", queue, Classic); err != nil {
				t.Fatal(err)
			}
			defer Delete(context.Background(), b.URI(), "", queue)
			job := endless(b.URI(), queue)
			job.Batched = label == "go-batched"
			task, err := json.Marshal(parentTask{label, node.root, job})
			if err != nil {
				t.Fatal(err)
			}
			cmd := play(context.Background(), "parent")
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			cmd.Stderr = os.Stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			in.Write(task)
			text, err := bufio.NewReader(out).ReadString('\n')
			pid, convErr := strconv.Atoi(strings.TrimSpace(text))
			if err := errors.Join(err, convErr); err != nil {
				cmd.Process.Kill()
				t.Fatal(err)
			}
			family := append(below(pid), pid)
			if label == "pika" && len(family) < 2 {
				t.Errorf("bwrap has no child: %v", family)
			}
			cmd.Process.Kill()
			cmd.Wait()
			deadline := time.Now().Add(15 * time.Second)
			for _, p := range family {
				for alive(p) && time.Now().Before(deadline) {
					time.Sleep(20 * time.Millisecond)
				}
				if alive(p) {
					t.Errorf("process %d of %v lives on", p, family)
					syscall.Kill(p, syscall.SIGKILL)
				}
			}
		})
	}
}

// stat is state and parent of a process; the name before them may hold anything.
func stat(pid int) (state string, parent int) {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return "", 0
	}
	fmt.Sscan(string(data[strings.LastIndexByte(string(data), ')')+1:]), &state, &parent)
	return state, parent
}

func alive(pid int) bool {
	state, _ := stat(pid)
	return state != "" && state != "Z" && state != "X"
}

func below(root int) (found []int) {
	names, _ := filepath.Glob("/proc/[0-9]*")
	for _, name := range names {
		pid, _ := strconv.Atoi(filepath.Base(name))
		if _, parent := stat(pid); parent == root {
			found = append(append(found, pid), below(pid)...)
		}
	}
	return found
}

// A question to a broker that does not answer ends with ctx.
func TestDepthEndsWithContext(t *testing.T) {
	uri := mute(t)
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	within(t, "Depth", func() {
		if _, err := Depth(ctx, uri, "", "q"); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Error(err)
		}
	})
}
