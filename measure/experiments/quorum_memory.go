package experiments

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"genreport/measure"
	"genreport/measure/load"
)

const (
	memorySettle = 10 // s at the beginning that metrics leave out
	// memorySaw is the least seconds of load of which a saw is told: the memory of
	// 4.0 has a period of 40 to 50 s.
	memorySaw = 150
)

// memoryParameters are the load of quorum-memory, as in the post: messages are
// consumed as they come, so that the queues are next to empty.
func memoryParameters() Parameters {
	return Parameters{
		{Name: "queues", Unit: measure.Count, Default: always(10), Least: 1, Most: 50, Description: "queues, each with a publisher and a consumer, a process each"},
		{Name: "rate_per_queue", Unit: measure.PerSecond, Default: always(500), Least: 1, Most: 20_000, Description: "messages to be published per second into each queue"},
		{Name: "size_bytes", Unit: measure.Bytes, Default: always(1000), Least: load.StampSize, Most: 1_000_000, Description: "body of a message"},
		{Name: "window", Unit: measure.Count, Default: always(500), Least: 1, Most: 65_535, Description: "unconfirmed messages of each publisher, and unacknowledged of each consumer, at most"},
		{Name: "duration_s", Unit: measure.Seconds, Default: byProfile(16, 150, 180), Least: memorySettle + 5, Most: 1500,
			Description: fmt.Sprintf("how long the load runs; with less than %d, nothing is said of how memory rises and falls", memorySaw)},
	}
}

// memoryPlan is the load; its length is in seconds.
type memoryPlan struct{ queues, rate, size, window, length int }

func memoryPlanOf(p Profile, set Values) memoryPlan {
	of := memoryParameters().whole(p, set)
	return memoryPlan{queues: of("queues"), rate: of("rate_per_queue"), size: of("size_bytes"), window: of("window"), length: of("duration_s")}
}

// quorumMemory asks how much memory a node with quorum queues needs, and how
// steady that is.
func quorumMemory() Experiment { return quorumMemoryWith(nil) }

func quorumMemoryWith(set Values) Experiment {
	metrics := map[string]measure.Metric{
		"publish_rate": {Unit: measure.PerSecond, Better: measure.Higher, Description: "messages confirmed per second, median over the seconds"},
		"consume_rate": {Unit: measure.PerSecond, Better: measure.Higher, Description: "messages received per second, median over the seconds"},
		"backlog_max":  {Unit: measure.Count, Better: measure.Lower, Description: "most messages that were confirmed and not yet received, at the end of a second"},
		"broker_cpu":   {Unit: measure.CPUSeconds, Better: measure.Lower, Description: "user and system time of the broker's processes"},
	}
	for name, what := range map[string]string{"rss": "resident memory of the node's Erlang VM", "vm": "erlang:memory(total)"} {
		metrics[name+"_median"] = measure.Metric{Unit: measure.Bytes, Better: measure.Lower, Description: what + ": median over the seconds"}
		metrics[name+"_max"] = measure.Metric{Unit: measure.Bytes, Better: measure.Lower, Description: what + ": highest"}
		metrics[name+"_amplitude"] = measure.Metric{Unit: measure.Bytes, Better: measure.Lower, Description: what + ": from the lowest to the highest"}
		metrics[name+"_period"] = measure.Metric{Unit: measure.Seconds, Better: measure.Neither, Description: what + ": mean time from one fall to the next, where it rises and falls"}
	}
	return Experiment{
		Name:    "quorum-memory",
		Title:   "How much memory do busy but empty quorum queues take, and how steady is it?",
		Method:  1,
		Metrics: metrics,
		Series: map[string]string{
			"published": "messages sent in each second", "confirmed": "messages confirmed in each second", "consumed": "messages received in each second",
			"backlog": "messages confirmed and not yet received at the end of each second",
			"rss":     "resident memory of the node's Erlang VM", "vm": "erlang:memory(total)",
			"quorum_procs": "of it, processes of quorum queues", "quorum_ets": "of it, ETS tables of quorum queues", "binary": "of it, binaries",
		},
		Repeats: func(p Profile) int { return p.pick(1, 3, 5) },
		Params: func(p Profile) map[string]string {
			plan := memoryPlanOf(p, set)
			return map[string]string{
				"queues": strconv.Itoa(plan.queues), "rate_per_queue": strconv.Itoa(plan.rate), "rate": strconv.Itoa(plan.queues * plan.rate),
				"size_bytes": strconv.Itoa(plan.size), "window": strconv.Itoa(plan.window), "confirms": "on",
				"duration_s": strconv.Itoa(plan.length), "settle_s": strconv.Itoa(memorySettle),
				"queue": "quorum, one member", "consumers": "one for each queue, acknowledging every message",
			}
		},
		Cases: func(p Profile) []Case {
			return []Case{{
				Labels:   measure.Labels{"client": "go-batched"},
				Estimate: time.Duration(memoryPlanOf(p, set).length+2) * time.Second,
			}}
		},
		Measure: func(ctx context.Context, env Env, c Case) (Sample, error) {
			return measureQuorumMemory(ctx, env, c, memoryPlanOf(env.Profile, set))
		},
		Brokers:  releases(),
		Settable: memoryParameters(),
		Set:      quorumMemoryWith,
	}
}

