package measure

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Format is the version of the file format that this package reads and writes.
const Format = 1

// Unit of a metric: always a base unit.
type Unit string

const (
	Count      Unit = "1"
	Seconds    Unit = "s"
	Bytes      Unit = "B"
	PerSecond  Unit = "1/s"
	CPUSeconds Unit = "CPU s"
)

func (u Unit) validate() error {
	switch u {
	case Count, Seconds, Bytes, PerSecond, CPUSeconds:
		return nil
	}
	return fmt.Errorf("unknown unit %q", u)
}

// Direction says which way a metric is better.
type Direction string

const (
	Higher  Direction = "higher"
	Lower   Direction = "lower"
	Neither Direction = "neither"
)

// Metric describes one number that each cell of an experiment has.
type Metric struct {
	Unit        Unit      `json:"unit"`
	Better      Direction `json:"better"`
	Exact       bool      `json:"exact"` // a count that has no measurement noise
	Description string    `json:"description"`
}

// Labels name a case: broker, client, node configuration and parameters.
type Labels map[string]string

// String is "a=1,b=2", sorted by key, as the --case flag takes it.
func (l Labels) String() string {
	var b strings.Builder
	for i, k := range slices.Sorted(maps.Keys(l)) {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(k + "=" + l[k])
	}
	return b.String()
}

// Match reports whether every label of want has the same value in l.
func (l Labels) Match(want Labels) bool {
	for k, v := range want {
		if l[k] != v {
			return false
		}
	}
	return true
}

// Failure is why a whole cell has no numbers.
type Failure struct {
	Reason string `json:"reason"`
	Log    string `json:"log,omitempty"` // the end of the broker's log
}

// Cell is one measurement of one case: one raw sample of every metric.
type Cell struct {
	Labels   Labels            `json:"labels"`
	Repeat   int               `json:"repeat"`     // from 1
	Order    int               `json:"order"`      // place in the run's plan, from 0
	Started  float64           `json:"started_s"`  // seconds since the run's start
	Duration float64           `json:"duration_s"` // seconds, set-up included
	Values   map[string]Value  `json:"values"`
	Texts    map[string]string `json:"texts,omitempty"` // what programs said, as it was
	Failure  *Failure          `json:"failure,omitempty"`
	Command  string            `json:"command"` // repeats just this case

	// What stands behind the values; each only where the experiment has it.
	CPU       *CPU                 `json:"cpu,omitempty"`
	Series    map[string]Series    `json:"series,omitempty"`
	Latency   map[string]Histogram `json:"latency,omitempty"`
	Integrity *Integrity           `json:"integrity,omitempty"`
}

// Result is all cells of one experiment in one run.
type Result struct {
	Format     int               `json:"format"`
	Kind       string            `json:"kind"` // "experiment"
	Run        string            `json:"run"`
	Experiment string            `json:"experiment"`
	Method     int               `json:"method"` // version of how the experiment measures
	Profile    string            `json:"profile"`
	Planned    int               `json:"planned"` // cells in the plan
	Whole      bool              `json:"whole"`   // the plan had every case and repeat of the profile
	Parameters map[string]string `json:"parameters"`
	Metrics    map[string]Metric `json:"metrics"`
	Cells      []Cell            `json:"cells"`
}

// Complete reports whether every cell that belongs to the profile was
// attempted. Failed cells count: they are results too.
func (r Result) Complete() bool { return r.Whole && len(r.Cells) == r.Planned }

