package experiments

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"

	"genreport/measure"
	"genreport/measure/database"
	"genreport/measure/load"
	"genreport/measure/load/latency"
	"genreport/measure/stats"
	"genreport/measure/webapi"
)

// What all web API experiments have in common: the sizes of the post's load,
// and pools that the post does not tell of.
const (
	webConnections = 100 // HTTP connections, as in the post
	webDBPool      = 50  // connections to the database of each process; open and idle
	webChannels    = 32  // AMQP channels of each instance of the API
	webPrefetch    = 100 // of each consumer
	// webWorkers of a consumer insert side by side, where it is not the post's
	// consumer, which does one after another.
	webWorkers = 16
	// webSettle is how long what was answered may take to be where it belongs.
	webSettle = 10 * time.Second
)

// The parts of a machine's time, as metrics.
const (
	cpuGenerator = "cpu_generator"
	cpuAPI       = "cpu_api"
	cpuConsumers = "cpu_consumers"
	cpuBroker    = "cpu_broker"
	cpuDatabase  = "cpu_database"
	cpuIdle      = "cpu_idle"
)

func modes() []string {
	return []string{string(webapi.Sync), string(webapi.Async), string(webapi.AsyncConfirm)}
}

// webMetrics are the metrics of an experiment and those that all have.
func webMetrics(own map[string]measure.Metric) map[string]measure.Metric {
	for name, what := range map[string]string{
		cpuGenerator: "the load generator's part of the machine's core time while the load ran",
		cpuAPI:       "the API's part of it, all instances",
		cpuConsumers: "the consumers' part of it",
		cpuBroker:    "the broker's part of it",
		cpuDatabase:  "the database server's part of it",
		cpuIdle:      "the part of it that nobody took",
	} {
		own[name] = measure.Metric{Unit: measure.Count, Better: measure.Neither, Description: what}
	}
	return own
}

func webRate(text string) measure.Metric {
	return measure.Metric{Unit: measure.PerSecond, Better: measure.Higher, Description: text}
}

func webTime(text string) measure.Metric {
	return measure.Metric{Unit: measure.Seconds, Better: measure.Lower, Description: text}
}

func webCount(text string) measure.Metric {
	return measure.Metric{Unit: measure.Count, Better: measure.Lower, Description: text}
}

// webSystem is the application of one cell: instances of the API on one port,
// and consumers.
type webSystem struct {
	env       Env
	mode      webapi.Mode
	queue     string
	url       string
	record    bool
	unique    bool
	workers   int
	apis      []*webapi.Process
	consumers []*webapi.Process
}

// webLimit bounds every process of a cell.
const webLimit = 10 * time.Minute

// openSystem makes an empty table and queue and starts the instances of the
// API; consumers are started by addConsumers.
func openSystem(ctx context.Context, env Env, w webSystem, instances int) (_ *webSystem, err error) {
	w.env, w.queue = env, "genreport.posts"+env.Suffix
	if env.Database == nil {
		return nil, errors.New("no database was started for this experiment")
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close(ctx))
		}
	}()
	if err := webapi.Prepare(ctx, env.Database.DSN(), w.unique); err != nil {
		return nil, fmt.Errorf("making the table: %w", err)
	}
	if err := load.DeclareEmpty(ctx, env.Broker.URI(), env.CA, w.queue, load.Classic); err != nil {
		return nil, err
	}
	listen := "127.0.0.1:0"
	for range instances {
		p, err := w.start(ctx, webapi.Job{Role: webapi.API, Listen: listen})
		if err != nil {
			return nil, fmt.Errorf("starting the API: %w", err)
		}
		w.apis = append(w.apis, p)
		listen = p.Ready.Listen // the others share the port
	}
	w.url = "http://" + listen + "/posts"
	return &w, nil
}

func (w *webSystem) addConsumers(ctx context.Context, n int) error {
	if w.mode == webapi.Sync {
		return nil
	}
	for range n {
		p, err := w.start(ctx, webapi.Job{Role: webapi.Consumer, Prefetch: webPrefetch, Workers: w.workers})
		if err != nil {
			return fmt.Errorf("starting a consumer: %w", err)
		}
		w.consumers = append(w.consumers, p)
	}
	return nil
}

