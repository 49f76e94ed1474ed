package article

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"

	"genreport/cmd/genreport/internal/chart"
	"genreport/cmd/genreport/internal/number"
	"genreport/measure"
)

// A sample-output block is
//
//	```output experiment=NAME label=value … [each=LABEL]
//	line
//	column || column
//	```
//
// References in it need no experiment and none of the labels given. A line
// that holds ${LABEL} is repeated for each value of the label that each names.
// Lines with || form columns; such lines without a reference to a result are headings.
//
// The experiment is also the source of what is given in it.
func (s source) output(r *resolver, doc document, f *ast.FencedCodeBlock, bad *faults) *Output {
	info := doc.written.part(f.Info.Segment.Start, f.Info.Segment.Stop)
	defaults := ref{labels: measure.Labels{}, parts: map[string]int{}}
	each, eachAt := "", 0
	for _, w := range tokens(info.text, 0)[1:] {
		k, v, ok := strings.Cut(w.text, "=")
		switch {
		case !ok || v == "":
			bad.at(info.file, info.at(w.at), fmt.Errorf("output: %q is not key=value", w.text))
			return nil
		case k == "experiment":
			defaults.experiment = v
			defaults.parts["experiment"] = w.at + len("experiment=")
		case k == "each":
			each, eachAt = v, w.at+len("each=")
		default:
			defaults.labels[k] = v
			defaults.parts[partLabel+" "+k], defaults.parts[partValue+" "+k] = w.at, w.at+len(k)+1
		}
	}
	known, ok := r.data.catalog[defaults.experiment]
	if !ok {
		bad.at(info.file, info.at(defaults.parts["experiment"]), unknown("experiment", defaults.experiment, keys(r.data.catalog)))
		return nil
	}
	if each != "" && len(r.values(known, each)) == 0 {
		bad.at(info.file, info.at(eachAt), unknown("label", each, append(known.labels(), brokerLabel)))
		return nil
	}
	if err := r.checkLabels(known, defaults.experiment, defaults.labels); err != nil {
		bad.at(info.file, info.at(max(0, defaults.offset(err))), err)
		return nil
	}
	defer r.within(defaults.experiment)()
	out := &Output{Client: r.clientName(defaults.labels["client"])}
	last := f.Lines().Len()
	lineOf := func(i int) written {
		seg := f.Lines().At(i)
		line := doc.written.part(seg.Start, seg.Stop)
		return line.part(0, len(strings.TrimRight(line.text, "\n")))
	}
	for last > 1 && lineOf(last-1).text == "" {
		last--
	}
	variable := refOpen + each + refClose
	for i := range last {
		line := lineOf(i)
		r.prose(line)
		values := []string{""}
		if each != "" && strings.Contains(line.text, variable) {
			values = r.values(known, each)
		}
		head := strings.Contains(line.text, "||") && !strings.Contains(strings.ReplaceAll(line.text, refOpen+givenTarget+"/", ""), refOpen)
		for _, v := range values {
			in := defaults
			if v != "" {
				in.labels = overlay(defaults.labels, measure.Labels{each: v})
				in.variable, in.stands = each, r.valueText(each, v)
			}
			l := OutputLine{Head: head}
			for from := 0; ; {
				to := len(line.text)
				bar := strings.Index(line.text[from:], "||")
				if bar >= 0 {
					to = from + bar
				}
				h, err := r.inline(line.part(from, to).trimmed(), in)
				bad.at(line.file, line.at(from), err)
				l.Cells = append(l.Cells, h)
				if bar < 0 {
					break
				}
				from = to + len("||")
			}
			out.Lines = append(out.Lines, l)
		}
	}
	return out
}

// brokerLabel is the label whose values, on a page, are the aliases of brokers.
const brokerLabel = "broker"

// values are those of a label, in order: of the experiment's cases, or the
// page's brokers, old versions first.
func (r *resolver) values(known Known, label string) []string {
	if label != brokerLabel {
		return slices.Clip(known.values[label]) // pages share them
	}
	aliases := slices.Sorted(maps.Keys(r.brokers))
	slices.SortStableFunc(aliases, func(a, b string) int { return compareVersions(r.version(a), r.version(b)) })
	return aliases
}

// valuesWhere are the values of a label in the cases that a figure is about.
func (r *resolver) valuesWhere(known Known, label string, where measure.Labels) []string {
	within := maps.Clone(where)
	delete(within, label)
	delete(within, brokerLabel) // which no case has
	known.Cases = slices.DeleteFunc(slices.Clone(known.Cases), func(c measure.Labels) bool { return !c.Match(within) })
	return r.values(known.withValues(), label)
}

