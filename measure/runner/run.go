package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"genreport/measure"
	"genreport/measure/broker"
	"genreport/measure/database"
	"genreport/measure/debian"
	"genreport/measure/experiments"
	"genreport/measure/load"
)

// Host is what the runner needs from outside.
type Host struct {
	Debian   debian.Debian
	Specs    map[string]broker.Spec // by label
	Worker   []string               // command line of the Go load client
	WebAPI   []string               // command line of the application behind the web API
	Database database.Spec          // for experiments that need one
	Results  string                 // directory
	Tool     measure.Tool
	Log      func(string)   // what a person may want to know, a line each
	Warn     func(string)   // what goes wrong; nil: told to Log
	OnCell   func(Progress) // before each cell; may be nil
}

// Progress is where a run stands.
type Progress struct {
	Done, Total int // cells
	Cell        string
	Left        time.Duration // estimated
}

// PikaSuite is the Debian suite whose pika puts on the load, whatever is
// measured: one client for all brokers.
const PikaSuite = "forky"

// logLines is how much of a broker's log goes into a failed cell.
const logLines = 20

// Run measures the plan and writes the result files under host.Results. The
// run it returns is what was written. Cells that failed are in the results,
// and counted by failed. An error means that the run could not go on; where it
// is Unfinished, Resume measures the rest.
func Run(ctx context.Context, host Host, p Plan, run measure.Run) (written measure.Run, failed int, err error) {
	r := newRunner(host, p, run)
	r.began, r.pending = time.Now(), p.Cells
	r.run.Tool = host.Tool
	r.run.Machine = describeMachine()
	r.run.Warmup, r.run.Plan = p.Planned()
	r.run.Parameters = p.set
	// Files are made before nodes: a directory that can't be written is told at once.
	if r.writer, err = measure.Create(host.Results, r.run); err != nil {
		return r.run, 0, err
	}
	defer r.writer.Close()
	steal := stealShare(ctx)
	r.run.Machine.StealShare = &steal
	return r.finish(ctx, func() error { return nil })
}

func newRunner(host Host, p Plan, run measure.Run) *runner {
	return &runner{host: host, plan: p, run: run, nodes: map[string]*broker.Broker{}, blocked: map[*broker.Broker]bool{},
		results: map[string]*measure.Result{}, session: time.Now()}
}

// Unfinished is the error of a run that ended before its plan did, and whose
// results were kept.
type Unfinished struct {
	Run         string
	Done, Total int // cells
	Dir         string
	Cause       error
}

func (e *Unfinished) Error() string {
	how := "interrupted"
	if !errors.Is(e.Cause, context.Canceled) {
		how = "ended"
	}
	return fmt.Sprintf("%s after %d of %d cells; what was measured is in %s: %v", how, e.Done, e.Total, e.Dir, e.Cause)
}

func (e *Unfinished) Unwrap() error { return e.Cause }

// finish measures what is to do and ends the run. Ready is called when the
// brokers are there and before anything is measured or written.
func (r *runner) finish(ctx context.Context, ready func() error) (written measure.Run, failed int, err error) {
	defer func() { err = errors.Join(err, r.stopAll()) }()
	switch err = r.measureToEnd(ctx, ready); {
	case err == nil, errors.Is(err, errChanged):
		return r.run, r.failed, err
	case len(r.results) == 0 && len(r.run.Resumed) == 0: // nothing was measured: nothing to keep
		return r.run, r.failed, errors.Join(err, os.RemoveAll(r.writer.Dir()))
	}
	return r.run, r.failed, &Unfinished{r.run.ID, r.done(), len(r.plan.Cells), r.writer.Dir(), err}
}

func (r *runner) measureToEnd(ctx context.Context, ready func() error) error {
	if err := r.measureAll(ctx, ready); err != nil {
		return err
	}
	if share, ok := r.run.Drift(); ok && r.run.Drifted() && r.plan.controlRepeats() > 1 {
		r.warn(fmt.Sprintf("the machine was not steady: the rate of the control load moved by up to %.1f %% within the run, more than %.0f %%", 100*share, 100*measure.DriftLimit))
	}
	ended := time.Now().UTC().Truncate(time.Second)
	r.run.Ended = &ended
	return r.writer.WriteRun(r.run)
}

// done is the number of cells that are in the result files.
func (r *runner) done() (n int) {
	for _, res := range r.results {
		n += len(res.Cells)
	}
	return n
}

