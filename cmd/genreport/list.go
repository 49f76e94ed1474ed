package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"genreport/measure"
	"genreport/measure/broker"
	"genreport/measure/database"
	"genreport/measure/debian"
	"genreport/measure/experiments"
)

func experimentsCommand(_ context.Context, args []string, s streams) error {
	fs := flag.NewFlagSet("experiments", flag.ContinueOnError)
	asJSON := fs.Bool("json", false, "print JSON")
	if err := parse(fs, args, s, "Lists the experiments with their cases and metrics."); err != nil {
		return err
	}
	type row struct {
		Name     string                    `json:"name"`
		Title    string                    `json:"title"`
		Method   int                       `json:"method"`
		Brokers  []string                  `json:"brokers"`
		Cases    []measure.Labels          `json:"cases"`
		Metrics  map[string]measure.Metric `json:"metrics"`
		Texts    map[string]string         `json:"texts"`
		Series   map[string]string         `json:"series"`
		Params   map[string]string         `json:"parameters"` // of the profile standard
		Settable []settable                `json:"settable"`
	}
	var rows []row
	for _, e := range experiments.All() {
		r := row{Name: e.Name, Title: e.Title, Method: e.Method, Brokers: e.Brokers, Metrics: e.Metrics, Texts: e.Texts, Series: e.Series, Params: e.Params(experiments.Standard), Settable: []settable{}}
		for _, p := range e.Settable {
			r.Settable = append(r.Settable, newSettable(p))
		}
		for _, c := range e.Cases(experiments.Standard) {
			r.Cases = append(r.Cases, c.Labels)
		}
		rows = append(rows, r)
	}
	if *asJSON {
		enc := json.NewEncoder(s.out)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		return enc.Encode(rows)
	}
	for i, r := range rows {
		if i > 0 {
			fmt.Fprintln(s.out)
		}
		fmt.Fprintf(s.out, "%s\n  %s\n  brokers  %s\n", r.Name, r.Title, strings.Join(r.Brokers, ", "))
		for _, line := range labelValues(r.Cases) {
			fmt.Fprintf(s.out, "  label    %s\n", line)
		}
		w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
		for _, name := range sortedKeys(r.Metrics) {
			m := r.Metrics[name]
			fmt.Fprintf(w, "  metric   %s\t%s\t%s\n", name, m.Unit, m.Description)
		}
		for _, name := range sortedKeys(r.Texts) {
			fmt.Fprintf(w, "  text     %s\t\t%s\n", name, r.Texts[name])
		}
		for _, name := range sortedKeys(r.Series) {
			fmt.Fprintf(w, "  series   %s\t\t%s\n", name, r.Series[name])
		}
		for _, name := range sortedKeys(r.Params) {
			fmt.Fprintf(w, "  given    @%s\t\t%s\n", name, r.Params[name])
		}
		for _, p := range r.Settable {
			fmt.Fprintf(w, "  param    %s\t%s\t%s; %s\n", p.Name, p.Unit, p.Description, p.rangeText())
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// settable is a parameter that --param sets.
type settable struct {
	Name        string                          `json:"name"`
	Unit        measure.Unit                    `json:"unit"`
	Default     map[experiments.Profile]float64 `json:"default"`
	Least       float64                         `json:"least"`
	Most        float64                         `json:"most"`
	Whole       bool                            `json:"whole"` // only whole numbers
	Description string                          `json:"description"`
}

func newSettable(p experiments.Parameter) settable {
	s := settable{Name: p.Name, Unit: p.Unit, Default: map[experiments.Profile]float64{}, Least: p.Least, Most: p.Most, Whole: !p.Fraction, Description: p.Description}
	for _, profile := range experiments.Profiles() {
		s.Default[profile] = p.Default(profile)
	}
	return s
}

// rangeText is what the parameter is by default, and what it may be.
func (s settable) rangeText() string {
	plain := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	var values, defaults []string
	for _, p := range experiments.Profiles() {
		values = append(values, plain(s.Default[p]))
		defaults = append(defaults, values[len(values)-1]+" ("+string(p)+")")
	}
	if len(slices.Compact(values)) == 1 {
		defaults = values[:1]
	}
	return fmt.Sprintf("%s…%s, by default %s", plain(s.Least), plain(s.Most), strings.Join(defaults, ", "))
}

// labelValues is a line per label with all values that cases have for it.
func labelValues(cases []measure.Labels) []string {
	values := map[string][]string{}
	for _, c := range cases {
		for k, v := range c {
			if !slices.Contains(values[k], v) {
				values[k] = append(values[k], v)
			}
		}
	}
	var lines []string
	for _, k := range sortedKeys(values) {
		lines = append(lines, k+" = "+strings.Join(values[k], " | "))
	}
	return lines
}

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func brokersCommand(ctx context.Context, args []string, s streams) error {
	fs := flag.NewFlagSet("brokers", flag.ContinueOnError)
	var f struct {
		refresh, asJSON, offline bool
		mirror                   string
	}
	fs.BoolVar(&f.refresh, "refresh", false, "build what the archive has newer than the cache; of databases, only those that are in it")
	fs.BoolVar(&f.asJSON, "json", false, "print JSON")
	fs.BoolVar(&f.offline, "offline", false, "list the cache alone")
	fs.StringVar(&f.mirror, "mirror", "", "`URL` of a Debian archive (default: $GENREPORT_MIRROR, or the machine's own apt configuration)")
	if err := parse(fs, args, s, "Lists the root file systems of brokers and databases that are cached, and what the archive now has."); err != nil {
		return err
	}
	p := newProgress(s.err, false)
	d := debian.Debian{Mirror: mirror(f.mirror), Log: p.say}
	type row struct {
		Broker   string   `json:"broker,omitempty"`
		Database string   `json:"database,omitempty"`
		Server   string   `json:"server,omitempty"` // of a database: MySQL or MariaDB
		Cached   []string `json:"cached"`
		Archive  string   `json:"archive,omitempty"`
		Error    string   `json:"error,omitempty"`
	}
	var rows []row
	var errs []error
	list := func(image debian.Image, server string) error {
		cached, err := d.Cached(image)
		if err != nil {
			return err
		}
		names := slices.Clone(image.Suites)
		for _, c := range cached {
			if !slices.Contains(names, c.Suite) {
				names = append(names, c.Suite)
			}
		}
		for _, suite := range names {
			r := row{Broker: "debian:" + suite, Cached: []string{}}
			if server != "" {
				r = row{Database: "debian:" + suite, Server: server, Cached: []string{}}
			}
			has := func(c debian.Rootfs) bool { return c.Suite == suite }
			// Few need a database, and it is large: what nobody has used is not built.
			if f.refresh && (server == "" || slices.ContainsFunc(cached, has)) {
				if _, err := d.Refresh(ctx, image, suite); err != nil {
					errs = append(errs, err)
				}
				if cached, err = d.Cached(image); err != nil {
					return err
				}
			}
			for _, c := range cached {
				if has(c) {
					r.Cached = append(r.Cached, c.Package)
				}
			}
			if !f.offline {
				if r.Archive, err = d.Available(ctx, image, suite); err != nil {
					r.Error = err.Error()
					if server == "" {
						errs = append(errs, err)
					} else { // a mirror without it has all that brokers need
						p.say(r.Error)
					}
				}
			}
			rows = append(rows, r)
		}
		return nil
	}
	if err := list(broker.Image(), ""); err != nil {
		return err
	}
	for _, server := range []string{database.MySQL, database.MariaDB} {
		if err := list(database.Images()[server], server); err != nil {
			return err
		}
	}
	if f.asJSON {
		enc := json.NewEncoder(s.out)
		enc.SetIndent("", "  ")
		return errors.Join(append(errs, enc.Encode(rows))...)
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "BROKER\tCACHED\tARCHIVE")
	for i, r := range rows {
		name := r.Broker
		if r.Database != "" {
			name = r.Database + " (" + r.Server + ")"
			if rows[i-1].Database == "" {
				fmt.Fprintln(w, "\nDATABASE\tCACHED\tARCHIVE")
			}
		}
		archive := r.Archive
		if archive == "" {
			archive = "?"
		}
		cachedText := strings.Join(r.Cached, ", ")
		if cachedText == "" {
			cachedText = "-"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", name, cachedText, archive)
	}
	return errors.Join(append(errs, w.Flush())...)
}
