package experiments

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"genreport/measure"
	"genreport/measure/broker"
	"genreport/measure/load"
)

// checkSeries holds what is recorded against what is said to be.
func checkSeries(t *testing.T, e Experiment, s Sample) {
	t.Helper()
	if got, want := slices.Sorted(maps.Keys(s.Series)), slices.Sorted(maps.Keys(e.Series)); !slices.Equal(got, want) {
		t.Errorf("series %q, want %q", got, want)
	}
}

// checkSum holds the messages of a cell against each other.
func checkSum(t *testing.T, s Sample) {
	t.Helper()
	i := s.Integrity
	if i == nil {
		t.Fatal("no integrity")
	}
	if err := i.Check(); err != nil {
		t.Error(err)
	}
	for name, v := range map[string]measure.Value{"nacked": i.Nacked, "unconfirmed": i.Unconfirmed, "returned": i.Returned, "lost": i.Lost, "out of order": i.OutOfOrder} {
		if n, ok := v.Int64(); !ok || n != 0 {
			t.Errorf("%s: %+v", name, v)
		}
	}
	r := measure.NewResult(measure.Run{ID: "20261130T000000Z", Profile: "quick"}, "x", 1, 1)
	r.Cells = append(r.Cells, measure.Cell{Repeat: 1, CPU: s.CPU, Integrity: s.Integrity, Series: s.Series, Latency: s.Latency})
	if err := r.Validate(); err != nil {
		t.Error(err)
	}
}

func TestQuorumMemory(t *testing.T) {
	s := smoke(t, env(t), quorumMemory(), measure.Labels{"client": "go-batched"}, "rss_amplitude", "rss_period", "vm_amplitude", "vm_period")
	checkSum(t, s)
	checkSeries(t, quorumMemory(), s)
	// All that was to be sent was, and came: 10 queues at 500/s for 16 s.
	if s.Integrity.Sent != 80_000 {
		t.Errorf("%d messages were sent", s.Integrity.Sent)
	}
	// The seconds add up to them, and a rate is the median of the whole seconds
	// after the first 10. How many of them the machine manages in time is its own affair.
	for metric, name := range map[string]string{"publish_rate": "confirmed", "consume_rate": "consumed"} {
		all := numbers(s.Series[name].Values)
		sum := 0.0
		for _, n := range all {
			sum += n
		}
		if sum != 80_000 {
			t.Errorf("the seconds of %s add up to %v", name, sum)
		}
		settled := slices.Sorted(slices.Values(all[10:min(16, len(all)-1)]))
		low, high := settled[(len(settled)-1)/2], settled[len(settled)/2]
		if got := s.Values[metric].Float64(); got != (low+high)/2 {
			t.Errorf("%s is %v, and the seconds are %v", metric, got, all)
		}
	}
	// A node takes more than 80 MB, and what lies in no queue takes little.
	between(t, s, "rss_median", 80e6, 4e9)
	between(t, s, "vm_median", 40e6, 4e9)
	if s.Values["vm_max"].Float64() < s.Values["vm_median"].Float64() {
		t.Errorf("highest %+v, median %+v", s.Values["vm_max"], s.Values["vm_median"])
	}
	for _, name := range []string{"rss", "vm", "quorum_procs", "quorum_ets", "binary"} {
		// One for each second; a busy machine may be late for many of them.
		series := s.Series[name]
		if n := len(numbers(series.Values)); len(series.Values) < 12 || n < 4 || series.Unit != measure.Bytes {
			t.Errorf("series %s has %d numbers: %+v", name, n, series)
		}
	}
	// The parts are parts.
	for i, v := range s.Series["quorum_ets"].Values {
		if total := s.Series["vm"].Values[i]; v.OK() && total.OK() && v.Float64() > total.Float64() {
			t.Errorf("second %d: %v of %v", i, v, total)
		}
	}
}

