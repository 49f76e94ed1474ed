package article

import (
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/goldmark"

	"genreport/cmd/genreport/internal/claim"
	"genreport/cmd/genreport/internal/number"
	"genreport/cmd/genreport/internal/words"
	"genreport/measure"
	"genreport/measure/stats"
)

// resolver looks up references for one page.
type resolver struct {
	data     Data
	lang     string
	brokers  map[string]string // alias -> label
	here     Place             // of the reference that is being resolved
	unmet    []Unmet
	draft    bool
	evidence []evidenceKey
	runs     []Source
	leads    // what the page's numbers come from; facts are of those runs

	about          string // the experiment of the block that is being resolved
	sources        map[string]givenSource
	givenFrom      []givenUse
	unsourced      []Loose
	declaredClaims map[string]claimDeclared
	faulty         map[string]error // of claims whose declaration is wrong
	shared         placedText       // SLUG.yaml
	claims         []*Claim         // in the order of their first use
	moments        moments          // of the step whose caption is resolved
	used           []Used
	loose          []Loose
	markdowns      map[style]goldmark.Markdown // that have been needed
}

// evidenceKey is a case whose numbers the page shows.
type evidenceKey struct {
	experiment string
	group
	metrics []string // of them; what nobody refers to is in the data
}

// resolved is what a reference stands for.
type resolved struct {
	text    string // the number, or what it reads when there is none
	missing string // why there is none
	anchor  string // evidence behind it; may be ""
	said    bool   // text is what a program said, not a number
	english bool   // on a page in another language
	mark    string // evidence of the client-bound case in it; "": none is
	claim   *Claim // whose verdict chose the text
	given   bool   // nobody measured it
	source  Link   // of what is given: where it leads, and its name
}

func (v resolved) html(lang string) template.HTML {
	text := template.HTMLEscapeString(v.text)
	if v.missing != "" {
		text = `<span class="missing">` + text + `</span>`
	}
	switch {
	case v.claim != nil:
		return template.HTML(text) + v.claim.mark(lang)
	case v.given && v.source.Href != "":
		return template.HTML(`<a class="given" href="` + template.HTMLEscapeString(v.source.Href) + `" title="` + template.HTMLEscapeString(v.source.Text) + `">` + text + `</a>`)
	case v.given:
		return template.HTML(`<span class="given" title="` + template.HTMLEscapeString(v.source.Text) + `">` + text + `</span>`)
	}
	if v.anchor == "" {
		return template.HTML(text)
	}
	spoken := "" // by those who read a page aloud
	if v.english {
		spoken = ` lang="en"`
	}
	h := template.HTML(`<a class="n"` + spoken + ` href="#` + template.HTMLEscapeString(v.anchor) + `">` + text + `</a>`)
	if v.mark != "" {
		h += markHTML(lang, v.mark)
	}
	return h
}

// words is the number where no markup goes.
func (v resolved) words(lang string) string {
	if v.mark == "" {
		return v.text
	}
	short, _ := clientBoundWords(lang)
	return v.text + short
}

func notMeasured(lang, reason string) string {
	reason, _ = words.In(lang, reason)
	if lang == "zh" {
		return "未测量（" + reason + "）"
	}
	return "not measured (" + reason + ")"
}

// resolve looks up the reference whose text stands between two offsets; an error
// has its place.
func (r *resolver) resolve(w written, from, to int, defaults ref) (resolved, error) {
	r.here = w.place(from - len(refOpen))
	parsed, err := parseRef(w.text[from:to])
	var v resolved
	if err == nil {
		before := len(r.used)
		v, err = r.lookup(parsed, defaults)
		for i := range r.used[before:] {
			r.used[before+i].Text = v.words(r.lang)
		}
	}
	for _, verdict := range claim.Verdicts() { // the words that are not shown are read too
		if at, ok := parsed.parts["words "+string(verdict)]; ok && err == nil {
			r.prose(w.part(from+at, from+at+len(parsed.words.of(verdict))))
		}
	}
	return v, w.fault(from+parsed.offset(err), err)
}

// within makes an experiment the one that a block is about; the result takes it
// back.
func (r *resolver) within(experiment string) func() {
	before := r.about
	r.about = experiment
	return func() { r.about = before }
}

