package broker

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"genreport/measure/debian"
	"genreport/measure/process"
)

// nodes starts each shared node when a test first asks for it, so that a test
// run on its own starts no more than it needs.
type nodes struct {
	mu   sync.Mutex
	dir  string
	tls  TLS
	made map[string]*Broker
}

var shared nodes

const helperVariable = "GENREPORT_BROKER_TEST_HELPER"

func TestMain(m *testing.M) {
	switch os.Getenv(helperVariable) {
	case "node":
		helper()
		return
	case "taken":
		takenHelper()
		return
	case "start":
		startHelper()
		return
	}
	// What a caller's environment may hold: none of it may reach a node.
	for name, value := range map[string]string{
		"RABBITMQ_NODE_PORT": "5999", "RABBITMQ_NODENAME": "poison@nowhere", "RABBITMQ_CONFIG_FILE": "/poison",
		"RABBITMQ_NODE_IP_ADDRESS": "0.0.0.0", "RABBITMQ_SERVER_ERL_ARGS": "-poison", "RABBITMQ_CTL_ERL_ARGS": "-sname poison",
		"RABBITMQ_MNESIA_BASE": "/poison", "RABBITMQ_PLUGINS_DIR": "/poison", "RABBITMQ_CONF_ENV_FILE": "/poison",
		"ERL_FLAGS": "-boot poison", "ERL_AFLAGS": "-poison", "ERL_ZFLAGS": "+S 1:1", "ERL_LIBS": "/poison",
		"ERL_EPMD_PORT": "4999", "ERL_EPMD_ADDRESS": "0.0.0.0", "ERL_INETRC": "/poison",
	} {
		os.Setenv(name, value)
	}
	code := m.Run()
	for name, b := range shared.made {
		if err := b.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop", name+":", err)
			code = 1
		}
	}
	if shared.dir != "" {
		os.RemoveAll(shared.dir)
	}
	os.Exit(code)
}

