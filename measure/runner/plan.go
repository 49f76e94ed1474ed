// Package runner turns experiments and brokers into a plan of cells, and the
// plan into result files.
//
// The plan is made before anything starts. Cells are interleaved: each round
// measures every case on every broker once, and the direction alternates from
// round to round, so that a machine that grows slower does not do so at the
// expense of one case. Cases that need a node configuration of their own come
// last, on nodes that are started for them alone.
//
// Nodes that wait for their cells run on; they are not paused. On two cores
// idle nodes of 3.10, 4.0 and 4.3 take 0.2 to 0.4 % of a core each, 0.01 CPU
// seconds of two of them together in a cell of 60,000 messages, of which the
// broker under test takes 0.9 to 1.1, the same whether the others are paused or
// not. In 16 and 14 alternating rounds on a machine with other work the rate
// was no higher with the others paused (medians 36,300 and 42,100 messages/s,
// then 53,800 and 67,500, paused and running, quartiles overlapping). There is
// less to gain than any rate resolves, and a stopped process, whose timers all
// fire when it goes on, would be one more thing that can go wrong. A test fails
// when an idle node takes more than 3 % of a core (`make variance` runs it).
//
// The control load, the same on every broker at the begin, in the middle of
// long runs and at the end, tells whether the machine was steady. A run that
// was cut off goes on where the files end.
package runner

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"genreport/measure"
	"genreport/measure/experiments"
)

// Selection is what the user asked for.
type Selection struct {
	Profile     experiments.Profile
	Experiments []string         // globs over names; empty: all
	Brokers     []string         // labels; empty: each experiment's own
	Cases       []measure.Labels // a cell must match one of them; empty: all
	Repeats     int              // 0: the profile's
	Settings    []Setting        // parameters of experiments
}

// Plan is the cells of a run, in the order in which they are measured.
type Plan struct {
	Selection Selection
	Brokers   []string // labels, in order of first use
	Warmup    []cell
	Cells     []cell
	control   cell                          // of no broker yet
	set       map[string]map[string]float64 // parameters that were set, by experiment and name
}

type cell struct {
	experiment experiments.Experiment
	c          experiments.Case
	broker     string
	repeat     int
	order      int // place among the plan's cells
}

// labels are the case's and the broker's.
func (c cell) labels() measure.Labels {
	l := maps.Clone(c.c.Labels)
	l["broker"] = c.broker
	return l
}

func (c cell) planned() measure.PlannedCell {
	return measure.PlannedCell{Experiment: c.experiment.Name, Labels: c.labels(), Repeat: c.repeat}
}

// variant names the node that a cell needs, by configuration and, where nobody
// may have used it before, by place; "" is the one that runs all the time.
func (c cell) variant() string {
	name := measure.Labels(c.c.Settings).String()
	if c.c.Fresh {
		name += fmt.Sprintf(" %s#%d", c.experiment.Name, c.order)
	}
	return name
}

// nodeKey names the node that a cell with settings needs.
func (c cell) nodeKey() string { return c.broker + " " + c.variant() }

func (c cell) name() string { return c.experiment.Name + " " + c.labels().String() }

// limit is how long the measurement of a cell may take. Beyond it something is
// wrong: an alarm that blocks publishers, or a node that no longer answers.
func (c cell) limit() time.Duration { return max(time.Minute, 10*c.c.Estimate) }

