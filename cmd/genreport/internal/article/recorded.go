package article

import (
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"genreport/cmd/genreport/internal/diagram"
	"genreport/cmd/genreport/internal/number"
	"genreport/measure"
)

// recordedDeclared is a series of the results that steps of a demonstration show.
// Its keys mean what they mean in a figure of kind time.
type recordedDeclared struct {
	Experiment string         `yaml:"experiment"`
	Metric     string         `yaml:"metric"` // what is recorded over time
	Where      measure.Labels `yaml:"where"`
	Series     string         `yaml:"series"` // label that tells the lines apart; "": there is one
	Only       []string       `yaml:"only"`   // of its values; all where it is left out
	Zero       string         `yaml:"zero"`   // the parameter, in seconds, from which time counts
	Unit       string         `yaml:"unit"`
	From       *int           `yaml:"from"` // seconds from zero; what was recorded, where they are left out
	To         *int           `yaml:"to"`
}

// demoRecorded is what a step shows of one.
type demoRecorded struct {
	Show string `yaml:"show"`
	At   string `yaml:"at"` // seconds from zero, or lowest or highest: the first second with that value, on each line
}

// recordedWords are those of a series in a demo block.
type recordedWords struct {
	Name string `yaml:"name"` // what was recorded, and in what
	Zero string `yaml:"zero"` // what happens at zero; optional
}

const (
	atLowest  = "lowest"
	atHighest = "highest"
	// linesMost is how many lines a small chart can tell apart.
	linesMost = 4
)

// DemoRecorded is what was recorded, and the moment that the step is about.
type DemoRecorded struct {
	Name   template.HTML
	Chart  diagram.Recorded // without lines where nothing was measured
	Values []DemoValue      // one for each line
}

// DemoValue is the value of a line at the moment.
type DemoValue struct {
	Name  string        // "4.3.6"; "" where there is one line
	Value template.HTML // "1,589"
	At    string        // " at 12 s"; "" where there is no value
}

// recordedTarget is that of references to the moment of a step.
const recordedTarget = "recorded"

// moment is what such references may show.
type moment struct{ value, second resolved }

// moments are those of a step, by the value of the label that tells lines apart.
type moments struct {
	label string
	by    map[string]moment
}

