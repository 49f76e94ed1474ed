package webapi

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"time"

	"genreport/measure"
)

// Role is what a process is.
type Role string

const (
	// API answers POST /posts until it is stopped.
	API Role = "api"
	// Consumer takes posts from the queue and stores them until it is stopped.
	Consumer Role = "consumer"
	// Generate sends posts to an API.
	Generate Role = "generate"
)

// Mode is what the API does with a post before it answers.
type Mode string

const (
	Sync         Mode = "sync"          // stores it
	Async        Mode = "async"         // publishes it
	AsyncConfirm Mode = "async-confirm" // publishes it and waits for the broker's confirm
)

// Modes lists them.
func Modes() []Mode { return []Mode{Sync, Async, AsyncConfirm} }

// Job tells a process what to do.
type Job struct {
	Role Role `json:"role"`
	Mode Mode `json:"mode,omitempty"` // API

	DSN string `json:"dsn,omitempty"`    // API in mode Sync, Consumer; with credentials
	URI string `json:"uri,omitempty"`    // AMQP: API in the other modes, Consumer; with credentials
	CA  string `json:"ca_pem,omitempty"` // trusted for amqps instead of the system's
	// Queue is a durable classic queue; whoever comes first declares it.
	Queue string `json:"queue,omitempty"`

	// Listen is a loopback address. Several APIs may share its port: the kernel
	// spreads connections over them. Port 0 takes a free one; see Ready.
	Listen string `json:"listen,omitempty"`
	// DBPool is how many connections to the database are open at most, and are
	// kept when idle.
	DBPool int `json:"db_pool,omitempty"`
	// Channels is how many AMQP channels the API has: each carries one message
	// at a time, and a request waits for a free one.
	Channels int `json:"channels,omitempty"`
	// Prefetch is the consumer's basic.qos; 0 sets no limit.
	Prefetch int `json:"prefetch,omitempty"`
	// Workers each insert, commit and acknowledge one message at a time.
	Workers int `json:"workers,omitempty"`
	// Unique takes a post whose id is in the table for stored. The table must
	// have been prepared so.
	Unique bool `json:"unique,omitempty"`
	// Record keeps the id and time of every commit.
	Record bool `json:"record,omitempty"`

	// Generate: the API's http URL, path included.
	URL string `json:"url,omitempty"`
	// Rate is that of an open loop, in requests per second; 0 is a closed loop
	// in which each connection sends when it has its answer.
	Rate float64 `json:"rate_per_s,omitempty"`
	// Duration ends the sending, in seconds. With a rate, what is to be sent
	// within it is sent, however late.
	Duration float64 `json:"duration_s,omitempty"`
	Messages int     `json:"messages,omitempty"` // at most; 0 leaves the end to Duration
	// Connections are kept alive and each has one request in flight.
	Connections int    `json:"connections,omitempty"`
	FirstID     uint64 `json:"first_id,omitempty"` // of the first post; the others count on from it

	// Limit bounds the whole job, in seconds from the moment it is read.
	Limit float64 `json:"limit_s"`
}

const (
	// MaxLimit bounds what a job may ask for.
	MaxLimit = 30 * time.Minute
	// MaxRequests is the most that one generator sends.
	MaxRequests = 2_000_000
)

// Validate refuses jobs that are incomplete, or not bounded in count and time.
func (j Job) Validate() error {
	var err error
	switch j.Role {
	case API:
		err = j.validateAPI()
	case Consumer:
		err = j.validateConsumer()
	case Generate:
		err = j.validateGenerate()
	default:
		err = fmt.Errorf("unknown role %q, want %s, %s or %s", j.Role, API, Consumer, Generate)
	}
	if err == nil && !(j.Limit > 0 && j.Limit <= MaxLimit.Seconds()) {
		err = fmt.Errorf("limit_s is %v, not in 0…%v", j.Limit, MaxLimit.Seconds())
	}
	return err
}

