package load

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
)

// Connections are opened, used and closed, each when told so, and each stage
// says what it did.
func TestConnections(t *testing.T) {
	b := theNode(t)
	ctx := context.Background()
	const queue = "test.connections"
	if err := DeclareEmpty(ctx, b.URI(), "", queue, Classic); err != nil {
		t.Fatal(err)
	}
	defer Delete(ctx, b.URI(), "", queue)
	job := Job{Role: Connect, URI: b.URI(), Channels: 1, Connections: 20, Queue: queue, Messages: 3, Size: 100, Limit: 60}
	c := mustBegin(t, "go", job)
	if list, err := b.Connections(ctx); err != nil || len(list) != 0 {
		t.Errorf("before the start: %+v, %v", list, err)
	}
	want := []Outcome{{Opened: 20}, {Opened: 20, Sent: 60, Consumed: 60}, {}}
	for i, w := range want {
		r, err := c.Run(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if r.Opened != w.Opened || r.Sent != w.Sent || r.Consumed != w.Consumed || !(r.Elapsed > 0) {
			t.Errorf("stage %d: %+v", i+1, r)
		}
		if list, err := b.Connections(ctx); err != nil || len(list) != w.Opened {
			t.Errorf("stage %d: the broker lists %d connections, %v", i+1, len(list), err)
		}
	}
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	if n, err := Depth(ctx, b.URI(), "", queue); n != 0 || err != nil {
		t.Errorf("%d messages are left, %v", n, err)
	}
	// One that is stopped between the stages closes what it has.
	c = mustBegin(t, "go", job)
	if _, err := c.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	if list, err := b.Connections(ctx); err != nil || len(list) != 0 {
		t.Errorf("after Stop: %+v, %v", list, err)
	}
	// pika has no such role, and says so.
	if _, err := begin(t, "pika", job); err == nil || !strings.Contains(err.Error(), "connect") {
		t.Errorf("pika: %v", err)
	}
}

func TestEach(t *testing.T) {
	var seen [100]atomic.Int64
	if err := each(context.Background(), 100, func(i int) error { seen[i].Add(1); return nil }); err != nil {
		t.Fatal(err)
	}
	for i := range seen {
		if seen[i].Load() != 1 {
			t.Errorf("%d was done %d times", i, seen[i].Load())
		}
	}
	bad := errors.New("bad")
	var calls atomic.Int64
	err := each(context.Background(), 100_000, func(i int) error {
		calls.Add(1)
		if i == 50 {
			return bad
		}
		return nil
	})
	if err != bad || calls.Load() == 100_000 {
		t.Errorf("%v after %d calls", err, calls.Load())
	}
	if err := each(context.Background(), 0, func(int) error { return bad }); err != nil {
		t.Error(err)
	}
}

func TestEnoughFiles(t *testing.T) {
	if err := enoughFiles(10); err != nil {
		t.Error(err)
	}
	if err := enoughFiles(1 << 40); err == nil || !strings.Contains(err.Error(), "raise it with ulimit -n") {
		t.Errorf("%v", err)
	}
}

// Messages that don't come back are missing in the counts, and nobody waits for
// them for ever: the queue keeps one of the three that each connection sends.
func TestBurstLoses(t *testing.T) {
	b := theNode(t)
	ctx := context.Background()
	const queue = "test.connections.few"
	if _, err := b.Ctl(ctx, "set_policy", "few", "^test.connections.few$", `{"max-length":1}`); err != nil {
		t.Fatal(err)
	}
	defer b.Ctl(ctx, "clear_policy", "few")
	if err := DeclareEmpty(ctx, b.URI(), "", queue, Classic); err != nil {
		t.Fatal(err)
	}
	defer Delete(ctx, b.URI(), "", queue)
	c := mustBegin(t, "go", Job{Role: Connect, URI: b.URI(), Channels: 1, Connections: 2, Queue: queue, Messages: 30, Size: 100, Numbered: true, Limit: 60})
	if _, err := c.Run(ctx); err != nil {
		t.Fatal(err)
	}
	r, err := c.Run(ctx)
	if err != nil || r.Sent != 60 || r.Consumed >= 60 || r.Lost != 60-r.Consumed || r.Duplicated != 0 || r.Unnumbered != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
}