// drainOnce measures quorum-drain. A backlog of a few seconds may be gone within
// less than a whole second: then nothing is said of the seconds of the drain.
func drainOnce(t *testing.T) Sample {
	t.Helper()
	e, environment := quorumDrain(), env(t)
	s, err := e.Measure(context.Background(), environment, e.Cases(Quick)[0])
	if err != nil {
		t.Fatal(err)
	}
	for name := range e.Metrics {
		v, ok := s.Values[name]
		short := slices.Contains([]string{"publish_drain", "publish_worst", "publish_share", "publish_worst_part", "consume_rate"}, name)
		if !ok || !v.OK() && !(short && v.Reason() == "run too short: no whole second") {
			t.Errorf("%s is %+v", name, v)
		}
	}
	return s
}

func TestQuorumDrain(t *testing.T) {
	s := drainOnce(t)
	checkSum(t, s)
	checkSeries(t, quorumDrain(), s)
	between(t, s, "sustained", 100, 1e6)
	if tooFast := 2000 > 0.8*s.Values["sustained"].Float64(); tooFast != (len(s.Warnings) == 1) {
		t.Errorf("2000 messages/s where %v are sustained: warnings %q", s.Values["sustained"].Float64(), s.Warnings)
	}
	between(t, s, "publish_before", 1000, 2300) // the rate, or less on a slow disk
	between(t, s, "backlog_peak", 8_000, 48_500)
	between(t, s, "drain_time", 0.1, 20)
	before, worst, median := s.Values["publish_before"].Float64(), s.Values["publish_worst"].Float64(), s.Values["publish_drain"].Float64()
	if s.Values["publish_worst"].OK() && (worst > median || s.Values["publish_worst_part"].Float64() != worst/before) {
		t.Errorf("before %v, drain %v, worst %v, part %+v", before, median, worst, s.Values["publish_worst_part"])
	}
	// A message belongs to one phase.
	sum := int64(0)
	for _, phase := range []string{phaseBefore, phaseDrain, phaseAfter} {
		sum += s.Latency[load.LatencyConfirmIn(phase)].Count
	}
	if all := s.Latency[load.LatencyConfirm].Count; sum != all || all == 0 {
		t.Errorf("%d confirms in phases, %d in all", sum, all)
	}
	if start := s.Series["consumed"].Start; start != 10 {
		t.Errorf("consuming starts at %v", start)
	}
	// Nothing is consumed before: then the backlog is what was confirmed.
	peak := s.Series["backlog"].Values[9].Float64()
	confirmed := 0.0
	for _, v := range s.Series["confirmed"].Values[:10] {
		confirmed += v.Float64()
	}
	if peak != confirmed {
		t.Errorf("a backlog of %v after 10 s, and %v were confirmed", peak, confirmed)
	}
}

func TestWebsocket(t *testing.T) {
	environment := env(t)
	idle := []string{"memory", "memory_gc", "parts", "processes", "connect", "connections"}
	for _, transport := range []string{"websocket", "tcp"} {
		for _, qos := range []string{"0", "1"} {
			s := smoke(t, environment, websocketThroughput(), measure.Labels{"transport": transport, "qos": qos, "size": "4096", "connections": "4"}, idle...)
			between(t, s, "rate", 50, 1e6)
			if qos == "1" {
				between(t, s, "delivered", 1, 1) // at least once, and on a loopback connection that stays up, once
			}
			between(t, s, "delivered", 0.001, 1)
			if s.CPU == nil || s.CPU.Processes != 4 {
				t.Errorf("cpu %+v", s.CPU)
			}
			checkMQTT(t, s, qos)
		}
	}
}

// On a node of its own: one that other tests have sent messages to frees
// megabytes of them when it likes, as much as 500 connections take.
func TestWebsocketIdle(t *testing.T) {
	environment := env(t)
	ctx := context.Background()
	var err error
	if environment.Broker, err = broker.Start(ctx, shared.root, broker.Config{Plugins: []string{broker.WebMQTT}}, broker.Options{}); err != nil {
		t.Fatal(err)
	}
	defer environment.Broker.Stop()
	for _, transport := range []string{"websocket", "tcp"} {
		s := smoke(t, environment, websocketThroughput(), measure.Labels{"transport": transport, "qos": "none"}, "rate", "broker_cpu", "client_cpu", "delivered")
		between(t, s, "connections", 500, 500)
		between(t, s, "processes", 0.9, 8) // a process or two of the node may have ended meanwhile
		// Some versions count a buffer as large as the kernel's for sending.
		between(t, s, "memory_gc", 1e3, 1e7)
		between(t, s, "parts", 1e3, 1e6)
	}
}

