package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"genreport/measure"
	"genreport/measure/broker"
	"genreport/measure/debian"
	"genreport/measure/experiments"
)

// host runs on real nodes whose data is below a directory of the test's own.
func host(t *testing.T) Host {
	t.Helper()
	if testing.Short() {
		t.Skip("starts real nodes")
	}
	t.Setenv("TMPDIR", t.TempDir())
	spec, err := broker.ParseSpec("debian:forky")
	if err != nil {
		t.Fatal(err)
	}
	return Host{
		Debian:  debian.Debian{Log: func(line string) { t.Log(line) }},
		Specs:   map[string]broker.Spec{"debian:forky": spec},
		Results: filepath.Join(t.TempDir(), "results"),
		Tool:    measure.Tool{Version: "test"},
		Log:     func(line string) { t.Log(line) },
	}
}

// wantNothingLeft finds processes and files of nodes that outlived the run.
func wantNothingLeft(t *testing.T) {
	t.Helper()
	dir := os.TempDir()
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		if data, err := os.ReadFile(f); err == nil && strings.Contains(string(data), dir) {
			t.Errorf("still running: %s", strings.ReplaceAll(string(data), "\x00", " "))
		}
	}
	filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if d != nil && !d.IsDir() && strings.Contains(path, "log") {
			t.Errorf("left behind: %s", path)
		}
		return nil
	})
}

