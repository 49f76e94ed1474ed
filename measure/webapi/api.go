package webapi

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gin-gonic/gin"

	"genreport/measure/load"
)

const (
	// answerTimeout is how long a request may wait for the database or the
	// broker, confirms included.
	answerTimeout = 5 * time.Second
	// maxBody is the most that a post may take as JSON: each byte of it may be
	// escaped as \u0000.
	maxBody = 6*(maxContent+4*maxTitle) + 1<<10
	// shutdownTimeout is how long requests may take to end when the API stops.
	shutdownTimeout = 2 * answerTimeout
)

// api answers requests.
type api struct {
	// store keeps a post; with an error the answer is 503. The status is that of
	// the answer.
	store   func(ctx context.Context, p post) (status int, err error)
	healthy func(ctx context.Context) error
	timeout time.Duration
	ids     idSource

	mu      sync.Mutex
	answers map[int]int // by status
}

// newAPI has no store yet.
func newAPI() *api {
	return &api{timeout: answerTimeout, ids: newIDSource(), answers: map[int]int{}}
}

// storeIn is mode Sync.
func (a *api) storeIn(t *table) {
	a.store = func(ctx context.Context, p post) (int, error) {
		added, err := t.add(ctx, p)
		if !added {
			return http.StatusOK, err // it was there
		}
		return http.StatusCreated, err
	}
	a.healthy = t.ping
}

// publishTo is the other two modes.
func (a *api) publishTo(q *queue) {
	a.store = func(ctx context.Context, p post) (int, error) { return http.StatusAccepted, q.add(ctx, p) }
	a.healthy = q.writable
}

func (a *api) handler() http.Handler {
	r := gin.New()
	r.Use(a.count, gin.Recovery()) // no log of requests
	r.POST("/posts", a.create)
	r.GET("/healthz", a.health)
	return r
}

// count notes how a post was answered, a panic included.
func (a *api) count(c *gin.Context) {
	c.Next()
	if c.FullPath() != "/posts" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answers[c.Writer.Status()]++
}

func (a *api) create(c *gin.Context) {
	var in struct {
		ID      *uint64 `json:"id"`
		Title   string  `json:"title"`
		Content string  `json:"content"`
	}
	c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, maxBody)
	err := c.ShouldBindJSON(&in)
	p := post{Title: in.Title, Content: in.Content}
	switch {
	case err != nil:
		err = errors.New("the body is not a JSON object with title, content and, where you have one, a numeric id")
	case in.ID == nil:
		p.ID = a.ids.next()
	case *in.ID == 0:
		err = errors.New("id is 0: ids count from 1")
	default:
		p.ID = *in.ID
	}
	if err == nil {
		err = p.validate()
	}
	if err != nil {
		c.JSON(http.StatusBadRequest, gin.H{"error": err.Error()})
		return
	}
	// A client that goes away does not cut off what it has asked for.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request.Context()), a.timeout)
	defer cancel()
	status, err := a.store(ctx, p)
	if err != nil { // what it says is not for strangers
		unavailable(c, "the post could not be stored now; it may be stored even so")
		return
	}
	c.JSON(status, gin.H{"id": p.ID})
}

func (a *api) health(c *gin.Context) {
	ctx, cancel := context.WithTimeout(c.Request.Context(), time.Second)
	defer cancel()
	if err := a.healthy(ctx); err != nil {
		unavailable(c, "the database or the broker is not there")
		return
	}
	c.JSON(http.StatusOK, gin.H{"status": "ok"})
}

func unavailable(c *gin.Context, why string) {
	c.Header("Retry-After", "1")
	c.JSON(http.StatusServiceUnavailable, gin.H{"error": why})
}

func (a *api) report(o *Outcome) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for status, n := range a.answers {
		o.Requests += n
		*o.counter(status) += n
	}
}

// counter is where an answer counts.
func (o *Outcome) counter(status int) *int {
	switch {
	case status >= 200 && status < 300:
		return &o.Accepted
	case status == http.StatusServiceUnavailable:
		return &o.Refused
	case status == http.StatusBadRequest:
		return &o.BadRequests
	}
	return &o.Errors
}

// idSource makes ids for posts that come without: 31 random bits of this
// process, then a count. They rise, so that an index over them grows at its end,
// and no two processes make the same.
type idSource struct {
	base  uint64
	count *atomic.Uint64
}

func newIDSource() idSource {
	var b [4]byte
	rand.Read(b[:]) // never fails
	high := uint64(binary.BigEndian.Uint32(b[:])>>1) | 1
	return idSource{high << 32, &atomic.Uint64{}}
}

func (s idSource) next() uint64 { return s.base + s.count.Add(1) }

// soReusePort is Linux's SO_REUSEPORT, which package syscall does not have.
const soReusePort = 0xf

// listen opens a port that other processes of this user may share.
func listen(ctx context.Context, addr string) (net.Listener, error) {
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var set error
		err := c.Control(func(fd uintptr) { set = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, soReusePort, 1) })
		return errors.Join(err, set)
	}}
	l, err := config.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listening for requests: %w", err)
	}
	return l, nil
}

// serveAPI is the role API.
func (s *talk) serveAPI(ctx context.Context) (Outcome, error) {
	gin.SetMode(gin.ReleaseMode)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a := newAPI()
	clock := load.NewClock()
	report := []func(*Outcome){a.report}
	var log *commits
	if s.job.Mode == Sync {
		t, err := openTable(ctx, s.job, clock)
		if err != nil {
			return Outcome{}, err
		}
		defer t.close()
		log = t.log
		a.storeIn(t)
		report = append(report, t.log.report, func(o *Outcome) { o.Insert = t.insert.encode() })
	} else {
		l, err := openLink(ctx, s.job.URI, s.job.CA)
		if err != nil {
			return Outcome{}, err
		}
		defer func() { cancel(); <-l.kept }() // the close hands over what was published before it
		q := newQueue(l, s.job, clock)
		if err := q.pool.warm(ctx); err != nil {
			return Outcome{}, err
		}
		a.publishTo(q)
		report = append(report, func(o *Outcome) { o.Publish = q.stage.encode() })
	}
	l, err := listen(ctx, s.job.Listen)
	if err != nil {
		return Outcome{}, err
	}
	server := &http.Server{
		Handler:           a.handler(),
		ReadHeaderTimeout: 10 * time.Second, // also of a new connection without a request
		ReadTimeout:       20 * time.Second,
		WriteTimeout:      answerTimeout + 10*time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
	}
	served := make(chan error, 1)
	w := openWindow(clock)
	if log != nil {
		log.begin(w.began)
	}
	go func() { served <- server.Serve(l) }()
	defer server.Close()
	outcome := func() (o Outcome) {
		for _, f := range report {
			f(&o)
		}
		w.report(&o)
		return o
	}
	if err := s.ready(l.Addr().String()); err != nil {
		return Outcome{}, err
	}
	select {
	case err := <-served:
		return outcome(), fmt.Errorf("serving requests: %w", err)
	case err := <-s.until(ctx, "stop"):
		if err != nil {
			return outcome(), err
		}
	}
	end, stop := context.WithTimeout(ctx, shutdownTimeout)
	defer stop()
	err = server.Shutdown(end)
	if err != nil {
		err = fmt.Errorf("waiting for the last requests: %w", err)
	}
	return outcome(), err
}
