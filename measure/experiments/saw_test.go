package experiments

import (
	"math"
	"testing"

	"genreport/measure"
)

func floats(x ...float64) []measure.Value {
	var out []measure.Value
	for _, f := range x {
		out = append(out, measure.Float(f))
	}
	return out
}

// ramp rises from low to high in so many steps and falls at once, again and again.
func ramp(n, steps int, low, high float64) []measure.Value {
	var out []measure.Value
	for i := range n {
		out = append(out, measure.Float(low+(high-low)*float64(i%steps)/float64(steps-1)))
	}
	return out
}

func TestDescribeSaw(t *testing.T) {
	// 300 to 740 in 45 steps of a second: what was seen of 4.0. Every whole
	// period has the same values, so that the median is their middle.
	s := describeSaw(ramp(180, 45, 300, 740), 0, 1)
	for name, tt := range map[string]struct {
		got  measure.Value
		want float64
	}{"median": {s.median, 520}, "max": {s.max, 740}, "amplitude": {s.amplitude, 440}, "period": {s.period, 45}} {
		if got := tt.got.Float64(); !tt.got.OK() || math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s is %+v, want %v", name, tt.got, tt.want)
		}
	}
	// Half the step is half the period.
	if s := describeSaw(ramp(180, 45, 300, 740), 0, 0.5); s.period.Float64() != 22.5 {
		t.Errorf("period %+v", s.period)
	}
	// The beginning counts for nothing.
	if s := describeSaw(append(floats(9000, 1), ramp(180, 45, 300, 740)...), 2, 1); s.max.Float64() != 740 || s.amplitude.Float64() != 440 {
		t.Errorf("with the beginning left out: %+v", s)
	}
	// A reading that is missing neither ends a rise nor makes a fall.
	gap := ramp(180, 45, 300, 740)
	gap[70] = measure.Missing("no answer")
	if s := describeSaw(gap, 0, 1); s.period.Float64() != 45 {
		t.Errorf("with a gap: %+v", s)
	}
	for name, tt := range map[string]struct {
		values []measure.Value
		reason string
	}{
		"flat":           {ramp(180, 45, 200, 240), "no period: it rises and falls by less than 25 % of its median"},
		"two falls":      {ramp(100, 45, 300, 740), "no period: it fell 2 times, and a period needs 3"},
		"one step":       {append(floats(300, 300, 300), floats(740, 740, 740)...), "no period: it fell 0 times, and a period needs 3"},
		"nothing at all": {nil, "the series is shorter than its beginning"},
		"never there":    {[]measure.Value{measure.Missing("by URL")}, "by URL"},
	} {
		if s := describeSaw(tt.values, 0, 1); s.period.OK() || s.period.Reason() != tt.reason {
			t.Errorf("%s: %+v", name, s.period)
		}
	}
	if s := describeSaw(nil, 3, 1); s.median.OK() || s.max.OK() || s.amplitude.OK() {
		t.Errorf("%+v", s)
	}
}

func TestSeconds(t *testing.T) {
	counts := func(n ...int64) measure.Series {
		s := measure.Series{Unit: measure.Count, Step: 1}
		for _, x := range n {
			s.Values = append(s.Values, measure.Int(x))
		}
		return s
	}
	// Ten a second for four seconds; consuming begins at the third second.
	b := backlog(counts(10, 10, 10, 10), counts(15, 20, 5), 2)
	var got []float64
	for _, v := range b.Values {
		got = append(got, v.Float64())
	}
	if want := []float64{10, 20, 15, 5, 0}; len(got) != 5 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] || got[3] != want[3] || got[4] != want[4] {
		t.Errorf("backlog %v, want %v", got, want)
	}
	if b.Start != 1 || b.Step != 1 || b.Unit != measure.Count {
		t.Errorf("%+v", b)
	}
	if got := whole(counts(1, 2, 3, 4), 1, 10); len(got) != 2 || got[0].Float64() != 2 || got[1].Float64() != 3 {
		t.Errorf("whole seconds %v: the last is none", got)
	}
	if got := whole(counts(1, 2), 1, 10); got != nil {
		t.Errorf("%v", got)
	}
	for _, tt := range []struct {
		got  measure.Value
		want float64
	}{
		{medianOf(floats(3, 1, 2)), 2}, {medianOf(floats(4, 1, 2, 3)), 2.5}, {maxOf(floats(1, 3, 2)), 3}, {minOf(floats(2, 1, 3)), 1},
		{share(measure.Int(190), measure.Int(2000)), 0.095},
	} {
		if tt.got.Float64() != tt.want {
			t.Errorf("%+v, want %v", tt.got, tt.want)
		}
	}
	for _, v := range []measure.Value{medianOf(nil), maxOf(nil), minOf(nil), share(measure.Int(1), measure.Int(0)), share(measure.Missing("x"), measure.Int(1)),
		share(measure.Int(1), measure.Missing("x")), minus(measure.Missing("x"), measure.Int(1)), minus(measure.Int(1), measure.Missing("x"))} {
		if v.OK() || v.Reason() == "" {
			t.Errorf("%+v", v)
		}
	}
	if minus(measure.Int(5), measure.Int(7)).Float64() != -2 {
		t.Error("5 - 7")
	}
}
