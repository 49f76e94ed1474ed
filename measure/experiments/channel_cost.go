package experiments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"genreport/measure"
	"genreport/measure/broker"
	"genreport/measure/load"
)

// channelCost asks what an open channel costs the broker: Erlang processes and
// memory, as differences to the same connection without channels.
func channelCost() Experiment {
	memory := func(text string) measure.Metric {
		return measure.Metric{Unit: measure.Bytes, Better: measure.Lower, Description: text}
	}
	processes := func(text string) measure.Metric {
		return measure.Metric{Unit: measure.Count, Better: measure.Lower, Description: text}
	}
	return Experiment{
		Name:   "channel-cost",
		Title:  "What does an open channel cost the broker?",
		Method: 1,
		Metrics: map[string]measure.Metric{
			"processes":    processes("Erlang processes more than with the connection alone"),
			"processes_gc": processes("the same, read after all processes are garbage-collected"),
			"memory":       memory("erlang:memory(total) more than with the connection alone"),
			"memory_gc":    memory("the same, both read after all processes are garbage-collected"),
			"open_time":    {Unit: measure.Seconds, Better: measure.Lower, Description: "time to open the channels, one after another"},
		},
		Repeats: func(p Profile) int { return p.pick(3, 6, 10) },
		Params: func(Profile) map[string]string {
			return map[string]string{"settle_s": strconv.FormatFloat(settle.Seconds(), 'g', -1, 64)}
		},
		Cases: channelCostCases,
		// The first channel of a node's life loads code and makes tables.
		Warmup: func(p Profile) []Case {
			var first []Case // of each client
			for _, c := range channelCostCases(p) {
				if !slices.ContainsFunc(first, func(w Case) bool { return w.Labels["client"] == c.Labels["client"] }) {
					first = append(first, c)
				}
			}
			return first
		},
		Measure: measureChannelCost,
		Brokers: current(),
	}
}

// settle is how long the node is left alone before each reading. The post does so
// before the second of the two; before the first, a node still frees what earlier
// clients took, and that would be taken off the figure.
const settle = 2 * time.Second

func channelCostCases(p Profile) []Case {
	var cases []Case
	add := func(client string, counts ...int) {
		each := time.Millisecond // to open a channel, twice
		if client == "pika" {
			each = 1700 * time.Microsecond
		}
		for _, n := range counts {
			cases = append(cases, Case{
				Labels:   measure.Labels{"client": client, "channels": strconv.Itoa(n)},
				Estimate: 10400*time.Millisecond + time.Duration(n)*each,
			})
		}
	}
	if p == Quick { // each takes seconds: those that headline numbers and a slope need
		add("pika", 100, 2000)
		add("go", 100, 2000)
		return cases
	}
	for _, client := range clients() {
		add(client, 100, 1000, 2000)
	}
	return cases
}

// measureChannelCost opens the channels twice. The first time everything is
// read as the post did it. The second time all processes are collected before
// each reading; doing that on the first connection would take the garbage that
// was there before the channels out of their figure.
func measureChannelCost(ctx context.Context, env Env, c Case) (Sample, error) {
	n, err := number(c.Labels, "channels")
	if err != nil {
		return Sample{}, err
	}
	s := Sample{Values: map[string]measure.Value{}}
	for _, pass := range []struct {
		suffix string
		read   func(context.Context, *broker.Broker) (reading, error)
	}{{"", readNode}, {"_gc", readCollected}} {
		before, after, opened, err := openBetween(ctx, env, c, n, pass.read)
		if err != nil {
			return Sample{}, err
		}
		s.Values["processes"+pass.suffix], s.Values["memory"+pass.suffix] = after.minus(before)
		s.Values["open_time"] = measure.Float(opened.Elapsed)
		s.CPU, s.Clients = opened.cpu, []measure.Client{describe(c, opened.ready)}
	}
	return s, nil
}

// opening is what opening channels took.
type opening struct {
	load.Outcome
	cpu   *measure.CPU
	ready load.Ready
}

// openChannels lets a client that is ready open its channels.
func openChannels(ctx context.Context, b *broker.Broker, client *load.Client) (opening, error) {
	w := openWindow(b)
	r, err := client.Run(ctx)
	if err != nil {
		return opening{}, err
	}
	return opening{r, w.close(1, r.CPU), client.Ready}, nil
}

func openBetween(ctx context.Context, env Env, c Case, n int, read func(context.Context, *broker.Broker) (reading, error)) (before, after reading, opened opening, err error) {
	client, err := connect(ctx, env, c, load.Job{Role: load.OpenChannels, Channels: n, Limit: 120})
	if err != nil {
		return
	}
	defer client.Stop()
	if err = sleep(ctx, settle); err != nil { // until what was before is freed
		return
	}
	if before, err = read(ctx, env.Broker); err != nil {
		return
	}
	if opened, err = openChannels(ctx, env.Broker, client); err != nil {
		return
	}
	if opened.Opened != n {
		err = fmt.Errorf("opened %d channels, want %d: %s", opened.Opened, n, opened.Error)
		return
	}
	if err = sleep(ctx, settle); err != nil {
		return
	}
	if after, err = read(ctx, env.Broker); err != nil {
		return
	}
	err = client.Stop()
	return
}

// reading is a node's Erlang processes and memory (bytes), or why it can't be
// read: the channels of a broker given by URL can be opened all the same.
type reading struct {
	processes, memory int64
	unavailable       string
}

func (r reading) minus(before reading) (processes, memory measure.Value) {
	if why := cmp.Or(before.unavailable, r.unavailable); why != "" {
		return measure.Missing(why), measure.Missing(why)
	}
	return measure.Int(r.processes - before.processes), measure.Int(r.memory - before.memory)
}

const readExpr = `io_lib:format("~b ~b", [erlang:system_info(process_count), erlang:memory(total)])`

func readNode(ctx context.Context, b *broker.Broker) (reading, error) {
	return parseReading(b.Eval(ctx, "io:put_chars("+readExpr+")."))
}

func readCollected(ctx context.Context, b *broker.Broker) (reading, error) {
	return parseReading(b.Eval(ctx, "[garbage_collect(P) || P <- processes()], io:put_chars("+readExpr+")."))
}

func parseReading(out string, err error) (reading, error) {
	if errors.Is(err, broker.ErrNotAvailable) {
		return reading{unavailable: err.Error()}, nil
	}
	if err != nil {
		return reading{}, fmt.Errorf("reading the node's processes and memory: %w", err)
	}
	var r reading
	if _, err := fmt.Sscanf(out, "%d %d", &r.processes, &r.memory); err != nil {
		return reading{}, fmt.Errorf("the node answered %q, want processes and bytes", out)
	}
	return r, nil
}
