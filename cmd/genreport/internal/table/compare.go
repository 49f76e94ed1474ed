package table

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"genreport/cmd/genreport/internal/number"
	"genreport/measure"
	"genreport/measure/stats"
)

// Comparison is tables with two runs, or the values of a label, side by side.
type Comparison struct {
	Kind        string        `json:"kind"` // "comparison"
	By          string        `json:"by"`   // "run", or the label
	Comparable  bool          `json:"comparable"`
	Differences []string      `json:"differences,omitempty"` // why the runs are not comparable
	Notes       []string      `json:"notes,omitempty"`       // what else a reader should know
	Runs        []Run         `json:"runs"`
	Control     []Speed       `json:"control,omitempty"` // of the machines
	Compared    int           `json:"compared"`          // cells that were compared with the first of their row
	Tested      int           `json:"tested"`            // those of them whose p could be below stats.Alpha
	Experiments []Compared    `json:"experiments"`
	Claims      []ClaimChange `json:"claims,omitempty"` // of the articles, between two runs
}

// Compared is the tables of one experiment.
type Compared struct {
	Name        string           `json:"name"`
	Comparable  bool             `json:"comparable"`
	Differences []string         `json:"differences,omitempty"`
	Columns     []string         `json:"columns"` // what the cells of a row belong to
	Metrics     []ComparedMetric `json:"metrics"`
}

// ComparedMetric is one table: a row per case.
type ComparedMetric struct {
	Metric
	Rows []ComparedRow `json:"rows"`
}

// ComparedRow is a metric of one case, a cell per column.
type ComparedRow struct {
	Labels measure.Labels `json:"labels"` // without the label compared by
	Cells  []ComparedCell `json:"cells"`
}

// ComparedCell is a cell and how it compares with the first of its row.
type ComparedCell struct {
	Cell
	Change *Change `json:"change,omitempty"` // not on the first, nor where one of them has no median
}

// Verdict is what a comparison comes to.
type Verdict string

const (
	Better  Verdict = "better"
	Worse   Verdict = "worse"
	Differs Verdict = "differs" // neither way is better, or the runs are not comparable
	Noise   Verdict = "noise"   // it may be
	TooFew  Verdict = "too few" // samples: not even those that don't overlap would differ
	Equal   Verdict = "equal"   // exact metrics: every sample
	Varies  Verdict = "varies"  // exact metrics: the repeats of a case differ among themselves
)

// Change is a cell compared with another.
type Change struct {
	Ratio   *float64 `json:"ratio"` // of the medians; null where it means nothing
	Low     *float64 `json:"ratio_low,omitempty"`
	High    *float64 `json:"ratio_high,omitempty"`
	P       *float64 `json:"p,omitempty"` // exact metrics have none
	Verdict Verdict  `json:"verdict"`
}

// side is one column: a result, and which of its cases.
type side struct {
	name   string
	result measure.Result
	groups []group // labels as in the rows
}

// Runs puts two runs side by side. What is measured in one of them alone has a
// cell that says so.
func Runs(a, b measure.Recorded, s Selection) (Comparison, error) {
	out := Comparison{Kind: "comparison", By: "run", Differences: differences(a.Run, b.Run), Notes: notes(a.Run, b.Run),
		Runs: []Run{describe(a.Run), describe(b.Run)}, Control: speeds(a.Run, b.Run), Experiments: []Compared{}}
	out.Comparable = len(out.Differences) == 0
	chosen, err := s.choose(a, b)
	if err != nil {
		return out, err
	}
	names := []string{a.Run.ID, b.Run.ID}
	if names[0] == names[1] {
		names = []string{names[0] + " (1)", names[1] + " (2)"}
	}
	for _, name := range chosen.experiments {
		x, inA := a.Results[name]
		y, inB := b.Results[name]
		if !inA || !inB {
			only := names[0]
			if inB {
				only = names[1]
			}
			out.Notes = append(out.Notes, fmt.Sprintf("%s was measured in %s alone", name, only))
			continue
		}
		metrics := chosen.of(x, y)
		if len(metrics) == 0 {
			continue
		}
		for i, r := range []measure.Result{x, y} {
			if !r.Complete() {
				out.Notes = append(out.Notes, partial(name+" in "+names[i], len(r.Cells), r.Planned))
			}
		}
		out.add(Compared{Name: name, Differences: resultDifferences(x, y)},
			[]side{{names[0], x, groups(x)}, {names[1], y, groups(y)}}, metrics)
	}
	return out, nil
}

