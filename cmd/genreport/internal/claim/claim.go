// Package claim decides whether a statement about measurements holds: from the
// samples alone, with their uncertainty, and never by a bare comparison of
// medians.
package claim

import (
	"fmt"
	"math"
	"strconv"

	"genreport/measure"
	"genreport/measure/stats"
)

// Verdict is what the samples say of a claim.
type Verdict string

const (
	Holds     Verdict = "holds"
	Fails     Verdict = "fails"
	Undecided Verdict = "undecided"
)

// Verdicts lists them.
func Verdicts() []Verdict { return []Verdict{Holds, Fails, Undecided} }

// Why says what keeps a claim from being decided.
type Why string

const (
	Decided Why = ""
	Missing Why = "missing" // a measurement has no number
	TooFew  Why = "too few" // of the repeats
	Overlap Why = "overlap" // the uncertainty takes in both answers
	Drifted Why = "drifted" // the machine was not steady, and the rounds do not agree
	Unlike  Why = "unlike"  // the cases were measured in different runs
)

// Cell is the repeats of one case.
type Cell struct {
	Name    string    // for a reader: what tells it from the others
	Samples []float64 // in the order of the repeats, which are rounds over all cases
	Exact   bool      // a count without noise
	Missing string    // why there are no samples
	Run     string    // that it was measured in
	Drift   float64   // by how much the machine's speed moved in that run, as a share
}

// Decision is a verdict with what it stands on.
type Decision struct {
	Verdict Verdict
	Why     Why
	Detail  string // of what is missing, or which cases decided
	// Ratio is that of the cases that decided it, with bounds; none where
	// Pair is empty.
	Ratio, Low, High float64
	Pair             [2]string
}

// fewest is the smallest number of repeats that decides anything: three that all
// lie above three others are that by chance in one of C(6,3) = 20 cases, which
// is the level of every interval here (one-sided, since a claim has a direction).
const fewest = 3

// between bounds the ratio of b's median to a's.
func between(a, b Cell) (d Decision, low, high float64) {
	d.Pair = [2]string{a.Name, b.Name}
	for _, c := range []Cell{a, b} {
		if c.Missing != "" {
			return Decision{Verdict: Undecided, Why: Missing, Detail: c.Missing}, 0, 0
		}
	}
	if a.Run != b.Run {
		return Decision{Verdict: Undecided, Why: Unlike, Detail: a.Run + ", " + b.Run}, 0, 0
	}
	c, err := stats.Compare(a.Samples, b.Samples)
	if err != nil {
		return Decision{Verdict: Undecided, Why: Missing, Detail: err.Error()}, 0, 0
	}
	if !c.HasRatio {
		return Decision{Verdict: Undecided, Why: Missing, Detail: fmt.Sprintf("%v and %v have no ratio", c.Median1, c.Median2)}, 0, 0
	}
	d.Ratio = c.Ratio
	lowA, highA := extent(a.Samples)
	lowB, highB := extent(b.Samples)
	switch {
	case a.Exact && b.Exact && lowA == highA && lowB == highB:
		low, high = c.Ratio, c.Ratio
	case c.Interval:
		low, high = c.Low, c.High
	case c.N1 >= fewest && c.N2 >= fewest && lowA > 0:
		low, high = lowB/highA, highB/lowA
	default:
		return Decision{Verdict: Undecided, Why: TooFew, Detail: strconv.Itoa(min(c.N1, c.N2)), Ratio: c.Ratio, Pair: d.Pair}, 0, 0
	}
	d.Low, d.High = low, high
	return d, low, high
}

func extent(x []float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range x {
		low, high = min(low, v), max(high, v)
	}
	return low, high
}

// within is a range of ratios that a claim allows.
type within struct{ least, most float64 }

// verdict holds bounds against the range: all within it holds, all outside fails.
func (w within) verdict(low, high float64) Verdict {
	switch {
	case low > w.least && high < w.most:
		return Holds
	case high <= w.least || low >= w.most:
		return Fails
	}
	return Undecided
}

// pair decides by the bounds of the ratio. On a machine that was not steady, each
// round taken by itself must say the same: a speed that moves from round to round
// moves both cases of a round, and since every other round is measured backwards,
// one that moves within rounds favours either case in turn.
func pair(a, b Cell, w within) Decision {
	d, low, high := between(a, b)
	if d.Verdict != "" {
		return d
	}
	if d.Verdict = w.verdict(low, high); d.Verdict == Undecided {
		d.Why = Overlap
		return d
	}
	if drift := max(a.Drift, b.Drift); drift > measure.DriftLimit && !(a.Exact && b.Exact) && !roundsAgree(a, b, w, d.Verdict) {
		return d.drifted(drift)
	}
	return d
}

