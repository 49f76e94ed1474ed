package article

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"genreport/measure"
	"genreport/measure/stats"
)

// Catalog is what can be measured: references are checked against it.
type Catalog map[string]Known

// Known is one experiment of the catalog.
type Known struct {
	Metrics map[string]measure.Metric
	Texts   []string
	Series  []string         // recorded over time
	Cases   []measure.Labels // without the broker

	values map[string][]string // of each label over the cases, in their order
}

// withValues knows the values of its labels too.
func (k Known) withValues() Known {
	k.values = map[string][]string{}
	for _, c := range k.Cases {
		for label, v := range c {
			if !slices.Contains(k.values[label], v) {
				k.values[label] = append(k.values[label], v)
			}
		}
	}
	return k
}

func (k Known) labels() []string { return slices.Sorted(maps.Keys(k.values)) }

// Data is the measurements that pages may show.
type Data struct {
	catalog  Catalog
	runs     []measure.Recorded // oldest first
	profiles []string
	cases    *sync.Map // by the first cell of a result, what gives its cases: all pages ask for them
	asked    *asked    // what a page needed of it; nil: nobody wants to know
}

// asked is what a page's numbers depend on.
type asked struct {
	experiments map[string]bool
	anyRun      bool // more than the newest results of these experiments
}

// watched is the same data, which remembers what was asked of it.
func (d Data) watched() Data {
	d.asked = &asked{experiments: map[string]bool{}}
	return d
}

// all are the runs, for what may be in any of them.
func (d Data) all() []measure.Recorded {
	if d.asked != nil {
		d.asked.anyRun = true
	}
	return d.runs
}

// NewData takes the runs whose profile is one of profiles.
func NewData(catalog Catalog, runs []measure.Recorded, profiles []string) Data {
	d := Data{catalog: Catalog{}, profiles: profiles, cases: &sync.Map{}}
	for name, known := range catalog {
		d.catalog[name] = known.withValues()
	}
	for _, r := range runs {
		if slices.Contains(profiles, r.Run.Profile) {
			d.runs = append(d.runs, r)
		}
	}
	return d
}

// Runs are those that pages may show, oldest first.
func (d Data) Runs() []measure.Recorded { return d.runs }

// find is the newest complete result of an experiment that has the broker, and
// its run; or why there is none.
func (d Data) find(experiment, broker string) (measure.Result, measure.Run, string) {
	if d.asked != nil {
		d.asked.experiments[experiment] = true
	}
	for _, rec := range slices.Backward(d.runs) {
		res, ok := rec.Results[experiment]
		if !ok || !res.Complete() {
			continue
		}
		if slices.ContainsFunc(res.Cells, func(c measure.Cell) bool { return c.Labels["broker"] == broker }) {
			return res, rec.Run, ""
		}
	}
	return measure.Result{}, measure.Run{}, fmt.Sprintf("no complete %s run of %s on %s", strings.Join(d.profiles, " or "), experiment, broker)
}

// group is the repeats of one case.
type group struct {
	labels measure.Labels
	cells  []measure.Cell
	anchor string    // of its evidence
	known  *sync.Map // summaries, by metric: references, claims and figures of both languages ask for the same
}

// groups are the cases of a result that have the labels, in measured order.
func (d Data) groups(r measure.Result, want measure.Labels) []group {
	if len(r.Cells) == 0 {
		return nil
	}
	all, _ := d.cases.LoadOrStore(&r.Cells[0], sync.OnceValue(func() []group { return grouped(r) }))
	type pair struct{ label, value string }
	pairs := make([]pair, 0, len(want)) // to walk through a map takes longer than to look up
	for label, value := range want {
		pairs = append(pairs, pair{label, value})
	}
	var out []group
	for _, g := range all.(func() []group)() {
		if !slices.ContainsFunc(pairs, func(p pair) bool { return g.labels[p.label] != p.value }) {
			out = append(out, g)
		}
	}
	return out
}

