package table

import (
	"fmt"
	"slices"
	"strings"

	"genreport/cmd/genreport/internal/number"
	"genreport/measure"
	"genreport/measure/load/latency"
	"genreport/measure/stats"
)

// Shown is the tables of one run.
type Shown struct {
	Kind        string            `json:"kind"` // "run"
	Run         Run               `json:"run"`
	Experiments []ShownExperiment `json:"experiments"`
}

// ShownExperiment is the tables of one experiment.
type ShownExperiment struct {
	Name       string            `json:"name"`
	Method     int               `json:"method"`
	Cells      int               `json:"cells"`
	Planned    int               `json:"planned"`
	Complete   bool              `json:"complete"`
	Parameters map[string]string `json:"parameters"`
	Metrics    []ShownMetric     `json:"metrics"`
	Latencies  []ShownLatency    `json:"latencies,omitempty"`
	Bound      []BoundRow        `json:"bound,omitempty"` // cases whose processor time is known
}

// ShownLatency is the percentiles of one distribution: a row per case.
type ShownLatency struct {
	Name string       `json:"name"`
	Rows []LatencyRow `json:"rows"`
}

// LatencyRow is a distribution of one case, of all its repeats together.
// Percentiles that so few values can't give are null.
type LatencyRow struct {
	Labels measure.Labels `json:"labels"`
	Count  int64          `json:"count"`
	P50    *float64       `json:"p50_s"`
	P99    *float64       `json:"p99_s"`
	P999   *float64       `json:"p99_9_s"`
	Max    float64        `json:"max_s"`
}

// ShownMetric is one table: a row per case.
type ShownMetric struct {
	Metric
	Rows []ShownRow `json:"rows"`
}

// ShownRow is a metric of one case.
type ShownRow struct {
	Labels measure.Labels `json:"labels"`
	Cell
}

// BoundRow says what kept a case from going faster.
type BoundRow struct {
	Labels      measure.Labels        `json:"labels"`
	Verdicts    map[measure.Bound]int `json:"verdicts"`     // repeats by measure.CPU.Bound
	BrokerShare *float64              `json:"broker_share"` // median over the repeats of its part of the busy core time
}

// Show makes the tables of a run.
func Show(rec measure.Recorded, s Selection) (Shown, error) {
	out := Shown{Kind: "run", Run: describe(rec.Run), Experiments: []ShownExperiment{}}
	if len(rec.Results) == 0 && len(s.Experiments)+len(s.Metrics) == 0 {
		return out, nil
	}
	chosen, err := s.choose(rec)
	if err != nil {
		return out, err
	}
	for _, name := range chosen.experiments {
		r := rec.Results[name]
		e := ShownExperiment{Name: name, Method: r.Method, Cells: len(r.Cells), Planned: r.Planned, Complete: r.Complete(), Parameters: r.Parameters}
		cases := groups(r)
		for _, m := range chosen.of(r) {
			t := ShownMetric{Metric: Metric{m, r.Metrics[m]}, Rows: []ShownRow{}}
			for _, g := range cases {
				t.Rows = append(t.Rows, ShownRow{g.labels, g.cell(r.Metrics[m], m)})
			}
			e.Metrics = append(e.Metrics, t)
		}
		if e.Metrics == nil {
			continue
		}
		if e.Latencies, err = latencies(cases); err != nil {
			return out, fmt.Errorf("run %s, experiment %s: %w", rec.Run.ID, name, err)
		}
		for _, g := range cases {
			if b, ok := g.bound(); ok {
				e.Bound = append(e.Bound, b)
			}
		}
		out.Experiments = append(out.Experiments, e)
	}
	return out, nil
}

// latencies merges the distributions of each case over its repeats.
func latencies(cases []group) ([]ShownLatency, error) {
	names := map[string]bool{}
	for _, g := range cases {
		for _, c := range g.cells {
			for name := range c.Latency {
				names[name] = true
			}
		}
	}
	var out []ShownLatency
	for _, name := range sorted(names) {
		t := ShownLatency{Name: name}
		for _, g := range cases {
			all := latency.New()
			for _, c := range g.cells {
				m, ok := c.Latency[name]
				if !ok {
					continue
				}
				h, err := latency.Decode(m)
				if err != nil {
					return nil, fmt.Errorf("%s, repeat %d, latency %s: %w", g.labels, c.Repeat, name, err)
				}
				all.Merge(h)
			}
			longest, ok := all.Max()
			if !ok {
				continue
			}
			t.Rows = append(t.Rows, LatencyRow{Labels: g.labels, Count: all.Count(), Max: longest.Seconds(),
				P50: percentile(all, 0.5), P99: percentile(all, 0.99), P999: percentile(all, 0.999)})
		}
		if t.Rows != nil {
			out = append(out, t)
		}
	}
	return out, nil
}

// percentile is in seconds, or nil where there are too few values for it.
func percentile(h *latency.Histogram, p float64) *float64 {
	d, ok := h.Quantile(p)
	if !ok || !stats.SupportsPercentile(int(h.Count()), p) {
		return nil
	}
	s := d.Seconds()
	return &s
}

