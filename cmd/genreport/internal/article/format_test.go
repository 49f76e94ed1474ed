package article

import (
	"strings"
	"testing"

	"genreport/measure"
)

func TestFormatValue(t *testing.T) {
	tests := []struct {
		x    float64
		unit measure.Unit
		o    options
		want string // with a space for the no-break space
	}{
		{0.000999999, measure.Seconds, options{digits: 2}, "1.0 ms"}, // 999,999 ns; never 1,000 µs
		{0.000999999, measure.Seconds, options{}, "1.00 ms"},
		{0.0009994, measure.Seconds, options{}, "999 µs"},
		{0.99951, measure.Seconds, options{}, "1.00 s"},
		{59.996, measure.Seconds, options{}, "60.0 s"},
		{4.5678, measure.Seconds, options{digits: 4, unit: "ms"}, "4,568 ms"},
		{90, measure.Seconds, options{unit: "min"}, "1.50 min"},
		{1.25, measure.CPUSeconds, options{digits: 2}, "1.2 s"}, // 1.25 is exact: half to even, as strconv rounds
		{1023, measure.Bytes, options{digits: 4}, "1,023 B"},
		{1024, measure.Bytes, options{}, "1.00 KiB"},
		{1536, measure.Bytes, options{}, "1.50 KiB"},
		{17612, measure.Bytes, options{digits: 2}, "17 KiB"},
		{3 << 30, measure.Bytes, options{}, "3.00 GiB"},
		{3 << 20, measure.Bytes, options{unit: "KiB"}, "3,070 KiB"}, // 3,072 to three digits
		{3 << 20, measure.Bytes, options{unit: "MiB", bare: true}, "3.00"},
		{0, measure.Bytes, options{}, "0 B"},
		{15123.4, measure.PerSecond, options{}, "15,100"},
		{123456, measure.PerSecond, options{digits: 4}, "123,500"},
		{999.6, measure.PerSecond, options{}, "1,000"},
		{0.04567, measure.PerSecond, options{}, "0.0457"},
		{8004, measure.Count, options{}, "8,004"},
		{4.0025, measure.Count, options{digits: 2}, "4.0"},
		{4.0025, measure.Count, options{}, "4.00"},
		{1234567, measure.Count, options{}, "1,234,567"},
		{1234567, measure.Count, options{digits: 2}, "1,200,000"},
		{99.96, measure.Count, options{}, "100"},
		{-1234, measure.Count, options{}, "−1,234"},
		{-0.5, measure.Seconds, options{digits: 1, unit: "s"}, "−0.5 s"},
	}
	for _, tt := range tests {
		got := strings.ReplaceAll(formatValue(tt.x, tt.unit, tt.o), "\u00a0", " ")
		if got != tt.want {
			t.Errorf("%g %s %+v: %q, want %q", tt.x, tt.unit, tt.o, got, tt.want)
		}
	}
	if got := formatValue(1, measure.Seconds, options{}); got != "1.00\u00a0s" {
		t.Errorf("%q can be broken between number and unit", got)
	}
}

func TestFormatExact(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 65535: "65,535", -2047: "−2,047"} {
		if got := formatExact(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