func loaded(t *testing.T, h Host, id string, methods map[string]int) measure.Recorded {
	t.Helper()
	rec, err := measure.LoadRun(os.DirFS(h.Results), id, methods)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// plan is of one experiment with a Measure of the test's own.
func plan(t *testing.T, e experiments.Experiment, f func(context.Context, experiments.Env, string) (experiments.Sample, error)) Plan {
	t.Helper()
	e.Measure = func(ctx context.Context, env experiments.Env, c experiments.Case) (experiments.Sample, error) {
		return f(ctx, env, c.Labels["n"])
	}
	p, err := NewPlan([]experiments.Experiment{e}, Selection{Profile: experiments.Quick})
	if err != nil {
		t.Fatal(err)
	}
	p.control.experiment.Measure = func(context.Context, experiments.Env, experiments.Case) (experiments.Sample, error) {
		return experiments.Sample{Values: map[string]measure.Value{"rate": measure.Float(1000)}}, nil
	}
	return p
}

func sample(x int64) experiments.Sample {
	return experiments.Sample{
		Values:  map[string]measure.Value{"x": measure.Int(x), "y": measure.Float(0.5)},
		Texts:   map[string]string{"said": "hello"},
		Clients: []measure.Client{{Label: "go", Library: "fake", Version: "1", Runtime: "2"}},
	}
}

// A fresh case gets a node that has done nothing before, each time; the one that
// runs all the time goes on.
func TestFresh(t *testing.T) {
	h := host(t)
	e := fake("a", 2, "")
	e.Cases = func(experiments.Profile) []experiments.Case {
		return []experiments.Case{
			{Labels: measure.Labels{"n": "plain", "client": "go"}, Estimate: time.Second},
			{Labels: measure.Labels{"n": "fresh", "client": "go"}, Estimate: time.Second, Fresh: true},
			{Labels: measure.Labels{"n": "set", "client": "go"}, Estimate: time.Second, Fresh: true, Settings: map[string]string{"channel_max": "17"}},
		}
	}
	e.Plugins = []string{broker.WebMQTT}
	seen := map[*broker.Broker][]string{}
	p := plan(t, e, func(ctx context.Context, env experiments.Env, n string) (experiments.Sample, error) {
		seen[env.Broker] = append(seen[env.Broker], n)
		if _, err := env.Broker.MQTTURI(true); err != nil {
			t.Errorf("%s: %v", n, err)
		}
		s := sample(1)
		s.Warnings = []string{"a warning of a sample"}
		return s, nil
	})
	run, failed, err := Run(context.Background(), h, p, measure.NewRun(time.Now(), "quick"))
	if err != nil || failed != 0 {
		t.Fatalf("%d failed, %v", failed, err)
	}
	var uses []string
	for _, n := range seen {
		uses = append(uses, strings.Join(n, "+"))
	}
	slices.Sort(uses)
	if want := []string{"fresh", "fresh", "plain+plain", "set", "set"}; !slices.Equal(uses, want) {
		t.Errorf("nodes were used for %q, want %q", uses, want)
	}
	if !slices.Equal(withoutDisk(run.Warnings), []string{"a warning of a sample"}) {
		t.Errorf("warnings %q", run.Warnings)
	}
	if !slices.Contains(run.Brokers[0].Plugins, broker.WebMQTT) || run.Brokers[0].Components["ra"] == "" {
		t.Errorf("%+v", run.Brokers[0])
	}
	wantNothingLeft(t)
}

// One run with all that may happen to a cell: the others go on, and the files
// are whole after each.
func TestRun(t *testing.T) {
	h := host(t)
	e := fake("a", 1, "warm")
	cases := []experiments.Case{}
	for _, c := range []struct{ n, max string }{{"good", ""}, {"fails", ""}, {"forgets", ""}, {"stops RabbitMQ", ""}, {"after the stop", ""}, {"ends the node", ""}, {"after the end", ""},
		{"variant", "17"}, {"variant fails", "17"}, {"variant ends", "17"}, {"variant again", "17"}, {"bad setting", "many"}} {
		x := experiments.Case{Labels: measure.Labels{"n": c.n, "client": "go"}, Estimate: time.Second}
		if c.max != "" {
			x.Settings = map[string]string{"channel_max": c.max}
		}
		cases = append(cases, x)
	}
	e.Cases = func(experiments.Profile) []experiments.Case { return cases }
	nodes := map[string]*broker.Broker{}
	measured := 0
	p := plan(t, e, func(ctx context.Context, env experiments.Env, n string) (experiments.Sample, error) {
		measured++
		nodes[n] = env.Broker
		if env.Profile != experiments.Quick {
			t.Errorf("profile %q", env.Profile)
		}
		switch n {
		case "fails", "variant fails":
			return sample(1), errors.New("it went wrong")
		case "forgets":
			s := sample(1)
			delete(s.Values, "y")
			return s, nil
		case "stops RabbitMQ":
			if _, err := env.Broker.Ctl(ctx, "stop_app"); err != nil {
				t.Error(err)
			}
			return sample(1), errors.New("no connection")
		case "ends the node", "variant ends":
			if _, err := env.Broker.Eval(ctx, "init:stop()"); err != nil {
				t.Log(err) // it may end before it answers
			}
			<-env.Broker.Done()
			return sample(1), errors.New("no connection")
		case "after the stop", "after the end", "variant", "variant again":
			max, err := env.Broker.Eval(ctx, "element(2, application:get_env(rabbit, channel_max))")
			if err != nil {
				return experiments.Sample{}, err
			}
			s := sample(1)
			s.Texts["channel_max"] = max
			return s, nil
		}
		return sample(int64(measured)), nil
	})
	methods := map[string]int{"a": 1}
	var seen []int
	run := measure.NewRun(time.Now(), "quick")
	h.OnCell = func(pr Progress) {
		if pr.Total != 13 {
			t.Errorf("total %d", pr.Total)
		}
		rec := loaded(t, h, run.ID, methods)
		if done := max(0, pr.Done-1); done != len(rec.Results["a"].Cells) { // the first is the warm-up
			t.Errorf("%d cells in the file before cell %d", len(rec.Results["a"].Cells), pr.Done)
		}
		if rec.Run.Ended != nil || pr.Done > 1 && len(rec.Run.Clients) != 1 {
			t.Errorf("before cell %d: ended %v, clients %+v", pr.Done, rec.Run.Ended, rec.Run.Clients)
		}
		seen = append(seen, pr.Done)
	}
	written, failed, err := Run(context.Background(), h, p, run)
	if err != nil {
		t.Fatal(err)
	}
	if failed != 6 || len(seen) != 13 {
		t.Errorf("%d failed of cells %v", failed, seen)
	}
	rec := loaded(t, h, run.ID, methods)
	if written.Ended == nil || rec.Run.Ended == nil || len(rec.Run.Plan) != 12 || len(rec.Run.Warmup) != 1 {
		t.Errorf("run %+v", rec.Run)
	}
	if b := rec.Run.Brokers; len(b) != 1 || b[0].Label != "debian:forky" || !strings.HasPrefix(b[0].RabbitMQ, "4.") || b[0].Settings["channel_max"] != "2047" {
		t.Errorf("brokers %+v", b)
	}
	if c := rec.Run.Clients; len(c) != 1 || c[0].Library != "fake" {
		t.Errorf("clients %+v", c)
	}
	res := rec.Results["a"]
	if !res.Complete() || res.Parameters["size"] != "1" || len(res.Cells) != 12 {
		t.Fatalf("result %+v", res)
	}
	want := map[string]string{ // the failure's reason begins and ends so
		"good": "", "fails": "it went wrong", "forgets": "", "stops RabbitMQ": "the broker takes no more connections: no connection", "after the stop": "",
		"ends the node": "the broker ended: no connection", "after the end": "", "variant": "", "variant fails": "it went wrong",
		"variant ends": "the broker ended: no connection", "variant again": "", "bad setting": "\"many\" cannot be converted to a(n) integer",
	}
	for i, c := range res.Cells {
		n := c.Labels["n"]
		reason := want[n]
		if c.Order != i || c.Duration < 0 || c.Started < 0 || !strings.Contains(c.Command, "--case client=go,n=") || c.Labels["broker"] != "debian:forky" {
			t.Errorf("%s: %+v", n, c)
		}
		if reason == "" {
			if c.Failure != nil || !c.Values["x"].OK() || c.Texts["said"] != "hello" {
				t.Errorf("%s: %+v, %+v", n, c, c.Failure)
			}
			continue
		}
		if c.Failure == nil || c.Values["x"].OK() || c.Texts != nil {
			t.Errorf("%s did not fail: %+v", n, c)
			continue
		}
		if n == "bad setting" { // the node does not start; its reason holds its log
			if !strings.Contains(c.Failure.Reason, reason) {
				t.Errorf("%s: %s", n, c.Failure.Reason)
			}
			continue
		}
		if c.Failure.Reason != reason || c.Values["x"].Reason() != reason || !strings.Contains(c.Failure.Log, "[info]") || strings.Count(c.Failure.Log, "\n") >= logLines {
			t.Errorf("%s: failure %+v", n, c.Failure)
		}
		for _, secret := range []string{os.TempDir(), h.Results} {
			if strings.Contains(c.Failure.Reason+c.Failure.Log, secret) {
				t.Errorf("%s: it tells a path of this machine: %+v", n, c.Failure)
			}
		}
	}
	if v := res.Cells[2].Values["y"]; v.OK() || v.Reason() != "the experiment did not measure it" {
		t.Errorf("the forgotten metric is %+v", v)
	}
	for n, channelMax := range map[string]string{"after the stop": "2047", "after the end": "2047", "variant": "17", "variant again": "17"} {
		for _, c := range res.Cells {
			if c.Labels["n"] == n && c.Texts["channel_max"] != channelMax {
				t.Errorf("%s: channel_max is %q", n, c.Texts["channel_max"])
			}
		}
	}
	for _, same := range [][2]string{{"warm", "good"}, {"good", "stops RabbitMQ"}, {"after the stop", "ends the node"}, {"variant", "variant ends"}} {
		if nodes[same[0]] == nil || nodes[same[0]] != nodes[same[1]] {
			t.Errorf("%s and %s had different nodes", same[0], same[1])
		}
	}
	for _, other := range [][2]string{{"good", "after the stop"}, {"after the stop", "after the end"}, {"after the end", "variant"}, {"variant", "variant again"}} {
		if nodes[other[0]] == nodes[other[1]] {
			t.Errorf("%s and %s had the same node", other[0], other[1])
		}
	}
	wantNothingLeft(t)

	// The run is there: another of the same id is refused before a node starts.
	_, _, err = Run(context.Background(), h, p, run)
	if err == nil || !strings.Contains(err.Error(), "is already in") {
		t.Errorf("a second run: %v", err)
	}
}

func TestRunInterrupted(t *testing.T) {
	h := host(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	p := plan(t, fake("a", 4, "", "1"), func(ctx context.Context, env experiments.Env, n string) (experiments.Sample, error) {
		rec := loaded(t, h, "20261130T000000Z", map[string]int{"a": 1})
		if len(rec.Results["a"].Cells) == 2 { // in the third cell
			cancel()
			return experiments.Sample{}, ctx.Err()
		}
		return sample(1), nil
	})
	run := measure.NewRun(time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC), "quick")
	_, _, err := Run(ctx, h, p, run)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "interrupted after 2 of 4 cells") {
		t.Errorf("%v", err)
	}
	rec := loaded(t, h, run.ID, map[string]int{"a": 1})
	if res := rec.Results["a"]; len(res.Cells) != 2 || res.Planned != 4 || res.Complete() || rec.Run.Ended != nil || len(rec.Run.Clients) != 1 {
		t.Errorf("%+v", rec)
	}
	wantNothingLeft(t)
}

