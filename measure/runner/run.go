package runner

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"genreport/measure"
	"genreport/measure/broker"
	"genreport/measure/experiments"
	"genreport/measure/load"
)

// Host is what the runner needs from outside.
type Host struct {
	Debian  broker.Debian
	Specs   map[string]broker.Spec // by label
	Worker  []string               // command line of the Go load client
	Results string                 // directory
	Tool    measure.Tool
	Log     func(string)   // what a person should know, a line each
	OnCell  func(Progress) // before each cell; may be nil
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

// cellLimit bounds one cell beyond what its clients allow themselves.
const cellLimit = 20 * time.Minute

// Run measures the plan and writes the result files under host.Results. The
// run it returns is what was written. An error means that the run could not go
// on; cells that failed are in the results, and counted by failed.
func Run(ctx context.Context, host Host, p Plan, run measure.Run) (written measure.Run, failed int, err error) {
	r := &runner{host: host, plan: p, run: run, nodes: map[string]*broker.Broker{}, results: map[string]*measure.Result{}, began: time.Now()}
	r.run.Tool = host.Tool
	r.run.Machine = describeMachine()
	r.run.Warmup, r.run.Plan = p.Planned()
	// Files are made before nodes: a directory that can't be written is told at once.
	if r.writer, err = measure.Create(host.Results, r.run); err != nil {
		return r.run, 0, err
	}
	defer func() { err = errors.Join(err, r.stopAll()) }()
	if err := r.measureAll(ctx); err != nil {
		if len(r.results) == 0 { // nothing was measured: nothing to keep
			err = errors.Join(err, os.RemoveAll(r.writer.Dir()))
		}
		return r.run, r.failed, err
	}
	ended := time.Now().UTC().Truncate(time.Second)
	r.run.Ended = &ended
	return r.run, r.failed, r.writer.WriteRun(r.run)
}

type runner struct {
	host    Host
	plan    Plan
	run     measure.Run
	writer  measure.Writer
	nodes   map[string]*broker.Broker // by broker label: the default configuration
	variant struct {
		key  string
		node *broker.Broker
		err  error
	}
	pika    broker.Rootfs
	pikaErr error
	results map[string]*measure.Result
	noted   bool // a client that run.json does not have yet
	failed  int
	began   time.Time
}

func (r *runner) measureAll(ctx context.Context) error {
	for _, label := range r.plan.Brokers {
		b, err := r.open(ctx, label)
		if err != nil {
			return err
		}
		r.nodes[label] = b
		info, err := b.Info(ctx)
		if err != nil {
			return fmt.Errorf("asking %s for its versions: %w", label, err)
		}
		r.run.Brokers = append(r.run.Brokers, measure.Broker{Label: label, RabbitMQ: info.RabbitMQ, Erlang: info.Erlang,
			Package: info.Package, Plugins: info.Plugins, Schedulers: info.Schedulers, Settings: info.Settings})
		r.host.Log(fmt.Sprintf("%s is ready: RabbitMQ %s, Erlang %s", label, info.RabbitMQ, info.Erlang))
	}
	if r.usesPika() {
		if r.pika, r.pikaErr = r.host.Debian.Ensure(ctx, PikaSuite); r.pikaErr != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			r.host.Log("the pika client can't be had, its cells will fail: " + r.pikaErr.Error())
		}
	}
	if err := r.writer.WriteRun(r.run); err != nil {
		return err
	}
	total := r.plan.Estimate()
	var spent time.Duration // of the estimate
	for i, c := range slices.Concat(r.plan.Warmup, r.plan.Cells) {
		warmup := i < len(r.plan.Warmup)
		name := c.experiment.Name + " " + c.labels().String()
		if warmup {
			name = "warm-up: " + name
		}
		if r.host.OnCell != nil {
			r.host.OnCell(Progress{Done: i, Total: len(r.plan.Warmup) + len(r.plan.Cells), Cell: name, Left: r.left(total, spent)})
		}
		spent += c.c.Estimate
		cell := r.measureCell(ctx, c, i-len(r.plan.Warmup))
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted after %d of %d cells; what was measured is in %s: %w", max(0, i-len(r.plan.Warmup)), len(r.plan.Cells), r.writer.Dir(), ctx.Err())
		}
		if cell.Failure != nil {
			r.host.Log("failed: " + name + ": " + cell.Failure.Reason)
		}
		if warmup {
			continue
		}
		if cell.Failure != nil {
			r.failed++
		}
		if err := r.record(c, cell); err != nil {
			return err
		}
	}
	return nil
}

// left corrects the estimate by how it did so far.
func (r *runner) left(total, spent time.Duration) time.Duration {
	left := total - spent
	if spent > 10*time.Second {
		left = time.Duration(float64(left) * float64(time.Since(r.began)) / float64(spent+time.Duration(len(r.plan.Brokers))*nodeStart))
	}
	return max(left, 0).Round(time.Second)
}

