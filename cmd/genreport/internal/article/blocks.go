package article

import (
	"errors"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"

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
// Lines with || form columns; such lines without a reference are headings.
//
// The info line is line at of the file. fail takes the errors: of that line, 0,
// or of a line of the body, from 1.
func (r *resolver) output(info, body string, at int, fail func(line int, err error)) *Output {
	defaults := ref{labels: measure.Labels{}}
	each := ""
	for _, w := range strings.Fields(info) {
		k, v, ok := strings.Cut(w, "=")
		switch {
		case !ok || v == "":
			fail(0, fmt.Errorf("output: %q is not key=value", w))
			return nil
		case k == "experiment":
			defaults.experiment = v
		case k == "each":
			each = v
		default:
			defaults.labels[k] = v
		}
	}
	known, ok := r.data.catalog[defaults.experiment]
	if !ok {
		fail(0, unknown("experiment", defaults.experiment, keys(r.data.catalog)))
		return nil
	}
	if each != "" && len(known.labelValues(each)) == 0 {
		fail(0, unknown("label", each, known.labels()))
		return nil
	}
	out := &Output{Client: r.clientName(defaults.labels["client"])}
	for i, line := range strings.Split(strings.TrimRight(body, "\n"), "\n") {
		r.line = at + i + 1
		values := []string{""}
		if variable := refOpen + each + refClose; each != "" && strings.Contains(line, variable) {
			values = known.labelValues(each)
		}
		for _, v := range values {
			in := defaults
			text := line
			if v != "" {
				in.labels = overlay(defaults.labels, measure.Labels{each: v})
				text = strings.ReplaceAll(line, refOpen+each+refClose, labelText(v))
			}
			l := OutputLine{Head: strings.Contains(line, "||") && !strings.Contains(line, refOpen)}
			for cell := range strings.SplitSeq(text, "||") {
				h, err := r.inline(strings.TrimSpace(cell), in)
				fail(i+1, err)
				l.Cells = append(l.Cells, h)
			}
			out.Lines = append(out.Lines, l)
		}
	}
	return out
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
//	```
type figureWords struct {
	Title   string            `yaml:"title"`
	Caption string            `yaml:"caption"`
	Alt     string            `yaml:"alt"`
	X       string            `yaml:"x"`
	Y       string            `yaml:"y"`
	Names   map[string]string `yaml:"names"`
}

func (r *resolver) figure(id string, d figureDeclared, w figureWords) (*Figure, error) {
	known, ok := r.data.catalog[d.Experiment]
	if !ok {
		return nil, unknown("experiment", d.Experiment, keys(r.data.catalog))
	}
	metric, ok := known.Metrics[d.Metric]
	if !ok {
		return nil, unknown("metric", d.Metric, keys(known.Metrics))
	}
	if _, ok := number.Scale(d.Unit); d.Unit != "" && ok {
		if err := checkUnit(d.Unit, metric); err != nil {
			return nil, err
		}
	}
	for _, l := range []string{d.X, d.Series} {
		if len(known.labelValues(l)) == 0 {
			return nil, unknown("label", l, known.labels())
		}
	}
	kind, ok := map[string]chart.Kind{"bar": chart.Bar, "line": chart.Line}[d.Kind]
	if !ok {
		return nil, unknown("kind of figure", d.Kind, []string{"bar", "line"})
	}
	scale := 1.0
	if d.Unit != "" {
		var ok bool
		if scale, ok = number.Scale(d.Unit); !ok {
			return nil, unknown("unit", d.Unit, number.Units())
		}
	}
	if w.Title == "" || w.Alt == "" {
		return nil, errors.New("a figure needs title and alt")
	}
	var errs []error
	words := func(text string) template.HTML {
		h, err := r.inline(text, ref{})
		errs = append(errs, err)
		return h
	}
	plain := func(text string) string {
		s, err := r.plain(text)
		errs = append(errs, err)
		return s
	}
	f := &Figure{ID: "f-" + id, Title: words(w.Title), Caption: words(w.Caption)}
	wide := chart.Figure{ID: f.ID + "-wide", Kind: kind, Title: plain(w.Title), Description: plain(w.Alt), XTitle: w.X, YTitle: w.Y,
		ValueLabels: d.Labels}
	categories := known.labelValues(d.X)
	f.Table = Table{Caption: w.Y, Head: []string{w.X}}
	for _, category := range categories {
		wide.Categories = append(wide.Categories, labelText(category))
		f.Table.Rows = append(f.Table.Rows, []string{labelText(category)})
	}
	for _, value := range known.labelValues(d.Series) {
		if want, fixed := d.Where[d.Series]; fixed && want != value {
			continue
		}
		name := value
		if n := w.Names[value]; n != "" {
			name = n
		}
		series := chart.Series{Name: name}
		marked := MarkedSeries{Name: name}
		f.Table.Head = append(f.Table.Head, name)
		for i, category := range categories {
			point, text, mark, err := r.point(known, metric, d, overlay(d.Where, measure.Labels{d.X: category, d.Series: value}), scale)
			if err != nil {
				return nil, err
			}
			if mark != "" {
				marked.Points = append(marked.Points, Link{Href: "#" + mark, Text: labelText(category)})
			}
			series.Points = append(series.Points, point)
			f.Table.Rows[i] = append(f.Table.Rows[i], text)
		}
		wide.Series = append(wide.Series, series)
		if len(marked.Points) > 0 {
			f.Marked = append(f.Marked, marked)
		}
	}
	narrow := wide
	narrow.ID, narrow.Width, narrow.Height = f.ID+"-narrow", 400, 320
	f.Wide, f.Narrow = wide, narrow
	if res, run, why := r.data.find(d.Experiment, r.brokers["current"]); why == "" {
		f.Data = []Link{{Href: "data/" + run.ID + "/" + res.Experiment + ".json", Text: res.Experiment + ".json"}}
	}
	return f, errors.Join(slices.DeleteFunc(errs, func(e error) bool { return e == nil })...)
}

// point is the median of a case with its smallest and largest sample, and the
// evidence of one that is client-bound.
func (r *resolver) point(known Known, metric measure.Metric, d figureDeclared, labels measure.Labels, scale float64) (p chart.Point, text, mark string, err error) {
	c, err := r.oneCase(known, d.Experiment, labels)
	if err != nil {
		return p, "", "", err
	}
	reason := c.missing
	var value, low, high float64
	if reason == "" {
		s, why := c.summary(d.Metric)
		reason = why
		by := 1.0
		if d.Per != "" {
			if by, err = labelNumber(c.labels, d.Per); err != nil {
				return p, "", "", err
			}
		}
		value, low, high = s.Median/by/scale, s.Min/by/scale, s.Max/by/scale
	}
	if reason != "" {
		v := r.miss(reason)
		if c.missing == "" {
			r.cite(d.Experiment, c.labels)
		}
		return chart.Point{Label: shortMissing(r.lang)}, v.text, "", nil
	}
	anchor := r.cite(d.Experiment, c.labels)
	show := func(x float64) string {
		if n := int64(x * scale); metric.Exact && d.Per == "" && d.Unit == "" && float64(n) == x*scale {
			return number.Exact(n)
		}
		return number.Format(x*scale, metric.Unit, number.Options{Unit: d.Unit, Bare: true})
	}
	p = chart.Point{Value: &value, Label: show(value)}
	if c.marked(metric) {
		mark = anchor
		p.Label += clientBoundMark
	}
	text = p.Label
	if low != high {
		p.Low, p.High = &low, &high
		text += " (" + show(low) + "–" + show(high) + ")"
	}
	return p, text, mark, nil
}

func shortMissing(lang string) string {
	if lang == "zh" {
		return "未测量"
	}
	return "not measured"
}
