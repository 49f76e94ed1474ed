package runner

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"genreport/measure"
	"genreport/measure/experiments"
)

// settable is a fake experiment with parameters from 1 to 1000, which are 10.
func settable(name string, parameters ...string) experiments.Experiment {
	var with func(set experiments.Values) experiments.Experiment
	with = func(set experiments.Values) experiments.Experiment {
		e := fake(name, 1, "", "1", "2")
		told := map[string]string{}
		for _, p := range parameters {
			e.Settable = append(e.Settable, experiments.Parameter{Name: p, Unit: measure.Count, Least: 1, Most: 1000,
				Default: func(experiments.Profile) float64 { return 10 }})
			told[p] = "10"
			if v, ok := set[p]; ok {
				told[p] = strconv.Itoa(int(v))
			}
		}
		e.Params = func(experiments.Profile) map[string]string { return told }
		e.Set = with
		return e
	}
	return with(nil)
}

func TestSettings(t *testing.T) {
	all := []experiments.Experiment{settable("a", "rate", "size"), settable("b", "rate"), fake("c", 1, "", "3")}
	type set = map[string]map[string]float64
	for _, tt := range []struct {
		name     string
		s        Selection
		settings []Setting
		want     set
		err      string
	}{
		{"nothing", Selection{}, nil, nil, ""},
		{"all that have it", Selection{}, []Setting{{"", "rate", "20"}, {"", "size", "30"}}, set{"a": {"rate": 20, "size": 30}, "b": {"rate": 20}}, ""},
		{"one", Selection{}, []Setting{{"b", "rate", "20"}}, set{"b": {"rate": 20}}, ""},
		{"one goes before all", Selection{}, []Setting{{"b", "rate", "5"}, {"", "rate", "20"}}, set{"a": {"rate": 20}, "b": {"rate": 5}}, ""},
		{"whatever the order", Selection{}, []Setting{{"", "rate", "20"}, {"b", "rate", "5"}}, set{"a": {"rate": 20}, "b": {"rate": 5}}, ""},
		{"those selected", Selection{Experiments: []string{"b"}}, []Setting{{"", "rate", "20"}}, set{"b": {"rate": 20}}, ""},
		{"twice for all", Selection{}, []Setting{{"", "rate", "20"}, {"", "rate", "20"}}, nil, "parameter rate of a is given twice"},
		{"twice for one", Selection{}, []Setting{{"b", "rate", "1"}, {"", "rate", "20"}, {"b", "rate", "2"}}, nil, "parameter rate of b is given twice"},
		{"unknown", Selection{}, []Setting{{"", "rat", "20"}}, nil, `unknown parameter "rat"; there are rate, size`},
		{"unknown to one", Selection{}, []Setting{{"b", "size", "20"}}, nil, `unknown parameter "size" of b; there are rate`},
		{"of one that has none", Selection{}, []Setting{{"c", "size", "20"}}, nil, `unknown parameter "size" of c; there are none at all`},
		{"no such experiment", Selection{}, []Setting{{"d", "size", "20"}}, nil, `parameter d:size=20: no experiment is called "d"; there are a, b, c`},
		{"not selected", Selection{Experiments: []string{"[bc]"}}, []Setting{{"", "size", "20"}}, nil, "parameter size=20 belongs to a, and that is not measured here"},
		{"no cell of it", Selection{Cases: []measure.Labels{{"n": "3"}}}, []Setting{{"", "rate", "20"}}, nil, "parameter rate=20 belongs to a or b, and that is not measured here"},
		{"too much", Selection{}, []Setting{{"a", "rate", "1001"}}, nil, "parameter rate of a: 1001 is not in 1…1000"},
		{"no number", Selection{}, []Setting{{"a", "rate", "many"}}, nil, `parameter rate of a: "many" is not a number`},
	} {
		tt.s.Profile, tt.s.Settings = experiments.Quick, tt.settings
		p, err := NewPlan(all, tt.s)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: %v, want %q", tt.name, err, tt.err)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(p.set, tt.want) {
			t.Errorf("%s: %v, %v", tt.name, p.set, err)
		}
	}
}

// What is set is in the experiment, in the command that repeats a cell, and in
// the plan that is made from run.json.
func TestSettingsArePlanned(t *testing.T) {
	all := []experiments.Experiment{settable("a", "rate", "size"), settable("b", "rate")}
	s := Selection{Profile: experiments.Quick, Settings: []Setting{{"", "size", "30"}, {"a", "rate", "20"}}}
	p, err := NewPlan(all, s)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Set(); !slices.Equal(got, []string{"a rate=20 size=30"}) || !p.Whole() {
		t.Errorf("set %q, whole %v", got, p.Whole())
	}
	run := measure.NewRun(time.Now(), "quick")
	run.Warmup, run.Plan = p.Planned()
	run.Parameters = p.set
	data, err := json.Marshal(run)
	if err != nil {
		t.Fatal(err)
	}
	if want := `"parameters":{"a":{"rate":20,"size":30}}`; !strings.Contains(string(data), want) {
		t.Errorf("%s lacks %s", data, want)
	}
	var read measure.Run
	if err := json.Unmarshal(data, &read); err != nil {
		t.Fatal(err)
	}
	again, err := Recall(all, read)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []Plan{p, again} {
		for _, c := range p.Cells {
			told, want := c.experiment.Params(experiments.Quick), map[string]string{"rate": "20", "size": "30"}
			command := "genreport measure --broker debian:forky --experiment a --case client=go,n=" + c.c.Labels["n"] + " --profile quick --param rate=20 --param size=30"
			if c.experiment.Name == "b" {
				want = map[string]string{"rate": "10"}
				command = "genreport measure --broker debian:forky --experiment b --case client=go,n=" + c.c.Labels["n"] + " --profile quick"
			}
			if !maps.Equal(told, want) || p.command(c) != command {
				t.Errorf("%s: %v, %s", c.name(), told, p.command(c))
			}
		}
		if err := p.Same(read); err != nil {
			t.Error(err)
		}
		if err := p.SameSettings(all, s.Settings); err != nil {
			t.Error(err)
		}
	}
	if err := again.SameSettings(all, []Setting{{"a", "size", "30"}}); err == nil || !strings.Contains(err.Error(), "the parameters changed: of a, rate=20 size=30 was set and would be size=30") {
		t.Errorf("%v", err)
	}
	s.Settings = nil
	other, err := NewPlan(all, s)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Same(read); err == nil || !strings.Contains(err.Error(), "the parameters changed: of a, rate=20 size=30 was set and would be nothing") {
		t.Errorf("%v", err)
	}
	for _, set := range []map[string]map[string]float64{{"a": {"rate": 0}}, {"a": {"colour": 1}}} {
		read.Parameters = set
		if _, err := Recall(all, read); err == nil || !strings.Contains(err.Error(), "the plan changed: parameter ") {
			t.Errorf("%v: %v", set, err)
		}
	}
}