// valueText shows a label's value: of a broker, its version.
func (r *resolver) valueText(label, value string) string {
	if label != brokerLabel {
		return labelText(value)
	}
	return cmp.Or(r.version(value), value)
}

// version is RabbitMQ's on a broker of the page, as its newest run tells.
func (r *resolver) version(alias string) string {
	if v := versionIn(r.cited, r.brokers[alias]); v != "" {
		return v
	}
	var runs []measure.Run
	for _, rec := range r.data.all() {
		runs = append(runs, rec.Run)
	}
	return versionIn(runs, r.brokers[alias])
}

func versionIn(runs []measure.Run, label string) string {
	for _, run := range slices.Backward(runs) {
		for _, b := range run.Brokers {
			if b.Label == label {
				return b.RabbitMQ
			}
		}
	}
	return ""
}

// compareVersions orders "3.10.8" before "4.0.5"; what is no version comes last.
func compareVersions(a, b string) int {
	if (a == "") != (b == "") {
		return cmp.Compare(b, a)
	}
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(x), len(y)) {
		m, errA := strconv.Atoi(x[i])
		n, errB := strconv.Atoi(y[i])
		if c := cmp.Compare(m, n); errA == nil && errB == nil && c != 0 {
			return c
		}
		if c := cmp.Compare(x[i], y[i]); errA != nil || errB != nil {
			if c != 0 {
				return c
			}
		}
	}
	return cmp.Compare(len(x), len(y))
}

// labelText shows a label's value: a number as numbers are shown.
func labelText(value string) string {
	if n, err := strconv.ParseInt(value, 10, 64); err == nil {
		return number.Exact(n)
	}
	return value
}

// clientName is a client with its version, as the page's runs tell.
func (r *resolver) clientName(label string) string {
	for _, run := range r.factRuns() {
		for _, c := range run.Clients {
			if c.Label != label {
				continue
			}
			version := c.Library + " " + strings.TrimPrefix(c.Version, "v")
			if c.Library == label {
				return version
			}
			return label + " · " + version
		}
	}
	return label
}

// figureWords is the body of a figure block:
//
//	```figure ID
//	title: …
//	caption: …
//	alt: what it shows, for those who can't see it
//	x: name of the axis
//	y: name of the axis, with its unit
//	names: {value: name}   # of the series
//	phases: [before, after] # kind time: what is on either side of its zero
//	```
type figureWords struct {
	Title   string            `yaml:"title"`
	Caption string            `yaml:"caption"`
	Alt     string            `yaml:"alt"`
	X       string            `yaml:"x"`
	Y       string            `yaml:"y"`
	Names   map[string]string `yaml:"names"`
	Phases  []string          `yaml:"phases"`
}

// declared checks what SLUG.yaml says of a figure.
func (r *resolver) declared(d figureDeclared) error {
	known, ok := r.data.catalog[d.Experiment]
	if !ok {
		return wrong(unknown("experiment", d.Experiment, keys(r.data.catalog)), "experiment")
	}
	labels := []string{d.X, d.Series}
	if len(d.Metrics) > 0 {
		if d.Kind == "time" || d.X != "" || d.Metric != "" || d.Zero != "" {
			return wrong(errors.New("metrics are for figures of kind bar or line, and stand for metric and x"), "metrics")
		}
		labels = labels[1:]
	}
	switch d.Kind {
	case "time":
		if !slices.Contains(known.Series, d.Metric) {
			return wrong(unknown("series", d.Metric, known.Series), "metric")
		}
		if d.X != "" || d.Per != "" || d.Labels {
			return errors.New("a figure of kind time takes no x, per or labels: its axis is time")
		}
		labels = labels[1:]
	case "bar", "line":
		for i, name := range d.metrics() {
			part := []string{"metric"}
			if len(d.Metrics) > 0 {
				part = []string{"metrics", strconv.Itoa(i)}
			}
			metric, ok := known.Metrics[name]
			if !ok {
				return wrong(unknown("metric", name, keys(known.Metrics)), part...)
			}
			if first := known.Metrics[d.metrics()[0]]; metric.Unit != first.Unit {
				return wrong(fmt.Errorf("metric %s is in other units than %s", name, d.metrics()[0]), part...)
			}
			if _, ok := number.Scale(d.Unit); d.Unit != "" && ok {
				if err := checkUnit(d.Unit, metric); err != nil {
					return wrong(err, "unit")
				}
			}
		}
		if d.Zero != "" {
			return wrong(errors.New("zero is for figures of kind time"), "zero")
		}
	default:
		return wrong(unknown("kind of figure", d.Kind, []string{"bar", "line", "time"}), "kind")
	}
	for _, l := range labels {
		if len(r.values(known, l)) == 0 {
			part := "series"
			if l == d.X && l != d.Series {
				part = "x"
			}
			return wrong(unknown("label", l, append(known.labels(), brokerLabel)), part)
		}
	}
	if err := r.checkLabels(known, d.Experiment, d.Where); err != nil {
		return err
	}
	if _, ok := number.Scale(d.Unit); d.Unit != "" && !ok {
		return wrong(unknown("unit", d.Unit, number.Units()), "unit")
	}
	switch {
	case d.Axis != "" && d.Axis != "log":
		return wrong(unknown("axis", d.Axis, []string{"log"}), "axis")
	case d.Axis == "log" && d.Kind != "line":
		return wrong(errors.New("a logarithmic axis is for figures of kind line: bars stand on zero, and what is recorded over time may be 0"), "axis")
	}
	return nil
}

