package experiments

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"genreport/measure"
	"genreport/measure/load"
)

// What is set by default is what was measured before anything could be set: the
// parameters of the committed run of profile standard, by hand.
func TestDefaultParameters(t *testing.T) {
	for name, want := range map[string]map[string]string{
		"quorum-drain": {"rate": "2000", "size_bytes": "20000", "window": "1000", "confirms": "on", "consumers": "10", "prefetch": "300",
			"queue": "quorum, one member", "before_s": "60", "drain_at_most_s": "120", "after_s": "15", "calibrate_s": "3", "backlog": "120000"},
		"quorum-memory": {"queues": "10", "rate_per_queue": "500", "rate": "5000", "size_bytes": "1000", "window": "500", "confirms": "on",
			"duration_s": "150", "settle_s": "10", "queue": "quorum, one member", "consumers": "one for each queue, acknowledging every message"},
		"websocket-throughput": {"duration_s": "0.75", "window": "100", "idle_connections": "500", "settle_s": "2", "subscribers": "one for each publisher, over the same transport"},
		"connection-memory":    {"burst_messages": "10", "burst_size_bytes": "10000", "buffer": "131072", "settle_s": "2", "node": "started anew for each measurement"},
	} {
		if got := named(t, name).Params(Standard); !maps.Equal(got, want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func named(t *testing.T, name string) Experiment {
	t.Helper()
	for _, e := range All() {
		if e.Name == name {
			return e
		}
	}
	t.Fatalf("no experiment is called %s", name)
	return Experiment{}
}

// Every parameter that may be set is told in the result, and nothing else
// changes with it; defaults are allowed.
func TestSettable(t *testing.T) {
	for _, e := range All() {
		if (len(e.Settable) > 0) != (e.Set != nil) {
			t.Errorf("%s: %d parameters, and set by %v", e.Name, len(e.Settable), e.Set != nil)
		}
		for _, one := range e.Settable {
			if !strings.Contains("1/s s B 1", string(one.Unit)) || one.Description == "" || strings.ContainsAny(one.Name, ":= ") {
				t.Errorf("%s: %+v", e.Name, one)
			}
			for _, p := range Profiles() {
				if err := e.Settable.check(one.Name, one.Default(p)); err != nil {
					t.Errorf("%s: the default of %s in %s: %v", e.Name, one.Name, p, err)
				}
				if got := e.Params(p)[one.Name]; got != plain(one.Default(p)) {
					t.Errorf("%s: %s is %q, and %v by default", e.Name, one.Name, got, one.Default(p))
				}
				for _, v := range []float64{one.Least, one.Most} {
					with, err := e.With(Values{one.Name: v})
					if err != nil {
						t.Fatal(err)
					}
					if got := with.Params(p)[one.Name]; got != plain(v) {
						t.Errorf("%s: %s is set to %v and told as %q", e.Name, one.Name, v, got)
					}
					if !slices.Equal(labelsOf(with.Cases(p)), labelsOf(e.Cases(p))) || with.Method != e.Method || with.Repeats(p) != e.Repeats(p) {
						t.Errorf("%s: %s changes what is measured", e.Name, one.Name)
					}
				}
			}
		}
	}
}

func labelsOf(cases []Case) (out []string) {
	for _, c := range cases {
		out = append(out, c.Labels.String())
	}
	return out
}

func TestWith(t *testing.T) {
	e, err := quorumDrain().With(Values{"rate": 6000, "before_s": 100})
	if err != nil {
		t.Fatal(err)
	}
	got := e.Params(Standard)
	// 6,000 messages/s for 100 s are 600,000.
	if got["rate"] != "6000" || got["before_s"] != "100" || got["backlog"] != "600000" || got["window"] != "1000" {
		t.Errorf("%v", got)
	}
	// 3 s, 100 s, a seventh of that to drain, 15 s, and 4 s for the rest.
	if d := e.Cases(Standard)[0].Estimate; d != 136*time.Second {
		t.Errorf("estimate %v", d)
	}
	// What comes out can be set again, from the defaults.
	if e, err = e.With(Values{"rate": 100}); err != nil || e.Params(Standard)["before_s"] != "60" {
		t.Errorf("%v, %v", e.Params(Standard), err)
	}
	for _, tt := range []struct {
		set  Values
		want string
	}{
		{Values{"rate": 9}, "parameter rate of quorum-drain: 9 is not in 10…100000 (1/s)"},
		{Values{"consumers": 101}, "parameter consumers of quorum-drain: 101 is not in 1…100"},
		{Values{"rate": 10.5}, "10.5 is not a whole number"},
		{Values{"rates": 10}, "there is no such parameter; there are rate, size_bytes, window"},
	} {
		if _, err := quorumDrain().With(tt.set); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: %v", tt.set, err)
		}
	}
	if _, err := channelCost().With(Values{"rate": 1}); err == nil {
		t.Error("an experiment without parameters takes one")
	}
	for text, want := range map[string]float64{"6000": 6000, "06": 6, "0.5": 0.5} {
		list := Parameters{{Name: "x", Unit: measure.Count, Least: 0, Most: 1e6, Fraction: true}}
		if got, err := list.Parse("x", text); got != want || err != nil {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "-1", "+1", "1e3", "0x10", "NaN", "Inf", "1_000", "1.2.3", "two"} {
		if v, err := drainParameters().Parse("rate", text); err == nil {
			t.Errorf("%q is %v", text, v)
		}
	}
}

// Whatever is set, jobs end within the limit that clients have.
func TestLongestJobs(t *testing.T) {
	most := func(l Parameters, name string) float64 {
		i := slices.IndexFunc(l, func(p Parameter) bool { return p.Name == name })
		return l[i].Most
	}
	drain := drainParameters()
	sum := most(drain, "before_s") + most(drain, "drain_at_most_s") + most(drain, "after_s") + 10 + 120
	if limit := load.MaxLimit.Seconds(); sum > limit || most(memoryParameters(), "duration_s")+120 > limit {
		t.Errorf("quorum-drain %v s, quorum-memory %v s, and %v s are allowed", sum, most(memoryParameters(), "duration_s")+120, limit)
	}
}

// The load that is set is the load there is.
func TestMeasureWithParameters(t *testing.T) {
	environment := env(t)
	e, err := quorumMemory().With(Values{"queues": 2, "rate_per_queue": 100, "duration_s": 15, "size_bytes": 42})
	if err != nil {
		t.Fatal(err)
	}
	s, err := e.Measure(t.Context(), environment, e.Cases(Quick)[0])
	if err != nil {
		t.Fatal(err)
	}
	checkSum(t, s)
	if s.Integrity.Sent != 2*100*15 || s.CPU.Processes != 4 {
		t.Errorf("%d messages, %d processes", s.Integrity.Sent, s.CPU.Processes)
	}
	if e, err = quorumDrain().With(Values{"rate": 200, "size_bytes": 100, "before_s": 3, "after_s": 3, "consumers": 2}); err != nil {
		t.Fatal(err)
	}
	if s, err = e.Measure(t.Context(), environment, e.Cases(Quick)[0]); err != nil {
		t.Fatal(err)
	}
	checkSum(t, s)
	between(t, s, "backlog_peak", 200, 620) // 3 s of 200/s, or less if the publisher begins late
	if s.CPU.Processes != 3 || s.Series["consumed"].Start != 3 {
		t.Errorf("%d processes, consumed from %v s", s.CPU.Processes, s.Series["consumed"].Start)
	}
	if e, err = connectionMemory().With(Values{"burst_messages": 3}); err != nil {
		t.Fatal(err)
	}
	if _, err = e.Measure(t.Context(), environment, e.Cases(Quick)[0]); err != nil { // which counts them
		t.Error(err)
	}
}
