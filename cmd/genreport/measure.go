package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"genreport/cmd/genreport/internal/near"
	"genreport/measure"
	"genreport/measure/broker"
	"genreport/measure/database"
	"genreport/measure/debian"
	"genreport/measure/experiments"
	"genreport/measure/load"
	"genreport/measure/runner"
)

// measureFlags are the flags of measure, and of run, which measures too.
type measureFlags struct {
	brokers, experiments, cases list
	params                      list
	profile, run, results       string
	mirror, database            string
	repeats                     int
	resume, dryRun, quiet       bool
	given                       func() map[string]bool // flags by name, once they are parsed
	command                     string                 // whose flags these are
}

func (f *measureFlags) register(fs *flag.FlagSet, defaultProfile string) {
	f.command = fs.Name()
	f.given = func() map[string]bool {
		given := map[string]bool{}
		fs.Visit(func(g *flag.Flag) { given[g.Name] = true })
		return given
	}
	fs.Var(&f.brokers, "broker", "`SPEC` of a broker to measure; may be given several times:\ndebian:SUITE (bookworm, trixie, forky), or\namqp://… or amqps://… with ?management=URL and &cacertfile=PATH\n(default: what each experiment names)")
	fs.Var(&f.experiments, "experiment", "`GLOB` of experiments, such as 'channel-*'; may be given several times (default: all)")
	fs.Var(&f.cases, "case", "only cells with these labels, such as `client=pika,channels=4`; may be given several times")
	fs.Var(&f.params, "param", "`NAME=VALUE` sets a parameter of the experiments that have it, EXPERIMENT:NAME=VALUE that of one,\nfor machines on which its own does not fit; may be given several times (\"genreport experiments\" lists them)")
	fs.StringVar(&f.profile, "profile", defaultProfile, "`NAME`: quick, standard or full")
	fs.IntVar(&f.repeats, "repeats", 0, "measure each case `N` times (default: the profile's number)")
	fs.StringVar(&f.run, "run", "", "`ID` of the run (default: the time it starts, such as 20060102T150405Z)")
	fs.BoolVar(&f.resume, "resume", false, "go on with the run that --run names: measure what its plan has and its files lack;\nbrokers given by URL must be given again, everything else is in run.json")
	fs.StringVar(&f.results, "results", "", "`DIR` for result files (default: content/results; build/results for the profile quick,\nfor a part of the cases, and for brokers given by URL)")
	fs.StringVar(&f.mirror, "mirror", "", "`URL` of a Debian archive (default: $GENREPORT_MIRROR, or the machine's own apt configuration)")
	fs.StringVar(&f.database, "database", "", "`DSN` of a MySQL or MariaDB server that is already there, as go-sql-driver writes it:\nuser:password@tcp(host:port)/database (its table genreport_posts is made anew,\nand dropped at the end); or debian:SUITE\n(default: a server of its own from Debian, for experiments that need one)")
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

// measure makes a run, or goes on with one; its id is "" for a dry one.
func (f *measureFlags) measure(ctx context.Context, s streams) (id string, err error) {
	var plan, missing runner.Plan
	var specs map[string]broker.Spec
	run := measure.NewRun(time.Now(), f.profile)
	if f.resume {
		plan, missing, specs, err = f.recall()
		run.ID = f.run
	} else {
		plan, specs, err = f.plan()
		missing = plan
	}
	if err != nil {
		return "", usageError{err}
	}
	db, err := database.ParseSpec(f.database)
	if err != nil {
		return "", usageError{err}
	}
	if f.results == "" && !f.resume && (!plan.Whole() || hasURL(specs) || db.External()) {
		// Parts, and measurements of someone's own broker or database, are not for publishing.
		f.results = resultsFor("", experiments.Quick)
	}
	if f.dryRun {
		return "", printPlan(s, missing)
	}
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
		Debian:   debian.Debian{Mirror: mirror(f.mirror), Log: p.say},
		Specs:    specs,
		Worker:   []string{self, "worker"},
		WebAPI:   []string{self, "webapi"},
		Database: db,
		Results:  f.resultsDir(),
		Tool:     toolVersion(ctx),
		Log:      p.say,
		Warn:     p.warn,
		OnCell:   p.cell,
	}
	// Ending in order takes seconds; whoever asks a second time does not want to wait.
	defer context.AfterFunc(ctx, func() { signal.Reset(endings()...) })()
	var written measure.Run
	var failed int
	began := time.Now()
	if f.resume {
		p.say(fmt.Sprintf("run %s: %d of %d cells are missing, about %s", run.ID, len(missing.Cells), len(plan.Cells), round(missing.Estimate())))
		written, failed, err = runner.Resume(ctx, host, plan, run.ID)
	} else {
		p.say(fmt.Sprintf("run %s: %d cells, about %s", run.ID, len(plan.Cells), round(plan.Estimate())))
		written, failed, err = runner.Run(ctx, host, plan, run)
	}
	p.clear()
	var unfinished *runner.Unfinished
	if errors.As(err, &unfinished) {
		return "", fmt.Errorf("%w\nto measure the rest: %s", err, f.resumeCommand(unfinished.Run))
	}
	if err != nil {
		return "", err
	}
	p.say(fmt.Sprintf("run %s: %d cells in %s, results in %s", written.ID, len(missing.Cells), round(time.Since(began)), filepath.Join(host.Results, written.ID)))
	if failed > 0 {
		return written.ID, unmetError{fmt.Errorf("%d of %d cells failed; the reasons are above and in the result files", failed, len(plan.Cells))}
	}
	return written.ID, nil
}

