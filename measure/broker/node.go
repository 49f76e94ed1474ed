package broker

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"genreport/measure/debian"
)

// Config is the configuration of a node, on top of what genreport always sets:
// its addresses, heartbeat = 0, and log level info.
type Config struct {
	Settings map[string]string // lines of rabbitmq.conf; they win over ours
	Plugins  []string          // in addition to rabbitmq_management; those that the version lacks are left out
	TLS      *TLS              // adds an amqps listener
}

// WebMQTT is the plugin that adds MQTT over WebSocket; with it comes MQTT over TCP.
const WebMQTT = "rabbitmq_web_mqtt"

// TLS names the PEM files of a server certificate.
type TLS struct {
	CertFile, KeyFile, CAFile string
}

// Options says how a node is run.
type Options struct {
	Dir          string        // parent of the data directory; default one of this user below the temporary directory
	ReadyTimeout time.Duration // default 90 s
	KeepDir      bool          // leave the data directory when the node stops
	Log          func(string)  // told what the user should know; may be nil
}

const (
	vm                  = "beam.smp" // the Erlang VM's process
	defaultReadyTimeout = 90 * time.Second
	stopTimeout         = 3 * time.Second // enough but for 3.10's statistics; what is written is removed anyway
	guestDir            = "/mnt/node"     // the data directory as the node sees it
)

// node is a running node and its directory.
type node struct {
	rootfs  debian.Rootfs
	name    string // of the Erlang node; no other node has it
	dir     *debian.DataDir
	keep    bool
	ports   nodePorts
	tls     *tls.Config // nil without TLS
	mqtt    bool        // has the listeners of WebMQTT
	lacking []string    // plugins that were asked for and that this version does not have
	env     map[string]string

	log     func(string)  // may be nil
	timeout time.Duration // for getting ready

	mu  sync.Mutex      // guards run
	run *debian.Running // the processes started last

	life     sync.Mutex    // held by what ends processes and starts new ones
	stopping chan struct{} // closed by the first stop
	stopOnce sync.Once
	stopErr  error
}

type nodePorts struct {
	amqp, amqps, management, distribution, epmd, mqtt, webMQTT int
	reserved                                                   []debian.Port
}

// Start starts a node with a data directory, a name and ports of its own, on
// the loopback interface alone, and returns once it answers on AMQP and
// management. ctx and ReadyTimeout bound the start, not the node's life: that
// ends with Stop, or with this process. The error says why it did not start,
// with the end of its log.
func Start(ctx context.Context, r debian.Rootfs, c Config, o Options) (*Broker, error) {
	label := "debian:" + r.Suite
	fail := func(err error) (*Broker, error) {
		return nil, fmt.Errorf("start a RabbitMQ node from %s (%s): %w", label, r.Package, err)
	}
	if err := debian.NeedTools("bwrap"); err != nil {
		return fail(err)
	}
	if err := c.check(); err != nil {
		return fail(err)
	}
	if o.ReadyTimeout <= 0 {
		o.ReadyTimeout = defaultReadyTimeout
	}
	ports, err := reserveNodePorts()
	if err != nil {
		return fail(err)
	}
	n, err := launch(ctx, r, c, o, ports)
	if err != nil && isCollision(err) && ctx.Err() == nil {
		// Someone took a port between our look and the node's. The old
		// reservations are held until there are new ones, or we'd get the same.
		again, portsErr := reserveNodePorts()
		debian.ReleasePorts(ports.reserved)
		if portsErr != nil {
			return fail(portsErr)
		}
		ports = again
		n, err = launch(ctx, r, c, o, ports)
	}
	if err != nil {
		debian.ReleasePorts(ports.reserved)
		return fail(err)
	}
	return n.broker(label, c.TLS), nil
}

// taken reports whether something listens on one of the ports; ask once the
// node has ended. Not every collision is told of: without its epmd a node waits.
func (p nodePorts) taken() bool {
	for _, r := range p.reserved {
		if !debian.PortFree(r.Number) {
			return true
		}
	}
	return false
}

