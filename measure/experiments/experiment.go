// Package experiments holds what genreport measures, one file per experiment.
//
// An experiment lists its cases and measures one of them at a time against one
// broker. Which brokers, how often, in what order, and what becomes of a cell
// that fails, is the runner's business and the same for all.
package experiments

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"strconv"
	"time"

	"genreport/measure"
	"genreport/measure/broker"
	"genreport/measure/database"
	"genreport/measure/load"
)

// Profile changes sizes, durations and repeats, never the method.
type Profile string

const (
	Quick    Profile = "quick"    // to try things out; not for publishing
	Standard Profile = "standard" // what articles are made from
	Full     Profile = "full"     // more repeats
)

// Profiles lists them from short to long.
func Profiles() []Profile { return []Profile{Quick, Standard, Full} }

// ParseProfile refuses what is none.
func ParseProfile(s string) (Profile, error) {
	for _, p := range Profiles() {
		if string(p) == s {
			return p, nil
		}
	}
	return "", fmt.Errorf("unknown profile %q; there are quick, standard and full", s)
}

// pick is the number that belongs to the profile.
func (p Profile) pick(quick, standard, full int) int {
	switch p {
	case Quick:
		return quick
	case Full:
		return full
	}
	return standard
}

// Case is one combination of labels that an experiment measures.
type Case struct {
	Labels   measure.Labels
	Settings map[string]string // node configuration; a node of its own when not empty
	Fresh    bool              // each measurement gets a node that has done nothing before
	Estimate time.Duration     // of one measurement, for the plan; a guess
}

// Sample is what one measurement of a case gave. Metrics that it leaves out
// are recorded as missing.
type Sample struct {
	Values  map[string]measure.Value
	Texts   map[string]string
	Clients []measure.Client // who put on the load
	Missing string           // why the broker can't be asked this at all, which is no failure
	// What stands behind the values. A sample whose integrity does not add up
	// fails its cell: the runner checks that, the same for all experiments.
	CPU       *measure.CPU
	Series    map[string]measure.Series
	Latency   map[string]measure.Histogram
	Integrity *measure.Integrity
	Warnings  []string // what a reader of the run must know, the same for all samples that say it
}

// Env is what a measurement may use.
type Env struct {
	// Suffix of queue names: keeps runs on the same broker apart.
	Suffix  string
	Broker  *broker.Broker
	CA      string // PEM; trusted for the broker instead of the system's authorities
	Profile Profile
	// Client prepares a load client process of the given label.
	Client func(ctx context.Context, label string) (*exec.Cmd, error)
	// Database is there for experiments that ask for one.
	Database *database.Database
	// WebAPI prepares a process of the application behind the web API.
	WebAPI func(ctx context.Context) (*exec.Cmd, error)
}

// Experiment is one question put to a broker.
type Experiment struct {
	Name     string // public: file names and references use it
	Title    string // one line, for lists
	Method   int    // raised when the way of measuring changes
	Metrics  map[string]measure.Metric
	Texts    map[string]string // what programs said: name and description
	Series   map[string]string // what is recorded over time: name and description
	Repeats  func(Profile) int
	Params   func(Profile) map[string]string // what the result file tells of sizes
	Cases    func(Profile) []Case
	Warmup   func(Profile) []Case // measured first on each broker, and discarded
	Measure  func(context.Context, Env, Case) (Sample, error)
	Brokers  []string // specs measured when none is given
	Plugins  []string // that nodes of ours need in addition to management
	Database bool     // needs a database server
	Programs []string // of this machine that it needs

	Settable Parameters              // sizes that may be set; most experiments have none
	Set      func(Values) Experiment // the same experiment with these; needed where any is settable
}

// All lists the experiments in the order in which they are measured.
func All() []Experiment {
	return []Experiment{
		channelLimit(),
		channelCost(),
		channelThroughput(),
		connectionThroughput(),
		quorumMemory(),
		quorumDrain(),
		websocketThroughput(),
		connectionMemory(),
		webapiSaturation(),
		webapiLatency(),
		webapiScale(),
		webapiIntegrity(),
	}
}

// Methods is the current method version of every experiment.
func Methods() map[string]int {
	m := map[string]int{}
	for _, e := range All() {
		m[e.Name] = e.Method
	}
	return m
}

// clients are the labels of all load clients that speak AMQP.
func clients() []string {
	var out []string
	for _, k := range load.Kinds() {
		if !k.MQTT {
			out = append(out, k.Label)
		}
	}
	return out
}

// messageSize is the body of every message in the experiments of the first
// article. The post does not give its own. Bytes.
const messageSize = 100

// releases are the brokers of experiments that compare versions: before and
// after every change that the experiments look at.
func releases() []string { return []string{"debian:bookworm", "debian:trixie", "debian:forky"} }

// current is the broker of experiments that don't compare versions.
func current() []string { return []string{"debian:forky"} }

// connect starts a load client for a case.
func connect(ctx context.Context, env Env, c Case, job load.Job) (*load.Client, error) {
	label := c.Labels["client"]
	cmd, err := env.Client(ctx, label)
	if err != nil {
		return nil, err
	}
	kind, ok := load.KindOf(label)
	if !ok {
		return nil, fmt.Errorf("unknown client %q", label)
	}
	if job.CA, job.Batched = env.CA, kind.Batched; job.URI == "" {
		job.URI = env.Broker.URI()
	}
	return load.Start(ctx, cmd, job, nil)
}

func describe(c Case, r load.Ready) measure.Client {
	return measure.Client{Label: c.Labels["client"], Library: r.Library, Version: r.Version, Runtime: r.Runtime}
}

// cannot reports whether an error only says that a broker or a database can't be
// asked for something: its text is then the reason why a value is missing.
func cannot(err error) bool {
	return errors.Is(err, broker.ErrNotAvailable) || errors.Is(err, broker.ErrNotSupported) || errors.Is(err, database.ErrNotAvailable)
}

func unavailable(err error) measure.Value {
	if cannot(err) {
		return measure.Missing(err.Error())
	}
	return measure.Missing("failed: " + err.Error())
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// with is labels and one more.
func with(l measure.Labels, key, value string) measure.Labels {
	l = maps.Clone(l)
	l[key] = value
	return l
}

func number(l measure.Labels, key string) (int, error) {
	n, err := strconv.Atoi(l[key])
	if err != nil {
		return 0, fmt.Errorf("label %s=%q is not a number", key, l[key])
	}
	return n, nil
}
