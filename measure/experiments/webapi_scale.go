package experiments

import (
	"context"
	"errors"
	"strconv"
	"time"

	"genreport/measure"
	"genreport/measure/webapi"
)

func scaleSeconds(p Profile) int { return p.pick(2, 8, 20) }

// webapiScale asks what more consumers, and more instances of the API, bring.
func webapiScale() Experiment {
	return Experiment{
		Name:   "webapi-scale",
		Title:  "Do more consumers and more instances of the API take more posts?",
		Method: 1,
		Metrics: webMetrics(map[string]measure.Metric{
			"answered_rate":   webRate("posts answered with success per second, in a closed loop"),
			"committed_rate":  webRate("rows committed to the database per second while the load ran"),
			"committed_share": {Unit: measure.Count, Better: measure.Higher, Description: "rows committed by the end of the load, as a share of the posts accepted"},
			"backlog":         webCount("posts accepted that were not in the database when the load ended"),
			"answer_p50":      webTime("median time from a request to its answer, in a closed loop"),
			"answer_p99":      webTime("99th percentile of the time from a request to its answer, in a closed loop"),
			"refused":         webCount("posts answered with an error, or not at all"),
		}),
		Series: map[string]string{
			"sent": "posts sent in each second", "answered": "posts answered in each second", "backlog": "posts waiting in the queue, read once a second",
		},
		Repeats: func(p Profile) int { return p.pick(3, 3, 6) },
		Params: func(p Profile) map[string]string {
			return webParams(p, map[string]string{"duration_s": strconv.Itoa(scaleSeconds(p)), "body": wrkBody})
		},
		Cases: func(p Profile) []Case {
			var out []Case
			add := func(mode webapi.Mode, instances, consumers, workers int) {
				out = append(out, Case{Estimate: time.Duration(scaleSeconds(p))*time.Second + 600*time.Millisecond, Labels: measure.Labels{"mode": string(mode),
					"instances": strconv.Itoa(instances), "consumers": strconv.Itoa(consumers), "workers": strconv.Itoa(workers)}})
			}
			if p == Quick { // the ends
				add(webapi.Async, 1, 1, 1)
				add(webapi.Async, 1, 3, 1)
				add(webapi.Sync, 1, 0, 0)
				add(webapi.Sync, 3, 0, 0)
				return out
			}
			for n := range 3 {
				add(webapi.Async, 1, 1+n, 1) // the post's consumer
				add(webapi.Async, 1, 1+n, webWorkers)
			}
			for n := range 3 {
				add(webapi.Sync, 1+n, 0, 0)
				if n > 0 {
					add(webapi.Async, 1+n, 1, webWorkers)
				}
			}
			return out
		},
		Measure:  measureWebScale,
		Brokers:  current(),
		Database: true,
	}
}

func measureWebScale(ctx context.Context, env Env, c Case) (s Sample, err error) {
	var n struct{ instances, consumers, workers int }
	for name, to := range map[string]*int{"instances": &n.instances, "consumers": &n.consumers, "workers": &n.workers} {
		if *to, err = number(c.Labels, name); err != nil {
			return s, err
		}
	}
	w, err := openSystem(ctx, env, webSystem{mode: webapi.Mode(c.Labels["mode"]), workers: n.workers}, n.instances)
	if err != nil {
		return s, err
	}
	defer func() { err = joinClose(ctx, w, err) }()
	if err := w.addConsumers(ctx, n.consumers); err != nil {
		return s, err
	}
	g, err := w.generate(ctx, webapi.Job{Duration: float64(scaleSeconds(env.Profile)), FirstID: 1})
	if err != nil {
		return s, err
	}
	defer g.Kill()
	s.Values = map[string]measure.Value{}
	s.Clients = w.libraries()
	m := w.openMeter()
	stopWatch := w.watchBacklog(ctx)
	if err := g.Go(); err != nil {
		stopWatch()
		return s, err
	}
	sent, err := g.Wait(ctx)
	s.CPU = m.close(s.Values, sent.CPU)
	_, rows, countErr := w.rows(ctx)
	backlog := stopWatch()
	if err := errors.Join(err, countErr); err != nil {
		return s, err
	}
	answer, err := decode(sent.Answer)
	if err != nil {
		return s, err
	}
	s.Latency = map[string]measure.Histogram{"answer": answer.Encode()}
	s.Series = map[string]measure.Series{"sent": sent.Series["sent"], "answered": sent.Series["answered"], "backlog": backlog}
	failed := sent.Refused + sent.BadRequests + sent.Errors
	s.Values["answered_rate"] = measure.Float(float64(sent.Accepted) / sent.Elapsed)
	s.Values["committed_rate"] = measure.Float(float64(rows) / s.CPU.Wall)
	s.Values["answer_p50"] = timeQuantile(answer, failed, 0.5, "were answered with an error, or not at all")
	s.Values["answer_p99"] = timeQuantile(answer, failed, 0.99, "were answered with an error, or not at all")
	s.Values["refused"] = count(failed)
	f, err := w.settle(ctx)
	if err != nil {
		return s, err
	}
	s.Values["backlog"] = count(max(0, f.accepted-rows))
	s.Values["committed_share"] = share(count(min(rows, f.accepted)), count(f.accepted))
	s.Integrity = f.integrity()
	return s, nil
}