func (r *runner) usesPika() bool {
	return slices.ContainsFunc(r.plan.Cells, func(c cell) bool { return c.c.Labels["client"] == "pika" })
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
	return r.start(ctx, spec, broker.Config{})
}

func (r *runner) start(ctx context.Context, spec broker.Spec, config broker.Config) (*broker.Broker, error) {
	root, err := r.host.Debian.Ensure(ctx, spec.Suite)
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
		r.host.Log(c.broker + " had ended; starting it again")
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
		return nil, errors.New("not measured: the configuration of a broker given by URL can't be changed")
	}
	if key := c.broker + " " + c.variant(); key != r.variant.key || ended(r.variant.node) {
		if err := r.closeVariant(); err != nil {
			return nil, err
		}
		r.variant.key = key
		r.variant.node, r.variant.err = r.start(ctx, spec, broker.Config{Settings: c.c.Settings})
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
	c.Close()
	return true
}

func (r *runner) closeVariant() error {
	b := r.variant.node
	r.variant.key, r.variant.node, r.variant.err = "", nil, nil
	if b == nil {
		return nil
	}
	return b.Stop()
}

func (r *runner) stopAll() error {
	errs := []error{r.closeVariant()}
	for _, b := range r.nodes {
		errs = append(errs, b.Stop())
	}
	return errors.Join(errs...)
}

func (r *runner) measureCell(ctx context.Context, c cell, order int) measure.Cell {
	started := time.Now()
	out := measure.Cell{Labels: c.labels(), Repeat: c.repeat, Order: order, Started: started.Sub(r.began).Seconds(), Command: r.plan.command(c)}
	ctx, cancel := context.WithTimeout(ctx, cellLimit)
	defer cancel()
	b, err := r.node(ctx, c)
	var s experiments.Sample
	if err == nil {
		env := experiments.Env{Broker: b, CA: readCA(b.CAFile()), Profile: r.plan.Selection.Profile, Client: r.client}
		s, err = c.experiment.Measure(ctx, env, c.c)
	}
	out.Duration = time.Since(started).Seconds()
	if err != nil {
		out.Failure = &measure.Failure{Reason: err.Error()}
		if b != nil {
			if ended(b) {
				out.Failure.Reason = "the broker ended: " + out.Failure.Reason
			}
			out.Failure.Log = b.LogTail(logLines)
			if r.host.Specs[c.broker].Kind() != broker.KindURL && !ended(b) && ctx.Err() == nil && !answers(ctx, b) {
				out.Failure.Reason = "the broker takes no more connections: " + out.Failure.Reason
				if err := b.Stop(); err != nil { // the next cell gets a new one
					r.host.Log("stopping " + c.broker + ": " + err.Error())
				}
			}
		}
		s = experiments.Sample{}
	}
	out.Texts = s.Texts
	out.Values = map[string]measure.Value{}
	for name := range c.experiment.Metrics {
		v, ok := s.Values[name]
		switch {
		case out.Failure != nil:
			v = measure.Missing(out.Failure.Reason)
		case !ok:
			v = measure.Missing("the experiment did not measure it")
		}
		out.Values[name] = v
	}
	r.note(s.Clients)
	return out
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
	switch label {
	case "go", "go-batched":
		cmd := exec.CommandContext(ctx, r.host.Worker[0], r.host.Worker[1:]...)
		cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool { // no tuning from outside
			return strings.HasPrefix(kv, "GOGC=") || strings.HasPrefix(kv, "GOMAXPROCS=") || strings.HasPrefix(kv, "GODEBUG=") || strings.HasPrefix(kv, "GOMEMLIMIT=")
		})
		return cmd, nil
	case "pika":
		if r.pikaErr != nil {
			return nil, fmt.Errorf("the pika client can't be had: %w", r.pikaErr)
		}
		return r.pika.Command(ctx, broker.CommandOptions{}, "python3", "-c", load.PikaScript), nil
	}
	return nil, fmt.Errorf("unknown client %q", label)
}

// note remembers each kind of client once.
func (r *runner) note(clients []measure.Client) {
	for _, c := range clients {
		if !slices.ContainsFunc(r.run.Clients, func(k measure.Client) bool { return k.Label == c.Label }) {
			r.run.Clients = append(r.run.Clients, c)
			r.noted = true
		}
	}
}

// record adds a cell to its result file, and writes it.
func (r *runner) record(c cell, m measure.Cell) error {
	name := c.experiment.Name
	res := r.results[name]
	if res == nil {
		planned := 0
		for _, other := range r.plan.Cells {
			if other.experiment.Name == name {
				planned++
			}
		}
		fresh := measure.NewResult(r.run, name, c.experiment.Method, planned)
		fresh.Whole = r.plan.Whole()
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
