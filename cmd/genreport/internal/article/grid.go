package article

import (
	"errors"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"

	"genreport/cmd/genreport/internal/number"
	"genreport/measure"
)

// tableDeclared is a table of results, in SLUG.yaml: the values of one label go
// down and those of another across. Several metrics take the place of one label.
type tableDeclared struct {
	Experiment string         `yaml:"experiment"`
	Metric     string         `yaml:"metric"`
	Metrics    []string       `yaml:"metrics"`
	Rows       string         `yaml:"rows"`    // label
	Columns    string         `yaml:"columns"` // label
	Where      measure.Labels `yaml:"where"`
	Unit       string         `yaml:"unit"`
	Per        string         `yaml:"per"`
	Digits     int            `yaml:"digits"`
}

// tableWords is the body of a table block.
type tableWords struct {
	Title   string            `yaml:"title"`
	Caption string            `yaml:"caption"`
	Corner  string            `yaml:"corner"` // heads the first column
	Unit    string            `yaml:"unit"`   // in words, where the metric's own is not enough
	Names   map[string]string `yaml:"names"`  // of rows and columns
}

// Grid is a table of results.
type Grid struct {
	ID      string // unique on the page
	Title   template.HTML
	Caption template.HTML
	Unit    string // of all cells; "" where each says its own
	Corner  string
	Head    []string
	Rows    []GridRow
}

// GridRow is a row; a cell without a number says why.
type GridRow struct {
	Name  string
	Unit  string // of its cells where they don't say it
	Cells []template.HTML
}

// check refuses what can't be a table.
func (d tableDeclared) check(r *resolver, at placedText, bad *faults) bool {
	before := len(bad.list)
	fail := func(err error, path ...string) { bad.at(at.file, at.value(path...), err) }
	known, ok := r.data.catalog[d.Experiment]
	if !ok {
		fail(unknown("experiment", d.Experiment, keys(r.data.catalog)), "experiment")
		return false
	}
	metrics := d.metrics()
	for _, m := range metrics {
		metric, ok := known.Metrics[m]
		if !ok {
			key := "metric"
			if d.Metrics != nil {
				key = "metrics"
			}
			fail(unknown("metric", m, keys(known.Metrics)), key)
			continue
		}
		if _, ok := number.Scale(d.Unit); d.Unit != "" && !ok {
			fail(unknown("unit", d.Unit, number.Units()), "unit")
		} else if d.Unit != "" {
			fail2 := checkUnit(d.Unit, metric)
			if fail2 != nil {
				fail(fail2, "unit")
			}
		}
	}
	switch {
	case (d.Metric == "") == (d.Metrics == nil):
		fail(errors.New("a table has either metric, or metrics in place of rows or columns"))
	case d.Metric != "" && (d.Rows == "" || d.Columns == ""):
		fail(errors.New("a table of one metric needs rows and columns, two labels"))
	case d.Metrics != nil && (d.Rows == "") == (d.Columns == ""):
		fail(errors.New("metrics take the place of rows or of columns: give the other one, a label"))
	}
	if d.Rows == d.Columns && d.Rows != "" {
		fail(errors.New("rows and columns are the same label"), "columns")
	}
	if d.Digits < 0 || d.Digits > 15 {
		fail(fmt.Errorf("digits is %d, not in 1…15", d.Digits), "digits")
	}
	for _, label := range [][2]string{{"rows", d.Rows}, {"columns", d.Columns}} {
		if label[1] != "" && len(r.values(known, label[1])) == 0 {
			fail(unknown("label", label[1], append(known.labels(), brokerLabel)), label[0])
		}
	}
	for _, label := range slices.Sorted(maps.Keys(d.Where)) {
		values := r.values(known, label)
		if len(values) == 0 {
			fail(unknown("label", label, append(known.labels(), brokerLabel)), "where", label)
		} else if !slices.Contains(values, d.Where[label]) {
			fail(unknown("value of "+label, d.Where[label], values), "where", label)
		}
	}
	return len(bad.list) == before
}

func (d tableDeclared) metrics() []string {
	if d.Metrics != nil {
		return d.Metrics
	}
	return []string{d.Metric}
}

// entry is a row or a column: a value of a label, or a metric.
type entry struct {
	id     string // value or metric
	name   string
	metric string
	labels measure.Labels
}

func (d tableDeclared) entries(r *resolver, label string, names map[string]string) []entry {
	known := r.data.catalog[d.Experiment]
	var out []entry
	if label == "" {
		for _, m := range d.Metrics {
			out = append(out, entry{id: m, name: m, metric: m})
		}
	} else {
		for _, v := range r.values(known, label) {
			if want, fixed := d.Where[label]; !fixed || want == v {
				out = append(out, entry{id: v, name: r.valueText(label, v), labels: measure.Labels{label: v}})
			}
		}
	}
	for i, e := range out {
		if n := names[e.id]; n != "" {
			out[i].name = n
		}
	}
	return out
}

