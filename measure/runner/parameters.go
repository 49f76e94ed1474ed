package runner

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"genreport/measure/experiments"
)

// Setting is a parameter that the user has set.
type Setting struct {
	Experiment  string // "": all that are measured and have it
	Name, Value string
}

func (s Setting) String() string {
	if s.Experiment == "" {
		return s.Name + "=" + s.Value
	}
	return s.Experiment + ":" + s.Name + "=" + s.Value
}

// UnknownParameter is the error of a name that no experiment has.
type UnknownParameter struct {
	Setting Setting
	Have    []string // the names that there are
}

func (e UnknownParameter) Error() string {
	have := "none at all"
	if len(e.Have) > 0 {
		have = strings.Join(e.Have, ", ")
	}
	of := ""
	if e.Setting.Experiment != "" {
		of = " of " + e.Setting.Experiment
	}
	return fmt.Sprintf("unknown parameter %q%s; there are %s", e.Setting.Name, of, have)
}

// resolve is what is set, by experiment and name. All are the experiments there
// are, measured those that the settings can be for. A setting that names its
// experiment goes before one for all.
func resolve(all, measured []experiments.Experiment, settings []Setting) (map[string]map[string]float64, error) {
	var set map[string]map[string]float64 // nil where nothing is set, as in files of old
	own := map[string]bool{}              // by experiment and name: set for this one alone
	for _, s := range settings {
		having := withParameter(all, s)
		if s.Experiment != "" && !slices.ContainsFunc(all, func(e experiments.Experiment) bool { return e.Name == s.Experiment }) {
			return nil, fmt.Errorf("parameter %s: no experiment is called %q; there are %s", s, s.Experiment, strings.Join(names(all), ", "))
		}
		if len(having) == 0 {
			return nil, UnknownParameter{s, parametersOf(all, s.Experiment)}
		}
		meant := withParameter(measured, s)
		if len(meant) == 0 {
			return nil, fmt.Errorf("parameter %s belongs to %s, and that is not measured here", s, strings.Join(names(having), " or "))
		}
		for _, e := range meant {
			v, err := e.Settable.Parse(s.Name, s.Value)
			if err != nil {
				return nil, fmt.Errorf("parameter %s of %s: %w", s.Name, e.Name, err)
			}
			key := e.Name + ":" + s.Name
			switch _, there := set[e.Name][s.Name]; {
			case there && own[key] == (s.Experiment != ""):
				return nil, fmt.Errorf("parameter %s of %s is given twice", s.Name, e.Name)
			case there && own[key]:
				continue
			}
			if set == nil {
				set = map[string]map[string]float64{}
			}
			if set[e.Name] == nil {
				set[e.Name] = map[string]float64{}
			}
			set[e.Name][s.Name], own[key] = v, s.Experiment != ""
		}
	}
	return set, nil
}

// withParameter are the experiments that the setting can be for.
func withParameter(list []experiments.Experiment, s Setting) []experiments.Experiment {
	return slices.DeleteFunc(slices.Clone(list), func(e experiments.Experiment) bool {
		return s.Experiment != "" && e.Name != s.Experiment || !slices.Contains(e.Settable.Names(), s.Name)
	})
}

// parametersOf are the names that an experiment has, or any does.
func parametersOf(all []experiments.Experiment, name string) []string {
	found := map[string]bool{}
	for _, e := range all {
		if name == "" || e.Name == name {
			for _, n := range e.Settable.Names() {
				found[n] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func names(list []experiments.Experiment) []string {
	var out []string
	for _, e := range list {
		out = append(out, e.Name)
	}
	return out
}

// configured are the experiments with what is set of them.
func configured(list []experiments.Experiment, set map[string]map[string]float64) ([]experiments.Experiment, error) {
	out := slices.Clone(list)
	for i, e := range out {
		var err error
		if out[i], err = e.With(set[e.Name]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Set is what is set, as lines for a person: "quorum-drain rate=6000".
func (p Plan) Set() []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(p.set)) {
		lines = append(lines, name+" "+strings.Join(pairs(p.set[name]), " "))
	}
	return lines
}

func pairs(values map[string]float64) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		out = append(out, name+"="+strconv.FormatFloat(values[name], 'f', -1, 64))
	}
	return out
}

// SameSettings says where these settings are not those of the plan, which is
// one that was recalled.
func (p Plan) SameSettings(all []experiments.Experiment, settings []Setting) error {
	measured := slices.DeleteFunc(slices.Clone(all), func(e experiments.Experiment) bool { return p.planned(e.Name) == 0 })
	set, err := resolve(all, measured, settings)
	if err != nil {
		return err
	}
	return sameSet(p.set, set)
}

// sameSet names the parameters that were set otherwise.
func sameSet(was, now map[string]map[string]float64) error {
	var changes []string
	both := maps.Clone(was)
	if both == nil {
		both = map[string]map[string]float64{}
	}
	maps.Copy(both, now)
	for _, e := range slices.Sorted(maps.Keys(both)) {
		if !maps.Equal(was[e], now[e]) {
			changes = append(changes, fmt.Sprintf("of %s, %s was set and would be %s", e, list(was[e]), list(now[e])))
		}
	}
	if len(changes) == 0 {
		return nil
	}
	return fmt.Errorf("the parameters changed: %s", strings.Join(changes, "; "))
}

func list(values map[string]float64) string {
	if len(values) == 0 {
		return "nothing"
	}
	return strings.Join(pairs(values), " ")
}