// lookup resolves a reference within defaults; an error is a wrong reference.
func (r *resolver) lookup(in ref, defaults ref) (resolved, error) {
	switch in.experiment {
	case claimTarget:
		return r.claimWords(in)
	case givenTarget:
		return r.given(in)
	case recordedTarget:
		return r.ofMoment(in)
	case "":
		in.experiment = defaults.experiment
	}
	in.labels = overlay(defaults.labels, in.labels)
	if in.over != nil {
		in.over = overlay(defaults.labels, in.over)
	}
	if in.experiment == "" {
		return resolved{}, fmt.Errorf("%q names no experiment; write experiment/%s", in.name, in.name)
	}
	r.used = append(r.used, Used{Place: r.here, Key: in.key(), Words: isFact(in.experiment)})
	if isFact(in.experiment) {
		return r.fact(in)
	}
	known, ok := r.data.catalog[in.experiment]
	if !ok {
		return resolved{}, wrong(unknown("experiment", in.experiment, append(append(keys(r.data.catalog), factNames()...), claimTarget, givenTarget, recordedTarget)), "experiment")
	}
	if name, ok := strings.CutPrefix(in.name, "@"); ok {
		return r.parameter(in, name)
	}
	if slices.Contains(known.Texts, in.name) {
		return r.said(known, in)
	}
	metric, ok := known.Metrics[in.name]
	if !ok {
		return resolved{}, wrong(unknown("metric", in.name, append(keys(known.Metrics), known.Texts...)), "metric")
	}
	if err := checkUnit(in.options.unit, metric); err != nil {
		return resolved{}, wrong(err, "option", "unit")
	}
	if in.over != nil {
		return r.relate(known, metric, in)
	}
	switch in.options.stat {
	case statFirst:
		return resolved{}, wrong(fmt.Errorf("first is for what a program said; %s is a number, which has a median", in.name), "option", statFirst)
	case "range", "slope":
		return r.overCases(known, metric, in)
	}
	c, err := r.oneCase(known, in.experiment, in.labels)
	if err != nil || c.missing != "" {
		return r.miss(c.missing), err
	}
	s, reason := c.summary(in.name)
	if reason != "" {
		return r.missCase(in.experiment, c.group, reason, in.name), nil
	}
	p, err := in.options.pick(s, c.labels)
	if err != nil {
		return resolved{}, err
	}
	if in.options.stat == statInterval && !s.Interval {
		return r.missCase(in.experiment, c.group, noInterval, in.name), nil
	}
	text := in.options.show(p, metric.Unit)
	if in.options.stat == statInterval {
		text = in.options.ends(p, metric.Unit, c.counts(in.name, metric))
	} else if n, whole := p.whole(); whole && c.counts(in.name, metric) && in.options == (options{}) {
		text = number.Exact(n)
	}
	v := resolved{text: text, anchor: r.cite(in.experiment, c.group, in.name)}
	if c.marked(metric) {
		v.mark = v.anchor
	}
	return v, nil
}

// The targets of references that are no results.
const (
	claimTarget = "claim"
	givenTarget = "given"
)

// claimWords are those that the claim's verdict chooses.
func (r *resolver) claimWords(in ref) (resolved, error) {
	c, err := r.claimOf(in.name)
	if err != nil {
		return resolved{}, err
	}
	text := in.words.of(c.Verdict)
	r.used = append(r.used, Used{Place: r.here, Key: claimTarget + "/" + in.name, Words: true})
	c.Uses = append(c.Uses, ClaimUse{r.here, text})
	return resolved{text: text, claim: c}, nil
}

// key is the reference without what only changes how it is shown.
func (in ref) key() string {
	k := in.experiment + "/" + in.name + " " + in.labels.String()
	switch {
	case in.minus:
		k += differenceSign + in.over.String()
	case in.over != nil:
		k += ratioSign + in.over.String()
	}
	if in.options.stat != "" {
		k += " | " + in.options.stat + " " + in.options.by
	}
	return strings.TrimSpace(k)
}

// noInterval is why a case has none: fewer samples don't bound the median with
// such confidence, whatever they are.
const noInterval = "fewer than 6 repeats: no 95 % interval"

// ends are those of the interval, as many digits as the number has, with its unit
// once.
func (o options) ends(p picked, u measure.Unit, counts bool) string {
	if a, whole := (picked{value: p.low}).whole(); whole && counts && o == (options{stat: statInterval}) {
		if b, whole := (picked{value: p.high}).whole(); whole {
			return number.Range(number.Exact(a), number.Exact(b))
		}
	}
	return number.Interval(p.value, u, number.Options{Digits: o.digits, Unit: o.unit, Bare: o.bare, Low: p.low, High: p.high})
}

