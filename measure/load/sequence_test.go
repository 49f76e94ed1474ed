package load

import (
	"slices"
	"testing"
	"time"
)

func TestStamp(t *testing.T) {
	want := stamp{streamID{4_000_000_000, 65535}, 999_999_999, 1796077913123456789, 17*time.Hour + 3, 0xfedcba9876543210}
	body := make([]byte, 60)
	want.put(body)
	if got, ok := readStamp(body); !ok || got != want {
		t.Errorf("%+v, %v", got, ok)
	}
	// The layout is a contract with other clients.
	layout := []byte{'G', 'R', 'M', '1', 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 6}
	got := make([]byte, StampSize)
	(&stamp{streamID{1, 2}, 3, 4, 5, 6}).put(got)
	if !slices.Equal(got, layout) {
		t.Errorf("% x", got)
	}
	tooHigh := slices.Clone(body)
	tooHigh[10] = 1
	for name, bad := range map[string][]byte{"empty": nil, "short": body[:StampSize-1], "zeros": make([]byte, 100), "a number beyond any job": tooHigh} {
		if s, ok := readStamp(bad); ok {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// By hand: what comes in from two streams, and what that is.
func TestSequence(t *testing.T) {
	a, b := streamID{1, 0}, streamID{1, 1}
	type step struct {
		consumer              int
		id                    streamID
		number                int
		first                 bool
		gaps, twice, disorder int
	}
	s := newSequence(2)
	for i, tt := range []step{
		{0, a, 0, true, 0, 0, 0},
		{0, b, 0, true, 0, 0, 0}, // another channel has its own numbers
		{0, a, 1, true, 0, 0, 0},
		{0, a, 4, true, 2, 0, 0},   // 2 and 3 are missing
		{0, a, 3, true, 1, 0, 1},   // late
		{0, a, 3, false, 1, 1, 1},  // again; not out of order as well
		{1, a, 2, true, 0, 1, 1},   // the other consumer's first: its order is its own
		{1, a, 6, true, 1, 1, 1},   // now 5 is missing
		{0, a, 5, true, 0, 1, 1},   // in order for the first consumer, which has seen 4
		{1, a, 0, false, 0, 2, 1},  // redelivered to the other one
		{0, a, 64, true, 57, 2, 1}, // 7…63
		{0, b, 1, true, 57, 2, 1},
	} {
		if first := s.take(tt.consumer, tt.id, tt.number); first != tt.first {
			t.Errorf("step %d: first is %v", i, first)
		}
		if s.gaps() != tt.gaps || s.duplicated != tt.twice || s.outOfOrder != tt.disorder {
			t.Errorf("step %d: %d missing, %d twice, %d out of order; want %d, %d, %d", i, s.gaps(), s.duplicated, s.outOfOrder, tt.gaps, tt.twice, tt.disorder)
		}
	}
	if got, want := s.list(), []Stream{{1, 0, 65, 8}, {1, 1, 2, 2}}; !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestLost(t *testing.T) {
	sent := []Outcome{
		{Streams: []Stream{{Publisher: 1, Channel: 0, Next: 100}, {Publisher: 1, Channel: 1, Next: 100}}},
		{Streams: []Stream{{Publisher: 2, Channel: 0, Next: 50}}},
	}
	got := []Outcome{
		{Streams: []Stream{{1, 0, 100, 98}, {2, 0, 20, 20}}}, // two gaps; 30 at the end
		{Streams: []Stream{{1, 1, 90, 90}, {9, 0, 7, 7}}},    // 10 at the end; of nobody's
	}
	if n := Lost(sent, got); n != 42 {
		t.Errorf("%d, want 2 + 30 + 10", n)
	}
	if n := Lost(sent, nil); n != 250 {
		t.Errorf("%d of 250 are lost without a consumer", n)
	}
}

// What a consumer counts, delivery by delivery.
func TestTake(t *testing.T) {
	const ms = time.Millisecond
	c := newConsumer(Job{Messages: 6}, &machineClock{boot: 7}, 1)
	body := func(number int, mono time.Duration, boot uint64) []byte {
		b := make([]byte, StampSize)
		(&stamp{number: number, mono: mono, boot: boot}).put(b)
		return b
	}
	now := c.start + 1500*ms
	for i, tt := range []struct {
		body        []byte
		redelivered bool
		ok          bool
	}{
		{body(0, now-10*ms, 7), false, true},
		{body(1, now-20*ms, 7), true, true},  // redelivered, but never seen here: the first one
		{body(1, now-900*ms, 7), true, true}, // again: counted once, and timed once
		{body(2, now-30*ms, 8), false, true}, // another machine's clock says nothing
		{body(3, now-30*ms, 0), false, true}, // nor does an unknown one's
		{[]byte("no number"), false, true},
		{[]byte("no number"), true, true},    // whether it was here before can't be told
		{body(4, now+10*ms, 7), false, true}, // from the future: the clocks are not one; the sixth
		{body(5, now, 7), false, false},
	} {
		if ok := c.take(0, tt.body, tt.redelivered, now); ok != tt.ok {
			t.Errorf("delivery %d: %v", i, ok)
		}
	}
	<-c.over
	var o Outcome
	c.report(&o)
	if o.Consumed != 6 || o.Redelivered != 3 || o.Duplicated != 1 || o.Unnumbered != 2 || o.Lost != 0 || o.OutOfOrder != 0 {
		t.Errorf("%+v", o)
	}
	h := decode(t, o.Latency[LatencyDelivery])
	if h.Count() != 2 {
		t.Errorf("%d latencies, want 2", h.Count())
	}
	wantQuantile(t, "delivery", h, 0, 10*ms)
	wantQuantile(t, "delivery", h, 1, 20*ms)
	if s := o.Series[SeriesConsumed].Values; len(s) != 2 || s[1].Float64() != 6 {
		t.Errorf("per second: %+v", s)
	}
}

func BenchmarkStamp(b *testing.B) {
	body := make([]byte, 100)
	s := stamp{streamID: streamID{publisher: 1}}
	b.ReportAllocs()
	for b.Loop() {
		s.number++
		s.put(body)
	}
}

func BenchmarkTake(b *testing.B) {
	c := newConsumer(Job{}, newMachineClock(), 1)
	body := make([]byte, 100)
	s := stamp{boot: c.clock.boot, mono: c.start}
	b.ReportAllocs()
	for b.Loop() {
		s.put(body)
		c.take(0, body, false, c.start+3*time.Millisecond)
		s.number = (s.number + 1) % mostMessages
	}
}

// The sixth message may use the memory of the first, when five are held at once.
func TestBodiesAreUsedAgain(t *testing.T) {
	next := bodies(Job{Size: 100, Numbered: true}, 5)
	first := next()
	for range 4 {
		next()
	}
	sixth := next()
	if s, ok := readStamp(sixth); &first[0] != &sixth[0] || !ok || s.number != 5 {
		t.Errorf("the sixth is %+v, in memory of its own", s)
	}
}

// What a subscriber hears of what its publisher has numbered: the third message
// does not come, the second comes twice.
func TestListener(t *testing.T) {
	job := Job{Role: MQTT, Size: 100, Numbered: true, Publisher: 7}
	next := bodies(job, 5)
	var sent [][]byte
	for range 5 {
		sent = append(sent, next())
	}
	for i := range sent {
		for k := range i {
			if &sent[i][0] == &sent[k][0] {
				t.Errorf("messages %d and %d share a body, and the first may not be on its way yet", k, i)
			}
		}
	}
	l := listener{tally: newTally(1)}
	for _, i := range []int{0, 1, 1, 3, 4} {
		l.take(sent[i], false)
	}
	r := Outcome{Sent: 5}
	l.report(job, &r)
	if r.Consumed != 4 || r.Lost != 1 || r.Duplicated != 1 || r.OutOfOrder != 0 || r.Unnumbered != 0 || l.count() != 5 ||
		!slices.Equal(r.Streams, []Stream{{Publisher: 7, Next: 5, Received: 4}}) || Lost([]Outcome{r}, []Outcome{r}) != 1 {
		t.Errorf("%+v", r)
	}
	// The last one is missing, which no gap tells; nothing comes at all.
	for heard, want := range map[int]int{4: 1, 0: 5} {
		l := listener{tally: newTally(1)}
		for _, body := range sent[:heard] {
			l.take(body, false)
		}
		r := Outcome{Sent: 5}
		if l.report(job, &r); r.Lost != want || len(r.Streams) != 1 || r.Streams[0].Next != 5 {
			t.Errorf("%d heard: %+v", heard, r)
		}
	}
	same := bodies(Job{Size: 3}, 5)
	if a, b := same(), same(); len(a) != 3 || &a[0] != &b[0] {
		t.Error("an unnumbered message has a body of its own")
	}
}
