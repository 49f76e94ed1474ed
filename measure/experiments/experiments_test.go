package experiments

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"genreport/measure"
	"genreport/measure/broker"
	"genreport/measure/debian"
	"genreport/measure/load"
	"genreport/measure/webapi"
)

// workerVariable makes this test binary the Go load client.
const workerVariable = "GENREPORT_EXPERIMENTS_TEST_WORKER"

// webapiVariable makes the test binary a process of the web API.
const webapiVariable = "GENREPORT_TEST_WEBAPI"

func TestMain(m *testing.M) {
	if os.Getenv(workerVariable) != "" {
		if load.Work(context.Background(), os.Stdin, os.Stdout) != nil {
			os.Exit(1)
		}
		return
	}
	if os.Getenv(webapiVariable) != "" {
		if webapi.Serve(os.Stdin, os.Stdout) != nil {
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	if shared.b != nil {
		if err := shared.b.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// shared is the node of this package's tests.
var shared struct {
	sync.Mutex
	b    *broker.Broker
	root debian.Rootfs
}

func env(t *testing.T) Env {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a real node")
	}
	shared.Lock()
	defer shared.Unlock()
	if shared.b == nil {
		var err error
		ctx := context.Background()
		if shared.root, err = (debian.Debian{Log: func(line string) { t.Log(line) }}).Ensure(ctx, broker.Image(), "forky"); err != nil {
			t.Fatal(err)
		}
		if shared.b, err = broker.Start(ctx, shared.root, broker.Config{Plugins: []string{broker.WebMQTT}}, broker.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	return Env{Broker: shared.b, Profile: Quick, Client: func(ctx context.Context, label string) (*exec.Cmd, error) {
		if label == "pika" {
			return shared.root.Command(ctx, debian.CommandOptions{}, "python3", "-c", load.PikaScript), nil
		}
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Env = append(os.Environ(), workerVariable+"=1")
		return cmd, nil
	}}
}

// Repeats are 3, 6 and 10; of long series and of faults fewer, and at least 3 in
// standard.
func TestRepeats(t *testing.T) {
	long := []string{"quorum-memory", "quorum-drain", "webapi-integrity"}
	slow := []string{"channel-limit", "connection-memory", "webapi-latency", "webapi-scale"} // whose cells take long in standard
	for _, e := range All() {
		quick, standard, full := e.Repeats(Quick), e.Repeats(Standard), e.Repeats(Full)
		isLong, isSlow := slices.Contains(long, e.Name), slices.Contains(slow, e.Name)
		if quick != 3 && !isLong || standard < 3 || standard < 6 && !isLong && !isSlow || full < standard {
			t.Errorf("%s: %d, %d and %d repeats", e.Name, quick, standard, full)
		}
	}
}

func TestAll(t *testing.T) {
	// Public names: file names and references use them.
	want := []string{"channel-limit", "channel-cost", "channel-throughput", "connection-throughput",
		"quorum-memory", "quorum-drain", "websocket-throughput", "connection-memory",
		"webapi-saturation", "webapi-latency", "webapi-scale", "webapi-integrity"}
	var names []string
	name := regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	for _, e := range All() {
		names = append(names, e.Name)
		if !name.MatchString(e.Name) || e.Title == "" || e.Method < 1 || Methods()[e.Name] != e.Method {
			t.Errorf("%s: title %q, method %d", e.Name, e.Title, e.Method)
		}
		for _, b := range e.Brokers {
			if _, err := broker.ParseSpec(b); err != nil {
				t.Errorf("%s: %v", e.Name, err)
			}
		}
		if len(e.Brokers) == 0 || len(e.Metrics) == 0 {
			t.Errorf("%s: brokers %v, %d metrics", e.Name, e.Brokers, len(e.Metrics))
		}
		for _, p := range Profiles() {
			t.Run(e.Name+"/"+string(p), func(t *testing.T) { checkProfile(t, e, p) })
		}
		for n, m := range e.Metrics {
			if m.Description == "" {
				t.Errorf("%s: metric %s is not described", e.Name, n)
			}
		}
	}
	if !slices.Equal(names, want) {
		t.Errorf("experiments %q, want %q", names, want)
	}
}

func checkProfile(t *testing.T, e Experiment, p Profile) {
	// Three at least; long series once when things are tried out. Six and ten where a
	// measurement is short: below six there is no interval.
	long := slices.Contains([]string{"quorum-memory", "quorum-drain", "webapi-integrity"}, e.Name)
	least := map[Profile]int{Quick: 3, Standard: 6, Full: 10}[p]
	switch {
	case long && p == Quick:
		least = 1
	case long || slices.Contains([]string{"connection-memory", "webapi-latency", "webapi-scale"}, e.Name) || e.Name == "channel-limit": // whose counts are exact
		least = 3
	}
	if n := e.Repeats(p); n < least {
		t.Errorf("%d repeats, want %d", n, least)
	}
	// The format's own rules know units and directions.
	r := measure.NewResult(measure.Run{ID: "20261130T000000Z", Profile: string(p)}, e.Name, e.Method, 100)
	r.Metrics, r.Parameters = e.Metrics, e.Params(p)
	if err := r.Validate(); err != nil {
		t.Error(err)
	}
	cases := e.Cases(p)
	seen := map[string]bool{}
	perClient := map[string]int{}
	for _, c := range cases {
		l := c.Labels.String()
		if seen[l] {
			t.Errorf("%s is there twice", l)
		}
		if _, ok := load.KindOf(c.Labels["client"]); !ok && !e.Database { // whose load is HTTP
			t.Errorf("%s: no such client", l)
		}
		seen[l] = true
		perClient[c.Labels["client"]]++
		if c.Estimate <= 0 {
			t.Errorf("%s: estimate %v", l, c.Estimate)
		}
		if strings.ContainsAny(strings.ReplaceAll(l, ",", ""), " '\"\\$*") || c.Labels["broker"] != "" {
			t.Errorf("%q can't be given to --case", l)
		}
		for k, v := range c.Labels {
			if strings.Contains(k+v, ",") || strings.Contains(k, "=") || v == "" {
				t.Errorf("%s=%s can't be given to --case", k, v)
			}
		}
	}
	compared := strings.HasPrefix(e.Name, "channel-") || e.Name == "connection-throughput" // clients, in the first article
	if compared && !(p == Quick && e.Name != "channel-throughput" && e.Name != "connection-throughput") && (len(perClient) != 3 || perClient["go"] == 0 || perClient["go"] != perClient["go-batched"] || perClient["go"] != perClient["pika"]) {
		t.Errorf("cases by client %v", perClient)
	}
	if compared && p == Quick && (perClient["go"] == 0 || perClient["pika"] == 0) {
		t.Errorf("cases by client %v", perClient)
	}
	if e.Warmup != nil {
		for _, c := range e.Warmup(p) {
			if !seen[c.Labels.String()] {
				t.Errorf("warm-up %s is no case", c.Labels)
			}
		}
	}
	// Profiles change sizes and repeats, never which cases there are; but where each
	// takes seconds, quick leaves some out.
	if p == Quick {
		for l := range seen {
			if !slices.ContainsFunc(e.Cases(Standard), func(c Case) bool { return c.Labels.String() == l }) {
				t.Errorf("%s is a case of quick and not of standard", l)
			}
		}
		if few := slices.Contains([]string{"channel-throughput", "connection-throughput", "quorum-memory", "quorum-drain"}, e.Name); few && len(seen) != len(e.Cases(Standard)) {
			t.Errorf("%d cases, and %d in standard", len(seen), len(e.Cases(Standard)))
		}
		return
	}
	var others []string
	for _, c := range e.Cases(Standard) {
		others = append(others, c.Labels.String())
	}
	for _, o := range others {
		if !seen[o] {
			t.Errorf("%s is a case of standard and not of %s", o, p)
		}
	}
}

// The sizes of the post.
func TestSizes(t *testing.T) {
	values := func(e Experiment, key string) string {
		var out []string
		for _, c := range e.Cases(Standard) {
			if c.Labels["client"] == "pika" {
				out = append(out, c.Labels[key])
			}
		}
		return strings.Join(out, " ")
	}
	for _, tt := range []struct {
		e         Experiment
		key, want string
	}{
		{channelCost(), "channels", "100 1000 2000"},
		{channelThroughput(), "channels", "1 4 16 64"},
		{connectionThroughput(), "connections", "1 2 4 8"},
		{channelLimit(), "node", "default default channel_max=16 channel_max=0"},
		{channelLimit(), "request", "default 100 default default"},
	} {
		if got := values(tt.e, tt.key); got != tt.want {
			t.Errorf("%s: %s are %q, want %q", tt.e.Name, tt.key, got, tt.want)
		}
	}
	for key, want := range map[string]string{"channel-throughput": "100000", "connection-throughput": "50000"} {
		for _, e := range All() {
			if e.Name == key && e.Params(Standard)["messages_per_connection"] != want {
				t.Errorf("%s: %v", key, e.Params(Standard))
			}
		}
	}
	if channelMessages(Standard) != 100_000 || connectionMessages(Standard) != 50_000 || openAtMost(Standard) != 65_536 {
		t.Error("the sizes are not the post's")
	}
}

func TestParseProfile(t *testing.T) {
	for _, p := range Profiles() {
		if got, err := ParseProfile(string(p)); got != p || err != nil {
			t.Errorf("%s: %s, %v", p, got, err)
		}
	}
	for _, s := range []string{"", "Quick", "fast"} {
		if _, err := ParseProfile(s); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("unknown profile %q", s)) {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestLimitedBy(t *testing.T) {
	for _, tt := range []struct {
		offered, own, agreed int
		want                 string
	}{
		{2047, 65535, 2047, "server"},
		{2047, 2047, 2047, "both"},
		{2047, 100, 100, "client"},
		{16, 2047, 16, "server"},
		{0, 2047, 2047, "client"}, // amqp091-go's own
		{0, 65535, 65535, "client"},
		{2047, 0, 2047, "server"},
		{0, 0, 0, "nobody"},
	} {
		if got := limitedBy(load.Tune{Offered: tt.offered, Own: tt.own, Agreed: tt.agreed}); got != tt.want {
			t.Errorf("%+v: %s", tt, got)
		}
	}
}

func TestThroughputValues(t *testing.T) {
	near := func(v measure.Value, want float64) bool { return math.Abs(v.Float64()-want) < 1e-9*math.Abs(want) }
	// 3,124,040 in 14.99 s is 208,408/s, not a fifteenth of the number.
	v := throughputValues([]load.Outcome{{Sent: 3_124_040, Elapsed: 14.99, CPU: 2, Began: 5}})
	if r := v["rate"].Float64(); math.Round(r) != 208_408 || !near(v["elapsed"], 14.99) || !near(v["client_cpu"], 2) || v["start_skew"].Float64() != 0 {
		t.Errorf("%+v", v)
	}
	// The slowest of three decides: 300 messages in 4 s.
	const second = 1_000_000_000
	v = throughputValues([]load.Outcome{
		{Sent: 100, Elapsed: 2, CPU: 0.5, Began: 1_700_000_000*second + 30_000_000},
		{Sent: 100, Elapsed: 4, CPU: 0.25, Began: 1_700_000_000 * second},
		{Sent: 100, Elapsed: 1, CPU: 0.25, Began: 1_700_000_000*second + 10_000_000},
	})
	if !near(v["rate"], 75) || !near(v["elapsed"], 4) || !near(v["client_cpu"], 1) || !near(v["start_skew"], 0.03) {
		t.Errorf("%+v", v)
	}
	// No time, no rate.
	v = throughputValues([]load.Outcome{{Sent: 100}})
	if v["rate"].OK() || !strings.Contains(v["rate"].Reason(), "Inf") {
		t.Errorf("%+v", v["rate"])
	}
	if v := throughputValues([]load.Outcome{{}}); v["rate"].OK() {
		t.Errorf("0 messages in 0 s is %+v", v["rate"])
	}
}

func TestParseReading(t *testing.T) {
	for out, want := range map[string]reading{
		"412 123456789":         {processes: 412, memory: 123456789},
		"412 9876543210ok":      {processes: 412, memory: 9876543210}, // put_chars' own value follows
		"412 123456789\nok":     {processes: 412, memory: 123456789},
		"  7 8":                 {processes: 7, memory: 8},
		"1 9223372036854775807": {processes: 1, memory: math.MaxInt64},
	} {
		if got, err := parseReading(out, nil); got != want || err != nil {
			t.Errorf("%q: %+v, %v", out, got, err)
		}
	}
	for _, out := range []string{"", "412", "x 5", "412 x", "1.5 3", "{412,5}", "1 9223372036854775808"} {
		if got, err := parseReading(out, nil); err == nil || got != (reading{}) {
			t.Errorf("%q: %+v, %v", out, got, err)
		}
	}
	why := errors.New("the node has ended")
	if _, err := parseReading("1 2", why); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
}

// smoke measures the one case of the experiment that has the labels, in the
// environment.
func smoke(t *testing.T, environment Env, e Experiment, labels measure.Labels, missing ...string) Sample {
	t.Helper()
	for _, c := range slices.Concat(e.Cases(Quick), e.Cases(Standard)) { // those that quick leaves out are as short with its sizes
		if !c.Labels.Match(labels) {
			continue
		}
		s, err := e.Measure(context.Background(), environment, c)
		if err != nil {
			t.Fatal(err)
		}
		for name := range e.Metrics {
			v, ok := s.Values[name]
			if want := !slices.Contains(missing, name); !ok || v.OK() != want || !want && v.Reason() == "" {
				t.Errorf("%s is %+v", name, v)
			}
		}
		for name := range s.Values {
			if _, ok := e.Metrics[name]; !ok {
				t.Errorf("value %s is no metric", name)
			}
		}
		if len(s.Clients) != 1 || s.Clients[0].Label != c.Labels["client"] || s.Clients[0].Library == "" {
			t.Errorf("clients %+v", s.Clients)
		}
		return s
	}
	t.Fatalf("%s has no case %s", e.Name, labels)
	return Sample{}
}

func between(t *testing.T, s Sample, name string, low, high float64) {
	t.Helper()
	if x := s.Values[name].Float64(); !(x >= low && x <= high) {
		t.Errorf("%s is %v, not in %v…%v", name, x, low, high)
	}
}

func TestChannelCost(t *testing.T) {
	s := smoke(t, env(t), channelCost(), measure.Labels{"client": "pika", "channels": "1000"})
	// Exactly 4.0 processes a channel, known from 4.0.5 and 4.3.6; others of
	// the node come and go.
	between(t, s, "processes", 3992, 4008)
	between(t, s, "processes_gc", 3992, 4008)
	// 16-20 KiB each, after collection. With a hundred channels what the node
	// gives back meanwhile is as much as the channels hold.
	between(t, s, "memory_gc", 1000*8<<10, 1000*40<<10)
	between(t, s, "open_time", 1e-4, 30)
	checkOpening(t, s)
}

func TestChannelLimit(t *testing.T) {
	for client, want := range map[string]string{"pika": "NoFreeChannels", "go": "channel id space exhausted"} {
		s := smoke(t, env(t), channelLimit(), measure.Labels{"client": client, "node": "default", "request": "100"})
		for name, n := range map[string]float64{"offered": 2047, "own": 100, "negotiated": 100, "opened": 100, "listed": 100} {
			between(t, s, name, n, n)
		}
		if s.CPU == nil || s.CPU.Processes != 1 {
			t.Errorf("%s: cpu %+v", client, s.CPU)
		}
		if s.Texts["limited_by"] != "client" || !strings.Contains(s.Texts["error"], want) || s.Texts["list_connections"] != "channels\tchannel_max\n100\t100" {
			t.Errorf("%s: texts %q", client, s.Texts)
		}
		for name := range s.Texts {
			if channelLimit().Texts[name] == "" {
				t.Errorf("text %s is not described", name)
			}
		}
	}
}

func TestThroughput(t *testing.T) {
	for _, tt := range []struct {
		e        Experiment
		labels   measure.Labels
		messages float64
	}{
		{channelThroughput(), measure.Labels{"client": "go", "channels": "4"}, 10_000},
		{channelThroughput(), measure.Labels{"client": "go-batched", "channels": "64"}, 10_000},
		{connectionThroughput(), measure.Labels{"client": "go-batched", "connections": "2"}, 10_000},
		{connectionThroughput(), measure.Labels{"client": "pika", "connections": "2"}, 10_000},
	} {
		t.Run(tt.e.Name+" "+tt.labels.String(), func(t *testing.T) {
			s := smoke(t, env(t), tt.e, tt.labels)
			between(t, s, "rate", 100, 10e6)
			elapsed := s.Values["elapsed"].Float64()
			if n := s.Values["rate"].Float64() * elapsed; math.Abs(n-tt.messages) > 0.01 {
				t.Errorf("rate x time is %v messages, want %v", n, tt.messages)
			}
			between(t, s, "start_skew", 0, 10)
			between(t, s, "client_cpu", 1e-4, 100)
			between(t, s, "broker_cpu", 0.01, 100)
			checkEvidence(t, s, tt.labels, int64(tt.messages))
			// The queue is gone, and no connection is left.
			if _, err := load.Depth(context.Background(), shared.b.URI(), "", throughputQueue); err == nil {
				t.Error("the queue is still there")
			}
			if list, err := shared.b.Connections(context.Background()); err != nil || len(list) != 0 {
				t.Errorf("connections left: %+v, %v", list, err)
			}
		})
	}
}

// checkOpening holds the CPU time of one client that opened channels against
// the time that it took.
func checkOpening(t *testing.T, s Sample) {
	t.Helper()
	c := s.CPU
	if c == nil {
		t.Fatal("no CPU time")
	}
	took := s.Values["open_time"].Float64()
	if c.Processes != 1 || c.Wall < took || c.Wall > took+1 {
		t.Errorf("a window of %v s for what took %v s: %+v", c.Wall, took, c)
	}
	for who, v := range map[string]measure.Value{"the client": c.Clients, "the broker": c.Broker} {
		if f := v.Float64(); !v.OK() || !(f > 0) || f > c.Wall*float64(c.Cores)+0.1 {
			t.Errorf("%s took %+v s in a window of %v s", who, v, c.Wall)
		}
	}
}

// checkEvidence holds what stands behind the values of a throughput cell
// against them.
func checkEvidence(t *testing.T, s Sample, labels measure.Labels, messages int64) {
	t.Helper()
	if s.CPU == nil || s.Integrity == nil {
		t.Fatalf("cpu %+v, integrity %+v", s.CPU, s.Integrity)
	}
	c := *s.CPU
	wall := s.Values["elapsed"].Float64()
	if c.Wall < wall || c.Wall > wall+s.Values["start_skew"].Float64()+1 {
		t.Errorf("the window is %v s, the load took %v s", c.Wall, wall)
	}
	processes := 1
	if n, err := number(labels, "connections"); err == nil {
		processes = n
	}
	if c.Cores != runtime.NumCPU() || c.Processes != processes {
		t.Errorf("%d cores, %d processes", c.Cores, c.Processes)
	}
	if c.Clients.Float64() != s.Values["client_cpu"].Float64() || c.Broker.Float64() != s.Values["broker_cpu"].Float64() {
		t.Errorf("the clients took %v and %v s, the broker %v and %v s", c.Clients, s.Values["client_cpu"], c.Broker, s.Values["broker_cpu"])
	}
	// Where all the time of the cores went: what the load took is part of it,
	// and the kernel counts in steps of 10 ms on each core.
	const steps = 0.1
	busy := c.Wall*float64(c.Cores) - c.Idle.Float64() - c.Steal.Float64()
	if took := c.Clients.Float64() + c.Broker.Float64(); !(took <= busy+steps) || !(c.Idle.Float64() >= 0) || !(c.Steal.Float64() >= 0) || busy < 0 {
		t.Errorf("clients and broker took %v s of the %v s in which a core worked: %+v", took, busy, c)
	}
	i := *s.Integrity
	if n, _ := i.Enqueued.Int64(); i.Sent != messages || n != messages || i.Check() != nil {
		t.Errorf("integrity %+v: %v", i, i.Check())
	}
	for _, v := range []measure.Value{i.Acked, i.Nacked, i.Unconfirmed, i.Returned, i.Consumed, i.Left, i.Lost, i.Duplicated, i.OutOfOrder} {
		if v.OK() || v.Reason() == "" {
			t.Errorf("integrity %+v", i)
		}
	}
	// The format takes it as it is.
	r := measure.NewResult(measure.Run{ID: "20261130T000000Z", Profile: "quick"}, "x", 1, 1)
	r.Cells = append(r.Cells, measure.Cell{Repeat: 1, CPU: s.CPU, Integrity: s.Integrity})
	if err := r.Validate(); err != nil {
		t.Error(err)
	}
}

// A broker given by URL can't tell its CPU time; everything else is there.
func TestWindowByURL(t *testing.T) {
	environment := env(t)
	spec, err := broker.ParseSpec(environment.Broker.URI())
	if err != nil {
		t.Fatal(err)
	}
	if environment.Broker, err = broker.Connect(context.Background(), spec); err != nil {
		t.Fatal(err)
	}
	e, c := Control(Quick)
	s, err := e.Measure(context.Background(), environment, c)
	if err != nil || s.CPU == nil {
		t.Fatalf("%+v, %v", s, err)
	}
	if s.CPU.Broker.OK() || !strings.Contains(s.CPU.Broker.Reason(), "given by URL") || !s.CPU.Clients.OK() || !s.CPU.Idle.OK() || !s.CPU.Steal.OK() {
		t.Errorf("%+v", s.CPU)
	}
	if v := s.Values["broker_cpu"]; v.OK() || v.Reason() != s.CPU.Broker.Reason() {
		t.Errorf("%+v", v)
	}
}

func TestParseCoreTime(t *testing.T) {
	stat := "cpu  1 1 1 1 1 1 1 1 0 0\ncpu0 100 20 30 4000 50 6 7 8 90 9\ncpu1 1 2 3 4 5 6 7 8 9 10\ncpu10 1000 0 0 1000 0 0 0 500 0 0\nintr 1 2\n"
	for list, want := range map[string]CoreTime{
		"0":      {1, 42.21, 40.5, 0.08},
		"0-1":    {2, 42.57, 40.59, 0.16},
		"1,9-10": {2, 25.36, 10.09, 5.08},
		"0-63":   {3, 67.57, 50.59, 5.16},
	} {
		got, err := parseCoreTime(stat, "Name:\tx\nCpus_allowed:\t3\nCpus_allowed_list:\t"+list+"\n")
		if err != nil || got.Cores != want.Cores || math.Abs(got.Total-want.Total)+math.Abs(got.Idle-want.Idle)+math.Abs(got.Steal-want.Steal) > 1e-9 {
			t.Errorf("%s: %+v, %v; want %+v", list, got, err, want)
		}
	}
	for _, tt := range [][2]string{{stat, ""}, {stat, "Cpus_allowed_list:\t5"}, {stat, "Cpus_allowed_list:\tx"}, {"cpu0 1 2 3", "Cpus_allowed_list:\t0"},
		{"cpu0 1 2 3 4 5 6 x 8", "Cpus_allowed_list:\t0"}, {"", "Cpus_allowed_list:\t0"}} {
		if got, err := parseCoreTime(tt[0], tt[1]); err == nil {
			t.Errorf("%q: %+v", tt, got)
		}
	}
}

// The control load is long enough for clocks of 10 ms, and short enough to be
// no burden.
func TestControl(t *testing.T) {
	environment := env(t)
	e, c := Control(Quick)
	s, err := e.Measure(context.Background(), environment, c)
	if err != nil {
		t.Fatal(err)
	}
	between(t, s, "elapsed", 0.1, 30)
	if s.Integrity.Sent != 20_000 || s.Integrity.Check() != nil {
		t.Errorf("%+v", s.Integrity)
	}
}

// Messages that don't arrive are found, which fails the cell: the queue's limit drops all but ten.
func TestIntegrity(t *testing.T) {
	environment := env(t)
	ctx := context.Background()
	if _, err := environment.Broker.Ctl(ctx, "set_policy", "few", "^"+regexp.QuoteMeta(throughputQueue)+"$", `{"max-length":10}`); err != nil {
		t.Fatal(err)
	}
	defer environment.Broker.Ctl(ctx, "clear_policy", "few")
	e := channelThroughput()
	for _, c := range e.Cases(Quick) {
		if c.Labels.Match(measure.Labels{"client": "go", "channels": "1"}) {
			s, err := e.Measure(ctx, environment, c)
			if err != nil || s.Integrity == nil {
				t.Fatalf("%+v, %v", s, err)
			}
			if err := s.Integrity.Check(); err == nil || !strings.Contains(err.Error(), "integrity: 10000 messages were published and 10 are in the queue") {
				t.Errorf("%v", err)
			}
		}
	}
}

func TestMeasureEndsWithContext(t *testing.T) {
	environment := env(t)
	for _, e := range All() {
		ctx, cancel := context.WithCancel(context.Background())
		original := environment.Client
		environment.Client = func(c context.Context, label string) (*exec.Cmd, error) {
			cancel()
			return original(c, label)
		}
		if _, err := e.Measure(ctx, environment, e.Cases(Quick)[0]); err == nil {
			t.Errorf("%s: no error", e.Name)
		}
		environment.Client = original
	}
}
