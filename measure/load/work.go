package load

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// progressEvery is how many messages or channels pass between progress lines.
const progressEvery = 20000

// Work is the Go load client: it reads a job and commands from in, does the
// job and reports on out. The error it returns has been reported on out too.
func Work(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	say := json.NewEncoder(out)
	lines := make(chan string)
	go func() { // the end of in cancels whatever is going on
		defer cancel()
		defer close(lines)
		s := bufio.NewScanner(in)
		s.Buffer(nil, 1<<20)
		for s.Scan() {
			select {
			case lines <- s.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	var uri string
	var partial *Outcome
	err := func() error {
		line, ok := <-lines
		if !ok {
			return errors.New("no job on standard input")
		}
		var job Job
		if err := json.Unmarshal([]byte(line), &job); err != nil {
			return errors.New("the job is not JSON of the right shape") // the text may hold credentials
		}
		uri = job.URI
		if err := job.Validate(); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, time.Duration(job.Limit*float64(time.Second)))
		defer cancel()
		w := &worker{job: job, lines: lines, say: say}
		err := w.run(ctx)
		partial = w.partial
		return err
	}()
	if err = redact(err, uri); err != nil {
		return errors.Join(err, say.Encode(Message{Type: TypeError, Error: err.Error(), Result: partial}))
	}
	return nil
}

type worker struct {
	job   Job
	lines <-chan string
	say   *json.Encoder

	stopped bool     // "stop" came during the work
	partial *Outcome // what a job that failed has done
}

func (w *worker) run(ctx context.Context) error {
	switch w.job.Role {
	case Connect:
		return w.connections(ctx)
	case MQTT:
		return w.mqtt(ctx)
	}
	conn, tune, err := dial(ctx, w.job)
	if err != nil {
		return err
	}
	defer func() { conn.CloseDeadline(time.Now().Add(w.remaining(ctx))) }()
	// A publish that blocks on the socket ends with the job's time.
	stop := context.AfterFunc(ctx, func() { conn.CloseDeadline(time.Now().Add(time.Second)) })
	defer stop()
	died := conn.NotifyClose(make(chan *amqp.Error, 1))

	var channels []*amqp.Channel
	if w.job.Role != OpenChannels {
		for range w.job.Channels {
			ch, err := conn.Channel()
			if err == nil && w.job.Prefetch > 0 {
				err = ch.Qos(w.job.Prefetch, 0, false)
			}
			if err == nil && w.job.Confirms {
				err = ch.Confirm(false)
			}
			if err != nil {
				return fmt.Errorf("opening channel %d: %w", len(channels)+1, err)
			}
			channels = append(channels, ch)
		}
	}
	if err := w.say.Encode(Message{Type: TypeReady, Ready: describe(tune)}); err != nil {
		return err
	}
	if err := w.await(ctx, "start"); err != nil {
		return err
	}
	began, cpu := time.Now(), cpuTime()
	result := Outcome{Began: began.UnixNano()}
	switch {
	case w.job.Role == Publish && w.job.recorded():
		err = w.publishRecorded(ctx, channels, &result)
		w.partial = &result
	case w.job.Role == Publish:
		err = w.publish(ctx, channels, &result)
	case w.job.Role == Consume:
		err = w.consume(ctx, channels, &result)
		w.partial = &result
	default:
		err = w.open(ctx, conn, &result)
	}
	if result.Elapsed == 0 { // else it knows better what belonged to the work
		result.Elapsed = time.Since(began).Seconds()
	}
	result.CPU = (cpuTime() - cpu).Seconds()
	if err != nil {
		select {
		case reason := <-died: // says more than "channel/connection is not open"
			if reason != nil && !strings.Contains(err.Error(), reason.Error()) {
				err = fmt.Errorf("%w (the connection ended: %v)", err, reason)
			}
		default:
		}
		return errors.Join(ctx.Err(), err)
	}
	if err := w.say.Encode(Message{Type: TypeResult, Result: &result}); err != nil || w.stopped {
		return err
	}
	if err := w.await(ctx, "stop"); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

func (w *worker) remaining(ctx context.Context) time.Duration {
	if t, ok := ctx.Deadline(); ok {
		return min(max(time.Until(t), time.Second), 10*time.Second)
	}
	return 10 * time.Second
}

// errStopped is "stop" where "start" was expected: there is no more to do.
var errStopped = errors.New("stopped before the work began")

func (w *worker) await(ctx context.Context, command string) error {
	select {
	case line, ok := <-w.lines:
		if !ok {
			return fmt.Errorf("standard input ended before %q: %w", command, context.Canceled)
		}
		if got := strings.TrimSpace(line); got == "stop" && command == "start" {
			return errStopped
		} else if got != command {
			return fmt.Errorf("got the line %q, want %q", line, command)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for %q: %w", command, ctx.Err())
	}
}

func (w *worker) open(ctx context.Context, conn *amqp.Connection, r *Outcome) error {
	for r.Opened < w.job.Channels {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if _, err := conn.Channel(); err != nil {
			if conn.IsClosed() && ctx.Err() == nil {
				return fmt.Errorf("opening channel %d: %w", r.Opened+1, err)
			}
			r.Error = err.Error()
			return nil
		}
		if r.Opened++; r.Opened%progressEvery == 0 {
			if err := w.say.Encode(Message{Type: TypeProgress, Done: r.Opened}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *worker) publish(ctx context.Context, channels []*amqp.Channel, r *Outcome) error {
	msg := amqp.Publishing{DeliveryMode: amqp.Transient, Body: make([]byte, w.job.Size)}
	for r.Sent < w.job.Messages {
		ch := channels[r.Sent%len(channels)]
		if err := ch.PublishWithContext(ctx, "", w.job.Queue, false, false, msg); err != nil {
			return fmt.Errorf("publishing message %d: %w", r.Sent+1, err)
		}
		if r.Sent++; r.Sent%progressEvery == 0 {
			if err := w.say.Encode(Message{Type: TypeProgress, Done: r.Sent}); err != nil {
				return err
			}
		}
	}
	r.Opened = len(channels)
	depth, err := passiveDeclare(channels, w.job.Queue)
	r.Depth = depth
	return err
}

// passiveDeclare returns when the broker has taken all that was published: a
// channel answers after that. The queue answers before it has taken in what
// still waits for it: depth may fall short.
func passiveDeclare(channels []*amqp.Channel, queue string) (depth int, err error) {
	for i, ch := range channels {
		q, err := ch.QueueDeclarePassive(queue, true, false, false, false, nil)
		if err != nil {
			return depth, fmt.Errorf("passive declare on channel %d: %w", i+1, err)
		}
		depth = q.Messages
	}
	return depth, nil
}

// cpuTime is the user and system time of this process so far.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
