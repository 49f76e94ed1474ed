package measure

import (
	"math"
	"strings"
	"testing"
	"time"
)

func cpu(wall float64, cores, processes int, clients, broker, idle, steal float64) CPU {
	return CPU{Wall: wall, Cores: cores, Processes: processes,
		Clients: Float(clients), Broker: Float(broker), Idle: Float(idle), Steal: Float(steal)}
}

// The rule by hand, on two cores for ten seconds: 20 s of core time.
func TestBound(t *testing.T) {
	no := Missing("not told")
	with := func(c CPU, change func(*CPU)) CPU { change(&c); return c }
	tests := []struct {
		name string
		c    CPU
		want Bound
	}{
		{"no idle time left", cpu(10, 2, 1, 9, 9.5, 1.5, 0), BoundHost}, // 1.5 < 2
		{"idle, and one client at its core", cpu(10, 2, 1, 9.5, 6, 4.5, 0), BoundClient},
		{"two clients, half a core each", cpu(10, 4, 2, 9.5, 12, 18, 0), BoundBroker},
		{"two clients at their cores", cpu(10, 4, 2, 18.5, 12, 9, 0), BoundClient},
		{"the broker at a core", cpu(10, 2, 1, 3, 9.2, 7, 0), BoundBroker},
		{"nobody", cpu(10, 2, 1, 1, 2, 17, 0), BoundNothing},
		{"stolen", cpu(10, 2, 1, 1, 2, 15, 1.2), BoundHost}, // 6 %
		{"broker not told", with(cpu(10, 2, 1, 3, 0, 7, 0), func(c *CPU) { c.Broker = no }), BoundUnknown},
		{"broker not told, client at its core", with(cpu(10, 2, 1, 9.9, 0, 7, 0), func(c *CPU) { c.Broker = no }), BoundClient},
		{"idle not told", with(cpu(10, 2, 1, 3, 9, 0, 0), func(c *CPU) { c.Idle = no }), BoundUnknown},
	}
	for _, tt := range tests {
		if got := tt.c.Bound(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestBrokerShare(t *testing.T) {
	// 20 s of core time, 4 idle, 1 stolen: 15 busy, 9 of them the broker's.
	if got, ok := cpu(10, 2, 1, 5, 9, 4, 1).BrokerShare(); !ok || math.Abs(got-0.6) > 1e-12 {
		t.Errorf("%g, %v", got, ok)
	}
	c := cpu(10, 2, 1, 5, 9, 4, 1)
	c.Broker = Missing("a broker by URL")
	if got, ok := c.BrokerShare(); ok {
		t.Errorf("%g though the broker does not tell", got)
	}
}

func TestIntegrity(t *testing.T) {
	none := Missing("not part of it")
	blank := Integrity{Acked: none, Nacked: none, Unconfirmed: none, Returned: none, Enqueued: none, Consumed: none, Left: none, Lost: none, Duplicated: none, OutOfOrder: none}
	with := func(change func(*Integrity)) Integrity { i := blank; change(&i); return i }
	tests := []struct {
		name string
		i    Integrity
		want string
	}{
		{"nothing to hold against", with(func(i *Integrity) { i.Sent = 5 }), ""},
		{"confirmed", with(func(i *Integrity) { i.Sent, i.Acked, i.Nacked, i.Unconfirmed = 10, Int(7), Int(1), Int(2) }), ""},
		{"returned ones are acked too", with(func(i *Integrity) {
			i.Sent, i.Acked, i.Nacked, i.Unconfirmed, i.Returned = 10, Int(10), Int(0), Int(0), Int(4)
		}), ""},
		{"one ack too few", with(func(i *Integrity) { i.Sent, i.Acked, i.Nacked, i.Unconfirmed = 10, Int(7), Int(0), Int(2) }), "10 messages were sent, but 7 acked, 0 nacked and 2 unconfirmed make 9"},
		{"no confirms, depth right", with(func(i *Integrity) { i.Sent, i.Enqueued = 10, Int(10) }), ""},
		{"no confirms, returned", with(func(i *Integrity) { i.Sent, i.Enqueued, i.Returned = 10, Int(6), Int(4) }), ""},
		{"no confirms, one missing", with(func(i *Integrity) { i.Sent, i.Enqueued = 10, Int(9) }), "10 messages were published and 9 are in the queue"},
		{"consumed and left", with(func(i *Integrity) { i.Sent, i.Enqueued, i.Consumed, i.Left = 10, Int(10), Int(6), Int(4) }), ""},
		{"one was consumed that nobody confirmed", with(func(i *Integrity) {
			i.Sent, i.Acked, i.Nacked, i.Unconfirmed, i.Enqueued, i.Consumed, i.Left = 10, Int(8), Int(0), Int(2), Int(8), Int(9), Int(0)
		}), ""},
		{"more than can be there", with(func(i *Integrity) {
			i.Sent, i.Acked, i.Nacked, i.Unconfirmed, i.Enqueued, i.Consumed, i.Left = 10, Int(7), Int(1), Int(2), Int(7), Int(9), Int(1)
		}), "7 messages were enqueued, but 9 were consumed and 1 are left"},
		{"nobody knows what is left", with(func(i *Integrity) { i.Sent, i.Enqueued, i.Consumed = 10, Int(10), Int(10) }), ""},
		{"one vanished, and nobody knows where", with(func(i *Integrity) { i.Sent, i.Enqueued, i.Consumed = 10, Int(10), Int(9) }), "9 were consumed and it is not known how many are left"},
		{"more than were sent", with(func(i *Integrity) { i.Sent, i.Consumed = 10, Int(11) }), "10 messages were sent, but 11 different ones were consumed"},
		{"one vanished on its way", with(func(i *Integrity) { i.Sent, i.Enqueued, i.Consumed, i.Left = 10, Int(9), Int(6), Int(3) }), "10 messages were published and 9 reached the queue"},
		{"one vanished", with(func(i *Integrity) { i.Sent, i.Enqueued, i.Consumed, i.Left = 10, Int(10), Int(6), Int(3) }), "10 messages were enqueued, but 6 were consumed and 3 are left"},
	}
	for _, tt := range tests {
		err := tt.i.Check()
		if (tt.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestDrift(t *testing.T) {
	at := func(broker string, rates ...float64) (out []Control) {
		for _, r := range rates {
			out = append(out, Control{Broker: broker, Rate: Float(r)})
		}
		return out
	}
	missing := []Control{{Broker: "a", Rate: Missing("it failed")}}
	tests := []struct {
		name    string
		control []Control
		want    float64
		ok      bool
		drifted bool
	}{
		{"none", nil, 0, false, false},
		{"one", at("a", 100), 0, false, false},
		{"steady", at("a", 100, 104, 97), 0.04, true, false},
		{"slower", at("a", 100, 98, 90), 0.10, true, true},
		{"each broker by itself", append(at("a", 100, 101), at("b", 50, 51)...), 0.02, true, false},
		{"failed ones don't count", append(missing, at("a", 100, 103)...), 0.03, true, false},
	}
	for _, tt := range tests {
		run := NewRun(time.Unix(0, 0), "standard")
		run.Control = tt.control
		if got, ok := run.Drift(); math.Abs(got-tt.want) > 1e-12 || ok != tt.ok || run.Drifted() != tt.drifted {
			t.Errorf("%s: %g, %v, drifted %v", tt.name, got, ok, run.Drifted())
		}
	}
}

// Evidence survives its file, and a result that does not add up is refused.
func TestEvidenceInFiles(t *testing.T) {
	run := testRun()
	res := testResult(run)
	c := &res.Cells[0]
	use := cpu(10, 2, 1, 5, 9, 4, 1)
	none := Missing("not part of it")
	c.CPU = &use
	c.Series = map[string]Series{"rate": {Unit: PerSecond, Start: 1, Step: 1, Values: []Value{Int(5), Missing("no answer")}}}
	c.Latency = map[string]Histogram{"confirm": {Count: 2, HDR: "HISTFAAA"}}
	c.Integrity = &Integrity{Sent: 10, Acked: none, Nacked: none, Unconfirmed: none, Returned: none, Enqueued: Int(10), Consumed: none, Left: none, Lost: none, Duplicated: none, OutOfOrder: none}
	got, err := Load(files(t, encode(t, run), encode(t, res)), map[string]int{res.Experiment: res.Method})
	if err != nil {
		t.Fatal(err)
	}
	back := got[0].Results[res.Experiment].Cells[0]
	if encode(t, back) != encode(t, *c) {
		t.Errorf("%s\nwant %s", encode(t, back), encode(t, *c))
	}
	c.Integrity.Enqueued = Int(9)
	if err := res.Validate(); err == nil || !strings.Contains(err.Error(), "10 messages were published and 9 are in the queue") {
		t.Errorf("%v", err)
	}
	c.Failure = &Failure{Reason: "integrity"}
	for name := range c.Values {
		c.Values[name] = none
	}
	if err := res.Validate(); err != nil {
		t.Errorf("a cell that failed for it may show it: %v", err)
	}
}
