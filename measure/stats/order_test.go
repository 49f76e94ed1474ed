package stats

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func TestPercentile(t *testing.T) {
	var twenty []float64 // 0 … 19 ms
	for i := range 20 {
		twenty = append(twenty, float64(19-i)/1000)
	}
	tail := slices.Repeat([]float64{0.001}, 99) // 99 of 1 ms and one of 1,000 ms
	tail = append(tail, 1)
	tests := []struct {
		name      string
		samples   []float64
		p, want   float64
		supported bool
	}{
		{"twenty", twenty, 0.95, 0.018, true},
		{"twenty", twenty, 0.99, 0.019, false},  // the maximum, and not shown
		{"twenty", twenty, 0.999, 0.019, false}, // never above it
		{"twenty", twenty, 0.5, 0.009, true},
		{"twenty", twenty, 0.05, 0, true},
		{"twenty", twenty, 0.01, 0, false},
		{"tail", tail, 0.99, 0.001, true}, // not the mean, 10.99 ms
		{"tail", tail, 0.07, 0.001, true},
		{"tail", tail, 0.999, 1, false},
		{"one to a hundred", upTo(100), 0.07, 7, true}, // 100 × 0.07 is 7.000000000000001
		{"one to a hundred", upTo(100), 0.99, 99, true},
		{"one to a hundred", upTo(100), 0.901, 91, true},
		{"one", []float64{4}, 0.5, 4, false},
		{"two", []float64{4, 8}, 0.5, 4, true},
	}
	for _, tt := range tests {
		got, supported, err := Percentile(tt.samples, tt.p)
		if err != nil || got != tt.want || supported != tt.supported {
			t.Errorf("p%g of %s: %v, %v, %v; want %v, %v", 100*tt.p, tt.name, got, supported, err, tt.want, tt.supported)
		}
	}
}

func TestSupportsPercentile(t *testing.T) {
	for _, tt := range []struct {
		p     float64
		least int
	}{{0.5, 2}, {0.9, 10}, {0.95, 20}, {0.99, 100}, {0.999, 1000}, {0.01, 100}} {
		if SupportsPercentile(tt.least-1, tt.p) || !SupportsPercentile(tt.least, tt.p) {
			t.Errorf("p%g needs %d samples", 100*tt.p, tt.least)
		}
	}
}

func TestPercentileRefuses(t *testing.T) {
	for _, tt := range []struct {
		in   []float64
		p    float64
		want string
	}{
		{nil, 0.5, "no samples"},
		{[]float64{1, math.NaN()}, 0.5, "not a finite number"},
		{[]float64{1}, 0, "not between"},
		{[]float64{1}, 1, "not between"},
		{[]float64{1}, math.NaN(), "not between"},
		{[]float64{1}, 99, "not between"},
	} {
		if x, _, err := Percentile(tt.in, tt.p); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, %v: %v, %v", tt.in, tt.p, x, err)
		}
	}
}

func TestOutliers(t *testing.T) {
	tests := []struct {
		name    string
		samples []float64
		want    []int
	}{
		// Halves 1 2 3 and 4 5 x: hinges 2 and 5, fences -2.5 and 9.5.
		{"within the fence", []float64{1, 2, 3, 4, 5, 9.5}, nil},
		{"beyond the fence", []float64{5, 1, 9.6, 2, 3, 4}, []int{2}},
		{"below it", []float64{3, 4, -2.6, 2, 5, 5}, []int{2}}, // halves -2.6 2 3 and 4 5 5: fences -2.5 and 9.5
		// Halves 1 2 3 4 and 4 5 6 x: hinges 2.5 and 5.5, fences -2 and 10.
		{"odd, within", []float64{1, 2, 3, 4, 5, 6, 10}, nil},
		{"odd, beyond", []float64{1, 2, 3, 4, 5, 6, 10.1}, []int{6}},
		{"both ends", []float64{-100, 10, 11, 12, 13, 14, 15, 200}, []int{0, 7}},
		{"all equal but one", []float64{7, 7, 7, 7, 7, 8}, []int{5}},
		{"all equal", []float64{7, 7, 7, 7, 7, 7}, nil},
		{"five are too few", []float64{1, 2, 3, 4, 1000}, nil},
		{"not a number", []float64{1, 2, 3, 4, 5, math.NaN()}, nil},
		{"none", nil, nil},
	}
	for _, tt := range tests {
		before := slices.Clone(tt.samples)
		if got := Outliers(tt.samples); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
		if tt.name != "not a number" && !slices.Equal(before, tt.samples) {
			t.Errorf("%s: the samples were changed", tt.name)
		}
	}
}