func reserveNodePorts() (nodePorts, error) {
	got, err := debian.ReservePorts(7)
	if err != nil {
		return nodePorts{}, err
	}
	return nodePorts{
		amqp: got[0].Number, amqps: got[1].Number, management: got[2].Number,
		distribution: got[3].Number, epmd: got[4].Number, mqtt: got[5].Number, webMQTT: got[6].Number, reserved: got,
	}, nil
}

var settingRule = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

func (c Config) check() error {
	for key, value := range c.Settings {
		if !settingRule.MatchString(key) || strings.ContainsAny(value, "\n\r") {
			return fmt.Errorf("setting %q: not a line of rabbitmq.conf", key)
		}
	}
	for _, p := range c.Plugins {
		if !settingRule.MatchString(p) {
			return fmt.Errorf("plugin %q: not a name", p)
		}
	}
	return nil
}

// leaveOut takes the plugins out that the version in a root file system lacks, with
// which a node would not start, and returns them.
func (c *Config) leaveOut(r debian.Rootfs) (lacking []string) {
	var there []string
	for _, p := range c.Plugins {
		if found, err := filepath.Glob(filepath.Join(r.Dir, "usr/lib/rabbitmq/lib/rabbitmq_server-*/plugins", p+"-[0-9]*")); err == nil && len(found) == 0 {
			lacking = append(lacking, p)
		} else {
			there = append(there, p)
		}
	}
	c.Plugins = there
	return lacking
}

// A startError is a node that did not get ready, with its log.
type startError struct {
	why       error
	log       string
	collision bool // one of its ports was taken
}

func (e *startError) Error() string {
	if e.log == "" {
		return e.why.Error() + "; its log is empty"
	}
	text := e.why.Error()
	// The cause is in the first errors, often far above the end.
	if first := firstErrors(e.log, 5); first != "" {
		text += "; the first errors of its log:\n" + first
	}
	return text + "; the end of its log:\n" + debian.LastLines(e.log, 12)
}

func (e *startError) Unwrap() error { return e.why }

var errorLine = regexp.MustCompile(`^\S+ \S+ \[(error|critical|alert|emergency)\] \S+ .*\S`)

