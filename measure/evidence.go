package measure

import (
	"errors"
	"fmt"
	"math"
)

// CPU is where processor time went in the window in which the load ran, in
// seconds of one core.
type CPU struct {
	Wall      float64 `json:"wall_s"` // length of the window
	Cores     int     `json:"cores"`
	Processes int     `json:"processes"` // load client processes
	Clients   Value   `json:"clients_s"` // of all of them
	Broker    Value   `json:"broker_s"`
	Idle      Value   `json:"idle_s"`  // of the whole machine
	Steal     Value   `json:"steal_s"` // taken by the hypervisor
}

// Bound says what kept a cell from going faster.
type Bound string

const (
	BoundHost    Bound = "host"   // the machine had no core time left
	BoundClient  Bound = "client" // each load client used up its core
	BoundBroker  Bound = "broker" // the broker used up a core, and others had time left
	BoundNothing Bound = "none"   // nobody's CPU: a rate that was set, a wait, flow control
	BoundUnknown Bound = ""       // it can't be told
)

// The shares that Bound goes by.
const (
	HostIdleShare  = 0.10 // less idle core time than this, or
	HostStealShare = 0.05 // more stolen: there was no machine left
	BusyShare      = 0.90 // of one core: it can't do more
)

// Bound applies the rule: host before client before broker. On two cores the
// machine mostly runs out first; then [CPU.BrokerShare] tells whose load it was.
// A client is one thread that publishes, so one core is all that it can use.
func (c CPU) Bound() Bound {
	total := c.Wall * float64(c.Cores)
	if !(total > 0) || !c.Idle.OK() || !c.Steal.OK() {
		return BoundUnknown
	}
	switch {
	case c.Idle.Float64() < HostIdleShare*total || c.Steal.Float64() > HostStealShare*total:
		return BoundHost
	case c.Processes > 0 && c.Clients.OK() && c.Clients.Float64() >= BusyShare*c.Wall*float64(c.Processes):
		return BoundClient
	case !c.Broker.OK():
		return BoundUnknown
	case c.Broker.Float64() >= BusyShare*c.Wall:
		return BoundBroker
	}
	return BoundNothing
}

// BrokerShare is the broker's part of the machine's busy core time, 0…1; not
// ok where it can't be told.
func (c CPU) BrokerShare() (share float64, ok bool) {
	busy := c.Wall*float64(c.Cores) - c.Idle.Float64() - c.Steal.Float64()
	if !c.Broker.OK() || !c.Idle.OK() || !c.Steal.OK() || !(busy > 0) {
		return 0, false
	}
	return min(c.Broker.Float64()/busy, 1), true
}

func (c CPU) validate() error {
	if !(c.Wall > 0) || math.IsInf(c.Wall, 0) || c.Cores < 1 || c.Processes < 0 {
		return fmt.Errorf("cpu: a window of %v s, %d cores and %d processes", c.Wall, c.Cores, c.Processes)
	}
	for name, v := range map[string]Value{"clients_s": c.Clients, "broker_s": c.Broker, "idle_s": c.Idle, "steal_s": c.Steal} {
		if err := v.validate(); err != nil {
			return fmt.Errorf("cpu: %s: %w", name, err)
		}
	}
	return nil
}

// Series is a number over time within a cell, evenly spaced. A point that could
// not be read is missing.
type Series struct {
	Unit   Unit    `json:"unit"`
	Start  float64 `json:"start_s"` // of the first point, since the window began
	Step   float64 `json:"step_s"`
	Values []Value `json:"values"`
}

func (s Series) validate() error {
	if !(s.Step > 0) || math.IsInf(s.Step, 0) || math.IsNaN(s.Start) || math.IsInf(s.Start, 0) {
		return fmt.Errorf("it begins at %v s and goes by %v s", s.Start, s.Step)
	}
	if err := s.Unit.validate(); err != nil {
		return err
	}
	for i, v := range s.Values {
		if err := v.validate(); err != nil {
			return fmt.Errorf("point %d: %w", i, err)
		}
	}
	return nil
}

// Histogram is a distribution of latencies in nanoseconds, mergeable.
type Histogram struct {
	Count int64  `json:"count"`
	HDR   string `json:"hdr"` // HdrHistogram, format V2, compressed, base64
}

