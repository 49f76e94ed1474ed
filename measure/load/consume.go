package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"genreport/measure"
	"genreport/measure/load/latency"
)

// clockError is how far two processes' readings of the same clock may be apart.
const clockError = time.Millisecond

// consume receives from the job's queue with one consumer on each channel until
// the job's number of messages has come, its duration has passed, or the line
// "stop" comes. What r says holds with an error too.
func (w *worker) consume(ctx context.Context, channels []*amqp.Channel, r *Outcome) error {
	return w.heed(ctx, nil, func(ctx context.Context, stop <-chan struct{}) error {
		c := newConsumer(w.job, newMachineClock(), len(channels))
		return c.run(ctx, stop, channels, r)
	})
}

// consumer notes what comes in, over all channels.
type consumer struct {
	job   Job
	clock *machineClock
	start time.Duration

	over chan struct{} // closed once there is enough

	mu     sync.Mutex
	enough bool
	tally
	delivery *latency.Histogram
	per      perSecond
}

func newConsumer(job Job, clock *machineClock, channels int) *consumer {
	return &consumer{job: job, clock: clock, start: clock.Now(), over: make(chan struct{}), tally: newTally(channels), delivery: latency.New()}
}

func (c *consumer) run(ctx context.Context, stop <-chan struct{}, channels []*amqp.Channel, r *Outcome) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	if c.job.Duration > 0 {
		timer := time.AfterFunc(seconds(c.job.Duration), c.finish)
		defer timer.Stop()
	}
	var group sync.WaitGroup
	for i, ch := range channels {
		deliveries, err := ch.Consume(c.job.Queue, fmt.Sprintf("consumer-%d", i), false, false, false, false, nil)
		if err != nil {
			fail(fmt.Errorf("consuming on channel %d: %w", i+1, err))
			break
		}
		closed := ch.NotifyClose(make(chan *amqp.Error, 1))
		group.Go(func() {
			if err := c.receive(i, ch, deliveries); err != nil {
				select { // says more than "the consumer has ended"
				case reason := <-closed:
					if reason != nil {
						err = fmt.Errorf("%w: %v", err, reason)
					}
				case <-time.After(time.Second):
				}
				fail(fmt.Errorf("channel %d: %w", i+1, err))
			}
		})
	}
	r.Opened = len(channels)
	select {
	case <-c.over:
	case <-stop:
	case <-ctx.Done():
	}
	c.finish()
	r.Elapsed = (c.clock.Now() - c.start).Seconds()
	group.Wait()
	err := context.Cause(ctx)
	// What was delivered and not acknowledged goes back to the queue, and the
	// acknowledgements have been taken in once the channel is closed.
	for i, ch := range channels {
		if err == nil {
			if err = ch.Close(); err != nil {
				err = fmt.Errorf("closing channel %d: %w", i+1, err)
			}
		}
	}
	c.report(r)
	return err
}

// receive takes the deliveries of one channel and acknowledges them.
func (c *consumer) receive(i int, ch *amqp.Channel, deliveries <-chan amqp.Delivery) error {
	every := max(c.job.AckEvery, 1)
	var last uint64 // that was taken
	open := 0       // taken and not acknowledged
	ack := func() error {
		if open == 0 {
			return nil
		}
		err := ch.Ack(last, open > 1)
		open = 0
		return err
	}
	for {
		select {
		case <-c.over:
			return ack()
		case d, ok := <-deliveries:
			if !ok {
				return errors.New("the broker has ended the consumer")
			}
			if !c.take(i, d.Body, d.Redelivered, c.clock.Now()) {
				return ack()
			}
			last = d.DeliveryTag
			if open++; open >= every {
				if err := ack(); err != nil {
					return err
				}
			}
		}
	}
}

// take notes a delivery, unless there were enough before it.
func (c *consumer) take(i int, body []byte, redelivered bool, now time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.enough {
		return false
	}
	if s, numbered, first := c.tally.take(i, body, redelivered); first {
		c.per.add(now - c.start)
		if age := now - s.mono; numbered && s.boot != 0 && s.boot == c.clock.boot && age > -clockError {
			c.delivery.Record(age)
		}
		if c.consumed == c.job.Messages {
			c.end()
		}
	}
	return true
}

func (c *consumer) finish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end()
}

func (c *consumer) end() {
	if !c.enough {
		c.enough = true
		close(c.over)
	}
}

func (c *consumer) report(r *Outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tally.report(r)
	r.Latency = map[string]measure.Histogram{LatencyDelivery: c.delivery.Encode()}
	r.Series = map[string]measure.Series{SeriesConsumed: c.per.series()}
}
