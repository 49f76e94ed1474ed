package webapi

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"genreport/measure"
	"genreport/measure/load"
	"genreport/measure/load/latency"
)

const (
	// requestTimeout is how long a generator waits for an answer; an API has
	// given one by then.
	requestTimeout = answerTimeout + 5*time.Second
	// idleTimeout is after how long without a request a connection is made anew:
	// the API's own time is longer, and one that it has closed costs a request.
	idleTimeout = 5 * time.Second
	// restAfterError keeps a closed loop from running hot on errors.
	restAfterError = 20 * time.Millisecond
)

// The post that is sent.
const (
	sentTitle   = "Test Post"
	sentContent = "This is a test"
)

// generator sends posts and notes what becomes of them.
type generator struct {
	job   Job
	clock *load.Clock
	addr  string // of the API, host and port
	head  string // of a request, up to the length of its body
	start time.Duration

	mu                       sync.Mutex
	o                        Outcome
	answer, actual           *latency.Histogram
	sent, answered, accepted perSecond
	lastAccepted             time.Duration // since the start; 0 before the first
	longestGap               time.Duration
}

func newGenerator(job Job, clock *load.Clock) (*generator, error) {
	u, err := url.Parse(job.URL)
	if err != nil {
		return nil, errors.New("url can't be parsed")
	}
	g := &generator{job: job, clock: clock, addr: u.Host, answer: latency.New(), actual: latency.New()}
	if u.Port() == "" {
		g.addr = net.JoinHostPort(u.Hostname(), "80")
	}
	g.head = fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: ", u.RequestURI(), u.Host)
	return g, nil
}

// wire is a connection that is kept alive. It has one request at a time and
// sends none twice: what a library does with one that was cut off would be
// hidden.
type wire struct {
	conn net.Conn // nil: not connected
	r    *bufio.Reader
	used time.Time
}

func (w *wire) open(ctx context.Context, addr string) error {
	if w.conn != nil && time.Since(w.used) < idleTimeout {
		return nil
	}
	w.close()
	c, err := (&net.Dialer{Timeout: requestTimeout}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("connecting to the API: %w", err)
	}
	w.conn, w.r, w.used = c, bufio.NewReader(c), time.Now()
	return nil
}

func (w *wire) close() {
	if w.conn != nil {
		w.conn.Close()
		w.conn = nil
	}
}

// do sends a request and reads its whole answer, unless ctx is done first.
func (w *wire) do(ctx context.Context, request []byte) (status int, err error) {
	keep := false
	defer func() {
		if !keep {
			w.close()
		}
	}()
	w.used = time.Now()
	if err := w.conn.SetDeadline(w.used.Add(requestTimeout)); err != nil {
		return 0, err
	}
	conn := w.conn
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(time.Now()) })()
	if _, err := w.conn.Write(request); err != nil {
		return 0, err
	}
	response, err := http.ReadResponse(w.r, nil)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, response.Body)
	response.Body.Close()
	if err != nil {
		return 0, err
	}
	keep = !response.Close
	return response.StatusCode, nil
}

// request is one that is to be sent.
type request struct {
	id  uint64
	due time.Duration
}

// run sends by the job's schedule, or as answers come, until it is done or stop
// is closed.
func (g *generator) run(ctx context.Context, stop <-chan struct{}, wires []*wire) error {
	g.start = g.clock.Now()
	requests := make(chan request) // whoever is free takes the next
	var group sync.WaitGroup
	for _, w := range wires {
		group.Go(func() {
			for r := range requests {
				if !g.send(ctx, w, r) && g.job.Rate == 0 {
					g.clock.SleepUntil(ctx, g.clock.Now()+restAfterError)
				}
			}
		})
	}
	err := g.schedule(ctx, stop, requests)
	close(requests)
	group.Wait()
	return err
}

