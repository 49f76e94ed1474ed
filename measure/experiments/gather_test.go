package experiments

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"genreport/measure"
	"genreport/measure/broker"
	"genreport/measure/load"
	"genreport/measure/load/latency"
)

func histogram(values ...time.Duration) measure.Histogram {
	h := latency.New()
	for _, v := range values {
		h.Record(v)
	}
	return h.Encode()
}

func series(values ...int64) measure.Series {
	s := measure.Series{Unit: measure.Count, Step: 1}
	for _, v := range values {
		s.Values = append(s.Values, measure.Int(v))
	}
	return s
}

// Two publishers and a consumer, added up by hand.
func TestGather(t *testing.T) {
	publishers := []load.Outcome{
		{Sent: 10, Acked: 9, Nacked: 1, Latency: map[string]measure.Histogram{"confirm": histogram(1*time.Millisecond, 2*time.Millisecond)},
			Series: map[string]measure.Series{"sent": series(6, 4)}},
		{Sent: 5, Acked: 5, Returned: 2, Latency: map[string]measure.Histogram{"confirm": histogram(9 * time.Millisecond)},
			Series: map[string]measure.Series{"sent": series(1, 2, 2)}},
	}
	consumers := []load.Outcome{{Consumed: 11, Duplicated: 3, OutOfOrder: 1}}
	var s Sample
	if err := s.gather(publishers, consumers, measure.Int(1)); err != nil {
		t.Fatal(err)
	}
	h, err := latency.Decode(s.Latency["confirm"])
	if err != nil || h.Count() != 3 || s.Latency["confirm"].Count != 3 {
		t.Fatalf("%+v, %v", s.Latency, err)
	}
	if longest, _ := h.Max(); longest < 9*time.Millisecond || longest > 9010*time.Microsecond {
		t.Errorf("the longest of the merged is %v", longest)
	}
	var got []int64
	for _, v := range s.Series["sent"].Values {
		n, _ := v.Int64()
		got = append(got, n)
	}
	if len(got) != 3 || got[0] != 7 || got[1] != 6 || got[2] != 2 {
		t.Errorf("sent %v, want 7 6 2", got)
	}
	i := s.Integrity
	for name, c := range map[string]struct {
		v    measure.Value
		want int64
	}{"acked": {i.Acked, 14}, "nacked": {i.Nacked, 1}, "unconfirmed": {i.Unconfirmed, 0}, "returned": {i.Returned, 2},
		"enqueued": {i.Enqueued, 12}, "consumed": {i.Consumed, 11}, "left": {i.Left, 1}, "duplicated": {i.Duplicated, 3}, "out of order": {i.OutOfOrder, 1}} {
		if n, ok := c.v.Int64(); !ok || n != c.want {
			t.Errorf("%s is %d, want %d", name, n, c.want)
		}
	}
	if err := i.Check(); err != nil || i.Sent != 15 {
		t.Errorf("%d sent, %v", i.Sent, err)
	}
	// One that was consumed and is not told: the sum no longer holds.
	if err := s.gather(publishers, []load.Outcome{{Consumed: 10}}, measure.Int(1)); err != nil {
		t.Fatal(err)
	}
	if err := s.Integrity.Check(); err == nil || !strings.Contains(err.Error(), "12 messages were enqueued, but 10 were consumed and 1 are left") {
		t.Errorf("%v", err)
	}
}

func TestGatherRefuses(t *testing.T) {
	var s Sample
	none := measure.Missing("nobody looked")
	if err := s.gather([]load.Outcome{{Latency: map[string]measure.Histogram{"confirm": {Count: 1, HDR: "x"}}}}, nil, none); err == nil {
		t.Error("took a histogram that is none")
	}
	other := series(1)
	other.Step = 2
	if err := s.gather([]load.Outcome{{Series: map[string]measure.Series{"sent": series(1)}}, {Series: map[string]measure.Series{"sent": other}}}, nil, none); err == nil {
		t.Error("added seconds to pairs of seconds")
	}
}

