package load

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

// playVariable makes this test binary play a part instead of running tests.
const playVariable = "GENREPORT_LOAD_TEST_PLAY"

func TestMain(m *testing.M) {
	switch part := os.Getenv(playVariable); part {
	case "":
		code := m.Run()
		if err := stopNode(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		os.Exit(code)
	case "worker":
		if Work(context.Background(), os.Stdin, os.Stdout) != nil {
			os.Exit(1)
		}
	case "parent":
		parent()
	default:
		fake(part)
	}
}

const (
	readyLine  = `{"type":"ready","ready":{"library":"fake","version":"1","runtime":"2","tune":{"offered":3,"own":4,"agreed":5}}}`
	resultLine = `{"type":"result","result":{"sent":7}}`
)

// fake is a client that misbehaves in the way its part says.
func fake(part string) {
	in := bufio.NewReader(os.Stdin)
	line := func() string {
		text, err := in.ReadString('\n')
		if err != nil {
			os.Exit(0)
		}
		return strings.TrimSpace(text)
	}
	forever := func() { time.Sleep(time.Hour) }
	var job Job
	if err := json.Unmarshal([]byte(line()), &job); err != nil {
		panic(err)
	}
	switch part {
	case "exits":
		fmt.Fprintf(os.Stderr, "can't import pika, wanted for %s", job.URI)
		os.Exit(3)
	case "refuses":
		fmt.Println(`{"type":"error","error":"no access with s3cret"}`)
		os.Exit(1)
	case "garbage":
		fmt.Println("Traceback: s3cret")
		forever()
	case "result first":
		fmt.Println(resultLine)
		forever()
	case "ready without more":
		fmt.Println(`{"type":"ready"}`)
		forever()
	case "silent":
		forever()
	case "silent with a child":
		exec.Command("sleep", "30").Start() // closes nothing, and has no output
		c := exec.Command("sleep", "30")
		c.Stdout = os.Stdout
		c.Start()
		forever()
	case "closes its output":
		os.Stdout.Close()
		forever()
	case "line without end":
		for x := bytes.Repeat([]byte("x"), 1<<20); ; {
			os.Stdout.Write(x)
		}
	case "leaves":
		fmt.Println(readyLine)
		fmt.Println(`{"type":"error","error":"the connection died, s3cret"}`)
		os.Exit(1)
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		fmt.Println(readyLine)
		forever()
	case "fails later":
		fmt.Println(readyLine)
		line()
		fmt.Println(`{"type":"error","error":"publishing message 5: s3cret"}`)
	case "fails halfway":
		fmt.Println(readyLine)
		line()
		fmt.Println(`{"type":"error","error":"the connection died, s3cret","result":{"sent":7,"acked":5,"unconfirmed":2}}`)
	case "talks":
		out := bufio.NewWriter(os.Stdout)
		fmt.Fprintln(out, readyLine)
		out.Flush()
		line()
		fmt.Fprintln(out, resultLine)
		for range 5000 {
			fmt.Fprintln(out, `{"type":"progress","done":9}`)
			fmt.Fprintln(out, resultLine)
		}
		out.Flush()
		line()
	case "good":
		fmt.Println(readyLine)
		if got := line(); got != "start" {
			panic(got)
		}
		fmt.Println(`{"type":"progress","done":5}`)
		fmt.Println(`{"type":"result","result":{"sent":7,"error":"why: s3cret"}}`)
		if got := line(); got != "stop" {
			panic(got)
		}
	}
}

func play(ctx context.Context, part string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), playVariable+"="+part)
	return cmd
}

var fakeJob = Job{Role: OpenChannels, Channels: 1, Limit: 60, URI: "amqp://user:s3cret@127.0.0.1:1/"}

func wantGone(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d is still there: %v", pid, err)
	}
}

func TestClient(t *testing.T) {
	var done []int
	cmd := play(context.Background(), "good")
	c, err := Start(context.Background(), cmd, fakeJob, func(n int) { done = append(done, n) })
	if err != nil {
		t.Fatal(err)
	}
	if want := (Ready{"fake", "1", "2", Tune{Offered: 3, Own: 4, Agreed: 5}}); c.Ready != want {
		t.Errorf("ready %+v", c.Ready)
	}
	r, err := c.Run(context.Background())
	if err != nil || r.Sent != 7 || r.Error != "why: ***" {
		t.Errorf("%+v, %v", r, err)
	}
	for range 2 {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
		wantGone(t, cmd.Process.Pid)
	}
	if fmt.Sprint(done) != "[5]" || !cmd.ProcessState.Success() {
		t.Errorf("progress %v, %v", done, cmd.ProcessState)
	}
}

