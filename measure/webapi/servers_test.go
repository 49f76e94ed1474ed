package webapi

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"genreport/measure/broker"
	"genreport/measure/database"
	"genreport/measure/debian"
	"genreport/measure/load"
)

const testQueue = "webapi-test"

// stand is a real broker and a real database.
type stand struct {
	broker *broker.Broker
	db     *database.Database
}

func startStand(t *testing.T) *stand {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a real broker and a real database")
	}
	ctx := context.Background()
	d := debian.Debian{Log: func(line string) { t.Log(line) }}
	root, err := database.Ensure(ctx, d, database.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	db, err := database.Start(ctx, root, database.Options{Log: d.Log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Stop() })
	if root, err = d.Ensure(ctx, broker.Image(), "forky"); err != nil {
		t.Fatal(err)
	}
	b, err := broker.Start(ctx, root, broker.Config{}, broker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Stop() })
	return &stand{b, db}
}

// fresh empties the queue and the table.
func (s *stand) fresh(t *testing.T, unique bool) {
	t.Helper()
	ctx := within(t, time.Minute)
	if err := load.DeclareEmpty(ctx, s.broker.URI(), "", testQueue, load.Classic); err != nil {
		t.Fatal(err)
	}
	if err := Prepare(ctx, s.db.DSN(), unique); err != nil {
		t.Fatal(err)
	}
}

