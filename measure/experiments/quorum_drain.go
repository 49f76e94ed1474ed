package experiments

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"genreport/measure"
	"genreport/measure/load"
	"genreport/measure/load/latency"
	"genreport/measure/stats"
)

const (
	// drainEmpty is the part of the highest backlog that counts as none.
	drainEmpty = 0.01
	// calibrationShare of what the machine sustains is what a set rate may be.
	calibrationShare = 0.8
)

// drainParameters are the load of quorum-drain. The post publishes 6,000
// messages/s; that is more than two cores carry.
func drainParameters() Parameters {
	return Parameters{
		{Name: "rate", Unit: measure.PerSecond, Default: always(2000), Least: 10, Most: 100_000, Description: "messages to be published per second; the post has 6000"},
		{Name: "size_bytes", Unit: measure.Bytes, Default: always(20_000), Least: load.StampSize, Most: 1_000_000, Description: "body of a message"},
		{Name: "window", Unit: measure.Count, Default: always(1000), Least: 1, Most: 100_000, Description: "unconfirmed messages of the publisher at most"},
		{Name: "consumers", Unit: measure.Count, Default: always(10), Least: 1, Most: 100, Description: "clients that empty the queue, a process each"},
		{Name: "prefetch", Unit: measure.Count, Default: always(300), Least: 1, Most: 65_535, Description: "unacknowledged messages of each consumer at most"},
		{Name: "calibrate_s", Unit: measure.Seconds, Default: byProfile(1, 3, 3), Least: 1, Most: 30, Description: "how long it is tried what the queue takes"},
		{Name: "before_s", Unit: measure.Seconds, Default: byProfile(10, 60, 60), Least: 3, Most: 500, Description: "how long is published before consumers start; with rate and size_bytes, the disk that it takes"},
		{Name: "drain_at_most_s", Unit: measure.Seconds, Default: byProfile(20, 120, 120), Least: 5, Most: 900, Description: "when the attempt to empty the queue ends"},
		{Name: "after_s", Unit: measure.Seconds, Default: byProfile(3, 15, 15), Least: 3, Most: 200, Description: "how long is published once the backlog is gone"},
	}
}

// drainPlan is the load, and the lengths of its phases in seconds.
type drainPlan struct {
	rate, size, window, consumers, prefetch int
	calibrate, before, drainAtMost, after   int
}

func drainPlanOf(p Profile, set Values) drainPlan {
	of := drainParameters().whole(p, set)
	return drainPlan{
		rate: of("rate"), size: of("size_bytes"), window: of("window"), consumers: of("consumers"), prefetch: of("prefetch"),
		calibrate: of("calibrate_s"), before: of("before_s"), drainAtMost: of("drain_at_most_s"), after: of("after_s"),
	}
}

// The phases, as latencies are kept.
const (
	phaseBefore = "before"
	phaseDrain  = "drain"
	phaseAfter  = "after"
)

// quorumDrain asks what becomes of publishers while consumers empty a long
// quorum queue.
func quorumDrain() Experiment { return quorumDrainWith(nil) }

