package experiments

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"genreport/measure"
	"genreport/measure/load/latency"
	"genreport/measure/stats"
	"genreport/measure/webapi"
)

// What a load is a share of: the mode's own saturation, or, so that all modes have
// the same load, that of an API which writes to the database at once.
const (
	baseOwn  = "own"
	baseSync = "sync"
)

// webPlan is the lengths of the parts of a cell, in seconds.
type webPlan struct{ calibrate, load, drainAtMost int }

func webPlanOf(p Profile) webPlan {
	return webPlan{calibrate: p.pick(2, 5, 5), load: p.pick(2, 9, 20), drainAtMost: p.pick(2, 8, 8)}
}

// webWarmup is how long posts come at the set rate before those that count.
const webWarmup = time.Second

// webapiLatency asks how long a post takes until it is answered, and until it is
// in the database, at loads up to and beyond what the API takes.
func webapiLatency() Experiment {
	commit := " of the time from the intended send until its row is committed"
	answer := " of the time from the intended send to the answer"
	return Experiment{
		Name:   "webapi-latency",
		Title:  "How long does a post take until it is answered, and until it is in the database?",
		Method: 1,
		Metrics: webMetrics(map[string]measure.Metric{
			"saturation":      webRate("posts answered per second in a closed loop, just before, without its first second: what the load is a share of"),
			"rate":            webRate("posts that were to be sent per second"),
			"answered_rate":   webRate("posts answered with success per second"),
			"answer_p50":      webTime("median" + answer),
			"answer_p90":      webTime("90th percentile" + answer),
			"answer_p99":      webTime("99th percentile" + answer),
			"answer_p999":     webTime("99.9th percentile" + answer),
			"commit_p50":      webTime("median" + commit),
			"commit_p90":      webTime("90th percentile" + commit),
			"commit_p99":      webTime("99th percentile" + commit),
			"commit_p999":     webTime("99.9th percentile" + commit),
			"committed_share": {Unit: measure.Count, Better: measure.Higher, Description: "posts that were in the database a set time after the load, as a share of those accepted"},
			"backlog":         webCount("posts waiting in the queue when the load ended"),
			"late_share":      webCount("posts sent more than a millisecond after their time, as a share"),
			"refused":         webCount("posts answered with an error, or not at all; in the latencies they rank behind all others"),
			"insert_p50":      webTime("median time of an insert with its commit"),
			"insert_p99":      webTime("99th percentile of the time of an insert with its commit"),
			"publish_p50":     webTime("median time of a publish; with confirms, until the confirm"),
			"publish_p99":     webTime("99th percentile of the time of a publish; with confirms, until the confirm"),
		}),
		Series: map[string]string{
			"sent": "posts sent in each second", "answered": "posts answered in each second", "committed": "rows committed in each second",
			"backlog": "posts waiting in the queue, read once a second",
		},
		Repeats: func(p Profile) int { return p.pick(3, 3, 6) },
		Params: func(p Profile) map[string]string {
			plan := webPlanOf(p)
			return webParams(p, map[string]string{"calibrate_s": strconv.Itoa(plan.calibrate), "warmup_s": "1", "duration_s": strconv.Itoa(plan.load), "drain_at_most_s": strconv.Itoa(plan.drainAtMost),
				"body": wrkBody, "instances": "1", "consumers": "1"})
		},
		Cases: func(p Profile) []Case {
			plan := webPlanOf(p)
			var out []Case
			add := func(mode, base string, percent, workers int) {
				out = append(out, Case{Labels: measure.Labels{"mode": mode, "base": base, "load": strconv.Itoa(percent), "workers": strconv.Itoa(workers)},
					Estimate: time.Duration(plan.calibrate+plan.load+plan.drainAtMost/3+3)*time.Second - 500*time.Millisecond})
			}
			if p == Quick { // each takes seconds
				for _, mode := range modes() {
					add(mode, baseOwn, 50, webWorkers)
				}
				return out
			}
			for _, mode := range modes() {
				// Shares of each mode's own saturation, in percent.
				for _, percent := range []int{10, 50, 90, 105} {
					add(mode, baseOwn, percent, webWorkers)
				}
				if mode != string(webapi.Sync) { // whose own is the same
					add(mode, baseSync, 50, webWorkers)
				}
			}
			// The post's consumer, which inserts one row after another.
			add(string(webapi.AsyncConfirm), baseSync, 50, 1)
			return out
		},
		Measure:  measureWebLatency,
		Brokers:  current(),
		Database: true,
	}
}