func measureQuorumMemory(ctx context.Context, env Env, c Case, plan memoryPlan) (s Sample, err error) {
	uri := env.Broker.URI()
	var queues []string
	for i := range plan.queues {
		queues = append(queues, fmt.Sprintf("genreport.memory.%d%s", i, env.Suffix))
	}
	var publishers, consumers crew
	defer func() {
		err = errors.Join(err, publishers.stop(), consumers.stop())
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpLimit)
		defer cancel()
		for _, q := range queues {
			err = errors.Join(err, load.Delete(ctx, uri, env.CA, q))
		}
	}()
	limit := float64(plan.length + 120)
	for i, q := range queues {
		if err := load.DeclareEmpty(ctx, uri, env.CA, q, load.Quorum); err != nil {
			return s, err
		}
		if err := consumers.add(ctx, env, c, load.Job{Role: load.Consume, Channels: 1, Queue: q, Prefetch: plan.window, Limit: limit}); err != nil {
			return s, err
		}
		if err := publishers.add(ctx, env, c, load.Job{Role: load.Publish, Channels: 1, Queue: q, Size: plan.size, Rate: float64(plan.rate),
			Duration: float64(plan.length), Confirms: true, Window: plan.window, Mandatory: true, Numbered: true, Publisher: uint32(i), Limit: limit}); err != nil {
			return s, err
		}
	}

	window := openWindow(env.Broker)
	watch := watchMemory(ctx, env.Broker)
	defer watch.stop()
	if err := errors.Join(consumers.start(), publishers.start()); err != nil {
		return s, err
	}
	sent, err := publishers.wait(ctx)
	if err != nil {
		return s, err
	}
	memory := watch.stop()
	if err := sleep(ctx, time.Second); err != nil { // for what is on its way
		return s, err
	}
	if err := consumers.stop(); err != nil {
		return s, err
	}
	received, err := consumers.wait(ctx)
	if err != nil {
		return s, err
	}
	s.CPU = window.close(len(publishers)+len(consumers), cpuOf(slices.Concat(sent, received)...))

	left := 0
	for _, q := range queues {
		n, err := load.Depth(ctx, uri, env.CA, q)
		if err != nil {
			return s, err
		}
		left += n
	}
	if err := s.gather(sent, received, count(left)); err != nil {
		return s, err
	}
	s.Clients = []measure.Client{describe(c, publishers[0].Ready)}
	published, confirmed, consumed := s.Series[load.SeriesSent], s.Series[load.SeriesAcked], s.Series[load.SeriesConsumed]
	behind := backlog(confirmed, consumed, 0)
	s.Series = map[string]measure.Series{"published": published, "confirmed": confirmed, "consumed": consumed, "backlog": behind}
	maps.Copy(s.Series, memory)

	s.Values = map[string]measure.Value{
		"publish_rate": medianOf(whole(confirmed, memorySettle, plan.length)),
		"consume_rate": medianOf(whole(consumed, memorySettle, plan.length)),
		"backlog_max":  maxOf(behind.Values),
		"broker_cpu":   s.CPU.Broker,
	}
	for _, name := range []string{"rss", "vm"} {
		saw := describeSaw(memory[name].Values, memorySettle, memory[name].Step)
		if plan.length < memorySaw {
			saw.period = measure.Missing("run too short for a period")
			saw.amplitude = measure.Missing("run too short for an amplitude")
		}
		s.Values[name+"_median"], s.Values[name+"_max"] = saw.median, saw.max
		s.Values[name+"_amplitude"], s.Values[name+"_period"] = saw.amplitude, saw.period
	}
	return s, nil
}
