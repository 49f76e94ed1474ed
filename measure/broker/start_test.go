package broker

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"genreport/measure/debian"
)

// Runs that have no directory in common don't meet.
func TestTwoTemporaryDirectories(t *testing.T) {
	rootfs(t, "forky")
	for range 2 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), helperVariable+"=node", "TMPDIR="+t.TempDir())
		cmd.Stderr = os.Stderr
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { // once both have been started
			defer cmd.Wait()
			defer stdin.Close()
			var report helperReport
			if err := json.NewDecoder(stdout).Decode(&report); err != nil {
				t.Errorf("no node: %v", err)
				return
			}
			greeting, err := dialGreet(context.Background(), dialTCP, report.Address)
			if err != nil || greeting["cluster_name"] != report.Name {
				t.Errorf("at the address of %s answers %q, %v", report.Name, greeting["cluster_name"], err)
			}
		}()
	}
}

// amqpServer answers as a broker with the given name of its cluster does.
func amqpServer(t *testing.T, cluster string) int {
	text := func(s string) []byte { return append(binary.BigEndian.AppendUint32(nil, uint32(len(s))), s...) }
	table := append([]byte("\x0ccluster_nameS"), text(cluster)...)
	payload := append([]byte{0, 10, 0, 10, 0, 9}, text(string(table))...)
	frame := append([]byte{1, 0, 0}, text(string(payload))...)
	return portOf(t, listen(t, func(c net.Conn) {
		io.ReadFull(c, make([]byte, 8))
		c.Write(append(frame, 0xce))
		c.Close()
	}))
}