func checkUnit(display string, m measure.Metric) error {
	if !number.Fits(display, m.Unit) {
		return fmt.Errorf("unit=%s does not fit the metric, which is in %q", display, m.Unit)
	}
	return nil
}

// picked is a statistic with what bounds it.
type picked struct{ value, low, high float64 }

func (p picked) whole() (int64, bool) {
	n := int64(p.value)
	return n, float64(n) == p.value
}

// spread is what bounds a median: its interval, or the range where there are too
// few samples for one.
func spread(s stats.Summary) (low, high float64) {
	if s.Interval {
		return s.Low, s.High
	}
	return s.Min, s.Max
}

// pick is the statistic that the options ask for. A single sample is known no
// better than the median.
func (o options) pick(s stats.Summary, l measure.Labels) (picked, error) {
	p := picked{value: s.Median}
	p.low, p.high = spread(s)
	switch o.stat {
	case "min":
		p.value = s.Min
	case "max":
		p.value = s.Max
	}
	if o.per == "" {
		return p, nil
	}
	by, err := labelNumber(l, o.per)
	err = wrong(err, "option", "per")
	return picked{p.value / by, p.low / by, p.high / by}, err
}

func overlay(under, over measure.Labels) measure.Labels {
	out := measure.Labels{}
	maps.Copy(out, under)
	maps.Copy(out, over)
	return out
}

func (r *resolver) miss(reason string) resolved {
	r.unmet = append(r.unmet, Unmet{r.here, reason})
	return resolved{text: notMeasured(r.lang, reason), missing: reason}
}

// missCase is a case that was measured without success: its evidence tells more.
func (r *resolver) missCase(experiment string, g group, reason, name string) resolved {
	v := r.miss(reason)
	v.anchor = r.cite(experiment, g, name)
	return v
}

// found is the case of a reference, or why it has none.
type found struct {
	group
	missing string
}

// oneCase finds the single case that labels name.
func (r *resolver) oneCase(known Known, experiment string, want measure.Labels) (found, error) {
	all, missing, err := r.cases(known, experiment, want)
	if err != nil || missing != "" {
		return found{missing: missing}, err
	}
	if len(all) > 1 {
		var vary []string
		for _, l := range known.labels() {
			if all[0].labels[l] != all[1].labels[l] {
				vary = append(vary, l)
			}
		}
		return found{}, fmt.Errorf("the labels name %d cases of %s; give %s too", len(all), experiment, strings.Join(vary, ", "))
	}
	return found{group: all[0]}, nil
}

// checkLabels refuses what no case of an experiment has.
func (r *resolver) checkLabels(known Known, experiment string, want measure.Labels) error {
	for _, l := range slices.Sorted(maps.Keys(want)) {
		v, values := want[l], known.values[l]
		if l == brokerLabel {
			if _, ok := r.brokers[v]; !ok {
				return wrong(unknown("broker alias", v, keys(r.brokers)), partValue, brokerLabel)
			}
			continue
		}
		if len(values) == 0 {
			return wrong(unknown("label", l, known.labels()), partLabel, l)
		}
		if !slices.Contains(values, v) {
			return wrong(fmt.Errorf("label %s of %s: %w", l, experiment, unknown("value", v, values)), partValue, l)
		}
	}
	return nil
}

// cases are all that labels name, at least one unless something is missing.
func (r *resolver) cases(known Known, experiment string, want measure.Labels) (all []group, missing string, err error) {
	want = maps.Clone(want)
	alias := want["broker"]
	if alias == "" {
		alias = "current"
	}
	label, ok := r.brokers[alias]
	if !ok {
		return nil, "", wrong(unknown("broker alias", alias, keys(r.brokers)), partValue, brokerLabel)
	}
	if err := r.checkLabels(known, experiment, want); err != nil {
		return nil, "", err
	}
	delete(want, "broker")
	if !slices.ContainsFunc(known.Cases, func(c measure.Labels) bool { return c.Match(want) }) {
		return nil, "", fmt.Errorf("no case of %s has the labels %s", experiment, want)
	}
	res, run, why := r.data.find(experiment, label)
	if why != "" {
		return nil, why, nil
	}
	r.use(run, experiment)
	want["broker"] = label
	all = r.data.groups(res, want)
	if len(all) == 0 {
		return nil, fmt.Sprintf("run %s has no such case", run.ID), nil
	}
	return all, "", nil
}