func grouped(r measure.Result) []group {
	var out []group
	at := map[string]int{}
	for _, c := range r.Cells {
		key := c.Labels.String()
		i, there := at[key]
		if !there {
			i = len(out)
			at[key], out = i, append(out, group{labels: c.Labels, anchor: anchorOf(r.Experiment, c.Labels), known: &sync.Map{}})
		}
		out[i].cells = append(out[i].cells, c)
	}
	return out
}

// samples are the numbers of a metric, and the reasons of those that lack.
func (g group) samples(metric string) (numbers []float64, reasons []string) {
	for _, c := range g.cells {
		v := c.Values[metric]
		if v.OK() {
			numbers = append(numbers, v.Float64())
			continue
		}
		why := v.Reason()
		if why == "" { // the experiment has the metric now; it had not when this was measured
			why = "the run did not measure " + metric
		}
		if !slices.Contains(reasons, why) {
			reasons = append(reasons, why)
		}
	}
	return numbers, reasons
}

// summary is the statistics of a metric, or why there are none. A case with a
// failed repeat has none: the repeats that remain would be a selection.
func (g group) summary(metric string) (stats.Summary, string) {
	known, ok := g.known.Load(metric)
	if !ok {
		known, _ = g.known.LoadOrStore(metric, g.summarized(metric))
	}
	s := known.(summarized)
	return s.Summary, s.missing
}

type summarized struct {
	stats.Summary
	missing string
}

func (g group) summarized(metric string) summarized {
	numbers, reasons := g.samples(metric)
	if len(reasons) > 0 {
		return summarized{missing: strings.Join(reasons, "; ")}
	}
	s, err := stats.Summarize(numbers)
	if err != nil {
		return summarized{missing: err.Error()}
	}
	return summarized{Summary: s}
}

// counts reports whether the metric is shown as a whole number: it has no noise,
// or things were counted in every repeat.
func (g group) counts(name string, m measure.Metric) bool {
	if m.Exact || m.Unit != measure.Count {
		return m.Exact
	}
	for _, c := range g.cells {
		if _, whole := c.Values[name].Int64(); !whole {
			return false
		}
	}
	return true
}

// text is what all repeats said; one that differs makes it missing.
func (g group) text(name string) (string, string) {
	said := map[string]bool{}
	for _, c := range g.cells {
		if c.Failure != nil {
			return "", c.Failure.Reason
		}
		said[c.Texts[name]] = true
	}
	if len(said) != 1 {
		return "", "the repeats differ"
	}
	for t := range said {
		if t == "" {
			return "", "nothing was said"
		}
		return t, ""
	}
	return "", "no repeats"
}

func labelNumber(l measure.Labels, label string) (float64, error) {
	x, err := strconv.ParseFloat(l[label], 64)
	if err != nil || x == 0 {
		return 0, fmt.Errorf("label %s=%q is not a number to divide by", label, l[label])
	}
	return x, nil
}

// Newest is the newest complete result of an experiment, and whether there is one.
func (d Data) Newest(experiment string) (measure.Result, bool) {
	for _, rec := range slices.Backward(d.runs) {
		if res, ok := rec.Results[experiment]; ok && res.Complete() {
			return res, true
		}
	}
	return measure.Result{}, false
}

// BrokersOf are those that a result was measured on, old versions first.
func (d Data) BrokersOf(r measure.Result) []measure.Broker {
	var out []measure.Broker
	for _, rec := range d.runs {
		if rec.Run.ID != r.Run {
			continue
		}
		for _, b := range rec.Run.Brokers {
			if slices.ContainsFunc(r.Cells, func(c measure.Cell) bool { return c.Labels[brokerLabel] == b.Label }) {
				out = append(out, b)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b measure.Broker) int { return compareVersions(a.RabbitMQ, b.RabbitMQ) })
	return out
}
