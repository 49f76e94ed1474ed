package experiments

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"genreport/measure"
	"genreport/measure/webapi"
)

// What befalls the application.
const (
	consumersStopped = "consumers-stopped" // the post's own check
	brokerRestarted  = "broker-restarted"  // in order, with the posts in its queue
	brokerKilled     = "broker-killed"     // with the posts in its queue
	brokerKilledLoad = "broker-killed-under-load"
	consumerKilled   = "consumer-killed"
	databaseKilled   = "database-killed"
)

const (
	stoppedPosts  = 100  // as in the post
	backlogPosts  = 5000 // where consumers are killed
	consumerKills = 20
	faultRate     = 200 // posts per second, where something dies under load
	faultBefore   = 3 * time.Second
	faultDown     = 2 * time.Second // how long the database stays away
	// faultLimit is how long it may take until all is well again.
	faultLimit = 45 * time.Second
)

// faultSeconds is the length of the load in which something dies: long enough for
// a node to be back before it ends.
func faultSeconds(p Profile) int { return p.pick(12, 16, 25) }

// webapiIntegrity counts posts that were lost or doubled when something stops or
// dies.
func webapiIntegrity() Experiment {
	posts := func(text string, better measure.Direction) measure.Metric {
		return measure.Metric{Unit: measure.Count, Better: better, Description: text}
	}
	return Experiment{
		Name:   "webapi-integrity",
		Title:  "Which posts are lost or doubled when a consumer, the broker or the database dies?",
		Method: 1,
		Metrics: map[string]measure.Metric{
			"posts":       posts("posts sent", measure.Neither),
			"accepted":    posts("posts answered with success", measure.Higher),
			"refused":     posts("posts answered with an error", measure.Lower),
			"unanswered":  posts("posts without any answer", measure.Lower),
			"queued":      posts("posts in the queue while nobody consumed, as the management API tells", measure.Neither),
			"rows":        posts("rows in the database at the end", measure.Neither),
			"lost":        posts("posts answered with success that are not in the database", measure.Lower),
			"doubled":     posts("rows of a post that was in the database already", measure.Lower),
			"unasked":     posts("posts in the database though they were answered with an error or not at all", measure.Lower),
			"redelivered": posts("deliveries that the broker marked as redelivered", measure.Neither),
			"outage":      webTime("longest time without a successful answer"),
			"kill_delay":  {Unit: measure.Seconds, Better: measure.Neither, Description: "from the load's end until the broker was dead"},
			"kills":       posts("consumers killed while they worked", measure.Neither),
		},
		Series:  map[string]string{"sent": "posts sent in each second, where something dies under load", "accepted": "posts answered with success in each second, where something dies under load"},
		Repeats: func(p Profile) int { return p.pick(1, 3, 6) },
		Params: func(p Profile) map[string]string {
			return webParams(p, map[string]string{"posts": strconv.Itoa(stoppedPosts), "backlog_posts": strconv.Itoa(backlogPosts), "consumer_kills": strconv.Itoa(consumerKills), "rate": strconv.Itoa(faultRate),
				"duration_s": strconv.Itoa(faultSeconds(p)), "killed_after_s": strconv.Itoa(int(faultBefore.Seconds())), "database_away_s": strconv.Itoa(int(faultDown.Seconds())),
				"workers": strconv.Itoa(webWorkers), "queue": "classic, durable", "messages": "persistent"})
		},
		Cases: func(p Profile) []Case {
			var out []Case
			add := func(scenario string, mode webapi.Mode, unique string, seconds int) {
				out = append(out, Case{Labels: measure.Labels{"scenario": scenario, "mode": string(mode), "unique": unique},
					Fresh: scenario == brokerRestarted || scenario == brokerKilled || scenario == brokerKilledLoad, Estimate: time.Duration(seconds) * time.Second})
			}
			lost := int(faultLimit.Seconds()) / 3 // waited for what does not come
			if p == Quick {                       // what can be seen in a minute
				add(consumersStopped, webapi.AsyncConfirm, "no", 5)
				add(brokerKilledLoad, webapi.Async, "no", faultSeconds(p)+lost)
				add(brokerKilledLoad, webapi.AsyncConfirm, "no", faultSeconds(p))
				add(consumerKilled, webapi.AsyncConfirm, "no", 5)
				return out
			}
			for _, mode := range []webapi.Mode{webapi.Async, webapi.AsyncConfirm} {
				waits := 0
				if mode == webapi.Async {
					waits = lost
				}
				add(consumersStopped, mode, "no", 5)
				add(brokerRestarted, mode, "no", 6) // and for its node, as those below
				add(brokerKilled, mode, "no", 8+waits)
				add(brokerKilledLoad, mode, "no", faultSeconds(p)+waits)
				add(databaseKilled, mode, "no", faultSeconds(p)+1)
			}
			add(databaseKilled, webapi.Sync, "no", faultSeconds(p)+1)
			// Who dies here is behind the queue: how it was published makes no difference.
			add(consumerKilled, webapi.AsyncConfirm, "no", 5)
			add(consumerKilled, webapi.AsyncConfirm, "yes", 5)
			return out
		},
		Measure:  measureWebIntegrity,
		Brokers:  current(),
		Database: true,
	}
}

