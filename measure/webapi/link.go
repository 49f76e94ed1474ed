package webapi

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	// dialTimeout is how long connecting to the broker may take.
	dialTimeout = 5 * time.Second
	// writeTimeout is how long the broker may not read from a connection.
	writeTimeout = 5 * time.Second
	// closeTimeout is how long the broker may take to answer a close.
	closeTimeout = 3 * time.Second
)

var (
	errDown    = errors.New("there is no connection to the broker")
	errBlocked = errors.New("the broker has blocked its publishers")
)

// backoff is how long to wait before the next try: from 100 ms, doubling up to
// a second.
type backoff struct{ next time.Duration }

func (b *backoff) reset() { b.next = 0 }

// sleep waits and is false when ctx is done first.
func (b *backoff) sleep(ctx context.Context) bool {
	b.next = min(max(2*b.next, 100*time.Millisecond), time.Second)
	timer := time.NewTimer(b.next)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// impatient gives up a connection whose other end does not read: the library's
// writes have no deadline.
type impatient struct{ net.Conn }

func (c impatient) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

func dial(ctx context.Context, uri, ca string) (*amqp.Connection, error) {
	config := amqp.Config{Dial: func(network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return impatient{c}, c.SetDeadline(time.Now().Add(dialTimeout)) // amqp091-go clears it once open
	}}
	if ca != "" {
		config.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}
		if !config.TLSClientConfig.RootCAs.AppendCertsFromPEM([]byte(ca)) {
			return nil, errors.New("the CA certificate is not PEM")
		}
	}
	conn, err := amqp.DialConfig(uri, config)
	if err != nil {
		return nil, fmt.Errorf("connecting to the broker: %w", err)
	}
	return conn, nil
}

// openChannel opens a channel and declares the queue, so that a broker that has
// lost it has it again.
func openChannel(conn *amqp.Connection, queue string) (*amqp.Channel, error) {
	ch, err := conn.Channel()
	if err != nil {
		return nil, fmt.Errorf("opening a channel: %w", err)
	}
	if _, err := ch.QueueDeclare(queue, true, false, false, false, amqp.Table{"x-queue-type": "classic"}); err != nil {
		ch.Close()
		return nil, fmt.Errorf("declaring queue %s: %w", queue, err)
	}
	return ch, nil
}

// link is a connection to the broker that is there again after it was lost.
type link struct {
	uri, ca string
	kept    chan struct{} // closed when keep has ended

	mu      sync.Mutex
	conn    *amqp.Connection // nil: none
	blocked chan struct{}    // nil: not blocked; closed when that ends
}

// openLink connects, and keeps connected until ctx is done.
func openLink(ctx context.Context, uri, ca string) (*link, error) {
	conn, err := dial(ctx, uri, ca)
	if err != nil {
		return nil, err
	}
	l := &link{uri: uri, ca: ca, kept: make(chan struct{}), conn: conn}
	go l.keep(ctx, conn)
	return l, nil
}

func (l *link) keep(ctx context.Context, conn *amqp.Connection) {
	defer close(l.kept)
	var wait backoff
	for {
		l.watch(ctx, conn)
		l.set(nil)
		l.block(false)
		conn.CloseDeadline(time.Now().Add(closeTimeout))
		for {
			if ctx.Err() != nil || !wait.sleep(ctx) {
				return
			}
			var err error
			if conn, err = dial(ctx, l.uri, l.ca); err == nil {
				break
			}
		}
		wait.reset()
		l.set(conn)
	}
}

// watch returns when the connection has ended, or ctx.
func (l *link) watch(ctx context.Context, conn *amqp.Connection) {
	closed := conn.NotifyClose(make(chan *amqp.Error, 1))
	blocked := conn.NotifyBlocked(make(chan amqp.Blocking, 8))
	for {
		select {
		case b, ok := <-blocked:
			if !ok {
				blocked = nil
				continue
			}
			l.block(b.Active)
		case <-closed:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (l *link) set(conn *amqp.Connection) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn = conn
}

func (l *link) block(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case on && l.blocked == nil:
		l.blocked = make(chan struct{})
	case !on && l.blocked != nil:
		close(l.blocked)
		l.blocked = nil
	}
}

// current is the connection, or errDown.
func (l *link) current() (*amqp.Connection, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == nil || l.conn.IsClosed() {
		return nil, errDown
	}
	return l.conn, nil
}

// writable fails at once without a connection, and waits while the broker has
// blocked its publishers.
func (l *link) writable(ctx context.Context) error {
	if _, err := l.current(); err != nil {
		return err
	}
	return l.unblocked(ctx)
}

// unblocked waits while the broker has blocked its publishers: what is written
// meanwhile only fills the socket's buffers.
func (l *link) unblocked(ctx context.Context) error {
	l.mu.Lock()
	blocked := l.blocked
	l.mu.Unlock()
	if blocked == nil {
		return nil
	}
	select {
	case <-blocked:
		return nil
	case <-ctx.Done():
		return errBlocked
	}
}