func (j Job) validateAPI() error {
	host, _, err := net.SplitHostPort(j.Listen)
	if err != nil || !net.ParseIP(host).IsLoopback() {
		return fmt.Errorf("listen is %q, want a loopback address with a port, such as 127.0.0.1:9580", j.Listen)
	}
	switch j.Mode {
	case Sync:
		return j.validateDatabase()
	case Async, AsyncConfirm:
		if j.Channels < 1 || j.Channels > 2000 {
			return fmt.Errorf("channels is %d, not in 1…2000", j.Channels)
		}
		return j.validateBroker()
	}
	return fmt.Errorf("unknown mode %q, want one of %v", j.Mode, Modes())
}

func (j Job) validateDatabase() error {
	if j.DSN == "" {
		return errors.New("the job needs a dsn")
	}
	if j.DBPool < 1 || j.DBPool > 1000 {
		return fmt.Errorf("db_pool is %d, not in 1…1000", j.DBPool)
	}
	return nil
}

func (j Job) validateBroker() error {
	if j.URI == "" || j.Queue == "" {
		return errors.New("the job needs a uri and a queue")
	}
	return nil
}

func (j Job) validateConsumer() error {
	if j.Workers < 1 || j.Workers > 1000 {
		return fmt.Errorf("workers is %d, not in 1…1000", j.Workers)
	}
	if j.Prefetch < 0 || j.Prefetch > 65535 {
		return fmt.Errorf("prefetch is %d, not in 0…65535", j.Prefetch)
	}
	return errors.Join(j.validateDatabase(), j.validateBroker())
}

func (j Job) validateGenerate() error {
	u, err := url.Parse(j.URL)
	if err != nil || u.Scheme != "http" || u.Host == "" || u.User != nil {
		return errors.New("url must be an http URL with a host and without credentials")
	}
	switch {
	case !(j.Rate >= 0 && j.Rate <= 1e5):
		return fmt.Errorf("rate_per_s is %v, not in 0…1e5", j.Rate)
	case !(j.Duration >= 0 && j.Duration <= MaxLimit.Seconds()):
		return fmt.Errorf("duration_s is %v, not in 0…%v", j.Duration, MaxLimit.Seconds())
	case j.Messages < 0 || j.Messages > MaxRequests:
		return fmt.Errorf("messages is %d, not in 0…%d", j.Messages, MaxRequests)
	case j.Messages == 0 && j.Duration == 0:
		return errors.New("a generator needs messages or a duration: it would not end")
	case j.Connections < 1 || j.Connections > 10_000:
		return fmt.Errorf("connections is %d, not in 1…10000", j.Connections)
	case j.FirstID == 0 || j.FirstID > math.MaxInt64:
		return fmt.Errorf("first_id is %d: ids count from 1", j.FirstID)
	}
	if j.Rate == 0 {
		return nil
	}
	n := j.sends()
	if n > MaxRequests {
		return fmt.Errorf("%v requests per second for %v s are %d, the most is %d", j.Rate, j.Duration, n, MaxRequests)
	}
	if long := float64(n-1) / j.Rate; long > MaxLimit.Seconds() {
		return fmt.Errorf("the last request would be sent after %.0f s, the limit is %v", long, MaxLimit.Seconds())
	}
	return nil
}

// sends is how many requests an open loop has: those whose time lies within the
// duration. For a closed loop it is the most.
func (j Job) sends() int {
	n := j.Messages
	if n == 0 {
		n = math.MaxInt
	}
	if j.Rate > 0 && j.Duration > 0 {
		return min(n, int(math.Ceil(j.Rate*j.Duration-1e-6)))
	}
	return min(n, MaxRequests)
}

// MessageType says which fields of a Message mean something.
type MessageType string

const (
	TypeReady  MessageType = "ready"
	TypeResult MessageType = "result"
	// TypeError says that the job could not be done; the process ends. Result
	// is what was done of it, where that is known.
	TypeError MessageType = "error"
)

