package claim

import (
	"testing"
)

func cell(samples ...float64) Cell { return Cell{Name: "x", Run: "r", Samples: samples} }

func drifted(c Cell, share float64) Cell {
	c.Drift = share
	return c
}

func exact(samples ...float64) Cell {
	c := cell(samples...)
	c.Exact = true
	return c
}

// around is seven samples evenly up to 3 % on either side of a middle.
func around(middle float64) Cell {
	var x []float64
	for i := -3; i <= 3; i++ {
		x = append(x, middle*(1+0.01*float64(i)))
	}
	return cell(x...)
}

func TestPairs(t *testing.T) {
	for name, tt := range map[string]struct {
		got  Decision
		want Verdict
		why  Why
	}{
		// Samples 97…103 and 194…206: no ratio of resampled medians is below
		// 194/103 = 1.88 or above 206/97 = 2.12.
		"twice is more":              {Greater(around(100), around(200), 1), Holds, Decided},
		"twice is more than 1.8":     {Greater(around(100), around(200), 1.8), Holds, Decided},
		"twice is not more than 2.2": {Greater(around(100), around(200), 2.2), Fails, Decided},
		"twice or more":              {Greater(around(100), around(200), 2), Undecided, Overlap},
		"half is less":               {Less(around(200), around(100), 1), Holds, Decided},
		"half is not more":           {Greater(around(200), around(100), 1), Fails, Decided},
		"equal is not more":          {Greater(around(100), around(100), 1), Undecided, Overlap},
		"equal within 10 %":          {Same(around(100), around(100), 0.1), Holds, Decided},
		"equal within 1 %":           {Same(around(100), around(100), 0.01), Undecided, Overlap},
		"not equal within 10 %":      {Same(around(100), around(200), 0.1), Fails, Decided},
		"half is not equal":          {Same(around(200), around(100), 0.1), Fails, Decided},
		// Three against three decide only when they do not overlap.
		"three apart":       {Greater(cell(1, 2, 3), cell(4, 5, 6), 1), Holds, Decided},
		"three that touch":  {Greater(cell(1, 2, 4), cell(3, 5, 6), 1), Undecided, Overlap},
		"three, by factor":  {Greater(cell(1, 1, 1), cell(4, 5, 6), 3.9), Holds, Decided},
		"two":               {Greater(cell(1, 2), cell(40, 50), 1), Undecided, TooFew},
		"one count":         {Greater(exact(16), exact(2047), 1), Holds, Decided},
		"counts are equal":  {Same(exact(2047, 2047, 2047), exact(2047, 2047), 0), Holds, Decided},
		"counts differ":     {Same(exact(2047), exact(2048), 0), Fails, Decided},
		"noisy counts":      {Same(exact(2047, 2048), exact(2047, 2047), 0), Undecided, TooFew},
		"missing":           {Greater(Cell{Missing: "the broker ended"}, around(1), 1), Undecided, Missing},
		"different runs":    {Greater(Cell{Run: "a", Samples: []float64{1, 2, 3}}, Cell{Run: "b", Samples: []float64{4, 5, 6}}, 1), Undecided, Unlike},
		"zero has no ratio": {Greater(cell(0, 0, 0), cell(1, 2, 3), 1), Undecided, Missing},
		// Where the machine's speed moved, every round must say the same: 97 < 104 …
		// 102 < 109, but 103 > 102.
		"one round disagrees": {Greater(drifted(around(100), 0.26), cell(104, 105, 106, 107, 108, 109, 102), 1), Undecided, Drifted},
		"steady":              {Greater(drifted(around(100), 0.04), cell(104, 105, 106, 107, 108, 109, 102), 1), Holds, Decided},
		"all rounds agree":    {Greater(drifted(around(100), 0.26), around(110), 1), Holds, Decided},
		"rounds are missing":  {Greater(drifted(around(100), 0.26), cell(200, 200, 200, 200, 200, 200), 1), Undecided, Drifted},
		"counts don't drift":  {Greater(func() Cell { c := exact(16); c.Drift = 0.9; return c }(), exact(17), 1), Holds, Decided},
		"equal in each round": {Same(drifted(around(100), 0.26), around(100), 0.1), Holds, Decided},
	} {
		if tt.got.Verdict != tt.want || tt.got.Why != tt.why {
			t.Errorf("%s: %+v, want %s %s", name, tt.got, tt.want, tt.why)
		}
	}
	if d := Greater(around(100), around(200), 1); d.Ratio != 2 || d.Low < 1.88 || d.High > 2.13 || d.Low >= 2 || d.High <= 2 {
		t.Errorf("%+v", d)
	}
}

