package experiments

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"genreport/measure"
	"genreport/measure/load"
)

// The queue of both throughput experiments: durable, classic, made anew for
// each cell.
const throughputQueue = "genreport.throughput"

func throughputMetrics() map[string]measure.Metric {
	return map[string]measure.Metric{
		"rate":       {Unit: measure.PerSecond, Better: measure.Higher, Description: "messages published per second, by the slowest client's time"},
		"elapsed":    {Unit: measure.Seconds, Better: measure.Lower, Description: "from the first publish to the answer of the last passive declare, of the slowest client; the queue may still be taking in messages, see pending"},
		"broker_cpu": {Unit: measure.CPUSeconds, Better: measure.Lower, Description: "user and system time of the broker's processes"},
		"client_cpu": {Unit: measure.CPUSeconds, Better: measure.Lower, Description: "user and system time of the clients, added up"},
		"pending":    {Unit: measure.Count, Better: measure.Lower, Description: "messages that the queue had not taken in when the last passive declare was answered; they count as published"},
		"start_skew": {Unit: measure.Seconds, Better: measure.Lower, Description: "between the first and the last client's start"},
	}
}

// channelThroughput asks whether publishing over more channels of one
// connection is faster.
func channelThroughput() Experiment {
	return Experiment{
		Name:    "channel-throughput",
		Title:   "Do more channels on one connection publish faster?",
		Method:  1,
		Metrics: throughputMetrics(),
		Repeats: throughputRepeats,
		Params:  func(p Profile) map[string]string { return throughputParams(channelMessages(p)) },
		Cases: func(p Profile) []Case {
			return throughputCases("channels", []int{1, 4, 16, 64}, func(int) int { return channelMessages(p) })
		},
		Warmup: func(p Profile) []Case {
			return throughputCases("channels", []int{1}, func(int) int { return channelMessages(p) })
		},
		Measure: func(ctx context.Context, env Env, c Case) (Sample, error) {
			n, err := number(c.Labels, "channels")
			if err != nil {
				return Sample{}, err
			}
			return measureThroughput(ctx, env, c, 1, n, channelMessages(env.Profile))
		},
		Brokers: current(),
	}
}

// connectionThroughput asks whether publishing over more connections, each of
// a client process of its own, is faster.
func connectionThroughput() Experiment {
	return Experiment{
		Name:    "connection-throughput",
		Title:   "Do more connections publish faster?",
		Method:  1,
		Metrics: throughputMetrics(),
		Repeats: throughputRepeats,
		Params:  func(p Profile) map[string]string { return throughputParams(connectionMessages(p)) },
		Cases: func(p Profile) []Case {
			return throughputCases("connections", []int{1, 2, 4, 8}, func(n int) int { return n * connectionMessages(p) })
		},
		Warmup: func(p Profile) []Case {
			return throughputCases("connections", []int{1}, func(n int) int { return connectionMessages(p) })
		},
		Measure: func(ctx context.Context, env Env, c Case) (Sample, error) {
			n, err := number(c.Labels, "connections")
			if err != nil {
				return Sample{}, err
			}
			return measureThroughput(ctx, env, c, n, 1, connectionMessages(env.Profile))
		},
		Brokers: current(),
	}
}

// channelMessages is how many messages the one connection publishes.
func channelMessages(p Profile) int { return p.pick(10_000, 100_000, 100_000) }

// connectionMessages is how many messages each connection publishes.
func connectionMessages(p Profile) int { return p.pick(5_000, 50_000, 50_000) }

func throughputRepeats(p Profile) int { return p.pick(3, 6, 10) }

func throughputParams(messages int) map[string]string {
	return map[string]string{
		"messages_per_connection": strconv.Itoa(messages),
		"size_bytes":              strconv.Itoa(messageSize),
		"queue":                   "one durable classic queue, made anew for each cell",
		"delivery_mode":           "transient",
		"confirms":                "off",
	}
}

// throughputCases has an estimate from the rates seen on two cores.
func throughputCases(key string, counts []int, messages func(n int) int) []Case {
	var cases []Case
	for _, client := range clients() {
		rate, start := 67_000, 20*time.Millisecond // of a process of the client
		if client == "pika" {
			rate, start = 30_000, 250*time.Millisecond
		}
		for _, n := range counts {
			processes := time.Duration(1)
			if key == "connections" {
				processes = time.Duration(n)
			}
			cases = append(cases, Case{
				Labels:   measure.Labels{"client": client, key: strconv.Itoa(n)},
				Estimate: 300*time.Millisecond + processes*start + time.Duration(messages(n))*time.Second/time.Duration(rate),
			})
		}
	}
	return cases
}