// managementServer answers as the management of a node without alarms does.
func managementServer(t *testing.T, node, cluster string) int {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"node": %q, "cluster_name": %q}`, node, cluster)
	}))
	t.Cleanup(s.Close)
	return portOf(t, strings.TrimPrefix(s.URL, "http://"))
}

func portOf(t *testing.T, address string) int {
	t.Helper()
	_, text, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return number
}

// Only a living node with the node's own name is taken for it.
func TestReadyIsOurs(t *testing.T) {
	const ours, other = "genreport-1-a@localhost", "rabbit@elsewhere"
	tests := []struct {
		name             string
		amqp, management int
		ended            bool
		want             string
	}{
		{"ours", amqpServer(t, ours), managementServer(t, ours, ours), false, ""},
		{"ours, in a cluster with a name", amqpServer(t, "mine"), managementServer(t, ours, "mine"), false, ""},
		{"another on both", amqpServer(t, other), managementServer(t, other, other), false, "another broker answers on its management port"},
		{"another on AMQP", amqpServer(t, other), managementServer(t, ours, ours), false, "another broker answers on its AMQP port"},
		{"another on management", amqpServer(t, ours), managementServer(t, other, ours), false, "another broker answers on its management port"},
		{"silence on AMQP", portOf(t, silent(t)), managementServer(t, ours, ours), false, "AMQP: no answer in time"},
		{"ended", amqpServer(t, ours), managementServer(t, ours, ours), true, "it ended after"},
	}
	for _, tt := range tests {
		n := &node{name: ours, ports: nodePorts{amqp: tt.amqp, management: tt.management}, timeout: 500 * time.Millisecond}
		run := sleeping(t, "60")
		if tt.ended {
			run.Kill()
		}
		err := n.waitReady(context.Background(), run)
		if (err == nil) != (tt.want == "") || (err != nil && !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v; want %q", tt.name, err, tt.want)
		}
	}
	// Whoever holds a question of ours must not hide that the node ended.
	n := &node{name: ours, ports: nodePorts{management: portOf(t, silent(t))}, timeout: time.Minute}
	begin := time.Now()
	if err := n.waitReady(context.Background(), sleeping(t, "0.2")); err == nil || !strings.Contains(err.Error(), "it ended after") || time.Since(begin) > 5*time.Second {
		t.Errorf("ended meanwhile: %v after %v", err, time.Since(begin))
	}
}

// sleeping runs a command that ends after so many seconds, or with the test.
func sleeping(t *testing.T, seconds string) *debian.Running {
	t.Helper()
	run, err := debian.Run(exec.Command("sh", "-c", "sleep "+seconds+"; exit 1"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { run.Kill() })
	return run
}

// A collision is found in all that a node has said, wherever it stands.
func TestTellsCollision(t *testing.T) {
	long := strings.Repeat("2026-01-01 00:00:00 [info] <0.1.0> something\n", 5000)
	for _, tt := range []struct {
		log, console string
		want         bool
	}{
		{"2026 [error] <0.1.0> failed: {error,eaddrinuse}\n" + long, "", true},
		{long, "ERROR: could not bind to distribution port 9503, it is in use by another node: x@localhost", true},
		{"", "{dist_port_already_used,9503,\"x\",\"localhost\"}\n" + long, true},
		{long, long, false},
		{"", "", false},
	} {
		n := &node{dir: &debian.DataDir{Path: t.TempDir()}}
		if err := os.Mkdir(filepath.Join(n.dir.Path, "log"), 0o700); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"log/rabbit.log": tt.log, "console.log": tt.console} {
			if err := os.WriteFile(filepath.Join(n.dir.Path, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := isCollision(n.failure(errors.New("it ended"))); got != tt.want {
			t.Errorf("%.60q and %.60q: %v", tt.log, tt.console, got)
		}
	}
}

// A node that takes no messages is none.
func TestStartWithAlarm(t *testing.T) {
	for _, suite := range []string{"bookworm", "forky"} {
		for name, tt := range map[string]struct{ key, value string }{
			"disk":   {"disk_free_limit.absolute", "900000000000000"},
			"memory": {"vm_memory_high_watermark.absolute", "1MB"},
		} {
			r := rootfs(t, suite)
			b, err := Start(context.Background(), r, Config{Settings: map[string]string{tt.key: tt.value}}, Options{})
			if err == nil {
				b.Stop()
				t.Errorf("%s: started with the %s alarm", suite, name)
				continue
			}
			for _, want := range []string{"it takes no messages, since its " + name, strings.Split(tt.key, ".")[0]} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %q is not in: %v", suite, want, err)
				}
			}
		}
	}
}

func TestCheckSpace(t *testing.T) {
	if err := checkSpace("/d", 200e6); err != nil {
		t.Error(err)
	}
	err := checkSpace("/d", 63e6)
	if err == nil || !strings.Contains(err.Error(), "/d has 63 MB free") || !strings.Contains(err.Error(), "200 MB") || !strings.Contains(err.Error(), "set TMPDIR") {
		t.Errorf("got %v", err)
	}
}

// startHelper starts a node and tells why it could not.
func startHelper() {
	r, err := debian.Debian{}.Ensure(context.Background(), Image(), "forky")
	if err == nil {
		var b *Broker
		if b, err = Start(context.Background(), r, Config{}, Options{}); err == nil {
			b.Stop()
		}
	}
	fmt.Println("error:", err)
}

// A temporary directory in which no node can live is refused with what to do.
func TestUnusableTemporaryDirectory(t *testing.T) {
	rootfs(t, "forky")
	small := t.TempDir()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, dir string
		sandbox   []string
		want      []string
	}{
		{"small", small, []string{"bwrap", "--dev-bind", "/", "/", "--size", "63000000", "--tmpfs", small, "--"}, []string{small, " MB free", "set TMPDIR to a directory on a larger disk"}},
		{"read-only", small, []string{"bwrap", "--dev-bind", "/", "/", "--tmpfs", small, "--remount-ro", small, "--"}, []string{small, "read-only file system", "set TMPDIR to a directory that can be written"}},
		{"missing", filepath.Join(small, "none"), nil, []string{"none", "no such file", "set TMPDIR to a directory that can be written"}},
		{"a file", file, nil, []string{file, "not a directory", "set TMPDIR to a directory that can be written"}},
	}
	for _, tt := range tests {
		argv := append(tt.sandbox, os.Args[0])
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env = append(os.Environ(), helperVariable+"=start", "TMPDIR="+tt.dir)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", tt.name, err, out)
			continue
		}
		for _, want := range tt.want {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s: %q is not in: %s", tt.name, want, out)
			}
		}
	}
}

// A foreign listener, which counts who comes.
type foreign struct {
	address string
	came    atomic.Int32
}

type takenReport struct {
	Ports []int
	Came  map[string]int32
	Error string
}

// takenHelper has a network of its own in which others hold RabbitMQ's
// standard ports and the first of ours. It starts a node there and says where.
func takenHelper() {
	var report takenReport
	fail := func(err error) bool {
		if err != nil {
			report.Error += err.Error() + "\n"
		}
		return err != nil
	}
	defer func() { json.NewEncoder(os.Stdout).Encode(report) }()
	if fail(loopbackUp()) {
		return
	}
	var others []*foreign
	for _, address := range []string{
		"127.0.0.1:4369", "0.0.0.0:5672", "127.0.0.1:15672", "0.0.0.0:25672",
		"127.0.0.1:9500", "127.0.0.2:9501", "0.0.0.0:9502", "127.0.0.1:9505",
	} {
		l, err := net.Listen("tcp", address)
		if fail(err) {
			return
		}
		f := &foreign{address: address}
		others = append(others, f)
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				f.came.Add(1)
				c.Close()
			}
		}()
	}
	r, err := debian.Debian{}.Ensure(context.Background(), Image(), "forky")
	if fail(err) {
		return
	}
	b, err := Start(context.Background(), r, Config{}, Options{})
	if fail(err) {
		return
	}
	p := b.node.ports
	report.Ports = []int{p.amqp, p.amqps, p.management, p.distribution, p.epmd}
	_, err = b.Eval(context.Background(), "ok")
	fail(err)
	fail(b.Stop())
	report.Came = map[string]int32{}
	for _, f := range others {
		report.Came[f.address] = f.came.Load()
		c, err := net.Dial("tcp", f.address)
		if !fail(err) {
			c.Close()
		}
	}
}

// loopbackUp brings up the loopback interface of a fresh network namespace.
func loopbackUp() error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	var request [40]byte // struct ifreq
	copy(request[:], "lo")
	binary.NativeEndian.PutUint16(request[16:], syscall.IFF_UP)
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&request))); errno != 0 {
		return errno
	}
	return nil
}

// Next to a broker on the standard ports, and others on the first of ours, a
// node starts elsewhere and has nothing to do with them.
func TestTakenPorts(t *testing.T) {
	rootfs(t, "forky")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperVariable+"=taken", "TMPDIR="+t.TempDir())
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if uid, gid := os.Getuid(), os.Getgid(); uid != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: gid, Size: 1}}
	}
	out, err := cmd.Output()
	if errors.Is(err, syscall.EPERM) {
		t.Skip("no network namespaces here: ", err)
	}
	var report takenReport
	if err != nil || json.Unmarshal(out, &report) != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if report.Error != "" {
		t.Error(report.Error)
	}
	if got := fmt.Sprint(report.Ports); got != "[9503 9504 9506 9507 9508]" {
		t.Errorf("the node is on %s", got)
	}
	for address, n := range report.Came {
		if n != 0 {
			t.Errorf("%d connections came to %s", n, address)
		}
	}
}

// A user that may not see management is told why.
func TestManagementRefuses(t *testing.T) {
	for _, suite := range []string{"bookworm", "forky"} {
		b := shared.get(t, suite)
		ctx := context.Background()
		if _, err := b.Ctl(ctx, "add_user", "tagless", "hush"); err != nil {
			t.Fatal(err)
		}
		defer b.Ctl(ctx, "delete_user", "tagless")
		s, err := ParseSpec(fmt.Sprintf("amqp://tagless:hush@%s/?management=http://%s", loopbackAddress(b.node.ports.amqp), loopbackAddress(b.node.ports.management)))
		if err != nil {
			t.Fatal(err)
		}
		_, err = Connect(ctx, s)
		if err == nil || !strings.Contains(err.Error(), `it says "Not management user"`) || !strings.Contains(err.Error(), "set_user_tags USER monitoring") {
			t.Errorf("%s: %v", suite, err)
		}
	}
	m := &management{user: "alice", password: "hush"}
	for body, want := range map[string]string{
		`{"error":"x","reason":"Not management user"}`: `it says "Not management user"`,
		`{"error":"x","reason":"hush is wrong"}`:       "tag monitoring",
		`<html>alice</html>`:                           "tag monitoring",
		``:                                             "tag monitoring",
	} {
		for _, status := range []int{401, 403} {
			err := m.refused(status, []byte(body)).Error()
			if !strings.Contains(err, want) || !strings.Contains(err, strconv.Itoa(status)) || strings.Contains(err, "hush") || strings.Contains(err, "alice") {
				t.Errorf("%d %s: %s", status, body, err)
			}
		}
	}
}

// pika verifies public certificates with the authorities of its root file system.
func TestAuthorities(t *testing.T) {
	out, err := rootfs(t, "forky").Command(context.Background(), debian.CommandOptions{}, "python3", "-c",
		`import ssl; print(ssl.create_default_context().cert_store_stats()["x509_ca"])`).Output()
	if n, convErr := strconv.Atoi(strings.TrimSpace(string(out))); err != nil || convErr != nil || n < 50 {
		t.Errorf("%q authorities, %v", out, err)
	}
}
