package main

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"genreport/cmd/genreport/internal/article"
	"genreport/measure"
	"genreport/measure/experiments"
	"genreport/measure/stats"
)

// scaffold has the files of a new article.
//
//go:embed scaffold
var scaffold embed.FS

// firstSite is the site.yaml of a content directory that has none.
const firstSite = `# What all pages share.
title: {zh: RabbitMQ, en: RabbitMQ} # change it
languages: [zh, en]
`

var articleName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func newCommand(_ context.Context, args []string, s streams) error {
	fs := flag.NewFlagSet("new", flag.ContinueOnError)
	content := fs.String("content", "content", "`DIR` with site.yaml and the articles")
	results := fs.String("results", "", "`DIR` with result files (default: content/results)")
	experiment := fs.String("experiment", "", "`NAME` of the experiment that it begins with (default: the first that was measured)")
	given, err := parseWith(fs, args, s, positional{"article NAME", 2, 2}, "Begins an article: NAME.yaml, and NAME.md in each language, with a headline number, a number in\ntext, a figure and a claim of one experiment. They render and pass `check` as they are, and say\nwhat to change. Files that are there are not touched.")
	if err != nil {
		return err
	}
	if given[0] != "article" {
		return usageError{fmt.Errorf("it makes no %q; write `genreport new article NAME`", given[0])}
	}
	name := given[1]
	if !articleName.MatchString(name) || name == "index" || name == "site" {
		return usageError{fmt.Errorf("the name %q is part of addresses: it may have lower-case letters, digits and dashes, and is neither index nor site", name)}
	}
	if err := checkResults(*results); err != nil {
		return err
	}
	files := map[string]string{}
	c, err := loadOrBegin(*content, files)
	if err != nil {
		return err
	}
	resultsDir := resultsFor(*results, experiments.Standard)
	data, err := readData(resultsDir)
	if err != nil {
		return err
	}
	a, err := outline(*experiment, data)
	if err != nil {
		return err
	}
	a.Name = name
	a.Series, a.Number = c.Next()
	if err := a.write(c.Site.Languages, files); err != nil {
		return err
	}
	if err := create(*content, files); err != nil {
		return err
	}
	for _, file := range sortedKeys(files) {
		fmt.Fprintln(s.out, filepath.Join(*content, filepath.FromSlash(file)))
	}
	if !a.measured {
		fmt.Fprintf(s.err, "no complete run of %s is in %s, so its numbers read \"not measured\": `genreport measure --experiment %s --profile standard`\n", a.Experiment, resultsDir, a.Experiment)
	}
	fmt.Fprintf(s.err, "now change the words; `genreport serve` shows the page while you do, and `genreport check` tells what does not hold\n")
	return nil
}

// loadOrBegin reads the content, or notes in files what an empty directory lacks.
func loadOrBegin(dir string, files map[string]string) (article.Content, error) {
	if _, err := os.Stat(filepath.Join(dir, "site.yaml")); errors.Is(err, fs.ErrNotExist) {
		files["site.yaml"] = firstSite
		return article.Content{Site: article.Site{Languages: []string{"zh", "en"}}}, nil
	}
	c, err := article.Load(os.DirFS(dir))
	if err != nil {
		return c, usageError{inDir(dir, err)}
	}
	return c, nil
}

// readData reads the results that pages would show.
func readData(dir string) (article.Data, error) {
	var runs []measure.Recorded
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		if runs, err = measure.Load(os.DirFS(dir), experiments.Methods()); err != nil {
			return article.Data{}, usageError{inDir(dir, err)}
		}
	}
	return article.NewData(catalog(), runs, profilesOf(experiments.Standard)), nil
}