func measureWebLatency(ctx context.Context, env Env, c Case) (s Sample, err error) {
	plan := webPlanOf(env.Profile)
	mode := webapi.Mode(c.Labels["mode"])
	workers, err := number(c.Labels, "workers")
	if err != nil {
		return s, err
	}
	percent, err := number(c.Labels, "load")
	if err != nil {
		return s, err
	}
	calibrated := mode
	if c.Labels["base"] == baseSync {
		calibrated = webapi.Sync
	}
	saturation, err := webCalibrate(ctx, env, calibrated, plan.calibrate)
	if err != nil {
		return s, fmt.Errorf("calibration: %w", err)
	}
	w, err := openSystem(ctx, env, webSystem{mode: mode, workers: workers, record: true}, 1)
	if err != nil {
		return s, err
	}
	defer func() { err = joinClose(ctx, w, err) }()
	if err := w.addConsumers(ctx, 1); err != nil {
		return s, err
	}
	rate := saturation * float64(percent) / 100
	if _, err := w.load(ctx, webapi.Job{Rate: rate, Duration: webWarmup.Seconds(), FirstID: 1 << 40}); err != nil {
		return s, fmt.Errorf("warm-up: %w", err)
	}
	if err := w.drained(ctx, 1, time.Duration(plan.drainAtMost)*time.Second); err != nil {
		return s, err
	}
	g, err := w.generate(ctx, webapi.Job{Rate: rate, Duration: float64(plan.load), FirstID: 1})
	if err != nil {
		return s, err
	}
	defer g.Kill()
	s.Values = map[string]measure.Value{"saturation": measure.Float(saturation), "rate": measure.Float(rate)}
	s.Clients = w.libraries()
	m := w.openMeter()
	stopWatch := w.watchBacklog(ctx)
	if err := g.Go(); err != nil {
		stopWatch()
		return s, err
	}
	sent, err := g.Wait(ctx)
	if err != nil {
		stopWatch()
		return s, err
	}
	s.CPU = m.close(s.Values, sent.CPU)
	depth, err := w.depth(ctx)
	if err != nil {
		stopWatch()
		return s, err
	}
	atMost := time.Duration(plan.drainAtMost) * time.Second
	warmed := int(math.Ceil(rate*webWarmup.Seconds() - 1e-6))
	err = w.drained(ctx, len(sent.AcceptedIDs)+warmed, atMost)
	backlog := stopWatch()
	if err != nil {
		return s, err
	}
	apis, err := w.stopAPIs(ctx)
	if err != nil {
		return s, err
	}
	consumers, err := w.stopConsumers(ctx)
	if err != nil {
		return s, err
	}
	inserters := apis
	if mode != webapi.Sync {
		inserters = consumers
	}
	answer, err := decode(sent.Answer)
	if err != nil {
		return s, err
	}
	actual, err := decode(sent.AnswerActual)
	if err != nil {
		return s, err
	}
	ended := sent.Began + int64(sent.Elapsed*1e9)
	commit, never := commitLatency(sent, inserters, ended+atMost.Nanoseconds())
	failed := sent.Refused + sent.BadRequests + sent.Errors
	s.Latency = map[string]measure.Histogram{"answer": answer.Encode(), "answer_from_actual_send": actual.Encode(), "commit": commit.Encode()}
	for name, q := range map[string]float64{"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999} {
		s.Values["answer_"+name] = timeQuantile(answer, failed, q, "were answered with an error, or not at all")
		s.Values["commit_"+name] = timeQuantile(commit, never+failed, q, fmt.Sprintf("were not in the database %d s after the load ended", plan.drainAtMost))
	}
	s.Values["answered_rate"] = measure.Float(float64(sent.Accepted) / sent.Elapsed)
	s.Values["refused"] = count(failed)
	s.Values["backlog"] = count(depth)
	s.Values["late_share"] = share(count(sent.Late), count(sent.Sent))
	s.Values["committed_share"] = share(measure.Int(commit.Count()), count(len(sent.AcceptedIDs)))
	s.Values["insert_p50"], s.Values["insert_p99"] = quantileOf(inserters[0].Insert, 0.5), quantileOf(inserters[0].Insert, 0.99)
	s.Values["publish_p50"], s.Values["publish_p99"] = quantileOf(apis[0].Publish, 0.5), quantileOf(apis[0].Publish, 0.99)
	s.Series = map[string]measure.Series{"sent": sent.Series["sent"], "answered": sent.Series["answered"],
		"committed": committedEach(sent, inserters), "backlog": backlog}
	f, err := w.count(ctx, apis)
	if err != nil {
		return s, err
	}
	s.Integrity = f.integrity()
	return s, nil
}

