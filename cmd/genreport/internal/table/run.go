package table

import (
	"fmt"
	"strings"
	"time"

	"genreport/cmd/genreport/internal/number"
	"genreport/measure"
)

// Run is what a table says of the run that its numbers are from.
type Run struct {
	ID       string            `json:"id"`
	Profile  string            `json:"profile"`
	Started  time.Time         `json:"started"`
	Ended    *time.Time        `json:"ended"` // null: it was cut off, or goes on
	Tool     measure.Tool      `json:"tool"`
	Machine  measure.Machine   `json:"machine"`
	Brokers  []measure.Broker  `json:"brokers"`
	Clients  []measure.Client  `json:"clients"`
	Control  []measure.Control `json:"control,omitempty"`
	Drift    *float64          `json:"drift"` // a share; null without control measurements
	Drifted  bool              `json:"drifted"`
	Warnings []string          `json:"warnings,omitempty"`
}

func describe(r measure.Run) Run {
	out := Run{ID: r.ID, Profile: r.Profile, Started: r.Started, Ended: r.Ended, Tool: r.Tool, Machine: r.Machine, Brokers: r.Brokers,
		Clients: r.Clients, Control: r.Control, Drifted: r.Drifted(), Warnings: r.Warnings}
	if share, ok := r.Drift(); ok {
		out.Drift = &share
	}
	return out
}

// facts are the lines above the tables of one run.
func (r Run) facts() [][]string {
	date := r.Started.UTC().Format("2006-01-02 15:04:05 UTC")
	if r.Ended == nil {
		date += ", not ended"
	} else {
		date += ", " + r.Ended.Sub(r.Started).Round(time.Second).String()
	}
	out := [][]string{{"date", date}, {"profile", r.Profile}, {"machine", machine(r.Machine)}, {"tool", tool(r.Tool)}}
	for _, b := range r.Brokers {
		out = append(out, []string{"broker", fmt.Sprintf("%s: RabbitMQ %s, Erlang %s", b.Label, b.RabbitMQ, b.Erlang)})
	}
	for _, c := range r.Clients {
		out = append(out, []string{"client", fmt.Sprintf("%s: %s %s, %s", c.Label, c.Library, c.Version, c.Runtime)})
	}
	out = append(out, []string{"drift", r.drift()})
	for _, w := range r.Warnings {
		out = append(out, []string{"warning", w})
	}
	return out
}

func (r Run) drift() string {
	switch {
	case r.Drift == nil && len(r.Control) == 0:
		return "not known: the run has no control measurements"
	case r.Drift == nil:
		return "not known: no broker has two control measurements"
	case r.Drifted:
		return fmt.Sprintf("%s of the control, more than %s: the machine was not steady", percent(*r.Drift), percent(measure.DriftLimit))
	}
	return percent(*r.Drift) + " of the control"
}

func machine(m measure.Machine) string {
	parts := []string{m.CPU, fmt.Sprintf("%d cores", m.Cores), number.Format(float64(m.MemoryBytes), measure.Bytes, number.Options{Digits: 2}),
		m.OS, "kernel " + m.Kernel, m.Arch}
	for _, p := range []string{m.Virtualisation, m.Governor} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	parts = append(parts, fmt.Sprintf("load %.2f", m.Load1))
	if m.StealShare != nil && m.StealShare.OK() {
		parts = append(parts, "steal "+percent(m.StealShare.Float64()))
	}
	return strings.Join(parts, ", ")
}

func tool(t measure.Tool) string {
	text := "genreport " + t.Version
	if t.Commit != "" {
		text += " " + t.Commit[:min(len(t.Commit), 12)]
	}
	if t.Dirty {
		text += " with uncommitted changes"
	}
	return text + ", " + t.Go
}

// percent shows a share: 0.4 %, 3.1 %, 12 %.
func percent(share float64) string {
	if share < 0.0995 {
		return fmt.Sprintf("%.1f\u00a0%%", 100*share)
	}
	return fmt.Sprintf("%.0f\u00a0%%", 100*share)
}
