package article

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"unicode"

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
// claim's verdict, and "given" marks a number that was not measured, whose source
// the option from names. Within a block that gives an experiment, the target is
// just the name. The experiments "broker", "client", "database", "machine" and
// "run" stand for what run.json tells of them, and "rule" for the thresholds by
// which measurements are judged.
type ref struct {
	experiment string
	name       string
	labels     measure.Labels
	over       measure.Labels // of the second case of a ratio or difference; nil: there is one case
	minus      bool           // with over: their difference, not their ratio
	options    options
	words      wordings // of a claim
	from       string   // of what is given: the source's name
	// parts are the offsets of its parts in the text, by the names that a
	// partError gives them.
	parts map[string]int
	// variable is what a block replaces by itself, and stands what it does so by.
	variable, stands string
}

type options struct {
	digits int    // significant digits; 0: as many as suit the metric
	unit   string // display unit; "": as suits the value
	bare   bool   // the number without its unit
	stat   string // "" (median), interval, min, max, range, slope; of a text: first
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

// statInterval asks for the 95 % interval of the median, or of a ratio.
const statInterval = "interval"

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

// refError is an error at an offset, in bytes, of a reference's text.
type refError struct {
	offset int
	err    error
}

func (e refError) Error() string { return e.err.Error() }
func (e refError) Unwrap() error { return e.err }

// offset is where in the text of a reference an error is; before it, where its ${
// is, if that is of the whole.
func (in ref) offset(err error) int {
	if e, ok := errors.AsType[refError](err); ok {
		return e.offset
	}
	if e, ok := errors.AsType[partError](err); ok {
		for _, name := range partNames(e.part) {
			if at, ok := in.parts[name]; ok {
				return at
			}
		}
	}
	return -len(refOpen)
}

// overPart begins the name of a part that is of the second case.
const overPart = "over "

// partNames are what a part may be called in a reference: what the second case
// does not say for itself is the first's.
func partNames(part []string) []string {
	name := strings.Join(part, " ")
	if rest, ok := strings.CutPrefix(name, overPart); ok {
		return []string{name, rest}
	}
	return []string{name}
}

// token is a word of a reference and its offset.
type token struct {
	text string
	at   int
}

func tokens(text string, base int) []token {
	var out []token
	start := -1
	for i, c := range text + " " {
		switch space := unicode.IsSpace(c); {
		case space && start >= 0:
			out = append(out, token{text[start:i], base + start})
			start = -1
		case !space && start < 0:
			start = i
		}
	}
	return out
}

// parseRef reads what stands between ${ and }. Its errors tell their offsets.
func parseRef(text string) (ref, error) {
	r := ref{labels: measure.Labels{}, parts: map[string]int{}}
	text = strings.ReplaceAll(text, `\|`, " |") // as it is written in a table's cell
	body, opts, hasOptions := strings.Cut(text, "|")
	optsAt := len(body) + 1
	lead := len(body) - len(strings.TrimLeftFunc(body, unicode.IsSpace))
	if name, ok := strings.CutPrefix(strings.TrimSpace(body), claimTarget+"/"); ok {
		r.experiment, r.name = claimTarget, name
		r.parts["metric"] = lead + len(claimTarget) + 1
		var err error
		r.words, err = readWordings(opts, optsAt, r.parts)
		return r, err
	}
	first, second, both := strings.Cut(body, ratioSign)
	secondAt := len(first) + len(ratioSign)
	if before, after, ok := strings.Cut(body, differenceSign); ok {
		if both {
			return r, refError{lead, fmt.Errorf("%q is a ratio and a difference: it is one of them", strings.TrimSpace(body))}
		}
		first, second, both, r.minus = before, after, true, true
		secondAt = len(first) + len(differenceSign)
	}
	words := tokens(first, 0)
	if len(words) == 0 {
		return r, refError{lead, errors.New("the reference is empty; it is ${experiment/metric label=value}")}
	}
	r.name = words[0].text
	r.parts["metric"] = words[0].at
	if e, n, ok := strings.Cut(r.name, "/"); ok {
		r.experiment, r.name = e, n
		r.parts["experiment"] = words[0].at
		r.parts["metric"] = words[0].at + len(e) + 1
	}
	if r.name == "" {
		return r, refError{r.parts["metric"], fmt.Errorf("reference %q names no metric", text)}
	}
	if err := r.readLabels(r.labels, words[1:], ""); err != nil {
		return r, err
	}
	if both {
		r.over = maps.Clone(r.labels)
		before := maps.Clone(r.over)
		if err := r.readLabels(r.over, tokens(second, secondAt), overPart); err != nil {
			return r, err
		}
		if maps.Equal(before, r.over) {
			return r, refError{secondAt, fmt.Errorf("the %s %q compares a case with itself", r.relation(), text)}
		}
	}
	if !hasOptions {
		return r, nil
	}
	if r.experiment == givenTarget {
		return r, r.readFrom(tokens(opts, optsAt))
	}
	return r, r.options.read(tokens(opts, optsAt), r.parts)
}

// readLabels reads those of a case, whose parts' names begin with a word.
func (in *ref) readLabels(into measure.Labels, words []token, part string) error {
	seen := map[string]bool{}
	for _, w := range words {
		k, v, ok := strings.Cut(w.text, "=")
		if !ok || k == "" || v == "" {
			return refError{w.at, fmt.Errorf("%q is not label=value", w.text)}
		}
		if seen[k] {
			return refError{w.at, fmt.Errorf("label %s is there twice", k)}
		}
		seen[k] = true
		into[k] = v
		in.parts[part+partLabel+" "+k] = w.at
		in.parts[part+partValue+" "+k] = w.at + len(k) + 1
	}
	return nil
}

// readFrom reads the options of what is given.
func (in *ref) readFrom(words []token) error {
	for _, w := range words {
		k, v, _ := strings.Cut(w.text, "=")
		switch {
		case k != "from":
			return refError{w.at, unknown("option of what is given", k, []string{"from"})}
		case v == "":
			return refError{w.at, errors.New("from needs a source: from=SOURCE")}
		case in.from != "":
			return refError{w.at, errors.New("from is there twice")}
		}
		in.from = v
		in.parts["from"] = w.at + len("from=")
	}
	return nil
}

func (o *options) read(words []token, parts map[string]int) error {
	for _, w := range words {
		k, v, _ := strings.Cut(w.text, "=")
		parts["option "+k] = w.at
		fail := func(err error) error { return refError{w.at, err} }
		switch k {
		case "digits":
			n, err := strconv.Atoi(v)
			if err != nil || n < 1 || n > 15 {
				return fail(fmt.Errorf("digits=%s is not in 1…15", v))
			}
			o.digits = n
		case "unit":
			if _, ok := number.Scale(v); !ok {
				return refError{w.at + len("unit="), unknown("unit", v, number.Units())}
			}
			o.unit = v
		case "bare":
			o.bare = true
		case "min", "max", "range", statFirst, statInterval:
			if o.stat != "" && o.stat != k {
				return fail(fmt.Errorf("%s and %s exclude each other", o.stat, k))
			}
			o.stat = k
		case "slope":
			if v == "" {
				return fail(errors.New("slope needs a label: slope=LABEL"))
			}
			if o.stat != "" && o.stat != k {
				return fail(fmt.Errorf("%s and %s exclude each other", o.stat, k))
			}
			o.stat, o.by = k, v
		case "per":
			if v == "" {
				return fail(errors.New("per needs a label: per=LABEL"))
			}
			o.per = v
		default:
			return fail(unknown("option", k, []string{"digits", "unit", "bare", "min", "max", "range", "slope", "per", statFirst, statInterval}))
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
