package runner

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"genreport/measure"
	"genreport/measure/experiments"
)

// fake is an experiment with the given cases: "a" or, on a node configuration
// of its own, "a channel_max=16".
func fake(name string, repeats int, warmup string, cases ...string) experiments.Experiment {
	parse := func(list []string) (out []experiments.Case) {
		for _, text := range list {
			label, setting, variant := strings.Cut(text, " ")
			c := experiments.Case{Labels: measure.Labels{"n": label, "client": "go"}, Estimate: time.Second}
			if variant {
				key, value, _ := strings.Cut(setting, "=")
				c.Settings = map[string]string{key: value}
				c.Labels["node"] = setting
			}
			out = append(out, c)
		}
		return out
	}
	e := experiments.Experiment{
		Name: name, Method: 1,
		Metrics: map[string]measure.Metric{"x": {Unit: measure.Count, Better: measure.Neither}, "y": {Unit: measure.Seconds, Better: measure.Lower}},
		Repeats: func(experiments.Profile) int { return repeats },
		Params:  func(experiments.Profile) map[string]string { return map[string]string{"size": "1"} },
		Cases:   func(experiments.Profile) []experiments.Case { return parse(cases) },
		Brokers: []string{"debian:forky"},
	}
	if warmup != "" {
		e.Warmup = func(experiments.Profile) []experiments.Case { return parse([]string{warmup}) }
	}
	return e
}

