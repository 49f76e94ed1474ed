package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"genreport/measure"
	"genreport/measure/experiments"
)

// errChanged ends what is said to whoever resumes a run elsewhere, or on something else.
var errChanged = errors.New("start a new run")

// Recall is the plan of a run that is there, from what its run.json says. It
// refuses one that these experiments can't measure as they were planned.
func Recall(all []experiments.Experiment, run measure.Run) (Plan, error) {
	profile, err := experiments.ParseProfile(run.Profile)
	if err != nil {
		return Plan{}, fmt.Errorf("run %s: %w", run.ID, err)
	}
	p := Plan{Selection: Selection{Profile: profile}, set: run.Parameters}
	if all, err = configured(all, run.Parameters); err != nil {
		return Plan{}, fmt.Errorf("run %s: the plan changed: %w; start a new run", run.ID, err)
	}
	p.control.experiment, p.control.c = experiments.Control(profile)
	find := func(want measure.PlannedCell, cases func(experiments.Experiment) []experiments.Case) (cell, error) {
		for _, e := range all {
			if e.Name != want.Experiment {
				continue
			}
			for _, c := range cases(e) {
				found := cell{experiment: e, c: c, broker: want.Labels["broker"], repeat: want.Repeat}
				if found.broker != "" && maps.Equal(found.labels(), want.Labels) {
					return found, nil
				}
			}
		}
		return cell{}, fmt.Errorf("run %s: the plan changed: this genreport does not measure %s %s; start a new run", run.ID, want.Experiment, want.Labels)
	}
	for i, want := range run.Plan {
		c, err := find(want, func(e experiments.Experiment) []experiments.Case { return e.Cases(profile) })
		if err != nil {
			return Plan{}, err
		}
		c.order = i
		p.Cells = append(p.Cells, c)
		if !slices.Contains(p.Brokers, c.broker) {
			p.Brokers = append(p.Brokers, c.broker)
		}
	}
	for _, want := range run.Warmup {
		c, err := find(want, func(e experiments.Experiment) []experiments.Case {
			if e.Warmup == nil {
				return nil
			}
			return e.Warmup(profile)
		})
		if err != nil {
			return Plan{}, err
		}
		p.Warmup = append(p.Warmup, c)
	}
	if len(p.Cells) == 0 {
		return Plan{}, fmt.Errorf("run %s has no plan", run.ID)
	}
	return p, nil
}

// Missing is the plan with just the cells that are not in the results, in the
// order in which they would be measured, and an estimate of its own.
func (p Plan) Missing(results map[string]measure.Result) Plan {
	p.Cells = slices.DeleteFunc(slices.Clone(p.Cells), func(c cell) bool {
		l := c.labels()
		return slices.ContainsFunc(results[c.experiment.Name].Cells, func(m measure.Cell) bool {
			return m.Repeat == c.repeat && maps.Equal(m.Labels, l)
		})
	})
	p.Warmup = warmsUp(p.Warmup, p.Cells)
	return p
}

// Same says where the run's plan is another one.
func (p Plan) Same(run measure.Run) error {
	if string(p.Selection.Profile) != run.Profile {
		return fmt.Errorf("the profile changed: run %s is of %s, not of %s", run.ID, run.Profile, p.Selection.Profile)
	}
	if err := sameSet(run.Parameters, p.set); err != nil {
		return fmt.Errorf("run %s: %w", run.ID, err)
	}
	_, cells := p.Planned()
	for i := range max(len(cells), len(run.Plan)) {
		switch {
		case i >= len(cells):
			return fmt.Errorf("the plan changed: run %s has %d cells, not %d", run.ID, len(run.Plan), len(cells))
		case i >= len(run.Plan) || !reflect.DeepEqual(cells[i], run.Plan[i]):
			was := "nothing"
			if i < len(run.Plan) {
				was = fmt.Sprintf("%s %s, repeat %d", run.Plan[i].Experiment, run.Plan[i].Labels, run.Plan[i].Repeat)
			}
			return fmt.Errorf("the plan changed: cell %d of run %s is %s, and would be %s %s, repeat %d", i+1, run.ID, was, cells[i].Experiment, cells[i].Labels, cells[i].Repeat)
		}
	}
	return nil
}