func hasURL(specs map[string]broker.Spec) bool {
	for _, s := range specs {
		if s.Kind() == broker.KindURL {
			return true
		}
	}
	return false
}

// mirror is the archive that was asked for; "" leaves it to apt's configuration.
func mirror(flag string) string { return cmp.Or(flag, os.Getenv("GENREPORT_MIRROR")) }

// resumeCommand is what to type to go on with the run; credentials are left to
// whoever types it.
func (f *measureFlags) resumeCommand(id string) string {
	words := []string{os.Args[0], f.command, "--resume", "--run", id}
	if f.results != "" {
		words = append(words, "--results", f.results)
	}
	for _, b := range f.brokers {
		if spec, err := broker.ParseSpec(b); err == nil && spec.Kind() == broker.KindURL {
			words = append(words, "--broker", "amqp://USER:PASSWORD@HOST:PORT/?management=URL")
		}
	}
	if spec, err := database.ParseSpec(f.database); err == nil && spec.External() {
		words = append(words, "--database", "USER:PASSWORD@tcp(HOST:PORT)/DATABASE")
	}
	for i, w := range words {
		if strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./") != "" {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// recall reads a run that was cut off: its whole plan, what is missing of it,
// and its brokers.
func (f *measureFlags) recall() (plan, missing runner.Plan, specs map[string]broker.Spec, err error) {
	fail := func(err error) (runner.Plan, runner.Plan, map[string]broker.Spec, error) {
		return runner.Plan{}, runner.Plan{}, nil, err
	}
	if f.run == "" {
		return fail(errors.New("--resume needs --run ID, the run to go on with"))
	}
	if !measure.ValidRunID(f.run) {
		return fail(fmt.Errorf("run id %q is not of the form 20060102T150405Z or 20060102T150405Z-name", f.run))
	}
	given := f.given()
	if !given["results"] && !given["profile"] { // which would say where it is
		for _, p := range experiments.Profiles() {
			if info, err := os.Stat(filepath.Join(resultsFor("", p), f.run)); err == nil && info.IsDir() {
				f.profile = string(p)
				break
			}
		}
	}
	if _, err := os.Stat(filepath.Join(f.resultsDir(), f.run)); err != nil {
		return fail(fmt.Errorf("there is no run %s in %s; --results DIR tells where it is", f.run, f.resultsDir()))
	}
	rec, err := measure.LoadRun(os.DirFS(f.resultsDir()), f.run, experiments.Methods())
	if err != nil {
		return fail(inDir(f.resultsDir(), err))
	}
	if rec.Run.Ended != nil {
		return fail(fmt.Errorf("run %s ended at %s: nothing is missing", f.run, rec.Run.Ended.Format(time.RFC3339)))
	}
	if given["profile"] && f.profile != rec.Run.Profile {
		return fail(fmt.Errorf("the profile changed: run %s is of %s, not of %s", f.run, rec.Run.Profile, f.profile))
	}
	f.profile, f.results = rec.Run.Profile, f.resultsDir()
	if plan, err = runner.Recall(experiments.All(), rec.Run); err != nil {
		return fail(err)
	}
	if specs, _, err = f.specs(); err != nil {
		return fail(err)
	}
	if given["experiment"] || given["case"] || given["repeats"] { // the whole command again: the same must follow from it
		again, known, err := f.plan()
		if err == nil {
			err = again.Same(rec.Run)
		}
		if err != nil {
			return fail(err)
		}
		specs = known
	} else if given["param"] {
		settings, err := f.settings()
		if err == nil {
			err = meant(plan.SameSettings(experiments.All(), settings))
		}
		if err != nil {
			return fail(err)
		}
	}
	for label := range specs {
		if !slices.Contains(plan.Brokers, label) {
			return fail(fmt.Errorf("the plan changed: run %s does not measure %s", f.run, label))
		}
	}
	for _, label := range plan.Brokers {
		if _, ok := specs[label]; !ok && strings.HasPrefix(label, "external") {
			return fail(fmt.Errorf("run %s measures a broker given by URL (%s), which is not stored: give it again with --broker", f.run, label))
		}
	}
	if db := rec.Run.Database; db != nil && db.Label == "external" && f.database == "" {
		return fail(fmt.Errorf("run %s measures with a database given by DSN, which is not stored: give it again with --database", f.run))
	} else if db != nil && f.database == "" {
		f.database = db.Label
	}
	return plan, plan.Missing(rec.Results), specs, ownSpecs(plan.Brokers, specs)
}

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
	settings, err := f.settings()
	if err != nil {
		return runner.Plan{}, nil, err
	}
	sel := runner.Selection{Profile: profile, Experiments: f.experiments, Repeats: f.repeats, Settings: settings}
	for _, c := range f.cases {
		labels, err := parseCase(c)
		if err != nil {
			return runner.Plan{}, nil, err
		}
		sel.Cases = append(sel.Cases, labels)
	}
	specs, labels, err := f.specs()
	if err != nil {
		return runner.Plan{}, nil, err
	}
	sel.Brokers = labels
	plan, err := runner.NewPlan(experiments.All(), sel)
	if err != nil {
		return plan, nil, meant(err)
	}
	return plan, specs, ownSpecs(plan.Brokers, specs)
}

// specs reads the brokers that were given, by label and in their order.
func (f *measureFlags) specs() (specs map[string]broker.Spec, labels []string, err error) {
	specs = map[string]broker.Spec{}
	for _, text := range f.brokers {
		spec, err := broker.ParseSpec(text)
		if err != nil {
			return nil, nil, err
		}
		label := spec.Label()
		for n := 2; specs[label] != (broker.Spec{}); n++ {
			if spec.Kind() != broker.KindURL {
				return nil, nil, fmt.Errorf("broker %s is given twice", label)
			}
			label = fmt.Sprintf("%s-%d", spec.Label(), n)
		}
		specs[label] = spec
		labels = append(labels, label)
	}
	return specs, labels, nil
}

// ownSpecs adds the brokers that experiments name themselves.
func ownSpecs(labels []string, specs map[string]broker.Spec) error {
	for _, label := range labels {
		if _, ok := specs[label]; ok {
			continue
		}
		spec, err := broker.ParseSpec(label)
		if err != nil {
			return err
		}
		specs[label] = spec
	}
	return nil
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

// settings reads the parameters that were given.
func (f *measureFlags) settings() ([]runner.Setting, error) {
	var settings []runner.Setting
	for _, text := range f.params {
		name, value, ok := strings.Cut(text, "=")
		experiment, own, named := strings.Cut(name, ":")
		if !named {
			experiment, own = "", name
		}
		if !ok || own == "" || value == "" || named && experiment == "" {
			return nil, fmt.Errorf("--param %q is not NAME=VALUE or EXPERIMENT:NAME=VALUE", text)
		}
		settings = append(settings, runner.Setting{Experiment: experiment, Name: own, Value: value})
	}
	return settings, nil
}

// meant adds to the error of an unknown parameter which was meant.
func meant(err error) error {
	var unknown runner.UnknownParameter
	if errors.As(err, &unknown) {
		if best := near.Best(unknown.Setting.Name, unknown.Have); best != "" {
			return fmt.Errorf("%w; did you mean %q?", err, best)
		}
	}
	return err
}

func printPlan(s streams, p runner.Plan) error {
	out := bufio.NewWriter(s.out)
	warmup, cells := p.Planned()
	for _, c := range warmup {
		fmt.Fprintf(out, "warm-up\t%s\t%s\n", c.Experiment, c.Labels)
	}
	for i, c := range cells {
		fmt.Fprintf(out, "%d\t%s\t%s\trepeat %d\n", i+1, c.Experiment, c.Labels, c.Repeat)
	}
	for _, line := range p.Set() {
		fmt.Fprintf(s.err, "set: %s\n", line)
	}
	fmt.Fprintf(s.err, "%d cells, about %s\n", len(cells), round(p.Estimate()))
	if err := out.Flush(); err != nil {
		return fmt.Errorf("printing the plan: %w", err)
	}
	return nil
}

func workerCommand(ctx context.Context, args []string, s streams) error {
	if len(args) > 0 {
		return usageError{errors.New("worker takes no arguments: it reads a job on standard input")}
	}
	return load.Work(ctx, s.in, s.out)
}
