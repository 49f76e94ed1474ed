package webapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"genreport/measure/load"
)

// consumerTag names the only consumer of a connection.
const consumerTag = "posts"

// drainTimeout is how long a consumer that is stopped may work on what it has
// been sent. The rest goes back to the queue.
const drainTimeout = 10 * time.Second

// consumer stores the posts of a queue. What it has not acknowledged goes back
// to the queue when its connection ends, in whichever way.
type consumer struct {
	job   Job
	store func(ctx context.Context, p post) (added bool, err error)

	mu               sync.Mutex
	redelivered, bad int
}

// subscription is a connection with a consumer on it.
type subscription struct {
	conn       *amqp.Connection
	ch         *amqp.Channel
	deliveries <-chan amqp.Delivery
}

func (c *consumer) subscribe(ctx context.Context) (*subscription, error) {
	conn, err := dial(ctx, c.job.URI, c.job.CA)
	if err != nil {
		return nil, err
	}
	ch, err := openChannel(conn, c.job.Queue)
	if err == nil && c.job.Prefetch > 0 {
		err = ch.Qos(c.job.Prefetch, 0, false)
	}
	var deliveries <-chan amqp.Delivery
	if err == nil {
		deliveries, err = ch.Consume(c.job.Queue, consumerTag, false, false, false, false, nil)
	}
	if err != nil {
		conn.CloseDeadline(time.Now().Add(closeTimeout))
		return nil, fmt.Errorf("consuming: %w", err)
	}
	return &subscription{conn, ch, deliveries}, nil
}

func (s *subscription) close() { s.conn.CloseDeadline(time.Now().Add(closeTimeout)) }

// run consumes until stop is closed, and subscribes again whenever the
// connection is lost. It returns once nothing is in hand.
func (c *consumer) run(ctx context.Context, stop <-chan struct{}, s *subscription) {
	stopping, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-stop:
			cancel()
		case <-stopping.Done():
		}
	}()
	var wait backoff
	for {
		began := time.Now()
		c.work(ctx, stopping, s)
		s.close()
		if time.Since(began) > time.Second { // one that ends at once is no success
			wait.reset()
		}
		for {
			if !wait.sleep(stopping) {
				return
			}
			var err error
			if s, err = c.subscribe(stopping); err == nil {
				break
			}
		}
	}
}

// work takes what a subscription delivers until it ends. When stopping is done
// it takes what was delivered by then.
func (c *consumer) work(ctx, stopping context.Context, s *subscription) {
	var group sync.WaitGroup
	for range c.job.Workers {
		group.Go(func() { c.worker(ctx, stopping, s.deliveries) })
	}
	ended := make(chan struct{})
	go func() { group.Wait(); close(ended) }()
	select {
	case <-ended:
		return
	case <-stopping.Done():
	}
	go s.ch.Cancel(consumerTag, false) // a broker that stands still never answers
	select {
	case <-ended:
	case <-time.After(drainTimeout):
		s.close()
		<-ended // each has one post in hand, and a deadline
	case <-ctx.Done():
		s.close()
		<-ended
	}
}

func (c *consumer) worker(ctx, stopping context.Context, deliveries <-chan amqp.Delivery) {
	var wait backoff
	for d := range deliveries {
		c.take(ctx, stopping, &wait, d.Body, d.Redelivered, d)
	}
}

// settler says what becomes of a delivery; [amqp.Delivery] is one. When the
// connection is lost, the broker delivers it again: its errors need no care.
type settler interface {
	Ack(multiple bool) error
	Nack(multiple, requeue bool) error
}

// take stores a post and acknowledges it after the commit. Where that can't be
// done it goes back to the queue, after a while: it is delivered again at once.
func (c *consumer) take(ctx, stopping context.Context, wait *backoff, body []byte, redelivered bool, d settler) {
	var p post
	err := json.Unmarshal(body, &p)
	if err == nil {
		err = p.validate()
	}
	c.mu.Lock()
	if redelivered {
		c.redelivered++
	}
	if err != nil {
		c.bad++
	}
	c.mu.Unlock()
	if err != nil { // it never becomes a post
		_ = d.Nack(false, false)
		return
	}
	within, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	if _, err := c.store(within, p); err != nil {
		wait.sleep(stopping)
		_ = d.Nack(false, true)
		return
	}
	wait.reset()
	_ = d.Ack(false)
}

func (c *consumer) report(o *Outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o.Redelivered, o.BadRequests = c.redelivered, c.bad
}

// consume is the role Consumer.
func (s *talk) consume(ctx context.Context) (Outcome, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	clock := load.NewClock()
	t, err := openTable(ctx, s.job, clock)
	if err != nil {
		return Outcome{}, err
	}
	defer t.close()
	c := &consumer{job: s.job, store: t.add}
	sub, err := c.subscribe(ctx)
	if err != nil {
		return Outcome{}, err
	}
	w := openWindow(clock)
	t.log.begin(w.began)
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() { c.run(ctx, stop, sub); close(ended) }()
	err = s.ready("")
	if err == nil {
		err = <-s.until(ctx, "stop")
	}
	if err != nil {
		cancel()
	} else {
		close(stop)
	}
	<-ended
	if err == nil && ctx.Err() != nil {
		err = errors.New("the job's time was up while it stopped")
	}
	var o Outcome
	c.report(&o)
	t.log.report(&o)
	o.Insert = t.insert.encode()
	w.report(&o)
	return o, err
}
