package article

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"genreport/cmd/genreport/internal/chart"
	"genreport/cmd/genreport/internal/number"
	"genreport/measure"
)

// Numbers are what a figure shows, in base units and with all their digits: what its files hold.
type Numbers struct {
	Experiment, Metric string
	Description        string       // of the metric
	Unit               measure.Unit // of every number
	Per                string       // the label that numbers are divided by; or ""
	X, Series          string       // the labels that tell points apart; X is "" where the axis is time
	Runs               []string
	Command            string // measures it again
	Zero               int    // kind time: the second of the measurement that is 0
	Points             []NumberPoint
}

// NumberPoint is a point of a figure.
type NumberPoint struct {
	Labels    measure.Labels // of the case
	X, Series string         // values of the labels; X is a second of time, from Zero
	Value     measure.Value  // or why there is none
	// Of repeats; over time there is one, and none of these.
	Repeats   int
	Low, High *float64 // smallest and largest sample
	Interval  bool     // From and To bound the median with 95 %
	From, To  float64
	Samples   []measure.Value
	Bound     []measure.Bound // what kept the repeats from going faster
}

// Timed reports whether the points are seconds of one repeat.
func (n Numbers) Timed() bool { return n.X == "" }

// numbersOf begins the numbers of a figure.
func (r *resolver) numbersOf(d figureDeclared, known Known) Numbers {
	var described []string
	for _, name := range d.metrics() {
		described = append(described, known.Metrics[name].Description)
	}
	n := Numbers{Experiment: d.Experiment, Metric: strings.Join(d.metrics(), ", "), Description: strings.Join(described, "; "),
		Unit: known.Metrics[d.metrics()[0]].Unit, Per: d.Per, X: d.X, Series: d.Series}
	if len(d.Metrics) > 0 {
		n.X = "metric"
	}
	return n
}

// behind adds a point of a figure whose axis is a label, or metrics: of the case
// with these labels, at x of a series.
func (n *Numbers) behind(r *resolver, known Known, d figureDeclared, metric string, labels measure.Labels, x, series string) error {
	c, err := r.oneCase(known, d.Experiment, labels)
	if err != nil {
		return err
	}
	p := NumberPoint{X: x, Series: series, Labels: labels}
	if c.missing != "" {
		p.Value = measure.Missing(c.missing)
		n.Points = append(n.Points, p)
		return nil
	}
	n.from(r, c.group)
	p.Labels, p.Repeats = c.labels, len(c.cells)
	// What a broker is called on the page is not what it is.
	for label, value := range map[string]*string{d.X: &p.X, d.Series: &p.Series} {
		if actual, ok := c.labels[label]; ok {
			*value = actual
		}
	}
	by := 1.0
	if d.Per != "" {
		if by, err = labelNumber(c.labels, d.Per); err != nil {
			return err
		}
	}
	for _, cell := range c.cells {
		v := cell.Values[metric]
		switch {
		case cell.Failure != nil:
			v = measure.Missing(cell.Failure.Reason)
		case v.OK() && d.Per != "":
			v = measure.Float(v.Float64() / by)
		}
		p.Samples = append(p.Samples, v)
	}
	for _, b := range c.limits().Bounds {
		p.Bound = append(p.Bound, b.By)
	}
	s, reason := c.summary(metric)
	if reason != "" {
		p.Value = measure.Missing(reason)
		n.Points = append(n.Points, p)
		return nil
	}
	low, high := s.Min/by, s.Max/by
	p.Value, p.Low, p.High = measure.Float(s.Median/by), &low, &high
	p.Interval, p.From, p.To = s.Interval && !known.Metrics[d.Metric].Exact, s.Low/by, s.High/by
	n.Points = append(n.Points, p)
	return nil
}

// second adds a point of a figure whose axis is time.
func (n *Numbers) second(labels measure.Labels, series string, at int, v measure.Value) {
	n.Points = append(n.Points, NumberPoint{Labels: labels, X: strconv.Itoa(at), Series: series, Value: v})
}

// from remembers the run of a case, and how it is measured again: without what the figure varies, all of it.
func (n *Numbers) from(r *resolver, g group) {
	if _, run, why := r.data.find(n.Experiment, g.labels[brokerLabel]); why == "" && !slices.Contains(n.Runs, run.ID) {
		n.Runs = append(n.Runs, run.ID)
	}
	if n.Command == "" && len(g.cells) > 0 {
		n.Command = inRepository(g.cells[0].Command)
	}
	n.Command = widen(n.Command, []string{n.X, n.Series}, g.labels[brokerLabel])
}