type runner struct {
	host    Host
	plan    Plan
	pending []cell // of the plan
	run     measure.Run
	writer  measure.Writer
	nodes   map[string]*broker.Broker // by broker label: the default configuration
	blocked map[*broker.Broker]bool   // had an alarm when last looked at
	variant struct {
		key  string
		node *broker.Broker
		err  error
	}
	database *database.Database // nil where no experiment needs one
	pika     debian.Rootfs
	pikaErr  error
	results  map[string]*measure.Result
	noted    bool // a client that run.json does not have yet
	failed   int
	began    time.Time // of the run; what started_s counts from
	session  time.Time // when this process took it up

	measuring time.Time // when the brokers were ready
}

func (r *runner) measureAll(ctx context.Context, ready func() error) error {
	if err := checkPrograms(r.pending); err != nil {
		return err
	}
	for _, label := range r.plan.Brokers {
		if err := r.openDescribed(ctx, label); err != nil {
			return err
		}
	}
	if needsDatabase(r.pending) {
		if err := r.openDatabase(ctx); err != nil {
			return err
		}
	}
	if r.usesPika() {
		if r.pika, r.pikaErr = r.host.Debian.Ensure(ctx, broker.Image(), PikaSuite); r.pikaErr != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			r.warnUser("the pika client can't be had, its cells will fail: " + r.pikaErr.Error())
		}
	}
	if err := r.lookAtDisk(); err != nil {
		return err
	}
	if err := ready(); err != nil {
		return err
	}
	if err := r.writer.WriteRun(r.run); err != nil {
		return err
	}
	r.measuring = time.Now()
	total := r.plan.estimate(r.pending) - time.Duration(len(r.plan.Brokers))*nodeStart // these are over
	var spent time.Duration                                                            // of the estimate
	warmup := warmsUp(r.plan.Warmup, r.pending)
	progress := func(done int, c cell, name string) {
		if r.host.OnCell != nil {
			r.host.OnCell(Progress{Done: done, Total: len(warmup) + len(r.pending), Cell: name, Left: r.left(total, spent)})
		}
		spent += c.c.Estimate
	}
	for i, c := range warmup {
		name := "warm-up: " + c.name()
		progress(i, c, name)
		s, failure := r.attempt(ctx, c)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if failure != nil {
			r.warnUser("failed: " + name + ": " + failure.Reason)
		}
		r.note(s.Clients)
	}
	if err := r.control(ctx, "first"); err != nil {
		return err
	}
	controlled := spent
	for i, c := range r.pending {
		// Not between the cells of a node that was started for them: it would have to be started again.
		if fresh := c.variant() == "" || i == 0 || c.nodeKey() != r.pending[i-1].nodeKey(); fresh && spent-controlled >= controlEvery {
			if err := r.control(ctx, "middle"); err != nil {
				return err
			}
			controlled = spent
		}
		progress(len(warmup)+i, c, c.name())
		cell := r.measureCell(ctx, c)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if cell.Failure != nil {
			r.warnUser("failed: " + c.name() + ": " + cell.Failure.Reason)
			r.failed++
		}
		if err := r.record(c, cell); err != nil {
			return err
		}
	}
	return r.control(ctx, "last")
}

// openDescribed opens the broker of a label and asks it what it is. In a run
// that goes on it must be the same as before.
func (r *runner) openDescribed(ctx context.Context, label string) error {
	b, err := r.open(ctx, label)
	if err != nil {
		return err
	}
	r.nodes[label] = b
	if r.host.Specs[label].Kind() == broker.KindURL { // one of ours has the right password
		if err := load.Check(ctx, b.URI(), readCA(b.CAFile())); err != nil {
			return fmt.Errorf("opening a connection and a channel on %s: %w", label, err)
		}
	}
	info, err := b.Info(ctx)
	if err != nil {
		return fmt.Errorf("asking %s for its versions: %w", label, err)
	}
	now := measure.Broker{Label: label, RabbitMQ: info.RabbitMQ, Erlang: info.Erlang,
		Package: info.Package, Plugins: info.Plugins, Schedulers: info.Schedulers, Settings: info.Settings, Components: info.Components}
	if i := slices.IndexFunc(r.run.Brokers, func(known measure.Broker) bool { return known.Label == label }); i < 0 {
		r.run.Brokers = append(r.run.Brokers, now)
	} else if err := sameBroker(r.run.Brokers[i], now); err != nil {
		return err
	}
	r.host.Log(fmt.Sprintf("%s is ready: RabbitMQ %s, Erlang %s", label, info.RabbitMQ, info.Erlang))
	return nil
}