// Validate finds what would make the result wrong or unreadable.
func (r Result) Validate() error {
	var errs []error
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	if r.Format != Format {
		bad("format is %d, want %d", r.Format, Format)
	}
	if r.Kind != kindExperiment {
		bad("kind is %q, want %q", r.Kind, kindExperiment)
	}
	if r.Run == "" || r.Experiment == "" || r.Profile == "" {
		bad("run, experiment and profile must be set")
	}
	if r.Method < 1 {
		bad("method is %d; it counts from 1", r.Method)
	}
	if r.Experiment == kindRun || strings.ContainsAny(r.Experiment, `/\`) || strings.HasPrefix(r.Experiment, ".") {
		bad("experiment %q can't name a file beside run.json", r.Experiment)
	}
	if len(r.Cells) > r.Planned {
		bad("%d cells, but only %d were planned", len(r.Cells), r.Planned)
	}
	for name, m := range r.Metrics {
		if err := m.Unit.validate(); err != nil {
			bad("metric %s: %w", name, err)
		}
		switch m.Better {
		case Higher, Lower, Neither:
		default:
			bad("metric %s: better is %q", name, m.Better)
		}
	}
	seen := map[string]bool{}
	for i, c := range r.Cells {
		key := fmt.Sprintf("%s#%d", c.Labels, c.Repeat)
		if seen[key] {
			bad("cell %d: %s repeat %d is there twice", i, c.Labels, c.Repeat)
		}
		seen[key] = true
		if err := c.validate(r.Metrics); err != nil {
			bad("cell %d (%s): %w", i, c.Labels, err)
		}
	}
	return errors.Join(errs...)
}

func (c Cell) validate(metrics map[string]Metric) error {
	if c.Repeat < 1 {
		return fmt.Errorf("repeat is %d; it counts from 1", c.Repeat)
	}
	for name := range metrics {
		v, ok := c.Values[name]
		if !ok {
			return fmt.Errorf("metric %s has no value and no reason", name)
		}
		if err := v.validate(); err != nil {
			return fmt.Errorf("metric %s: %w", name, err)
		}
		if c.Failure != nil && v.OK() {
			return fmt.Errorf("metric %s has a number though the cell failed", name)
		}
	}
	for name := range c.Values {
		if _, ok := metrics[name]; !ok {
			return fmt.Errorf("value %s belongs to no declared metric", name)
		}
	}
	if c.Failure != nil && c.Failure.Reason == "" {
		return errors.New("the failure has no reason")
	}
	return c.validateEvidence()
}

func (c Cell) validateEvidence() error {
	if c.CPU != nil {
		if err := c.CPU.validate(); err != nil {
			return err
		}
	}
	for name, s := range c.Series {
		if err := s.validate(); err != nil {
			return fmt.Errorf("series %s: %w", name, err)
		}
	}
	for name, h := range c.Latency {
		if h.Count < 0 || h.HDR == "" {
			return fmt.Errorf("latency %s: no histogram", name)
		}
	}
	// What does not add up fails the cell; a result that shows it as fine is wrong.
	if c.Integrity != nil && c.Failure == nil {
		return c.Integrity.validate()
	}
	return nil
}

// Tool is the program that measured.
type Tool struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Dirty   bool   `json:"dirty"` // built from uncommitted sources
	Go      string `json:"go"`
}

// Machine describes, and does not identify, where a run took place.
type Machine struct {
	CPU            string  `json:"cpu"`
	Cores          int     `json:"cores"`
	MemoryBytes    int64   `json:"memory_bytes"`
	OS             string  `json:"os"`
	Kernel         string  `json:"kernel"`
	Arch           string  `json:"arch"`
	Virtualisation string  `json:"virtualisation,omitempty"`
	Load1          float64 `json:"load1"`                 // load average when the run began
	Governor       string  `json:"governor,omitempty"`    // of the first core's frequency
	StealShare     *Value  `json:"steal_share,omitempty"` // of the core time of the second before the run
}

// Broker is one broker of a run, as the node itself describes it.
type Broker struct {
	Label      string            `json:"label"` // "debian:forky", or "external" for one given by URL
	RabbitMQ   string            `json:"rabbitmq"`
	Erlang     string            `json:"erlang"`
	Package    string            `json:"package,omitempty"`
	Plugins    []string          `json:"plugins"`
	Schedulers int               `json:"schedulers,omitempty"`
	Settings   map[string]string `json:"settings,omitempty"`
	Components map[string]string `json:"components,omitempty"` // versions of what else is part of it
}

// Database is the database server of a run, as it describes itself.
type Database struct {
	Label    string            `json:"label"`  // "debian:sid", or "external" for one given by DSN
	Server   string            `json:"server"` // MySQL or MariaDB
	Version  string            `json:"version"`
	Package  string            `json:"package,omitempty"`
	Settings map[string]string `json:"settings,omitempty"` // those that durability and speed depend on
}

// Client is one kind of load client of a run, as it describes itself.
type Client struct {
	Label   string `json:"label"`
	Library string `json:"library"`
	Version string `json:"version"`
	Runtime string `json:"runtime"`
}

// PlannedCell is a cell before it is measured.
type PlannedCell struct {
	Experiment string `json:"experiment"`
	Labels     Labels `json:"labels"`
	Repeat     int    `json:"repeat"`
}

// Run is what run.json holds.
type Run struct {
	Format   int           `json:"format"`
	Kind     string        `json:"kind"` // "run"
	ID       string        `json:"id"`   // sorts by time, UTC
	Profile  string        `json:"profile"`
	Started  time.Time     `json:"started"`
	Ended    *time.Time    `json:"ended"` // null while it runs, and when it was cut off
	Tool     Tool          `json:"tool"`
	Machine  Machine       `json:"machine"`
	Brokers  []Broker      `json:"brokers"`
	Database *Database     `json:"database,omitempty"` // where an experiment of the run needs one
	Clients  []Client      `json:"clients"`
	Warmup   []PlannedCell `json:"warmup"` // measured first and discarded
	Plan     []PlannedCell `json:"plan"`
	Control  []Control     `json:"control,omitempty"`
	Resumed  []time.Time   `json:"resumed,omitempty"` // when it went on after it was cut off
	Warnings []string      `json:"warnings,omitempty"`
	// Parameters that were set to other values than the profile's, by experiment and name.
	Parameters map[string]map[string]float64 `json:"parameters,omitempty"`
}

// Validate finds what would make the run wrong or unreadable.
func (r Run) Validate() error {
	switch {
	case r.Format != Format:
		return fmt.Errorf("format is %d, want %d", r.Format, Format)
	case r.Kind != kindRun:
		return fmt.Errorf("kind is %q, want %q", r.Kind, kindRun)
	case !ValidRunID(r.ID):
		return fmt.Errorf("run id %q is not of the form 20060102T150405Z", r.ID)
	case r.Profile != "quick" && r.Profile != "standard" && r.Profile != "full":
		return fmt.Errorf("profile is %q, want quick, standard or full", r.Profile)
	case r.Started.IsZero():
		return errors.New("started must be set")
	}
	for i, c := range r.Control {
		if err := c.Rate.validate(); err != nil {
			return fmt.Errorf("control %d: %w", i, err)
		}
	}
	return nil
}

const (
	kindRun        = "run"
	kindExperiment = "experiment"
	runIDLayout    = "20060102T150405Z"
)

// NewRunID is the id of a run that starts at t.
func NewRunID(t time.Time) string { return t.UTC().Format(runIDLayout) }

// ValidRunID reports whether id may name a run's directory: a time, optionally
// followed by "-" and lower-case letters, digits and dashes.
func ValidRunID(id string) bool {
	if len(id) < len(runIDLayout) {
		return false
	}
	if _, err := time.Parse(runIDLayout, id[:len(runIDLayout)]); err != nil {
		return false
	}
	rest := id[len(runIDLayout):]
	if rest == "" {
		return true
	}
	return len(rest) > 1 && rest[0] == '-' && strings.Trim(rest[1:], "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// NewRun begins a run.
func NewRun(started time.Time, profile string) Run {
	return Run{Format: Format, Kind: kindRun, ID: NewRunID(started), Profile: profile, Started: started.UTC().Truncate(time.Second)}
}

// NewResult begins the result of an experiment in a run.
func NewResult(run Run, experiment string, method, planned int) Result {
	return Result{Format: Format, Kind: kindExperiment, Run: run.ID, Experiment: experiment, Method: method,
		Profile: run.Profile, Planned: planned, Parameters: map[string]string{}, Metrics: map[string]Metric{}, Cells: []Cell{}}
}
