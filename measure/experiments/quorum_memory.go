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

// The load of quorum-memory, as in the post: messages are consumed as they come,
// so that the queues are next to empty.
const (
	memoryQueues = 10
	memoryRate   = 500  // messages/s into each queue
	memorySize   = 1000 // bytes
	memoryWindow = 500  // unconfirmed messages of a publisher at most: those of a second
	memorySettle = 10   // s at the beginning that metrics leave out
)

// quorumMemory asks how much memory a node with quorum queues needs, and how
// steady that is.
func quorumMemory() Experiment {
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
			return map[string]string{
				"queues": strconv.Itoa(memoryQueues), "rate_per_queue": strconv.Itoa(memoryRate), "rate": strconv.Itoa(memoryQueues * memoryRate),
				"size_bytes": strconv.Itoa(memorySize), "window": strconv.Itoa(memoryWindow), "confirms": "on",
				"duration_s": strconv.Itoa(memorySeconds(p)), "settle_s": strconv.Itoa(memorySettle),
				"queue": "quorum, one member", "consumers": "one for each queue, acknowledging every message",
			}
		},
		Cases: func(p Profile) []Case {
			return []Case{{
				Labels:   measure.Labels{"client": "go-batched"},
				Estimate: time.Duration(memorySeconds(p)+8) * time.Second,
			}}
		},
		Measure: measureQuorumMemory,
		Brokers: releases(),
	}
}

// memorySeconds is how long the load runs. The memory of 4.0 has a period of 40
// to 50 s.
func memorySeconds(p Profile) int { return p.pick(20, 150, 180) }

func measureQuorumMemory(ctx context.Context, env Env, c Case) (s Sample, err error) {
	length := memorySeconds(env.Profile)
	uri := env.Broker.URI()
	var queues []string
	for i := range memoryQueues {
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
	limit := float64(length + 120)
	for i, q := range queues {
		if err := load.DeclareEmpty(ctx, uri, env.CA, q, load.Quorum); err != nil {
			return s, err
		}
		if err := consumers.add(ctx, env, c, load.Job{Role: load.Consume, Channels: 1, Queue: q, Prefetch: memoryWindow, Limit: limit}); err != nil {
			return s, err
		}
		if err := publishers.add(ctx, env, c, load.Job{Role: load.Publish, Channels: 1, Queue: q, Size: memorySize, Rate: memoryRate,
			Duration: float64(length), Confirms: true, Window: memoryWindow, Mandatory: true, Numbered: true, Publisher: uint32(i), Limit: limit}); err != nil {
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
		"publish_rate": medianOf(whole(confirmed, memorySettle, length)),
		"consume_rate": medianOf(whole(consumed, memorySettle, length)),
		"backlog_max":  maxOf(behind.Values),
		"broker_cpu":   s.CPU.Broker,
	}
	for _, name := range []string{"rss", "vm"} {
		saw := describeSaw(memory[name].Values, memorySettle, memory[name].Step)
		if env.Profile == Quick {
			saw.period = measure.Missing("run too short for a period")
			saw.amplitude = measure.Missing("run too short for an amplitude")
		}
		s.Values[name+"_median"], s.Values[name+"_max"] = saw.median, saw.max
		s.Values[name+"_amplitude"], s.Values[name+"_period"] = saw.amplitude, saw.period
	}
	return s, nil
}
