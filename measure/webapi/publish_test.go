package webapi

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

type fakeChannel struct {
	sendErr  error
	confirm  *fakePending
	back     bool // the broker gives messages back
	body     []byte
	isClosed bool
	closing  chan struct{} // not nil: close waits for it
}

func (c *fakeChannel) send(body []byte) (pending, error) {
	c.body = body
	if c.sendErr != nil || c.confirm == nil {
		return nil, c.sendErr
	}
	return c.confirm, nil
}

func (c *fakeChannel) returned() bool { return c.back }
func (c *fakeChannel) closed() bool   { return c.isClosed }

func (c *fakeChannel) close() {
	if c.closing != nil {
		<-c.closing
	}
	c.isClosed = true
}

type fakePending struct{ taken, never bool }

func (p *fakePending) WaitContext(ctx context.Context) (bool, error) {
	if p.never {
		<-ctx.Done()
		return false, ctx.Err()
	}
	return p.taken, nil
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// However many requests there are, there are never more channels than the pool
// has room for, and no channel has two users.
func TestPoolIsBounded(t *testing.T) {
	const size, users, times = 3, 20, 50
	var opened, inUse, most atomic.Int32
	p := newPool(size, func() (channel, error) { opened.Add(1); return &fakeChannel{}, nil })
	var mu sync.Mutex
	busy := map[channel]bool{}
	var group sync.WaitGroup
	for range users {
		group.Go(func() {
			for range times {
				ch, err := p.get(context.Background())
				if err != nil {
					t.Error(err)
					return
				}
				n := inUse.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				mu.Lock()
				if busy[ch] {
					t.Error("a channel has two users")
				}
				busy[ch] = true
				mu.Unlock()
				time.Sleep(10 * time.Microsecond)
				mu.Lock()
				delete(busy, ch)
				mu.Unlock()
				inUse.Add(-1)
				p.put(ch, true)
			}
		})
	}
	group.Wait()
	if opened.Load() != size || most.Load() > size {
		t.Errorf("%d channels were opened and %d used at once, want %d", opened.Load(), most.Load(), size)
	}
}

func TestPoolWaits(t *testing.T) {
	p := newPool(1, func() (channel, error) { return &fakeChannel{}, nil })
	ch, err := p.get(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.get(within(t, 20*time.Millisecond)); !errors.Is(err, errBusy) {
		t.Errorf("with all in use: %v, want %v", err, errBusy)
	}
	time.AfterFunc(20*time.Millisecond, func() { p.put(ch, true) })
	if again, err := p.get(within(t, 5*time.Second)); again != ch || err != nil {
		t.Errorf("got %v and %v, want the channel that was put back", again, err)
	}
}

// A channel that is broken, or that the other side has closed, is replaced, and
// its place counts until it is closed.
func TestPoolReplaces(t *testing.T) {
	opened := 0
	p := newPool(1, func() (channel, error) { opened++; return &fakeChannel{}, nil })
	first, _ := p.get(context.Background())
	first.(*fakeChannel).closing = make(chan struct{})
	p.put(first, false)
	if _, err := p.get(within(t, 20*time.Millisecond)); !errors.Is(err, errBusy) {
		t.Errorf("while it closes: %v, want %v", err, errBusy)
	}
	close(first.(*fakeChannel).closing)
	second, err := p.get(within(t, 5*time.Second))
	if err != nil || second == first || opened != 2 {
		t.Errorf("got the same: %v, error %v, %d opened", second == first, err, opened)
	}
	second.(*fakeChannel).isClosed = true // by the broker
	p.put(second, true)
	if third, err := p.get(within(t, 5*time.Second)); err != nil || third == second {
		t.Errorf("got the closed one: %v, error %v", third == second, err)
	}
}

// Without a connection a request fails at once, and the place is free for the
// next; one that opens too slowly is there for the next.
func TestPoolOpening(t *testing.T) {
	slow := make(chan struct{})
	var open func() (channel, error)
	p := newPool(1, func() (channel, error) { return open() })
	open = func() (channel, error) { return nil, errDown }
	for range 3 {
		if _, err := p.get(within(t, 5*time.Second)); !errors.Is(err, errDown) {
			t.Fatalf("%v, want %v", err, errDown)
		}
	}
	late := &fakeChannel{}
	open = func() (channel, error) { <-slow; return late, nil }
	if _, err := p.get(within(t, 20*time.Millisecond)); !errors.Is(err, errBusy) {
		t.Errorf("while it opens: %v, want %v", err, errBusy)
	}
	close(slow)
	if ch, err := p.get(within(t, 5*time.Second)); ch != late || err != nil {
		t.Errorf("%v and %v, want the one that was opened", ch, err)
	}
}

func TestBlocked(t *testing.T) {
	l := &link{}
	if err := l.writable(within(t, 5*time.Second)); !errors.Is(err, errDown) {
		t.Errorf("without a connection: %v, want %v", err, errDown)
	}
	l.block(false)
	if err := l.unblocked(within(t, 5*time.Second)); err != nil {
		t.Errorf("not blocked: %v", err)
	}
	l.block(true)
	early := l.blocked
	l.block(true) // said twice
	if err := l.unblocked(within(t, 20*time.Millisecond)); !errors.Is(err, errBlocked) {
		t.Errorf("blocked: %v, want %v", err, errBlocked)
	}
	time.AfterFunc(20*time.Millisecond, func() { l.block(false) })
	if err := l.unblocked(within(t, 5*time.Second)); err != nil {
		t.Errorf("blocked and not any more: %v", err)
	}
	select {
	case <-early:
	default:
		t.Error("who waited since before the second time waits on")
	}
}

func TestBackoff(t *testing.T) {
	done, cancel := context.WithCancel(context.Background())
	cancel()
	var b backoff
	var got []time.Duration
	for range 6 {
		if b.sleep(done) {
			t.Error("it slept though there was no time")
		}
		got = append(got, b.next)
	}
	for i, want := range []time.Duration{100, 200, 400, 800, 1000, 1000} {
		if got[i] != want*time.Millisecond {
			t.Errorf("wait %d is %v, want %v", i, got[i], want*time.Millisecond)
		}
	}
	b.reset()
	if b.sleep(done); b.next != 100*time.Millisecond {
		t.Errorf("after a success it waits %v", b.next)
	}
}
