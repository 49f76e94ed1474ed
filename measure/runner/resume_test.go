package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"genreport/measure"
	"genreport/measure/experiments"
)

// A plan that was written is the same when it is read again.
func TestRecall(t *testing.T) {
	for _, s := range []Selection{
		{Profile: experiments.Quick},
		{Profile: experiments.Standard, Brokers: []string{"debian:bookworm", "debian:forky"}},
		{Profile: experiments.Full, Experiments: []string{"channel-*"}, Cases: []measure.Labels{{"client": "pika"}}, Repeats: 2},
	} {
		p, err := NewPlan(experiments.All(), s)
		if err != nil {
			t.Fatal(err)
		}
		run := measure.NewRun(time.Now(), string(s.Profile))
		run.Warmup, run.Plan = p.Planned()
		data, err := json.Marshal(run)
		if err != nil {
			t.Fatal(err)
		}
		var read measure.Run
		if err := json.Unmarshal(data, &read); err != nil {
			t.Fatal(err)
		}
		again, err := Recall(experiments.All(), read)
		if err != nil {
			t.Fatal(err)
		}
		if err := again.Same(run); err != nil {
			t.Error(err)
		}
		warmup, _ := again.Planned()
		if !reflect.DeepEqual(warmup, run.Warmup) || again.Estimate() != p.Estimate() || !reflect.DeepEqual(again.Brokers, p.Brokers) {
			t.Errorf("warm-up %v, %v and %v, brokers %v", warmup, again.Estimate(), p.Estimate(), again.Brokers)
		}
		for i, c := range again.Cells {
			if c.order != i || c.variant() != p.Cells[i].variant() {
				t.Errorf("cell %d: %+v", i, c)
			}
		}
		for _, e := range experiments.All() {
			if again.whole(e) != p.whole(e) {
				t.Errorf("%s: whole %v and %v", e.Name, again.whole(e), p.whole(e))
			}
		}
	}
}

func TestRecallRefuses(t *testing.T) {
	good := []measure.PlannedCell{{Experiment: "a", Labels: measure.Labels{"n": "1", "client": "go", "broker": "debian:forky"}, Repeat: 1}}
	for _, tt := range []struct {
		change func(*measure.Run)
		want   string
	}{
		{func(r *measure.Run) {}, ""},
		{func(r *measure.Run) { r.Profile = "slow" }, `unknown profile "slow"`},
		{func(r *measure.Run) { r.Plan[0].Experiment = "b" }, "the plan changed: this genreport does not measure b broker=debian:forky,client=go,n=1"},
		{func(r *measure.Run) { r.Plan[0].Labels["n"] = "2" }, "the plan changed"},
		{func(r *measure.Run) { delete(r.Plan[0].Labels, "broker") }, "the plan changed"},
		{func(r *measure.Run) { r.Warmup = r.Plan }, "the plan changed"},
		{func(r *measure.Run) { r.Plan = nil }, "has no plan"},
	} {
		run := measure.NewRun(time.Now(), "quick")
		run.Plan = []measure.PlannedCell{{Experiment: good[0].Experiment, Labels: with(good[0].Labels), Repeat: 1}}
		tt.change(&run)
		_, err := Recall([]experiments.Experiment{fake("a", 1, "", "1")}, run)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%v, want %q", err, tt.want)
		}
	}
}

func with(l measure.Labels) measure.Labels {
	out := measure.Labels{}
	for k, v := range l {
		out[k] = v
	}
	return out
}

// cut is a run of four cells, the second of which failed, that was interrupted
// in the third. What it measures counts up from 1.
func cut(t *testing.T, h Host) (Plan, string, *int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	measured := new(int)
	p := plan(t, fake("a", 1, "w", "1", "2", "3", "4"), func(ctx context.Context, _ experiments.Env, n string) (experiments.Sample, error) {
		if *measured++; n == "3" && *measured == 4 {
			cancel()
			return experiments.Sample{}, ctx.Err()
		}
		if n == "2" {
			return experiments.Sample{}, errors.New("it went wrong")
		}
		return sample(int64(*measured)), nil
	})
	run := measure.NewRun(time.Now(), "quick")
	_, failed, err := Run(ctx, h, p, run)
	var unfinished *Unfinished
	if !errors.As(err, &unfinished) || unfinished.Run != run.ID || unfinished.Done != 2 || unfinished.Total != 4 || failed != 1 {
		t.Fatalf("%d failed, %v", failed, err)
	}
	return p, run.ID, measured
}