// start starts one process of the application, or the load on it.
func (w *webSystem) start(ctx context.Context, job webapi.Job) (*webapi.Process, error) {
	job.Mode, job.Queue, job.Record, job.Unique = w.mode, w.queue, w.record, w.unique
	job.DSN, job.URI, job.CA = w.env.Database.DSN(), w.env.Broker.URI(), w.env.CA
	job.DBPool, job.Channels = webDBPool, webChannels
	job.Limit = webLimit.Seconds()
	cmd, err := w.env.WebAPI(ctx)
	if err != nil {
		return nil, err
	}
	return webapi.Start(ctx, cmd, job)
}

// generate starts a load generator, which waits for its start.
func (w *webSystem) generate(ctx context.Context, job webapi.Job) (*webapi.Process, error) {
	job.Role, job.URL = webapi.Generate, w.url
	if job.Connections == 0 {
		job.Connections = webConnections
	}
	return w.start(ctx, job)
}

// libraries are those that the application is made of.
func (w *webSystem) libraries() []measure.Client {
	var out []measure.Client
	for _, p := range w.apis[:1] {
		for _, name := range slices.Sorted(maps.Keys(p.Ready.Versions)) {
			out = append(out, measure.Client{Label: name, Library: name, Version: p.Ready.Versions[name], Runtime: p.Ready.Runtime})
		}
	}
	return out
}

// load runs a generator to its end.
func (w *webSystem) load(ctx context.Context, job webapi.Job) (webapi.Outcome, error) {
	g, err := w.generate(ctx, job)
	if err != nil {
		return webapi.Outcome{}, fmt.Errorf("starting the load: %w", err)
	}
	defer g.Kill()
	if err := g.Go(); err != nil {
		return webapi.Outcome{}, err
	}
	return g.Wait(ctx)
}

// stopAPIs ends the instances in order, once all they have published has reached
// the broker.
func (w *webSystem) stopAPIs(ctx context.Context) ([]webapi.Outcome, error) {
	return stopAll(ctx, &w.apis)
}

func (w *webSystem) stopConsumers(ctx context.Context) ([]webapi.Outcome, error) {
	return stopAll(ctx, &w.consumers)
}

func stopAll(ctx context.Context, list *[]*webapi.Process) (out []webapi.Outcome, err error) {
	for _, p := range *list {
		o, stopErr := p.Stop(ctx)
		err = errors.Join(err, stopErr)
		out = append(out, o)
	}
	*list = nil
	return out, err
}

// close ends what still runs and removes what was made.
func (w *webSystem) close(ctx context.Context) error {
	for _, p := range slices.Concat(w.apis, w.consumers) {
		p.Kill()
	}
	w.apis, w.consumers = nil, nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpLimit)
	defer cancel()
	return errors.Join(webapi.Remove(ctx, w.env.Database.DSN()), load.Delete(ctx, w.env.Broker.URI(), w.env.CA, w.queue))
}

// joinClose is for a deferred call: what can't be cleaned up fails the cell.
func joinClose(ctx context.Context, w *webSystem, err error) error {
	return errors.Join(err, w.close(ctx))
}

// depth is how many posts wait in the queue.
func (w *webSystem) depth(ctx context.Context) (int, error) {
	return load.Depth(ctx, w.env.Broker.URI(), w.env.CA, w.queue)
}

// rows counts the posts in the table, and the different ones among them.
func (w *webSystem) rows(ctx context.Context) (all, different int, err error) {
	return webapi.Count(ctx, w.env.Database.DSN())
}

// fate is what became of the posts of a cell.
type fate struct {
	accepted  int // answered with success
	refused   int // answered otherwise; they may have got through nevertheless
	rows      int // in the table
	different int // posts among them
	left      int // in the queue
}

// settle ends the application in order and counts what became of the posts: those
// that the API answered with success are in the table or in the queue.
func (w *webSystem) settle(ctx context.Context) (f fate, err error) {
	outcomes, err := w.stopAPIs(ctx)
	if err != nil {
		return f, err
	}
	if _, err := w.stopConsumers(ctx); err != nil {
		return f, err
	}
	return w.count(ctx, outcomes)
}

