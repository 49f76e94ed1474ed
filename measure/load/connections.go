package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// dialing is how many connections are opened, used or closed at the same time:
// enough to keep a broker busy, too few for its listener to refuse any.
const dialing = 16

// spareFiles is what a process needs besides its connections.
const spareFiles = 64

// connections opens the job's connections, sends and receives a burst over
// each, and closes them, a stage each time it is told to start.
func (w *worker) connections(ctx context.Context) error {
	if err := enoughFiles(w.job.Connections); err != nil {
		return err
	}
	conns := make([]*amqp.Connection, w.job.Connections)
	closeAll := func(ctx context.Context) error {
		return each(ctx, len(conns), func(i int) error {
			if conns[i] == nil {
				return nil
			}
			err := conns[i].CloseDeadline(time.Now().Add(w.remaining(ctx)))
			conns[i] = nil
			return err
		})
	}
	defer func() { _ = closeAll(context.WithoutCancel(ctx)) }()
	// A broker that is not there is told before anything is timed.
	if err := Check(ctx, w.job.URI, w.job.CA); err != nil {
		return err
	}
	if err := w.say.Encode(Message{Type: TypeReady, Ready: describe(Tune{})}); err != nil {
		return err
	}
	moved := bursts{tally: newTally(1)}
	for _, stage := range []func(*Outcome) error{
		func(r *Outcome) error {
			return each(ctx, len(conns), func(i int) (err error) {
				conns[i], _, err = dial(ctx, w.job)
				return err
			})
		},
		func(r *Outcome) error {
			err := each(ctx, len(conns), func(i int) error { return w.burst(ctx, conns[i], uint32(i), &moved) })
			moved.report(r)
			return err
		},
		func(r *Outcome) error { return closeAll(ctx) },
	} {
		switch err := w.await(ctx, "start"); {
		case errors.Is(err, errStopped):
			return nil
		case err != nil:
			return err
		}
		began, cpu := time.Now(), cpuTime()
		r := Outcome{Began: began.UnixNano()}
		err := stage(&r)
		r.Elapsed, r.CPU = time.Since(began).Seconds(), (cpuTime() - cpu).Seconds()
		for _, c := range conns {
			if c != nil {
				r.Opened++
			}
		}
		if err != nil {
			w.partial = &r
			return errors.Join(ctx.Err(), fmt.Errorf("with %d connections open: %w", r.Opened, err))
		}
		if err := w.say.Encode(Message{Type: TypeResult, Result: &r}); err != nil {
			return err
		}
	}
	return w.await(ctx, "stop")
}

// bursts counts the messages of all connections.
type bursts struct {
	mu   sync.Mutex
	sent int
	tally
}

func (b *bursts) send() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sent++
}

func (b *bursts) take(body []byte, redelivered bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tally.take(0, body, redelivered)
}

// report leaves out what says nothing: connections take each other's messages, so
// there is no order, and of thousands of streams the sum is enough.
func (b *bursts) report(r *Outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tally.report(r)
	r.Sent, r.Streams, r.OutOfOrder, r.Lost = b.sent, nil, 0, 0
	if b.unnumbered == 0 {
		r.Lost = max(b.sent-b.consumed, 0)
	}
}

// burstPatience is how long a connection waits for a message before it takes it
// that none is coming.
const burstPatience = 3 * time.Second

// burst sends the job's messages over a connection and takes as many from the
// queue, whosever they are. Those that don't come are missing in the counts.
func (w *worker) burst(ctx context.Context, conn *amqp.Connection, publisher uint32, moved *bursts) error {
	ch, err := conn.Channel()
	if err != nil {
		return fmt.Errorf("opening a channel: %w", err)
	}
	job := w.job
	job.Publisher = publisher
	body := bodies(job, 1) // it is written before publishing returns
	for range w.job.Messages {
		msg := amqp.Publishing{DeliveryMode: amqp.Transient, Body: body()}
		if err := ch.PublishWithContext(ctx, "", w.job.Queue, false, false, msg); err != nil {
			return fmt.Errorf("publishing: %w", err)
		}
		moved.send()
	}
	last := time.Now()
	for got := 0; got < w.job.Messages && time.Since(last) < burstPatience; {
		d, ok, err := ch.Get(w.job.Queue, true)
		if err != nil {
			return fmt.Errorf("getting a message: %w", err)
		}
		if ok {
			moved.take(d.Body, d.Redelivered)
			got++
			last = time.Now()
			continue
		}
		select { // it is on its way into the queue
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
	return ch.Close()
}

// each calls do for 0…n-1, some at a time, until one fails.
func each(ctx context.Context, n int, do func(i int) error) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(dialing, n) {
		group.Go(func() {
			for i := int(next.Add(1) - 1); i < n && ctx.Err() == nil; i = int(next.Add(1) - 1) {
				if err := do(i); err != nil {
					fail(err)
				}
			}
		})
	}
	group.Wait()
	return context.Cause(ctx)
}

// enoughFiles refuses more connections than this process may have files open.
// Go raises the soft limit to the hard one by itself.
func enoughFiles(connections int) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return nil // the first one too many will tell
	}
	if need := uint64(connections + spareFiles); limit.Max < need {
		return fmt.Errorf("%d connections need %d open files, and the limit here is %d; raise it with ulimit -n", connections, need, limit.Max)
	}
	return nil
}