// Resume measures those cells of a run that are not in its files. The plan is
// that of [Recall]. It refuses a run that has ended, and one that was measured
// on another machine, on other brokers or in another way, since its numbers
// would not belong together; nothing is changed then.
func Resume(ctx context.Context, host Host, p Plan, id string) (written measure.Run, failed int, err error) {
	refuse := func(err error) (measure.Run, int, error) {
		return measure.Run{}, 0, fmt.Errorf("resuming run %s: %w", id, err)
	}
	w, err := measure.Open(host.Results, id)
	if err != nil {
		return refuse(err)
	}
	defer w.Close()
	methods := map[string]int{}
	for _, c := range p.Cells {
		methods[c.experiment.Name] = c.experiment.Method
	}
	rec, err := measure.LoadRun(os.DirFS(host.Results), id, methods)
	if err != nil {
		return refuse(err)
	}
	if rec.Run.Ended != nil {
		return refuse(fmt.Errorf("it ended at %s: nothing is missing", rec.Run.Ended.Format(time.RFC3339)))
	}
	if err := errors.Join(p.Same(rec.Run), p.sameResults(rec.Results), sameMachine(rec.Run.Machine, describeMachine())); err != nil {
		return refuse(err)
	}
	r := newRunner(host, p, rec.Run)
	r.writer, r.began, r.pending = w, rec.Run.Started, p.Missing(rec.Results).Cells
	for name, res := range rec.Results {
		r.results[name] = &res
		for _, c := range res.Cells {
			if c.Failure != nil {
				r.failed++
			}
		}
	}
	// From here on the directory is kept whatever happens.
	r.run.Resumed = append(r.run.Resumed, time.Now().UTC().Truncate(time.Second))
	written, failed, err = r.finish(ctx, func() error {
		if t, now := rec.Run.Tool, host.Tool; t != now {
			r.warn(fmt.Sprintf("genreport changed within the run: %s, later %s", toolText(t), toolText(now)))
		}
		return nil
	})
	if errors.Is(err, errChanged) {
		return refuse(err)
	}
	return written, failed, err
}

func toolText(t measure.Tool) string {
	text := t.Version
	if t.Commit != "" {
		text += " of commit " + t.Commit
	}
	if t.Dirty {
		text += " with changes"
	}
	return text + ", " + t.Go
}

// sameResults finds results that the plan would not make in the same way.
func (p Plan) sameResults(results map[string]measure.Result) error {
	var errs []error
	for name, res := range results {
		planned := p.planned(name)
		if extra := planned - len(p.Missing(results).of(name)) - len(res.Cells); extra != 0 || res.Planned != planned || planned == 0 {
			errs = append(errs, fmt.Errorf("the plan changed: %s holds cells that are not in it, or others were planned", name))
			continue
		}
		e := p.of(name)[0].experiment
		if !maps.EqualFunc(res.Metrics, e.Metrics, func(a, b measure.Metric) bool {
			return a.Unit == b.Unit && a.Better == b.Better && a.Exact == b.Exact
		}) {
			errs = append(errs, fmt.Errorf("the metrics of %s changed", name))
		}
		if now := e.Params(p.Selection.Profile); !maps.Equal(res.Parameters, now) {
			errs = append(errs, fmt.Errorf("the parameters of %s changed from %v to %v", name, res.Parameters, now))
		}
	}
	return errors.Join(errs...)
}

// of is the experiment's cells.
func (p Plan) of(name string) []cell {
	return slices.DeleteFunc(slices.Clone(p.Cells), func(c cell) bool { return c.experiment.Name != name })
}

// sameMachine names what changed since the run began.
func sameMachine(was, now measure.Machine) error {
	var changes []string
	for _, c := range []struct {
		what     string
		was, now any
	}{
		{"CPU", was.CPU, now.CPU}, {"number of cores", was.Cores, now.Cores}, {"memory", was.MemoryBytes, now.MemoryBytes},
		{"kernel", was.Kernel, now.Kernel}, {"operating system", was.OS, now.OS}, {"architecture", was.Arch, now.Arch},
	} {
		if c.was != c.now {
			changes = append(changes, fmt.Sprintf("its %s was %v and is %v", c.what, c.was, c.now))
		}
	}
	if len(changes) == 0 {
		return nil
	}
	return fmt.Errorf("the machine changed: %s; %w", strings.Join(changes, "; "), errChanged)
}

// sameBroker names what changed since the run began.
func sameBroker(was, now measure.Broker) error {
	var changes []string
	add := func(what string, was, now any) {
		if !reflect.DeepEqual(was, now) {
			changes = append(changes, fmt.Sprintf("its %s was %v and is %v", what, was, now))
		}
	}
	add("RabbitMQ", was.RabbitMQ, now.RabbitMQ)
	add("Erlang", was.Erlang, now.Erlang)
	add("package", was.Package, now.Package)
	add("number of schedulers", was.Schedulers, now.Schedulers)
	for _, key := range slices.Sorted(maps.Keys(was.Settings)) {
		add(key, was.Settings[key], now.Settings[key])
	}
	if len(changes) == 0 {
		return nil
	}
	return fmt.Errorf("broker %s changed: %s; %w", was.Label, strings.Join(changes, "; "), errChanged)
}