// figure makes one that declared has let pass, with resolved words. Its title and
// caption are the caller's.
func (r *resolver) figure(id string, d figureDeclared, w figureWords) (*Figure, error) {
	known := r.data.catalog[d.Experiment]
	kind := chart.Line
	if d.Kind == "bar" {
		kind = chart.Bar
	}
	scale := 1.0
	if d.Unit != "" {
		scale, _ = number.Scale(d.Unit)
	}
	f := &Figure{ID: "figure-" + id, Name: id, Numbers: r.numbersOf(d, known)}
	wide := chart.Figure{ID: f.ID + "-wide", Kind: kind, Title: w.Title, Description: w.Alt, XTitle: w.X, YTitle: w.Y,
		ValueLabels: d.Labels}
	f.Table = Table{Caption: w.Y, Head: []string{w.X}}
	name := func(value string) string { return cmp.Or(w.Names[value], r.valueText(d.Series, value)) }
	var err error
	if d.Kind == "time" {
		err = r.overTime(known, d, w, scale, name, &wide, f)
	} else {
		err = r.overLabel(known, d, w, scale, name, &wide, f)
	}
	if err != nil {
		return nil, err
	}
	if n := len(wide.Series); n > chart.MostSeries {
		return nil, wrong(fmt.Errorf("the figure has %d series, and readers tell at most %d apart: leave some out with where, or make two figures", n, chart.MostSeries), "series")
	}
	// Where a number is 0 or less it has no place on a logarithmic axis, and the axis says which of the two it is.
	if wide.Log = d.Axis == "log" && wide.Positive(); wide.Log {
		kind := ", logarithmic axis"
		if r.lang == "zh" {
			kind = "，对数轴"
		}
		wide.YTitle += kind
	}
	wide.Description = r.described(w.Alt, wide, *f)
	narrow := wide
	narrow.ID, narrow.Width, narrow.Height = f.ID+"-narrow", 400, 320
	f.Wide, f.Narrow = wide, narrow
	if res, run, why := r.data.find(d.Experiment, r.brokers["current"]); why == "" {
		f.Data = []Link{{Href: "data/" + run.ID + "/" + res.Experiment + ".json", Text: res.Experiment + ".json"}}
	}
	return f, nil
}

// described adds to what an author says of a figure, for those who can't see it, what the chart says by signs and small print: the
// name of the vertical axis with its unit, which points are the
// clients' rather than the broker's, and which failed or were not measured. A gap that the figure is about its author has told of.
func (r *resolver) described(alt string, wide chart.Figure, f Figure) string {
	vertical, bound, lacking, colon, semicolon, comma, stop, space := "Vertical axis", "Client-bound (†)", "Without a number", ": ", "; ", ", ", ".", " "
	if r.lang == "zh" {
		vertical, bound, lacking, colon, semicolon, comma, stop, space = "纵轴", "受限于客户端（†）", "没有数值", "：", "；", "，", "。", ""
	}
	var marked, missing []string
	for _, m := range f.Marked {
		var points []string
		for _, p := range m.Points {
			points = append(points, p.Text)
		}
		marked = append(marked, strings.TrimPrefix(m.Name+comma, comma)+strings.Join(points, comma))
	}
	for _, s := range wide.Series {
		for i, p := range s.Points {
			if p.Value != nil || p.Label == "" {
				continue
			}
			at := s.Name
			if !f.Numbers.Timed() { // over time it is the whole line
				at = strings.TrimPrefix(s.Name+comma, comma) + wide.Categories[i]
			}
			missing = append(missing, at+comma+p.Tip)
		}
	}
	said := alt
	if wide.YTitle != "" { // its letters are drawn, and a picture's letters are not read out
		said += space + vertical + colon + wide.YTitle + stop
	}
	for _, part := range []struct {
		what string
		all  []string
	}{{bound, marked}, {lacking, missing}} {
		if len(part.all) > 0 {
			said += space + part.what + colon + strings.Join(part.all, semicolon) + stop
		}
	}
	return said
}