// count finds what became of the posts that instances, which have ended, answered.
func (w *webSystem) count(ctx context.Context, apis []webapi.Outcome) (f fate, err error) {
	for _, o := range apis {
		f.accepted += o.Accepted
		f.refused += o.Refused
	}
	// What the consumers held goes back into the queue, which takes a moment.
	until := time.Now().Add(webSettle)
	for {
		if f.rows, f.different, err = w.rows(ctx); err != nil {
			return f, err
		}
		if f.left, err = w.depth(ctx); err != nil {
			return f, err
		}
		if f.different+f.left >= f.accepted || time.Now().After(until) {
			return f, nil
		}
		if err = sleep(ctx, 100*time.Millisecond); err != nil {
			return f, err
		}
	}
}

// integrity is that of posts that were accepted.
func (f fate) integrity() *measure.Integrity {
	none := measure.Missing("the API tells it of its answers only")
	reached := f.accepted
	if arrived := f.different + f.left; arrived > reached && arrived <= reached+f.refused {
		reached = arrived // some were taken after the client was told that they were not
	}
	lost := max(0, f.accepted-f.different-f.left)
	i := &measure.Integrity{Sent: int64(f.accepted), Acked: none, Nacked: none, Unconfirmed: none, Returned: none,
		Enqueued: count(reached), Consumed: count(f.different), Left: count(f.left), Lost: count(lost), Duplicated: count(f.rows - f.different),
		OutOfOrder: measure.Missing("several requests are under way at once")}
	if reached > f.accepted {
		i.Sent = int64(reached)
	}
	return i
}

