package article

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"genreport/cmd/genreport/internal/number"
	"genreport/measure"
)

// A reference is written ${ … }:
//
//	reference = target labels [ ( ":" | "-" ) labels ] [ "|" options ]
//	target    = experiment "/" name | name
//	name      = metric, text, or "@" parameter
//	labels    = { label "=" value }
//	options   = { word | word "=" value }
//
// With ":" it is the ratio of two cases of the same metric, and with "-" the first
// less the second; the second labels override the first. Both signs stand between
// spaces, since values may hold them too. The target "claim" chooses words by a
// claim's verdict, and "given" marks a number that was not measured. Within a block
// that gives an experiment, the target is just the name. The experiments "broker",
// "client", "database", "machine" and "run" stand for what run.json tells of them,
// and "rule" for the thresholds by which measurements are judged.
type ref struct {
	experiment string
	name       string
	labels     measure.Labels
	over       measure.Labels // of the second case of a ratio or difference; nil: there is one case
	minus      bool           // with over: their difference, not their ratio
	options    options
	words      wordings // of a claim
}

type options struct {
	digits int    // significant digits; 0: as many as suit the metric
	unit   string // display unit; "": as suits the value
	bare   bool   // the number without its unit
	stat   string // "" (median), min, max, range, slope; of a text: first
	by     string // label of slope
	per    string // divide by this label's number
}

// show is a number as the options want it, with no more digits than its interval
// supports.
func (o options) show(p picked, u measure.Unit) string {
	return number.Format(p.value, u, number.Options{Digits: o.digits, Unit: o.unit, Bare: o.bare, Low: p.low, High: p.high})
}

// statFirst asks for what a program said in the first repeat, where each said
// something else.
const statFirst = "first"

const (
	refOpen  = "${"
	refClose = "}"
)

// Between the labels of two cases.
const (
	ratioSign      = " : "
	differenceSign = " - "
)

// relation is what the reference makes of its two cases.
func (in ref) relation() string {
	if in.minus {
		return "difference"
	}
	return "ratio"
}

// parseRef reads what stands between ${ and }.
func parseRef(text string) (ref, error) {
	r := ref{labels: measure.Labels{}}
	text = strings.ReplaceAll(text, `\|`, "|") // as it is written in a table's cell
	body, opts, hasOptions := strings.Cut(text, "|")
	if name, ok := strings.CutPrefix(strings.TrimSpace(body), claimTarget+"/"); ok {
		r.experiment, r.name = claimTarget, name
		var err error
		r.words, err = readWordings(opts)
		return r, err
	}
	first, second, both := strings.Cut(body, ratioSign)
	if before, after, ok := strings.Cut(body, differenceSign); ok {
		if both {
			return r, fmt.Errorf("%q is a ratio and a difference: it is one of them", strings.TrimSpace(body))
		}
		first, second, both, r.minus = before, after, true, true
	}
	words := strings.Fields(first)
	if len(words) == 0 {
		return r, errors.New("the reference is empty; it is ${experiment/metric label=value}")
	}
	r.name = words[0]
	if e, n, ok := strings.Cut(words[0], "/"); ok {
		r.experiment, r.name = e, n
	}
	if r.name == "" {
		return r, fmt.Errorf("reference %q names no metric", text)
	}
	if err := readLabels(r.labels, words[1:]); err != nil {
		return r, err
	}
	if both {
		r.over = maps.Clone(r.labels)
		before := maps.Clone(r.over)
		if err := readLabels(r.over, strings.Fields(second)); err != nil {
			return r, err
		}
		if maps.Equal(before, r.over) {
			return r, fmt.Errorf("the %s %q compares a case with itself", r.relation(), text)
		}
	}
	if hasOptions {
		return r, r.options.read(strings.Fields(opts))
	}
	return r, nil
}

func readLabels(into measure.Labels, words []string) error {
	seen := map[string]bool{}
	for _, w := range words {
		k, v, ok := strings.Cut(w, "=")
		if !ok || k == "" || v == "" {
			return fmt.Errorf("%q is not label=value", w)
		}
		if seen[k] {
			return fmt.Errorf("label %s is there twice", k)
		}
		seen[k] = true
		into[k] = v
	}
	return nil
}

func (o *options) read(words []string) error {
	for _, w := range words {
		k, v, _ := strings.Cut(w, "=")
		switch k {
		case "digits":
			n, err := strconv.Atoi(v)
			if err != nil || n < 1 || n > 15 {
				return fmt.Errorf("digits=%s is not in 1…15", v)
			}
			o.digits = n
		case "unit":
			if _, ok := number.Scale(v); !ok {
				return unknown("unit", v, number.Units())
			}
			o.unit = v
		case "bare":
			o.bare = true
		case "min", "max", "range", statFirst:
			o.stat = k
		case "slope":
			if v == "" {
				return errors.New("slope needs a label: slope=LABEL")
			}
			o.stat, o.by = k, v
		case "per":
			if v == "" {
				return errors.New("per needs a label: per=LABEL")
			}
			o.per = v
		default:
			return unknown("option", k, []string{"digits", "unit", "bare", "min", "max", "range", "slope", "per", statFirst})
		}
	}
	return nil
}

func keys[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	return out
}