// metrics are those that a figure shows.
func (d figureDeclared) metrics() []string {
	if len(d.Metrics) > 0 {
		return d.Metrics
	}
	return []string{d.Metric}
}

// overLabel fills a figure whose axis is a label, or several metrics.
func (r *resolver) overLabel(known Known, d figureDeclared, w figureWords, scale float64, name func(string) string, wide *chart.Figure, f *Figure) error {
	categories := r.valuesWhere(known, d.X, d.Where)
	if want, fixed := d.Where[d.X]; fixed {
		categories = []string{want}
	}
	text := func(category string) string { return r.valueText(d.X, category) }
	if len(d.Metrics) > 0 {
		categories, text = d.Metrics, func(metric string) string { return cmp.Or(w.Names[metric], metric) }
	}
	for _, category := range categories {
		wide.Categories = append(wide.Categories, text(category))
		f.Table.Rows = append(f.Table.Rows, []string{text(category)})
	}
	for _, value := range r.valuesWhere(known, d.Series, d.Where) {
		if want, fixed := d.Where[d.Series]; fixed && want != value {
			continue
		}
		series := chart.Series{Name: name(value)}
		marked := MarkedSeries{Name: series.Name}
		f.Table.Head = append(f.Table.Head, series.Name)
		for i, category := range categories {
			metric, labels := d.Metric, measure.Labels{d.Series: value}
			if len(d.Metrics) > 0 {
				metric = category
			} else {
				labels[d.X] = category
			}
			labels = overlay(d.Where, labels)
			point, shown, mark, err := r.point(known, metric, d, labels, scale)
			if err != nil {
				return err
			}
			if mark != "" {
				marked.Points = append(marked.Points, Link{Href: "#" + mark, Text: text(category)})
			}
			if err := f.Numbers.behind(r, known, d, metric, labels, category, value); err != nil {
				return err
			}
			point.Tip = shown
			series.Points = append(series.Points, point)
			f.Table.Rows[i] = append(f.Table.Rows[i], shown)
		}
		wide.Series = append(wide.Series, series)
		if len(marked.Points) > 0 {
			f.Marked = append(f.Marked, marked)
		}
	}
	r.tabulate(f, wide, d, known.Metrics[d.metrics()[0]])
	return nil
}