// control measures the control load on each broker. What can't be measured is
// recorded with its reason: it is no reason to give up the run.
func (r *runner) control(ctx context.Context, when string) error {
	for _, label := range r.plan.Brokers {
		c := r.plan.control
		c.broker = label
		out := measure.Control{When: when, Broker: label, Started: time.Since(r.began).Seconds()}
		if when == "first" && slices.ContainsFunc(r.run.Control, func(known measure.Control) bool { return known.Broker == label }) {
			out.When = "middle" // of a run that goes on
		}
		var rates []float64
		repeats := r.plan.controlRepeats()
		for range repeats {
			s, failure := r.attempt(ctx, c)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if failure != nil {
				r.warnUser("failed: control load, " + label + ": " + failure.Reason)
				out.Rate = measure.Missing(failure.Reason)
				break
			}
			if out.Rate = s.Values["rate"]; !out.Rate.OK() {
				out.Rate = measure.Missing("the control load gave no rate: " + out.Rate.Reason())
				break
			}
			rates = append(rates, out.Rate.Float64())
		}
		if len(rates) == repeats {
			slices.Sort(rates)
			out.Rate = measure.Float(rates[len(rates)/2])
		}
		r.run.Control = append(r.run.Control, out)
	}
	return r.writer.WriteRun(r.run)
}

// left corrects the estimate by how it did so far.
func (r *runner) left(total, spent time.Duration) time.Duration {
	left := total - spent
	if spent > 10*time.Second {
		left = time.Duration(float64(left) * float64(time.Since(r.measuring)) / float64(spent))
	}
	return max(left, 0).Round(time.Second)
}

func (r *runner) usesPika() bool {
	return slices.ContainsFunc(r.pending, func(c cell) bool {
		kind, _ := load.KindOf(c.c.Labels["client"])
		return kind.Script != ""
	})
}

// open starts or finds the broker of a label in its default configuration.
func (r *runner) open(ctx context.Context, label string) (*broker.Broker, error) {
	spec, ok := r.host.Specs[label]
	if !ok {
		return nil, fmt.Errorf("no broker is called %s", label)
	}
	if spec.Kind() == broker.KindURL {
		return broker.Connect(ctx, spec)
	}
	return r.start(ctx, spec, broker.Config{Plugins: r.plan.plugins()})
}

func (r *runner) start(ctx context.Context, spec broker.Spec, config broker.Config) (*broker.Broker, error) {
	root, err := r.host.Debian.Ensure(ctx, broker.Image(), spec.Suite)
	if err != nil {
		return nil, err
	}
	return broker.Start(ctx, root, config, broker.Options{Log: r.host.Log})
}

// node is the broker that a cell is measured on. A node of ours that has died
// is started anew once per cell.
func (r *runner) node(ctx context.Context, c cell) (*broker.Broker, error) {
	if c.variant() == "" {
		if err := r.closeVariant(); err != nil {
			return nil, err
		}
		b := r.nodes[c.broker]
		if !ended(b) {
			return b, nil
		}
		r.warnUser(c.broker + " had ended; starting it again")
		if b != nil {
			if err := b.Stop(); err != nil { // its data directory is still there
				return nil, err
			}
			delete(r.nodes, c.broker)
		}
		b, err := r.open(ctx, c.broker)
		if err != nil {
			return nil, err
		}
		r.nodes[c.broker] = b
		return b, nil
	}
	spec := r.host.Specs[c.broker]
	if spec.Kind() == broker.KindURL {
		if c.c.Fresh {
			return nil, fmt.Errorf("%w: a broker given by URL can't be started anew, or killed", broker.ErrNotAvailable)
		}
		return nil, fmt.Errorf("%w: the configuration of a broker given by URL can't be changed", broker.ErrNotAvailable)
	}
	// One that does not start is not tried again for each of its cells.
	if key := c.nodeKey(); key != r.variant.key || r.variant.err == nil && ended(r.variant.node) {
		if err := r.closeVariant(); err != nil {
			return nil, err
		}
		r.variant.key = key
		r.variant.node, r.variant.err = r.start(ctx, spec, broker.Config{Settings: c.c.Settings, Plugins: c.experiment.Plugins})
	}
	return r.variant.node, r.variant.err
}

func ended(b *broker.Broker) bool {
	if b == nil {
		return true
	}
	select {
	case <-b.Done(): // nil, so never, for a broker by URL
		return true
	default:
		return false
	}
}

// answers reports whether the broker takes connections. A node may live on
// with RabbitMQ stopped in it.
func answers(ctx context.Context, b *broker.Broker) bool {
	u, err := url.Parse(b.URI())
	if err != nil {
		return false
	}
	c, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return false
	}
	defer c.Close()
	// A process that is stopped takes connections too, the kernel does it for it;
	// only one that lives answers. To TLS this is a broken hello, which has an answer.
	c.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := c.Write([]byte("AMQP\x00\x00\x09\x01")); err != nil {
		return false
	}
	_, err = c.Read(make([]byte, 1))
	return err == nil
}