// measureThroughput lets processes publish side by side, each messages over
// its own connection and channels, and counts what arrived.
func measureThroughput(ctx context.Context, env Env, c Case, processes, channels, messages int) (s Sample, err error) {
	uri, queue := env.Broker.URI(), throughputQueue+env.Suffix
	if err := load.DeclareEmpty(ctx, uri, env.CA, queue, load.Classic); err != nil {
		return s, err
	}
	defer func() {
		// Cleaning up is not given up with the cell, and does not hold up its end for long.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpLimit)
		defer cancel()
		err = errors.Join(err, load.Delete(ctx, uri, env.CA, queue))
	}()
	return publishWindow(ctx, env, c, processes, channels, messages, 0)
}

// cleanUpLimit bounds what a cell removes from the broker at its end.
const cleanUpLimit = 10 * time.Second

// publishWindow is one measurement on a queue that holds already messages.
func publishWindow(ctx context.Context, env Env, c Case, processes, channels, messages, already int) (s Sample, err error) {
	queue := throughputQueue + env.Suffix
	job := load.Job{Role: load.Publish, Channels: channels, Queue: queue, Messages: messages, Size: messageSize, Limit: 300}
	var group crew
	defer func() { err = errors.Join(err, group.stop()) }()
	for range processes {
		if err := group.add(ctx, env, c, job); err != nil {
			return s, err
		}
	}

	window := openWindow(env.Broker)
	if err := group.start(); err != nil {
		return s, err
	}
	outcomes, err := group.wait(ctx)
	if err != nil {
		return s, err
	}
	sent := 0
	for i := range outcomes {
		outcomes[i].Depth -= already
		sent += outcomes[i].Sent
	}
	s.CPU = window.close(processes, cpuOf(outcomes...))
	s.Values = throughputValues(outcomes)
	s.Values["broker_cpu"] = s.CPU.Broker
	s.Clients = []measure.Client{describe(c, group[0].Ready)}

	depth, err := settledDepth(ctx, env.Broker.URI(), env.CA, queue, already+sent)
	if err != nil {
		return s, err
	}
	s.Integrity = withoutConfirms(sent, depth-already)
	return s, nil
}

// withoutConfirms is the integrity of messages that were published without
// confirms and not consumed: nobody but the queue knows of them.
func withoutConfirms(sent, enqueued int) *measure.Integrity {
	unasked, unread := measure.Missing("published without confirms"), measure.Missing("nothing is consumed")
	return &measure.Integrity{
		Sent: int64(sent), Enqueued: measure.Int(int64(enqueued)),
		Acked: unasked, Nacked: unasked, Unconfirmed: unasked,
		Returned: measure.Missing("published without the mandatory flag"),
		Consumed: unread, Left: unread, Lost: unread, Duplicated: unread, OutOfOrder: unread,
	}
}

// depthPatience without a new message means that no more come; a queue may pause.
const (
	depthPatience = 5 * time.Second
	depthStep     = 200 * time.Millisecond
)

// settledDepth waits until the queue holds want messages, or no more arrive: a
// queue tells its depth before it takes in what waits for it.
func settledDepth(ctx context.Context, uri, ca, queue string, want int) (int, error) {
	last, since := -1, time.Now()
	for {
		depth, err := load.Depth(ctx, uri, ca, queue)
		if err != nil || depth >= want {
			return depth, err
		}
		if depth != last {
			last, since = depth, time.Now()
		}
		if time.Since(since) >= depthPatience {
			return depth, nil
		}
		if err := sleep(ctx, depthStep); err != nil {
			return depth, err
		}
	}
}

func throughputValues(outcomes []load.Outcome) map[string]measure.Value {
	var sent, depth int
	var slowest, cpu float64
	var began []int64
	for _, r := range outcomes {
		sent += r.Sent
		depth = max(depth, r.Depth) // of whoever asked last
		slowest = max(slowest, r.Elapsed)
		cpu += r.CPU
		began = append(began, r.Began)
	}
	return map[string]measure.Value{
		"rate":       measure.Float(float64(sent) / slowest),
		"elapsed":    measure.Float(slowest),
		"client_cpu": measure.Float(cpu),
		"pending":    measure.Int(int64(sent - depth)),
		"start_skew": measure.Float(float64(slices.Max(began)-slices.Min(began)) / 1e9),
	}
}
