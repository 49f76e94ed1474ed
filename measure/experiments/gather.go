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

func count(n int) measure.Value { return measure.Int(int64(n)) }