// webCalibrate is how many posts per second the API answers in a closed loop.
func webCalibrate(ctx context.Context, env Env, mode webapi.Mode, seconds int) (rate float64, err error) {
	w, err := openSystem(ctx, env, webSystem{mode: mode, workers: webWorkers}, 1)
	if err != nil {
		return 0, err
	}
	defer func() { err = joinClose(ctx, w, err) }()
	if err := w.addConsumers(ctx, 1); err != nil {
		return 0, err
	}
	o, err := w.load(ctx, webapi.Job{Duration: float64(seconds), FirstID: 1})
	if err != nil {
		return 0, err
	}
	// The first second warms up, and the last is not a whole one.
	s, err := stats.Summarize(numbers(whole(o.Series[webapi.SeriesAccepted], 1, seconds)))
	if err != nil || s.Median == 0 {
		return 0, fmt.Errorf("%d posts in %v s are too few", o.Accepted, o.Elapsed)
	}
	return s.Median, nil
}

// commitLatency joins commits with the intended sends by the posts' ids. A post in
// the table twice counts from its first commit. Never is how many accepted posts
// were not committed by the last moment, on the same clock.
func commitLatency(sent webapi.Outcome, inserters []webapi.Outcome, last int64) (h *latency.Histogram, never int) {
	committed := map[uint64]int64{}
	for _, o := range inserters {
		for i, id := range o.CommitIDs {
			if at, ok := committed[id]; !ok || o.CommitAt[i] < at {
				committed[id] = o.CommitAt[i]
			}
		}
	}
	h = latency.New()
	for _, id := range sent.AcceptedIDs {
		at, ok := committed[id]
		if !ok || at > last {
			never++
			continue
		}
		h.Record(time.Duration(at - sent.Intended(id)))
	}
	return h, never
}

// committedEach counts the commits in each second since the load began.
func committedEach(sent webapi.Outcome, inserters []webapi.Outcome) measure.Series {
	s := measure.Series{Unit: measure.Count, Step: 1, Values: []measure.Value{}}
	var counts []int64
	for _, o := range inserters {
		for _, at := range o.CommitAt {
			if at < sent.Began { // of the warm-up
				continue
			}
			second := int((at - sent.Began) / int64(time.Second))
			for len(counts) <= second {
				counts = append(counts, 0)
			}
			counts[second]++
		}
	}
	for _, n := range counts {
		s.Values = append(s.Values, measure.Int(n))
	}
	return s
}

func decode(m *measure.Histogram) (*latency.Histogram, error) {
	if m == nil {
		return nil, errors.New("the load generator gave no latencies")
	}
	return latency.Decode(*m)
}