func (r *runner) closeVariant() error {
	b := r.variant.node
	r.variant.key, r.variant.node, r.variant.err = "", nil, nil
	if b == nil {
		return nil
	}
	return b.Stop()
}

// stopAll stops all nodes at once: whoever pressed Ctrl-C waits for it.
func (r *runner) stopAll() error {
	errs := make([]error, 2+len(r.nodes))
	var all sync.WaitGroup
	all.Go(func() { errs[0] = r.closeVariant() })
	all.Go(func() { errs[1] = r.closeDatabase() })
	for i, b := range slices.Collect(maps.Values(r.nodes)) {
		all.Go(func() { errs[2+i] = b.Stop() })
	}
	all.Wait()
	return errors.Join(errs...)
}

// measureCell is a cell as the result file has it.
func (r *runner) measureCell(ctx context.Context, c cell) measure.Cell {
	started := time.Now()
	s, failure := r.attempt(ctx, c)
	out := measure.Cell{Labels: c.labels(), Repeat: c.repeat, Order: c.order, Command: r.plan.command(c), Failure: failure,
		Started: started.Sub(r.began).Seconds(), Duration: time.Since(started).Seconds(),
		Values: map[string]measure.Value{}, Texts: s.Texts, CPU: s.CPU, Series: s.Series, Latency: s.Latency, Integrity: s.Integrity}
	for name := range c.experiment.Metrics {
		v, ok := s.Values[name]
		switch {
		case failure != nil:
			v = measure.Missing(failure.Reason)
		case s.Missing != "":
			v = measure.Missing(s.Missing)
		case !ok:
			v = measure.Missing("the experiment did not measure it")
		}
		out.Values[name] = v
	}
	r.note(s.Clients)
	for _, text := range s.Warnings {
		r.noted = r.warn(text) || r.noted
	}
	return out
}

// attempt measures a cell once. The sample of one that failed holds at most
// what became of its messages.
func (r *runner) attempt(ctx context.Context, c cell) (experiments.Sample, *measure.Failure) {
	b, err := r.node(ctx, c)
	if errors.Is(err, broker.ErrNotAvailable) {
		return experiments.Sample{Missing: err.Error()}, nil
	}
	if err != nil {
		return experiments.Sample{}, &measure.Failure{Reason: err.Error()}
	}
	if r.blocked[b] { // then the next one would wait until its limit too
		if alarm := r.alarm(ctx, b); alarm != "" {
			return experiments.Sample{}, &measure.Failure{Reason: alarm + ", as in the cell before", Log: b.LogTail(logLines)}
		}
	}
	db, err := r.liveDatabase(ctx, c)
	if err != nil {
		return experiments.Sample{}, &measure.Failure{Reason: err.Error()}
	}
	limit := c.limit()
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	env := experiments.Env{Suffix: "." + r.run.ID, Broker: b, CA: readCA(b.CAFile()), Profile: r.plan.Selection.Profile, Client: r.client,
		Database: db, WebAPI: r.webAPI}
	s, err := c.experiment.Measure(within, env, c.c)
	if err == nil && s.Integrity != nil {
		err = s.Integrity.Check()
	}
	if err == nil {
		return s, nil
	}
	if within.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("it was not done within its limit of %v: %w", limit, err)
	}
	return experiments.Sample{Integrity: s.Integrity}, r.explain(ctx, c, b, err)
}

// explain looks at the broker for the reason why a cell has failed.
func (r *runner) explain(ctx context.Context, c cell, b *broker.Broker, err error) *measure.Failure {
	failure := &measure.Failure{Reason: err.Error()}
	if ctx.Err() != nil {
		return failure // of no cell: the run is interrupted
	}
	ours := r.host.Specs[c.broker].Kind() != broker.KindURL
	if ours && !ended(b) { // the client notices its death before us, and its port may outlast its connections
		select {
		case <-b.Done():
		case <-time.After(time.Second):
		}
	}
	takes := !ended(b) && answers(ctx, b)
	if ours && !takes && !ended(b) {
		select {
		case <-b.Done():
		case <-time.After(time.Second):
		}
	}
	failure.Log = b.LogTail(logLines)
	switch {
	case ended(b):
		failure.Reason = "the broker ended: " + failure.Reason
	case !takes:
		failure.Reason = "the broker takes no more connections: " + failure.Reason
		if err := b.Stop(); err != nil { // the next cell gets a new one; nothing happens to one by URL
			r.warnUser("stopping " + c.broker + ": " + err.Error())
		}
	default:
		if alarm := r.alarm(ctx, b); alarm != "" {
			failure.Reason = alarm + ": " + failure.Reason
		}
	}
	return failure
}