// overCases are the statistics that take several cases: range and slope.
func (r *resolver) overCases(known Known, metric measure.Metric, in ref) (resolved, error) {
	all, missing, err := r.cases(known, in.experiment, in.labels)
	if err != nil || missing != "" {
		return r.miss(missing), err
	}
	var xs []float64
	var ys []picked
	var samples [][]float64
	mark := ""
	for _, g := range all {
		s, reason := g.summary(in.name)
		if reason != "" {
			return r.missCase(in.experiment, g, reason, in.name), nil
		}
		y, err := in.options.pick(s, g.labels)
		if err != nil {
			return resolved{}, err
		}
		ys = append(ys, y)
		numbers, _ := g.samples(in.name)
		if in.options.per != "" {
			by, _ := labelNumber(g.labels, in.options.per) // which pick has read
			for i := range numbers {
				numbers[i] /= by
			}
		}
		samples = append(samples, numbers)
		if a := r.cite(in.experiment, g, in.name); mark == "" && g.marked(metric) {
			mark = a
		}
		if in.options.stat == "slope" {
			x, err := labelNumber(g.labels, in.options.by)
			if err != nil {
				return resolved{}, wrong(err, "option", "slope")
			}
			xs = append(xs, x)
		}
	}
	anchor := EvidenceOf(in.experiment)
	if in.options.stat == "slope" {
		if _, pinned := in.labels[in.options.by]; pinned {
			return resolved{}, wrong(fmt.Errorf("a slope over %s needs its values: leave %s out of the labels", in.options.by, in.options.by), "option", "slope")
		}
		if slices.Min(xs) == slices.Max(xs) { // a small profile may leave the others out
			return r.miss(noSlope), nil
		}
		slope, err := slopeOf(xs, ys, samples)
		if err != nil {
			return resolved{}, err
		}
		return resolved{text: in.options.show(slope, metric.Unit), anchor: anchor, mark: mark}, nil
	}
	byValue := func(a, b picked) int { return cmp.Compare(a.value, b.value) }
	low, high := in.options.show(slices.MinFunc(ys, byValue), metric.Unit), in.options.show(slices.MaxFunc(ys, byValue), metric.Unit)
	if low != high {
		low += "–" + high
	}
	return resolved{text: low, anchor: anchor, mark: mark}, nil
}

// noSlope is why there is none.
const noSlope = "one case was measured, and a slope needs two"

// slopeOf is the slope over the medians. What bounds it is the slopes of rounds:
// over the first samples of all cases, over the second ones, and so on.
func slopeOf(xs []float64, ys []picked, samples [][]float64) (picked, error) {
	values := make([]float64, len(ys))
	for i, y := range ys {
		values[i] = y.value
	}
	slope, err := stats.Slope(xs, values)
	if err != nil {
		return picked{}, err
	}
	var rounds []float64
	for repeat := range samples[0] {
		for i, all := range samples {
			if len(all) != len(samples[0]) {
				return picked{value: slope}, nil // measured unequally often
			}
			values[i] = all[repeat]
		}
		one, err := stats.Slope(xs, values)
		if err != nil {
			return picked{}, err
		}
		rounds = append(rounds, one)
	}
	s, err := stats.Summarize(rounds)
	if err != nil {
		return picked{}, err
	}
	p := picked{value: slope}
	p.low, p.high = spread(s)
	return p, nil
}