func show(cells []measure.PlannedCell) string {
	var out []string
	for _, c := range cells {
		text := fmt.Sprintf("%s/%s%s%d", c.Experiment, c.Labels["n"], strings.TrimPrefix(c.Labels["broker"], "debian"), c.Repeat)
		if v := c.Labels["node"]; v != "" {
			text += "(" + v + ")"
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

func TestNewPlan(t *testing.T) {
	two := []string{"debian:P", "debian:Q"}
	a := fake("a", 3, "w", "1", "2")
	v := fake("v", 2, "w", "1", "2 m=16", "3", "4 m=0", "5 m=16")
	onlyPika := fake("p", 1, "", "1")
	for _, tt := range []struct {
		name          string
		all           []experiments.Experiment
		s             Selection
		warmup, cells string
	}{
		{"rounds alternate", []experiments.Experiment{a}, Selection{},
			"a/w:forky1", "a/1:forky1 a/2:forky1 a/2:forky2 a/1:forky2 a/1:forky3 a/2:forky3"},
		{"brokers side by side", []experiments.Experiment{a}, Selection{Brokers: two, Repeats: 2},
			"a/w:P1 a/w:Q1", "a/1:P1 a/1:Q1 a/2:P1 a/2:Q1 a/2:Q2 a/2:P2 a/1:Q2 a/1:P2"},
		{"variants last, each together", []experiments.Experiment{v}, Selection{Brokers: two},
			"v/w:P1 v/w:Q1", "v/1:P1 v/1:Q1 v/3:P1 v/3:Q1 v/3:Q2 v/3:P2 v/1:Q2 v/1:P2 " +
				"v/2:P1(m=16) v/5:P1(m=16) v/5:P2(m=16) v/2:P2(m=16) v/4:P1(m=0) v/4:P2(m=0) " +
				"v/2:Q1(m=16) v/5:Q1(m=16) v/5:Q2(m=16) v/2:Q2(m=16) v/4:Q1(m=0) v/4:Q2(m=0)"},
		{"experiments in turn", []experiments.Experiment{a, onlyPika}, Selection{Repeats: 1},
			"a/w:forky1", "a/1:forky1 a/2:forky1 p/1:forky1"},
		{"glob", []experiments.Experiment{a, v, onlyPika}, Selection{Experiments: []string{"[pq]", "a*", "?"}, Repeats: 1, Cases: []measure.Labels{{"n": "1"}}},
			"a/w:forky1 v/w:forky1", "p/1:forky1 a/1:forky1 v/1:forky1"},
		{"any of two cases", []experiments.Experiment{v}, Selection{Repeats: 1, Cases: []measure.Labels{{"n": "4"}, {"n": "3", "client": "go"}}},
			"v/w:forky1", "v/3:forky1 v/4:forky1(m=0)"},
		{"one broker's case", []experiments.Experiment{a}, Selection{Brokers: two, Repeats: 1, Cases: []measure.Labels{{"broker": "debian:Q", "n": "2"}}},
			"a/w:Q1", "a/2:Q1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := NewPlan(tt.all, tt.s)
			if err != nil {
				t.Fatal(err)
			}
			warmup, cells := p.Planned()
			if got := show(warmup); got != tt.warmup {
				t.Errorf("warm-up\n%s, want\n%s", got, tt.warmup)
			}
			if got := show(cells); got != tt.cells {
				t.Errorf("cells\n%s, want\n%s", got, tt.cells)
			}
		})
	}
}

// Only the clients that are measured warm up.
func TestWarmupOfOtherClients(t *testing.T) {
	e := fake("a", 1, "w", "1")
	e.Warmup = func(experiments.Profile) []experiments.Case {
		return []experiments.Case{{Labels: measure.Labels{"client": "pika", "n": "w"}}, {Labels: measure.Labels{"client": "go", "n": "w"}}}
	}
	p, err := NewPlan([]experiments.Experiment{e}, Selection{})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Warmup) != 1 || p.Warmup[0].c.Labels["client"] != "go" {
		t.Errorf("warm-up %+v", p.Warmup)
	}
}

func TestNewPlanRefuses(t *testing.T) {
	all := []experiments.Experiment{fake("channel-cost", 1, "", "1"), fake("channel-limit", 1, "", "1")}
	for want, s := range map[string]Selection{
		`no experiment matches "nosuch"; there are channel-cost, channel-limit`: {Experiments: []string{"channel-*", "nosuch"}},
		`experiment pattern "[": syntax error in pattern`:                       {Experiments: []string{"["}},
		"no cell matches the selection; `genreport experiments` lists cases":    {Cases: []measure.Labels{{"n": "2"}}},
		"broker debian:P is given twice":                                        {Brokers: []string{"debian:P", "debian:Q", "debian:P"}},
	} {
		if _, err := NewPlan(all, s); err == nil || err.Error() != want {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestWhole(t *testing.T) {
	all := []experiments.Experiment{fake("a", 3, "", "1", "2 m=16"), fake("b", 3, "", "1")}
	for _, tt := range []struct {
		s    Selection
		a, b bool
	}{
		{Selection{}, true, true},
		{Selection{Experiments: []string{"b"}, Brokers: []string{"debian:P", "debian:Q"}}, false, true},
		{Selection{Brokers: []string{"debian:P", "debian:Q"}}, true, true},
		{Selection{Cases: []measure.Labels{{"n": "1"}}}, false, true},
		{Selection{Repeats: 1}, false, false},
		{Selection{Repeats: 4}, false, false},
		{Selection{Repeats: 3}, true, true},
		{Selection{Brokers: []string{"debian:P", "debian:Q"}, Cases: []measure.Labels{{"n": "1"}, {"n": "2", "broker": "debian:P"}}}, false, true},
	} {
		p, err := NewPlan(all, tt.s)
		if err != nil || p.whole(all[0]) != tt.a || p.whole(all[1]) != tt.b {
			t.Errorf("%+v: %v and %v, %v", tt.s, p.whole(all[0]), p.whole(all[1]), err)
		}
	}
}

func TestEstimate(t *testing.T) {
	// Two brokers and, on each, two configurations: six starts of 7 s; two
	// warm-ups and 2 x 2 x 5 cells of a second each.
	v := fake("v", 2, "w", "1", "2 m=16", "3", "4 m=0", "5 m=16")
	p, err := NewPlan([]experiments.Experiment{v}, Selection{Brokers: []string{"debian:P", "debian:Q"}})
	p.control.c.Estimate = time.Second // 15 times on both brokers, at both ends
	if want := (6*7 + 2 + 20 + 15*2*2) * time.Second; err != nil || p.Estimate() != want {
		t.Errorf("%v, %v; want %v", p.Estimate(), err, want)
	}
}

// The command of every cell of every real experiment, read as the shell and
// the flags do, selects that case and no other.
func TestCommand(t *testing.T) {
	for _, brokers := range [][]string{nil, {"debian:trixie"}} {
		p, err := NewPlan(experiments.All(), Selection{Profile: experiments.Quick, Brokers: brokers})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range p.Cells {
			words := strings.Fields(p.command(c))
			if !slices.Equal(words[:2], []string{"genreport", "measure"}) || len(words)%2 != 0 {
				t.Fatalf("%q", words)
			}
			var s Selection
			for i := 2; i < len(words); i += 2 {
				switch value := words[i+1]; words[i] {
				case "--broker":
					s.Brokers = append(s.Brokers, value)
				case "--experiment":
					s.Experiments = append(s.Experiments, value)
				case "--profile":
					s.Profile = experiments.Profile(value)
				case "--case":
					labels := measure.Labels{}
					for _, pair := range strings.Split(value, ",") {
						k, v, _ := strings.Cut(pair, "=")
						labels[k] = v
					}
					s.Cases = append(s.Cases, labels)
				default:
					t.Fatalf("flag %s in %q", words[i], words)
				}
			}
			again, err := NewPlan(experiments.All(), s)
			if err != nil {
				t.Fatalf("%q: %v", words, err)
			}
			if len(again.Cells) != c.experiment.Repeats(experiments.Quick) {
				t.Errorf("%q selects %d cells", words, len(again.Cells))
			}
			for _, a := range again.Cells {
				if a.experiment.Name != c.experiment.Name || a.labels().String() != c.labels().String() {
					t.Errorf("%q selects %s", words, a.labels())
				}
			}
			if s.Profile != experiments.Quick {
				t.Errorf("%q: profile %s", words, s.Profile)
			}
		}
	}
	p, err := NewPlan([]experiments.Experiment{fake("a", 1, "", "1")}, Selection{Profile: experiments.Full, Brokers: []string{"external"}})
	want := "genreport measure --broker 'amqp://USER:PASSWORD@HOST:PORT/?management=URL' --experiment a --case client=go,n=1 --profile full"
	if err != nil || p.command(p.Cells[0]) != want {
		t.Errorf("%s, %v", p.command(p.Cells[0]), err)
	}
}