func (g *generator) schedule(ctx context.Context, stop <-chan struct{}, requests chan<- request) error {
	for i := range g.job.sends() {
		r := request{id: g.job.FirstID + uint64(i)}
		if g.job.Rate > 0 {
			r.due = g.start + time.Duration(intended(uint64(i), g.job.Rate))
			g.clock.SleepUntil(ctx, r.due)
		} else if g.job.Duration > 0 && g.clock.Now()-g.start >= seconds(g.job.Duration) {
			return nil
		}
		select {
		case <-stop: // first: it counts even where somebody is free
			return nil
		default:
		}
		select {
		case requests <- r: // waits while all connections are busy, and is late then
		case <-stop:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// send makes a request and is false where it got no answer.
func (g *generator) send(ctx context.Context, w *wire, r request) bool {
	body, err := json.Marshal(post{ID: r.id, Title: sentTitle, Content: sentContent})
	if err != nil {
		panic(fmt.Sprintf("webapi: encoding a post: %v", err)) // it is made of numbers and constants
	}
	text := fmt.Appendf(nil, "%s%d\r\n\r\n%s", g.head, len(body), body)
	err = w.open(ctx, g.addr)
	now := g.clock.Now()
	if g.job.Rate == 0 {
		r.due = now
	}
	g.begin(r, now)
	if err != nil { // nobody has seen it
		g.end(r, now, 0, false)
		return false
	}
	status, err := w.do(ctx, text)
	g.end(r, now, status, true)
	return err == nil
}

// begin notes a request that is about to be sent.
func (g *generator) begin(r request, now time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.o.Sent++
	g.sent.add(now - g.start)
	if now-r.due > load.LateAfter {
		g.o.Late++
	}
}

// end notes an answer; a status of 0 is none.
func (g *generator) end(r request, sent time.Duration, status int, written bool) {
	now := g.clock.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.o.Requests++
	counter := g.o.counter(status)
	*counter++
	if status == 0 {
		if written {
			g.o.UncertainIDs = append(g.o.UncertainIDs, r.id)
		}
		return
	}
	g.answered.add(now - g.start)
	if counter == &g.o.Accepted {
		g.accepted.add(now - g.start)
		g.longestGap = max(g.longestGap, now-g.start-g.lastAccepted)
		g.lastAccepted = now - g.start
		g.o.AcceptedIDs = append(g.o.AcceptedIDs, r.id)
		g.answer.Record(now - r.due)
		g.actual.Record(now - sent)
	}
}

// outcome is what has been done so far.
func (g *generator) outcome(w window) Outcome {
	g.mu.Lock()
	defer g.mu.Unlock()
	o := g.o
	w.report(&o)
	o.Began = g.start.Nanoseconds()
	o.FirstID, o.Rate = g.job.FirstID, g.job.Rate
	if g.job.Rate > 0 {
		o.Scheduled = g.job.sends()
	}
	slices.Sort(o.AcceptedIDs)
	slices.Sort(o.UncertainIDs)
	answer, actual := g.answer.Encode(), g.actual.Encode()
	o.Answer, o.AnswerActual = &answer, &actual
	o.LongestGap = max(g.longestGap, seconds(o.Elapsed)-g.lastAccepted).Seconds()
	o.Series = map[string]measure.Series{SeriesSent: g.sent.series(), SeriesAnswered: g.answered.series(), SeriesAccepted: g.accepted.series()}
	return o
}

// generate is the role Generate.
func (s *talk) generate(ctx context.Context) (Outcome, error) {
	clock := load.NewClock()
	g, err := newGenerator(s.job, clock)
	if err != nil {
		return Outcome{}, err
	}
	var wires []*wire
	defer func() {
		for _, w := range wires {
			w.close()
		}
	}()
	for range s.job.Connections { // what connecting costs belongs to no request
		w := &wire{}
		if err := w.open(ctx, g.addr); err != nil {
			return Outcome{}, err
		}
		wires = append(wires, w)
	}
	if err := s.ready(""); err != nil {
		return Outcome{}, err
	}
	if err := <-s.until(ctx, "start"); err != nil {
		return Outcome{}, err
	}
	stop := make(chan struct{})
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	go func() {
		if err := <-s.until(ctx, "stop"); err != nil {
			fail(err)
			return
		}
		close(stop)
	}()
	w := openWindow(clock)
	err = g.run(ctx, stop, wires)
	return g.outcome(w), err
}