func roundsAgree(a, b Cell, w within, v Verdict) bool {
	if len(a.Samples) != len(b.Samples) {
		return false
	}
	for i, x := range a.Samples {
		ratio := b.Samples[i] / x
		if math.IsNaN(ratio) || w.verdict(ratio, ratio) != v {
			return false
		}
	}
	return true
}

func (d Decision) drifted(share float64) Decision {
	d.Verdict, d.Why, d.Detail = Undecided, Drifted, strconv.FormatFloat(100*share, 'f', 0, 64)
	return d
}

// Greater claims that b is more than factor times a.
func Greater(a, b Cell, factor float64) Decision { return pair(a, b, within{factor, math.Inf(1)}) }

// Less claims that b is less than factor times a.
func Less(a, b Cell, factor float64) Decision { return pair(a, b, within{math.Inf(-1), factor}) }

// Same claims that b and a differ by no more than a share: neither is more than
// 1+share times the other.
func Same(a, b Cell, share float64) Decision {
	return pair(a, b, within{1 / (1 + share) * (1 - rounding), (1 + share) * (1 + rounding)})
}

// rounding makes a range take in its ends.
const rounding = 1e-12

// All is one decision for several: it holds when all do and fails when any does.
// The decision shown is the one that decided it, or the first that is open.
func All(all []Decision) Decision {
	if len(all) == 0 {
		return Decision{Verdict: Undecided, Why: Missing, Detail: "no cases"}
	}
	var open *Decision
	weakest := all[0]
	for i, d := range all {
		switch {
		case d.Verdict == Fails:
			return d
		case d.Verdict == Undecided && open == nil:
			open = &all[i]
		case math.Abs(math.Log(d.Ratio)) < math.Abs(math.Log(weakest.Ratio)):
			weakest = d
		}
	}
	if open != nil {
		return *open
	}
	return weakest
}

// Flat claims that no two of the cells differ by more than a share.
func Flat(cells []Cell, share float64) Decision {
	var all []Decision
	widest := Decision{}
	for i := range cells {
		for j := range cells[:i] {
			d := Same(cells[j], cells[i], share)
			all = append(all, d)
			if d.Verdict == Holds && (widest.Verdict == "" || math.Abs(math.Log(d.Ratio)) > math.Abs(math.Log(widest.Ratio))) {
				widest = d
			}
		}
	}
	if d := All(all); d.Verdict != Holds {
		return d
	}
	return widest // the pair that is farthest apart tells most
}

// Rising claims that each cell is more than the one before it.
func Rising(cells []Cell) Decision { return steps(cells, within{1, math.Inf(1)}) }

// Falling claims that each cell is less than the one before it.
func Falling(cells []Cell) Decision { return steps(cells, within{math.Inf(-1), 1}) }

func steps(cells []Cell, w within) Decision {
	var all []Decision
	for i := 1; i < len(cells); i++ {
		all = append(all, pair(cells[i-1], cells[i], w))
	}
	return All(all)
}

// Stops claims that the cells rise up to the one at index at, and that none
// after it is more than 1+share times that.
func Stops(cells []Cell, at int, share float64) Decision {
	var all []Decision
	for i := 1; i <= at; i++ {
		all = append(all, pair(cells[i-1], cells[i], within{1, math.Inf(1)}))
	}
	for _, c := range cells[at+1:] {
		all = append(all, pair(cells[at], c, within{math.Inf(-1), (1 + share) * (1 + rounding)}))
	}
	return All(all)
}

// Between claims that the median of a cell lies within low…high, both included.
// Low and High of the decision bound the median.
func Between(c Cell, low, high float64) Decision {
	if c.Missing != "" {
		return Decision{Verdict: Undecided, Why: Missing, Detail: c.Missing}
	}
	s, err := stats.Summarize(c.Samples)
	if err != nil {
		return Decision{Verdict: Undecided, Why: Missing, Detail: err.Error()}
	}
	d := Decision{Ratio: s.Median, Pair: [2]string{c.Name}}
	from, to := s.Low, s.High
	switch {
	case c.Exact && s.Min == s.Max:
		from, to = s.Median, s.Median
	case s.Interval:
	case s.N >= fewest:
		from, to = s.Min, s.Max
	default:
		return Decision{Verdict: Undecided, Why: TooFew, Detail: strconv.Itoa(s.N)}
	}
	d.Low, d.High = from, to
	verdict := func(from, to float64) Verdict {
		switch {
		case from >= low && to <= high:
			return Holds
		case to < low || from > high:
			return Fails
		}
		return Undecided
	}
	if d.Verdict = verdict(from, to); d.Verdict == Undecided {
		d.Why = Overlap
		return d
	}
	if c.Drift > measure.DriftLimit && !c.Exact && verdict(s.Min, s.Max) != d.Verdict {
		return d.drifted(c.Drift) // there each sample must say the same
	}
	return d
}
