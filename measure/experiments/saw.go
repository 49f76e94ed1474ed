package experiments

import (
	"fmt"

	"genreport/measure"
	"genreport/measure/stats"
)

// saw tells how a number that was read at even steps went up and down.
type saw struct{ median, max, amplitude, period measure.Value }

// The rules of a saw: a rise and fall by less than that share of the median is
// noise, and a period needs so many falls, two of them lying a period apart.
const (
	sawShare = 0.25
	sawFalls = 3
)

// describeSaw reads a saw from values that are step seconds apart. The first
// settle values, of a load that begins, are left out. The amplitude is from the
// lowest to the highest value. A fall is the way from the upper quarter of that
// range to the lower; the period is the mean time between falls.
func describeSaw(values []measure.Value, settle int, step float64) saw {
	var points []float64
	reason := "the series is shorter than its beginning"
	for _, v := range values[min(settle, len(values)):] {
		if v.OK() {
			points = append(points, v.Float64())
		} else {
			reason = v.Reason()
		}
	}
	if len(points) == 0 {
		none := measure.Missing(reason)
		return saw{none, none, none, none}
	}
	summary, err := stats.Summarize(points)
	if err != nil {
		none := measure.Missing(err.Error())
		return saw{none, none, none, none}
	}
	low, high, middle := summary.Min, summary.Max, summary.Median
	s := saw{measure.Float(middle), measure.Float(high), measure.Float(high - low), measure.Value{}}
	if high-low < sawShare*middle {
		s.period = measure.Missing(fmt.Sprintf("no period: it rises and falls by less than %.0f %% of its median", 100*sawShare))
		return s
	}
	upper, lower := high-(high-low)/4, low+(high-low)/4
	var falls []int
	up := false
	for i, v := range values[min(settle, len(values)):] {
		if !v.OK() {
			continue
		}
		switch x := v.Float64(); {
		case x >= upper:
			up = true
		case x <= lower && up:
			up = false
			falls = append(falls, i)
		}
	}
	if len(falls) < sawFalls {
		s.period = measure.Missing(fmt.Sprintf("no period: it fell %d times, and a period needs %d", len(falls), sawFalls))
		return s
	}
	s.period = measure.Float(float64(falls[len(falls)-1]-falls[0]) * step / float64(len(falls)-1))
	return s
}
