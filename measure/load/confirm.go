package load

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// lastWords is how long a job that fails waits for the confirms that are
// already on their way to it.
const lastWords = 3 * time.Second

// heed runs work with a stop channel, closed when the line "stop" comes. Next
// is called for each line "next"; nil refuses them.
func (w *worker) heed(ctx context.Context, next func(), work func(ctx context.Context, stop <-chan struct{}) error) error {
	ctx, fail := context.WithCancelCause(ctx)
	stop, over, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case line, ok := <-w.lines:
				command := strings.TrimSpace(line)
				switch {
				case !ok: // whoever reads has cancelled ctx
				case command == "next" && next != nil:
					next()
					continue
				case command == "stop":
					w.stopped = true
					close(stop)
				default:
					fail(fmt.Errorf("got the line %q while working, want \"stop\"", line))
				}
			case <-over:
			}
			return
		}
	}()
	err := work(ctx, stop)
	close(over)
	<-ended
	fail(nil)
	return err
}

// publishRecorded publishes by the job's schedule, and with publisher confirms
// if the job wants them. What r says holds with an error too.
func (w *worker) publishRecorded(ctx context.Context, channels []*amqp.Channel, r *Outcome) error {
	p := newPublisher(w.job, newMachineClock(), channels)
	return w.heed(ctx, p.next, func(ctx context.Context, stop <-chan struct{}) error {
		return p.run(ctx, stop, r, func(done int) error {
			return w.say.Encode(Message{Type: TypeProgress, Done: done})
		})
	})
}

type publisher struct {
	job      Job
	clock    *machineClock
	channels []*amqp.Channel

	plan   schedule
	rec    *recorder
	window chan struct{} // one element for each message without a confirm
	fail   context.CancelCauseFunc
	watch  sync.WaitGroup
}

// newPublisher is ready to begin, and to hear of the phases of its work.
func newPublisher(job Job, clock *machineClock, channels []*amqp.Channel) *publisher {
	p := &publisher{job: job, clock: clock, channels: channels, plan: job.schedule(clock.Now())}
	confirmed := 0
	if job.Confirms {
		confirmed = len(channels)
		p.window = make(chan struct{}, job.Window)
	}
	p.rec = newRecorder(p.plan.start, p.plan.rate > 0, confirmed, job.Phases)
	return p
}

// next begins the next phase of the work.
func (p *publisher) next() { p.rec.next(p.clock.Now()) }

func (p *publisher) run(ctx context.Context, stop <-chan struct{}, r *Outcome, progress func(int) error) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	p.fail = fail
	plan := p.plan
	if p.job.Confirms {
		for i, ch := range p.channels {
			p.follow(i, ch)
		}
	}
	if plan.rate > 0 {
		r.Scheduled = plan.sends()
	}
	r.Opened = len(p.channels)

	msg := amqp.Publishing{DeliveryMode: amqp.Transient, Body: make([]byte, p.job.Size)}
	mark := stamp{streamID: streamID{publisher: p.job.Publisher}, boot: p.clock.boot}
	next := make([]int, len(p.channels)) // messages of each channel
	err := plan.run(ctx, p.clock, stop, func(i int, due time.Duration) error {
		at := i % len(p.channels)
		if err := p.acquire(ctx); err != nil {
			return err
		}
		now := p.clock.Now()
		if plan.rate == 0 {
			due = now
		}
		if p.job.Numbered {
			mark.channel, mark.number = uint16(at), next[at]
			mark.unix, mark.mono = p.clock.unix(due), due
			mark.put(msg.Body)
		}
		p.rec.send(at, due, now)
		next[at]++
		if err := p.channels[at].PublishWithContext(ctx, "", p.job.Queue, p.job.Mandatory, false, msg); err != nil {
			return fmt.Errorf("publishing message %d: %w", i+1, err)
		}
		if (i+1)%progressEvery == 0 {
			return progress(i + 1)
		}
		return nil
	})
	switch {
	case err != nil:
	case p.job.Confirms:
		err = p.settled(ctx)
	default:
		r.Depth, err = passiveDeclare(p.channels, p.job.Queue)
	}
	r.Elapsed = (p.clock.Now() - plan.start).Seconds()
	if err != nil && p.job.Confirms {
		err = p.drain(ctx, err)
	}
	p.rec.report(r)
	if p.job.Numbered {
		for i, n := range next {
			r.Streams = append(r.Streams, Stream{Publisher: p.job.Publisher, Channel: uint16(i), Next: n})
		}
	}
	return err
}

// follow notes a channel's confirms and returns until it closes. It always
// takes what comes: amqp091-go's reader waits for it, and with it a close.
func (p *publisher) follow(i int, ch *amqp.Channel) {
	size := min(p.job.Window, 1024)
	confirms := ch.NotifyPublish(make(chan amqp.Confirmation, size))
	closed := ch.NotifyClose(make(chan *amqp.Error, 1))
	var returns chan amqp.Return
	if p.job.Mandatory {
		returns = ch.NotifyReturn(make(chan amqp.Return, size))
	}
	p.watch.Go(func() {
		for {
			select {
			case _, ok := <-returns:
				if !ok {
					returns = nil
					continue
				}
				p.rec.giveBack()
			case c, ok := <-confirms:
				if !ok {
					reason := errors.New("publisher confirms: the channel has closed")
					if e := <-closed; e != nil {
						reason = fmt.Errorf("publisher confirms: %w", e)
					}
					p.fail(reason)
					return
				}
				now := p.clock.Now()
				// The broker returns a message before it confirms it.
				for len(returns) > 0 {
					if _, ok := <-returns; !ok {
						break
					}
					p.rec.giveBack()
				}
				p.rec.settle(i, c.Ack, now)
				select {
				case <-p.window:
				default: // a confirm of nothing that was sent
				}
			}
		}
	})
}

// acquire waits until one more message may be without a confirm.
func (p *publisher) acquire(ctx context.Context) error {
	if p.window == nil {
		return nil
	}
	select {
	case p.window <- struct{}{}:
		return nil
	default:
	}
	select {
	case p.window <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// settled waits for all confirms: then the whole window is free.
func (p *publisher) settled(ctx context.Context) error {
	for range cap(p.window) {
		if err := p.acquire(ctx); err != nil {
			return fmt.Errorf("waiting for publisher confirms: %w", err)
		}
	}
	return nil
}

// drain lets confirms that have arrived be counted and finds the reason that
// says most: a failed publish knows only that the connection is not open.
func (p *publisher) drain(ctx context.Context, err error) error {
	ended := make(chan struct{})
	go func() { p.watch.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(lastWords): // the channels are open, and the job is out of time
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w (%v)", err, cause)
	}
	return err
}
