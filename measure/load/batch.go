package load

import (
	"net"
	"runtime"
	"sync"
)

// batchLimit bounds what waits to be written; a writer beyond it blocks, so
// that the broker's back-pressure still reaches the publisher. Bytes.
const batchLimit = 256 << 10

// batchConn gathers writes and hands them to the connection in one system call
// when the writer pauses. amqp091-go flushes after every publish, which costs
// it a system call a message.
type batchConn struct {
	net.Conn
	mu      sync.Mutex
	changed *sync.Cond
	pending []byte
	spare   []byte
	busy    bool // the flusher is inside Write
	closed  bool
	err     error
}

func newBatchConn(c net.Conn) *batchConn {
	b := &batchConn{Conn: c}
	b.changed = sync.NewCond(&b.mu)
	go b.flush()
	return b
}

// Write takes p and returns; an error of an earlier write is reported by the
// next one.
func (b *batchConn) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.pending) >= batchLimit && b.err == nil && !b.closed {
		b.changed.Wait()
	}
	if b.err != nil {
		return 0, b.err
	}
	if b.closed {
		return 0, net.ErrClosed
	}
	b.pending = append(b.pending, p...)
	b.changed.Broadcast()
	return len(p), nil
}

func (b *batchConn) flush() {
	for {
		b.mu.Lock()
		for len(b.pending) == 0 && !b.closed && b.err == nil {
			b.changed.Wait()
		}
		if b.err != nil || len(b.pending) == 0 {
			b.mu.Unlock()
			return
		}
		b.mu.Unlock()
		// Whoever is publishing runs on before we take what has gathered.
		runtime.Gosched()
		b.mu.Lock()
		out := b.pending
		b.pending, b.spare = b.spare[:0], nil
		b.busy = true
		b.changed.Broadcast()
		b.mu.Unlock()

		_, err := b.Conn.Write(out)

		b.mu.Lock()
		b.spare = out
		b.busy = false
		b.err = err
		b.changed.Broadcast()
		b.mu.Unlock()
	}
}

// Close writes what is pending and closes the connection.
func (b *batchConn) Close() error {
	b.mu.Lock()
	b.closed = true
	b.changed.Broadcast()
	for (len(b.pending) > 0 || b.busy) && b.err == nil {
		b.changed.Wait()
	}
	b.mu.Unlock()
	return b.Conn.Close()
}
