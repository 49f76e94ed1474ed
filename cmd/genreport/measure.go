package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"genreport/measure"
	"genreport/measure/broker"
	"genreport/measure/experiments"
	"genreport/measure/load"
	"genreport/measure/runner"
)

// measureFlags are the flags of measure, and of run, which measures too.
type measureFlags struct {
	brokers, experiments, cases list
	profile, run, results       string
	mirror                      string
	repeats                     int
	dryRun, quiet               bool
}

func (f *measureFlags) register(fs *flag.FlagSet, defaultProfile string) {
	fs.Var(&f.brokers, "broker", "`SPEC` of a broker to measure; may be given several times:\ndebian:SUITE (bookworm, trixie, forky), or\namqp://… or amqps://… with ?management=URL and &cacertfile=PATH\n(default: what each experiment names)")
	fs.Var(&f.experiments, "experiment", "`GLOB` of experiments, such as 'channel-*'; may be given several times (default: all)")
	fs.Var(&f.cases, "case", "only cells with these labels, such as `client=pika,channels=4`; may be given several times")
	fs.StringVar(&f.profile, "profile", defaultProfile, "`NAME`: quick, standard or full")
	fs.IntVar(&f.repeats, "repeats", 0, "measure each case `N` times (default: the profile's number)")
	fs.StringVar(&f.run, "run", "", "`ID` of the run (default: the time it starts, such as 20060102T150405Z)")
	fs.StringVar(&f.results, "results", "", "`DIR` for result files (default: content/results; build/results for the profile quick)")
	fs.StringVar(&f.mirror, "mirror", "", "`URL` of a Debian archive (default: $GENREPORT_MIRROR, or the machine's own apt configuration)")
	fs.BoolVar(&f.dryRun, "dry-run", false, "print the plan and its estimated time, and measure nothing")
	fs.BoolVar(&f.quiet, "quiet", false, "say only what goes wrong")
}

func (f *measureFlags) resultsDir() string {
	return resultsFor(f.results, experiments.Profile(f.profile))
}

func measureCommand(ctx context.Context, args []string, s streams) error {
	var f measureFlags
	fs := flag.NewFlagSet("measure", flag.ContinueOnError)
	f.register(fs, string(experiments.Standard))
	if err := parse(fs, args, s, "Starts the brokers, runs experiments and writes result files."); err != nil {
		return err
	}
	_, err := f.measure(ctx, s)
	return err
}

// measure makes a run; its id is "" for a dry one.
func (f *measureFlags) measure(ctx context.Context, s streams) (id string, err error) {
	plan, specs, err := f.plan()
	if err != nil {
		return "", usageError{err}
	}
	if f.dryRun {
		printPlan(s, plan)
		return "", nil
	}
	run := measure.NewRun(time.Now(), f.profile)
	if f.run != "" {
		if !measure.ValidRunID(f.run) {
			return "", usageError{fmt.Errorf("run id %q is not of the form 20060102T150405Z or 20060102T150405Z-name", f.run)}
		}
		run.ID = f.run
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding this program, which is the load client too: %w", err)
	}
	p := newProgress(s.err, f.quiet)
	defer p.clear()
	host := runner.Host{
		Debian:  broker.Debian{Mirror: mirror(f.mirror), Log: p.say},
		Specs:   specs,
		Worker:  []string{self, "worker"},
		Results: f.resultsDir(),
		Tool:    toolVersion(ctx),
		Log:     p.say,
		OnCell:  p.cell,
	}
	p.say(fmt.Sprintf("run %s: %d cells, about %s", run.ID, len(plan.Cells), round(plan.Estimate())))
	written, failed, err := runner.Run(ctx, host, plan, run)
	p.clear()
	if err != nil {
		return "", err
	}
	p.say(fmt.Sprintf("run %s: %d cells in %s, results in %s", written.ID, len(plan.Cells), round(written.Ended.Sub(written.Started)), filepath.Join(host.Results, written.ID)))
	if failed > 0 {
		return written.ID, unmetError{fmt.Errorf("%d of %d cells failed; the reasons are above and in the result files", failed, len(plan.Cells))}
	}
	return written.ID, nil
}

// mirror is the archive that was asked for; "" leaves it to apt's configuration.
func mirror(flag string) string { return cmp.Or(flag, os.Getenv("GENREPORT_MIRROR")) }

func round(d time.Duration) time.Duration { return d.Round(time.Second) }

// plan reads what was asked for, before anything is started.
func (f *measureFlags) plan() (runner.Plan, map[string]broker.Spec, error) {
	profile, err := experiments.ParseProfile(f.profile)
	if err != nil {
		return runner.Plan{}, nil, err
	}
	if f.repeats < 0 || f.repeats > 1000 {
		return runner.Plan{}, nil, fmt.Errorf("--repeats %d is not in 1…1000", f.repeats)
	}
	sel := runner.Selection{Profile: profile, Experiments: f.experiments, Repeats: f.repeats}
	for _, c := range f.cases {
		labels, err := parseCase(c)
		if err != nil {
			return runner.Plan{}, nil, err
		}
		sel.Cases = append(sel.Cases, labels)
	}
	specs := map[string]broker.Spec{}
	for _, text := range f.brokers {
		spec, err := broker.ParseSpec(text)
		if err != nil {
			return runner.Plan{}, nil, err
		}
		label := spec.Label()
		for n := 2; specs[label] != (broker.Spec{}); n++ {
			if spec.Kind() != broker.KindURL {
				return runner.Plan{}, nil, fmt.Errorf("broker %s is given twice", label)
			}
			label = fmt.Sprintf("%s-%d", spec.Label(), n)
		}
		specs[label] = spec
		sel.Brokers = append(sel.Brokers, label)
	}
	plan, err := runner.NewPlan(experiments.All(), sel)
	if err != nil {
		return plan, nil, err
	}
	for _, label := range plan.Brokers {
		if _, ok := specs[label]; ok {
			continue
		}
		spec, err := broker.ParseSpec(label)
		if err != nil {
			return plan, nil, err
		}
		specs[label] = spec
	}
	return plan, specs, nil
}

// parseCase reads "client=pika,channels=4".
func parseCase(text string) (measure.Labels, error) {
	labels := measure.Labels{}
	for _, pair := range strings.Split(text, ",") {
		k, v, ok := strings.Cut(pair, "=")
		if !ok || k == "" || v == "" {
			return nil, fmt.Errorf("--case %q: %q is not label=value", text, pair)
		}
		if _, twice := labels[k]; twice {
			return nil, fmt.Errorf("--case %q: label %s is there twice", text, k)
		}
		labels[k] = v
	}
	return labels, nil
}

func printPlan(s streams, p runner.Plan) {
	warmup, cells := p.Planned()
	for _, c := range warmup {
		fmt.Fprintf(s.out, "warm-up\t%s\t%s\n", c.Experiment, c.Labels)
	}
	for i, c := range cells {
		fmt.Fprintf(s.out, "%d\t%s\t%s\trepeat %d\n", i+1, c.Experiment, c.Labels, c.Repeat)
	}
	fmt.Fprintf(s.err, "%d cells, about %s\n", len(cells), round(p.Estimate()))
}

func workerCommand(ctx context.Context, args []string, s streams) error {
	if len(args) > 0 {
		return usageError{errors.New("worker takes no arguments: it reads a job on standard input")}
	}
	return load.Work(ctx, s.in, s.out)
}
