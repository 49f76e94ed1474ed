package load

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"genreport/measure"
)

var goLabels = []string{"go", "go-batched"}

// newQueue declares a queue for the test.
func newQueue(t *testing.T, uri, name string) string {
	t.Helper()
	queue := "load-test." + name
	if err := DeclareEmpty(context.Background(), uri, "", queue, Classic); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { Delete(context.Background(), uri, "", queue) })
	return queue
}

// finish runs the job to its end and stops the client.
func finish(t *testing.T, label string, job Job) Outcome {
	t.Helper()
	c := mustBegin(t, label, job)
	r, err := c.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	return r
}

func sum(s measure.Series) (n int) {
	for _, v := range s.Values {
		i, _ := v.Int64()
		n += int(i)
	}
	return n
}

// waitDepth waits until the queue tells the depth that is wanted.
func waitDepth(t *testing.T, uri, queue string, want int) {
	t.Helper()
	n, err := -1, error(nil)
	for end := time.Now().Add(15 * time.Second); n != want && err == nil && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		n, err = Depth(context.Background(), uri, "", queue)
	}
	if n != want || err != nil {
		t.Errorf("depth %d, %v; want %d", n, err, want)
	}
}

// wantWhole checks what holds for every outcome of a confirm run.
func wantWhole(t *testing.T, r Outcome) {
	t.Helper()
	if r.Acked+r.Nacked+r.Unconfirmed != r.Sent || r.Sent == 0 {
		t.Errorf("%d acked, %d nacked and %d unconfirmed of %d sent", r.Acked, r.Nacked, r.Unconfirmed, r.Sent)
	}
	if n := decode(t, r.Latency[LatencyConfirm]).Count(); n != int64(r.Acked) {
		t.Errorf("%d confirm latencies of %d acked", n, r.Acked)
	}
	if sum(r.Series[SeriesSent]) != r.Sent || sum(r.Series[SeriesAcked]) != r.Acked {
		t.Errorf("the series have %d sent of %d, %d acked of %d", sum(r.Series[SeriesSent]), r.Sent, sum(r.Series[SeriesAcked]), r.Acked)
	}
}

func TestConfirms(t *testing.T) {
	b := theNode(t)
	for _, label := range goLabels {
		t.Run(label, func(t *testing.T) {
			queue := newQueue(t, b.URI(), "confirms."+label)
			job := Job{Role: Publish, URI: b.URI(), Channels: 4, Queue: queue, Messages: 5001, Size: 100, Confirms: true, Window: 100, Mandatory: true, Limit: 60}
			r := finish(t, label, job)
			wantWhole(t, r)
			if r.Sent != 5001 || r.Acked != 5001 || r.Returned != 0 || r.Opened != 4 || r.Elapsed <= 0 || r.CPU <= 0 || r.Scheduled != 0 || r.Late != 0 || r.Streams != nil {
				t.Errorf("%+v", r)
			}
			if _, ok := r.Latency[LatencySendDelay]; ok {
				t.Error("a delay of sends that had no time")
			}
			waitDepth(t, b.URI(), queue, 5001)
		})
	}
}

