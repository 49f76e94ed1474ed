package stats

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Percentile is the p-quantile, 0 < p < 1, by nearest rank: the smallest sample
// that at least the share p of all samples does not exceed. It is always one of
// the samples. supported is [SupportsPercentile]; what is not supported must
// not be shown as that percentile.
func Percentile(samples []float64, p float64) (x float64, supported bool, err error) {
	switch {
	case len(samples) == 0:
		return 0, false, errors.New("no samples")
	case !finite(samples):
		return 0, false, errNotFinite
	case !(p > 0 && p < 1):
		return 0, false, fmt.Errorf("percentile %v is not between 0 and 1", p)
	}
	sorted := slices.Sorted(slices.Values(samples))
	return sorted[rank(len(sorted), p)-1], SupportsPercentile(len(sorted), p), nil
}

// SupportsPercentile tells whether n samples can give the p-quantile: at least
// one of them must lie beyond it, that is 1/(1-p) samples, or 1/p below the
// median. With fewer the nearest rank is just the maximum (or the minimum),
// under another name: the p99 of 20 samples says nothing of the slowest
// hundredth.
func SupportsPercentile(n int, p float64) bool {
	return float64(n)*min(p, 1-p) >= 1-tolerance
}

// tolerance takes up what binary fractions add: 100 × 0.07 is more than 7, and
// 1 / (1-0.99) is more than 100.
const tolerance = 1e-9

// rank is the nearest rank of the p-quantile among n, from 1.
func rank(n int, p float64) int {
	return min(max(int(math.Ceil(float64(n)*p-tolerance)), 1), n)
}

// minOutliers is the smallest number of samples that outliers are looked for
// in. Four never have one, by the quartiles used here; of five from a normal
// distribution, a third would. From six on it is a seventh to a third: a flag
// is a reason to look, not to leave a sample out.
const minOutliers = 6

// Outliers are the indices of samples beyond Tukey's fences, 1.5 times the
// distance of the quartiles outside them. The quartiles are Tukey's hinges: the
// medians of the lower and the upper half, which both have the middle sample
// where the number is odd. Below 6 samples there are none, and among samples
// that are not all finite. Outliers stay in every statistic.
func Outliers(samples []float64) []int {
	if len(samples) < minOutliers || !finite(samples) {
		return nil
	}
	sorted := slices.Sorted(slices.Values(samples))
	half := (len(sorted) + 1) / 2
	lower, upper := median(sorted[:half]), median(sorted[len(sorted)-half:])
	fence := 1.5 * (upper - lower)
	var out []int
	for i, x := range samples {
		if x < lower-fence || x > upper+fence {
			out = append(out, i)
		}
	}
	return out
}
