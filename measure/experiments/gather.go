package experiments

import (
	"fmt"
	"maps"
	"slices"

	"genreport/measure"
	"genreport/measure/load"
	"genreport/measure/load/latency"
)

// gather puts what the clients of a cell recorded into its sample: distributions
// of latencies merged, events in each second added up, and what became of the
// messages. Left is what the queues held at the end, or why nobody looked.
func (s *Sample) gather(publishers, consumers []load.Outcome, left measure.Value) error {
	all := slices.Concat(publishers, consumers)
	merged := map[string]*latency.Histogram{}
	for _, o := range all {
		for name, m := range o.Latency {
			h, err := latency.Decode(m)
			if err != nil {
				return fmt.Errorf("latency %s of a client: %w", name, err)
			}
			if merged[name] == nil {
				merged[name] = h
			} else {
				merged[name].Merge(h)
			}
		}
	}
	s.Latency = map[string]measure.Histogram{}
	for name, h := range merged {
		s.Latency[name] = h.Encode()
	}
	var err error
	if s.Series, err = addSeries(all); err != nil {
		return err
	}
	i := gatherIntegrity(publishers, consumers, left)
	s.Integrity = &i
	return nil
}

// addSeries adds up what clients counted second by second. They start within
// milliseconds of each other.
func addSeries(outcomes []load.Outcome) (map[string]measure.Series, error) {
	sums := map[string][]int64{}
	shape := map[string]measure.Series{}
	for _, o := range outcomes {
		for name, series := range o.Series {
			if known, ok := shape[name]; ok && (known.Unit != series.Unit || known.Start != series.Start || known.Step != series.Step) {
				return nil, fmt.Errorf("the clients count %s in different steps", name)
			}
			shape[name] = series
			for i, v := range series.Values {
				n, whole := v.Int64()
				if !whole {
					return nil, fmt.Errorf("point %d of %s is not a count", i, name)
				}
				if i == len(sums[name]) {
					sums[name] = append(sums[name], 0)
				}
				sums[name][i] += n
			}
		}
	}
	out := map[string]measure.Series{}
	for _, name := range slices.Sorted(maps.Keys(shape)) {
		series := shape[name]
		series.Values = nil
		for _, n := range sums[name] {
			series.Values = append(series.Values, measure.Int(n))
		}
		out[name] = series
	}
	return out, nil
}

// gatherIntegrity adds up what became of the messages. Publishers are taken to
// use confirms.
func gatherIntegrity(publishers, consumers []load.Outcome, left measure.Value) measure.Integrity {
	var sent, acked, nacked, unconfirmed, returned, consumed, duplicated, outOfOrder int
	for _, o := range publishers {
		sent += o.Sent
		acked += o.Acked
		nacked += o.Nacked
		unconfirmed += o.Unconfirmed
		returned += o.Returned
	}
	for _, o := range consumers {
		consumed += o.Consumed
		duplicated += o.Duplicated
		outOfOrder += o.OutOfOrder
	}
	unread := measure.Missing("nothing is consumed")
	i := measure.Integrity{
		Sent: int64(sent), Acked: count(acked), Nacked: count(nacked), Unconfirmed: count(unconfirmed), Returned: count(returned),
		Enqueued: unread, Consumed: unread, Left: left, Lost: unread, Duplicated: unread, OutOfOrder: unread,
	}
	if len(consumers) > 0 {
		// What was confirmed and not returned is in a queue, by the broker's word.
		i.Enqueued = count(acked - returned)
		i.Consumed, i.Duplicated, i.OutOfOrder = count(consumed), count(duplicated), count(outOfOrder)
		i.Lost = count(load.Lost(publishers, consumers) - returned)
		if n, ok := left.Int64(); ok {
			i.Lost = count(load.Lost(publishers, consumers) - returned - int(n))
		}
	}
	return i
}

// mqttIntegrity is that of publishers over MQTT, each with a subscriber of its own.
// With QoS 0 the broker may drop messages and confirms none: what is lost is told,
// and nothing can be held against it but that no more come than were sent.
func mqttIntegrity(outcomes []load.Outcome, qos int) *measure.Integrity {
	i := gatherIntegrity(outcomes, outcomes, measure.Missing("a subscription's queue ends with its connection"))
	i.Returned = measure.Missing("MQTT returns no messages")
	if qos == 0 {
		none := measure.Missing("QoS 0 has no confirms, and the broker may drop messages")
		i.Acked, i.Nacked, i.Unconfirmed, i.Enqueued = none, none, none, none
	}
	return &i
}

// burstIntegrity is that of messages which connections sent without confirms and
// took from one queue, in which some were left.
func burstIntegrity(moved load.Outcome, left int) *measure.Integrity {
	i := withoutConfirms(moved.Sent, moved.Consumed+left)
	i.Consumed, i.Left, i.Duplicated = count(moved.Consumed), count(left), count(moved.Duplicated)
	i.Lost = count(max(moved.Lost-left, 0))
	i.OutOfOrder = measure.Missing("connections take each other's messages")
	return i
}

func count(n int) measure.Value { return measure.Int(int64(n)) }