func measureWebIntegrity(ctx context.Context, env Env, c Case) (s Sample, err error) {
	scenario := c.Labels["scenario"]
	switch { // before anything is sent
	case scenario == databaseKilled && env.Database != nil && env.Database.Done() == nil:
		return Sample{Missing: "not available: a database given by DSN can't be killed"}, nil
	case c.Fresh && env.Broker.Done() == nil:
		return Sample{Missing: "not available: a broker given by URL can't be stopped"}, nil
	}
	w, err := openSystem(ctx, env, webSystem{mode: webapi.Mode(c.Labels["mode"]), workers: webWorkers, unique: c.Labels["unique"] == "yes"}, 1)
	if err != nil {
		return s, err
	}
	defer func() { err = joinClose(ctx, w, err) }()
	s.Values = map[string]measure.Value{
		"queued": measure.Missing("consumers ran all the time"), "outage": measure.Missing("there was no load while something was away"),
		"kill_delay": measure.Missing("the broker was not killed after the load"), "kills": measure.Missing("no consumer was killed"),
	}
	var sent webapi.Outcome
	switch scenario {
	case consumersStopped, brokerRestarted, brokerKilled:
		if sent, err = w.load(ctx, webapi.Job{Messages: stoppedPosts, Connections: 10, FirstID: 1}); err != nil {
			return s, err
		}
		ended := time.Now()
		switch scenario { // the API's connection ends with the broker
		case brokerKilled:
			err = env.Broker.Kill(ctx)
			s.Values["kill_delay"] = measure.Float(time.Since(ended).Seconds())
			err = errors.Join(err, env.Broker.Restart(ctx))
		case brokerRestarted:
			if _, err = env.Broker.Ctl(ctx, "stop_app"); err == nil {
				_, err = env.Broker.Ctl(ctx, "start_app")
			}
		}
		if err != nil {
			return s, err
		}
		s.Values["queued"] = w.managementDepth(ctx, sent.Accepted)
		err = w.addConsumers(ctx, 1)
	case consumerKilled:
		var kills int
		sent, kills, err = w.killConsumers(ctx)
		s.Values["kills"] = count(kills)
	case brokerKilledLoad, databaseKilled:
		sent, err = w.killUnderLoad(ctx, scenario, faultSeconds(env.Profile))
		s.Values["outage"] = measure.Float(sent.LongestGap)
		s.Series = map[string]measure.Series{"sent": sent.Series[webapi.SeriesSent], "accepted": sent.Series[webapi.SeriesAccepted]}
	default:
		err = fmt.Errorf("unknown scenario %q", scenario)
	}
	if err != nil {
		return s, err
	}
	redelivered, err := w.finish(ctx, len(sent.AcceptedIDs))
	if err != nil {
		return s, err
	}
	rows, err := webapi.PostIDs(ctx, env.Database.DSN())
	if err != nil {
		return s, err
	}
	n := reckon(sent, rows)
	for name, v := range map[string]int{"posts": sent.Sent, "accepted": len(sent.AcceptedIDs), "refused": sent.Refused + sent.BadRequests, "unanswered": sent.Errors,
		"rows": n.rows, "lost": n.lost, "doubled": n.doubled, "unasked": n.unasked, "redelivered": redelivered} {
		s.Values[name] = count(v)
	}
	if w.mode == webapi.Sync {
		s.Values["redelivered"] = measure.Missing("nothing is consumed")
	}
	return s, nil
}

// finish lets the consumers work off what is there and ends them. What is in the
// queue after that was not lost, and nobody knows whether it would have been: that
// fails the cell.
func (w *webSystem) finish(ctx context.Context, accepted int) (redelivered int, err error) {
	if err := w.drained(ctx, accepted, faultLimit/3); err != nil {
		return 0, err
	}
	if err := w.quiet(ctx); err != nil {
		return 0, err
	}
	consumers, err := w.stopConsumers(ctx)
	if err != nil {
		return 0, err
	}
	for _, o := range consumers {
		redelivered += o.Redelivered
	}
	left, err := w.depth(ctx)
	if err == nil && left > 0 {
		err = fmt.Errorf("%d posts are still in the queue though consumers had %v for them", left, faultLimit/3)
	}
	return redelivered, err
}