// A run that measured nothing leaves no directory.
func TestRunNothingMeasured(t *testing.T) {
	h := host(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	run := measure.NewRun(time.Now(), "quick")
	p := plan(t, fake("a", 1, "", "1"), func(context.Context, experiments.Env, string) (experiments.Sample, error) {
		cancel()
		return sample(1), nil
	})
	if _, _, err := Run(ctx, h, p, run); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	wantNames(t, h.Results)
	wantNothingLeft(t)

	p.Brokers = []string{"debian:nosuch"}
	if _, _, err := Run(context.Background(), h, p, run); err == nil || !strings.Contains(err.Error(), "no broker is called debian:nosuch") {
		t.Errorf("%v", err)
	}
	wantNames(t, h.Results)

	h.Results = filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(h.Results, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Run(context.Background(), h, p, run); err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("%v", err)
	}
}

func wantNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(want) {
		t.Errorf("%s holds %v", dir, entries)
	}
}

func TestClientCommand(t *testing.T) {
	t.Setenv("GOMAXPROCS", "1")
	t.Setenv("GOGC", "off")
	t.Setenv("GODEBUG", "x=1")
	t.Setenv("GOMEMLIMIT", "1GiB")
	r := runner{host: Host{Worker: []string{"/bin/echo", "worker"}}, pikaErr: errors.New("no network")}
	for _, label := range []string{"go", "go-batched"} {
		cmd, err := r.client(context.Background(), label)
		if err != nil || fmt.Sprint(cmd.Args) != "[/bin/echo worker]" {
			t.Fatalf("%v, %v", cmd, err)
		}
		if cmd.SysProcAttr == nil || !cmd.SysProcAttr.Setpgid { // a race that is hard to lose on purpose
			t.Error("a terminal's Ctrl-C reaches the client, which fails its cell before the run knows")
		}
		env := strings.Join(cmd.Env, "\n")
		for _, name := range []string{"GOMAXPROCS=", "GOGC=", "GODEBUG=", "GOMEMLIMIT="} {
			if strings.Contains("\n"+env, "\n"+name) {
				t.Errorf("%s reaches the client", name)
			}
		}
		if !strings.Contains("\n"+env, "\nPATH=") {
			t.Error("the client has no environment")
		}
	}
	if _, err := r.client(context.Background(), "pika"); err == nil || !strings.Contains(err.Error(), "can't be had on this machine") || strings.Contains(err.Error(), "no network") {
		t.Error(err) // the reason may name paths and mirrors, and results are published
	}
	if _, err := r.client(context.Background(), "perl"); err == nil || !strings.Contains(err.Error(), `unknown client "perl"`) {
		t.Error(err)
	}
}

// The machine is described and not identified.
func TestDescribeMachine(t *testing.T) {
	m := describeMachine()
	memory, err := exec.Command("sh", "-c", "free -b | awk '/^Mem:/ {print $2}'").Output()
	if err == nil && len(memory) > 1 && strings.TrimSpace(string(memory)) != fmt.Sprint(m.MemoryBytes) {
		t.Errorf("memory %d, free says %s", m.MemoryBytes, memory)
	}
	kernel, err := exec.Command("uname", "-r").Output()
	if err != nil || strings.TrimSpace(string(kernel)) != m.Kernel {
		t.Errorf("kernel %q, uname says %q, %v", m.Kernel, kernel, err)
	}
	if m.Cores < 1 || m.OS == "" || m.Arch == "" {
		t.Errorf("%+v", m)
	}
	if name, err := os.Hostname(); err == nil && len(name) > 3 && strings.Contains(fmt.Sprintf("%+v", m), name) {
		t.Errorf("the host's name is in %+v", m)
	}
}

// withoutDisk leaves out what this machine's temporary directory is a reason for.
func withoutDisk(warnings []string) []string {
	return slices.DeleteFunc(slices.Clone(warnings), func(w string) bool { return w == InMemory })
}
