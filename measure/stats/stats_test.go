package stats

import (
	"math"
	"strings"
	"testing"
)

// upTo is 1, 2, … n, so that the k-th order statistic is k.
func upTo(n int) []float64 {
	var out []float64
	for i := range n {
		out = append(out, float64((i*7)%n+1)) // not in order; n has no factor 7
	}
	return out
}

// The ranks are those of the published tables of nonparametric intervals of
// the median (Conover, Practical Nonparametric Statistics, sign test), and can
// be checked by hand: the coverage of [x(l), x(u)] is the sum of C(n,k)/2^n for
// k from l to u-1.
func TestIntervalOfMedian(t *testing.T) {
	tests := []struct {
		n         int
		median    float64
		low, high float64
		coverage  float64
	}{
		{6, 3.5, 1, 6, 0.96875},
		{9, 5, 2, 8, 0.9609375},
		{10, 5.5, 2, 9, 0.978515625},
		{12, 6.5, 3, 10, 0.96142578125},
		{15, 8, 4, 12, 0.96484375},
		{20, 10.5, 6, 15, 0.9586105346679688},
	}
	for _, tt := range tests {
		s, err := Summarize(upTo(tt.n))
		if err != nil {
			t.Fatal(err)
		}
		if s.N != tt.n || s.Median != tt.median || s.Min != 1 || s.Max != float64(tt.n) {
			t.Errorf("n=%d: %+v", tt.n, s)
		}
		if !s.Interval || s.Low != tt.low || s.High != tt.high {
			t.Errorf("n=%d: interval [%g, %g] (%v), want [%g, %g]", tt.n, s.Low, s.High, s.Interval, tt.low, tt.high)
		}
		if c := coverage(tt.n, int(tt.low), int(tt.high)); math.Abs(c-tt.coverage) > 1e-12 || c < Confidence {
			t.Errorf("n=%d: [%g, %g] covers %g, want %g", tt.n, tt.low, tt.high, c, tt.coverage)
		}
	}
}

// coverage is the probability that the median lies between two order
// statistics, whatever the distribution.
func coverage(n, low, high int) float64 {
	sum, binomial := 0.0, 1.0
	for k := range n + 1 {
		if k >= low && k < high {
			sum += binomial
		}
		binomial = binomial * float64(n-k) / float64(k+1)
	}
	return sum / math.Pow(2, float64(n))
}

// Even the whole range of five samples covers the median in only 93.75 %.
func TestNoIntervalBelowSix(t *testing.T) {
	for n := 1; n <= 5; n++ {
		s, err := Summarize(upTo(n))
		if err != nil || s.Interval {
			t.Errorf("n=%d: %+v, %v", n, s, err)
		}
	}
}

func TestSummarizeKeepsItsInput(t *testing.T) {
	in := []float64{3, 1, 2}
	if _, err := Summarize(in); err != nil || in[0] != 3 || in[1] != 1 || in[2] != 2 {
		t.Errorf("%v, %v", in, err)
	}
}

func TestSummarizeEqualSamples(t *testing.T) {
	s, err := Summarize([]float64{4, 4, 4, 4, 4, 4})
	if err != nil || s.Median != 4 || !s.Interval || s.Low != 4 || s.High != 4 {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestSummarizeRefuses(t *testing.T) {
	for _, tt := range []struct {
		in   []float64
		want string
	}{
		{nil, "no samples"},
		{[]float64{1, math.NaN()}, "not a finite number"},
		{[]float64{math.Inf(-1)}, "not a finite number"},
	} {
		if s, err := Summarize(tt.in); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: %+v, %v", tt.in, s, err)
		}
	}
}

// The slope that Anscombe published for his four data sets (Graphs in
// Statistical Analysis, 1973) is 0.5; exact to seven digits it is 0.5000909 for
// the first and 0.4999091 for the fourth.
func TestSlope(t *testing.T) {
	x := []float64{10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5}
	y := []float64{8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68}
	x4 := []float64{8, 8, 8, 8, 8, 8, 8, 19, 8, 8, 8}
	y4 := []float64{6.58, 5.76, 7.71, 8.84, 8.47, 7.04, 5.25, 12.50, 5.56, 7.91, 6.89}
	for _, tt := range []struct {
		x, y []float64
		want float64
	}{{x, y, 0.5000909}, {x4, y4, 0.4999091}, {[]float64{100, 1000, 2000}, []float64{400, 4000, 8000}, 4}} {
		got, err := Slope(tt.x, tt.y)
		if err != nil || math.Abs(got-tt.want) > 5e-8 {
			t.Errorf("%g, %v; want %g", got, err, tt.want)
		}
	}
}

func TestSlopeRefuses(t *testing.T) {
	for _, tt := range []struct {
		x, y []float64
		want string
	}{
		{nil, nil, "two different x"},
		{[]float64{1}, []float64{1}, "two different x"},
		{[]float64{2, 2}, []float64{1, 3}, "two different x"},
		{[]float64{1, 2}, []float64{1}, "differ in length"},
		{[]float64{1, 2}, []float64{1, math.NaN()}, "not a finite number"},
	} {
		if got, err := Slope(tt.x, tt.y); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v %v: %g, %v; want %q", tt.x, tt.y, got, err, tt.want)
		}
	}
}