// reckoning is what became of posts by their ids.
type reckoning struct{ rows, lost, doubled, unasked int }

// reckon compares what was answered with what is in the table.
func reckon(sent webapi.Outcome, rows map[uint64]int) (r reckoning) {
	accepted := map[uint64]bool{}
	for _, id := range sent.AcceptedIDs {
		accepted[id] = true
		if rows[id] == 0 {
			r.lost++
		}
	}
	for id, n := range rows {
		r.rows += n
		r.doubled += n - 1
		if !accepted[id] {
			r.unasked++
		}
	}
	return r
}

// managementDepth is how many posts the management API sees in the queue, once
// it sees as many as are wanted; its figures lag.
func (w *webSystem) managementDepth(ctx context.Context, want int) measure.Value {
	until := time.Now().Add(15 * time.Second)
	for {
		n, err := w.env.Broker.QueueDepth(ctx, w.queue)
		switch {
		case err == nil && (n >= want || time.Now().After(until)):
			return count(n)
		case err != nil && (time.Now().After(until) || w.env.Broker.Done() == nil):
			return unavailable(err)
		}
		if sleep(ctx, 200*time.Millisecond) != nil {
			return measure.Missing("interrupted")
		}
	}
}

// quiet waits until nobody writes to the table any more: what was redelivered
// comes after what was awaited.
func (w *webSystem) quiet(ctx context.Context) error {
	last := -1
	for range 20 {
		rows, _, err := w.rows(ctx)
		if err != nil {
			return err
		}
		if rows == last {
			return nil
		}
		last = rows
		if err := sleep(ctx, time.Second); err != nil {
			return err
		}
	}
	return nil
}

// killConsumers fills the queue, kills one consumer after another in the midst of
// its work, and starts one that lives. Kills is how many were killed while there
// was work left.
func (w *webSystem) killConsumers(ctx context.Context) (sent webapi.Outcome, kills int, err error) {
	if sent, err = w.load(ctx, webapi.Job{Messages: backlogPosts, Connections: 20, FirstID: 1}); err != nil {
		return sent, 0, err
	}
	before := 0
	for range consumerKills {
		if err := w.addConsumers(ctx, 1); err != nil {
			return sent, kills, err
		}
		rows, err := w.moreRows(ctx, before)
		w.consumers[0].Kill()
		w.consumers = nil
		if err != nil {
			return sent, kills, err
		}
		if rows >= backlogPosts {
			break // it was done
		}
		kills++
		if before, _, err = w.rows(ctx); err != nil {
			return sent, kills, err
		}
	}
	return sent, kills, w.addConsumers(ctx, 1)
}

// moreRows waits until the table has more rows than before.
func (w *webSystem) moreRows(ctx context.Context, before int) (rows int, err error) {
	until := time.Now().Add(faultLimit / 3)
	for time.Now().Before(until) {
		if rows, _, err = w.rows(ctx); err != nil || rows > before {
			return rows, err
		}
		if err := sleep(ctx, time.Millisecond); err != nil {
			return rows, err
		}
	}
	return rows, errors.New("a consumer wrote no row")
}

// killUnderLoad kills the broker or the database while posts come in at a steady
// rate, and brings it back.
func (w *webSystem) killUnderLoad(ctx context.Context, scenario string, seconds int) (webapi.Outcome, error) {
	if err := w.addConsumers(ctx, 1); err != nil {
		return webapi.Outcome{}, err
	}
	g, err := w.generate(ctx, webapi.Job{Rate: faultRate, Duration: float64(seconds), FirstID: 1})
	if err != nil {
		return webapi.Outcome{}, err
	}
	defer g.Kill()
	if err := g.Go(); err != nil {
		return webapi.Outcome{}, err
	}
	if err := sleep(ctx, faultBefore); err != nil {
		return webapi.Outcome{}, err
	}
	if scenario == brokerKilledLoad {
		err = errors.Join(w.env.Broker.Kill(ctx), w.env.Broker.Restart(ctx))
	} else {
		if err = w.env.Database.Kill(ctx); err == nil {
			err = sleep(ctx, faultDown)
		}
		err = errors.Join(err, w.env.Database.Restart(ctx))
	}
	if err != nil {
		return webapi.Outcome{}, err
	}
	return g.Wait(ctx)
}
