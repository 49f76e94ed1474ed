package webapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	amqp "github.com/rabbitmq/amqp091-go"

	"genreport/measure/load"
)

var (
	errBusy       = errors.New("no channel to the broker became free in time")
	errNacked     = errors.New("the broker did not confirm the message: it refused it, or the connection was lost")
	errUnroutable = errors.New("the broker has no queue for the message")
)

// channel carries one message at a time.
type channel interface {
	// send writes a message. The pending is nil where nothing is confirmed.
	send(body []byte) (pending, error)
	// returned reports whether the broker gave the last message back.
	returned() bool
	closed() bool
	close()
}

// pending is a message without a confirm so far; *amqp.DeferredConfirmation is
// one.
type pending interface {
	// WaitContext is whether the broker took the message; not so when the
	// channel was lost, an error when ctx is done first.
	WaitContext(ctx context.Context) (bool, error)
}

// amqpChannel is a channel of a real broker.
type amqpChannel struct {
	ch      *amqp.Channel
	queue   string
	confirm bool
	returns chan amqp.Return // room for one: there is one message at a time
}

func newAMQPChannel(conn *amqp.Connection, queue string, confirm bool) (*amqpChannel, error) {
	ch, err := openChannel(conn, queue)
	if err != nil {
		return nil, err
	}
	c := &amqpChannel{ch: ch, queue: queue, confirm: confirm}
	if confirm {
		if err := ch.Confirm(false); err != nil {
			ch.Close()
			return nil, fmt.Errorf("asking for publisher confirms: %w", err)
		}
		c.returns = ch.NotifyReturn(make(chan amqp.Return, 1))
	}
	return c, nil
}

func (c *amqpChannel) send(body []byte) (pending, error) {
	// With confirms the message is mandatory: the broker confirms one that no
	// queue takes, too, and gives it back before.
	d, err := c.ch.PublishWithDeferredConfirm("", c.queue, c.confirm, false,
		amqp.Publishing{ContentType: "application/json", DeliveryMode: amqp.Persistent, Body: body})
	if err != nil || d == nil {
		return nil, err
	}
	return d, nil
}

func (c *amqpChannel) returned() bool {
	select {
	case _, ok := <-c.returns:
		return ok
	default:
		return false
	}
}

func (c *amqpChannel) closed() bool { return c.ch.IsClosed() }
func (c *amqpChannel) close()       { c.ch.Close() }

// pool is a bounded number of channels. A channel for each request would cost a
// round trip each, and a leak of them the connection.
type pool struct {
	open  func() (channel, error)
	slots chan channel // of channels that are free; nil: one that is to be opened
}

func newPool(size int, open func() (channel, error)) *pool {
	p := &pool{open: open, slots: make(chan channel, size)}
	for range size {
		p.slots <- nil
	}
	return p
}

// get waits for a free channel, and opens it where it has none that works.
// Whoever has it gives it back with put.
func (p *pool) get(ctx context.Context) (channel, error) {
	var ch channel
	select {
	case ch = <-p.slots:
	case <-ctx.Done():
		return nil, errBusy
	}
	if ch != nil && !ch.closed() {
		return ch, nil
	}
	type result struct {
		ch  channel
		err error
	}
	opened := make(chan result, 1)
	go func() { // it can't be cancelled
		ch, err := p.open()
		opened <- result{ch, err}
	}()
	select {
	case r := <-opened:
		if r.err != nil {
			p.slots <- nil
			return nil, r.err
		}
		return r.ch, nil
	case <-ctx.Done():
		go func() {
			r := <-opened
			if r.err != nil {
				r.ch = nil
			}
			p.slots <- r.ch
		}()
		return nil, errBusy
	}
}

// put gives a channel back. One that is not whole is closed, and counts until
// it is: the broker may still have it.
func (p *pool) put(ch channel, whole bool) {
	if whole {
		p.slots <- ch
		return
	}
	go func() {
		ch.close()
		p.slots <- nil
	}()
}

// warm opens all channels.
func (p *pool) warm(ctx context.Context) error {
	var all []channel
	var err error
	for range cap(p.slots) {
		var ch channel
		if ch, err = p.get(ctx); err != nil {
			break
		}
		all = append(all, ch)
	}
	for _, ch := range all {
		p.put(ch, true)
	}
	return err
}

// publish returns once the message is written or, with confirms, once this very
// message is confirmed.
func publish(ctx context.Context, ch channel, body []byte) error {
	p, err := ch.send(body)
	if err != nil {
		return fmt.Errorf("publishing: %w", err)
	}
	if p == nil {
		return nil
	}
	taken, err := p.WaitContext(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("waiting for the broker's confirm: %w", err)
	case !taken:
		return errNacked
	case ch.returned():
		return errUnroutable
	}
	return nil
}

// queue takes posts for the consumer.
type queue struct {
	pool     *pool
	writable func(ctx context.Context) error
	clock    *load.Clock
	stage    *stage
}

func newQueue(l *link, job Job, clock *load.Clock) *queue {
	open := func() (channel, error) {
		conn, err := l.current()
		if err != nil {
			return nil, err
		}
		return newAMQPChannel(conn, job.Queue, job.Mode == AsyncConfirm)
	}
	return &queue{pool: newPool(job.Channels, open), writable: l.writable, clock: clock, stage: newStage()}
}

// add publishes a post. After an error it may be in the queue all the same.
func (q *queue) add(ctx context.Context, p post) error {
	body, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if err := q.writable(ctx); err != nil {
		return err
	}
	began := q.clock.Now() // as an insert's begins before it has a connection
	ch, err := q.pool.get(ctx)
	if err != nil {
		return err
	}
	err = publish(ctx, ch, body)
	q.pool.put(ch, err == nil)
	if err == nil {
		q.stage.record(q.clock.Now() - began)
	}
	return err
}
