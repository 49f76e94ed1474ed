package load

import (
	"sync"
	"time"

	"genreport/measure"
	"genreport/measure/load/latency"
)

// LateAfter is how long after its intended time a send counts as late. It is
// above what waiting for a time costs (0.1 ms) and below what anybody would
// call a latency of the broker.
const LateAfter = time.Millisecond

// The names of what is recorded in Outcome.Latency and Outcome.Series.
const (
	// LatencyConfirm is from the intended send to the publisher confirm.
	LatencyConfirm = "confirm"
	// LatencySendDelay is from the intended send to the actual one: what the
	// client added by itself, or by waiting for the broker to take more.
	LatencySendDelay = "send_delay"
	// LatencyDelivery is from the intended send to the receipt, for messages
	// from the same machine, each the first time.
	LatencyDelivery = "delivery"

	SeriesSent     = "sent"
	SeriesAcked    = "acked"
	SeriesConsumed = "consumed"
	// SeriesConfirmMax is the longest latency among the confirms of each second.
	SeriesConfirmMax = "confirm_max"
)

// LatencyConfirmIn is LatencyConfirm of one of the job's phases.
func LatencyConfirmIn(phase string) string { return LatencyConfirm + "_" + phase }

// recorder notes what becomes of the messages of a publisher. Sends and
// confirms come from several goroutines. acked + nacked + unconfirmed is sent
// at any moment, whatever happens to the connection.
type recorder struct {
	paced bool // there is a schedule, and so a send can be late
	start time.Duration

	mu      sync.Mutex
	waiting []waiting // by channel; nil without confirms

	sent, late, acked, nacked, returned int

	delay, confirm    *latency.Histogram
	sentPer, ackedPer perSecond

	phases     []phase
	current    int             // of phases
	longestPer []time.Duration // of the confirms in each second; only with phases
}

// phase is a part of the work for which latencies are kept apart.
type phase struct {
	name    string
	began   time.Duration
	confirm *latency.Histogram
}

func newRecorder(start time.Duration, paced bool, confirmChannels int, phases []string) *recorder {
	r := &recorder{start: start, paced: paced, waiting: make([]waiting, confirmChannels)}
	r.delay, r.confirm = latency.New(), latency.New()
	for _, name := range phases {
		r.phases = append(r.phases, phase{name, start, latency.New()})
	}
	return r
}

// next begins the next phase; after the last there is none.
func (r *recorder) next(now time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current+1 < len(r.phases) {
		r.current++
		r.phases[r.current].began = now
	}
}

// inPhase notes a confirm in the phase in which its message was to be sent.
func (r *recorder) inPhase(due, now time.Duration) {
	if len(r.phases) == 0 {
		return
	}
	i := r.current
	for i > 0 && due < r.phases[i].began {
		i--
	}
	r.phases[i].confirm.Record(now - due)
	second := int(min(max(now-r.start, 0), 2*MaxLimit) / time.Second)
	for len(r.longestPer) <= second {
		r.longestPer = append(r.longestPer, -1)
	}
	r.longestPer[second] = max(r.longestPer[second], now-due)
}

// send notes that a message is handed to the client library at now. It counts
// before the call: one that fails may have reached the broker.
func (r *recorder) send(channel int, due, now time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent++
	r.sentPer.add(now - r.start)
	if r.paced {
		r.delay.Record(now - due)
		if now-due > LateAfter {
			r.late++
		}
	}
	if len(r.waiting) > 0 {
		r.waiting[channel].push(due)
	}
}

// settle notes the confirm of the oldest message of a channel that has none:
// amqp091-go hands confirms over in the order of the messages, so that one that
// overtakes others counts as if it came with the last of them.
func (r *recorder) settle(channel int, ack bool, now time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	due, ok := r.waiting[channel].pop()
	switch {
	case !ok: // of nothing that was sent
	case ack:
		r.acked++
		r.ackedPer.add(now - r.start)
		r.confirm.Record(now - due)
		r.inPhase(due, now)
	default:
		r.nacked++
	}
}

func (r *recorder) giveBack() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.returned++
}

// report writes the state of this moment to o.
func (r *recorder) report(o *Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o.Sent, o.Late = r.sent, r.late
	o.Latency = map[string]measure.Histogram{}
	o.Series = map[string]measure.Series{SeriesSent: r.sentPer.series()}
	if r.paced {
		o.Latency[LatencySendDelay] = r.delay.Encode()
	}
	if len(r.waiting) > 0 {
		o.Acked, o.Nacked, o.Returned = r.acked, r.nacked, r.returned
		o.Unconfirmed = r.sent - r.acked - r.nacked
		o.Latency[LatencyConfirm] = r.confirm.Encode()
		o.Series[SeriesAcked] = r.ackedPer.series()
	}
	for _, p := range r.phases {
		o.Latency[LatencyConfirmIn(p.name)] = p.confirm.Encode()
	}
	if len(r.phases) > 0 {
		longest := measure.Series{Unit: measure.Seconds, Step: 1, Values: []measure.Value{}}
		for _, d := range r.longestPer {
			v := measure.Missing("no confirm came in this second")
			if d >= 0 {
				v = measure.Float(d.Seconds())
			}
			longest.Values = append(longest.Values, v)
		}
		o.Series[SeriesConfirmMax] = longest
	}
}

// waiting is a queue of the intended times of messages without a confirm.
type waiting struct {
	due  []time.Duration
	head int
}

func (q *waiting) push(t time.Duration) {
	if q.head > 64 && q.head > len(q.due)/2 { // it would grow with every message
		n := copy(q.due, q.due[q.head:])
		q.due, q.head = q.due[:n], 0
	}
	q.due = append(q.due, t)
}

func (q *waiting) pop() (t time.Duration, ok bool) {
	if q.head == len(q.due) {
		return 0, false
	}
	t = q.due[q.head]
	q.head++
	return t, true
}

// perSecond counts events in each second since the start. The last second is
// not a whole one.
type perSecond []int64

func (p *perSecond) add(since time.Duration) {
	second := int(min(max(since, 0), 2*MaxLimit) / time.Second)
	for len(*p) <= second {
		*p = append(*p, 0)
	}
	(*p)[second]++
}

func (p perSecond) series() measure.Series {
	s := measure.Series{Unit: measure.Count, Step: 1, Values: []measure.Value{}}
	for _, n := range p {
		s.Values = append(s.Values, measure.Int(n))
	}
	return s
}