// By puts the values of a label side by side, within one run. The first value
// that was measured is what the others are compared with.
func By(rec measure.Recorded, label string, s Selection) (Comparison, error) {
	out := Comparison{Kind: "comparison", By: label, Comparable: true, Runs: []Run{describe(rec.Run)}, Experiments: []Compared{}}
	chosen, err := s.choose(rec)
	if err != nil {
		return out, err
	}
	labels := map[string]bool{}
	var seen []string // values, where there are fewer than two
	for _, name := range chosen.experiments {
		r := rec.Results[name]
		metrics := chosen.of(r)
		if len(metrics) == 0 {
			continue
		}
		var sides []side
		for _, g := range groups(r) {
			for k := range g.labels {
				labels[k] = true
			}
			value, ok := g.labels[label]
			if !ok {
				continue
			}
			i := slices.IndexFunc(sides, func(s side) bool { return s.name == value })
			if i < 0 {
				i = len(sides)
				sides = append(sides, side{name: value, result: r})
			}
			sides[i].groups = append(sides[i].groups, group{withoutLabel(g.labels, label), g.cells})
		}
		if len(sides) < 2 {
			only := "no label " + label
			if len(sides) == 1 {
				only = label + "=" + sides[0].name + " alone"
				if !slices.Contains(seen, sides[0].name) {
					seen = append(seen, sides[0].name)
				}
			}
			out.Notes = append(out.Notes, name+" has "+only)
			continue
		}
		if !r.Complete() {
			out.Notes = append(out.Notes, partial(name, len(r.Cells), r.Planned))
		}
		out.add(Compared{Name: name}, sides, metrics)
	}
	if len(out.Experiments) == 0 {
		if len(seen) == 0 {
			return out, fmt.Errorf("run %s has no label %q; there are %s", rec.Run.ID, label, strings.Join(sorted(labels), ", "))
		}
		return out, fmt.Errorf("run %s has one %s in each experiment (%s), so there is nothing to compare: give a second run, or --by another label (%s)",
			rec.Run.ID, label, strings.Join(seen, ", "), strings.Join(slices.DeleteFunc(sorted(labels), func(l string) bool { return l == label }), ", "))
	}
	return out, nil
}

// add makes the tables of an experiment.
func (c *Comparison) add(e Compared, sides []side, metrics []string) {
	e.Metrics = []ComparedMetric{}
	rows := rowLabels(sides)
	for _, s := range sides {
		e.Columns = append(e.Columns, s.name)
	}
	for _, name := range metrics {
		m := Metric{Name: name}
		for i := len(sides) - 1; i >= 0; i-- { // the first that has it describes it
			if one, ok := sides[i].result.Metrics[name]; ok {
				if m.Unit != "" && (one.Unit != m.Unit || one.Exact != m.Exact) {
					e.Differences = append(e.Differences, fmt.Sprintf("metric %s: unit %s, exact %v and unit %s, exact %v", name, one.Unit, one.Exact, m.Unit, m.Exact))
				}
				m.Metric = one
			}
		}
		t := ComparedMetric{Metric: m, Rows: []ComparedRow{}}
		for _, l := range rows {
			row := ComparedRow{Labels: l}
			for _, s := range sides {
				row.Cells = append(row.Cells, ComparedCell{Cell: s.cell(l, m)})
			}
			t.Rows = append(t.Rows, row)
		}
		e.Metrics = append(e.Metrics, t)
	}
	e.Comparable = len(e.Differences) == 0
	for i := range e.Metrics {
		m := e.Metrics[i]
		for _, row := range m.Rows {
			for k := range row.Cells[1:] {
				change := compare(m.Metric, row.Cells[0].Cell, row.Cells[k+1].Cell, c.Comparable && e.Comparable)
				row.Cells[k+1].Change = change
				if change != nil {
					c.Compared++
					if change.P != nil && change.Verdict != TooFew {
						c.Tested++
					}
				}
			}
		}
	}
	c.Experiments = append(c.Experiments, e)
}

// rowLabels are the cases of all sides, in the order of the first that has them.
func rowLabels(sides []side) []measure.Labels {
	var rows []measure.Labels
	for _, s := range sides {
		for _, g := range s.groups {
			if !slices.ContainsFunc(rows, func(l measure.Labels) bool { return maps.Equal(l, g.labels) }) {
				rows = append(rows, g.labels)
			}
		}
	}
	return rows
}