// overTime fills a figure whose axis is time. It shows the first repeat of each
// case: one that was chosen would show what the chooser likes.
func (r *resolver) overTime(known Known, d figureDeclared, w figureWords, scale float64, name func(string) string, wide *chart.Figure, f *Figure) error {
	zero := 0
	if d.Zero != "" {
		res, _, why := r.data.find(d.Experiment, r.brokers["current"])
		if why == "" {
			text, ok := res.Parameters[d.Zero]
			if !ok {
				return wrong(unknown("parameter", d.Zero, keys(res.Parameters)), "zero")
			}
			var err error
			if zero, err = strconv.Atoi(text); err != nil {
				return wrong(fmt.Errorf("parameter %s is %q, want whole seconds", d.Zero, text), "zero")
			}
		}
	}
	type line struct {
		name    string
		points  map[int]float64 // by second
		unit    measure.Unit
		missing bool
		short   string // of the reason
		value   string
		labels  measure.Labels
		reasons map[int]string // by second
		reason  string
	}
	var lines []line
	last := 0
	for _, value := range r.valuesWhere(known, d.Series, d.Where) {
		if want, fixed := d.Where[d.Series]; fixed && want != value {
			continue
		}
		l := line{name: name(value), points: map[int]float64{}, value: value, reasons: map[int]string{}}
		c, err := r.oneCase(known, d.Experiment, overlay(d.Where, measure.Labels{d.Series: value}))
		if err != nil {
			return err
		}
		reason := c.missing
		if reason == "" {
			r.cite(d.Experiment, c.group)
			first := c.cells[0]
			l.labels, l.value = c.labels, cmp.Or(c.labels[d.Series], value)
			f.Numbers.from(r, c.group)
			s, ok := first.Series[d.Metric]
			switch {
			case first.Failure != nil:
				reason = first.Failure.Reason
			case !ok || len(s.Values) == 0:
				reason = "the first repeat did not record " + d.Metric
			}
			l.unit = s.Unit
			whole := s.Values
			if s.Unit == measure.Count && len(whole) > 1 {
				whole = whole[:len(whole)-1] // the last second of counts is none
			}
			for i, v := range whole {
				second := int(math.Round(s.Start + float64(i)*s.Step))
				if v.OK() {
					l.points[second] = v.Float64()
					last = max(last, second)
				} else {
					l.reasons[second] = v.Reason()
				}
			}
		}
		if reason != "" {
			r.miss(reason)
			l.missing, l.reason, l.short = true, reason, shortReason(r.lang, c.group)
		}
		lines = append(lines, l)
	}
	every := tableStep(last + 1)
	for second := range last + 1 {
		label := number.Exact(int64(second - zero))
		wide.Categories = append(wide.Categories, label)
		if (second-zero)%every == 0 {
			f.Table.Rows = append(f.Table.Rows, []string{label})
		}
	}
	for _, l := range lines {
		if l.unit != "" && d.Unit != "" {
			if err := checkUnit(d.Unit, measure.Metric{Unit: l.unit}); err != nil {
				return wrong(err, "unit")
			}
		}
		f.Table.Head = append(f.Table.Head, l.name)
		series := chart.Series{Name: l.name}
		row := 0
		for second := range last + 1 {
			var p chart.Point
			text := "–"
			if l.missing && second == 0 {
				p.Label = l.short
			}
			if x, ok := l.points[second]; ok {
				y := x / scale
				p.Value = &y
				text = number.Format(x, l.unit, number.Options{Unit: d.Unit, Bare: true})
				p.Tip = text
				f.Numbers.Unit = l.unit
				f.Numbers.second(l.labels, l.value, second-zero, measure.Float(x))
			} else {
				why := cmp.Or(l.reason, l.reasons[second], "not recorded at this second")
				p.Tip = notMeasured(r.lang, why)
				f.Numbers.second(l.labels, l.value, second-zero, measure.Missing(why))
				if l.missing || l.reasons[second] != "" {
					text = p.Tip
				}
			}
			series.Points = append(series.Points, p)
			if (second-zero)%every == 0 {
				f.Table.Rows[row] = append(f.Table.Rows[row], text)
				row++
			}
		}
		wide.Series = append(wide.Series, series)
	}
	if len(w.Phases) == 2 && zero > 0 && zero <= last {
		wide.Phases = []chart.Phase{{Name: w.Phases[0], From: 0, To: zero - 1}, {Name: w.Phases[1], From: zero, To: last}}
	}
	return nil
}

// point is the median of a case with its smallest and largest sample, and the
// evidence of one that is client-bound.
func (r *resolver) point(known Known, name string, d figureDeclared, labels measure.Labels, scale float64) (p chart.Point, text, mark string, err error) {
	c, err := r.oneCase(known, d.Experiment, labels)
	if err != nil {
		return p, "", "", err
	}
	metric := known.Metrics[name]
	reason := c.missing
	var median, least, most picked // in base units
	if reason == "" {
		s, why := c.summary(name)
		if reason = why; reason == "" {
			per := options{per: d.Per}
			if median, err = per.pick(s, c.labels); err != nil {
				return p, "", "", err
			}
			per.stat = "min"
			least, _ = per.pick(s, c.labels)
			per.stat = "max"
			most, _ = per.pick(s, c.labels)
		}
	}
	if reason != "" {
		if c.missing == "" {
			r.cite(d.Experiment, c.group, name)
		}
		if d.Gaps && c.missing == "" && len(c.failed()) == 0 { // the caption says what a gap is
			return chart.Point{Short: shortMissing(r.lang)}, notMeasured(r.lang, reason), "", nil
		}
		short := shortReason(r.lang, c.group)
		return chart.Point{Label: short, Short: short}, r.miss(reason).text, "", nil
	}
	anchor := r.cite(d.Experiment, c.group, name)
	text = options{unit: d.Unit, bare: true}.show(median, metric.Unit)
	if n, whole := median.whole(); whole && c.counts(name, metric) && d.Per == "" && d.Unit == "" {
		text = number.Exact(n)
	}
	value := median.value / scale
	p = chart.Point{Value: &value, Label: text}
	if c.marked(metric) {
		mark = anchor
		p.Mark = clientBoundMark
		p.Label += clientBoundMark
	}
	if low, high := least.value/scale, most.value/scale; low != high {
		p.Low, p.High = &low, &high
	}
	return p, p.Label, mark, nil
}

func shortMissing(lang string) string {
	if lang == "zh" {
		return "未测量"
	}
	return "not measured"
}