// grid makes a table; nil where something is wrong.
func (s source) grid(r *resolver, id string, line int, body string, bad *faults) *Grid {
	before := len(bad.list)
	d, at, ok := declaredIn[tableDeclared](s, "tables", "table", id, keys(s.shared.Tables), line, bad)
	if !ok || !d.check(r, at, bad) {
		return nil
	}
	text, err := readWords(s.file, line, body)
	var w tableWords
	if err == nil {
		err = text.decode(&w)
	}
	if err != nil {
		bad.at(s.file, place{line, 1}, err)
		return nil
	}
	if w.Title == "" {
		bad.at(s.file, place{line, 1}, errors.New("a table needs a title"))
	}
	say := func(text placedText, in string, path ...string) string { return s.say(r, text, in, bad, path...) }
	names := map[string]string{}
	rows, columns := d.entries(r, d.Rows, nil), d.entries(r, d.Columns, nil)
	for _, name := range slices.Sorted(maps.Keys(w.Names)) {
		var have []string
		for _, e := range append(slices.Clone(rows), columns...) {
			have = append(have, e.id)
		}
		if !slices.Contains(have, name) {
			bad.at(s.file, text.place("names", name), unknown("row or column", name, have))
		}
		names[name] = say(text, w.Names[name], "names", name)
	}
	rows, columns = d.entries(r, d.Rows, names), d.entries(r, d.Columns, names)
	g := &Grid{ID: "t-" + id, Title: s.sayHTML(r, text, w.Title, bad, "title"), Corner: say(text, w.Corner, "corner")}
	if w.Caption != "" {
		g.Caption = template.HTML(s.passage(r, w.Caption, text.place("caption"), bad))
	}
	g.Unit = say(text, w.Unit, "unit")
	if g.Unit == "" {
		g.Unit = d.Unit
	}
	if g.Unit == "" && d.Metric != "" {
		g.Unit = perSecond(r.data.catalog[d.Experiment].Metrics[d.Metric])
	}
	for _, c := range columns {
		g.Head = append(g.Head, c.name)
	}
	defer r.standAt(text)()
	defer r.within(d.Experiment)()
	for _, row := range rows {
		line := GridRow{Name: row.name}
		if row.metric != "" {
			line.Unit = perSecond(r.data.catalog[d.Experiment].Metrics[row.metric])
		}
		for _, c := range columns {
			in := ref{experiment: d.Experiment, name: row.metric + c.metric, labels: overlay(d.Where, overlay(row.labels, c.labels)),
				options: options{unit: d.Unit, per: d.Per, digits: d.Digits, bare: d.Unit != ""}}
			if d.Metric != "" {
				in.name = d.Metric
			}
			v, err := r.lookup(in, ref{})
			bad.at(at.file, at.placeOf(err), err)
			line.Cells = append(line.Cells, v.html(r.lang))
		}
		g.Rows = append(g.Rows, line)
	}
	if len(bad.list) > before {
		return nil
	}
	return g
}

// perSecond is the unit that numbers of a rate don't say themselves.
func perSecond(m measure.Metric) string {
	if m.Unit == measure.PerSecond {
		return "/s"
	}
	return ""
}

// Given is the parameters of an experiment, as its result file has them.
type Given struct {
	Title template.HTML
	Rows  []GivenRow
	Data  Link // "" without a result
}

// GivenRow is one parameter.
type GivenRow struct {
	Key   string // in the result file
	Name  template.HTML
	Value template.HTML
	Text  template.HTML // what it means
}

// givenWords describe a parameter.
type givenWords struct {
	Name string `yaml:"name"`
	Text string `yaml:"text"`
}

// parameters is
//
//	```given EXPERIMENT
//	title: …
//	parameters:
//	  PARAMETER: {name: …, text: …}
//	```
//
// The values are the result file's; a name that ends in _s or _bytes says the unit.
func (s source) parameters(r *resolver, experiment string, line int, body string, bad *faults) *Given {
	before := len(bad.list)
	at := place{line, 1}
	defer r.within(experiment)()
	if _, ok := r.data.catalog[experiment]; !ok {
		bad.at(s.file, s.infoPlace(line, experiment), unknown("experiment", experiment, keys(r.data.catalog)))
		return nil
	}
	text, err := readWords(s.file, line, body)
	var w struct {
		Title      string                `yaml:"title"`
		Parameters map[string]givenWords `yaml:"parameters"`
	}
	if err == nil {
		err = text.decode(&w)
	}
	if err != nil {
		bad.at(s.file, at, err)
		return nil
	}
	if w.Title == "" || len(w.Parameters) == 0 {
		bad.at(s.file, at, errors.New("given needs a title and parameters"))
		return nil
	}
	g := &Given{Title: s.sayHTML(r, text, w.Title, bad, "title")}
	for _, key := range text.within("parameters").keysOf() {
		p := w.Parameters[key]
		if p.Name == "" {
			bad.at(s.file, text.place("parameters", key), fmt.Errorf("parameter %s needs a name", key))
		}
		restore := r.standAt(text, "parameters", key)
		v, err := r.lookup(ref{experiment: experiment, name: "@" + key, labels: measure.Labels{}}, ref{})
		restore()
		bad.at(s.file, text.place("parameters", key), err)
		if v.missing == "" {
			switch {
			case strings.HasSuffix(key, "_s"):
				v.text += " s"
			case strings.HasSuffix(key, "_bytes"):
				v.text += " B"
			}
		}
		g.Rows = append(g.Rows, GivenRow{Key: key, Name: s.sayHTML(r, text, p.Name, bad, "parameters", key, "name"), Value: v.html(r.lang),
			Text: s.sayHTML(r, text, p.Text, bad, "parameters", key, "text")})
	}
	if res, run, why := r.data.find(experiment, r.brokers["current"]); why == "" {
		g.Data = Link{Href: "data/" + run.ID + "/" + res.Experiment + ".json", Text: res.Experiment + ".json"}
	}
	if len(bad.list) > before {
		return nil
	}
	return g
}