// drained waits until the queue is empty and the table has so many posts, or the
// time is up. What consumers hold is in neither. The table is counted only once
// the queue is empty: counting takes the database's time.
func (w *webSystem) drained(ctx context.Context, want int, atMost time.Duration) error {
	until := time.Now().Add(atMost)
	for time.Now().Before(until) {
		left, err := w.depth(ctx)
		if err != nil {
			return err
		}
		if left == 0 {
			_, rows, err := w.rows(ctx)
			if err != nil {
				return err
			}
			if rows >= want {
				return nil
			}
		}
		if err := sleep(ctx, 300*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// meter reads the CPU time of each part of a cell while its load runs.
type meter struct {
	window
	w           *webSystem
	database    time.Duration
	databaseErr error
	processes   map[*webapi.Process]time.Duration
	err         error
}

func (w *webSystem) openMeter() *meter {
	m := &meter{w: w, processes: map[*webapi.Process]time.Duration{}}
	for _, p := range slices.Concat(w.apis, w.consumers) {
		spent, err := p.CPU()
		m.processes[p], m.err = spent, errors.Join(m.err, err)
	}
	m.database, m.databaseErr = w.env.Database.CPU()
	m.window = openWindow(w.env.Broker)
	return m
}

// close ends the window, puts the parts' shares among the values and returns the
// evidence. Generator is the CPU time of the load in seconds.
func (m *meter) close(values map[string]measure.Value, generator float64) *measure.CPU {
	cpu := m.window.close(0, generator)
	// The generators use as many cores as there are: a core's worth of threads is no limit.
	cpu.Processes = cpu.Cores
	values[cpuIdle] = cpu.Idle
	total := cpu.Wall * float64(cpu.Cores)
	part := func(seconds measure.Value) measure.Value {
		if !seconds.OK() {
			return seconds
		}
		return measure.Float(seconds.Float64() / total)
	}
	values[cpuGenerator] = part(measure.Float(generator))
	values[cpuBroker] = part(cpu.Broker)
	values[cpuIdle] = part(values[cpuIdle])
	values[cpuAPI] = part(m.spent(m.w.apis))
	values[cpuConsumers] = part(m.spent(m.w.consumers))
	now, err := m.w.env.Database.CPU()
	if err = errors.Join(m.databaseErr, err); err != nil {
		values[cpuDatabase] = unavailable(err)
	} else {
		values[cpuDatabase] = part(measure.Float((now - m.database).Seconds()))
	}
	return cpu
}

// spent is the CPU seconds of processes since the window began.
func (m *meter) spent(processes []*webapi.Process) measure.Value {
	var spent time.Duration
	err := m.err
	for _, p := range processes {
		now, cpuErr := p.CPU()
		spent += now - m.processes[p]
		err = errors.Join(err, cpuErr)
	}
	if err != nil {
		return measure.Missing("failed: " + err.Error())
	}
	return measure.Float(spent.Seconds())
}

// watchBacklog reads once a second how many posts wait in the queue. It ends with
// its context, or when it is stopped.
func (w *webSystem) watchBacklog(ctx context.Context) (stop func() measure.Series) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan measure.Series, 1)
	began := time.Now()
	go func() {
		s := measure.Series{Unit: measure.Count, Start: 1, Step: 1, Values: []measure.Value{}}
		for second := 1; ; second++ {
			if sleep(ctx, time.Until(began.Add(time.Duration(second)*time.Second))) != nil {
				done <- s
				return
			}
			if late := time.Since(began) - time.Duration(second)*time.Second; late > 500*time.Millisecond {
				s.Values = append(s.Values, measure.Missing("the reading before it took longer"))
				continue
			}
			n, err := w.depth(ctx)
			switch {
			case ctx.Err() != nil:
				done <- s
				return
			case err != nil:
				s.Values = append(s.Values, measure.Missing("the broker did not tell"))
			default:
				s.Values = append(s.Values, count(n))
			}
		}
	}()
	return func() measure.Series {
		cancel()
		return <-done
	}
}

// timeQuantile is a quantile of latencies of which some never ended: those rank
// behind all others. It is missing where it is one of them, or where there are
// too few to tell.
func timeQuantile(h *latency.Histogram, never int, q float64, why string) measure.Value {
	n := int(h.Count()) + never
	if n == 0 {
		return measure.Missing("nothing was answered")
	}
	if !stats.SupportsPercentile(n, q) {
		return measure.Missing(fmt.Sprintf("%d are too few for this percentile", n))
	}
	rank := q * float64(n)
	if rank > float64(h.Count()) {
		return measure.Missing(fmt.Sprintf("%.1f %% of them %s", 100*float64(never)/float64(n), why))
	}
	d, _ := h.Quantile(min(1, rank/float64(h.Count()))) // it has values, or rank were above their number
	return measure.Float(d.Seconds())
}

// quantileOf a stage's latencies, or why there is none.
func quantileOf(m *measure.Histogram, q float64) measure.Value {
	if m == nil {
		return measure.Missing("this way of answering has no such stage")
	}
	h, err := latency.Decode(*m)
	if err != nil {
		return measure.Missing("failed: " + err.Error())
	}
	return timeQuantile(h, 0, q, "")
}

// flushTime is the median time in seconds in which the disk takes 4 KiB of a file
// for good that has its place already (fdatasync, as a database's log is written),
// of 100. Where a cache acknowledges, as on many virtual machines, it is far below
// what a disk needs. It says nothing of the disk of a database elsewhere.
func flushTime(db *database.Database) measure.Value {
	if db.Done() == nil {
		return measure.Missing("the database was given by DSN: its disk is not known")
	}
	f, err := os.CreateTemp("", "genreport-flush-")
	if err != nil {
		return measure.Missing("failed: no temporary file")
	}
	defer os.Remove(f.Name())
	defer f.Close()
	h := latency.New()
	page := make([]byte, 4096)
	const pages = 100
	if _, err := f.Write(make([]byte, pages*len(page))); err != nil || f.Sync() != nil {
		return measure.Missing("failed: a temporary file can't be written")
	}
	for i := range pages {
		if _, err := f.WriteAt(page, int64(i*len(page))); err != nil {
			return measure.Missing("failed: a temporary file can't be written")
		}
		began := time.Now()
		if err := syscall.Fdatasync(int(f.Fd())); err != nil {
			return measure.Missing("failed: a temporary file can't be flushed")
		}
		h.Record(time.Since(began))
	}
	d, _ := h.Quantile(0.5)
	return measure.Float(d.Seconds())
}

func webParams(p Profile, own map[string]string) map[string]string {
	for name, n := range map[string]int{"connections": webConnections, "database_pool": webDBPool, "channels": webChannels, "prefetch": webPrefetch} {
		own[name] = strconv.Itoa(n)
	}
	return own
}
