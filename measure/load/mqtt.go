package load

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"sync"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"
)

// pahoModule is the MQTT client's module path, as build information names it.
const pahoModule = "github.com/eclipse/paho.mqtt.golang"

// A subscriber that hears nothing for quiet, after the publisher's end, has
// heard all: messages of QoS 0 may be dropped.
const (
	quiet        = 500 * time.Millisecond
	mostPatience = 10 * time.Second
)

// mqtt publishes to a topic as fast as the broker takes it, or opens idle
// connections.
func (w *worker) mqtt(ctx context.Context) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	if w.job.Duration == 0 {
		return w.mqttIdle(ctx, fail)
	}
	publisher, err := w.mqttConnect(ctx, fail)
	if err != nil {
		return err
	}
	defer publisher.Disconnect(100)
	subscriber, err := w.mqttConnect(ctx, fail)
	if err != nil {
		return err
	}
	defer subscriber.Disconnect(100)
	received := listener{tally: newTally(1)}
	hear := func(_ mqtt.Client, m mqtt.Message) { received.take(m.Payload(), m.Duplicate()) }
	if err := settle(ctx, subscriber.Subscribe(w.job.Queue, byte(w.job.QoS), hear)); err != nil {
		return fmt.Errorf("subscribing: %w", err)
	}
	if err := w.say.Encode(Message{Type: TypeReady, Ready: describePaho()}); err != nil {
		return err
	}
	if err := w.await(ctx, "start"); err != nil {
		return err
	}
	began, cpu := time.Now(), cpuTime()
	r := Outcome{Began: began.UnixNano()}
	err = w.mqttPublish(ctx, publisher, &r)
	r.Elapsed, r.CPU = time.Since(began).Seconds(), (cpuTime() - cpu).Seconds()
	if err == nil {
		err = awaitQuiet(ctx, &received, r.Sent)
	}
	received.report(w.job, &r)
	if err != nil {
		w.partial = &r
		return errors.Join(ctx.Err(), err)
	}
	if err := w.say.Encode(Message{Type: TypeResult, Result: &r}); err != nil {
		return err
	}
	return w.await(ctx, "stop")
}

// listener counts what a subscriber hears.
type listener struct {
	mu sync.Mutex
	tally
}

func (l *listener) take(body []byte, redelivered bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tally.take(0, body, redelivered)
}

// count is of all deliveries, however often a message came.
func (l *listener) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.consumed + l.seq.duplicated
}

// report adds what was heard to what was published, r.Sent messages: a job is
// both sides of its one stream.
func (l *listener) report(job Job, r *Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tally.report(r)
	if !job.Numbered {
		return
	}
	own := Stream{Publisher: job.Publisher, Next: r.Sent}
	for _, s := range r.Streams {
		if s.Publisher == job.Publisher {
			own.Received = s.Received
		}
	}
	r.Streams, r.Lost = []Stream{own}, max(r.Sent-own.Received, 0)
}

// bodies makes the body of one message after another, in turn in so many pieces of
// memory as the library may hold on to at once: a new one for each message would
// cost the client more than the message.
func bodies(job Job, held int) (next func() []byte) {
	if !job.Numbered {
		same := make([]byte, job.Size)
		return func() []byte { return same }
	}
	ring := make([][]byte, held)
	for i := range ring {
		ring[i] = make([]byte, job.Size)
	}
	mark := stamp{streamID: streamID{publisher: job.Publisher}, number: -1}
	return func() []byte {
		mark.number++
		body := ring[mark.number%held]
		mark.put(body)
		return body
	}
}