func firstErrors(log string, n int) string {
	var lines []string
	for _, line := range strings.Split(log, "\n") {
		if len(lines) < n && errorLine.MatchString(line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

func isCollision(err error) bool {
	var e *startError
	return errors.As(err, &e) && e.collision
}

// tellsCollision reports whether the words of a node that ended say that a
// port was taken.
func tellsCollision(said string) bool {
	for _, sign := range []string{"eaddrinuse", "dist_port_already_used", "could not bind to distribution port", "ddress already in use"} {
		if strings.Contains(said, sign) {
			return true
		}
	}
	return false
}

// failure explains why the node, which has ended by now, did not start.
func (n *node) failure(why error) error {
	said := n.said()
	if strings.Contains(said, "bwrap: ") {
		if hint := debian.NamespaceHint(); hint != "" {
			why = fmt.Errorf("%w; %s", why, hint)
		}
	}
	return &startError{why: why, log: n.logTail(1000), collision: tellsCollision(said) || n.ports.taken()}
}

// launch starts the node's processes and waits until it is ready. If it is
// not, nothing of it is left.
func launch(ctx context.Context, r debian.Rootfs, c Config, o Options, ports nodePorts) (*node, error) {
	dir, err := makeNodeDir(ctx, o.Dir)
	if err != nil {
		return nil, err
	}
	name := nodeName(ports)
	lacking := c.leaveOut(r)
	n := &node{rootfs: r, name: name, dir: dir, keep: o.KeepDir, ports: ports, env: nodeEnv(name, ports), lacking: lacking,
		mqtt: slices.Contains(c.Plugins, WebMQTT), log: o.Log, timeout: o.ReadyTimeout, stopping: make(chan struct{})}
	if err := n.writeFiles(c); err != nil {
		n.removeDir()
		return nil, err
	}
	if c.TLS != nil {
		if n.tls, err = clientTLS(filepath.Join(dir.Path, "tls/ca.pem")); err != nil {
			n.removeDir()
			return nil, err
		}
	}
	if err := n.bringUp(ctx); err != nil {
		n.removeDir()
		return nil, err
	}
	return n, nil
}

// bringUp starts the node's processes and waits until it is ready. If it is
// not, none of them is left.
func (n *node) bringUp(ctx context.Context) error {
	if err := n.start(); err != nil {
		return err
	}
	run := n.running()
	err := n.waitReady(ctx, run)
	if err == nil {
		return nil
	}
	n.kill(run)
	if ctx.Err() != nil {
		return ctx.Err() // not the node's fault: what it said says nothing
	}
	return n.failure(err)
}

// makeNodeDir makes and locks a data directory on a disk with enough space.
func makeNodeDir(ctx context.Context, parent string) (*debian.DataDir, error) {
	dir, err := debian.MakeDataDir(ctx, "node", parent)
	if err != nil {
		return nil, err
	}
	free, err := dir.Free()
	if err == nil {
		err = checkSpace(filepath.Dir(dir.Path), free)
	}
	if err != nil {
		dir.Remove()
		return nil, err
	}
	return dir, nil
}

// checkSpace refuses a disk on which RabbitMQ would soon stop taking messages
// (disk_free_limit is 50 MB), or do so at once: publishers would hang.
func checkSpace(dir string, free uint64) error {
	const need = 200e6
	if free >= need {
		return nil
	}
	return fmt.Errorf("%s has %d MB free: a node needs %d MB there, since RabbitMQ takes no messages when little is left; free some, or set TMPDIR to a directory on a larger disk", dir, free/1e6, int(need/1e6))
}

func (n *node) removeDir() error {
	if n.keep {
		return n.dir.Keep()
	}
	return n.dir.Remove()
}

// nodeName returns a name that no node has had. The port in it is for whoever reads logs.
func nodeName(p nodePorts) string {
	return fmt.Sprintf("genreport-%d-%s@localhost", p.amqp, strings.ToLower(rand.Text()[:12]))
}

// nodeEnv is what the node and its rabbitmqctl have in common.
func nodeEnv(name string, p nodePorts) map[string]string {
	loopback := "-kernel inet_dist_use_interface {127,0,0,1}"
	return map[string]string{
		"HOME":                                guestDir + "/home",
		"RABBITMQ_NODENAME":                   name,
		"RABBITMQ_CONFIG_FILE":                guestDir + "/rabbitmq.conf",
		"RABBITMQ_ENABLED_PLUGINS_FILE":       guestDir + "/enabled_plugins",
		"RABBITMQ_MNESIA_BASE":                guestDir + "/mnesia",
		"RABBITMQ_LOG_BASE":                   guestDir + "/log",
		"RABBITMQ_LOGS":                       guestDir + "/log/rabbit.log",
		"RABBITMQ_GENERATED_CONFIG_DIR":       guestDir + "/config",
		"RABBITMQ_DIST_PORT":                  strconv.Itoa(p.distribution),
		"ERL_EPMD_PORT":                       strconv.Itoa(p.epmd),
		"ERL_EPMD_ADDRESS":                    "127.0.0.1",
		"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": loopback,
		// rabbitmqctl is an Erlang node too; it need not listen at all.
		"RABBITMQ_CTL_ERL_ARGS": loopback + " -dist_listen false",
	}
}

func (n *node) writeFiles(c Config) error {
	for _, sub := range []string{"home", "mnesia", "log", "config", "tls"} {
		if err := os.Mkdir(filepath.Join(n.dir.Path, sub), 0o700); err != nil {
			return err
		}
	}
	var cookie [16]byte
	if _, err := rand.Read(cookie[:]); err != nil {
		return err
	}
	files := map[string]string{
		"home/.erlang.cookie": hex.EncodeToString(cookie[:]),
		"rabbitmq.conf":       configText(c, n.ports),
		"enabled_plugins":     "[" + strings.Join(append([]string{"rabbitmq_management"}, c.Plugins...), ",") + "].\n",
	}
	if c.TLS != nil {
		for name, path := range map[string]string{"tls/cert.pem": c.TLS.CertFile, "tls/key.pem": c.TLS.KeyFile, "tls/ca.pem": c.TLS.CAFile} {
			data, err := os.ReadFile(path)
			if err != nil {
				return fmt.Errorf("read the node's certificate: %w", err)
			}
			files[name] = string(data)
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(n.dir.Path, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// configText returns rabbitmq.conf: ours, overridden by the caller's.
func configText(c Config, p nodePorts) string {
	lines := map[string]string{
		"listeners.tcp.local": fmt.Sprintf("127.0.0.1:%d", p.amqp),
		"management.tcp.ip":   "127.0.0.1",
		"management.tcp.port": strconv.Itoa(p.management),
		// amqp091-go can't turn heartbeats off alone.
		"heartbeat":      "0",
		"log.file.level": "info",
	}
	if c.TLS != nil {
		lines["listeners.ssl.local"] = fmt.Sprintf("127.0.0.1:%d", p.amqps)
		lines["ssl_options.cacertfile"] = guestDir + "/tls/ca.pem"
		lines["ssl_options.certfile"] = guestDir + "/tls/cert.pem"
		lines["ssl_options.keyfile"] = guestDir + "/tls/key.pem"
		lines["ssl_options.verify"] = "verify_none" // of clients, which have no certificate
		lines["ssl_options.fail_if_no_peer_cert"] = "false"
	}
	if slices.Contains(c.Plugins, WebMQTT) {
		lines["mqtt.listeners.tcp.1"] = loopbackAddress(p.mqtt)
		lines["web_mqtt.tcp.listener"] = loopbackAddress(p.webMQTT)
	}
	for k, v := range c.Settings {
		lines[k] = v
	}
	var text strings.Builder
	for _, k := range slices.Sorted(maps.Keys(lines)) {
		fmt.Fprintf(&text, "%s = %s\n", k, lines[k])
	}
	return text.String()
}

// start starts the processes, tied to this one.
func (n *node) start() error {
	files := debian.DescriptorLimit()
	if files < 1024 && n.log != nil {
		n.log(fmt.Sprintf("the limit of open files here is %d: a node takes less connections than that; raise it with ulimit -n", files))
	}
	console, err := os.OpenFile(filepath.Join(n.dir.Path, "console.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer console.Close()
	// No context: the node outlives the one of Start.
	cmd := n.command(context.Background(), "sh", "-c", `ulimit -n "$0" && exec /usr/lib/rabbitmq/bin/rabbitmq-server`, strconv.FormatUint(files, 10))
	cmd.Stdout, cmd.Stderr = console, console
	run, err := debian.Run(cmd)
	if err != nil {
		return err
	}
	n.mu.Lock()
	n.run = run
	n.mu.Unlock()
	return nil
}

// command prepares a command that sees the node's files.
func (n *node) command(ctx context.Context, argv ...string) *exec.Cmd {
	return n.rootfs.Command(ctx, debian.CommandOptions{
		Env: n.env, Bind: map[string]string{n.dir.Path: guestDir}, Dir: guestDir, OwnNames: true,
	}, argv...)
}

// running returns the processes started last.
func (n *node) running() *debian.Running {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.run
}

// waitReady polls until the node answers on management and AMQP. An answer
// counts only while the node lives and if it is the node's own: another
// program may hold a port that ours then fails to bind.
func (n *node) waitReady(ctx context.Context, run *debian.Running) error {
	within, cancel := context.WithTimeout(ctx, n.timeout)
	defer cancel()
	go func() {
		select {
		case <-run.Done(): // whoever answers now, or holds our question, is not this node
			cancel()
		case <-within.Done():
		}
	}()
	api := n.api()
	begin := time.Now()
	for {
		err := n.answers(within, api)
		if err == nil {
			err = checkAlarms(within, api)
		}
		if run.Ended() {
			return fmt.Errorf("it ended after %.1f s (%s)", time.Since(begin).Seconds(), run.Exit())
		}
		var alarm *alarmError
		if err == nil || errors.As(err, &alarm) {
			return err
		}
		select {
		case <-within.Done():
		case <-time.After(100 * time.Millisecond):
		}
		if within.Err() != nil && !run.Ended() {
			return fmt.Errorf("it was not ready within %v: %w", n.timeout, err)
		}
	}
}

// answers returns nil if management and AMQP answer as this node.
func (n *node) answers(ctx context.Context, api *management) error {
	var o overview
	if err := api.get(ctx, "/api/overview", &o); err != nil {
		return err
	}
	if o.Node != n.name {
		return fmt.Errorf("another broker answers on its management port %d", n.ports.management)
	}
	greet := func(dial func(context.Context, string) (net.Conn, error), port int) error {
		greeting, err := dialGreet(ctx, dial, loopbackAddress(port))
		if err != nil {
			return wrap("AMQP", err)
		}
		// The name of a cluster is that of its first node unless it is configured.
		if greeting["cluster_name"] != o.Cluster {
			return fmt.Errorf("another broker answers on its AMQP port %d", port)
		}
		return nil
	}
	if err := greet(dialTCP, n.ports.amqp); err != nil {
		return err
	}
	if n.mqtt {
		for _, port := range []int{n.ports.mqtt, n.ports.webMQTT} {
			c, err := dialTCP(ctx, loopbackAddress(port))
			if err != nil {
				return wrap("MQTT", err)
			}
			c.Close()
		}
	}
	if n.tls == nil {
		return nil
	}
	d := tls.Dialer{Config: n.tls}
	return greet(func(ctx context.Context, address string) (net.Conn, error) { return d.DialContext(ctx, "tcp", address) }, n.ports.amqps)
}

// An alarmError is a node that runs but takes no messages.
type alarmError struct{ resources []string }

func (e *alarmError) Error() string {
	text := "it takes no messages, since its " + strings.Join(e.resources, " and ") + " alarm is on"
	if slices.ContainsFunc(e.resources, func(r string) bool { return strings.HasPrefix(r, "disk") }) { // "disk space" of late
		text += "; less than disk_free_limit is free where its data is: set TMPDIR to a directory on a larger disk"
	}
	if slices.Contains(e.resources, "memory") {
		text += "; it is over vm_memory_high_watermark, a share of the machine's memory: free some, or raise it"
	}
	return text
}

func checkAlarms(ctx context.Context, api *management) error {
	resources, err := api.alarms(ctx)
	if err == nil && len(resources) > 0 {
		return &alarmError{resources}
	}
	return err
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, plainError(err))
}

func loopbackAddress(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

func (n *node) api() *management {
	return &management{
		base: "http://" + loopbackAddress(n.ports.management), user: "guest", password: "guest",
		// No proxy: the caller's environment has no say.
		client: &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}},
	}
}

func (n *node) broker(label string, t *TLS) *Broker {
	b := &Broker{
		label: label, node: n, management: n.api(),
		uris: &uris{plain: "amqp://guest:guest@" + loopbackAddress(n.ports.amqp) + "/"},
	}
	if t == nil {
		return b
	}
	b.caFile = t.CAFile
	b.uris.tls = "amqps://guest:guest@" + net.JoinHostPort("localhost", strconv.Itoa(n.ports.amqps)) + "/"
	b.tls = n.tls
	return b
}

// clientTLS returns the settings of a client that trusts the authority in a file.
func clientTLS(caFile string) (*tls.Config, error) {
	pem, err := os.ReadFile(caFile)
	pool := x509.NewCertPool()
	if err != nil || !pool.AppendCertsFromPEM(pem) {
		return nil, errors.New("the authority's file holds no certificate (PEM is expected)")
	}
	return &tls.Config{RootCAs: pool, ServerName: "localhost"}, nil
}