// Integrity is what became of the messages of a cell. Counts that an
// experiment has no part in are null.
type Integrity struct {
	Sent        int64 `json:"sent"`
	Acked       Value `json:"acked"`        // confirmed by the broker
	Nacked      Value `json:"nacked"`       // refused by the broker
	Unconfirmed Value `json:"unconfirmed"`  // neither when the cell ended
	Returned    Value `json:"returned"`     // unroutable; these are confirmed too
	Enqueued    Value `json:"enqueued"`     // that the queues took in
	Consumed    Value `json:"consumed"`     // deliveries, without those that are redelivered
	Left        Value `json:"left"`         // in the queues at the end
	Lost        Value `json:"lost"`         // sequence numbers that nobody received
	Duplicated  Value `json:"duplicated"`   // received more than once
	OutOfOrder  Value `json:"out_of_order"` // received after a later one of the same publisher
}

// Check says what does not add up: a figure of throughput is worth nothing
// then. Losing, doubling and reordering are findings, not errors of counting.
func (i Integrity) Check() error {
	var errs []error
	get := func(v Value) int64 { n, _ := v.Int64(); return n }
	if i.Acked.OK() && i.Nacked.OK() && i.Unconfirmed.OK() {
		if sum := get(i.Acked) + get(i.Nacked) + get(i.Unconfirmed); sum != i.Sent {
			errs = append(errs, fmt.Errorf("integrity: %d messages were sent, but %d acked, %d nacked and %d unconfirmed make %d",
				i.Sent, get(i.Acked), get(i.Nacked), get(i.Unconfirmed), sum))
		}
	} else if i.Enqueued.OK() {
		returned := get(i.Returned)
		if get(i.Enqueued)+returned != i.Sent {
			where := "are in the queue"
			if i.Consumed.OK() {
				where = "reached the queue"
			}
			errs = append(errs, fmt.Errorf("integrity: %d messages were published and %d %s", i.Sent-returned, get(i.Enqueued), where))
		}
	}
	if i.Enqueued.OK() && i.Consumed.OK() {
		// Of those without a confirm, some may be in the queues nevertheless. What
		// nobody can count as left is not there.
		sum, most := get(i.Consumed)+get(i.Left), get(i.Enqueued)+get(i.Unconfirmed)
		if sum < get(i.Enqueued) || sum > most {
			left := "it is not known how many are left"
			if i.Left.OK() {
				left = fmt.Sprintf("%d are left", get(i.Left))
			}
			errs = append(errs, fmt.Errorf("integrity: %d messages were enqueued, but %d were consumed and %s", get(i.Enqueued), get(i.Consumed), left))
		}
	}
	if i.Consumed.OK() && get(i.Consumed) > i.Sent {
		errs = append(errs, fmt.Errorf("integrity: %d messages were sent, but %d different ones were consumed", i.Sent, get(i.Consumed)))
	}
	return errors.Join(errs...)
}

func (i Integrity) validate() error {
	for name, v := range map[string]Value{"acked": i.Acked, "nacked": i.Nacked, "unconfirmed": i.Unconfirmed, "returned": i.Returned,
		"enqueued": i.Enqueued, "consumed": i.Consumed, "left": i.Left, "lost": i.Lost, "duplicated": i.Duplicated, "out_of_order": i.OutOfOrder} {
		if err := v.validate(); err != nil {
			return fmt.Errorf("integrity: %s: %w", name, err)
		}
		if n, whole := v.Int64(); v.OK() && (!whole || n < 0) {
			return fmt.Errorf("integrity: %s is not a count", name)
		}
	}
	return i.Check()
}

// Control is the same small load measured several times within a run: how far
// its values lie apart says how steady the machine was.
type Control struct {
	When    string  `json:"when"` // first, middle or last
	Broker  string  `json:"broker"`
	Started float64 `json:"started_s"` // seconds since the run's start
	Rate    Value   `json:"rate"`      // messages per second
}

// DriftLimit is the drift of the control beyond which a run counts as drifted.
const DriftLimit = 0.05

// Drift is the largest distance of a control value from the first, as a share
// of it, over all brokers; not ok with fewer than two values.
func (r Run) Drift() (share float64, ok bool) {
	first := map[string]float64{}
	for _, c := range r.Control {
		if !c.Rate.OK() || c.Rate.Float64() <= 0 {
			continue
		}
		base, seen := first[c.Broker]
		if !seen {
			first[c.Broker] = c.Rate.Float64()
			continue
		}
		ok = true
		share = max(share, math.Abs(c.Rate.Float64()/base-1))
	}
	return share, ok
}

// Drifted reports whether the run's control moved by more than DriftLimit.
func (r Run) Drifted() bool {
	share, ok := r.Drift()
	return ok && share > DriftLimit
}