// mqttPublish publishes until the job's time is over, and ends when the broker
// has acknowledged the last message: with QoS 0, one of QoS 1 behind them, to
// a topic that nobody subscribes to. A connection's messages are handled in turn.
func (w *worker) mqttPublish(ctx context.Context, c mqtt.Client, r *Outcome) error {
	// With acknowledgements, the library keeps the messages of the window and the one
	// whose acknowledgement is waited for; without, the one that it writes and the one
	// behind it. And there is the next.
	body := bodies(w.job, w.job.Window+3)
	end := time.Now().Add(seconds(w.job.Duration))
	if w.job.QoS == 0 {
		for time.Now().Before(end) && ctx.Err() == nil {
			t := c.Publish(w.job.Queue, 0, false, body())
			if t.WaitTimeout(0) && t.Error() != nil { // done at once only if it failed
				return fmt.Errorf("publishing message %d: %w", r.Sent+1, t.Error())
			}
			r.Sent++
		}
		if err := settle(ctx, c.Publish(w.job.Queue+"/end", 1, false, "")); err != nil {
			return fmt.Errorf("waiting for the broker to take the messages: %w", err)
		}
		return nil
	}
	open := make(chan mqtt.Token, w.job.Window)
	acked := make(chan error, 1)
	go func() {
		var failed error
		for t := range open {
			switch err := settle(ctx, t); {
			case err == nil:
				r.Acked++
			case failed == nil:
				failed = err
				fallthrough
			default:
				r.Unconfirmed++
			}
		}
		acked <- failed
	}()
	for time.Now().Before(end) && ctx.Err() == nil {
		open <- c.Publish(w.job.Queue, 1, false, body()) // waits when the window is full
		r.Sent++
	}
	close(open)
	if err := <-acked; err != nil {
		return fmt.Errorf("waiting for acknowledgements: %w", err)
	}
	return nil
}

// awaitQuiet waits until want messages were received, or no more come.
func awaitQuiet(ctx context.Context, received *listener, want int) error {
	for end := time.Now().Add(mostPatience); time.Now().Before(end); {
		before := received.count()
		if before >= want {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(quiet):
		}
		if received.count() == before {
			return nil
		}
	}
	return nil
}

func (w *worker) mqttIdle(ctx context.Context, fail context.CancelCauseFunc) error {
	if err := enoughFiles(w.job.Connections); err != nil {
		return err
	}
	if err := w.say.Encode(Message{Type: TypeReady, Ready: describePaho()}); err != nil {
		return err
	}
	if err := w.await(ctx, "start"); err != nil {
		return err
	}
	began, cpu := time.Now(), cpuTime()
	clients := make([]mqtt.Client, w.job.Connections)
	defer func() {
		var group sync.WaitGroup
		for _, c := range clients {
			if c != nil {
				group.Go(func() { c.Disconnect(100) })
			}
		}
		group.Wait()
	}()
	err := each(ctx, len(clients), func(i int) (err error) {
		clients[i], err = w.mqttConnect(ctx, fail)
		return err
	})
	r := Outcome{Began: began.UnixNano(), Elapsed: time.Since(began).Seconds(), CPU: (cpuTime() - cpu).Seconds()}
	if err != nil {
		return err
	}
	r.Opened = len(clients)
	if err := w.say.Encode(Message{Type: TypeResult, Result: &r}); err != nil {
		return err
	}
	return w.await(ctx, "stop")
}

// mqttConnect opens a connection; one that is lost later fails the job.
func (w *worker) mqttConnect(ctx context.Context, fail context.CancelCauseFunc) (mqtt.Client, error) {
	u, err := url.Parse(w.job.URI)
	if err != nil {
		return nil, errors.New("the broker's URI can't be parsed") // url.Error quotes it
	}
	password, _ := u.User.Password()
	o := mqtt.NewClientOptions().SetClientID("genreport-" + rand.Text()).SetUsername(u.User.Username()).SetPassword(password).
		SetAutoReconnect(false).SetConnectRetry(false).SetKeepAlive(0).SetConnectTimeout(dialTimeout).SetCleanSession(true).
		SetConnectionLostHandler(func(_ mqtt.Client, err error) { fail(fmt.Errorf("the connection ended: %w", err)) })
	u.User = nil
	c := mqtt.NewClient(o.AddBroker(u.String()))
	if err := settle(ctx, c.Connect()); err != nil {
		return nil, fmt.Errorf("connecting to the broker: %w", err)
	}
	return c, nil
}

// settle waits for what a token stands for.
func settle(ctx context.Context, t mqtt.Token) error {
	select {
	case <-t.Done():
		return t.Error()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func describePaho() *Ready {
	return &Ready{Library: "paho.mqtt.golang", Version: versionOf(pahoModule), Runtime: runtime.Version()}
}