// alarm says that the broker takes no messages now and why, or nothing.
func (r *runner) alarm(ctx context.Context, b *broker.Broker) string {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	alarms, err := b.Alarms(ctx)
	if err != nil || len(alarms) == 0 { // a broker that can't tell has the failure's own words
		delete(r.blocked, b)
		return ""
	}
	r.blocked[b] = true
	return fmt.Sprintf("blocked: the broker's %s alarm stops publishers", strings.Join(alarms, " and "))
}

func readCA(file string) string {
	if file == "" {
		return ""
	}
	data, _ := os.ReadFile(file) // Connect has used it; the client will say what is wrong
	return string(data)
}

// client prepares a load client process.
func (r *runner) client(ctx context.Context, label string) (*exec.Cmd, error) {
	kind, ok := load.KindOf(label)
	switch {
	case !ok:
		return nil, fmt.Errorf("unknown client %q", label)
	case kind.Script == "":
		return ownProcess(ctx, r.host.Worker), nil
	default:
		if r.pikaErr != nil {
			return nil, errors.New("the pika client can't be had on this machine") // why has been said; results don't tell of machines
		}
		return r.pika.Command(ctx, debian.CommandOptions{}, "python3", "-c", kind.Script), nil
	}
}

// ownProcess prepares a process of this program.
func ownProcess(ctx context.Context, argv []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool { // no tuning from outside
		return strings.HasPrefix(kv, "GOGC=") || strings.HasPrefix(kv, "GOMAXPROCS=") || strings.HasPrefix(kv, "GODEBUG=") || strings.HasPrefix(kv, "GOMEMLIMIT=")
	})
	// A group of its own keeps a terminal's Ctrl-C from it: it would fail its
	// cell before we know that the run is interrupted.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// note remembers each kind of client once.
func (r *runner) note(clients []measure.Client) {
	for _, c := range clients {
		i := slices.IndexFunc(r.run.Clients, func(k measure.Client) bool { return k.Label == c.Label })
		switch {
		case i < 0:
			r.run.Clients = append(r.run.Clients, c)
			r.noted = true
		case r.run.Clients[i] != c: // of a run that goes on
			text := fmt.Sprintf("client %s changed within the run: %s %s on %s, later %s %s on %s", c.Label,
				r.run.Clients[i].Library, r.run.Clients[i].Version, r.run.Clients[i].Runtime, c.Library, c.Version, c.Runtime)
			r.noted = r.warn(text) || r.noted
		}
	}
}

// InMemory is the warning of a run whose numbers lack the cost of a disk.
const InMemory = "the data of brokers and databases is in memory (tmpfs), where writing to disk costs nothing: set TMPDIR to a directory on a disk"

// lookAtDisk warns where servers that are started here would write to memory, as
// they do below a /tmp that is a tmpfs.
func (r *runner) lookAtDisk() error {
	ours := needsDatabase(r.pending) && !r.host.Database.External()
	for _, label := range r.plan.Brokers {
		ours = ours || r.host.Specs[label].Suite != ""
	}
	if !ours {
		return nil
	}
	dir, err := debian.StateDir()
	if err != nil {
		return err
	}
	memory, err := debian.InMemory(dir)
	if memory {
		r.warn(InMemory)
	}
	return err
}

// warn tells a reader of the run something, once.
func (r *runner) warn(text string) (added bool) {
	if slices.Contains(r.run.Warnings, text) {
		return false
	}
	r.run.Warnings = append(r.run.Warnings, text)
	r.warnUser("warning: " + text)
	return true
}

// warnUser tells whoever started the run.
func (r *runner) warnUser(text string) {
	if r.host.Warn != nil {
		r.host.Warn(text)
		return
	}
	r.host.Log(text)
}

// record adds a cell to its result file, and writes it.
func (r *runner) record(c cell, m measure.Cell) error {
	name := c.experiment.Name
	res := r.results[name]
	if res == nil {
		fresh := measure.NewResult(r.run, name, c.experiment.Method, r.plan.planned(name))
		fresh.Whole = r.plan.whole(c.experiment)
		fresh.Metrics = c.experiment.Metrics
		fresh.Parameters = c.experiment.Params(r.plan.Selection.Profile)
		res = &fresh
		r.results[name] = res
	}
	res.Cells = append(res.Cells, m)
	if err := r.writer.WriteResult(*res); err != nil || !r.noted {
		return err
	}
	r.noted = false
	return r.writer.WriteRun(r.run)
}
