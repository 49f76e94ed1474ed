package stats

import (
	"errors"
	"math/rand/v2"
	"slices"

	"golang.org/x/perf/benchmath"
)

// Alpha is the p value below which two cases count as different. Among many
// comparisons of equal cases, one in twenty falls below it by chance alone.
const Alpha = 0.05

// Resamples is how often the bootstrap draws.
const Resamples = 10_000

// minInterval is the smallest number of samples that has an interval of its
// median: even the whole range of five covers it in only 93.75 % (1 - 2/2^5).
// The bootstrap of a median never leaves that range, so the same holds for it.
const minInterval = 6

// Comparison is what tells two cases apart, b compared with a.
type Comparison struct {
	N1, N2           int
	Median1, Median2 float64

	// Ratio is Median2 / Median1. HasRatio is false where a ratio means
	// nothing: the first median is not positive, or the second is negative.
	Ratio    float64
	HasRatio bool

	// Low and High bound the ratio with Confidence, by the percentile
	// bootstrap: both cases are drawn anew from their samples, with
	// replacement, Resamples times. The seed is fixed, so that the same samples
	// give the same interval. Interval is false below 6 samples a side, and
	// where a resample could have no ratio. Simulated for log-normal noise of 5 %, it
	// covers the true ratio in 96 to 97 % of cases with 6 to 20 samples a side.
	Low, High float64
	Interval  bool

	// P is that of the two-sided Mann-Whitney U test: exact up to 50 samples a
	// side (25 where values are equal), by the normal approximation beyond. It
	// assumes nothing of the distribution. It looks at ranks and the interval at
	// medians; where the two disagree, Differs goes by P.
	P float64

	// Enough tells whether samples of these counts can differ at all: of three
	// against three, even those that do not overlap have p = 0.1.
	Enough  bool
	Differs bool // P < Alpha
}

// Compare needs at least one sample of each; not-a-number is refused.
func Compare(a, b []float64) (Comparison, error) {
	if len(a) == 0 || len(b) == 0 {
		return Comparison{}, errors.New("no samples")
	}
	if !finite(a) || !finite(b) {
		return Comparison{}, errNotFinite
	}
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	c := Comparison{N1: len(a), N2: len(b), Median1: median(a), Median2: median(b)}
	c.P = benchmath.AssumeNothing.Compare(benchmath.NewSample(slices.Clone(a), thresholds()), benchmath.NewSample(slices.Clone(b), thresholds())).P
	c.Enough = smallestP(len(a), len(b)) < Alpha
	c.Differs = c.Enough && c.P < Alpha
	if c.Median1 > 0 && c.Median2 >= 0 {
		c.Ratio, c.HasRatio = c.Median2/c.Median1, true
	}
	if len(a) >= minInterval && len(b) >= minInterval && a[0] > 0 && b[0] >= 0 {
		c.Low, c.High = bootstrap(a, b)
		c.Interval = true
	}
	return c, nil
}

func thresholds() *benchmath.Thresholds { return &benchmath.Thresholds{CompareAlpha: Alpha} }

// median of sorted samples.
func median(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// smallestP is the two-sided p of n1 and n2 samples that do not overlap: of all
// ways to deal the ranks, two are as extreme.
func smallestP(n1, n2 int) float64 {
	ways := 1.0
	for k := 1; k <= n1; k++ {
		ways *= float64(n2+k) / float64(k)
	}
	return min(2/ways, 1)
}

// bootstrap is the percentile interval of the ratio of medians of sorted samples.
func bootstrap(a, b []float64) (low, high float64) {
	source := rand.New(rand.NewPCG(1, 2)) // any seed does, as long as it stays
	drawn := make([]int, max(len(a), len(b)))
	ratios := make([]float64, Resamples)
	for i := range ratios {
		ratios[i] = drawMedian(source, drawn, b) / drawMedian(source, drawn, a)
	}
	slices.Sort(ratios)
	tail := (1 - Confidence) / 2
	return ratios[rank(Resamples, tail)-1], ratios[rank(Resamples, 1-tail)-1]
}

// drawMedian is the median of as many values of sorted, with replacement. Since
// they are sorted, it is enough to count how often each was drawn, in drawn.
func drawMedian(source *rand.Rand, drawn []int, sorted []float64) float64 {
	n := len(sorted)
	clear(drawn)
	for range n {
		drawn[source.IntN(n)]++
	}
	i, seen := 0, drawn[0]
	for ; seen <= (n-1)/2; seen += drawn[i] {
		i++
	}
	below := sorted[i]
	for ; seen <= n/2; seen += drawn[i] {
		i++
	}
	return (below + sorted[i]) / 2
}
