package stats

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// withU is two samples without equal values in which U, the number of pairs
// whose first value is the greater one, is u.
func withU(n1, n2, u int) (a, b []float64) {
	for i := range n2 {
		b = append(b, float64(i+1))
	}
	for i := range n1 {
		above := min(u, n2) // how many of b lie below this one
		u -= above
		a = append(a, float64(above)+0.5+float64(i)/1000)
	}
	return a, b
}

// The critical values of U that textbooks print for a two-sided test at 0.05
// (after Mann and Whitney 1947, and Auble 1953): U or less is significant.
func TestCriticalValuesOfU(t *testing.T) {
	tests := []struct{ n1, n2, critical int }{
		{4, 4, 0}, {5, 5, 2}, {6, 6, 5}, {7, 7, 8}, {8, 8, 13}, {9, 9, 17}, {10, 10, 23}, {12, 12, 37}, {15, 15, 64}, {20, 20, 127},
		{3, 5, 0}, {4, 6, 2}, {5, 6, 3}, {6, 10, 11}, {10, 20, 55},
	}
	for _, tt := range tests {
		for u := tt.critical; u <= tt.critical+1; u++ {
			a, b := withU(tt.n1, tt.n2, u)
			for range 2 { // it does not matter which is which
				c, err := Compare(a, b)
				if err != nil {
					t.Fatal(err)
				}
				if want := u == tt.critical; c.Differs != want || (c.P < Alpha) != want || !c.Enough {
					t.Errorf("n=%d+%d, U=%d: %+v; the critical value is %d", tt.n1, tt.n2, u, c, tt.critical)
				}
				a, b = b, a
			}
		}
	}
}

// The first is the example of Hollander and Wolfe, Nonparametric Statistical
// Methods (1973), p. 69 f., that the manual of R's wilcox.test has: W = 35, one-
// sided p = 0.1272. The others are exact: over all ways to choose the first
// sample among the values of both, twice the share of those whose U is at most
// the smaller one of the two (counting equal values half), and at most 1. In
// Python, with z = a + b, for each c in combinations(range(len(z)), len(a)):
// U(x, y) = sum((x > y) + Fraction(x == y, 2) for x in a for y in b).
func TestPValue(t *testing.T) {
	tests := []struct {
		a, b []float64
		want float64
	}{
		{[]float64{0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46}, []float64{1.15, 0.88, 0.90, 0.74, 1.21}, 764. / 3003},
		{[]float64{1, 2, 3}, []float64{4, 5, 6}, 1. / 10},
		{[]float64{1, 2, 3, 4}, []float64{5, 6, 7, 8}, 1. / 35},
		{[]float64{1, 2, 3}, []float64{4, 5, 6, 7}, 2. / 35},
		{[]float64{90, 92, 93, 95, 96, 98}, []float64{97, 99, 100, 101, 103, 104}, 1. / 231},
		{[]float64{1, 4, 6}, []float64{2, 3, 5}, 1},
		// With equal values.
		{[]float64{10, 11, 11, 12, 13, 14}, []float64{11, 13, 14, 14, 15, 16}, 19. / 231},
		{[]float64{1, 2, 2, 3}, []float64{2, 3, 3, 4, 5}, 10. / 63},
		{[]float64{0, 0, 0, 0, 0, 1}, []float64{0, 3, 0, 15, 0, 23}, 2. / 11},
		{[]float64{4, 4, 4, 4}, []float64{4, 4, 4, 4}, 1},
	}
	for _, tt := range tests {
		c, err := Compare(tt.a, tt.b)
		if err != nil || math.Abs(c.P-tt.want) > 1e-12 {
			t.Errorf("%v and %v: p = %v, want %v; %v", tt.a, tt.b, c.P, tt.want, err)
		}
		if c.Differs != (tt.want < 0.05) {
			t.Errorf("%v and %v: differs is %v at p = %v", tt.a, tt.b, c.Differs, tt.want)
		}
	}
}

// Twice one over the binomial coefficient, by hand: 2/20, 2/35, 2/56, 2/70, 2/45.
func TestEnough(t *testing.T) {
	for _, tt := range []struct {
		n1, n2 int
		p      float64
		enough bool
	}{
		{1, 1, 1, false}, {3, 3, 0.1, false}, {3, 4, 2. / 35, false}, {3, 5, 1. / 28, true}, {4, 4, 1. / 35, true},
		{2, 7, 2. / 36, false}, {2, 8, 2. / 45, true}, {1, 38, 2. / 39, false}, {1, 40, 2. / 41, true},
	} {
		if p := smallestP(tt.n1, tt.n2); math.Abs(p-tt.p) > 1e-12 {
			t.Errorf("n=%d+%d: smallest p %v, want %v", tt.n1, tt.n2, p, tt.p)
		}
		a, b := withU(tt.n1, tt.n2, 0)
		if c, err := Compare(a, b); err != nil || c.Enough != tt.enough || c.Differs != tt.enough {
			t.Errorf("n=%d+%d: %+v, %v; want enough %v", tt.n1, tt.n2, c, err, tt.enough)
		}
	}
}