// relate is the ratio or the difference of two cases.
func (r *resolver) relate(known Known, metric measure.Metric, in ref) (resolved, error) {
	interval := in.options.stat == statInterval && !in.minus
	if stat := in.options.stat; stat != "" && stat != "min" && stat != "max" && !interval {
		return resolved{}, wrong(fmt.Errorf("%s does not go with a %s, which is of two cases", stat, in.relation()), "option", stat)
	}
	if interval && (in.options.unit != "" || in.options.bare) {
		return resolved{}, errors.New("a ratio has no unit")
	}
	var two [2]picked
	var samples [2][]float64
	mark, counts := "", true
	for i, labels := range []measure.Labels{in.labels, in.over} {
		c, err := r.oneCase(known, in.experiment, labels)
		if e, ok := errors.AsType[partError](err); ok && i == 1 { // of the second case
			err = wrong(e.err, append([]string{strings.TrimSpace(overPart)}, e.part...)...)
		}
		if err != nil || c.missing != "" {
			return r.miss(c.missing), err
		}
		s, reason := c.summary(in.name)
		if reason != "" {
			return r.missCase(in.experiment, c.group, reason, in.name), nil
		}
		if two[i], err = in.options.pick(s, c.labels); err != nil {
			return resolved{}, err
		}
		samples[i], _ = c.samples(in.name)
		a := r.cite(in.experiment, c.group, in.name)
		if mark == "" && c.marked(metric) {
			mark = a
		}
		counts = counts && c.counts(in.name, metric)
	}
	v := resolved{anchor: EvidenceOf(in.experiment), mark: mark}
	if in.minus {
		d := two[0].less(two[1])
		v.text = in.options.show(d, metric.Unit)
		if n, whole := d.whole(); whole && counts && in.options == (options{}) {
			v.text = number.Exact(n)
		}
		return v, nil
	}
	if two[1].value == 0 {
		return r.miss("the ratio's second value is 0"), nil
	}
	if interval {
		c, _ := stats.Compare(samples[1], samples[0]) // the zero one has no interval
		if !c.Interval || !c.HasRatio {
			return r.miss(noInterval), nil
		}
		scale := 1.0 // per divides each case by its own label
		if c.Ratio != 0 {
			scale = two[0].value / two[1].value / c.Ratio
		}
		low, high := number.Ends(c.Ratio*scale, "", number.Options{Digits: cmp.Or(in.options.digits, ratioDigits), Low: c.Low * scale, High: c.High * scale})
		v.text = number.Range(low, high)
		return v, nil
	}
	v.text = number.Significant(two[0].value/two[1].value, cmp.Or(in.options.digits, ratioDigits))
	return v, nil
}

// ratioDigits is what the ratio of two noisy medians supports at most.
const ratioDigits = 2

// less is the difference of two numbers. It lies at most as far out as when one is
// at the upper end of its interval and the other at the lower.
func (p picked) less(q picked) picked {
	return picked{p.value - q.value, p.low - q.high, p.high - q.low}
}

// said is what programs said, as it was: in all repeats alike, or in the first.
func (r *resolver) said(known Known, in ref) (resolved, error) {
	first := in.options == options{stat: statFirst}
	if !first && in.options != (options{}) || in.over != nil {
		return resolved{}, fmt.Errorf("%s is text: it takes no option but first, no ratio and no difference", in.name)
	}
	c, err := r.oneCase(known, in.experiment, in.labels)
	if err != nil || c.missing != "" {
		return r.miss(c.missing), err
	}
	asked := c.group
	if first {
		asked.cells = asked.cells[:1]
	}
	text, reason := asked.text(in.name)
	if reason != "" {
		return r.missCase(in.experiment, c.group, reason, in.name), nil
	}
	text, ours := words.In(r.lang, text) // a word of ours; what a tool printed stays
	return resolved{text: text, anchor: r.cite(in.experiment, c.group), said: true, english: !ours && r.lang != "en"}, nil
}

// parameter is a size or setting that the experiment used.
func (r *resolver) parameter(in ref, name string) (resolved, error) {
	if in.options != (options{}) || in.over != nil {
		return resolved{}, errors.New("a parameter takes no options, no ratio and no difference")
	}
	res, run, why := r.data.find(in.experiment, r.brokers["current"])
	if why != "" {
		return r.miss(why), nil
	}
	r.use(run, in.experiment)
	text, ok := res.Parameters[name]
	if !ok {
		return resolved{}, wrong(unknown("parameter", name, keys(res.Parameters)), "metric")
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		text = number.Exact(n)
	}
	return resolved{text: text, given: true, source: r.plan(in.experiment, run)}, nil
}

// cite adds the case, with the metrics that the page shows of it, to the page's
// evidence and gives its anchor.
func (r *resolver) cite(experiment string, g group, metrics ...string) string {
	i := slices.IndexFunc(r.evidence, func(k evidenceKey) bool {
		return k.anchor == g.anchor && maps.Equal(k.labels, g.labels)
	})
	if i < 0 {
		r.evidence = append(r.evidence, evidenceKey{experiment: experiment, group: g})
		i = len(r.evidence) - 1
	}
	key := &r.evidence[i]
	for _, m := range metrics {
		if !slices.Contains(key.metrics, m) {
			key.metrics = append(key.metrics, m)
		}
	}
	return g.anchor
}