// Unroutable messages are confirmed all the same, and counted apart.
func TestReturned(t *testing.T) {
	b := theNode(t)
	job := Job{Role: Publish, URI: b.URI(), Channels: 3, Queue: "load-test.none", Messages: 3000, Size: 100, Confirms: true, Window: 1000, Mandatory: true, Limit: 60}
	r := finish(t, "go", job)
	wantWhole(t, r)
	if r.Returned != 3000 || r.Acked != 3000 {
		t.Errorf("%+v, want all returned and acked", r)
	}

	// A queue that is deleted in the middle.
	queue := newQueue(t, b.URI(), "deleted")
	job.Queue, job.Messages, job.Duration, job.Rate = queue, 0, 3, 300
	c := mustBegin(t, "go", job)
	if err := c.Go(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	if err := Delete(context.Background(), b.URI(), "", queue); err != nil {
		t.Fatal(err)
	}
	r, err := c.Wait(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	wantWhole(t, r)
	if r.Sent != 900 || r.Acked != 900 || r.Returned < 1 || r.Returned > 890 {
		t.Errorf("%+v, want some of 900 returned", r)
	}
}

// What is published at a rate is consumed whole, once, in order.
func TestConsume(t *testing.T) {
	b := theNode(t)
	for _, tt := range []struct {
		label                       string
		consumers, prefetch, ackFor int
	}{{"go", 1, 1, 0}, {"go", 1, 200, 50}, {"go-batched", 3, 20, 7}, {"go", 2, 0, 1}} {
		t.Run(fmt.Sprint(tt), func(t *testing.T) {
			queue := newQueue(t, b.URI(), "consume")
			consume := Job{Role: Consume, URI: b.URI(), Channels: tt.consumers, Queue: queue, Prefetch: tt.prefetch, AckEvery: tt.ackFor, Messages: 2000, Limit: 60}
			in := mustBegin(t, tt.label, consume)
			if err := in.Go(); err != nil {
				t.Fatal(err)
			}
			sent := finish(t, tt.label, Job{Role: Publish, URI: b.URI(), Channels: 2, Queue: queue, Rate: 1000, Duration: 2, Size: 100,
				Confirms: true, Window: 1000, Numbered: true, Publisher: 7, Limit: 60})
			wantWhole(t, sent)
			got, err := in.Wait(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if err := in.Stop(); err != nil {
				t.Error(err)
			}
			if sent.Scheduled != 2000 || sent.Acked != 2000 || sent.Late > 2000 || sent.Elapsed < 1.9 {
				t.Errorf("%+v", sent)
			}
			if n := decode(t, sent.Latency[LatencySendDelay]).Count(); n != 2000 {
				t.Errorf("%d send delays", n)
			}
			if got.Consumed != 2000 || got.Lost != 0 || got.Duplicated != 0 || got.OutOfOrder != 0 || got.Redelivered != 0 || got.Unnumbered != 0 || len(got.Streams) != 2 {
				t.Errorf("%+v", got)
			}
			if n := Lost([]Outcome{sent}, []Outcome{got}); n != 0 {
				t.Errorf("%d lost", n)
			}
			h := decode(t, got.Latency[LatencyDelivery])
			if top, ok := h.Max(); !ok || h.Count() != 2000 || top < 50*time.Microsecond || top > 30*time.Second {
				t.Errorf("%d latencies up to %v", h.Count(), top)
			}
			if sum(got.Series[SeriesConsumed]) != 2000 {
				t.Errorf("%+v", got.Series)
			}
			waitDepth(t, b.URI(), queue, 0) // all is acknowledged
		})
	}
}

// The three ways in which consuming ends leave what was not taken in the queue.
func TestConsumeEnds(t *testing.T) {
	b := theNode(t)
	queue := newQueue(t, b.URI(), "ends")
	publish := Job{Role: Publish, URI: b.URI(), Channels: 1, Queue: queue, Messages: 1000, Size: 42, Numbered: true, Confirms: true, Window: 1000, Publisher: 1, Limit: 60}
	if r := finish(t, "go", publish); r.Acked != 1000 {
		t.Fatalf("%+v", r)
	}
	consume := Job{Role: Consume, URI: b.URI(), Channels: 2, Queue: queue, Prefetch: 50, AckEvery: 9, Messages: 300, Limit: 60}
	first := mustBegin(t, "go", consume)
	r, err := first.Run(context.Background())
	if err != nil || r.Consumed != 300 || r.Redelivered != 0 {
		t.Errorf("count: %+v, %v", r, err)
	}
	waitDepth(t, b.URI(), queue, 700) // before the client leaves
	if err := first.Stop(); err != nil {
		t.Error(err)
	}

	// What was delivered to the former and not taken comes again, and is here
	// for the first time. The time ends it.
	consume.Messages, consume.Duration = 0, 2
	r = finish(t, "go", consume)
	if r.Consumed != 700 || r.Duplicated != 0 || r.Redelivered < 1 || r.Redelivered > 100 || r.Elapsed < 2 || r.Elapsed > 10 {
		t.Errorf("duration: %+v", r)
	}
	waitDepth(t, b.URI(), queue, 0)

	// The same numbers once more, twice: the second time they are duplicates.
	for range 2 {
		finish(t, "go", publish)
	}
	consume.Duration = 0
	c := mustBegin(t, "go", consume)
	if err := c.Go(); err != nil {
		t.Fatal(err)
	}
	waitDepth(t, b.URI(), queue, 0)
	time.Sleep(200 * time.Millisecond)
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	r, err = c.Wait(context.Background())
	if err != nil || r.Consumed != 1000 || r.Duplicated != 1000 || r.Redelivered != 0 || r.Lost != 0 {
		t.Errorf("stop: %+v, %v", r, err)
	}
	wantGone(t, c.cmd.Process.Pid)

	// Stop ends a publisher with a rate, too.
	publish.Rate, publish.Messages, publish.Duration = 100, 0, 50
	c = mustBegin(t, "go", publish)
	if err := c.Go(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(500 * time.Millisecond)
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	if r, err := c.Wait(context.Background()); err != nil || r.Sent < 1 || r.Sent > 4000 || r.Acked != r.Sent || r.Scheduled != 5000 {
		t.Errorf("stop: %+v, %v", r, err)
	}
}

// A rate without confirms ends with the passive declare.
func TestRateWithoutConfirms(t *testing.T) {
	b := theNode(t)
	queue := newQueue(t, b.URI(), "rate")
	r := finish(t, "go", Job{Role: Publish, URI: b.URI(), Channels: 1, Queue: queue, Messages: 500, Rate: 500, Size: 0, Limit: 60})
	if r.Sent != 500 || r.Depth < 1 || r.Elapsed < 0.95 || r.Acked != 0 || r.Unconfirmed != 0 || len(r.Latency) != 1 {
		t.Errorf("%+v", r)
	}
	waitDepth(t, b.URI(), queue, 500)
}

// The broker closes the connection in the middle: both sides end within
// seconds, with an error and with counts that add up.
func TestConnectionCloses(t *testing.T) {
	b := theNode(t)
	for _, label := range goLabels {
		t.Run(label, func(t *testing.T) {
			queue := newQueue(t, b.URI(), "closes."+label)
			in := mustBegin(t, label, Job{Role: Consume, URI: b.URI(), Channels: 2, Queue: queue, Prefetch: 100, Limit: 120})
			out := mustBegin(t, label, Job{Role: Publish, URI: b.URI(), Channels: 2, Queue: queue, Duration: 100, Size: 100, Confirms: true, Window: 50, Numbered: true, Limit: 120})
			for _, c := range []*Client{in, out} {
				if err := c.Go(); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := b.Ctl(context.Background(), "close_all_connections", "for a test"); err != nil {
				t.Fatal(err)
			}
			within(t, "a job whose connection has ended", func() {
				r, err := out.Wait(context.Background())
				t.Log(err)
				if err == nil || !strings.Contains(err.Error(), "for a test") {
					t.Errorf("publisher: %v", err)
				}
				wantWhole(t, r)
				if r.Acked == 0 || r.Unconfirmed > 50 || r.Elapsed <= 0 {
					t.Errorf("publisher: %+v", r)
				}
				r, err = in.Wait(context.Background())
				t.Log(err)
				if err == nil || !strings.Contains(err.Error(), "for a test") {
					t.Errorf("consumer: %v", err)
				}
				if r.Consumed == 0 || decode(t, r.Latency[LatencyDelivery]).Count() != int64(r.Consumed) {
					t.Errorf("consumer: %+v", r)
				}
				for _, c := range []*Client{in, out} {
					if err := c.Stop(); err != nil {
						t.Error(err)
					}
					wantGone(t, c.cmd.Process.Pid)
				}
			})
		})
	}
}

// A broker that stands still for 300 ms is seen in the latencies, of all
// messages that were to be sent meanwhile.
func TestStall(t *testing.T) {
	b := theNode(t)
	for _, window := range []int{1, 1000} { // a full window holds sends up; an empty one does not
		t.Run(fmt.Sprint("window ", window), func(t *testing.T) {
			queue := newQueue(t, b.URI(), "stall")
			c := mustBegin(t, "go", Job{Role: Publish, URI: b.URI(), Channels: 1, Queue: queue, Rate: 500, Duration: 3, Size: 100, Confirms: true, Window: window, Limit: 60})
			if err := c.Go(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			if err := b.Pause(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(300 * time.Millisecond)
			if err := b.Resume(); err != nil {
				t.Fatal(err)
			}
			r, err := c.Wait(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			wantWhole(t, r)
			confirm, delay := decode(t, r.Latency[LatencyConfirm]), decode(t, r.Latency[LatencySendDelay])
			top, _ := confirm.Max()
			p99, _ := confirm.Quantile(0.99)
			held, _ := delay.Max()
			t.Logf("max %v, p99 %v, %d above 100 ms, %d late by up to %v", top, p99, confirm.Above(100*time.Millisecond), r.Late, held)
			// 150 were to be sent in 300 ms, 100 of them more than 100 ms before its end.
			if r.Acked != 1500 || top < 150*time.Millisecond || p99 < 100*time.Millisecond || confirm.Above(100*time.Millisecond) < 50 {
				t.Errorf("%+v", r)
			}
			if window == 1 && (r.Late < 50 || held < 100*time.Millisecond) {
				t.Errorf("%d sends were late, by up to %v", r.Late, held)
			}
		})
	}
}

// A broker that never answers again: the job ends with its time, and tells
// what it knows.
func TestConfirmsOutOfTime(t *testing.T) {
	b := theNode(t)
	queue := newQueue(t, b.URI(), "silent")
	job := Job{Role: Publish, URI: b.URI(), Channels: 1, Queue: queue, Duration: 100, Size: 100_000, Confirms: true, Window: 1000, Limit: 4}
	for _, label := range goLabels { // 100 MB fill the socket, so that a publish blocks
		t.Run(label, func(t *testing.T) {
			c := mustBegin(t, label, job)
			if err := c.Go(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			if err := b.Pause(); err != nil {
				t.Fatal(err)
			}
			defer b.Resume()
			within(t, "a job whose broker is silent", func() {
				r, err := c.Wait(context.Background())
				t.Log(err)
				if err == nil || !strings.Contains(err.Error(), "deadline exceeded") {
					t.Error(err)
				}
				wantWhole(t, r)
				if r.Unconfirmed == 0 || r.Unconfirmed > 1000 {
					t.Errorf("%d unconfirmed of %d", r.Unconfirmed, r.Sent)
				}
			})
			within(t, "stopping", func() {
				if err := c.Stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// pika says what it can't do, rather than do something else.
func TestPikaRefuses(t *testing.T) {
	b := theNode(t)
	for _, job := range []Job{
		{Role: Consume, URI: b.URI(), Channels: 1, Queue: "q", Limit: 30},
		{Role: Publish, URI: b.URI(), Channels: 1, Queue: "q", Messages: 1, Rate: 1, Limit: 30},
		{Role: Publish, URI: b.URI(), Channels: 1, Queue: "q", Messages: 1, Confirms: true, Window: 1, Limit: 30},
		{Role: Publish, URI: b.URI(), Channels: 1, Queue: "q", Messages: 1, Numbered: true, Size: 42, Limit: 30},
		{Role: Publish, URI: b.URI(), Channels: 1, Queue: "q", Duration: 1, Limit: 30},
	} {
		if _, err := begin(t, "pika", job); err == nil || !strings.Contains(err.Error(), "role not supported") {
			t.Errorf("%+v: %v", job, err)
		}
	}
}
