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
	var moved atomic.Int64
	for _, stage := range []func(*Outcome) error{
		func(r *Outcome) error {
			return each(ctx, len(conns), func(i int) (err error) {
				conns[i], _, err = dial(ctx, w.job)
				return err
			})
		},
		func(r *Outcome) error {
			err := each(ctx, len(conns), func(i int) error {
				n, err := w.burst(ctx, conns[i])
				moved.Add(int64(n))
				return err
			})
			r.Sent, r.Consumed = int(moved.Load()), int(moved.Load())
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

// burst sends the job's messages over a connection and takes as many from the
// queue, in which all of them look alike. It returns how many.
func (w *worker) burst(ctx context.Context, conn *amqp.Connection) (int, error) {
	ch, err := conn.Channel()
	if err != nil {
		return 0, fmt.Errorf("opening a channel: %w", err)
	}
	msg := amqp.Publishing{DeliveryMode: amqp.Transient, Body: make([]byte, w.job.Size)}
	for range w.job.Messages {
		if err := ch.PublishWithContext(ctx, "", w.job.Queue, false, false, msg); err != nil {
			return 0, fmt.Errorf("publishing: %w", err)
		}
	}
	for got := 0; got < w.job.Messages; {
		_, ok, err := ch.Get(w.job.Queue, true)
		if err != nil {
			return got, fmt.Errorf("getting a message: %w", err)
		}
		if ok {
			got++
			continue
		}
		select { // it is on its way into the queue
		case <-ctx.Done():
			return got, ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
	return w.job.Messages, ch.Close()
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