// NewPlan chooses among all. It refuses a selection that measures nothing.
func NewPlan(all []experiments.Experiment, s Selection) (Plan, error) {
	p := Plan{Selection: s}
	p.control.experiment, p.control.c = experiments.Control(s.Profile)
	chosen, err := choose(all, s.Experiments)
	if err != nil {
		return p, err
	}
	measured := slices.DeleteFunc(slices.Clone(chosen), func(e experiments.Experiment) bool { return !matchesAny(e, s) })
	if p.set, err = resolve(all, measured, s.Settings); err != nil {
		return p, err
	}
	if chosen, err = configured(chosen, p.set); err != nil {
		return p, err
	}
	for _, e := range chosen {
		brokers := brokersOf(e, s)
		var plain, variants []cell
		for i, b := range brokers {
			if slices.Contains(brokers[:i], b) {
				return p, fmt.Errorf("broker %s is given twice", b)
			}
			for _, c := range e.Cases(s.Profile) {
				at := cell{experiment: e, c: c, broker: b}
				if !matchAny(at.labels(), s.Cases) {
					continue
				}
				if !slices.Contains(p.Brokers, b) {
					p.Brokers = append(p.Brokers, b)
				}
				if len(c.Settings) == 0 || c.Fresh { // nothing is gained by keeping a fresh one's cells together
					plain = append(plain, at)
				} else {
					variants = append(variants, at)
				}
			}
			if e.Warmup != nil {
				for _, c := range e.Warmup(s.Profile) {
					p.Warmup = append(p.Warmup, cell{experiment: e, c: c, broker: b, repeat: 1})
				}
			}
		}
		repeats := e.Repeats(s.Profile)
		if s.Repeats > 0 {
			repeats = s.Repeats
		}
		p.Cells = append(p.Cells, rounds(interleave(plain, brokers), repeats)...)
		for _, group := range byVariant(variants) {
			p.Cells = append(p.Cells, rounds(group, repeats)...)
		}
	}
	for i := range p.Cells {
		p.Cells[i].order = i
	}
	p.Warmup = warmsUp(p.Warmup, p.Cells)
	if len(p.Cells) == 0 {
		return p, fmt.Errorf("no cell matches the selection; `genreport experiments` lists cases")
	}
	return p, nil
}

// brokersOf are those that the experiment is measured on.
func brokersOf(e experiments.Experiment, s Selection) []string {
	if len(s.Brokers) == 0 {
		return e.Brokers
	}
	return s.Brokers
}

// matchesAny reports whether any cell of the experiment is selected.
func matchesAny(e experiments.Experiment, s Selection) bool {
	return slices.ContainsFunc(brokersOf(e, s), func(b string) bool {
		return slices.ContainsFunc(e.Cases(s.Profile), func(c experiments.Case) bool {
			return matchAny(cell{c: c, broker: b}.labels(), s.Cases)
		})
	})
}

// warmsUp is the warm-up without that of what is not measured.
func warmsUp(warmup, cells []cell) []cell {
	return slices.DeleteFunc(slices.Clone(warmup), func(w cell) bool {
		return !slices.ContainsFunc(cells, func(c cell) bool {
			return c.experiment.Name == w.experiment.Name && c.broker == w.broker &&
				c.c.Labels["client"] == w.c.Labels["client"]
		})
	})
}

func choose(all []experiments.Experiment, globs []string) ([]experiments.Experiment, error) {
	if len(globs) == 0 {
		return all, nil
	}
	var chosen []experiments.Experiment
	for _, g := range globs {
		found := false
		for _, e := range all {
			ok, err := path.Match(g, e.Name)
			if err != nil {
				return nil, fmt.Errorf("experiment pattern %q: %w", g, err)
			}
			if !ok {
				continue
			}
			found = true
			if !slices.ContainsFunc(chosen, func(c experiments.Experiment) bool { return c.Name == e.Name }) {
				chosen = append(chosen, e)
			}
		}
		if !found {
			return nil, fmt.Errorf("no experiment matches %q; there are %s", g, strings.Join(names(all), ", "))
		}
	}
	return chosen, nil
}

func matchAny(l measure.Labels, wanted []measure.Labels) bool {
	return len(wanted) == 0 || slices.ContainsFunc(wanted, l.Match)
}

// interleave puts the same case of all brokers side by side.
func interleave(cells []cell, brokers []string) []cell {
	if len(brokers) < 2 {
		return cells
	}
	out := slices.Clone(cells)
	index := map[string]int{}
	for _, c := range cells {
		if key := c.c.Labels.String(); index[key] == 0 {
			index[key] = len(index) + 1
		}
	}
	slices.SortStableFunc(out, func(a, b cell) int {
		return index[a.c.Labels.String()] - index[b.c.Labels.String()]
	})
	return out
}

// rounds repeats the cells, every other round backwards.
func rounds(cells []cell, repeats int) []cell {
	var out []cell
	for r := range repeats {
		round := slices.Clone(cells)
		if r%2 == 1 {
			slices.Reverse(round)
		}
		for _, c := range round {
			c.repeat = r + 1
			out = append(out, c)
		}
	}
	return out
}