// All resamples can be counted: of up to seven samples one by one, every median of
// one case over every median of the other, and the smallest ratio that 2.5 % (97.5 %)
// of the pairs do not exceed. Python: itertools.product(s, repeat=len(s)), and
// Counter for the medians. Of the last pair they were counted, in whole numbers, by how
// many drawn values are below, at and above the middle.
func TestIntervalOfRatio(t *testing.T) {
	tests := []struct {
		a, b             []float64
		ratio, low, high float64
	}{
		{[]float64{100, 102, 104, 106, 108, 110}, []float64{120, 122, 124, 126, 128, 130}, 125. / 105, 1.1363636363636365, 1.25},
		{[]float64{90, 92, 93, 95, 96, 98}, []float64{97, 99, 100, 101, 103, 104}, 100.5 / 94, 1.0309278350515463, 1.1153846153846154},
		{[]float64{100, 101, 103, 104, 108, 110, 111}, []float64{90, 92, 93, 95, 96, 98}, 94. / 104, 0.8409090909090909, 0.9455445544554455},
		{[]float64{90, 92, 93, 95, 96, 98}, []float64{140, 143, 149, 150, 151, 160, 171}, 150. / 94, 1.4973821989528795, 1.7297297297297298},
		{[]float64{100, 101, 103, 104, 108, 110, 111}, []float64{7, 7, 8, 8, 8, 9, 9.5}, 8. / 104, 0.06481481481481481, 0.08737864077669903},
		{
			[]float64{100, 107, 128, 122, 130, 111, 106, 115, 138, 134, 103, 127, 124, 135, 119, 117, 129, 114, 113, 126},
			[]float64{150, 155, 170, 158, 156, 164, 182, 173, 174, 185, 169, 163, 167}, 167. / 120.5, 1.2762645914396886, 1.4912280701754386,
		},
	}
	for _, tt := range tests {
		c, err := Compare(tt.a, tt.b)
		if err != nil || !c.HasRatio || !c.Interval || c.Ratio != tt.ratio {
			t.Fatalf("%+v, %v; want ratio %v", c, err, tt.ratio)
		}
		if c.Low != tt.low || c.High != tt.high {
			t.Errorf("interval [%v, %v], want [%v, %v]", c.Low, c.High, tt.low, tt.high)
		}
	}
	// By the same count; a zero with a sign is no other.
	zero := math.Copysign(0, -1)
	for _, b := range [][]float64{{0, 1, 2, 3, 4, 5}, {zero, 1, 2, 3, 4, 5}} {
		c, err := Compare([]float64{1, 2, 3, 4, 5, 6}, b)
		if err != nil || !c.Interval || c.Low != 0.16666666666666666 || c.High != 2.0 || math.Signbit(c.Low) {
			t.Errorf("%v: %+v, %v", b, c, err)
		}
	}
	same := []float64{7, 7, 7, 7, 7, 7}
	if c, err := Compare(same, same); err != nil || c.Ratio != 1 || c.Low != 1 || c.High != 1 || c.Differs {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestNoRatioAndNoInterval(t *testing.T) {
	six := []float64{1, 2, 3, 4, 5, 6}
	tests := []struct {
		name            string
		a, b            []float64
		ratio, interval bool
	}{
		{"five a side", six[:5], six, true, false},
		{"five b side", six, six[:5], true, false},
		{"first median 0", []float64{0, 0, 0, 0, 0, 9}, six, false, false},
		{"first median negative", []float64{-3, -2, -1, -1, -1, -1}, six, false, false},
		{"second median negative", six, []float64{-3, -2, -1, -1, -1, -1}, false, false},
		{"second median 0", six, []float64{0, 0, 0, 0, 0, 0}, true, true},
		{"a resample of the first may be 0", []float64{0, 2, 3, 4, 5, 6}, six, true, false},
		{"fine", six, six, true, true},
	}
	for _, tt := range tests {
		c, err := Compare(tt.a, tt.b)
		if err != nil || c.HasRatio != tt.ratio || c.Interval != tt.interval {
			t.Errorf("%s: %+v, %v", tt.name, c, err)
		}
		for _, x := range []float64{c.Ratio, c.Low, c.High, c.P} {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				t.Errorf("%s: %+v", tt.name, c)
			}
		}
	}
}

func TestCompareKeepsItsInput(t *testing.T) {
	a, b := []float64{3, 1, 2}, []float64{6, 5, 4}
	c, err := Compare(a, b)
	if err != nil || !slices.Equal(a, []float64{3, 1, 2}) || !slices.Equal(b, []float64{6, 5, 4}) {
		t.Errorf("%v %v, %v", a, b, err)
	}
	if c.N1 != 3 || c.N2 != 3 || c.Median1 != 2 || c.Median2 != 5 || c.Ratio != 2.5 {
		t.Errorf("%+v", c)
	}
}

func TestCompareRefuses(t *testing.T) {
	for _, tt := range []struct {
		a, b []float64
		want string
	}{
		{nil, []float64{1}, "no samples"},
		{[]float64{1}, nil, "no samples"},
		{[]float64{1, math.NaN()}, []float64{1}, "not a finite number"},
		{[]float64{1}, []float64{math.Inf(1)}, "not a finite number"},
	} {
		if c, err := Compare(tt.a, tt.b); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v %v: %+v, %v", tt.a, tt.b, c, err)
		}
	}
}