// Message is one line of a process's standard output.
type Message struct {
	Type   MessageType `json:"type"`
	Ready  *Ready      `json:"ready,omitempty"`
	Result *Outcome    `json:"result,omitempty"`
	Error  string      `json:"error,omitempty"`
}

// Ready describes a process that is about to work.
type Ready struct {
	Runtime  string            `json:"runtime"`          // Go
	Versions map[string]string `json:"versions"`         // of the libraries it is made of
	Listen   string            `json:"listen,omitempty"` // API: host and port
}

// Outcome is what a process did.
type Outcome struct {
	// Requests are POST /posts: for the API those that it answered, for a
	// generator those that it sent. The next four add up to it.
	Requests    int `json:"requests"`
	Accepted    int `json:"accepted"`     // 2xx
	Refused     int `json:"refused"`      // 503
	BadRequests int `json:"bad_requests"` // 400; for a consumer, messages that are no posts, which it drops
	Errors      int `json:"errors"`       // no answer, or another status

	Inserted    int `json:"inserted"`    // rows committed
	Redelivered int `json:"redelivered"` // deliveries that the broker marked so

	Elapsed float64 `json:"elapsed_s"` // from Began to the end of the work
	CPU     float64 `json:"cpu_s"`     // user and system time of the process over the same window
	// Began is CLOCK_MONOTONIC when the work began, for the API and a consumer
	// when they were ready, in nanoseconds: compare on one machine only.
	Began int64 `json:"began_monotonic_ns"`

	// Stages, of those that went well. Insert is from asking for a database
	// connection to the COMMIT's return, Publish from asking for a channel until the
	// message is written or, with confirms, confirmed.
	Insert  *measure.Histogram `json:"insert,omitempty"`
	Publish *measure.Histogram `json:"publish,omitempty"`

	// Generate: latencies of accepted posts, from the intended and from the
	// actual send. In a closed loop they are the same.
	Answer       *measure.Histogram `json:"answer,omitempty"`
	AnswerActual *measure.Histogram `json:"answer_actual,omitempty"`
	Sent         int                `json:"sent,omitempty"`
	Late         int                `json:"late,omitempty"`      // of these, sent more than load.LateAfter after their time
	Scheduled    int                `json:"scheduled,omitempty"` // that were to be sent; 0 in a closed loop
	FirstID      uint64             `json:"first_id,omitempty"`
	Rate         float64            `json:"rate_per_s,omitempty"`
	// LongestGap is the longest time in seconds without an accepted answer, from
	// the start of the work to its end.
	LongestGap   float64  `json:"longest_gap_s,omitempty"`
	AcceptedIDs  []uint64 `json:"accepted_ids,omitempty"`
	UncertainIDs []uint64 `json:"uncertain_ids,omitempty"` // written, at least in part, and not answered in whole

	// Record: posts whose COMMIT has returned, and CLOCK_MONOTONIC right after
	// it, in nanoseconds.
	CommitIDs []uint64 `json:"commit_ids,omitempty"`
	CommitAt  []int64  `json:"commit_at_monotonic_ns,omitempty"`

	// Series are events in each second since Began; the last is not a whole one.
	Series map[string]measure.Series `json:"series,omitempty"`
}

// The names in Outcome.Series.
const (
	SeriesSent      = "sent"
	SeriesAnswered  = "answered" // with whatever status
	SeriesAccepted  = "accepted"
	SeriesCommitted = "committed"
)

// Intended is CLOCK_MONOTONIC, in nanoseconds, when a post of a generator with
// a rate was to be sent.
func (o Outcome) Intended(id uint64) int64 {
	return o.Began + intended(id-o.FirstID, o.Rate)
}

// intended is the time of request i since the start, in nanoseconds.
func intended(i uint64, rate float64) int64 {
	return int64(math.Round(float64(i) * 1e9 / rate))
}
