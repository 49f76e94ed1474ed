package experiments

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"genreport/measure"
	"genreport/measure/webapi"
	"genreport/measure/wrk"
)

// The post's load: wrk -t 10 -c 100 -d 30s with this body.
const (
	wrkThreads = 10
	wrkBody    = `{"title":"Test Post","content":"This is a test"}`
)

func wrkDuration(p Profile) time.Duration {
	return time.Duration(p.pick(2, 30, 30)) * time.Second
}

// webapiSaturation asks how many posts a web API takes when it writes them to the
// database at once, and when it hands them to RabbitMQ.
func webapiSaturation() Experiment {
	return Experiment{
		Name:   "webapi-saturation",
		Title:  "How many posts does a web API take, writing them at once or through RabbitMQ?",
		Method: 1,
		Metrics: webMetrics(map[string]measure.Metric{
			"rate":            webRate("posts answered with success per second, as wrk counts them"),
			"requests":        {Unit: measure.Count, Better: measure.Higher, Description: "posts answered with success"},
			"errors":          webCount("answers that were no success, and connections that broke"),
			"timeouts":        webCount("answers that took 2 s or more; wrk leaves these out of the latencies"),
			"latency_mean":    webTime("mean time from a request to its answer, as wrk says, with the samples that it adds for what a stall held up"),
			"latency_stdev":   webTime("standard deviation of that time, as wrk says"),
			"latency_max":     webTime("longest such time, as wrk says"),
			"latency_p50":     webTime("median of that time, as wrk says"),
			"latency_p75":     webTime("75th percentile of that time, as wrk says"),
			"latency_p90":     webTime("90th percentile of that time, as wrk says"),
			"latency_p99":     webTime("99th percentile of that time, as wrk says"),
			"committed_rate":  webRate("rows committed to the database per second while the load ran"),
			"committed_share": {Unit: measure.Count, Better: measure.Higher, Description: "rows committed by the end of the load, as a share of the posts accepted"},
			"backlog":         webCount("posts accepted that were not in the database when the load ended"),
			"flush":           webTime("median time in which the disk takes 4 KiB for good (fdatasync)"),
		}),
		Texts:   map[string]string{"wrk": "what wrk printed"},
		Repeats: func(p Profile) int { return p.pick(3, 6, 10) },
		Params: func(p Profile) map[string]string {
			return webParams(p, map[string]string{"threads": strconv.Itoa(wrkThreads), "duration_s": strconv.Itoa(int(wrkDuration(p).Seconds())),
				"body": wrkBody, "instances": "1", "consumers": "1"})
		},
		Cases: func(p Profile) []Case {
			var out []Case
			for _, mode := range modes() {
				out = append(out, saturationCase(p, mode, 1)) // the post's consumer, which inserts one row after another
			}
			return append(out, saturationCase(p, string(webapi.AsyncConfirm), webWorkers))
		},
		Warmup: func(p Profile) []Case {
			return []Case{saturationCase(p, string(webapi.Sync), 1)}
		},
		Measure:  measureWebSaturation,
		Brokers:  current(),
		Database: true,
		Programs: []string{"wrk"},
	}
}

func saturationCase(p Profile, mode string, workers int) Case {
	if mode == string(webapi.Sync) {
		workers = 0 // nothing is consumed
	}
	return Case{Labels: measure.Labels{"mode": mode, "workers": strconv.Itoa(workers)}, Estimate: wrkDuration(p) + 600*time.Millisecond}
}

func measureWebSaturation(ctx context.Context, env Env, c Case) (s Sample, err error) {
	workers, err := number(c.Labels, "workers")
	if err != nil {
		return s, err
	}
	w, err := openSystem(ctx, env, webSystem{mode: webapi.Mode(c.Labels["mode"]), workers: workers}, 1)
	if err != nil {
		return s, err
	}
	defer func() { err = joinClose(ctx, w, err) }()
	if err := w.addConsumers(ctx, 1); err != nil {
		return s, err
	}
	version, err := wrk.Version(ctx)
	if err != nil {
		return s, err
	}
	s.Clients = append(w.libraries(), measure.Client{Label: "wrk", Library: "wrk", Version: version, Runtime: "LuaJIT"})
	s.Values = map[string]measure.Value{"flush": flushTime(env.Database)}
	m := w.openMeter()
	r, err := wrk.Run(ctx, wrk.Load{Threads: wrkThreads, Connections: webConnections, Duration: wrkDuration(env.Profile), URL: w.url, Body: wrkBody})
	if err != nil {
		return s, err
	}
	s.CPU = m.close(s.Values, r.CPU.Seconds())
	_, rows, err := w.rows(ctx)
	if err != nil {
		return s, err
	}
	s.Texts = map[string]string{"wrk": strings.TrimRight(r.Text, "\n")}
	good := r.Requests - r.NotOK
	s.Values["requests"] = count(good)
	s.Values["errors"] = count(r.Failed())
	s.Values["timeouts"] = count(r.Timeout)
	s.Values["rate"] = measure.Float(float64(good) / r.Elapsed.Seconds())
	for name, d := range map[string]time.Duration{"latency_mean": r.Mean, "latency_stdev": r.Deviation, "latency_max": r.Max,
		"latency_p50": r.P50, "latency_p75": r.P75, "latency_p90": r.P90, "latency_p99": r.P99} {
		s.Values[name] = measure.Float(d.Seconds())
		switch {
		case r.Failed() > 0:
			s.Values[name] = measure.Missing(fmt.Sprintf("wrk counts the %d answers that were no success among the others", r.Failed()))
		case r.Timeout > 0:
			s.Values[name] = measure.Missing(fmt.Sprintf("wrk leaves out the %d answers that took 2 s or more", r.Timeout))
		}
	}
	s.Values["committed_rate"] = measure.Float(float64(rows) / s.CPU.Wall)
	f, err := w.settle(ctx)
	if err != nil {
		return s, err
	}
	s.Values["backlog"] = count(max(0, f.accepted-rows))
	s.Values["committed_share"] = share(count(min(rows, f.accepted)), count(f.accepted))
	s.Integrity = f.integrity()
	return s, nil
}
