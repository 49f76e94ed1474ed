package article

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"genreport/measure"
)

// A number that nobody measured here is given, and says where it is from: one of
// the sources that SLUG.yaml declares, or an experiment, whose plan set it. Within a
// block about an experiment that is its source, unless it names another.

// givenSource is where given numbers are from, in SLUG.yaml.
type givenSource struct {
	Title map[string]string `yaml:"title"` // by language
	URL   string            `yaml:"url"`   // https; may be left out
}

// givenUse is a given number and the name of its source.
type givenUse struct{ from, value string }

// given is a number that nobody measured here: a parameter, a version, a figure
// that someone else gave.
func (r *resolver) given(in ref) (resolved, error) {
	switch {
	case in.over != nil:
		return resolved{}, errors.New("what is given takes no ratio and no difference")
	case len(in.labels) > 0:
		for l := range in.labels {
			return resolved{}, wrong(errors.New("what is given takes no labels: its source stands after a bar, | from=SOURCE"), partLabel, l)
		}
	}
	v := resolved{text: in.name, given: true}
	from := cmp.Or(in.from, r.about)
	if from == "" {
		r.unsourced = append(r.unsourced, Loose{r.here, in.name})
		return v, nil
	}
	link, ok := r.source(from)
	if !ok {
		return resolved{}, wrong(unknown("source", from, append(keys(r.sources), keys(r.data.catalog)...)), "from")
	}
	v.source = link
	r.givenFrom = append(r.givenFrom, givenUse{from, in.name})
	return v, nil
}

// source is where a source's numbers lead.
func (r *resolver) source(name string) (Link, bool) {
	if s, ok := r.sources[name]; ok {
		return Link{Href: cmp.Or(s.URL, "#"+sourceID(name)), Text: s.Title[r.lang]}, true
	}
	if _, ok := r.data.catalog[name]; !ok {
		return Link{}, false
	}
	return Link{Href: r.evidenceLink(name), Text: planOf(r.lang, name)}, true
}

func planOf(lang, experiment string) string {
	if lang == "zh" {
		return "实验 " + experiment + " 的设定"
	}
	return "as set in the experiment " + experiment
}

// evidenceLink leads to an experiment's cases; "" where the page has none.
func (r *resolver) evidenceLink(experiment string) string {
	if !slices.Contains(r.shown, experiment) {
		return ""
	}
	return "#" + EvidenceOf(experiment)
}

// plan is where a parameter of an experiment leads.
func (r *resolver) plan(experiment string, run measure.Run) Link {
	return Link{Href: cmp.Or(r.evidenceLink(experiment), r.told(run).Href), Text: planOf(r.lang, experiment)}
}

// told is where what a run tells of itself leads: versions, the machine.
func (r *resolver) told(run measure.Run) Link {
	text := "as the run " + run.ID + " tells"
	if r.lang == "zh" {
		text = "测量批次 " + run.ID + " 的记录"
	}
	if !slices.ContainsFunc(r.cited, func(c measure.Run) bool { return c.ID == run.ID }) {
		return Link{Text: text}
	}
	return Link{Href: "#" + RunID(run.ID), Text: text}
}

// RunID is the anchor of a run in the evidence of a page.
func RunID(id string) string { return "_run-" + id }

// sourceID is the anchor of a source in the list of given values.
func sourceID(name string) string { return "g-" + name }

// givenSources are the sources of the page, in the order of their first use.
func (r *resolver) givenSources() []GivenFrom {
	var out []GivenFrom
	for _, use := range r.givenFrom {
		i := slices.IndexFunc(out, func(g GivenFrom) bool { return g.ID == sourceID(use.from) })
		if i < 0 {
			link, _ := r.source(use.from)
			if strings.HasPrefix(link.Href, "#"+sourceID("")) { // to this list
				link.Href = ""
			}
			out = append(out, GivenFrom{ID: sourceID(use.from), Title: link.Text, Href: link.Href})
			i = len(out) - 1
		}
		if !slices.Contains(out[i].Values, use.value) {
			out[i].Values = append(out[i].Values, use.value)
		}
	}
	return out
}