// get returns the shared node of a suite: channel_max = 16, and a TLS listener.
func (s *nodes) get(t *testing.T, suite string) *Broker {
	t.Helper()
	r := rootfs(t, suite)
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.made[suite]; b != nil {
		return b
	}
	if s.dir == "" {
		var err error
		if s.dir, err = os.MkdirTemp("", "genreport-broker-test-"); err != nil {
			t.Fatal(err)
		}
		if s.tls, err = GenerateCertificates(s.dir); err != nil {
			t.Fatal(err)
		}
		s.made = map[string]*Broker{}
	}
	b, err := Start(context.Background(), r, Config{Settings: map[string]string{"channel_max": "16"}, TLS: &s.tls}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.made[suite] = b
	return b
}

func rootfs(t *testing.T, suite string) debian.Rootfs {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a real node")
	}
	r, err := debian.Debian{Log: func(line string) { t.Log(line) }}.Ensure(context.Background(), Image(), suite)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestInfo(t *testing.T) {
	for _, suite := range []string{"forky", "trixie", "bookworm"} {
		t.Run(suite, func(t *testing.T) {
			b := shared.get(t, suite)
			info, err := b.Info(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			r := rootfs(t, suite)
			if info.Package != r.Package || info.RabbitMQ != upstream(info.Package) {
				t.Errorf("RabbitMQ %q of package %q, which is %q", info.RabbitMQ, info.Package, r.Package)
			}
			erlang, err := r.PackageVersion("erlang-base")
			if err != nil || info.Erlang != upstream(erlang) {
				t.Errorf("Erlang %q, package %q, %v", info.Erlang, erlang, err)
			}
			if !strings.Contains(" "+strings.Join(info.Plugins, " ")+" ", " rabbitmq_management ") {
				t.Errorf("plugins %q", info.Plugins)
			}
			if info.Schedulers < 1 {
				t.Errorf("%d schedulers", info.Schedulers)
			}
			limit := strconv.FormatUint(debian.DescriptorLimit(), 10)
			for key, want := range map[string]string{"channel_max": "16", "heartbeat": "0", "frame_max": "131072", "file_descriptors": limit} {
				if info.Settings[key] != want {
					t.Errorf("%s is %q, want %s", key, info.Settings[key], want)
				}
			}
			// What Debian's packages of these suites have.
			cowboy := map[string]string{"bookworm": "2.8.", "trixie": "2.12.", "forky": "2.1"}[suite]
			if v := info.Components["cowboy"]; !strings.HasPrefix(v, cowboy) || info.Components["ra"] == "" || (info.Components["khepri"] == "") != (suite == "bookworm") {
				t.Errorf("components %q", info.Components)
			}
			if b.Label() != "debian:"+suite {
				t.Errorf("label %q", b.Label())
			}
			if log := b.LogTail(500); !strings.Contains(log, "Server startup complete") {
				t.Errorf("log:\n%s", log)
			}
			if n := strings.Count(b.LogTail(3), "\n"); n != 2 {
				t.Errorf("%d lines instead of 3", n+1)
			}
		})
	}
}

// upstream strips epoch, Debian's revision and repacking marks of a package version.
func upstream(version string) string {
	version = regexp.MustCompile(`^\d+:`).ReplaceAllString(version, "")
	return regexp.MustCompile(`([+~-]dfsg)?(-[^-]*)$`).ReplaceAllString(version, "")
}

// Memory and its parts, as the kernel and the node have them.
func TestMemory(t *testing.T) {
	for _, suite := range []string{"bookworm", "forky"} {
		b := shared.get(t, suite)
		rss, err := b.RSS()
		if err != nil || rss < 40e6 || rss > 4e9 {
			t.Errorf("%s: %d bytes are resident, %v", suite, rss, err)
		}
		parts, err := b.Memory(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		total := parts[MemoryTotal]
		if total < 20e6 || total > 4e9 {
			t.Errorf("%s: %d bytes in all", suite, total)
		}
		for _, name := range []string{"quorum_queue_procs", "quorum_ets", "binary", "connection_readers", "connection_other"} {
			if n, ok := parts[name]; !ok || n < 0 || n > total {
				t.Errorf("%s: %s is %d, %v", suite, name, n, ok)
			}
		}
		text, err := b.Eval(context.Background(), "erlang:memory(total)")
		if err != nil {
			t.Fatal(err)
		}
		if n, _ := strconv.ParseInt(text, 10, 64); n < total/2 || n > total*2 {
			t.Errorf("%s: the node says %s, the API %d", suite, text, total)
		}
		if _, err := b.MQTTURI(true); !errors.Is(err, ErrNotAvailable) {
			t.Errorf("%s: %v", suite, err)
		}
	}
}

func TestEval(t *testing.T) {
	b := shared.get(t, "forky")
	for expr, want := range map[string]string{
		"6 * 7":  "42",
		"6 * 7.": "42",
		"application:get_env(rabbit, channel_max).":                "{ok,16}",
		`io:format("a~nb~n"), node().`:                             "a\nb\n'" + b.node.name + "'",
		`[os:getenv("ERL_LIBS_NONE"), init:get_argument(poison)].`: "[false,error]",
	} {
		got, err := b.Eval(context.Background(), expr)
		if err != nil || got != want {
			t.Errorf("%s: %q, %v", expr, got, err)
		}
	}
	_, err := b.Ctl(context.Background(), "add_user", "someone", "hush", "and", "more")
	if err == nil || !strings.Contains(err.Error(), "rabbitmqctl add_user") {
		t.Errorf("wrong usage: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if _, err := b.Eval(ctx, "timer:sleep(20000)"); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) > 5*time.Second {
		t.Errorf("deadline: %v after %v", err, time.Since(begin))
	}
}

// Nothing of a node, nor of rabbitmqctl while it runs, is reachable from outside.
func TestLoopbackOnly(t *testing.T) {
	b := shared.get(t, "forky")
	old := shared.get(t, "bookworm")
	done := make(chan error, 2)
	for _, b := range []*Broker{b, old} {
		go func() {
			_, err := b.Eval(context.Background(), "timer:sleep(700)")
			done <- err
		}()
	}
	seen := map[string]bool{}
	ctlSeen := false
	for running := 2; running > 0; {
		select {
		case err := <-done:
			running--
			if err != nil {
				t.Error(err)
			}
		default:
		}
		processes, err := process.Descendants(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		beams := 0
		for _, p := range processes {
			if p.Name == "beam.smp" {
				beams++
			}
		}
		ctlSeen = ctlSeen || beams > len(shared.made)
		for _, address := range listeners(t, processes) {
			seen[address] = true
		}
	}
	if !ctlSeen {
		t.Error("rabbitmqctl was never seen, so the test says nothing about it")
	}
	want := map[string]bool{}
	for _, b := range shared.made {
		p := b.node.ports
		for _, n := range []int{p.amqp, p.amqps, p.management, p.distribution, p.epmd} {
			want[loopbackAddress(n)] = true
		}
	}
	for address := range seen {
		host, number, _ := net.SplitHostPort(address)
		if ip := net.ParseIP(host); !ip.IsLoopback() {
			t.Errorf("listening on %s", address)
		}
		if !want["127.0.0.1:"+number] {
			t.Errorf("listening on %s, which nobody reserved", address)
		}
	}
	for address := range want {
		if !seen[address] {
			t.Errorf("not listening on %s", address)
		}
	}
}

// listeners returns the TCP addresses that the processes listen on.
func listeners(t *testing.T, processes []process.Status) []string {
	t.Helper()
	inodes := map[string]bool{}
	for _, p := range processes {
		dir := fmt.Sprintf("/proc/%d/fd", p.PID)
		entries, _ := os.ReadDir(dir) // it may have ended
		for _, e := range entries {
			target, _ := os.Readlink(filepath.Join(dir, e.Name()))
			if inode, ok := strings.CutPrefix(target, "socket:["); ok {
				inodes[strings.TrimSuffix(inode, "]")] = true
			}
		}
	}
	var found []string
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		data, err := os.ReadFile(table)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(string(data), "\n")[1:] {
			f := strings.Fields(line)
			if len(f) > 9 && f[3] == "0A" && inodes[f[9]] {
				found = append(found, procAddress(t, f[1]))
			}
		}
	}
	return found
}

// procAddress decodes an address of /proc/net/tcp: words in host order, hexadecimal.
func procAddress(t *testing.T, text string) string {
	t.Helper()
	host, number, _ := strings.Cut(text, ":")
	octets, err := hex.DecodeString(host)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+4 <= len(octets); i += 4 {
		binary.NativeEndian.PutUint32(octets[i:], binary.BigEndian.Uint32(octets[i:]))
	}
	n, err := strconv.ParseUint(number, 16, 16)
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort(net.IP(octets).String(), strconv.FormatUint(n, 10))
}

// withChannels runs pika in the root file system, with n channels open on one
// connection, while f runs.
func withChannels(t *testing.T, b *Broker, n int, f func()) {
	t.Helper()
	const script = `
import pika, sys
c = pika.BlockingConnection(pika.URLParameters(sys.argv[1]))
channels = [c.channel() for _ in range(int(sys.argv[2]))]
print("ready", flush=True)
sys.stdin.read()
c.close()
`
	cmd := rootfs(t, "forky").Command(context.Background(), debian.CommandOptions{}, "python3", "-c", script, b.URI(), strconv.Itoa(n))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	wait, err := debian.StartTied(cmd)
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if line == "ready\n" {
		f()
	} else {
		t.Errorf("pika: %q, %v", line, err)
	}
	stdin.Close()
	if err := wait(); err != nil {
		t.Errorf("pika: %v\n%s", err, stderr.String())
	}
}

func TestConnections(t *testing.T) {
	b := shared.get(t, "forky")
	ctx := context.Background()
	if list, err := b.Connections(ctx); err != nil || len(list) != 0 {
		t.Errorf("without clients: %v, %v", list, err)
	}
	withChannels(t, b, 5, func() {
		list, err := b.Connections(ctx)
		if err != nil || len(list) != 1 || list[0].Channels != 5 || list[0].ChannelMax != 16 || !strings.Contains(list[0].Name, "->") {
			t.Errorf("with one client: %+v, %v", list, err)
		}
	})
}

func TestConnectToOwnNode(t *testing.T) {
	b := shared.get(t, "forky")
	ctx := context.Background()
	managed := fmt.Sprintf("%s?management=http://127.0.0.1:%d", b.URI(), b.node.ports.management)
	external := connect(t, managed)
	if external.Label() != "external" || external.URI() != b.URI() || external.TLSURI() != "" || external.TLSConfig() != nil {
		t.Errorf("label %q", external.Label())
	}
	want, err := b.Info(ctx)
	if err != nil {
		t.Fatal(err)
	}
	info, err := external.Info(ctx)
	if err != nil || info.RabbitMQ != want.RabbitMQ || info.Erlang != want.Erlang || info.Package != "" || !strings.Contains(strings.Join(info.Plugins, " "), "rabbitmq_management") {
		t.Errorf("by management: %+v, %v", info, err)
	}
	withChannels(t, b, 7, func() {
		list, err := external.Connections(ctx)
		if err != nil || len(list) != 1 || list[0].Channels != 7 || list[0].ChannelMax != 16 {
			t.Errorf("by management: %+v, %v", list, err)
		}
	})

	plain := connect(t, b.URI())
	if info, err := plain.Info(ctx); err != nil || info.RabbitMQ != want.RabbitMQ || info.Erlang != want.Erlang {
		t.Errorf("by greeting: %+v, %v", info, err)
	}
	_, connections := plain.Connections(ctx)
	_, eval := external.Eval(ctx, "1")
	_, ctl := external.Ctl(ctx, "status")
	_, cpu := external.CPU()
	for name, err := range map[string]error{"connections": connections, "eval": eval, "ctl": ctl, "cpu": cpu, "pause": external.Pause(), "resume": external.Resume(), "kill": external.Kill(ctx), "restart": external.Restart(ctx)} {
		if !errors.Is(err, ErrNotAvailable) || !strings.Contains(err.Error(), "by URL") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if external.LogTail(5) != "" || external.Done() != nil || external.Stop() != nil || external.Stop() != nil {
		t.Error("a broker by URL has a log, or an end")
	}
	if _, err := b.Eval(ctx, "ok"); err != nil {
		t.Errorf("after Stop of the broker by URL: %v", err)
	}
}

func connect(t *testing.T, spec string) *Broker {
	t.Helper()
	s, err := ParseSpec(spec)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Connect(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// silent accepts connections and says nothing; closing closes them once it has
// read the eight bytes of a protocol header.
func silent(t *testing.T) string {
	return listen(t, func(c net.Conn) { t.Cleanup(func() { c.Close() }) })
}

func closing(t *testing.T) string {
	return listen(t, func(c net.Conn) {
		io.ReadFull(c, make([]byte, 8))
		c.Close()
	})
}

func listen(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serve(c)
		}
	}()
	return l.Addr().String()
}

func TestConnectRefuses(t *testing.T) {
	b := shared.get(t, "forky")
	amqp, management := loopbackAddress(b.node.ports.amqp), loopbackAddress(b.node.ports.management)
	tests := []struct{ spec, want string }{
		{"amqp://alice:hush@127.0.0.1:1/", "127.0.0.1:1: connection refused"},
		{"amqps://alice:hush@127.0.0.1:1/", "connection refused"},
		{"amqp://alice:hush@no-such-host.invalid/", "no-such-host.invalid:5672"},
		{"amqp://alice:hush@" + silent(t), "no answer in time"},
		{"amqp://alice:hush@" + closing(t), "does not speak AMQP 0-9-1"},
		{"amqps://alice:hush@" + amqp, "TLS"},
		{"amqp://alice:hush@" + amqp + "?management=http://" + management, "refuses the user name and password (HTTP 401)"},
		{"amqp://guest:guest@" + amqp + "?management=http://guest:hush@" + management, "HTTP 401"},
		{"amqp://alice:hush@" + amqp + "?management=http://127.0.0.1:1", "connection refused"},
		{"amqp://alice:hush@" + amqp + "?management=http://" + amqp, "management API"},
		{"amqp://guest:guest@" + amqp + "?management=http://" + management + "/api", "HTTP 404"},
		{"amqps://alice:hush@" + amqp + "?cacertfile=/none/ca.pem", "cacertfile"},
	}
	for _, tt := range tests {
		s, err := ParseSpec(tt.spec)
		if err != nil {
			t.Errorf("%s: %v", tt.spec, err)
			continue
		}
		_, err = Connect(context.Background(), s)
		if err == nil {
			t.Errorf("%s: connected", tt.spec)
			continue
		}
		if !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %q does not say %q", tt.spec, err, tt.want)
		}
		if strings.Contains(err.Error(), "hush") || strings.Contains(err.Error(), "alice") {
			t.Errorf("%s: credentials are in %q", tt.spec, err)
		}
	}
	if _, err := Connect(context.Background(), Spec{Suite: "forky"}); err == nil {
		t.Error("connected to debian:forky")
	}
}

func TestTLS(t *testing.T) {
	b := shared.get(t, "forky")
	port := b.node.ports.amqps
	if want := fmt.Sprintf("amqps://guest:guest@localhost:%d/", port); b.TLSURI() != want {
		t.Errorf("URI %q", b.TLSURI())
	}
	if c := b.TLSConfig(); c == nil || c.InsecureSkipVerify || c.RootCAs == nil {
		t.Errorf("configuration %+v", c)
	}
	info, err := b.Info(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"localhost", "127.0.0.1"} {
		secure := connect(t, fmt.Sprintf("amqps://guest:guest@%s:%d/?cacertfile=%s", host, port, b.CAFile()))
		if got := secure.greeting["version"]; got != info.RabbitMQ {
			t.Errorf("%s: version %q", host, got)
		}
		if secure.TLSURI() == "" || secure.TLSConfig() == nil {
			t.Errorf("%s: no TLS of its own", host)
		}
	}
	// The node's own settings, as a client uses them.
	properties, err := dialGreet(context.Background(), func(ctx context.Context, address string) (net.Conn, error) {
		conn, err := dialTCP(ctx, address)
		if err != nil {
			return nil, err
		}
		return tlsClient(ctx, conn, b)
	}, loopbackAddress(port))
	if err != nil || properties["version"] != info.RabbitMQ {
		t.Errorf("with TLSConfig: %v, %v", properties, err)
	}

	other, err := GenerateCertificates(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, spec := range map[string]string{
		"another authority": fmt.Sprintf("amqps://guest:guest@localhost:%d/?cacertfile=%s", port, other.CAFile),
		"no authority":      fmt.Sprintf("amqps://guest:guest@localhost:%d/", port),
	} {
		s, err := ParseSpec(spec)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Connect(context.Background(), s); err == nil || !strings.Contains(err.Error(), "certificate") || !strings.Contains(err.Error(), "cacertfile=PATH") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// CPU time grows with work, hardly without; a paused node takes none and answers nothing.
func TestCPUAndPause(t *testing.T) {
	b := shared.get(t, "forky")
	ctx := context.Background()
	before := cpuOf(t, b)
	if _, err := b.Eval(ctx, "F = fun F(0) -> ok; F(N) -> F(N - 1) end, F(1000000)"); err != nil {
		t.Fatal(err)
	}
	worked := cpuOf(t, b) - before
	if worked < 100*time.Millisecond || worked > time.Minute {
		t.Errorf("work took %v of CPU time", worked)
	}
	if err := b.Pause(); err != nil {
		t.Fatal(err)
	}
	paused := cpuOf(t, b)
	short, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	if _, err := dialGreet(short, dialTCP, loopbackAddress(b.node.ports.amqp)); err == nil {
		t.Error("a paused node answers")
	}
	if took := cpuOf(t, b) - paused; took != 0 {
		t.Errorf("a paused node took %v of CPU time", took)
	}
	if err := b.Resume(); err != nil {
		t.Fatal(err)
	}
	if _, err := dialGreet(ctx, dialTCP, loopbackAddress(b.node.ports.amqp)); err != nil {
		t.Errorf("resumed: %v", err)
	}
}

func cpuOf(t *testing.T, b *Broker) time.Duration {
	t.Helper()
	d, err := b.CPU()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestStartFails(t *testing.T) {
	r := rootfs(t, "forky")
	ctx := context.Background()
	parent := t.TempDir()
	begin := time.Now()
	_, err := Start(ctx, r, Config{Settings: map[string]string{"nonsense.key": "1"}}, Options{Dir: parent})
	if err == nil {
		t.Fatal("started with a setting that does not exist")
	}
	for _, want := range []string{"start a RabbitMQ node from debian:forky (" + r.Package + ")", "it ended after", "the end of its log:\n", "You've tried to set nonsense.key"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	if took := time.Since(begin); took > 30*time.Second {
		t.Errorf("noticed after %v", took)
	}
	_, err = Start(ctx, r, Config{}, Options{Dir: parent, ReadyTimeout: time.Second})
	if err == nil || !strings.Contains(err.Error(), "not ready within 1s: ask the management API for /api/overview: connection refused") {
		t.Errorf("too slow: %v", err)
	}
	cancelled, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	if _, err := Start(cancelled, r, Config{}, Options{Dir: parent}); !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "log") {
		t.Errorf("cancelled: %v", err)
	}
	for _, c := range []Config{
		{Settings: map[string]string{"a\nb": "1"}}, {Settings: map[string]string{"a": "1\nb = 2"}}, {Plugins: []string{"x]. y"}},
		{TLS: &TLS{CertFile: "/none"}},
	} {
		if _, err := Start(ctx, r, c, Options{Dir: parent}); err == nil {
			t.Errorf("started with %+v", c)
		}
	}
	if left := namesIn(t, parent); left != "" {
		t.Errorf("left behind: %s", left)
	}
	if list := processesOf(t, parent); len(list) != 0 {
		t.Errorf("still running: %+v", list)
	}
}

// A port that someone takes between our look and the node's is recognised.
func TestCollision(t *testing.T) {
	r := rootfs(t, "forky")
	secure, err := GenerateCertificates(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"amqp", "distribution", "management", "amqps", "epmd"} {
		t.Run(name, func(t *testing.T) {
			ports, err := reserveNodePorts()
			if err != nil {
				t.Fatal(err)
			}
			defer debian.ReleasePorts(ports.reserved)
			number := []int{ports.amqp, ports.distribution, ports.management, ports.amqps, ports.epmd}[i]
			l, err := net.Listen("tcp", loopbackAddress(number))
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			timeout := 30 * time.Second
			if name == "epmd" {
				timeout = 5 * time.Second // the node waits, and says nothing
			}
			n, err := launch(context.Background(), r, Config{TLS: &secure}, Options{ReadyTimeout: timeout}, ports)
			if err == nil {
				n.stop()
				t.Fatal("started on a port that is taken")
			}
			if !isCollision(err) {
				t.Errorf("not taken for a collision: %v", err)
			}
		})
	}
}

func TestSideBySideAndStop(t *testing.T) {
	first := shared.get(t, "forky")
	parent := t.TempDir()
	second, err := Start(context.Background(), rootfs(t, "forky"), Config{}, Options{Dir: parent})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Stop()
	if first.URI() == second.URI() {
		t.Error("both have the same address")
	}
	for b, want := range map[*Broker]string{first: "{ok,16}", second: "{ok,2047}"} {
		if got, err := b.Eval(context.Background(), "application:get_env(rabbit, channel_max)"); err != nil || got != want {
			t.Errorf("channel_max: %s, %v; want %s", got, err, want)
		}
	}
	if len(processesOf(t, parent)) == 0 {
		t.Error("the node's processes are not found, so the test below says nothing")
	}
	// A paused node must end, too.
	if err := second.Pause(); err != nil {
		t.Error(err)
	}
	select {
	case <-second.Done():
		t.Error("done while it runs")
	default:
	}
	for range 2 {
		if err := second.Stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	}
	select {
	case <-second.Done():
	default:
		t.Error("not done after Stop")
	}
	if left := namesIn(t, parent); left != "" {
		t.Errorf("left behind: %s", left)
	}
	if list := processesOf(t, parent); len(list) != 0 {
		t.Errorf("still running: %+v", list)
	}
	if _, err := second.Eval(context.Background(), "1"); err == nil {
		t.Error("a stopped node answers")
	}
	if _, err := second.CPU(); err == nil {
		t.Error("a stopped node has a CPU time")
	}
	if _, err := first.Eval(context.Background(), "1"); err != nil {
		t.Errorf("the other node: %v", err)
	}
}

// processesOf returns the living processes that have a bind mount of, or an argument with, a directory.
func processesOf(t *testing.T, dir string) []int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var found []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		mounts, _ := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", pid))
		arguments, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if strings.Contains(string(mounts), dir) || strings.Contains(string(arguments), dir) {
			found = append(found, pid)
		}
	}
	return found
}

// What the helper process tells.
type helperReport struct {
	Dir, Name string
	Processes []int
	Address   string
}

// helper starts a node, tells about it, and waits to be killed.
func helper() {
	fail := func(err error) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	r, err := debian.Debian{}.Ensure(context.Background(), Image(), "forky")
	if err != nil {
		fail(err)
	}
	b, err := Start(context.Background(), r, Config{}, Options{})
	if err != nil {
		fail(err)
	}
	list, err := process.Descendants(os.Getpid())
	if err != nil {
		fail(err)
	}
	report := helperReport{Dir: b.node.dir.Path, Name: b.node.name, Address: loopbackAddress(b.node.ports.amqp)}
	for _, p := range list {
		report.Processes = append(report.Processes, p.PID)
	}
	json.NewEncoder(os.Stdout).Encode(report)
	io.Copy(io.Discard, os.Stdin) // until the test ends, whatever happens
}

// kill -9 of the process that started a node leaves none of its processes,
// and the next start removes its directory.
func TestKillNine(t *testing.T) {
	rootfs(t, "forky")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperVariable+"=node")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var report helperReport
	if err := json.NewDecoder(stdout).Decode(&report); err != nil {
		cmd.Process.Kill()
		cmd.Wait()
		t.Fatal(err)
	}
	if len(report.Processes) < 5 {
		t.Errorf("only %d processes", len(report.Processes))
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	deadline := time.Now().Add(5 * time.Second)
	for alive(report.Processes) > 0 && time.Now().Before(deadline) {
		time.Sleep(20 * time.Millisecond)
	}
	if n := alive(report.Processes); n != 0 {
		t.Errorf("%d processes survive", n)
	}
	if conn, err := net.Dial("tcp", report.Address); err == nil {
		conn.Close()
		t.Error("the node still answers")
	}
	if _, err := os.Stat(report.Dir); err != nil {
		t.Errorf("the data directory: %v", err)
	}
	dir, err := makeNodeDir(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Remove()
	if _, err := os.Stat(report.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the next start leaves the dead one's directory: %v", err)
	}
	for _, b := range shared.made {
		if _, err := os.Stat(b.node.dir.Path); err != nil {
			t.Errorf("the directory of a living node is gone: %v", err)
		}
	}
}

// alive counts the processes that run; zombies wait for their parent only.
func alive(pids []int) int {
	n := 0
	for _, pid := range pids {
		if p, err := process.Read(pid); err == nil && p.State != 'Z' {
			n++
		}
	}
	return n
}

func TestCommand(t *testing.T) {
	r := rootfs(t, "forky")
	dir := t.TempDir()
	script := `env | sort; pwd; echo x > out; id -u; touch /etc/x 2>/dev/null || echo read-only; ls /tmp /mnt; cat /etc/hostname`
	cmd := r.Command(context.Background(), debian.CommandOptions{
		Env: map[string]string{"A": "b c"}, Bind: map[string]string{dir: "/mnt/work"}, Dir: "/mnt/work",
	}, "sh", "-c", script)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("A=b c\nHOME=/tmp\nLANG=C.UTF-8\nPATH=/usr/sbin:/usr/bin:/sbin:/bin\nPWD=/mnt/work\n/mnt/work\n%d\nread-only\n/mnt:\nwork\n\n/tmp:\nlocalhost\n", os.Getuid())
	if string(out) != want {
		t.Errorf("got:\n%s\nwant:\n%s", out, want)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "out")); err != nil || string(data) != "x\n" {
		t.Errorf("what it wrote: %q, %v", data, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if err := r.Command(ctx, debian.CommandOptions{}, "sleep", "30").Run(); err == nil || time.Since(begin) > 5*time.Second {
		t.Errorf("cancelled: %v after %v", err, time.Since(begin))
	}
}

func tlsClient(ctx context.Context, conn net.Conn, b *Broker) (net.Conn, error) {
	c := tls.Client(conn, b.TLSConfig())
	return c, c.HandshakeContext(ctx)
}

// An alarm is known at once, by its resource, on every version.
func TestAlarms(t *testing.T) {
	for _, suite := range []string{"bookworm", "forky"} {
		b := shared.get(t, suite)
		ctx := context.Background()
		want := func(names ...string) {
			t.Helper()
			got, err := b.Alarms(ctx)
			if err != nil || !slices.Equal(got, names) {
				t.Errorf("%s: %q, %v; want %q", suite, got, err, names)
			}
		}
		want()
		if _, err := b.Ctl(ctx, "set_vm_memory_high_watermark", "absolute", "1"); err != nil {
			t.Fatal(err)
		}
		want("memory")
		if _, err := b.Ctl(ctx, "set_vm_memory_high_watermark", "0.6"); err != nil {
			t.Fatal(err)
		}
		want()
	}
}

func namesIn(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}
