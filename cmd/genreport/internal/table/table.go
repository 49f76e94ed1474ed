// Package table lays out what runs measured as tables: for a terminal, as
// Markdown, and as JSON for programs.
//
// [Show] gives the tables of one run, [Runs] those of two runs side by side,
// and [By] those of one run with the values of a label side by side. All are
// made from the same [Cell]; [Write] prints them.
package table

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"genreport/measure"
	"genreport/measure/stats"
)

// Selection is what is shown: globs over names; empty means all.
type Selection struct{ Experiments, Metrics []string }

// State of a cell.
type State string

const (
	Measured    State = "measured"
	Failed      State = "failed"       // a repeat failed as a whole
	Missing     State = "missing"      // a repeat has no number of this metric
	NotMeasured State = "not measured" // there is no such case
)

// Spread says what Low and High of a cell are.
type Spread string

const (
	Interval Spread = "interval" // of the median, with stats.Confidence
	Range    Spread = "range"    // smallest and largest sample: too few for an interval
)

// Cell is a metric of one case over its repeats, in base units. A case with a
// failed repeat has no median: the repeats that remain would be a selection.
type Cell struct {
	State    State         `json:"state"`
	N        int           `json:"n"`       // samples
	Repeats  int           `json:"repeats"` // with those that gave none
	Median   measure.Value `json:"median"`  // or why there is none
	Low      *float64      `json:"low,omitempty"`
	High     *float64      `json:"high,omitempty"`
	Spread   Spread        `json:"spread,omitempty"`
	Outliers []int         `json:"outliers,omitempty"` // the repeats; they count in everything

	samples []measure.Value
}

// Metric is a metric as the result file declares it.
type Metric struct {
	Name string `json:"name"`
	measure.Metric
}

// group is the repeats of one case.
type group struct {
	labels measure.Labels
	cells  []measure.Cell
}

// groups are the cases of a result, in measured order.
func groups(r measure.Result) []group {
	var out []group
	for _, c := range r.Cells {
		i := slices.IndexFunc(out, func(g group) bool { return maps.Equal(g.labels, c.Labels) })
		if i < 0 {
			i = len(out)
			out = append(out, group{labels: c.Labels})
		}
		out[i].cells = append(out[i].cells, c)
	}
	return out
}

// cell summarizes a metric over the repeats.
func (g group) cell(metric measure.Metric, name string) Cell {
	c := Cell{State: Measured, Repeats: len(g.cells)}
	var numbers []float64
	var repeats []int
	var reasons []string
	for _, one := range g.cells {
		v := one.Values[name]
		if v.OK() {
			c.samples = append(c.samples, v)
			numbers = append(numbers, v.Float64())
			repeats = append(repeats, one.Repeat)
			continue
		}
		reason := v.Reason()
		if one.Failure != nil {
			c.State, reason = Failed, one.Failure.Reason
		} else if c.State != Failed {
			c.State = Missing
		}
		if !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
	}
	c.N = len(numbers)
	if len(g.cells) == 0 {
		return notMeasured("this case was not measured")
	}
	if len(reasons) > 0 {
		c.Median = measure.Missing(strings.Join(reasons, "; "))
		return c
	}
	s, err := stats.Summarize(numbers)
	if err != nil {
		c.State, c.Median = Missing, measure.Missing(err.Error())
		return c
	}
	c.Median = measure.Float(s.Median)
	low, high, spread := s.Min, s.Max, Range
	if s.Interval && !metric.Exact { // what has no noise has no interval either
		low, high, spread = s.Low, s.High, Interval
	}
	c.Low, c.High, c.Spread = &low, &high, spread
	if metric.Exact && constant(c.samples) {
		c.Median = c.samples[0] // with all its digits
	}
	for _, i := range stats.Outliers(numbers) {
		c.Outliers = append(c.Outliers, repeats[i])
	}
	slices.Sort(c.Outliers)
	return c
}

func notMeasured(reason string) Cell {
	return Cell{State: NotMeasured, Median: measure.Missing(reason)}
}

// constant reports whether all values are equal, and there is one.
func constant(values []measure.Value) bool {
	return len(values) > 0 && !slices.ContainsFunc(values, func(v measure.Value) bool { return !equal(v, values[0]) })
}

// equal compares without rounding where both are whole.
func equal(a, b measure.Value) bool {
	x, whole := a.Int64()
	y, alsoWhole := b.Int64()
	if whole && alsoWhole {
		return x == y
	}
	return a.Float64() == b.Float64()
}

// choose is the names that match a glob, in their order. A glob that matches
// none is an error.
func choose(what string, names, globs []string) ([]string, error) {
	if len(globs) == 0 {
		return names, nil
	}
	var out []string
	for _, g := range globs {
		found := false
		for _, n := range names {
			ok, err := path.Match(g, n)
			if err != nil {
				return nil, fmt.Errorf("%s pattern %q: %w", what, g, err)
			}
			found = found || ok
			if ok && !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
		if !found {
			return nil, fmt.Errorf("no %s matches %q; there are %s", what, g, strings.Join(names, ", "))
		}
	}
	slices.SortFunc(out, func(a, b string) int { return slices.Index(names, a) - slices.Index(names, b) })
	return out, nil
}

// choices are the experiments and metrics that a selection takes of results.
type choices struct {
	experiments []string
	metrics     []string
}

// choose looks through the results of all runs together.
func (s Selection) choose(runs ...measure.Recorded) (choices, error) {
	experiments := map[string]bool{}
	for _, rec := range runs {
		for name := range rec.Results {
			experiments[name] = true
		}
	}
	var c choices
	var err error
	if c.experiments, err = choose("experiment", sorted(experiments), s.Experiments); err != nil {
		return c, err
	}
	metrics := map[string]bool{}
	for _, rec := range runs {
		for _, e := range c.experiments {
			for name := range rec.Results[e].Metrics {
				metrics[name] = true
			}
		}
	}
	c.metrics, err = choose("metric", sorted(metrics), s.Metrics)
	return c, err
}

// of are the chosen metrics that one of the results has.
func (c choices) of(results ...measure.Result) []string {
	var out []string
	for _, name := range c.metrics {
		if slices.ContainsFunc(results, func(r measure.Result) bool { _, ok := r.Metrics[name]; return ok }) {
			out = append(out, name)
		}
	}
	return out
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