// EvidenceOf is the anchor of an experiment's evidence: where a number leads
// that comes from several cases.
func EvidenceOf(experiment string) string { return "_of-" + experiment }

// anchorOf is the anchor of a case's evidence.
func anchorOf(experiment string, labels measure.Labels) string {
	var b strings.Builder
	b.WriteString("e-" + experiment)
	for _, l := range slices.Sorted(maps.Keys(labels)) {
		b.WriteString("-" + l + "-")
		for _, c := range labels[l] {
			if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
				b.WriteRune(c)
			} else {
				b.WriteByte('_')
			}
		}
	}
	return b.String()
}

// use remembers where the page's numbers come from.
func (r *resolver) use(run measure.Run, experiment string) {
	if run.Profile == "quick" {
		r.draft = true
	}
	i := slices.IndexFunc(r.runs, func(s Source) bool { return s.Run.ID == run.ID })
	if i < 0 {
		r.runs = append(r.runs, Source{Run: run, Data: Link{Href: "data/" + run.ID + "/run.json", Text: "run.json"}})
		i = len(r.runs) - 1
	}
	if !slices.Contains(r.runs[i].Experiments, experiment) {
		r.runs[i].Experiments = append(r.runs[i].Experiments, experiment)
	}
}

// factNames are the targets that stand for what run.json tells, and for the
// rules by which measurements are judged.
func factNames() []string { return []string{"broker", "client", "database", "machine", "rule", "run"} }

func isFact(experiment string) bool { return slices.Contains(factNames(), experiment) }

// fact is something that run.json tells of the runs that the page's numbers
// come from; where they differ, it names all that they say.
func (r *resolver) fact(in ref) (resolved, error) {
	if in.options != (options{}) || in.over != nil {
		return resolved{}, fmt.Errorf("%s/%s takes no options, no ratio and no difference", in.experiment, in.name)
	}
	if in.experiment == "rule" {
		text, there := ruleFacts()[in.name]
		if !there {
			return resolved{}, wrong(unknown("rule fact", in.name, keys(ruleFacts())), "metric")
		}
		return resolved{text: text}, nil
	}
	var said []string
	var source Link
	for _, run := range r.factRuns() {
		values, err := r.factsOf(run, in)
		if err != nil {
			return resolved{}, err
		}
		text, there := values[in.name]
		if !there {
			return resolved{}, wrong(unknown(in.experiment+" fact", in.name, keys(values)), "metric")
		}
		if text != "" && !slices.Contains(said, text) {
			if said == nil {
				source = r.told(run)
			}
			said = append(said, text)
		}
	}
	if len(said) == 0 {
		return r.miss("no run tells it"), nil
	}
	if len(said) == 1 && said[0] == "–" { // the broker has no such thing
		return resolved{text: said[0]}, nil
	}
	return resolved{text: strings.Join(said, ", "), given: true, source: source}, nil
}

// factsOf are all facts of the reference's kind in a run, by name; what the run
// does not tell is "".
func (r *resolver) factsOf(run measure.Run, in ref) (map[string]string, error) {
	switch in.experiment {
	case "machine":
		m := run.Machine
		if m.Cores == 0 { // no run at all
			return map[string]string{"cpu": "", "cores": "", "memory": "", "os": "", "kernel": "", "arch": ""}, nil
		}
		return map[string]string{"cpu": m.CPU, "cores": strconv.Itoa(m.Cores),
			"memory": number.Format(float64(m.MemoryBytes), measure.Bytes, number.Options{Digits: 2}),
			"os":     m.OS, "kernel": m.Kernel, "arch": m.Arch}, nil
	case "run":
		date := ""
		if !run.Started.IsZero() {
			date = run.Started.UTC().Format("2006-01-02")
		}
		return map[string]string{"id": run.ID, "profile": run.Profile, "date": date}, nil
	case "database":
		facts := map[string]string{"server": "", "version": "", "package": ""}
		for _, name := range databaseSettings() {
			facts[name] = ""
		}
		if db := run.Database; db != nil {
			maps.Copy(facts, db.Settings)
			facts["server"], facts["version"], facts["package"] = db.Server, db.Version, db.Package
		}
		return facts, nil
	case "broker":
		alias := cmp.Or(in.labels["broker"], "current")
		label, known := r.brokers[alias]
		if !known {
			return nil, wrong(unknown("broker alias", alias, keys(r.brokers)), partValue, brokerLabel)
		}
		return brokerFacts(run, label), nil
	}
	for _, c := range run.Clients {
		if c.Label == in.labels["client"] {
			return map[string]string{"library": c.Library, "version": strings.TrimPrefix(c.Version, "v"), "runtime": c.Runtime}, nil
		}
	}
	return map[string]string{"library": "", "version": "", "runtime": ""}, nil
}

