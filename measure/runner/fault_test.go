package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"genreport/measure"
	"genreport/measure/broker"
	"genreport/measure/experiments"
	"genreport/measure/load"
)

// workerVariable makes this test binary the Go load client.
const workerVariable = "GENREPORT_RUNNER_TEST_WORKER"

func TestMain(m *testing.M) {
	if os.Getenv(workerVariable) != "" {
		if load.Work(context.Background(), os.Stdin, os.Stdout) != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// realHost is host with a real Go load client.
func realHost(t *testing.T) Host {
	t.Helper()
	h := host(t)
	t.Setenv(workerVariable, "1")
	h.Worker = []string{os.Args[0]}
	return h
}

// throughput plans cells of a real experiment with the Go client.
func throughput(t *testing.T, cases ...measure.Labels) Plan {
	t.Helper()
	p, err := NewPlan(experiments.All(), Selection{Profile: experiments.Quick, Experiments: []string{"channel-throughput"}, Repeats: 1, Cases: cases})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func goCase(channels string) measure.Labels {
	return measure.Labels{"client": "go", "channels": channels}
}

// beam is the process of a node's Erlang VM, found by the node's data directory.
func beam(t *testing.T) int {
	t.Helper()
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	inOurs := func(pid int) bool { // below a bwrap that binds our directory
		for range 10 {
			data, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if err != nil {
				return false
			}
			if strings.Contains(string(data), os.TempDir()) {
				return true
			}
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			if err != nil {
				return false
			}
			f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
			if pid, err = strconv.Atoi(f[1]); err != nil || pid <= 1 {
				return false
			}
		}
		return false
	}
	for _, f := range files {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		if data, err := os.ReadFile(f); err == nil && strings.Contains(strings.SplitN(string(data), "\x00", 2)[0], "beam.smp") && inOurs(pid) {
			return pid
		}
	}
	return 0
}

// A node that is killed in the middle of a cell: that cell fails, quickly and
// with its reason, the next one has a new node, and nothing is left.
func TestBrokerKilled(t *testing.T) {
	h := realHost(t)
	p := throughput(t, goCase("1"), goCase("4"), goCase("16"))
	original := p.Cells[1].experiment.Measure
	p.Cells[1].experiment.Measure = func(ctx context.Context, env experiments.Env, c experiments.Case) (experiments.Sample, error) {
		pid := beam(t)
		if pid == 0 {
			t.Error("no Erlang VM")
		}
		time.AfterFunc(100*time.Millisecond, func() { syscall.Kill(pid, syscall.SIGKILL) })
		env.Profile = experiments.Standard // ten times as long, so that it hits the middle
		return original(ctx, env, c)
	}
	began := time.Now()
	run, failed, err := Run(context.Background(), h, p, measure.NewRun(time.Now(), "quick"))
	if err != nil || failed != 1 {
		t.Fatalf("%d failed, %v", failed, err)
	}
	cells := loaded(t, h, run.ID, experiments.Methods()).Results["channel-throughput"].Cells
	if len(cells) != 3 || cells[0].Failure != nil || cells[2].Failure != nil || cells[1].Failure == nil {
		t.Fatalf("%+v", cells)
	}
	if f := cells[1].Failure; !strings.HasPrefix(f.Reason, "the broker ended: ") || !strings.Contains(f.Log, "[info]") || cells[1].Duration > 15 {
		t.Errorf("after %v s: %+v", cells[1].Duration, f)
	}
	if took := time.Since(began); took > 90*time.Second {
		t.Errorf("the run took %v", took)
	}
	wantNothingLeft(t)
}

// An alarm blocks publishers: the cell ends within its limit and says what it
// waited for, the next one does not wait again, and once the alarm is over it goes on.
func TestBlocked(t *testing.T) {
	h := realHost(t)
	p := throughput(t, goCase("1"), goCase("4"), goCase("16"), goCase("64"))
	alarm := func(b *broker.Broker, watermark ...string) {
		if _, err := b.Ctl(context.Background(), append([]string{"set_vm_memory_high_watermark"}, watermark...)...); err != nil {
			t.Error(err)
		}
	}
	var node *broker.Broker
	for i := range p.Cells {
		original := p.Cells[i].experiment.Measure
		p.Cells[i].experiment.Measure = func(ctx context.Context, env experiments.Env, c experiments.Case) (experiments.Sample, error) {
			node = env.Broker
			switch i {
			case 1:
				alarm(node, "absolute", "1")
				short, cancel := context.WithTimeout(ctx, 5*time.Second) // not a minute
				defer cancel()
				return original(short, env, c)
			case 2:
				t.Error("measured in spite of the alarm")
			}
			return original(ctx, env, c)
		}
	}
	h.OnCell = func(at Progress) {
		if strings.Contains(at.Cell, "channels=64") {
			alarm(node, "0.6")
		}
	}
	run, failed, err := Run(context.Background(), h, p, measure.NewRun(time.Now(), "quick"))
	if err != nil || failed != 2 {
		t.Fatalf("%d failed, %v", failed, err)
	}
	for i, c := range loaded(t, h, run.ID, experiments.Methods()).Results["channel-throughput"].Cells {
		if blocked := i == 1 || i == 2; blocked != (c.Failure != nil) {
			t.Errorf("cell %d: %+v", i, c.Failure)
		} else if blocked && (!strings.HasPrefix(c.Failure.Reason, "blocked: the broker's memory alarm stops publishers") || c.Duration > 20) {
			t.Errorf("cell %d after %v s: %+v", i, c.Duration, c.Failure)
		}
	}
	wantNothingLeft(t)
}

// A cell that does not end is ended, and says so.
func TestCellLimit(t *testing.T) {
	for estimate, want := range map[time.Duration]time.Duration{time.Second: time.Minute, 10 * time.Second: 100 * time.Second, 3 * time.Minute: 30 * time.Minute} {
		if got := (cell{c: experiments.Case{Estimate: estimate}}).limit(); got != want {
			t.Errorf("an estimate of %v gives %v, want %v", estimate, got, want)
		}
	}
	h := host(t)
	p := plan(t, fake("a", 1, "", "1"), func(ctx context.Context, _ experiments.Env, _ string) (experiments.Sample, error) {
		deadline, ok := ctx.Deadline()
		if left := time.Until(deadline); !ok || left > time.Minute || left < 50*time.Second {
			t.Errorf("%v left, %v", left, ok)
		}
		return experiments.Sample{}, errors.New("it went wrong")
	})
	if _, failed, err := Run(context.Background(), h, p, measure.NewRun(time.Now(), "quick")); err != nil || failed != 1 {
		t.Errorf("%d failed, %v", failed, err)
	}
}

// What does not add up withholds the values and keeps the counts.
func TestIntegrityFailsCell(t *testing.T) {
	h := host(t)
	none := measure.Missing("none")
	p := plan(t, fake("a", 1, "", "short", "whole"), func(_ context.Context, _ experiments.Env, n string) (experiments.Sample, error) {
		s := sample(1)
		s.CPU = &measure.CPU{Wall: 1, Cores: 2, Clients: none, Broker: none, Idle: none, Steal: none}
		s.Integrity = &measure.Integrity{Sent: 100, Enqueued: measure.Int(100), Acked: none, Nacked: none, Unconfirmed: none,
			Returned: none, Consumed: none, Left: none, Lost: none, Duplicated: none, OutOfOrder: none}
		if n == "short" {
			s.Integrity.Enqueued = measure.Int(99)
		}
		return s, nil
	})
	run, failed, err := Run(context.Background(), h, p, measure.NewRun(time.Now(), "quick"))
	if err != nil || failed != 1 {
		t.Fatalf("%d failed, %v", failed, err)
	}
	cells := loaded(t, h, run.ID, map[string]int{"a": 1}).Results["a"].Cells
	short, whole := cells[0], cells[1]
	const reason = "integrity: 100 messages were published and 99 are in the queue"
	if short.Failure == nil || short.Failure.Reason != reason || short.Values["x"].OK() || short.Values["x"].Reason() != reason || short.CPU != nil {
		t.Errorf("%+v, %+v", short, short.Failure)
	}
	if short.Integrity == nil || short.Integrity.Sent != 100 || short.Integrity.Enqueued.Float64() != 99 {
		t.Errorf("%+v", short.Integrity)
	}
	if whole.Failure != nil || !whole.Values["x"].OK() || whole.CPU == nil || whole.CPU.Wall != 1 || whole.Integrity == nil {
		t.Errorf("%+v", whole)
	}
}

// The control load is measured on every broker before the first cell, in long
// runs between cells, and after the last; its median counts, and what it tells
// of the machine is said.
func TestControl(t *testing.T) {
	for _, tt := range []struct {
		name       string
		rates      []float64 // 0: it fails
		estimate   time.Duration
		want       string
		warns, log string
	}{
		{"steady", []float64{90, 100, 2000, 104, 104, 104}, time.Second, "first 100, last 104", "", ""},
		{"drifts", []float64{100, 100, 100, 94, 94, 200}, time.Second, "first 100, last 94", "moved by up to 6.0 %", "not steady"},
		{"long", []float64{100, 100, 100, 101, 101, 101, 102, 102, 102}, 7 * time.Minute, "first 100, middle 101, last 102", "", ""},
		{"fails", []float64{0, 100, 100, 100}, time.Second, "first missing (it went wrong), last 100", "", "failed: control load, debian:forky: it went wrong"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := host(t)
			var logged []string
			h.Log = func(line string) { logged = append(logged, line) }
			p := plan(t, fake("a", 4, "", "1"), func(context.Context, experiments.Env, string) (experiments.Sample, error) { return sample(1), nil })
			for i := range p.Cells {
				p.Cells[i].c.Estimate = tt.estimate
			}
			var rates []float64 // each of them as often as makes a third of a control
			for _, r := range tt.rates {
				if rates = append(rates, r); r != 0 {
					rates = append(rates, slices.Repeat([]float64{r}, p.controlRepeats()/3-1)...)
				}
			}
			n := 0
			p.control.experiment.Measure = func(context.Context, experiments.Env, experiments.Case) (experiments.Sample, error) {
				rate := rates[n]
				if n++; rate == 0 {
					return experiments.Sample{}, errors.New("it went wrong")
				}
				return experiments.Sample{Values: map[string]measure.Value{"rate": measure.Float(rate)}}, nil
			}
			run, failed, err := Run(context.Background(), h, p, measure.NewRun(time.Now(), "quick"))
			if err != nil || failed != 0 || n != len(rates) {
				t.Fatalf("%d failed, %d of %d control loads, %v", failed, n, len(rates), err)
			}
			var got []string
			last := 0.0
			written := loaded(t, h, run.ID, map[string]int{"a": 1}).Run
			for _, c := range written.Control {
				if c.Broker != "debian:forky" || c.Started <= last {
					t.Errorf("%+v", c)
				}
				last = c.Started
				text := fmt.Sprint(c.When, " ", c.Rate.Float64())
				if !c.Rate.OK() {
					text = c.When + " missing (" + c.Rate.Reason() + ")"
				}
				got = append(got, text)
			}
			if strings.Join(got, ", ") != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
			if warns := strings.Join(withoutDisk(written.Warnings), "\n"); tt.warns == "" && warns != "" || !strings.Contains(warns, tt.warns) {
				t.Errorf("warnings %q, want %q", warns, tt.warns)
			}
			if !strings.Contains(strings.Join(logged, "\n"), tt.log) {
				t.Errorf("the log %q lacks %q", logged, tt.log)
			}
		})
	}
}

// The real control load on a real node.
func TestRealControl(t *testing.T) {
	h := realHost(t)
	run, failed, err := Run(context.Background(), h, throughput(t, goCase("1")), measure.NewRun(time.Now(), "quick"))
	if err != nil || failed != 0 || len(run.Control) != 2 {
		t.Fatalf("%+v, %d failed, %v", run.Control, failed, err)
	}
	for _, c := range run.Control {
		if !(c.Rate.Float64() > 500) {
			t.Errorf("%+v", c)
		}
	}
	if s := run.Machine.StealShare; s == nil || !s.OK() || !(s.Float64() >= 0 && s.Float64() <= 1) {
		t.Errorf("steal %+v", s)
	}
	cells := loaded(t, h, run.ID, experiments.Methods()).Results["channel-throughput"].Cells
	if len(cells) != 1 || cells[0].CPU == nil || cells[0].CPU.Bound() == measure.BoundUnknown || cells[0].Integrity == nil {
		t.Errorf("%+v", cells)
	}
}

// Nodes that wait for their cells are left running: see the package comment.
// This is what that rests on; it needs a quiet machine.
func TestIdleNodes(t *testing.T) {
	if os.Getenv("GENREPORT_VARIANCE") == "" {
		t.Skip("make variance runs it")
	}
	h := host(t)
	ctx := context.Background()
	var idle []*broker.Broker
	for _, suite := range []string{"bookworm", "trixie"} {
		root, err := h.Debian.Ensure(ctx, broker.Image(), suite)
		if err != nil {
			t.Fatal(err)
		}
		b, err := broker.Start(ctx, root, broker.Config{}, broker.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Stop()
		idle = append(idle, b)
	}
	time.Sleep(3 * time.Second) // what a start leaves to do
	for _, b := range idle {
		before, err := b.CPU()
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		time.Sleep(6 * time.Second)
		after, err := b.CPU()
		if err != nil {
			t.Fatal(err)
		}
		if share := (after - before).Seconds() / time.Since(began).Seconds(); share > 0.03 {
			t.Errorf("%s, idle, takes %.3f of a core: nodes that wait must be paused", b.Label(), share)
		}
	}
}