func (l ShownLatency) table(columns []string) block {
	n := len(columns)
	g := &grid{head: append(slices.Clone(columns), "p50", "p99", "p99.9", "longest", "values"), right: []int{n, n + 1, n + 2, n + 3, n + 4}}
	text := func(x *float64) string {
		if x == nil {
			return "too few values"
		}
		return number.Format(*x, measure.Seconds, number.Options{})
	}
	for _, row := range l.Rows {
		g.rows = append(g.rows, append(labelCells(row.Labels, columns), text(row.P50), text(row.P99), text(row.P999), text(&row.Max), number.Exact(row.Count)))
	}
	return block{heading: "latency: " + l.Name + " (s, lower is better)", level: 3, lines: []string{"of all repeats together"}, grid: g}
}

func (g group) bound() (BoundRow, bool) {
	row := BoundRow{Labels: g.labels, Verdicts: map[measure.Bound]int{}}
	var shares []float64
	for _, c := range g.cells {
		if c.CPU == nil {
			continue
		}
		row.Verdicts[c.CPU.Bound()]++
		if share, ok := c.CPU.BrokerShare(); ok {
			shares = append(shares, share)
		}
	}
	if n := len(shares); n > 0 {
		slices.Sort(shares)
		median := (shares[(n-1)/2] + shares[n/2]) / 2
		row.BrokerShare = &median
	}
	return row, len(row.Verdicts) > 0
}

// verdict is the one word, or the words with how often.
func (b BoundRow) verdict() string {
	var words []string
	for _, v := range []measure.Bound{measure.BoundHost, measure.BoundClient, measure.BoundBroker, measure.BoundNothing, measure.BoundUnknown} {
		n := b.Verdicts[v]
		if n == 0 {
			continue
		}
		word := string(v)
		if v == measure.BoundUnknown {
			word = "unknown"
		}
		if n == total(b.Verdicts) {
			return word
		}
		words = append(words, fmt.Sprintf("%s %d", word, n))
	}
	return strings.Join(words, ", ")
}

func total[K comparable](counts map[K]int) int {
	sum := 0
	for _, n := range counts {
		sum += n
	}
	return sum
}

func (s Shown) document() document {
	d := document{{heading: "run " + s.Run.ID, level: 1, grid: &grid{rows: s.Run.facts()}}}
	if len(s.Experiments) == 0 {
		d = append(d, block{lines: []string{"The run has no results yet."}})
	}
	notes := &footnotes{}
	for _, e := range s.Experiments {
		var all []measure.Labels
		for _, row := range e.Metrics[0].Rows {
			all = append(all, row.Labels)
		}
		columns, common := labelColumns(all)
		about := block{heading: e.Name, level: 2}
		if common != "" {
			about.heading += "  " + common
		}
		if !e.Complete {
			about.lines = append(about.lines, partial("this run", e.Cells, e.Planned))
		}
		d = append(d, about)
		for _, m := range e.Metrics {
			d = append(d, m.table(columns, notes))
		}
		for _, l := range e.Latencies {
			d = append(d, l.table(columns))
		}
		if len(e.Bound) > 0 {
			g := &grid{head: append(slices.Clone(columns), "bound by", "broker's share"), right: []int{len(columns) + 1}}
			for _, b := range e.Bound {
				share := "?"
				if b.BrokerShare != nil {
					share = percent(*b.BrokerShare)
				}
				g.rows = append(g.rows, append(labelCells(b.Labels, columns), b.verdict(), share))
			}
			d = append(d, block{heading: "bound by", level: 3, lines: []string{"what kept it from going faster, and the broker's part of the busy core time"}, grid: g})
		}
	}
	return append(d, notes.block()...)
}

func (m ShownMetric) table(columns []string, notes *footnotes) block {
	g := &grid{head: append(slices.Clone(columns), "median", "95 % interval", "n"), right: []int{len(columns), len(columns) + 1, len(columns) + 2}}
	outliers := slices.ContainsFunc(m.Rows, func(r ShownRow) bool { return len(r.Outliers) > 0 })
	if outliers {
		g.head = append(g.head, "outliers")
	}
	for _, row := range m.Rows {
		n := fmt.Sprint(row.N)
		if row.N != row.Repeats {
			n = fmt.Sprintf("%d of %d", row.N, row.Repeats)
		}
		text := append(labelCells(row.Labels, columns), m.median(row.Cell, notes), m.spread(row.Cell), n)
		if outliers {
			text = append(text, repeats(row.Outliers))
		}
		g.rows = append(g.rows, text)
	}
	return block{heading: m.title(), level: 3, lines: []string{m.Description}, grid: g}
}

// repeats names those that are outliers, so that they can be looked up.
func repeats(numbers []int) string {
	if len(numbers) == 0 {
		return ""
	}
	return "repeat " + strings.Trim(strings.ReplaceAll(fmt.Sprint(numbers), " ", ", "), "[]")
}

func partial(who string, cells, planned int) string {
	if cells == planned {
		return fmt.Sprintf("%s measured only a part of the profile's cases or repeats", who)
	}
	return fmt.Sprintf("%s is not complete: %d of %d cells", who, cells, planned)
}