func (s side) cell(l measure.Labels, m Metric) Cell {
	i := slices.IndexFunc(s.groups, func(g group) bool { return maps.Equal(g.labels, l) })
	if i < 0 {
		return notMeasured("this case was not measured")
	}
	one, ok := s.result.Metrics[m.Name]
	if !ok {
		return notMeasured("this metric was not measured")
	}
	if one.Unit != m.Unit || one.Exact != m.Exact { // its numbers would be shown as what they are not
		c := s.groups[i].cell(one, m.Name)
		return Cell{State: Missing, N: c.N, Repeats: c.Repeats, Median: measure.Missing(fmt.Sprintf("here the metric has unit %s, exact %v", one.Unit, one.Exact))}
	}
	return s.groups[i].cell(one, m.Name)
}

// compare is nil where one of the cells has no median.
func compare(m Metric, a, b Cell, comparable bool) *Change {
	if a.State != Measured || b.State != Measured {
		return nil
	}
	c, err := stats.Compare(floats(a.samples), floats(b.samples))
	if err != nil { // samples of files are there and finite
		return nil
	}
	out := &Change{}
	if c.HasRatio {
		out.Ratio = &c.Ratio
	}
	better := Differs
	switch {
	case !comparable || m.Better == measure.Neither || c.Median1 == c.Median2:
	case (c.Median2 > c.Median1) == (m.Better == measure.Higher):
		better = Better
	default:
		better = Worse
	}
	if m.Exact {
		switch {
		case !constant(a.samples) || !constant(b.samples):
			out.Verdict = Varies
		case equal(a.samples[0], b.samples[0]):
			out.Verdict = Equal
		default:
			out.Verdict = better
		}
		return out
	}
	if c.Interval {
		out.Low, out.High = &c.Low, &c.High
	}
	out.P = &c.P
	switch {
	case !c.Enough:
		out.Verdict = TooFew
	case !c.Differs:
		out.Verdict = Noise
	default:
		out.Verdict = better
	}
	return out
}

func floats(values []measure.Value) []float64 {
	var out []float64
	for _, v := range values {
		out = append(out, v.Float64())
	}
	return out
}

// ratio is "1.08 [1.02–1.15]".
func (c *Change) ratio() string {
	if c == nil || c.Ratio == nil {
		return ""
	}
	text := number.Significant(*c.Ratio, 3)
	if c.Low != nil {
		text += " [" + number.Significant(*c.Low, 3) + "–" + number.Significant(*c.High, 3) + "]"
	}
	return text
}

// verdict is the word and p; "~" is what may be noise.
func (c *Change) verdict() string {
	switch {
	case c == nil:
		return ""
	case c.Verdict == Equal:
		return "="
	case c.Verdict == Varies:
		return "repeats vary"
	case c.Verdict == TooFew:
		return "~ too few samples"
	case c.Verdict == Noise:
		return "~ p=" + pText(*c.P)
	case c.P == nil:
		return "≠ " + string(c.Verdict)
	case *c.P < 0.0005:
		return string(c.Verdict) + " p<0.001"
	}
	return string(c.Verdict) + " p=" + pText(*c.P)
}

// pText never rounds p across stats.Alpha.
func pText(p float64) string {
	if p > 0.0495 && p < stats.Alpha {
		return fmt.Sprintf("%.4f", min(p, 0.0499))
	}
	return fmt.Sprintf("%.3f", p)
}

func (c Comparison) document() document {
	d := document{c.head()}
	notes := &footnotes{}
	legend := map[Spread]bool{}
	for _, e := range c.Experiments {
		var all []measure.Labels
		for _, row := range e.Metrics[0].Rows {
			all = append(all, row.Labels)
		}
		columns, common := labelColumns(all)
		about := block{heading: e.Name, level: 2}
		if common != "" {
			about.heading += "  " + common
		}
		if !e.Comparable {
			about.lines = []string{notComparable + strings.Join(e.Differences, "; ")}
		}
		d = append(d, about)
		for _, m := range e.Metrics {
			g := &grid{head: append(slices.Clone(columns), e.Columns[0])}
			g.right = []int{len(columns)}
			for _, name := range e.Columns[1:] {
				at := len(g.head)
				g.right = append(g.right, at, at+1, at+3)
				g.head = append(g.head, name, "ratio", "p", "n")
			}
			for _, row := range m.Rows {
				text := append(labelCells(row.Labels, columns), m.compact(row.Cells[0].Cell, notes))
				for _, cell := range row.Cells[1:] {
					n := fmt.Sprint(cell.N)
					if first := row.Cells[0].N; first != cell.N {
						n = fmt.Sprintf("%d+%d", first, cell.N)
					}
					text = append(text, m.compact(cell.Cell, notes), cell.Change.ratio(), cell.Change.verdict(), n)
				}
				for _, cell := range row.Cells {
					legend[cell.Spread] = legend[cell.Spread] || cell.Low != nil && *cell.Low != *cell.High
				}
				g.rows = append(g.rows, text)
			}
			d = append(d, block{heading: m.title(), level: 3, lines: []string{m.Description}, grid: g})
		}
	}
	d = append(append(d, notes.block()...), c.claims()...)
	return append(d, c.legend(legend))
}