// create writes files that are not there. If one is, nothing is written.
func create(dir string, files map[string]string) error {
	var there []string
	for _, name := range sortedKeys(files) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if _, err := os.Lstat(path); err == nil {
			there = append(there, path)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if len(there) > 0 {
		return usageError{fmt.Errorf("%s is there already: choose another name, or remove it", strings.Join(there, ", "))}
	}
	for _, name := range sortedKeys(files) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		_, err = f.WriteString(files[name])
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// draft is what the scaffold is filled with.
type draft struct {
	Name, Series                   string
	Number                         int
	Brokers                        []alias
	Experiment, Metric, Axis       string
	Over, Series2                  string // labels: along the figure's axis, and of its series
	Is                             string
	Where, FigureWhere, Case, Than measure.Labels
	High, Low, Ratio               string // references
	HighName, LowName              string // label=value
	HighGiven, LowGiven            string // the same, as front matter has it
	measured                       bool
}

type alias struct{ Alias, Label string }

// outline chooses what a new article shows of an experiment: a metric, and a
// label over whose values all else is the same and measured.
func outline(name string, data article.Data) (draft, error) {
	all := experiments.All()
	var chosen experiments.Experiment
	var result measure.Result
	measured := false
	for _, e := range all {
		res, ok := data.Newest(e.Name)
		if name == e.Name || name == "" && ok && !measured {
			chosen, result, measured = e, res, ok
		}
	}
	if chosen.Name == "" && name != "" {
		var names []string
		for _, e := range all {
			names = append(names, e.Name)
		}
		return draft{}, usageError{fmt.Errorf("--experiment: unknown experiment %q; there are %s", name, strings.Join(names, ", "))}
	}
	if chosen.Name == "" {
		chosen = all[0]
	}
	a := draft{Experiment: chosen.Name, measured: measured}
	labels := chosen.Brokers
	if measured {
		labels = nil
		for _, b := range data.BrokersOf(result) { // old versions first
			labels = append(labels, b.Label)
		}
	}
	for i, l := range labels {
		name := "current"
		if i < len(labels)-1 {
			name = "older-" + strconv.Itoa(len(labels)-1-i)
		}
		a.Brokers = append(a.Brokers, alias{name, l})
	}
	var cases []measure.Labels
	for _, c := range chosen.Cases(experiments.Standard) {
		cases = append(cases, c.Labels)
	}
	for _, metric := range metricsInOrder(chosen.Metrics) {
		if a.choose(cases, metric, chosen.Metrics[metric], result) {
			return a, nil
		}
	}
	return a, fmt.Errorf("in the newest run of %s there is no label over which a metric was measured everywhere: begin with another experiment", chosen.Name)
}

// metricsInOrder puts what readers ask for first.
func metricsInOrder(metrics map[string]measure.Metric) []string {
	names := sortedKeys(metrics)
	rank := func(name string) int {
		switch m := metrics[name]; {
		case name == "rate":
			return 0
		case m.Better != measure.Neither:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(names, func(x, y string) int { return cmp.Compare(rank(x), rank(y)) })
	return names
}

// choose fills the draft with the first label over which the metric can be
// compared, and reports whether there is one.
func (a *draft) choose(cases []measure.Labels, metric string, m measure.Metric, result measure.Result) bool {
	current := a.Brokers[len(a.Brokers)-1]
	for _, over := range labelsInOrder(cases) {
		for _, c := range cases {
			// Those that go with the case's other labels: a figure lists no more.
			values := valuesOf(slices.DeleteFunc(slices.Clone(cases), func(other measure.Labels) bool {
				return !maps.Equal(with(other, over, ""), with(c, over, ""))
			}), over)
			medians := make([]float64, len(values))
			ok := len(values) > 1
			for i, v := range values {
				labels := with(c, over, v)
				is := func(other measure.Labels) bool { return maps.Equal(other, labels) }
				if ok = ok && slices.ContainsFunc(cases, is); ok && a.measured {
					medians[i], ok = median(result, with(labels, "broker", current.Label), metric)
				}
			}
			if ok {
				a.Brokers = []alias{current}
				a.fill(metric, m, c, over, values, medians)
				return true
			}
		}
	}
	if len(a.Brokers) < 2 {
		return false
	}
	var values []string
	for _, b := range a.Brokers {
		values = append(values, b.Alias)
	}
	for _, c := range cases {
		medians := make([]float64, len(values))
		ok := true
		for i, b := range a.Brokers {
			if ok && a.measured {
				medians[i], ok = median(result, with(c, "broker", b.Label), metric)
			}
		}
		if ok {
			a.fill(metric, m, c, "broker", values, medians)
			return true
		}
	}
	return false
}

func (a *draft) fill(metric string, m measure.Metric, c measure.Labels, over string, values []string, medians []float64) {
	high, low := len(values)-1, 0
	for i, x := range medians {
		if x > medians[high] {
			high = i
		}
		if x < medians[low] {
			low = i
		}
	}
	a.Metric, a.Over, a.Is = metric, over, "greater"
	if a.measured && medians[high] == medians[low] {
		a.Is = "same"
		high, low = len(values)-1, 0
	}
	switch a.Axis = metric; m.Unit {
	case measure.Count:
	case measure.PerSecond:
		a.Axis += " / s"
	default:
		a.Axis += ", " + string(m.Unit)
	}
	a.FigureWhere = maps.Clone(c)
	delete(a.FigureWhere, over)
	a.Where = maps.Clone(a.FigureWhere)
	a.Series2 = "broker"
	if _, ok := a.Where["client"]; ok {
		a.Series2 = "client"
	} else if names := sortedKeys(a.Where); over == "broker" && len(names) > 0 {
		a.Series2 = names[0]
	}
	a.Case, a.Than = measure.Labels{over: values[high]}, measure.Labels{over: values[low]}
	target := a.Experiment + "/" + metric
	if words := labelWords(a.Where); words != "" {
		target += " " + words
	}
	a.HighName, a.LowName = over+"="+values[high], over+"="+values[low]
	a.High, a.Low = target+" "+a.HighName, target+" "+a.LowName
	a.Ratio = a.High + " : " + a.LowName
	a.HighGiven, a.LowGiven = a.given(values[high]), a.given(values[low])
}

// given is a value of the label that the draft is about, and where it is from.
func (a *draft) given(value string) string {
	return a.Over + " ${given/" + value + " | from=" + a.Experiment + "}"
}

// labelsInOrder puts first what has most values, and the client last.
func labelsInOrder(cases []measure.Labels) []string {
	seen := map[string]bool{}
	for _, c := range cases {
		for l := range c {
			seen[l] = true
		}
	}
	names := sortedKeys(seen)
	rank := func(l string) int {
		if l == "client" {
			return 1
		}
		return -len(valuesOf(cases, l))
	}
	slices.SortStableFunc(names, func(x, y string) int { return cmp.Compare(rank(x), rank(y)) })
	return names
}

func valuesOf(cases []measure.Labels, label string) []string {
	var out []string
	for _, c := range cases {
		if v, ok := c[label]; ok && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

func with(c measure.Labels, label, value string) measure.Labels {
	out := maps.Clone(c)
	out[label] = value
	return out
}

// median is that of a case of which every repeat has a number above 0.
func median(r measure.Result, labels measure.Labels, metric string) (float64, bool) {
	var samples []float64
	for _, c := range r.Cells {
		if !maps.Equal(c.Labels, labels) {
			continue
		}
		v := c.Values[metric]
		if c.Failure != nil || !v.OK() || v.Float64() <= 0 {
			return 0, false
		}
		samples = append(samples, v.Float64())
	}
	s, err := stats.Summarize(samples)
	return s.Median, err == nil
}

func labelWords(l measure.Labels) string {
	var out []string
	for _, k := range sortedKeys(l) {
		out = append(out, k+"="+l[k])
	}
	return strings.Join(out, " ")
}

// write adds the files of the article.
func (a draft) write(languages []string, files map[string]string) error {
	t, err := template.New("").Funcs(template.FuncMap{
		"quote": strconv.Quote,
		"yaml": func(l measure.Labels) string {
			var out []string
			for _, k := range sortedKeys(l) {
				out = append(out, k+": "+strconv.Quote(l[k]))
			}
			return "{" + strings.Join(out, ", ") + "}"
		},
	}).ParseFS(scaffold, "scaffold/*")
	if err != nil {
		return err
	}
	from := map[string]string{a.Name + ".yaml": "article.yaml"}
	for _, lang := range languages {
		from[lang+"/"+a.Name+".md"] = lang + ".md"
	}
	for to, name := range from {
		var b bytes.Buffer
		if err := t.ExecuteTemplate(&b, name, a); err != nil {
			return err
		}
		files[to] = b.String()
	}
	return nil
}