// brokerFacts are what a run tells of a broker: versions, components and
// settings. What another broker of the run has and this one lacks is a dash; what
// nobody has told, as without any run, is "".
func brokerFacts(run measure.Run, label string) map[string]string {
	facts := map[string]string{"rabbitmq": "", "erlang": "", "package": ""}
	for _, name := range append(brokerComponents(), brokerSettings()...) {
		facts[name] = ""
	}
	for _, b := range run.Brokers {
		if b.Label != label {
			continue
		}
		for _, told := range []map[string]string{b.Components, b.Settings} {
			if told == nil { // by an older genreport, or of a broker by URL
				continue
			}
			for name := range facts {
				if facts[name] == "" {
					facts[name] = "–"
				}
			}
		}
		maps.Copy(facts, b.Settings)
		maps.Copy(facts, b.Components)
		facts["rabbitmq"], facts["erlang"], facts["package"] = b.RabbitMQ, b.Erlang, b.Package
	}
	return facts
}

// brokerComponents and brokerSettings are what can be asked of any broker: a
// version may lack some, and a wrong name is found without any run.
func brokerComponents() []string {
	return []string{"cowboy", "ranch", "ra", "aten", "osiris", "khepri"}
}

// databaseSettings can be asked of any database, with or without a run.
func databaseSettings() []string {
	return []string{"innodb_flush_log_at_trx_commit", "innodb_flush_method", "innodb_buffer_pool_size", "log_bin", "sync_binlog", "max_connections", "transaction_isolation"}
}

func brokerSettings() []string {
	return []string{"channel_max", "frame_max", "heartbeat", "max_message_size", "consumer_timeout", "vm_memory_high_watermark",
		"default_consumer_prefetch", "credit_flow_default_credit", "quorum_commands_soft_limit", "classic_queue_default_version"}
}

// factRuns are those that the page cites; on a page without numbers the newest
// with a result, and without any an empty one, so that names are checked.
func (r *resolver) factRuns() []measure.Run {
	if len(r.cited) > 0 {
		return r.cited
	}
	for _, rec := range slices.Backward(r.data.all()) {
		for _, res := range rec.Results {
			if res.Complete() {
				return []measure.Run{rec.Run}
			}
		}
	}
	return []measure.Run{{}}
}

// expand resolves every reference in plain text; show makes each into what
// goes into the result, and rest treats what is between them.
func (r *resolver) expand(w written, defaults ref, show func(resolved) string, rest func(string) string) (string, error) {
	var b strings.Builder
	var errs []error
	for at := 0; ; {
		before, after, ok := strings.Cut(w.text[at:], refOpen)
		b.WriteString(rest(before))
		if !ok {
			return b.String(), errors.Join(errs...)
		}
		from := at + len(before) + len(refOpen)
		inner, _, closed := strings.Cut(after, refClose)
		if !closed {
			return "", errors.Join(append(errs, w.fault(from-len(refOpen), fmt.Errorf("%q has no closing }", refOpen+after)))...)
		}
		at = from + len(inner) + len(refClose)
		if inner == defaults.variable && inner != "" {
			r.used = append(r.used, Used{Place: w.place(from - len(refOpen)), Key: defaults.experiment + "/" + inner, Text: defaults.stands, Words: true})
			b.WriteString(rest(defaults.stands))
			continue
		}
		v, err := r.resolve(w, from, from+len(inner), defaults)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		b.WriteString(show(v))
	}
}

// plain resolves text for where no markup goes: titles, descriptions.
func (r *resolver) plain(w written) (string, error) {
	return r.expand(w, ref{}, func(v resolved) string { return v.words(r.lang) }, func(s string) string { return s })
}

// inline resolves text without Markdown into HTML.
func (r *resolver) inline(w written, defaults ref) (template.HTML, error) {
	s, err := r.expand(w, defaults, func(v resolved) string { return string(v.html(r.lang)) }, template.HTMLEscapeString)
	return template.HTML(s), err
}
