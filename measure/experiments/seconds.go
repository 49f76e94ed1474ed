package experiments

import (
	"genreport/measure"
	"genreport/measure/stats"
)

// whole is the part of a series of counts from second from up to but not
// including to, without the last, which is not a whole one.
func whole(s measure.Series, from, to int) []measure.Value {
	to = min(to, len(s.Values)-1)
	if from >= to {
		return nil
	}
	return s.Values[from:to]
}

// backlog is how many messages were confirmed and not yet received at the end
// of each second. Consuming began at second began of publishing.
func backlog(confirmed, consumed measure.Series, began int) measure.Series {
	out := measure.Series{Unit: measure.Count, Start: 1, Step: 1, Values: []measure.Value{}}
	var depth int64
	for i := range max(len(confirmed.Values), began+len(consumed.Values)) {
		if i < len(confirmed.Values) {
			n, _ := confirmed.Values[i].Int64()
			depth += n
		}
		if at := i - began; at >= 0 && at < len(consumed.Values) {
			n, _ := consumed.Values[at].Int64()
			depth -= n
		}
		// What is received within a millisecond may be confirmed after that.
		out.Values = append(out.Values, measure.Int(max(depth, 0)))
	}
	return out
}

// numbers are the values that are there.
func numbers(values []measure.Value) []float64 {
	var out []float64
	for _, v := range values {
		if v.OK() {
			out = append(out, v.Float64())
		}
	}
	return out
}

// summary of the values that are there, or why there is none.
func summary(values []measure.Value, pick func(stats.Summary) float64) measure.Value {
	s, err := stats.Summarize(numbers(values))
	if err != nil {
		return measure.Missing("run too short: no whole second")
	}
	return measure.Float(pick(s))
}

func medianOf(values []measure.Value) measure.Value {
	return summary(values, func(s stats.Summary) float64 { return s.Median })
}

func maxOf(values []measure.Value) measure.Value {
	return summary(values, func(s stats.Summary) float64 { return s.Max })
}

func minOf(values []measure.Value) measure.Value {
	return summary(values, func(s stats.Summary) float64 { return s.Min })
}

// share is a part of a whole, or why it can't be told.
func share(part, of measure.Value) measure.Value {
	switch {
	case !part.OK():
		return part
	case !of.OK():
		return of
	case of.Float64() == 0:
		return measure.Missing("there was nothing to compare with")
	}
	return measure.Float(part.Float64() / of.Float64())
}