// Resuming measures what is missing and nothing else; a failed cell is a result.
func TestResume(t *testing.T) {
	h := host(t)
	p, id, measured := cut(t, h)
	unfinished := filepath.Join(h.Results, id, ".tmp-123")
	if err := os.WriteFile(unfinished, []byte("{"), 0o666); err != nil {
		t.Fatal(err)
	}
	var cells []string
	h.OnCell = func(at Progress) {
		if cells = append(cells, at.Cell); at.Total != 3 {
			t.Errorf("%+v", at)
		}
		// Meanwhile nobody else may go on with it.
		if _, _, err := Resume(context.Background(), h, p, id); err == nil || !strings.Contains(err.Error(), "is being measured by another process") {
			t.Errorf("a second one: %v", err)
		}
	}
	h.Tool = measure.Tool{Version: "later", Commit: "abc"}
	run, failed, err := Resume(context.Background(), h, p, id)
	if err != nil || failed != 1 {
		t.Fatalf("%d failed, %v", failed, err)
	}
	if got := strings.Join(cells, "; "); strings.Count(got, "warm-up") != 1 || len(cells) != 3 || !strings.Contains(got, "n=3; a broker=debian:forky,client=go,n=4") {
		t.Errorf("measured %s", got)
	}
	if *measured != 4+3 {
		t.Errorf("%d measurements", *measured)
	}
	rec := loaded(t, h, id, map[string]int{"a": 1})
	if rec.Run.Ended == nil || len(rec.Run.Resumed) != 1 || rec.Run.Tool.Version != "test" || !reflect.DeepEqual(rec.Run, run) || len(rec.Run.Brokers) != 1 {
		t.Errorf("%+v", rec.Run)
	}
	if w := strings.Join(rec.Run.Warnings, "\n"); !strings.Contains(w, "genreport changed within the run: test, , later later of commit abc") {
		t.Errorf("warnings %q", w)
	}
	var controls []string
	for _, c := range rec.Run.Control {
		controls = append(controls, c.When)
	}
	if fmt.Sprint(controls) != "[first middle last]" {
		t.Errorf("controls %v", controls)
	}
	res := rec.Results["a"]
	if !res.Complete() {
		t.Errorf("%d of %d cells, whole %v", len(res.Cells), res.Planned, res.Whole)
	}
	last := 0.0
	for i, c := range res.Cells {
		if c.Order != i || c.Labels["n"] != fmt.Sprint(i+1) || (c.Failure != nil) != (i == 1) || c.Started < last {
			t.Errorf("cell %d: %+v", i, c)
		}
		last = c.Started
	}
	if _, err := os.Lstat(unfinished); err == nil {
		t.Error("what was left unfinished is still there")
	}
	if _, _, err := Resume(context.Background(), h, p, id); err == nil || !strings.Contains(err.Error(), "nothing is missing") {
		t.Errorf("resuming a run that has ended: %v", err)
	}
	wantNothingLeft(t)
}

// A run that was cut off before its first cell, and again while it was resumed.
func TestResumeFromNothing(t *testing.T) {
	h := host(t)
	n := 0
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	p := plan(t, fake("a", 1, "", "1", "2"), func(context.Context, experiments.Env, string) (experiments.Sample, error) {
		if n++; n == 1 {
			cancel()
		}
		return sample(1), nil
	})
	run := measure.NewRun(time.Now(), "quick")
	run.Tool, run.Machine = h.Tool, describeMachine()
	run.Warmup, run.Plan = p.Planned()
	w, err := measure.Create(h.Results, run) // as kill -9 leaves it
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	_, _, err = Resume(ctx, h, p, run.ID)
	var unfinished *Unfinished
	if !errors.As(err, &unfinished) || unfinished.Done != 0 {
		t.Errorf("interrupted again: %v", err)
	}
	if _, _, err := Resume(context.Background(), h, p, run.ID); err != nil {
		t.Fatal(err)
	}
	rec := loaded(t, h, run.ID, map[string]int{"a": 1})
	if res := rec.Results["a"]; !res.Complete() || len(rec.Run.Resumed) != 2 || rec.Run.Ended == nil {
		t.Errorf("%+v", rec)
	}
}