// widen makes the command of one case that of all cases which differ in the given labels, and adds a broker.
func widen(command string, vary []string, broker string) string {
	words := strings.Fields(command)
	var out, brokers []string
	at := 0
	for i := 0; i < len(words); i++ {
		switch {
		case words[i] == "--broker" && i+1 < len(words):
			i++
			brokers = append(brokers, words[i])
			at = max(at, len(out))
		case words[i] == "--case" && i+1 < len(words):
			i++
			kept := slices.DeleteFunc(strings.Split(words[i], ","), func(pair string) bool {
				label, _, _ := strings.Cut(pair, "=")
				return slices.Contains(vary, label)
			})
			if len(kept) > 0 {
				out = append(out, "--case", strings.Join(kept, ","))
			}
		default:
			out = append(out, words[i])
		}
	}
	if broker != "" && len(brokers) > 0 && !slices.Contains(brokers, broker) {
		brokers = append(brokers, broker)
	}
	var flags []string
	for _, b := range brokers {
		flags = append(flags, "--broker", b)
	}
	return strings.Join(slices.Insert(out, min(at, len(out)), flags...), " ")
}

// ends are what bounds a point, as the figure's table shows it: in the unit of
// its axis, to the place to which the median is shown.
func (n Numbers) ends(p NumberPoint, display string, exact bool) (low, high string) {
	x, from, to := p.Value.Float64(), *p.Low, *p.High
	if p.Interval {
		from, to = p.From, p.To
	}
	if (exact || n.Unit == measure.Count) && n.Per == "" && display == "" {
		a, wholeA := picked{value: from}.whole()
		if b, wholeB := (picked{value: to}).whole(); wholeA && wholeB {
			return number.Exact(a), number.Exact(b)
		}
	}
	return number.Ends(x, n.Unit, number.Options{Unit: display, Low: from, High: to})
}

// caption says what the numbers of a table are, in words of the language. What all points share stands here instead of in each.
func (n Numbers) caption(lang, axis string) string {
	repeats, intervals, varied := map[int]bool{}, false, false
	for _, p := range n.Points {
		if p.Value.OK() {
			repeats[p.Repeats] = true
			intervals = intervals || p.Interval
			varied = varied || p.Low != nil && *p.Low != *p.High
		}
	}
	if n.Timed() || len(repeats) == 0 {
		return axis
	}
	of := ""
	if len(repeats) == 1 {
		for r := range repeats {
			of = strconv.Itoa(r)
		}
	}
	spread := "none"
	switch {
	case !varied:
	case intervals:
		spread = "interval"
	default:
		spread = "range"
	}
	words := map[string]string{
		"zh none": "中位数", "en none": "median",
		"zh range": "中位数\uff0c括号里是最小–最大的样本", "zh interval": "中位数\uff0c括号里是 95% 区间",
		"en range": "median, in brackets the smallest–largest sample", "en interval": "median, in brackets the 95% interval",
	}[lang+" "+spread]
	if lang == "zh" {
		if of != "" {
			words += "\uff1bn\u00a0=\u00a0" + of
		}
		return strings.TrimPrefix(axis+"\uff1b"+words, "\uff1b")
	}
	if of != "" {
		words += "; n\u00a0=\u00a0" + of
	}
	return strings.TrimPrefix(axis+"; "+words, "; ")
}

// cell is a point in the table. The number of repeats stands in it where points differ in that.
func (n Numbers) cell(p NumberPoint, point string, display string, exact bool) string {
	if !p.Value.OK() {
		return point
	}
	text := point
	if p.Low != nil && *p.Low != *p.High {
		low, high := n.ends(p, display, exact)
		text += " (" + low + "–" + high + ")"
	}
	for _, other := range n.Points {
		if other.Value.OK() && other.Repeats != p.Repeats {
			return fmt.Sprintf("%s, n\u00a0=\u00a0%d", text, p.Repeats)
		}
	}
	return text
}

// shortReason stands in a chart where a number lacks. What failed is told from what was never tried.
func shortReason(lang string, g group) string {
	failed := slices.ContainsFunc(g.cells, func(c measure.Cell) bool { return c.Failure != nil })
	switch {
	case failed && lang == "zh":
		return "失败"
	case failed:
		return "failed"
	}
	return shortMissing(lang)
}

// tabulate fills the table of a figure, and what its points say, from its numbers. They are in the order of the series.
func (r *resolver) tabulate(f *Figure, wide *chart.Figure, d figureDeclared, metric measure.Metric) {
	n := &f.Numbers
	f.Table.Caption = n.caption(r.lang, f.Table.Caption)
	i := 0
	for s := range wide.Series {
		for x := range wide.Series[s].Points {
			text := n.cell(n.Points[i], f.Table.Rows[x][s+1], d.Unit, metric.Exact)
			f.Table.Rows[x][s+1], wide.Series[s].Points[x].Tip = text, text
			i++
		}
	}
}

// maxTableRows is what a reader may look through; all points are in the figure's files.
const maxTableRows = 40

// tableStep is how many of so many seconds lie between the rows of a table.
func tableStep(seconds int) int {
	for power := 1; ; power *= 10 {
		for _, m := range []int{1, 2, 5} {
			if step := m * power; seconds <= step*maxTableRows {
				return step
			}
		}
	}
}
