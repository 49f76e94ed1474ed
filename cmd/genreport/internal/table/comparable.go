package table

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"genreport/cmd/genreport/internal/number"
	"genreport/measure"
)

// memoryTolerance is how far the memory of two equal machines may differ: what
// the kernel keeps for itself changes a little from boot to boot.
const memoryTolerance = 0.01

// differences are why two runs are not comparable: the profile, and all that
// run.json tells of the machine but its momentary load. A kernel counts: its
// version changes the cost of system calls, which a message takes several of.
// A governor that only one file tells is no difference: older runs have none.
func differences(a, b measure.Run) []string {
	var out []string
	differ := func(what, x, y string) {
		if x != y {
			out = append(out, fmt.Sprintf("%s %s and %s", what, told(x), told(y)))
		}
	}
	x, y := a.Machine, b.Machine
	differ("CPU", x.CPU, y.CPU)
	differ("cores", fmt.Sprint(x.Cores), fmt.Sprint(y.Cores))
	if more := max(x.MemoryBytes, y.MemoryBytes); math.Abs(float64(x.MemoryBytes)-float64(y.MemoryBytes)) > memoryTolerance*float64(more) {
		show := func(n int64) string { return number.Format(float64(n), measure.Bytes, number.Options{}) }
		out = append(out, fmt.Sprintf("memory %s and %s", show(x.MemoryBytes), show(y.MemoryBytes)))
	}
	differ("system", x.OS, y.OS)
	differ("kernel", x.Kernel, y.Kernel)
	differ("architecture", x.Arch, y.Arch)
	differ("virtualisation", x.Virtualisation, y.Virtualisation)
	if x.Governor != "" && y.Governor != "" {
		differ("governor", x.Governor, y.Governor)
	}
	differ("profile", a.Profile, b.Profile)
	return out
}

func told(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// resultDifferences are why two results of an experiment are not comparable.
func resultDifferences(a, b measure.Result) []string {
	var out []string
	if a.Method != b.Method {
		out = append(out, fmt.Sprintf("method %d and %d", a.Method, b.Method))
	}
	return append(out, mapDifferences("parameter ", a.Parameters, b.Parameters)...)
}

func mapDifferences(what string, a, b map[string]string) []string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, b)
	var out []string
	for _, k := range sorted(all) {
		x, inA := a[k]
		y, inB := b[k]
		switch {
		case !inA:
			out = append(out, fmt.Sprintf("%s%s not set and %s", what, k, y))
		case !inB:
			out = append(out, fmt.Sprintf("%s%s %s and not set", what, k, x))
		case x != y:
			out = append(out, fmt.Sprintf("%s%s %s and %s", what, k, x, y))
		}
	}
	return out
}

// notes are differences that may be what the runs are compared for: versions
// and settings of brokers, versions of clients.
func notes(a, b measure.Run) []string {
	var out []string
	for _, x := range a.Brokers {
		i := slices.IndexFunc(b.Brokers, func(y measure.Broker) bool { return y.Label == x.Label })
		if i < 0 {
			continue
		}
		y := b.Brokers[i]
		for _, v := range [][3]string{{"RabbitMQ", x.RabbitMQ, y.RabbitMQ}, {"Erlang", x.Erlang, y.Erlang}} {
			if v[1] != v[2] {
				out = append(out, fmt.Sprintf("%s: %s %s and %s", x.Label, v[0], v[1], v[2]))
			}
		}
		out = append(out, mapDifferences(x.Label+": ", x.Settings, y.Settings)...)
	}
	for _, x := range a.Clients {
		i := slices.IndexFunc(b.Clients, func(y measure.Client) bool { return y.Label == x.Label })
		if i < 0 {
			continue
		}
		y := b.Clients[i]
		for _, v := range [][3]string{{x.Library, x.Version, y.Version}, {"runtime", x.Runtime, y.Runtime}} {
			if v[1] != v[2] {
				out = append(out, fmt.Sprintf("client %s: %s %s and %s", x.Label, v[0], v[1], v[2]))
			}
		}
	}
	for _, r := range []measure.Run{a, b} {
		if r.Ended == nil {
			out = append(out, "run "+r.ID+" was cut off, or goes on")
		}
	}
	return out
}

// Speed is what the control, the same small load in every run, says of how fast
// two machines were.
type Speed struct {
	Broker     string  `json:"broker"`
	First      float64 `json:"first"` // median of the run's control, 1/s
	Second     float64 `json:"second"`
	Ratio      float64 `json:"ratio"`
	SameBroker bool    `json:"same_broker"` // else the ratio is not the machines' alone
}

func speeds(a, b measure.Run) []Speed {
	var out []Speed
	x, y := controls(a), controls(b)
	for _, broker := range sorted(x) {
		if y[broker] > 0 && x[broker] > 0 {
			out = append(out, Speed{broker, x[broker], y[broker], y[broker] / x[broker], version(a, broker) == version(b, broker)})
		}
	}
	return out
}

// controls are the medians of the control, by broker.
func controls(r measure.Run) map[string]float64 {
	rates := map[string][]float64{}
	for _, c := range r.Control {
		if c.Rate.OK() {
			rates[c.Broker] = append(rates[c.Broker], c.Rate.Float64())
		}
	}
	out := map[string]float64{}
	for broker, list := range rates {
		slices.Sort(list)
		n := len(list)
		out[broker] = (list[(n-1)/2] + list[n/2]) / 2
	}
	return out
}

func version(r measure.Run, broker string) string {
	for _, b := range r.Brokers {
		if b.Label == broker {
			return b.RabbitMQ + " on Erlang " + b.Erlang
		}
	}
	return ""
}

func controlText(list []Speed, runs []Run) string {
	if len(list) == 0 {
		var without []string
		for _, r := range runs {
			if len(r.Control) == 0 {
				without = append(without, r.ID)
			}
		}
		if len(without) == 0 {
			return "the runs have no broker's control in common, so nothing says how far apart the machines' speeds were"
		}
		return strings.Join(without, " and ") + " without control measurements, so nothing says how far apart the machines' speeds were"
	}
	var out []string
	for _, s := range list {
		show := func(x float64) string { return number.Format(x, measure.PerSecond, number.Options{}) }
		text := fmt.Sprintf("%s: %s and %s messages a second, ", s.Broker, show(s.First), show(s.Second))
		switch apart := percent(math.Abs(s.Ratio - 1)); {
		case s.Ratio == 1:
			text += "equally fast"
		case s.Ratio > 1:
			text += "the second " + apart + " faster"
		default:
			text += "the second " + apart + " slower"
		}
		switch {
		case s.SameBroker && math.Abs(s.Ratio-1) > measure.DriftLimit:
			text += ", which is in every rate and time below"
		case !s.SameBroker:
			text += " (of another broker version, so not the machine's speed alone)"
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}