// What would not belong together is refused, naming what changed, and nothing
// of the run is touched.
func TestResumeRefuses(t *testing.T) {
	h := host(t)
	p, id, _ := cut(t, h)
	read := func(name string, v any) {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(h.Results, id, name))
		if err == nil {
			err = json.Unmarshal(data, v)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write := func(name string, v any) string {
		t.Helper()
		data, err := json.Marshal(v)
		if err == nil {
			err = os.WriteFile(filepath.Join(h.Results, id, name), data, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	var run measure.Run
	var res measure.Result
	read("run.json", &run)
	read("a.json", &res)
	other := fake("a", 1, "w", "1", "2", "3", "5")
	otherPlan, err := NewPlan([]experiments.Experiment{other}, p.Selection)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		want   string
		plan   Plan
		change func(*measure.Run, *measure.Result)
	}{
		{"the machine changed: its CPU was Z80 and is", p, func(r *measure.Run, _ *measure.Result) { r.Machine.CPU = "Z80" }},
		{"its number of cores was 64 and is", p, func(r *measure.Run, _ *measure.Result) { r.Machine.Cores = 64 }},
		{"its memory was 640 and is", p, func(r *measure.Run, _ *measure.Result) { r.Machine.MemoryBytes = 640 }},
		{"its kernel was 2.4 and is", p, func(r *measure.Run, _ *measure.Result) { r.Machine.Kernel = "2.4" }},
		{"the profile changed: run " + id + " is of full", p, func(r *measure.Run, s *measure.Result) { r.Profile, s.Profile = "full", "full" }},
		{"the plan changed: cell 4 of run " + id + " is a broker=debian:forky,client=go,n=4, repeat 1, and would be a broker=debian:forky,client=go,n=5, repeat 1", otherPlan, func(*measure.Run, *measure.Result) {}},
		{"measured by method 2 of a, newer than", p, func(_ *measure.Run, s *measure.Result) { s.Method = 2 }},
		{"the parameters of a changed", p, func(_ *measure.Run, s *measure.Result) { s.Parameters = map[string]string{"size": "2"} }},
		{"the metrics of a changed", p, func(_ *measure.Run, s *measure.Result) {
			s.Metrics = map[string]measure.Metric{"x": s.Metrics["x"], "y": {Unit: measure.Bytes, Better: measure.Lower}}
		}},
		{"a holds cells that are not in it", p, func(_ *measure.Run, s *measure.Result) {
			s.Cells = append([]measure.Cell{}, s.Cells...)
			s.Cells[0].Labels = measure.Labels{"n": "9"}
		}},
		{"it ended at", p, func(r *measure.Run, _ *measure.Result) { now := time.Now(); r.Ended = &now }},
		{"broker debian:forky changed: its RabbitMQ was 3.0.0 and is", p, func(r *measure.Run, _ *measure.Result) {
			r.Brokers = []measure.Broker{{Label: "debian:forky", RabbitMQ: "3.0.0", Erlang: "1", Package: "2"}}
		}},
		{"its channel_max was 5 and is 2047", p, func(r *measure.Run, _ *measure.Result) {
			b := r.Brokers[0]
			b.Settings = map[string]string{"channel_max": "5"}
			r.Brokers = []measure.Broker{b}
		}},
	} {
		changed, changedRes := run, res
		tt.change(&changed, &changedRes)
		before := write("run.json", changed) + write("a.json", changedRes)
		_, _, err := Resume(context.Background(), h, tt.plan, id)
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "resuming run "+id) {
			t.Errorf("%v, want %q", err, tt.want)
		}
		var unfinished *Unfinished
		if errors.As(err, &unfinished) {
			t.Errorf("%v: to be resumed again", err)
		}
		a, _ := os.ReadFile(filepath.Join(h.Results, id, "run.json"))
		b, _ := os.ReadFile(filepath.Join(h.Results, id, "a.json"))
		if string(a)+string(b) != before {
			t.Errorf("%q: the files changed", tt.want)
		}
	}
	if _, _, err := Resume(context.Background(), h, p, "20000101T000000Z"); err == nil || !strings.Contains(err.Error(), "there is no run 20000101T000000Z") {
		t.Errorf("%v", err)
	}
	wantNothingLeft(t)
}