// notComparable opens what says why.
const notComparable = "not comparable: "

func (c Comparison) head() block {
	b := block{heading: "run " + c.Runs[0].ID + ", by " + c.By, level: 1}
	if len(c.Runs) == 2 {
		b.heading = "run " + c.Runs[1].ID + " compared with run " + c.Runs[0].ID
	}
	if !c.Comparable {
		b.lines = append(b.lines, notComparable+strings.Join(c.Differences, "; "))
	}
	g := &grid{}
	for _, r := range c.Runs {
		g.rows = append(g.rows, []string{r.ID, r.Profile + ", " + tool(r.Tool)}, []string{"", machine(r.Machine)})
		for _, x := range r.Brokers {
			g.rows = append(g.rows, []string{"", fmt.Sprintf("%s: RabbitMQ %s, Erlang %s", x.Label, x.RabbitMQ, x.Erlang)})
		}
		g.rows = append(g.rows, []string{"", "drift: " + r.drift()})
	}
	if len(c.Runs) == 2 {
		g.rows = append(g.rows, []string{"control", controlText(c.Control, c.Runs)})
	}
	for _, n := range c.Notes {
		g.rows = append(g.rows, []string{"note", n})
	}
	b.grid = g
	return b
}

// ClaimChange is a claim of an article on which the two runs differ.
type ClaimChange struct {
	Article string       `json:"article"`
	Claim   string       `json:"claim"`
	Tested  string       `json:"tested"` // what is
	Before  string       `json:"before"` // the verdict of the first run
	After   string       `json:"after"`
	Places  []ClaimPlace `json:"places"`
}

// ClaimPlace is where an article words the claim, and how.
type ClaimPlace struct {
	Place  string `json:"place"` // file:line
	Before string `json:"before"`
	After  string `json:"after"`
}

// claims lists those that changed: what an article says differently now.
func (c Comparison) claims() []block {
	if len(c.Claims) == 0 {
		return nil
	}
	b := block{heading: "claims whose verdict changed", level: 2}
	for _, k := range c.Claims {
		b.lines = append(b.lines, fmt.Sprintf("%s, claim %s: %s → %s", k.Article, k.Claim, k.Before, k.After), "  "+k.Tested)
		for _, p := range k.Places {
			b.lines = append(b.lines, "  "+p.Place+":", "  - "+p.Before, "  + "+p.After)
		}
	}
	return []block{b}
}

// legend explains the marks that the tables have.
func (c Comparison) legend(used map[Spread]bool) block {
	var lines []string
	if used[Interval] {
		lines = append(lines, "± (or […]) is the 95 % interval of the median, by its farther end.")
	}
	if used[Range] {
		lines = append(lines, "(…) is the range from the smallest to the largest sample: below 6 samples there is no interval.")
	}
	lines = append(lines, "ratio is to the first column, with its 95 % bootstrap interval; ~ may be noise: p of the Mann-Whitney U test is not below "+fmt.Sprint(stats.Alpha)+".",
		outlierMark+" has outliers (1.5 times the interquartile range); they count.")
	if c.Tested > 1 {
		lines = append(lines, fmt.Sprintf("If nothing differed, %s of these %d tests would find a difference all the same, on average.",
			strconv.FormatFloat(math.Round(10*float64(c.Tested)*stats.Alpha)/10, 'f', -1, 64), c.Tested))
	}
	return block{heading: "how to read this", level: 2, lines: lines}
}

// Unmet is why the tables are no comparison of all they show; "" where they are.
func (c Comparison) Unmet() string {
	var why []string
	why = append(why, c.Differences...)
	for _, e := range c.Experiments {
		for _, d := range e.Differences {
			why = append(why, e.Name+": "+d)
		}
	}
	if len(why) > 0 {
		return notComparable + strings.Join(why, "; ")
	}
	if c.Compared == 0 {
		return "nothing can be compared: no case has numbers on both sides"
	}
	return ""
}