// On a real node: a set rate with confirms, and a consumer that gets it all.
func TestGatherFromClients(t *testing.T) {
	e := env(t)
	ctx := context.Background()
	queue := throughputQueue + ".gather"
	if err := load.DeclareEmpty(ctx, e.Broker.URI(), "", queue, load.Classic); err != nil {
		t.Fatal(err)
	}
	defer load.Delete(ctx, e.Broker.URI(), "", queue)
	c := Case{Labels: measure.Labels{"client": "go"}}
	const n = 600
	consumer, err := connect(ctx, e, c, load.Job{Role: load.Consume, Channels: 1, Queue: queue, Messages: n, Prefetch: 100, Limit: 30})
	if err != nil {
		t.Fatal(err)
	}
	defer consumer.Stop()
	publisher, err := connect(ctx, e, c, load.Job{Role: load.Publish, Channels: 2, Queue: queue, Messages: n, Size: 100, Rate: 300,
		Confirms: true, Window: 100, Numbered: true, Limit: 30})
	if err != nil {
		t.Fatal(err)
	}
	defer publisher.Stop()
	if err := consumer.Go(); err != nil {
		t.Fatal(err)
	}
	sent, err := publisher.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	received, err := consumer.Wait(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var s Sample
	if err := s.gather([]load.Outcome{sent}, []load.Outcome{received}, measure.Int(0)); err != nil {
		t.Fatal(err)
	}
	if err := s.Integrity.Check(); err != nil {
		t.Error(err)
	}
	for name, v := range map[string]measure.Value{"lost": s.Integrity.Lost, "duplicated": s.Integrity.Duplicated, "out of order": s.Integrity.OutOfOrder} {
		if got, ok := v.Int64(); !ok || got != 0 {
			t.Errorf("%s: %d", name, got)
		}
	}
	for _, name := range []string{"confirm", "send_delay", "delivery"} {
		if s.Latency[name].Count != n {
			t.Errorf("%d latencies of %s, want %d", s.Latency[name].Count, name, n)
		}
	}
	if points := len(s.Series["sent"].Values); points < 2 || points > 4 {
		t.Errorf("%d seconds of 600 messages at 300/s", points)
	}
}

// Over MQTT, by hand: two publishers, of which the second's subscriber missed one
// message and heard another twice.
func TestMQTTIntegrityByHand(t *testing.T) {
	outcomes := []load.Outcome{
		{Sent: 10, Acked: 10, Consumed: 10, Streams: []load.Stream{{Publisher: 0, Next: 10, Received: 10}}},
		{Sent: 8, Acked: 7, Unconfirmed: 1, Consumed: 7, Lost: 1, Duplicated: 1, Streams: []load.Stream{{Publisher: 1, Next: 8, Received: 7}}},
	}
	i := mqttIntegrity(outcomes, 1)
	if i.Sent != 18 || i.Acked != measure.Int(17) || i.Unconfirmed != measure.Int(1) || i.Enqueued != measure.Int(17) || i.Consumed != measure.Int(17) ||
		i.Lost != measure.Int(1) || i.Duplicated != measure.Int(1) || i.Left.OK() || i.Returned.OK() || i.Check() != nil {
		t.Errorf("%+v, %v", i, i.Check())
	}
	outcomes[0].Consumed, outcomes[0].Streams[0].Received = 9, 9
	if err := mqttIntegrity(outcomes, 1).Check(); err == nil || !strings.Contains(err.Error(), "17 messages were enqueued, but 16 were consumed") {
		t.Errorf("%v", err)
	}
	// QoS 0 promises nothing: the same is told, and no error.
	i = mqttIntegrity(outcomes, 0)
	if i.Check() != nil || i.Acked.OK() || i.Enqueued.OK() || i.Lost != measure.Int(2) || i.Consumed != measure.Int(16) {
		t.Errorf("%+v, %v", i, i.Check())
	}
	outcomes[0].Consumed = 12 // which nobody sent
	if err := mqttIntegrity(outcomes, 0).Check(); err == nil || !strings.Contains(err.Error(), "18 messages were sent, but 19 different ones were consumed") {
		t.Errorf("%v", err)
	}
}

// A burst of 100 of which one vanished, and two are left in the queue.
func TestBurstIntegrity(t *testing.T) {
	i := burstIntegrity(load.Outcome{Sent: 100, Consumed: 98, Lost: 2}, 2)
	if i.Check() != nil || i.Enqueued != measure.Int(100) || i.Left != measure.Int(2) || i.Lost != measure.Int(0) {
		t.Errorf("%+v, %v", i, i.Check())
	}
	i = burstIntegrity(load.Outcome{Sent: 100, Consumed: 97, Lost: 3}, 2)
	if err := i.Check(); err == nil || !strings.Contains(err.Error(), "100 messages were published and 99 reached the queue") || i.Lost != measure.Int(1) {
		t.Errorf("%+v, %v", i, err)
	}
}

// A set rate may be four fifths of what the queue takes at full speed.
func TestTooFast(t *testing.T) {
	if text := tooFast("debian:trixie", 2000, 2500); text != "" {
		t.Errorf("2000 of 2500: %q", text)
	}
	if text := tooFast("debian:trixie", 2000, 2499); !strings.Contains(text, "debian:trixie") || !strings.Contains(text, "2000 messages/s is more than 80 % of") {
		t.Errorf("2000 of 2499: %q", text)
	}
}

// What a version lacks and what can't be asked are no failures, and say why.
func TestUnavailable(t *testing.T) {
	for err, want := range map[error]string{
		fmt.Errorf("memory: %w: no such part", broker.ErrNotSupported): "memory: not supported: no such part",
		fmt.Errorf("%w: given by URL", broker.ErrNotAvailable):         "not available: given by URL",
		errors.New("refused"): "failed: refused",
	} {
		if v := unavailable(err); v.OK() || v.Reason() != want {
			t.Errorf("%q, want %q", v.Reason(), want)
		}
	}
}