func TestStartFails(t *testing.T) {
	for part, want := range map[string]string{
		"exits":              "the load client ended early (exit status 3): can't import pika, wanted for (the broker's URI)",
		"refuses":            "the load client: no access with ***",
		"garbage":            `it wrote a line that is not JSON: "Traceback: ***"`,
		"result first":       `the load client said "result", want "ready"`,
		"ready without more": `the load client said "ready", want "ready"`,
		"closes its output":  "the load client ended early",
		"line without end":   "it wrote a line without end",
	} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			cmd := play(context.Background(), part)
			within(t, "Start", func() {
				c, err := Start(context.Background(), cmd, fakeJob, nil)
				if err == nil || c != nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
					t.Errorf("%v, want %q", err, want)
				}
			})
			wantGone(t, cmd.Process.Pid)
		})
	}
	if _, err := Start(context.Background(), exec.Command("/none/such"), fakeJob, nil); err == nil || !strings.Contains(err.Error(), "starting the load client") {
		t.Error(err)
	}
	if _, err := Start(context.Background(), play(context.Background(), "good"), Job{}, nil); err == nil || !strings.Contains(err.Error(), "load job: unknown role") {
		t.Error(err)
	}
}

// A client that never answers is bounded by ctx, whether or not the command
// has that too, and with a child that keeps the output open.
func TestStartEndsWithContext(t *testing.T) {
	for _, part := range []string{"silent", "silent with a child"} {
		for _, tied := range []bool{true, false} {
			t.Run(fmt.Sprint(part, tied), func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
				defer cancel()
				cmd := play(context.Background(), part)
				if tied {
					cmd = play(ctx, part)
				}
				within(t, "Start", func() {
					if _, err := Start(ctx, cmd, fakeJob, nil); !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("%v", err)
					}
				})
				wantGone(t, cmd.Process.Pid)
			})
		}
	}
}

func TestClientThatLeaves(t *testing.T) {
	c, err := Start(context.Background(), play(context.Background(), "leaves"), fakeJob, nil)
	if err != nil {
		t.Fatal(err)
	}
	<-c.ended
	within(t, "Run", func() { // nobody reads "start" any more
		if _, err := c.Run(context.Background()); err == nil || err.Error() != "the load client: the connection died, ***" {
			t.Errorf("%v; want its own words", err)
		}
	})
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
}

func TestClientFailsLater(t *testing.T) {
	c, err := Start(context.Background(), play(context.Background(), "fails later"), fakeJob, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	if _, err := c.Run(context.Background()); err == nil || err.Error() != "the load client: publishing message 5: ***" {
		t.Error(err)
	}
}

// What was done before a failure comes with the error.
func TestClientFailsHalfway(t *testing.T) {
	c, err := Start(context.Background(), play(context.Background(), "fails halfway"), fakeJob, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	r, err := c.Run(context.Background())
	if err == nil || err.Error() != "the load client: the connection died, ***" || r.Sent != 7 || r.Acked != 5 || r.Unconfirmed != 2 {
		t.Errorf("%+v, %v", r, err)
	}
}

// More than the conversation has blocks nobody.
func TestClientTalksTooMuch(t *testing.T) {
	cmd := play(context.Background(), "talks")
	progress := 0
	c, err := Start(context.Background(), cmd, fakeJob, func(int) { progress++ })
	if err != nil {
		t.Fatal(err)
	}
	within(t, "the talk", func() {
		if r, err := c.Run(context.Background()); err != nil || r.Sent != 7 {
			t.Errorf("%+v, %v", r, err)
		}
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	if progress != 5000 || !cmd.ProcessState.Success() {
		t.Errorf("%d progress lines, %v", progress, cmd.ProcessState)
	}
	wantGone(t, cmd.Process.Pid)
}

// A client that does not leave is killed, and Stop says so each time.
func TestStopKills(t *testing.T) {
	cmd := play(context.Background(), "stubborn")
	c, err := Start(context.Background(), cmd, fakeJob, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.grace = 200 * time.Millisecond
	for range 2 {
		within(t, "Stop", func() {
			if err := c.Stop(); err == nil || !strings.Contains(err.Error(), "did not close its connection within 200ms") {
				t.Error(err)
			}
		})
		wantGone(t, cmd.Process.Pid)
	}
}

func TestWaitEndsWithContext(t *testing.T) {
	cmd := play(context.Background(), "stubborn")
	c, err := Start(context.Background(), cmd, fakeJob, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	within(t, "Wait", func() {
		if _, err := c.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	wantGone(t, cmd.Process.Pid)
}
