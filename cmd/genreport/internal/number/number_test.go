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
		// With an interval: two digits where rounding to them moves the number by no
		// more than a tenth of the width.
		{15123.4, measure.PerSecond, Options{Low: 12000, High: 18000}, "15,000"}, // 500 of 6,000
		{15123.4, measure.PerSecond, Options{Low: 14000, High: 16000}, "15,100"},
		{15123.4, measure.PerSecond, Options{Low: 15123.4, High: 15123.4}, "15,100"}, // nothing is known of the spread
		{15123.4, measure.PerSecond, Options{Digits: 4, Low: 12000, High: 18000}, "15,120"},
		{17612, measure.Bytes, Options{Low: 14000, High: 20000}, "17 KiB"},   // 17.2, 5.9 wide
		{17612, measure.Bytes, Options{Low: 15000, High: 20000}, "17.2 KiB"}, // 4.9 wide
		{0.9985, measure.Seconds, Options{Low: 0.95, High: 1.05}, "1.0 s"},   // never 1,000 ms
		{0.9982, measure.Seconds, Options{Low: 0.998, High: 0.9984}, "998 ms"},
		{8004, measure.Count, Options{Low: 7000, High: 9000}, "8,004"}, // counts are whole
		{4.0025, measure.Count, Options{Low: 3.5, High: 4.5}, "4.0"},
		{99.96, measure.PerSecond, Options{Low: 97, High: 103}, "100"},
		{-50, measure.Seconds, Options{Unit: "s", Low: -53, High: -47}, "−50 s"},
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

// The half of the last place of two digits against a tenth of the width.
func TestSupported(t *testing.T) {
	for _, tt := range []struct {
		x, low, high float64
		want         int
	}{
		{100, 97, 103, 3},     // 5 and 0.6
		{50, 47, 53, 2},       // 0.5 and 0.6
		{50, 47.5, 52.5, 2},   // 0.5 and 0.5
		{50, 48, 52, 3},       // 0.5 and 0.4
		{9.9, 9.4, 10.4, 2},   // 0.05 and 0.1
		{1.1, 0.8, 1.3, 2},    // 0.05 and 0.05
		{1.1, 0.9, 1.3, 3},    // 0.05 and 0.04
		{0.0457, .04, .05, 2}, // 0.0005 and 0.001
		{0.0457, .0445, .0465, 3},
		{-50, -53, -47, 2},
		{1, -1000, 1000, 2}, // never fewer
		{7, 7, 7, 3},
		{0, -1, 1, 3},
	} {
		if got := Supported(tt.x, tt.low, tt.high); got != tt.want {
			t.Errorf("%g in %g…%g: %d, want %d", tt.x, tt.low, tt.high, got, tt.want)
		}
	}
}

// The ends of an interval go as far as the number.
func TestEnds(t *testing.T) {
	for _, tt := range []struct {
		x         float64
		unit      measure.Unit
		o         Options
		low, high string
	}{
		{100, measure.PerSecond, Options{Low: 97, High: 103}, "97", "103"},
		{50, measure.PerSecond, Options{Low: 47.2, High: 52.8}, "47", "53"},
		{50, measure.PerSecond, Options{Low: 49.2, High: 50.8}, "49.2", "50.8"},
		{15123.4, measure.PerSecond, Options{Low: 12100, High: 18400}, "12,000", "18,000"},
		{15123.4, measure.PerSecond, Options{Low: 9940, High: 15200}, "10,000", "15,000"},
		{0.0105, measure.Seconds, Options{Unit: "ms", Low: 0.0096, High: 0.0114}, "9.6", "11.4"},
		{1536, measure.Bytes, Options{Low: 1024, High: 2048}, "1.0", "2.0"}, // 1.5 KiB, 1 wide
		{2047, measure.Count, Options{Low: 2000.4, High: 2099.6}, "2,000", "2,100"},
		{5, measure.PerSecond, Options{Low: -0.01, High: 10}, "0.0", "10.0"},
		{0, measure.PerSecond, Options{Low: 0, High: 3}, "0.00", "3.00"},
	} {
		low, high := Ends(tt.x, tt.unit, tt.o)
		if low != tt.low || high != tt.high {
			t.Errorf("%g %s %+v: %s and %s, want %s and %s", tt.x, tt.unit, tt.o, low, high, tt.low, tt.high)
		}
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
	if got := strings.Join(Units(), " "); got != "% B GiB KiB MiB min ms s µs" {
		t.Errorf("units %s", got)
	}
}

// A share may be shown in percent.
func TestPercent(t *testing.T) {
	for x, want := range map[float64]string{0.0123: "1.23%", 0.5: "50.0%", 1: "100%", 1.5: "150%"} {
		if got := Format(x, measure.Count, Options{Unit: "%"}); got != want {
			t.Errorf("%v is %q, want %q", x, got, want)
		}
	}
	if got := Format(0.25, measure.Count, Options{Unit: "%", Digits: 2, Bare: true}); got != "25" {
		t.Errorf("%q", got)
	}
	if Fits("%", measure.Seconds) || Fits("%", measure.PerSecond) || !Fits("%", measure.Count) {
		t.Error("percent is of shares alone")
	}
}
