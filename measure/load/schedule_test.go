package load

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"genreport/measure"
	"genreport/measure/load/latency"
)

// simulated is a clock that stands still but for its user.
type simulated struct{ now time.Duration }

func (c *simulated) Now() time.Duration                            { return c.now }
func (c *simulated) SleepUntil(_ context.Context, t time.Duration) { c.now = max(c.now, t) }

func decode(t *testing.T, m measure.Histogram) *latency.Histogram {
	t.Helper()
	h, err := latency.Decode(m)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// wantQuantile allows for a bucket's width, 0.1 %.
func wantQuantile(t *testing.T, name string, h *latency.Histogram, q float64, want time.Duration) {
	t.Helper()
	if got, ok := h.Quantile(q); !ok || got < want || got > want+want/1000 {
		t.Errorf("%s: quantile %v is %v, want %v", name, q, got, want)
	}
}

// 1,000 messages per second for 10 s; each takes no time, but one in the middle
// takes 200 ms. The 200 that were to be sent from then on are late by, or take,
// 200, 199, … 1 ms, and the other 9,800 nothing. By nearest rank:
//
//	p50   rank 5,000: 0
//	p98   rank 9,800: 0, the last of the zeros
//	p99   rank 9,900: the 100th of 1…200 ms: 100 ms
//	p99.9 rank 9,990: 190 ms
//	max   200 ms
//
// A closed loop that times each message from its actual send has one sample of
// 200 ms among 10,000, and a p99.9 of 0: it was kept from sending when it would
// have had to wait.
func TestNoCoordinatedOmission(t *testing.T) {
	const ms = time.Millisecond
	c := &simulated{now: 17 * time.Hour}
	plan := schedule{start: c.now, rate: 1000, count: mostMessages, length: 10 * time.Second}
	rec := newRecorder(plan.start, true, 1, nil)
	closed := latency.New()
	err := plan.run(context.Background(), c, nil, func(i int, due time.Duration) error {
		if want := plan.start + time.Duration(i)*ms; due != want {
			t.Fatalf("message %d is due at %v, want %v", i, due, want)
		}
		sent := c.Now()
		rec.send(0, due, sent)
		if i == 5000 {
			c.now += 200 * ms
		}
		rec.settle(0, true, c.Now())
		closed.Record(c.Now() - sent)
		return nil
	})
	var o Outcome
	rec.report(&o)
	// Of the 200, the first is sent in time, and the last 1 ms late: not later than LateAfter.
	if err != nil || o.Sent != 10_000 || o.Acked != 10_000 || o.Unconfirmed != 0 || o.Late != 198 {
		t.Errorf("%+v, %v", o, err)
	}
	confirm, delay := decode(t, o.Latency[LatencyConfirm]), decode(t, o.Latency[LatencySendDelay])
	for _, tt := range []struct {
		q                    float64
		confirm, delay, loop time.Duration
	}{
		{0.5, 0, 0, 0},
		{0.98, 0, 0, 0},
		{0.9801, 1 * ms, 0, 0},
		{0.99, 100 * ms, 99 * ms, 0},
		{0.999, 190 * ms, 189 * ms, 0},
		{1, 200 * ms, 199 * ms, 200 * ms},
	} {
		wantQuantile(t, "confirm", confirm, tt.q, tt.confirm)
		wantQuantile(t, "send delay", delay, tt.q, tt.delay)
		wantQuantile(t, "closed loop", closed, tt.q, tt.loop)
	}
	if n := confirm.Above(100*ms + ms/2); n != 100 {
		t.Errorf("%d took more than 100 ms, want 100", n)
	}
	// Nothing is sent from 5.0 to 5.2 s; it is made up for within that second.
	for name, want := range map[string]int64{SeriesSent: 1000, SeriesAcked: 1000} {
		s := o.Series[name]
		if s.Unit != measure.Count || s.Start != 0 || s.Step != 1 || len(s.Values) != 10 {
			t.Errorf("%s: %+v", name, s)
		}
		for i, v := range s.Values {
			if n, _ := v.Int64(); n != want {
				t.Errorf("%s: %d in second %d, want %d", name, n, i, want)
			}
		}
	}
}

func TestSchedule(t *testing.T) {
	for _, tt := range []struct {
		s     schedule
		sends int
		last  time.Duration
	}{
		{schedule{rate: 1000, count: mostMessages, length: 10 * time.Second}, 10_000, 9999 * time.Millisecond},
		{schedule{rate: 1000, count: 50, length: 10 * time.Second}, 50, 49 * time.Millisecond},
		{schedule{rate: 3, count: mostMessages, length: time.Second}, 3, 666_666_667},
		{schedule{rate: 0.5, count: mostMessages, length: 3 * time.Second}, 2, 2 * time.Second},  // at 0 and 2 s
		{schedule{rate: 1.1, count: mostMessages, length: 50 * time.Second}, 55, 49_090_909_091}, // 1.1·50 is a little more than 55
		{schedule{rate: 30_000, count: 30_000*1800 + 1}, 30_000*1800 + 1, 1800 * time.Second},    // no error adds up
	} {
		if n := tt.s.sends(); n != tt.sends || tt.s.at(n-1) != tt.last {
			t.Errorf("%+v: %d sends, the last at %v", tt.s, n, tt.s.at(n-1))
		}
	}
}

func TestScheduleEnds(t *testing.T) {
	c := &simulated{}
	asFast := schedule{count: mostMessages, length: time.Second}
	n := 0
	err := asFast.run(context.Background(), c, nil, func(_ int, due time.Duration) error {
		if due != c.now {
			t.Errorf("due at %v, it is %v", due, c.now)
		}
		n++
		c.now += 300 * time.Millisecond
		return nil
	})
	if n != 4 || err != nil { // at 0, 0.3, 0.6 and 0.9 s
		t.Errorf("%d sends in a second, %v", n, err)
	}

	why := errors.New("why")
	for _, tt := range []struct {
		name string
		act  func(stop chan struct{}, cancel context.CancelCauseFunc) error
		want error
	}{
		{"stop", func(stop chan struct{}, _ context.CancelCauseFunc) error { close(stop); return nil }, nil},
		{"context", func(_ chan struct{}, cancel context.CancelCauseFunc) error { cancel(why); return nil }, why},
		{"failure", func(chan struct{}, context.CancelCauseFunc) error { return why }, why},
	} {
		ctx, cancel := context.WithCancelCause(context.Background())
		defer cancel(nil)
		stop := make(chan struct{})
		n := 0
		err := schedule{rate: 10, count: 100}.run(ctx, &simulated{}, stop, func(i int, _ time.Duration) error {
			if n++; i == 4 {
				return tt.act(stop, cancel)
			}
			return nil
		})
		if n != 5 || err != tt.want {
			t.Errorf("%s: %d sends, %v", tt.name, n, err)
		}
	}
}

// Whatever the order of events, every message sent is in one of the counts.
func TestRecorder(t *testing.T) {
	const ms = time.Millisecond
	r := newRecorder(time.Second, true, 2, nil)
	at := func(n int) time.Duration { return time.Second + time.Duration(n)*ms }
	r.send(0, at(0), at(0))
	r.send(1, at(10), at(11)) // 1 ms is not late
	r.send(0, at(20), at(22))
	r.send(1, at(1500), at(1500))
	r.settle(1, true, at(31))  // the one of 10
	r.settle(0, false, at(41)) // the one of 0
	r.settle(0, true, at(2120))
	r.settle(0, true, at(51)) // of nothing
	r.giveBack()
	var o Outcome
	r.report(&o)
	if o.Sent != 4 || o.Late != 1 || o.Acked != 2 || o.Nacked != 1 || o.Unconfirmed != 1 || o.Returned != 1 {
		t.Errorf("%+v", o)
	}
	confirm := decode(t, o.Latency[LatencyConfirm])
	if confirm.Count() != 2 {
		t.Errorf("%d confirms are timed, want those that are no refusals", confirm.Count())
	}
	wantQuantile(t, "confirm", confirm, 0, 21*ms)
	wantQuantile(t, "confirm", confirm, 1, 2100*ms)
	var counts []int64
	for _, name := range []string{SeriesSent, SeriesAcked} {
		for _, v := range o.Series[name].Values {
			n, _ := v.Int64()
			counts = append(counts, n)
		}
	}
	if !slices.Equal(counts, []int64{3, 1, 1, 0, 1}) {
		t.Errorf("per second: %v", counts)
	}

	unpaced := newRecorder(0, false, 0, nil)
	unpaced.send(0, 0, time.Hour)
	o = Outcome{}
	unpaced.report(&o)
	if o.Sent != 1 || o.Late != 0 || len(o.Latency) != 0 || len(o.Series) != 1 || len(o.Series[SeriesSent].Values) != 3601 {
		t.Errorf("%+v", o)
	}
}

// A message belongs to the phase in which it was to be sent, whenever its
// confirm comes, and the longest confirm of a second is that of its confirms.
func TestPhases(t *testing.T) {
	const ms = time.Millisecond
	r := newRecorder(0, true, 1, []string{"before", "drain"})
	r.send(0, 0, 0)
	r.send(0, 10*ms, 10*ms)
	r.settle(0, true, 12*ms)
	r.next(15 * ms)
	r.send(0, 20*ms, 20*ms)
	r.settle(0, true, 1040*ms) // due at 10
	r.settle(0, true, 3020*ms) // due at 20
	r.next(4 * time.Second)    // there is no third
	var o Outcome
	r.report(&o)
	for phase, want := range map[string][]time.Duration{"before": {12 * ms, 1030 * ms}, "drain": {3000 * ms}} {
		h := decode(t, o.Latency[LatencyConfirmIn(phase)])
		if int(h.Count()) != len(want) {
			t.Errorf("phase %s has %d confirms", phase, h.Count())
			continue
		}
		wantQuantile(t, phase, h, 0, want[0])
		wantQuantile(t, phase, h, 1, want[len(want)-1])
	}
	if all := decode(t, o.Latency[LatencyConfirm]); all.Count() != 3 {
		t.Errorf("%d confirms in all", all.Count())
	}
	s := o.Series[SeriesConfirmMax]
	var got []string
	for _, v := range s.Values {
		if !v.OK() {
			got = append(got, v.Reason())
			continue
		}
		got = append(got, time.Duration(v.Float64()*1e9).Round(ms).String())
	}
	none := "no confirm came in this second"
	if !slices.Equal(got, []string{"12ms", "1.03s", none, "3s"}) || s.Unit != measure.Seconds || s.Step != 1 {
		t.Errorf("%q, %+v", got, s)
	}
	plain := newRecorder(0, true, 1, nil)
	plain.send(0, 0, 0)
	plain.settle(0, true, ms)
	plain.next(2 * ms)
	o = Outcome{}
	plain.report(&o)
	if len(o.Series) != 2 || len(o.Latency) != 2 {
		t.Errorf("without phases: %+v", o)
	}
}

// The queue of those without a confirm keeps order and does not grow with the
// number of messages.
func TestWaiting(t *testing.T) {
	var q waiting
	next := time.Duration(0)
	for i := range 100_000 {
		q.push(time.Duration(i))
		if i < 500 {
			continue // that many are outstanding
		}
		if got, ok := q.pop(); !ok || got != next {
			t.Fatalf("%v, %v; want %v", got, ok, next)
		}
		next++
	}
	if cap(q.due) > 5000 {
		t.Errorf("500 outstanding take %d places", cap(q.due))
	}
	for range 500 {
		q.pop()
	}
	if _, ok := q.pop(); ok {
		t.Error("a message out of nothing")
	}
}

// The machine's clock: two of them agree, and a sleep is never short.
func TestMachineClock(t *testing.T) {
	a, b := newMachineClock(), newMachineClock()
	if diff := (a.Now() - b.Now()).Abs(); diff > 5*time.Millisecond {
		t.Errorf("two clocks differ by %v", diff)
	}
	if diff := (monotonic() - a.Now()).Abs(); diff > 5*time.Millisecond {
		t.Errorf("it differs from CLOCK_MONOTONIC by %v", diff)
	}
	if diff := time.Duration(time.Now().UnixNano() - a.unix(a.Now())).Abs(); diff > time.Second {
		t.Errorf("it differs from the wall clock by %v", diff)
	}
	if a.boot == 0 || a.boot != b.boot {
		t.Errorf("boot %x and %x", a.boot, b.boot)
	}
	for _, d := range []time.Duration{-time.Second, 0, 100 * time.Microsecond, 5 * time.Millisecond} {
		until := a.Now() + d
		a.SleepUntil(context.Background(), until)
		if late := a.Now() - until; late < 0 || late > time.Second+d.Abs() {
			t.Errorf("sleeping for %v is late by %v", d, late)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	within(t, "a sleep that is cut off", func() { a.SleepUntil(ctx, a.Now()+time.Hour) })
}

// BenchmarkRecord is what recording costs for a message with a schedule and a
// confirm: two values in histograms, of which the library alone takes package
// latency's BenchmarkRecordValue each, counting, and the lock.
func BenchmarkRecord(b *testing.B) {
	r := newRecorder(0, true, 1, nil)
	b.ReportAllocs()
	var now time.Duration
	for b.Loop() {
		now += 50 * time.Microsecond
		if now > time.Hour {
			now = 0
		}
		r.send(0, now, now+20*time.Microsecond)
		r.settle(0, true, now+3*time.Millisecond)
	}
}

// BenchmarkSend is the publisher's part of that without confirms.
func BenchmarkSend(b *testing.B) {
	r := newRecorder(0, true, 0, nil)
	b.ReportAllocs()
	for b.Loop() {
		r.send(0, 0, 20*time.Microsecond)
	}
}

func BenchmarkNow(b *testing.B) {
	c := newMachineClock()
	for b.Loop() {
		c.Now()
	}
}
