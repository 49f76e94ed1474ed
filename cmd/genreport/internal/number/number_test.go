package number

import (
	"strings"
	"testing"

	"genreport/measure"
)

func TestFormat(t *testing.T) {
	tests := []struct {
		x    float64
		unit measure.Unit
		o    Options
		want string // with a space for the no-break space
	}{
		{0.000999999, measure.Seconds, Options{Digits: 2}, "1.0 ms"}, // 999,999 ns; never 1,000 µs
		{0.000999999, measure.Seconds, Options{}, "1.00 ms"},
		{0.0009994, measure.Seconds, Options{}, "999 µs"},
		{0.99951, measure.Seconds, Options{}, "1.00 s"},
		{59.996, measure.Seconds, Options{}, "60.0 s"},
		{4.5678, measure.Seconds, Options{Digits: 4, Unit: "ms"}, "4,568 ms"},
		{90, measure.Seconds, Options{Unit: "min"}, "1.50 min"},
		{1.25, measure.CPUSeconds, Options{Digits: 2}, "1.2 s"}, // 1.25 is exact: half to even, as strconv rounds
		{1023, measure.Bytes, Options{Digits: 4}, "1,023 B"},
		{1024, measure.Bytes, Options{}, "1.00 KiB"},
		{1536, measure.Bytes, Options{}, "1.50 KiB"},
		{17612, measure.Bytes, Options{Digits: 2}, "17 KiB"},
		{3 << 30, measure.Bytes, Options{}, "3.00 GiB"},
		{3 << 20, measure.Bytes, Options{Unit: "KiB"}, "3,070 KiB"}, // 3,072 to three digits
		{3 << 20, measure.Bytes, Options{Unit: "MiB", Bare: true}, "3.00"},
		{0, measure.Bytes, Options{}, "0 B"},
		{15123.4, measure.PerSecond, Options{}, "15,100"},
		{123456, measure.PerSecond, Options{Digits: 4}, "123,500"},
		{999.6, measure.PerSecond, Options{}, "1,000"},
		{0.04567, measure.PerSecond, Options{}, "0.0457"},
		{8004, measure.Count, Options{}, "8,004"},
		{4.0025, measure.Count, Options{Digits: 2}, "4.0"},
		{4.0025, measure.Count, Options{}, "4.00"},
		{1234567, measure.Count, Options{}, "1,234,567"},
		{1234567, measure.Count, Options{Digits: 2}, "1,200,000"},
		{99.96, measure.Count, Options{}, "100"},
		{-1234, measure.Count, Options{}, "−1,234"},
		{-0.5, measure.Seconds, Options{Digits: 1, Unit: "s"}, "−0.5 s"},
	}
	for _, tt := range tests {
		got := strings.ReplaceAll(Format(tt.x, tt.unit, tt.o), "\u00a0", " ")
		if got != tt.want {
			t.Errorf("%g %s %+v: %q, want %q", tt.x, tt.unit, tt.o, got, tt.want)
		}
	}
	if got := Format(1, measure.Seconds, Options{}); got != "1.00\u00a0s" {
		t.Errorf("%q can be broken between number and unit", got)
	}
}

func TestExact(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 65535: "65,535", -2047: "−2,047"} {
		if got := Exact(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestScale(t *testing.T) {
	for unit, want := range map[string]float64{"ms": 1e-3, "min": 60, "KiB": 1024} {
		if got, ok := Scale(unit); !ok || got != want {
			t.Errorf("%s: %g, %v", unit, got, ok)
		}
	}
	if _, ok := Scale("kB"); ok {
		t.Error("kB is no unit of ours")
	}
	if got := strings.Join(Units(), " "); got != "B GiB KiB MiB min ms s µs" {
		t.Errorf("units %s", got)
	}
}