// checkRecorded refuses what can't be shown: at is the demonstration's place.
func (r *resolver) checkRecorded(d demoDeclared, at placedText, bad *faults) {
	fail := func(err error, path ...string) { bad.at(at.file, at.value(path...), err) }
	shown := map[string]bool{}
	for i, s := range d.Steps {
		if s.Recorded == nil {
			continue
		}
		n := strconv.Itoa(i)
		rec, ok := d.Recorded[s.Recorded.Show]
		if !ok {
			fail(unknown("recorded series", s.Recorded.Show, keys(d.Recorded)), "steps", n, "recorded", "show")
			continue
		}
		shown[s.Recorded.Show] = true
		if when := s.Recorded.At; when != atLowest && when != atHighest {
			x, err := strconv.ParseFloat(when, 64)
			if err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
				fail(fmt.Errorf("at is %q: it is seconds from zero, %s or %s", when, atLowest, atHighest), "steps", n, "recorded", "at")
			} else if rec.From != nil && x < float64(*rec.From) || rec.To != nil && x > float64(*rec.To) {
				fail(fmt.Errorf("at %s s is not on the axis of %s", when, s.Recorded.Show), "steps", n, "recorded", "at")
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(d.Recorded)) {
		rec := d.Recorded[id]
		in := func(key ...string) []string { return append([]string{"recorded", id}, key...) }
		if !shown[id] {
			fail(fmt.Errorf("no step shows %s", id), in()...)
		}
		known, ok := r.data.catalog[rec.Experiment]
		if !ok {
			fail(unknown("experiment", rec.Experiment, keys(r.data.catalog)), in("experiment")...)
			continue
		}
		if !slices.Contains(known.Series, rec.Metric) {
			fail(unknown("series", rec.Metric, known.Series), in("metric")...)
		}
		if _, ok := number.Scale(rec.Unit); rec.Unit != "" && !ok {
			fail(unknown("unit", rec.Unit, number.Units()), in("unit")...)
		}
		if rec.From != nil && rec.To != nil && *rec.From >= *rec.To {
			fail(fmt.Errorf("from %d to %d s is no time", *rec.From, *rec.To), in("to")...)
		}
		if rec.Series == "" {
			if len(rec.Only) > 0 {
				fail(errors.New("only is of the values of series, and there is none"), in("only")...)
			}
			continue
		}
		values := r.values(known, rec.Series)
		if len(values) == 0 {
			fail(unknown("label", rec.Series, append(known.labels(), brokerLabel)), in("series")...)
			continue
		}
		for k, v := range rec.Only {
			if !slices.Contains(values, v) {
				what := "value of " + rec.Series
				if rec.Series == brokerLabel {
					what = "broker alias"
				}
				fail(unknown(what, v, values), in("only", strconv.Itoa(k))...)
			}
		}
		if n := len(r.lineValues(known, rec)); n > linesMost {
			fail(fmt.Errorf("%d lines are too many for a small chart: name at most %d under only", n, linesMost), in("series")...)
		}
	}
}

// lineValues are those of the label that tells the lines apart.
func (r *resolver) lineValues(known Known, rec recordedDeclared) []string {
	if rec.Series == "" {
		return []string{""}
	}
	if len(rec.Only) > 0 {
		return rec.Only
	}
	return r.valuesWhere(known, rec.Series, rec.Where)
}

// recordedLine is one line before its scale is known.
type recordedLine struct {
	value   string // of the label
	points  []diagram.RecordedPoint
	reasons map[float64]string // of what is missing, by time
	unit    measure.Unit
	anchor  string
	mark    string
	missing string
}

// recordedLineOf reads the first repeat of a case: one that was chosen would show
// what the chooser likes.
func (r *resolver) recordedLineOf(known Known, rec recordedDeclared, value string) (recordedLine, error) {
	l := recordedLine{value: value, reasons: map[float64]string{}}
	want := maps.Clone(rec.Where)
	if rec.Series != "" {
		want = overlay(want, measure.Labels{rec.Series: value})
	}
	c, err := r.oneCase(known, rec.Experiment, overlay(nil, want))
	if err != nil || c.missing != "" {
		l.missing = c.missing
		return l, err
	}
	res, _, _ := r.data.find(rec.Experiment, c.labels[brokerLabel])
	zero := 0.0
	if rec.Zero != "" {
		text, ok := res.Parameters[rec.Zero]
		if !ok {
			return l, wrong(unknown("parameter", rec.Zero, keys(res.Parameters)), "zero")
		}
		if zero, err = strconv.ParseFloat(text, 64); err != nil {
			return l, wrong(fmt.Errorf("parameter %s is %q, want seconds", rec.Zero, text), "zero")
		}
	}
	l.anchor = r.cite(rec.Experiment, c.group)
	first := c.cells[0]
	s, ok := first.Series[rec.Metric]
	switch {
	case first.Failure != nil:
		l.missing = first.Failure.Reason
		return l, nil
	case !ok || len(s.Values) == 0:
		l.missing = "the first repeat did not record " + rec.Metric
		return l, nil
	}
	if l.unit = s.Unit; rec.Unit != "" {
		if err := checkUnit(rec.Unit, measure.Metric{Unit: l.unit}); err != nil {
			return l, err
		}
	}
	if c.marked(measure.Metric{Unit: l.unit}) {
		l.mark = l.anchor
	}
	whole := s.Values
	if s.Unit == measure.Count && len(whole) > 1 {
		whole = whole[:len(whole)-1] // the last second of counts is none
	}
	for i, v := range whole {
		p := diagram.RecordedPoint{Time: s.Start + float64(i)*s.Step - zero}
		if rec.From != nil && p.Time < float64(*rec.From) || rec.To != nil && p.Time > float64(*rec.To) {
			continue
		}
		if v.OK() {
			x := v.Float64()
			p.Value = &x
		} else {
			l.reasons[p.Time] = v.Reason()
		}
		l.points = append(l.points, p)
	}
	return l, nil
}

// at is the point of a moment; without a value there is none, and why.
func (l recordedLine) at(when string) (diagram.RecordedPoint, string) {
	if l.missing != "" {
		return diagram.RecordedPoint{}, l.missing
	}
	var best diagram.RecordedPoint
	x, err := strconv.ParseFloat(when, 64)
	for _, p := range l.points {
		switch {
		case err == nil: // the nearest, at most half a second off
			if off := math.Abs(p.Time - x); off <= .5 && (best == (diagram.RecordedPoint{}) || off < math.Abs(best.Time-x)) {
				best = p
			}
		case p.Value == nil:
		case best.Value == nil, when == atLowest && *p.Value < *best.Value, when == atHighest && *p.Value > *best.Value:
			best = p
		}
	}
	if best.Value == nil {
		return best, cmp.Or(l.reasons[best.Time], "not recorded at this second")
	}
	return best, ""
}

// recorded makes what a step shows, and the moments that its caption may tell of.
// where is the place of the declaration.
func (s source) recorded(r *resolver, id string, step demoRecorded, rec recordedDeclared, words recordedWords, text, at placedText, bad *faults) (*DemoRecorded, moments) {
	known := r.data.catalog[rec.Experiment]
	m := moments{label: rec.Series, by: map[string]moment{}}
	out := &DemoRecorded{Name: s.sayHTML(r, text, words.Name, bad, "recorded", step.Show, "name")}
	defer r.standAt(at, "recorded", step.Show)() // where a missing number is told of
	var lines []recordedLine
	points := false
	for _, value := range r.lineValues(known, rec) {
		l, err := r.recordedLineOf(known, rec, value)
		if err != nil {
			bad.at(at.file, at.placeOf(err, "recorded", step.Show), err)
			return nil, m
		}
		lines = append(lines, l)
		points = points || len(l.points) > 0
	}
	c := &out.Chart
	*c = diagram.Recorded{ID: id, Title: plainOf(out.Name), Zero: s.say(r, text, words.Zero, bad, "recorded", step.Show, "zero")}
	var said []string
	var top recordedLine
	for i, l := range lines {
		v := DemoValue{}
		if rec.Series != "" {
			v.Name = r.valueText(rec.Series, l.value)
		}
		p, missing := l.at(step.At)
		var of moment
		if missing != "" {
			of.value = r.miss(missing)
			of.value.anchor = l.anchor
			of.second = of.value
		} else {
			of.value = resolved{text: number.Format(*p.Value, l.unit, number.Options{Unit: rec.Unit, Digits: evidenceDigits}), anchor: l.anchor, mark: l.mark}
			if n := int64(*p.Value); l.unit == measure.Count && float64(n) == *p.Value {
				of.value.text = number.Exact(n)
			}
			of.second = resolved{text: seconds(p.Time), anchor: l.anchor}
			v.At = atSecond(r.lang, p.Time)
		}
		v.Value = of.value.html(r.lang)
		m.by[l.value] = of
		out.Values = append(out.Values, v)
		said = append(said, strings.TrimSpace(strings.TrimPrefix(v.Name+": "+of.value.words(r.lang)+v.At, ": ")))
		line := diagram.RecordedLine{Points: l.points}
		if missing == "" {
			line.At = &p
		}
		c.Lines = append(c.Lines, line)
		for k, p := range l.points {
			if i == 0 && k == 0 || p.Time < c.From {
				c.From = p.Time
			}
			c.To = max(c.To, p.Time)
			if p.Value != nil && *p.Value > c.Top {
				c.Top, top = *p.Value, l
			}
		}
	}
	c.Description = strings.Join(said, "\n")
	if !points || c.Top <= 0 { // nothing to draw
		c.Lines = nil
		return out, m
	}
	if rec.From != nil {
		c.From = float64(*rec.From)
	}
	if rec.To != nil {
		c.To = float64(*rec.To)
	}
	if c.From >= c.To {
		c.To = c.From + 1
	}
	c.TopText = number.Format(c.Top, top.unit, number.Options{Unit: rec.Unit})
	if n := int64(c.Top); top.unit == measure.Count && float64(n) == c.Top {
		c.TopText = number.Exact(n)
	}
	c.FromText, c.ToText = seconds(c.From), seconds(c.To)
	return out, m
}

// seconds is a time from zero: "−10 s".
func seconds(t float64) string {
	text := strconv.FormatFloat(math.Abs(t), 'f', -1, 64)
	if n := int64(math.Abs(t)); float64(n) == math.Abs(t) {
		text = number.Exact(n)
	}
	if t < 0 {
		text = "−" + text
	}
	return text + " s"
}

func atSecond(lang string, t float64) string {
	if lang == "zh" {
		return "（" + seconds(t) + " 时）"
	}
	return " at " + seconds(t)
}

// ofMoment is a reference to the moment of the step whose caption it stands in.
func (r *resolver) ofMoment(in ref) (resolved, error) {
	if r.moments.by == nil {
		return resolved{}, errors.New("recorded is for captions of a demonstration's steps that show a recorded series")
	}
	if in.options != (options{}) || in.over != nil {
		return resolved{}, errors.New("what was recorded takes no options, no ratio and no difference")
	}
	value := ""
	for k, v := range in.labels {
		if k != r.moments.label {
			return resolved{}, unknown("label", k, []string{r.moments.label})
		}
		value = v
	}
	m, ok := r.moments.by[value]
	if !ok {
		if value == "" {
			return resolved{}, fmt.Errorf("the step shows several lines: give %s", r.moments.label)
		}
		return resolved{}, unknown("line", value, keys(r.moments.by))
	}
	r.used = append(r.used, Used{Place: r.here, Key: in.key()})
	switch in.name {
	case "value":
		return m.value, nil
	case "second":
		return m.second, nil
	}
	return resolved{}, unknown("name", in.name, []string{"value", "second"})
}
