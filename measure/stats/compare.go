package stats

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"sort"

	"github.com/aclements/go-moremath/mathx"
	gomoremath "github.com/aclements/go-moremath/stats"
	"golang.org/x/perf/benchmath"
)

// Alpha is the p value below which two cases count as different. Among many
// comparisons of equal cases, one in twenty falls below it by chance alone.
const Alpha = 0.05

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

	// Low and High bound the ratio with Confidence, by the percentile bootstrap:
	// both cases are drawn anew from their samples, with replacement. Of medians
	// that needs no random numbers: how likely each median is can be told, so this
	// is what endless draws would give. Interval is false below 6 samples a side,
	// and where a resample could have no ratio. Simulated for log-normal noise of
	// 5 %, it covers the true ratio in 96 to 97 % of cases with 6 to 20 samples a side.
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
	a, b = ordered(a), ordered(b)
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

// ordered is a sorted copy, in which 0 has no sign.
func ordered(samples []float64) []float64 {
	out := slices.Clone(samples)
	for i := range out {
		out[i] += 0 // -0 + 0 is 0
	}
	slices.Sort(out)
	return out
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

// bootstrap is the percentile interval of the ratio of the medians of resamples of
// sorted samples, those of a positive.
func bootstrap(a, b []float64) (low, high float64) {
	over, under := resampledMedians(b), resampledMedians(a)
	tail := (1 - Confidence) / 2
	return ratioAt(over, under, tail), ratioAt(over, under, 1-tail)
}

// distribution is of a number that can have some values only.
type distribution struct {
	values []float64 // ascending
	upTo   []float64 // probability of at most this value
}

// ratioAt is the smallest ratio that the share p of all ratios does not exceed.
func ratioAt(over, under distribution, p float64) float64 {
	atMost := func(ratio float64) float64 {
		share, before := 0.0, 0.0
		for i, u := range under.values {
			if n := sort.Search(len(over.values), func(j int) bool { return over.values[j]/u > ratio }); n > 0 {
				share += (under.upTo[i] - before) * over.upTo[n-1]
			}
			before = under.upTo[i]
		}
		return share
	}
	// Floating-point numbers that are not negative are in the order of their bits, so
	// that halving ends at the ratio itself.
	least := math.Float64bits(over.values[0] / under.values[len(under.values)-1])
	most := math.Float64bits(over.values[len(over.values)-1] / under.values[0])
	for least < most {
		if middle := least + (most-least)/2; atMost(math.Float64frombits(middle)) >= p-tolerance {
			most = middle
		} else {
			least = middle + 1
		}
	}
	return math.Float64frombits(least)
}

// resampledMedians is the distribution of the median of as many values as there are
// sorted ones, drawn from them with replacement.
func resampledMedians(sorted []float64) distribution {
	n := len(sorted)
	share := func(i int) float64 { return float64(i) / float64(n) }
	// rankWithin is the probability that the k smallest drawn are of the first i.
	rankWithin := func(k, i int) float64 {
		return 1 - gomoremath.BinomialDist{N: n, P: share(i)}.CDF(float64(k-1))
	}
	lower, upper := (n+1)/2, n/2+1 // ranks of the middle one, or two
	type possible struct{ median, weight float64 }
	var all []possible
	for i := range sorted {
		same := rankWithin(lower, i+1) - rankWithin(lower, i)
		if upper > lower {
			// The lower half drawn is of the first i+1 and not all of fewer; likewise the upper half.
			half := float64(lower)
			ways := mathx.Lchoose(n, lower) + math.Log(math.Pow(share(i+1), half)-math.Pow(share(i), half))
			for j := i + 1; j < n; j++ {
				weight := math.Exp(ways + math.Log(math.Pow(share(n-j), half)-math.Pow(share(n-j-1), half)))
				all = append(all, possible{(sorted[i] + sorted[j]) / 2, weight})
				same -= weight
			}
		}
		all = append(all, possible{sorted[i], same})
	}
	slices.SortFunc(all, func(a, b possible) int { return cmp.Compare(a.median, b.median) })
	var d distribution
	sum := 0.0
	for _, p := range all {
		sum += p.weight
		d.values, d.upTo = append(d.values, p.median), append(d.upTo, sum)
	}
	return d
}