// byVariant groups the cells of each broker and node configuration, in order
// of first appearance, so that each such node is started once.
func byVariant(cells []cell) [][]cell {
	var groups [][]cell
	for _, c := range cells {
		i := slices.IndexFunc(groups, func(g []cell) bool { return g[0].broker == c.broker && g[0].variant() == c.variant() })
		if i < 0 {
			groups = append(groups, nil)
			i = len(groups) - 1
		}
		groups[i] = append(groups[i], c)
	}
	return groups
}

// nodeStart is about how long a node takes until it is ready.
const nodeStart = 7 * time.Second

// controlEvery is how much of the estimate lies between two measurements of the
// control load, but for the first and the last.
const controlEvery = 20 * time.Minute

// Estimate is a guess at how long the plan takes, from the cells' own guesses.
func (p Plan) Estimate() time.Duration { return p.estimate(p.Cells) }

// estimate is that of a run which measures only these cells.
func (p Plan) estimate(cells []cell) time.Duration {
	var d time.Duration
	last := ""
	for _, c := range slices.Concat(warmsUp(p.Warmup, cells), cells) {
		d += c.c.Estimate
		if v := c.broker + c.variant(); c.variant() != "" && v != last {
			d += nodeStart
			last = v
		}
	}
	once := time.Duration(len(p.Brokers)*p.controlRepeats()) * p.control.c.Estimate
	return d + time.Duration(len(p.Brokers))*nodeStart + (2+d/controlEvery)*once
}

// controlRepeats is how often the control load is measured each time. Quick runs
// are not for publishing, and parts of a profile not even for that: there the
// control shows that it works, and its drift is mostly noise.
func (p Plan) controlRepeats() int {
	switch {
	case !p.Whole():
		return 1
	case p.Selection.Profile == experiments.Quick:
		return 3
	}
	return experiments.ControlRepeats
}

// plugins are those that any of the plan's experiments needs: the nodes that run
// all the time are the same for all of them.
func (p Plan) plugins() []string {
	var names []string
	for _, c := range p.Cells {
		for _, name := range c.experiment.Plugins {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// Planned is the plan as run.json holds it.
func (p Plan) Planned() (warmup, cells []measure.PlannedCell) {
	warmup, cells = []measure.PlannedCell{}, []measure.PlannedCell{}
	for _, c := range p.Warmup {
		warmup = append(warmup, c.planned())
	}
	for _, c := range p.Cells {
		cells = append(cells, c.planned())
	}
	return warmup, cells
}

// Whole reports whether every experiment of the plan is measured as its profile
// says.
func (p Plan) Whole() bool {
	return !slices.ContainsFunc(p.Cells, func(c cell) bool { return c.repeat == 1 && !p.whole(c.experiment) })
}

// whole reports whether the experiment is measured in every case and as often
// as the profile says, on the brokers on which it is measured at all.
func (p Plan) whole(e experiments.Experiment) bool {
	want, got := map[string]bool{}, map[string]bool{}
	for _, c := range p.Cells {
		if c.experiment.Name != e.Name {
			continue
		}
		got[fmt.Sprintf("%s#%d", c.labels(), c.repeat)] = true
		for _, other := range e.Cases(p.Selection.Profile) {
			for r := range e.Repeats(p.Selection.Profile) {
				want[fmt.Sprintf("%s#%d", cell{c: other, broker: c.broker}.labels(), r+1)] = true
			}
		}
	}
	return len(want) > 0 && maps.Equal(want, got)
}

// planned is the number of the experiment's cells.
func (p Plan) planned(name string) (n int) {
	for _, c := range p.Cells {
		if c.experiment.Name == name {
			n++
		}
	}
	return n
}

// command measures just the given case again, on a fresh run.
func (p Plan) command(c cell) string {
	labels := c.labels()
	spec := c.broker
	if strings.HasPrefix(spec, "external") {
		spec = "'amqp://USER:PASSWORD@HOST:PORT/?management=URL'"
	}
	delete(labels, "broker")
	command := fmt.Sprintf("genreport measure --broker %s --experiment %s --case %s --profile %s", spec, c.experiment.Name, labels, p.Selection.Profile)
	for _, pair := range pairs(p.set[c.experiment.Name]) {
		command += " --param " + pair
	}
	return command
}
