// Package stats summarizes raw samples. A sample is one repeat of one case:
// the seconds or messages within a repeat are not independent of each other.
package stats

import (
	"errors"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// Confidence is the level of every interval.
const Confidence = 0.95

// Summary describes the samples of one case.
type Summary struct {
	N                int
	Median, Min, Max float64
	// Low and High bound the median with Confidence, by order statistics,
	// assuming nothing of the distribution. Interval is false where there are
	// too few samples for that: below 6.
	Low, High float64
	Interval  bool
}

// Summarize needs at least one sample; not-a-number is refused.
func Summarize(samples []float64) (Summary, error) {
	if len(samples) == 0 {
		return Summary{}, errors.New("no samples")
	}
	if !finite(samples) {
		return Summary{}, errNotFinite
	}
	sample := benchmath.NewSample(slices.Clone(samples), &benchmath.DefaultThresholds)
	s := benchmath.AssumeNothing.Summary(sample, Confidence)
	out := Summary{N: len(samples), Median: s.Center, Min: slices.Min(samples), Max: slices.Max(samples)}
	if !math.IsInf(s.Lo, 0) && !math.IsInf(s.Hi, 0) && len(s.Warnings) == 0 {
		out.Low, out.High, out.Interval = s.Lo, s.Hi, true
	}
	return out, nil
}

var errNotFinite = errors.New("a sample is not a finite number")

func finite(samples []float64) bool {
	return !slices.ContainsFunc(samples, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) })
}

// Slope is the least-squares slope of y over x. It needs two different x.
func Slope(x, y []float64) (float64, error) {
	if len(x) != len(y) {
		return 0, errors.New("slope: x and y differ in length")
	}
	if !finite(x) || !finite(y) {
		return 0, errNotFinite
	}
	var mx, my float64
	for i := range x {
		mx += x[i] / float64(len(x))
		my += y[i] / float64(len(y))
	}
	var sxy, sxx float64
	for i := range x {
		sxy += (x[i] - mx) * (y[i] - my)
		sxx += (x[i] - mx) * (x[i] - mx)
	}
	if sxx == 0 {
		return 0, errors.New("slope: it needs two different x")
	}
	return sxy / sxx, nil
}
