package load

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// tcp is both ends of a connection over the loopback interface.
func tcp(t testing.TB) (near, far net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	near, err = net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	far, err = l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close(); far.Close() })
	return near, far
}

func pipe(t testing.TB) (near, far net.Conn) {
	near, far = net.Pipe()
	t.Cleanup(func() { near.Close(); far.Close() })
	return near, far
}

func random(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(r.Uint32())
	}
	return out
}

// Every byte arrives, in order, and Close does not lose the last ones.
func TestBatchConnDelivers(t *testing.T) {
	for name, connect := range map[string]func(testing.TB) (net.Conn, net.Conn){"pipe": pipe, "tcp": tcp} {
		t.Run(name, func(t *testing.T) {
			near, far := connect(t)
			want := random(3 << 20)
			got := make(chan []byte)
			go func() {
				data, _ := io.ReadAll(far)
				got <- data
			}()
			b := newBatchConn(near)
			r := rand.New(rand.NewPCG(3, 4))
			buf := make([]byte, 4000) // reused, as amqp091-go does
			for rest := want; len(rest) > 0; {
				n := copy(buf[:1+r.IntN(len(buf))], rest)
				if wrote, err := b.Write(buf[:n]); wrote != n || err != nil {
					t.Fatal(wrote, err)
				}
				clear(buf)
				rest = rest[n:]
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
			if data := <-got; !bytes.Equal(data, want) {
				t.Errorf("%d bytes arrived, or others than the %d written", len(data), len(want))
			}
			if _, err := b.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
				t.Errorf("writing after Close: %v", err)
			}
		})
	}
}

// A peer that doesn't read stops the writer at the limit.
func TestBatchConnBlocks(t *testing.T) {
	near, far := pipe(t)
	b := newBatchConn(near)
	chunk := make([]byte, 1000)
	const chunks = 4000
	var taken atomic.Int64
	done := make(chan error, 1)
	go func() {
		for range chunks {
			if _, err := b.Write(chunk); err != nil {
				done <- err
				return
			}
			taken.Add(int64(len(chunk)))
		}
		done <- b.Close()
	}()
	select {
	case err := <-done:
		t.Fatalf("wrote all though nobody reads: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	// One batch is in the system call and one waits.
	if n := taken.Load(); n < batchLimit || n > 2*(batchLimit+int64(len(chunk))) {
		t.Errorf("took %d bytes, limit %d", n, batchLimit)
	}
	n, _ := io.Copy(io.Discard, far)
	if err := <-done; err != nil || n != chunks*int64(len(chunk)) {
		t.Errorf("%d bytes arrived, %v", n, err)
	}
}

func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s hangs", what)
	}
}

func TestBatchConnReportsErrors(t *testing.T) {
	near, far := pipe(t)
	b := newBatchConn(near)
	far.Close()
	within(t, "writing to a closed connection", func() {
		for {
			if _, err := b.Write([]byte("lost")); err != nil {
				if !errors.Is(err, io.ErrClosedPipe) {
					t.Errorf("%v, want that of the earlier write", err)
				}
				return
			}
		}
	})
	within(t, "closing", func() { b.Close() })
}

// A blocked writer and a blocked Close end with the deadline: that is how a
// job's time limit reaches a publish that the broker holds up.
func TestBatchConnDeadline(t *testing.T) {
	near, _ := pipe(t)
	b := newBatchConn(near)
	blocked := make(chan error)
	go func() {
		for {
			if _, err := b.Write(make([]byte, 10_000)); err != nil {
				blocked <- err
				return
			}
		}
	}()
	closed := make(chan struct{})
	b.SetDeadline(time.Now().Add(100 * time.Millisecond))
	within(t, "a write that blocks", func() {
		var timeout net.Error
		if err := <-blocked; !errors.As(err, &timeout) || !timeout.Timeout() {
			t.Errorf("%v, want a timeout", err)
		}
		b.Close()
		close(closed)
	})
	<-closed
}

func BenchmarkWrite(b *testing.B) {
	frame := make([]byte, 150) // a publish of 100 B
	for _, bench := range []struct {
		name string
		wrap func(net.Conn) net.Conn
	}{
		{"plain", func(c net.Conn) net.Conn { return c }},
		{"batched", func(c net.Conn) net.Conn { return newBatchConn(c) }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			near, far := tcp(b)
			read := make(chan int64)
			go func() {
				n, _ := io.Copy(io.Discard, far)
				read <- n
			}()
			c := bench.wrap(near)
			b.SetBytes(int64(len(frame)))
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				if _, err := c.Write(frame); err != nil {
					b.Fatal(err)
				}
				n++
			}
			c.Close()
			if got := <-read; got != int64(n*len(frame)) {
				b.Errorf("%d bytes arrived of %d", got, n*len(frame))
			}
		})
	}
}