func begin(t *testing.T, job Job) *Process {
	t.Helper()
	ctx := context.Background()
	job.Limit = 300
	p, err := Start(ctx, serveCommand(ctx), job)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

func (s *stand) api(t *testing.T, mode Mode, listen string) *Process {
	t.Helper()
	if listen == "" {
		listen = "127.0.0.1:0"
	}
	return begin(t, Job{Role: API, Mode: mode, Listen: listen, DSN: s.db.DSN(), DBPool: 8, URI: s.broker.URI(), Queue: testQueue, Channels: 8, Record: true})
}

func (s *stand) consumer(t *testing.T, change func(*Job)) *Process {
	t.Helper()
	job := Job{Role: Consumer, DSN: s.db.DSN(), DBPool: 4, URI: s.broker.URI(), Queue: testQueue, Prefetch: 20, Workers: 2, Record: true}
	if change != nil {
		change(&job)
	}
	return begin(t, job)
}

func urlOf(p *Process) string { return "http://" + p.Ready.Listen + "/posts" }

func stop(t *testing.T, p *Process) Outcome {
	t.Helper()
	o, err := p.Stop(within(t, time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// send has a generator send posts, and goes on when it has begun.
func send(t *testing.T, to *Process, rate, duration float64, first uint64) *Process {
	t.Helper()
	p := begin(t, Job{Role: Generate, URL: urlOf(to), Rate: rate, Duration: duration, Connections: 8, FirstID: first})
	if err := p.Go(); err != nil {
		t.Fatal(err)
	}
	return p
}

func sent(t *testing.T, p *Process) Outcome {
	t.Helper()
	o, err := p.Wait(within(t, 3*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// postOne posts one post as wrk does, without an id.
func postOne(t *testing.T, p *Process) (status int, retryAfter string, took time.Duration) {
	t.Helper()
	began := time.Now()
	client := http.Client{Timeout: 20 * time.Second}
	r, err := client.Post(urlOf(p), "application/json", strings.NewReader(validPost))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var fields map[string]any
	if err := json.NewDecoder(r.Body).Decode(&fields); err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, r.Header.Get("Retry-After"), time.Since(began)
}

// becomes waits until a request is answered with the status.
func becomes(t *testing.T, p *Process, want int) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; {
		got, _, _ := postOne(t, p)
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("it still answers %d, want %d", got, want)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// stored waits until all posts are in the table, and returns in how many rows
// each is.
func (s *stand) stored(t *testing.T, want []uint64) map[uint64]int {
	t.Helper()
	ctx := within(t, time.Minute)
	for {
		ids, err := PostIDs(ctx, s.db.DSN())
		if err != nil {
			t.Fatal(err)
		}
		missing := 0
		for _, id := range want {
			if ids[id] == 0 {
				missing++
			}
		}
		if missing == 0 {
			return ids
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%d of %d accepted posts are not in the table", missing, len(want))
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// arrived waits until n posts are in the table whose numbers are first or higher.
func (s *stand) arrived(t *testing.T, first uint64, n int) {
	t.Helper()
	ctx := within(t, time.Minute)
	for {
		ids, err := PostIDs(ctx, s.db.DSN())
		if err != nil {
			t.Fatal(err)
		}
		there := 0
		for id := range ids {
			if id >= first {
				there++
			}
		}
		if there >= n {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%d posts from %d on are in the table, want %d", there, first, n)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func TestOnRealServers(t *testing.T) {
	s := startStand(t)
	for _, mode := range Modes() {
		t.Run(string(mode), func(t *testing.T) { testMode(t, s, mode) })
	}
	t.Run("shared port", func(t *testing.T) { testSharedPort(t, s) })
	t.Run("blocked", func(t *testing.T) { testBlocked(t, s) })
	t.Run("broker killed", func(t *testing.T) { testBrokerKilled(t, s) })
	t.Run("database killed", func(t *testing.T) { testDatabaseKilled(t, s) })
	for _, unique := range []bool{false, true} {
		t.Run(fmt.Sprintf("consumer killed, unique %v", unique), func(t *testing.T) { testConsumerKilled(t, s, unique) })
	}
}

// Every accepted post is one row, and the stages say so.
func testMode(t *testing.T, s *stand, mode Mode) {
	s.fresh(t, false)
	api := s.api(t, mode, "")
	committer := api
	if mode != Sync {
		committer = s.consumer(t, nil)
	}
	g := sent(t, send(t, api, 200, 1, 1000))
	if g.Accepted != 200 || len(g.AcceptedIDs) != 200 || g.AcceptedIDs[0] != 1000 || g.AcceptedIDs[199] != 1199 {
		t.Fatalf("%d accepted, %d refused, %d errors, want 200 accepted", g.Accepted, g.Refused, g.Errors)
	}
	want := http.StatusAccepted
	if mode == Sync {
		want = http.StatusCreated
	}
	if status, _, _ := postOne(t, api); status != want {
		t.Errorf("status %d, want %d", status, want)
	}
	ids := s.stored(t, g.AcceptedIDs)
	for deadline := time.Now().Add(10 * time.Second); len(ids) < 201 && time.Now().Before(deadline); { // the one without an id
		time.Sleep(50 * time.Millisecond)
		ids = s.stored(t, g.AcceptedIDs)
	}
	if cpu, err := api.CPU(); err != nil || cpu <= 0 {
		t.Errorf("the API used %v of CPU, %v", cpu, err)
	}
	a := stop(t, api)
	c := a
	if committer != api {
		c = stop(t, committer)
	}
	rows, distinct, err := Count(within(t, time.Minute), s.db.DSN())
	if err != nil || rows != 201 || distinct != 201 || c.Inserted != 201 {
		t.Errorf("%d rows, %d different, %d inserted, %v; want 201 each", rows, distinct, c.Inserted, err)
	}
	if a.Requests != 201 || a.Accepted != 201 || c.Insert == nil || c.Insert.Count != 201 {
		t.Errorf("the API answered %d and accepted %d; inserts %+v", a.Requests, a.Accepted, c.Insert)
	}
	if mode == Sync != (a.Publish == nil) || mode != Sync && a.Publish.Count != 201 {
		t.Errorf("publishes: %+v", a.Publish)
	}
	got := slices.Clone(c.CommitIDs)
	slices.Sort(got)
	if !slices.Equal(got, slices.Sorted(maps.Keys(ids))) || len(c.CommitAt) != 201 {
		t.Errorf("%d commits are recorded, at %d times", len(got), len(c.CommitAt))
	}
	for i, id := range c.CommitIDs {
		// One clock, read in two processes: a commit comes after the send that it is
		// of, and here not long after.
		if id < 2000 && (c.CommitAt[i] < g.Intended(id) || c.CommitAt[i] > g.Intended(id)+20e9) {
			t.Errorf("post %d was to be sent at %d and was committed at %d", id, g.Intended(id), c.CommitAt[i])
		}
	}
}

// Two APIs on one port both get connections.
func testSharedPort(t *testing.T, s *stand) {
	s.fresh(t, false)
	one := s.api(t, Sync, "")
	two := s.api(t, Sync, one.Ready.Listen)
	p := begin(t, Job{Role: Generate, URL: urlOf(one), Messages: 200, Connections: 30, FirstID: 1})
	if err := p.Go(); err != nil {
		t.Fatal(err)
	}
	g, a, b := sent(t, p), stop(t, one), stop(t, two)
	if g.Accepted != 200 || a.Accepted+b.Accepted != 200 || a.Accepted == 0 || b.Accepted == 0 {
		t.Errorf("%d accepted: %d by one, %d by the other", g.Accepted, a.Accepted, b.Accepted)
	}
}

// While the broker takes nothing from publishers, nothing is accepted.
func testBlocked(t *testing.T, s *stand) {
	s.fresh(t, false)
	ctx := within(t, 2*time.Minute)
	for _, mode := range []Mode{Async, AsyncConfirm} {
		api := s.api(t, mode, "")
		becomes(t, api, 202)
		if _, err := s.broker.Ctl(ctx, "set_vm_memory_high_watermark", "absolute", "1MiB"); err != nil {
			t.Fatal(err)
		}
		becomes(t, api, 503) // the broker blocks a connection once it publishes
		status, retry, took := postOne(t, api)
		if status != 503 || retry != "1" || took < answerTimeout/2 || took > 2*answerTimeout {
			t.Errorf("%s: status %d, Retry-After %q after %v, want 503 after %v", mode, status, retry, took, answerTimeout)
		}
		if _, err := s.broker.Ctl(ctx, "set_vm_memory_high_watermark", "0.6"); err != nil {
			t.Fatal(err)
		}
		becomes(t, api, 202)
		stop(t, api)
	}
}

// Without a broker posts are refused at once; with it again they are accepted,
// and what was accepted before is there.
func testBrokerKilled(t *testing.T, s *stand) {
	s.fresh(t, false)
	ctx := within(t, 3*time.Minute)
	api, async := s.api(t, AsyncConfirm, ""), s.api(t, Async, "")
	consumer := s.consumer(t, nil)
	load := send(t, api, 200, 3, 1)
	s.arrived(t, 1, 120)
	if err := s.broker.Kill(ctx); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*Process{api, async} {
		becomes(t, p, 503)
		if status, retry, took := postOne(t, p); status != 503 || retry != "1" || took > time.Second {
			t.Errorf("status %d, Retry-After %q after %v, want 503 at once", status, retry, took)
		}
	}
	g := sent(t, load)
	if g.Accepted < 100 || g.Refused < 100 || g.Accepted+g.Refused != 600 {
		t.Errorf("%d accepted, %d refused, %d without an answer of 600", g.Accepted, g.Refused, g.Errors)
	}
	if err := s.broker.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	becomes(t, api, 202)
	becomes(t, async, 202)
	after := sent(t, send(t, api, 100, 1, 10_000))
	if after.Accepted != 100 {
		t.Errorf("%d of 100 accepted after the restart", after.Accepted)
	}
	ids := s.stored(t, slices.Concat(g.AcceptedIDs, after.AcceptedIDs))
	c := stop(t, consumer)
	t.Logf("%d accepted before, %d rows inserted, %d posts, %d redelivered", g.Accepted, c.Inserted, len(ids), c.Redelivered)
}

// Without a database the API without a queue refuses; the one with a queue
// accepts, and all of it is stored in the end.
func testDatabaseKilled(t *testing.T, s *stand) {
	s.fresh(t, false)
	ctx := within(t, 3*time.Minute)
	direct, queued := s.api(t, Sync, ""), s.api(t, AsyncConfirm, "")
	consumer := s.consumer(t, nil)
	load, straight := send(t, queued, 100, 4, 1), send(t, direct, 100, 4, 10_000)
	s.arrived(t, 10_000, 60)
	if err := s.db.Kill(ctx); err != nil {
		t.Fatal(err)
	}
	becomes(t, direct, 503)
	if status, retry, took := postOne(t, direct); status != 503 || retry != "1" || took > time.Second {
		t.Errorf("status %d, Retry-After %q after %v, want 503 at once", status, retry, took)
	}
	g, d := sent(t, load), sent(t, straight)
	if g.Accepted != 400 {
		t.Errorf("with a queue, %d of 400 accepted", g.Accepted)
	}
	if d.Refused < 50 || d.Accepted < 50 || d.Accepted+d.Refused != 400 {
		t.Errorf("without a queue, %d accepted and %d refused of 400", d.Accepted, d.Refused)
	}
	before, err := consumer.CPU()
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second)
	if after, err := consumer.CPU(); err != nil || after-before > time.Second {
		t.Errorf("the consumer used %v of CPU in 2 s of waiting, %v", after-before, err)
	}
	if err := s.db.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	becomes(t, direct, 201)
	ids := s.stored(t, slices.Concat(g.AcceptedIDs, d.AcceptedIDs))
	a, c := stop(t, direct), stop(t, consumer)
	t.Logf("%d posts, %d inserted by the API and %d by the consumer, %d redelivered", len(ids), a.Inserted, c.Inserted, c.Redelivered)
	if c.Redelivered == 0 {
		t.Error("nothing was redelivered: nothing failed")
	}
}

// What a consumer had in hand when it was killed is delivered again. Where it
// had stored it, it is there twice, unless the table forbids it.
func testConsumerKilled(t *testing.T, s *stand, unique bool) {
	s.fresh(t, unique)
	set := func(j *Job) { j.Unique, j.Prefetch, j.Workers = unique, 50, 4 }
	api := s.api(t, AsyncConfirm, "")
	load := send(t, api, 400, 3, 1)
	for range 3 {
		c := s.consumer(t, set)
		time.Sleep(500 * time.Millisecond)
		c.Kill()
	}
	last := s.consumer(t, set)
	g := sent(t, load)
	if g.Accepted != 1200 {
		t.Errorf("%d of 1200 accepted", g.Accepted)
	}
	s.stored(t, g.AcceptedIDs)
	o := stop(t, last)
	rows, distinct, err := Count(within(t, time.Minute), s.db.DSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d rows of %d posts, the last consumer saw %d redelivered", rows, distinct, o.Redelivered)
	if distinct != 1200 || rows < distinct || unique && rows != distinct {
		t.Errorf("%d rows of %d posts, want 1200 posts", rows, distinct)
	}
}