func TestOverCases(t *testing.T) {
	flat := []Cell{around(100), around(103), around(98), around(101)}
	up := []Cell{around(100), around(120), around(150), around(200)}
	down := []Cell{around(200), around(150), around(120), around(100)}
	knee := []Cell{around(100), around(150), around(200), around(201), around(196)}
	gone := []Cell{around(100), {Missing: "failed"}, around(200)}
	for name, tt := range map[string]struct {
		got  Decision
		want Verdict
		why  Why
	}{
		"flat":                       {Flat(flat, 0.15), Holds, Decided},
		"flat, too strictly":         {Flat(flat, 0.02), Undecided, Overlap},
		"not flat":                   {Flat(up, 0.15), Fails, Decided},
		"flat but for its ends":      {Flat([]Cell{around(100), around(110), around(121), around(133)}, 0.2), Fails, Decided},
		"rising":                     {Rising(up), Holds, Decided},
		"flat is not rising":         {Rising([]Cell{around(100), around(101), around(100)}), Undecided, Overlap},
		"falling is not rising":      {Rising(down), Fails, Decided},
		"falling":                    {Falling(down), Holds, Decided},
		"one step down":              {Rising([]Cell{around(100), around(150), around(120), around(200)}), Fails, Decided},
		"stops":                      {Stops(knee, 2, 0.1), Holds, Decided},
		"stops too early":            {Stops(knee, 1, 0.1), Fails, Decided},
		"does not rise to where":     {Stops(knee, 3, 0.1), Undecided, Overlap},
		"one is missing":             {Rising(gone), Undecided, Missing},
		"no step":                    {Rising([]Cell{around(1)}), Undecided, Missing},
		"a failure outweighs a gap":  {Flat([]Cell{around(100), {Missing: "failed"}, around(200)}, 0.1), Fails, Decided},
		"between":                    {Between(around(100), 90, 110), Holds, Decided},
		"not between":                {Between(around(100), 110, 120), Fails, Decided},
		"perhaps between":            {Between(around(100), 100, 120), Undecided, Overlap},
		"an exact end":               {Between(exact(4), 4, 4), Holds, Decided},
		"between, of two":            {Between(cell(1, 2), 0, 9), Undecided, TooFew},
		"between, of three":          {Between(cell(1, 2, 3), 1, 3), Holds, Decided},
		"between, on a drifting one": {Between(drifted(around(100), 0.3), 90, 110), Holds, Decided},
		"all but one of its samples": {Between(drifted(cell(100, 100, 100, 100, 100, 100, 100, 100, 120), 0.3), 90, 110), Undecided, Drifted},
		"between nothing":            {Between(Cell{Missing: "no run"}, 1, 2), Undecided, Missing},
	} {
		if tt.got.Verdict != tt.want || tt.got.Why != tt.why {
			t.Errorf("%s: %+v, want %s %s", name, tt.got, tt.want, tt.why)
		}
	}
	// What is shown is the pair that decided: the farthest of those that are flat.
	if d := Flat(flat, 0.15); d.Ratio < 0.94 || d.Ratio > 0.96 { // 98/103
		t.Errorf("%+v", d)
	}
}