func quorumDrainWith(set Values) Experiment {
	rate := func(text string) measure.Metric {
		return measure.Metric{Unit: measure.PerSecond, Better: measure.Higher, Description: text}
	}
	part := func(text string) measure.Metric {
		return measure.Metric{Unit: measure.Count, Better: measure.Higher, Description: text}
	}
	wait := func(text string) measure.Metric {
		return measure.Metric{Unit: measure.Seconds, Better: measure.Lower, Description: text}
	}
	return Experiment{
		Name:   "quorum-drain",
		Title:  "Can a quorum queue be published to while a backlog is consumed?",
		Method: 1,
		Metrics: map[string]measure.Metric{
			"sustained":          rate("messages confirmed per second when published as fast as the queue takes them, before the measurement"),
			"publish_before":     rate("messages published per second before consumers start, median over the seconds"),
			"publish_drain":      rate("messages published per second while the backlog is consumed, median over the seconds"),
			"publish_worst":      rate("messages published in the worst second while the backlog is consumed"),
			"publish_share":      part("publish_drain as a share of publish_before"),
			"publish_worst_part": part("publish_worst as a share of publish_before"),
			"confirm_p99_before": wait("99th percentile of the time from the intended send to the confirm, before consumers start"),
			"confirm_p99_drain":  wait("the same while the backlog is consumed"),
			"confirm_p99_after":  wait("the same once the backlog is gone"),
			"consume_rate":       rate("messages received per second while the backlog is consumed, median over the seconds"),
			"drain_time":         wait("from the consumers' start until less than 1 % of the backlog is ready in the queue, to half a second"),
			"backlog_peak":       {Unit: measure.Count, Better: measure.Neither, Description: "most messages that were confirmed and not yet received, at the end of a second"},
			"publish_after":      rate("messages published per second once the backlog is gone, median over the seconds"),
			"consume_after":      rate("messages received per second once the backlog is gone, median over the seconds"),
		},
		Series: map[string]string{
			"published": "messages sent in each second", "confirmed": "messages confirmed in each second", "consumed": "messages received in each second",
			"backlog":             "messages confirmed and not yet received at the end of each second",
			load.SeriesConfirmMax: "longest time from an intended send to its confirm, of the confirms of each second",
			"rss":                 "resident memory of the node's Erlang VM", "vm": "erlang:memory(total)",
		},
		Repeats: func(p Profile) int { return p.pick(1, 3, 5) },
		Params: func(p Profile) map[string]string {
			plan := drainPlanOf(p, set)
			return map[string]string{
				"rate": strconv.Itoa(plan.rate), "size_bytes": strconv.Itoa(plan.size), "window": strconv.Itoa(plan.window), "confirms": "on",
				"consumers": strconv.Itoa(plan.consumers), "prefetch": strconv.Itoa(plan.prefetch), "queue": "quorum, one member",
				"before_s": strconv.Itoa(plan.before), "drain_at_most_s": strconv.Itoa(plan.drainAtMost), "after_s": strconv.Itoa(plan.after),
				"calibrate_s": strconv.Itoa(plan.calibrate), "backlog": strconv.Itoa(plan.before * plan.rate),
			}
		},
		Cases: func(p Profile) []Case {
			plan := drainPlanOf(p, set)
			return []Case{{
				Labels: measure.Labels{"client": "go-batched"},
				// A backlog is drained some seven times as fast as it was published.
				Estimate: time.Duration(plan.calibrate+plan.before+min(plan.before/7, plan.drainAtMost)+plan.after+4) * time.Second,
			}}
		},
		Measure: func(ctx context.Context, env Env, c Case) (Sample, error) {
			return measureQuorumDrain(ctx, env, c, drainPlanOf(env.Profile, set))
		},
		Brokers:  releases(),
		Settable: drainParameters(),
		Set:      quorumDrainWith,
	}
}

func measureQuorumDrain(ctx context.Context, env Env, c Case, plan drainPlan) (s Sample, err error) {
	uri, queue := env.Broker.URI(), "genreport.drain"+env.Suffix
	s.Values = map[string]measure.Value{}
	sustained, err := calibrate(ctx, env, c, queue, plan)
	if err != nil {
		return s, fmt.Errorf("calibration: %w", err)
	}
	s.Values["sustained"] = measure.Float(sustained)
	if text := tooFast(env.Broker.String(), plan.rate, sustained); text != "" {
		s.Warnings = append(s.Warnings, text)
	}
	if err := load.DeclareEmpty(ctx, uri, env.CA, queue, load.Quorum); err != nil {
		return s, err
	}
	var publishers, consumers crew
	defer func() {
		err = errors.Join(err, publishers.stop(), consumers.stop())
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpLimit)
		defer cancel()
		err = errors.Join(err, load.Delete(ctx, uri, env.CA, queue))
	}()
	longest := plan.before + plan.drainAtMost + plan.after + 10
	limit := float64(longest + 120)
	for range plan.consumers {
		if err := consumers.add(ctx, env, c, load.Job{Role: load.Consume, Channels: 1, Queue: queue, Prefetch: plan.prefetch, Limit: limit}); err != nil {
			return s, err
		}
	}
	if err := publishers.add(ctx, env, c, load.Job{Role: load.Publish, Channels: 1, Queue: queue, Size: plan.size, Rate: float64(plan.rate), Duration: float64(longest),
		Confirms: true, Window: plan.window, Mandatory: true, Numbered: true, Phases: []string{phaseBefore, phaseDrain, phaseAfter}, Limit: limit}); err != nil {
		return s, err
	}

	window := openWindow(env.Broker)
	watch := watchMemory(ctx, env.Broker)
	defer watch.stop()
	began := time.Now()
	if err := publishers.start(); err != nil {
		return s, err
	}
	if err := sleep(ctx, time.Until(began.Add(time.Duration(plan.before)*time.Second))); err != nil {
		return s, err
	}
	peak, err := load.Depth(ctx, uri, env.CA, queue)
	if err != nil {
		return s, err
	}
	if err := errors.Join(publishers[0].Next(), consumers.start()); err != nil {
		return s, err
	}
	started := time.Now()
	emptied, err := awaitEmpty(ctx, env, queue, int(drainEmpty*float64(peak)), time.Duration(plan.drainAtMost)*time.Second)
	if err != nil {
		return s, err
	}
	drained := time.Since(started)
	ended := time.Since(began) // of the drain
	if err := publishers[0].Next(); err != nil {
		return s, err
	}
	if emptied {
		s.Values["drain_time"] = measure.Float(drained.Seconds())
		if err := sleep(ctx, time.Duration(plan.after)*time.Second); err != nil {
			return s, err
		}
	} else {
		s.Values["drain_time"] = measure.Missing(fmt.Sprintf("the backlog was not gone after %d s, where the attempt ends", plan.drainAtMost))
	}
	if err := publishers.stop(); err != nil {
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
	s.CPU = window.close(len(publishers)+len(consumers), cpuOf(sent[0])+cpuOf(received...))
	left, err := load.Depth(ctx, uri, env.CA, queue)
	if err != nil {
		return s, err
	}
	longestConfirm := sent[0].Series[load.SeriesConfirmMax]
	delete(sent[0].Series, load.SeriesConfirmMax) // nothing to be added up
	if err := s.gather(sent, received, count(left)); err != nil {
		return s, err
	}
	s.Clients = []measure.Client{describe(c, publishers[0].Ready)}

	published, confirmed, consumed := s.Series[load.SeriesSent], s.Series[load.SeriesAcked], s.Series[load.SeriesConsumed]
	behind := backlog(confirmed, consumed, plan.before)
	consumed.Start = float64(plan.before)
	s.Series = map[string]measure.Series{"published": published, "confirmed": confirmed, "consumed": consumed, "backlog": behind,
		load.SeriesConfirmMax: longestConfirm, "rss": memory["rss"], "vm": memory["vm"]}

	// Whole seconds of the drain alone: from the one after its begin to the one before its end.
	last := int(ended.Seconds())
	drain := whole(published, plan.before+1, last)
	v := s.Values
	v["backlog_peak"] = maxOf(behind.Values)
	v["publish_before"] = medianOf(whole(published, 1, plan.before))
	v["publish_drain"], v["publish_worst"] = medianOf(drain), minOf(drain)
	v["publish_share"], v["publish_worst_part"] = share(v["publish_drain"], v["publish_before"]), share(v["publish_worst"], v["publish_before"])
	v["consume_rate"] = medianOf(whole(consumed, 1, last-plan.before))
	v["publish_after"] = measure.Missing("the backlog was not gone")
	v["consume_after"] = v["publish_after"]
	if emptied {
		v["publish_after"] = medianOf(whole(published, last+1, len(published.Values)))
		v["consume_after"] = medianOf(whole(consumed, last+1-plan.before, len(published.Values)-plan.before))
	}
	for _, phase := range []string{phaseBefore, phaseDrain, phaseAfter} {
		if v["confirm_p99_"+phase], err = percentile(s.Latency[load.LatencyConfirmIn(phase)], 0.99); err != nil {
			return s, err
		}
	}
	return s, nil
}

