package load

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"runtime"
	"runtime/debug"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// library is amqp091-go's module path, as build information names it.
const library = "github.com/rabbitmq/amqp091-go"

// libraryChannelMax is what amqp091-go asks for when the caller leaves
// channel_max at 0 (its defaultChannelMax).
const libraryChannelMax = 2047

const dialTimeout = 30 * time.Second

// dial opens a connection as the job wants it. TLS is done here, below the
// library, so that what both sides say stays visible. Heartbeats are off where
// the server also turns them off: none may fall into a timed window.
// Nothing of it outlasts ctx, which does not end the connection.
func dial(ctx context.Context, job Job) (*amqp.Connection, Tune, error) {
	uri, secure, err := plainURI(job.URI)
	if err != nil {
		return nil, Tune{}, err
	}
	var tuned *tuneConn
	stop := func() bool { return true }
	conn, err := amqp.DialConfig(uri, amqp.Config{
		ChannelMax: uint16(job.ChannelMax),
		// Below a second it is the server's interval that counts, as with pika; 0
		// would mean the library's own ten seconds.
		Heartbeat: time.Millisecond,
		Dial: func(network, addr string) (net.Conn, error) {
			c, err := dialNet(ctx, network, addr, job.CA, secure)
			if err != nil {
				return nil, err
			}
			raw := c // of a broker that accepts and says nothing
			stop = context.AfterFunc(ctx, func() { raw.SetDeadline(time.Now()) })
			if job.Batched {
				c = newBatchConn(c)
			}
			tuned = newTuneConn(c)
			return tuned, nil
		},
	})
	if !stop() || ctx.Err() != nil {
		if err == nil {
			conn.CloseDeadline(time.Now())
		}
		err = ctx.Err()
	}
	if err != nil {
		return nil, Tune{}, fmt.Errorf("connecting to the broker: %w", err)
	}
	t := Tune{Own: job.ChannelMax}
	if t.Own == 0 {
		t.Own = libraryChannelMax
	}
	t.Offered, t.Agreed = tuned.tune()
	return conn, t, nil
}

// plainURI turns amqps into amqp, with the port that amqps means.
func plainURI(text string) (uri string, secure bool, err error) {
	u, err := url.Parse(text)
	if err != nil {
		return "", false, errors.New("the broker's URI can't be parsed") // url.Error quotes it
	}
	switch u.Scheme {
	case "amqp":
		return text, false, nil
	case "amqps":
		if u.Port() == "" {
			u.Host = net.JoinHostPort(u.Hostname(), "5671")
		}
		u.Scheme = "amqp"
		return u.String(), true, nil
	}
	return "", false, fmt.Errorf("the broker's URI begins with %q, want amqp or amqps", u.Scheme)
}

func dialNet(ctx context.Context, network, addr, ca string, secure bool) (net.Conn, error) {
	c, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, network, addr)
	var dns *net.DNSError
	if errors.As(err, &dns) { // whose text has the name server too
		return nil, errors.New("its host name could not be resolved")
	}
	if err != nil {
		return nil, err
	}
	if secure {
		config, err := tlsConfig(ca)
		if err != nil {
			c.Close()
			return nil, err
		}
		config.ServerName, _, _ = net.SplitHostPort(addr)
		c = tls.Client(c, config)
	}
	return c, c.SetDeadline(time.Now().Add(dialTimeout)) // amqp091-go clears it once open
}

// tlsConfig verifies the server, against ca (PEM) or the system's roots.
func tlsConfig(ca string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM([]byte(ca)) {
			return nil, errors.New("the CA certificate is not PEM")
		}
	}
	return config, nil
}

// versionOf is a library's version in this program.
func versionOf(module string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == module {
				return m.Version
			}
		}
	}
	return "unknown"
}

func describe(t Tune) *Ready {
	return &Ready{Library: "amqp091-go", Version: versionOf(library), Runtime: runtime.Version(), Tune: t}
}

// Check opens a connection and a channel, and closes them: user, password,
// virtual host and certificate are right then.
func Check(ctx context.Context, uri, ca string) error {
	return withChannel(ctx, uri, ca, func(*amqp.Channel) error { return nil })
}

// QueueType is RabbitMQ's x-queue-type.
type QueueType string

const (
	Classic QueueType = "classic"
	Quorum  QueueType = "quorum"
)

// DeclareEmpty makes sure that the queue, which is durable, is there and new.
func DeclareEmpty(ctx context.Context, uri, ca, queue string, kind QueueType) error {
	return withChannel(ctx, uri, ca, func(ch *amqp.Channel) error {
		if _, err := ch.QueueDelete(queue, false, false, false); err != nil {
			return fmt.Errorf("deleting queue %s: %w", queue, err)
		}
		if _, err := ch.QueueDeclare(queue, true, false, false, false, amqp.Table{"x-queue-type": string(kind)}); err != nil {
			return fmt.Errorf("declaring queue %s: %w", queue, err)
		}
		return nil
	})
}

// Delete removes the queue with its messages.
func Delete(ctx context.Context, uri, ca, queue string) error {
	return withChannel(ctx, uri, ca, func(ch *amqp.Channel) error {
		_, err := ch.QueueDelete(queue, false, false, false)
		return err
	})
}

// Depth is the number of messages that are ready in the queue.
func Depth(ctx context.Context, uri, ca, queue string) (n int, err error) {
	err = withChannel(ctx, uri, ca, func(ch *amqp.Channel) error {
		q, err := ch.QueueDeclarePassive(queue, true, false, false, false, nil)
		n = q.Messages
		return err
	})
	return n, err
}

func withChannel(ctx context.Context, uri, ca string, use func(*amqp.Channel) error) error {
	conn, _, err := dial(ctx, Job{URI: uri, CA: ca})
	if err != nil {
		return redact(err, uri)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.CloseDeadline(time.Now().Add(time.Second)) })
	defer stop()
	ch, err := conn.Channel()
	if err != nil {
		return fmt.Errorf("opening a channel: %w", err)
	}
	if err := use(ch); err != nil {
		return errors.Join(ctx.Err(), redact(err, uri))
	}
	return nil
}
