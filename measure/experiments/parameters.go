package experiments

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"genreport/measure"
)

// Parameter is a size of an experiment that may be set, where its own does not
// fit the machine. It changes what is measured, so it is in the result file, and
// results with another value are not compared.
type Parameter struct {
	Name        string // as in the result file's parameters
	Unit        measure.Unit
	Default     func(Profile) float64
	Least, Most float64
	Fraction    bool // it need not be a whole number
	Description string
}

// Values are the parameters that were set, by name. The others have their defaults.
type Values map[string]float64

// Parameters are those that an experiment may be given.
type Parameters []Parameter

// of reads the parameters of a profile. To ask for one that is not declared is
// a mistake in the experiment.
func (l Parameters) of(p Profile, set Values) func(name string) float64 {
	return func(name string) float64 {
		if v, ok := set[name]; ok {
			return v
		}
		for _, one := range l {
			if one.Name == name {
				return one.Default(p)
			}
		}
		panic("no parameter is called " + name)
	}
}

// whole is of, for parameters that are whole numbers.
func (l Parameters) whole(p Profile, set Values) func(name string) int {
	of := l.of(p, set)
	return func(name string) int { return int(of(name)) }
}

// always is a default that no profile changes.
func always(n int) func(Profile) float64 { return func(Profile) float64 { return float64(n) } }

// byProfile is a default of each profile.
func byProfile(quick, standard, full int) func(Profile) float64 {
	return func(p Profile) float64 { return float64(p.pick(quick, standard, full)) }
}

// Names are those of the parameters, in order.
func (l Parameters) Names() []string {
	var names []string
	for _, p := range l {
		names = append(names, p.Name)
	}
	return names
}

// Parse reads the value of a parameter, in its unit.
func (l Parameters) Parse(name, text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || strings.Trim(text, "0123456789.") != "" { // no signs, exponents, or words for no number
		return 0, fmt.Errorf("%q is not a number", text)
	}
	return v, l.check(name, v)
}

func (l Parameters) check(name string, v float64) error {
	i := slices.IndexFunc(l, func(p Parameter) bool { return p.Name == name })
	if i < 0 {
		return fmt.Errorf("there is no such parameter; there are %s", strings.Join(l.Names(), ", "))
	}
	switch p := l[i]; {
	case !p.Fraction && v != math.Trunc(v):
		return fmt.Errorf("%s is not a whole number", plain(v))
	case !(v >= p.Least && v <= p.Most):
		return fmt.Errorf("%s is not in %s", plain(v), p.Range())
	}
	return nil
}

// Range is what the parameter may be, with its unit.
func (p Parameter) Range() string {
	text := plain(p.Least) + "…" + plain(p.Most)
	if p.Unit != measure.Count {
		text += " (" + string(p.Unit) + ")"
	}
	return text
}

// With is the experiment with these values of its parameters. Nothing set leaves
// it as it is.
func (e Experiment) With(set Values) (Experiment, error) {
	if len(set) == 0 {
		return e, nil
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if err := e.Settable.check(name, set[name]); err != nil {
			return e, fmt.Errorf("parameter %s of %s: %w", name, e.Name, err)
		}
	}
	return e.Set(set), nil
}

// plain is a number as files and commands have it.
func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