// tooFast warns of a set rate, messages/s, that is too near to what the machine
// sustains; "" where it is not.
func tooFast(broker string, rate int, sustained float64) string {
	if float64(rate) <= calibrationShare*sustained {
		return ""
	}
	return fmt.Sprintf("quorum-drain on %s: the rate of %d messages/s is more than %.0f %% of what the machine sustains there; what the queue does under load can't be told from what the machine does",
		broker, rate, 100*calibrationShare)
}

// calibrate publishes as fast as the queue takes it, to a queue of the same
// kind, and returns the messages confirmed per second.
func calibrate(ctx context.Context, env Env, c Case, queue string, plan drainPlan) (rate float64, err error) {
	uri := env.Broker.URI()
	queue += ".calibration"
	if err := load.DeclareEmpty(ctx, uri, env.CA, queue, load.Quorum); err != nil {
		return 0, err
	}
	var one crew
	defer func() {
		err = errors.Join(err, one.stop(), load.Delete(context.WithoutCancel(ctx), uri, env.CA, queue))
	}()
	if err := one.add(ctx, env, c, load.Job{Role: load.Publish, Channels: 1, Queue: queue, Size: plan.size, Duration: float64(plan.calibrate),
		Confirms: true, Window: plan.window, Limit: 60}); err != nil {
		return 0, err
	}
	r, err := one[0].Run(ctx)
	if err != nil {
		return 0, err
	}
	return float64(r.Acked) / r.Elapsed, nil
}

// awaitEmpty waits until at most so many messages are ready in the queue.
func awaitEmpty(ctx context.Context, env Env, queue string, most int, patience time.Duration) (bool, error) {
	for end := time.Now().Add(patience); time.Now().Before(end); {
		n, err := load.Depth(ctx, env.Broker.URI(), env.CA, queue)
		if err != nil {
			return false, err
		}
		if n <= most {
			return true, nil
		}
		if err := sleep(ctx, 500*time.Millisecond); err != nil {
			return false, err
		}
	}
	return false, nil
}

// percentile reads one from a distribution of latencies, in seconds, or says
// why it has none.
func percentile(m measure.Histogram, q float64) (measure.Value, error) {
	h, err := latency.Decode(m)
	if err != nil {
		return measure.Value{}, err
	}
	d, _ := h.Quantile(q)
	if !stats.SupportsPercentile(int(m.Count), q) {
		return measure.Missing(fmt.Sprintf("%d confirms are too few for this percentile", m.Count)), nil
	}
	return measure.Float(d.Seconds()), nil
}
