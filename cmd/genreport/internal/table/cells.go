package table

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"genreport/cmd/genreport/internal/number"
	"genreport/measure"
)

// title is the heading of a metric's table.
func (m Metric) title() string {
	var about []string
	if m.Unit != measure.Count {
		about = append(about, string(m.Unit))
	}
	if m.Better != measure.Neither {
		about = append(about, string(m.Better)+" is better")
	}
	if m.Exact {
		about = append(about, "exact")
	}
	if len(about) == 0 {
		return m.Name
	}
	return m.Name + " (" + strings.Join(about, ", ") + ")"
}

// show formats a number of the metric.
func (m Metric) show(v measure.Value) string {
	if n, whole := v.Int64(); whole && m.Exact {
		return number.Exact(n)
	}
	return number.Format(v.Float64(), m.Unit, number.Options{})
}

// median is the number, or the state and a footnote with the reason.
func (m Metric) median(c Cell, notes *footnotes) string {
	if c.State == NotMeasured {
		return string(c.State)
	}
	if c.State != Measured {
		return string(c.State) + " " + notes.mark(c.Median.Reason())
	}
	return m.show(c.Median)
}

// between is "low–high".
func (m Metric) between(c Cell) string {
	return m.show(measure.Float(*c.Low)) + "–" + m.show(measure.Float(*c.High))
}

// spread is the interval, or the range and that it is one.
func (m Metric) spread(c Cell) string {
	switch {
	case c.State != Measured || c.N < 2:
		return ""
	case constant(c.samples):
		return "all equal"
	case c.Spread == Range:
		return m.between(c) + " (range)"
	}
	return m.between(c)
}

// compact is the median with its spread: "± 3.1 %", by the farther end of the
// interval, or "[low–high]", or "(low–high)", which is a range; † where outliers
// are.
func (m Metric) compact(c Cell, notes *footnotes) string {
	text := m.median(c, notes)
	if c.State != Measured {
		return text
	}
	switch share, ok := relative(c.Median.Float64(), *c.Low, *c.High); {
	case c.Spread == Range && *c.Low == *c.High:
	case c.Spread == Range:
		text += " (" + m.between(c) + ")"
	case ok:
		text += " ± " + percent(share)
	default:
		text += " [" + m.between(c) + "]"
	}
	if len(c.Outliers) > 0 {
		text += " " + outlierMark
	}
	return text
}

const outlierMark = "†"

// relative is the farther end of an interval as a share of its center; not ok
// where that says nothing: of 0, across it, or of several times the center.
func relative(center, low, high float64) (share float64, ok bool) {
	if low == high {
		return 0, true
	}
	if low <= 0 {
		return 0, false
	}
	share = max(high/center-1, 1-low/center)
	return share, share <= 1
}

// labelColumns are the labels that differ between the cases, and the others
// as text. Where none differs, all are columns.
func labelColumns(cases []measure.Labels) (columns []string, common string) {
	keys := map[string]bool{}
	for _, l := range cases {
		for k := range l {
			keys[k] = true
		}
	}
	same := measure.Labels{}
	for _, k := range sorted(keys) {
		first, ok := cases[0][k]
		if ok && !slices.ContainsFunc(cases, func(l measure.Labels) bool { v, has := l[k]; return !has || v != first }) {
			same[k] = first
		} else {
			columns = append(columns, k)
		}
	}
	if columns == nil {
		return sorted(keys), ""
	}
	return columns, strings.ReplaceAll(same.String(), ",", " ")
}

func labelCells(l measure.Labels, columns []string) []string {
	var out []string
	for _, k := range columns {
		out = append(out, l[k])
	}
	return out
}

// footnotes are reasons that are too long for a table.
type footnotes struct{ reasons []string }

func (f *footnotes) mark(reason string) string {
	i := slices.Index(f.reasons, reason)
	if i < 0 {
		i = len(f.reasons)
		f.reasons = append(f.reasons, reason)
	}
	return fmt.Sprintf("[%d]", i+1)
}

func (f *footnotes) block() []block {
	if len(f.reasons) == 0 {
		return nil
	}
	b := block{heading: "reasons", level: 2}
	for i, r := range f.reasons {
		b.lines = append(b.lines, fmt.Sprintf("[%d] %s", i+1, r))
	}
	return []block{b}
}

// withoutLabel is a copy of labels that lacks one.
func withoutLabel(l measure.Labels, label string) measure.Labels {
	l = maps.Clone(l)
	delete(l, label)
	return l
}