// checkMQTT holds what became of messages over MQTT against what its quality of
// service promises.
func checkMQTT(t *testing.T, s Sample, qos string) {
	t.Helper()
	i := s.Integrity
	if i == nil || i.Check() != nil || i.Sent == 0 {
		t.Fatalf("integrity %+v", i)
	}
	got, _ := i.Consumed.Int64()
	lost, _ := i.Lost.Int64()
	if got+lost != i.Sent || i.Duplicated != measure.Int(0) || i.OutOfOrder != measure.Int(0) || i.Left.OK() || i.Returned.OK() {
		t.Errorf("%+v", i)
	}
	if qos == "0" && (i.Acked.OK() || i.Enqueued.OK()) || qos == "1" && (i.Acked != measure.Int(i.Sent) || i.Enqueued != measure.Int(i.Sent) || lost != 0) {
		t.Errorf("QoS %s: %+v", qos, i)
	}
	r := measure.NewResult(measure.Run{ID: "20261130T000000Z", Profile: "quick"}, "x", 1, 1)
	r.Cells = append(r.Cells, measure.Cell{Repeat: 1, CPU: s.CPU, Integrity: i})
	if err := r.Validate(); err != nil {
		t.Error(err)
	}
}

// Messages that the broker has confirmed and that don't come fail the cell: the
// limit of the subscriber's queue drops all but one.
func TestMQTTIntegrity(t *testing.T) {
	environment := env(t)
	ctx := context.Background()
	if _, err := environment.Broker.Ctl(ctx, "set_policy", "few", "^mqtt-subscription", `{"max-length":1}`, "--apply-to", "queues"); err != nil {
		t.Fatal(err)
	}
	defer environment.Broker.Ctl(ctx, "clear_policy", "few")
	e := websocketThroughput()
	for _, c := range e.Cases(Quick) {
		if c.Labels.Match(measure.Labels{"transport": "tcp", "qos": "1"}) {
			s, err := e.Measure(ctx, environment, c)
			if err != nil || s.Integrity == nil {
				t.Fatalf("%+v, %v", s.Integrity, err)
			}
			if err := s.Integrity.Check(); err == nil || !strings.Contains(err.Error(), "were consumed and it is not known how many are left") {
				t.Errorf("%+v: %v", s.Integrity, err)
			}
			if n, _ := s.Integrity.Lost.Int64(); n == 0 || s.Integrity.Acked != measure.Int(s.Integrity.Sent) {
				t.Errorf("%+v", s.Integrity)
			}
		}
	}
}

func TestConnectionMemory(t *testing.T) {
	s := smoke(t, env(t), connectionMemory(), measure.Labels{"connections": "500", "buffer": "default"})
	// A connection is a handful of processes: supervisors, reader, writer, helper.
	between(t, s, "processes", 500*3, 500*10)
	between(t, s, "vm_idle_gc", 500*5e3, 500*500e3)
	between(t, s, "parts_idle", 500*1e3, 500*500e3)
	between(t, s, "connect_rate", 10, 1e5)
	between(t, s, "close_time", 0.001, 60)
	i := s.Integrity
	if i == nil || i.Check() != nil || i.Sent != 5000 || i.Consumed != measure.Int(5000) || i.Left != measure.Int(0) || i.Lost != measure.Int(0) || i.Duplicated != measure.Int(0) {
		t.Errorf("integrity %+v", i)
	}
	// The node has no buffer setting of ours by default, and the variant has.
	var buffers []string
	for _, c := range connectionMemory().Cases(Standard) {
		if !c.Fresh {
			t.Errorf("%s is measured on a node that was used before", c.Labels)
		}
		if v := c.Settings["tcp_listen_options.buffer"]; v != "" {
			buffers = append(buffers, c.Labels["buffer"]+"="+v)
		}
	}
	if !slices.Equal(buffers, []string{"131072=131072"}) {
		t.Errorf("buffers %q", buffers)
	}
}
