package article

import (
	"errors"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"genreport/measure"
)

// Setup is how something was set up and run, folded away.
type Setup struct {
	Title    template.HTML
	Text     template.HTML // paragraphs; may be ""
	Config   string
	Commands string
}

// setup is
//
//	```setup
//	title: …
//	text: Markdown
//	config: what stands in a configuration file
//	commands: what is typed
//	experiment: …      # the commands of its cases, from the result file
//	where: {label: value}
//	```
func (s source) setup(r *resolver, line int, body string, bad *faults) *Setup {
	before := len(bad.list)
	at := place{line, 1}
	text, err := readWords(s.file, line, body)
	var w struct {
		Title      string         `yaml:"title"`
		Text       string         `yaml:"text"`
		Config     string         `yaml:"config"`
		Commands   string         `yaml:"commands"`
		Experiment string         `yaml:"experiment"`
		Where      measure.Labels `yaml:"where"`
	}
	if err == nil {
		err = text.decode(&w)
	}
	if err != nil {
		bad.at(s.file, at, err)
		return nil
	}
	if w.Title == "" {
		bad.at(s.file, at, errors.New("setup needs a title"))
	}
	out := &Setup{Title: s.sayHTML(r, text, w.Title, bad, "title"), Config: strings.TrimRight(w.Config, "\n"), Commands: strings.TrimRight(w.Commands, "\n")}
	if w.Text != "" {
		out.Text = template.HTML(s.passage(r, w.Text, text.place("text"), bad))
	}
	if w.Experiment == "" && w.Where != nil {
		bad.at(s.file, text.place("where"), errors.New("where chooses cases of an experiment, and none is named"))
	}
	if w.Experiment != "" {
		commands, err := r.commands(w.Experiment, w.Where)
		bad.at(s.file, text.placeOf(err), err)
		out.Commands = strings.Trim(out.Commands+"\n"+strings.Join(commands, "\n"), "\n")
	}
	if out.Text == "" && out.Config == "" && out.Commands == "" {
		bad.at(s.file, at, errors.New("setup shows nothing: give text, config, commands or experiment"))
	}
	if len(bad.list) > before {
		return nil
	}
	return out
}

// commands measure the cases of an experiment again, on each broker of the page
// unless the labels name one.
func (r *resolver) commands(experiment string, where measure.Labels) ([]string, error) {
	known, ok := r.data.catalog[experiment]
	if !ok {
		return nil, wrong(unknown("experiment", experiment, keys(r.data.catalog)), "experiment")
	}
	aliases := []string{where[brokerLabel]}
	if aliases[0] == "" {
		aliases = r.values(known, brokerLabel)
	}
	var out []string
	for _, alias := range aliases {
		all, missing, err := r.cases(known, experiment, overlay(where, measure.Labels{brokerLabel: alias}))
		if err != nil {
			return nil, err
		}
		if missing != "" {
			out = append(out, "# "+r.miss(missing).text)
			continue
		}
		for _, g := range all {
			if c := inRepository(g.cells[0].Command); c != "" && !slices.Contains(out, c) {
				out = append(out, c)
			}
		}
	}
	return out, nil
}

// calloutKinds are what a callout may be.
func calloutKinds() []string { return []string{"note", "warning"} }

// Callout is a remark beside the text.
type Callout struct {
	Kind  string // see calloutKinds
	Title template.HTML
	Text  template.HTML // paragraphs
}

// callout is
//
//	```callout note A title, if you like
//	Markdown
//	```
func (s source) callout(r *resolver, info string, line int, body string, bad *faults) *Callout {
	before := len(bad.list)
	kind, title, _ := strings.Cut(strings.TrimSpace(info), " ")
	at := place{line, len("```callout ") + 1}
	if !slices.Contains(calloutKinds(), kind) {
		bad.at(s.file, at, unknown("kind of callout", kind, calloutKinds()))
		return nil
	}
	if strings.TrimSpace(body) == "" {
		bad.at(s.file, at, fmt.Errorf("the %s says nothing", kind))
		return nil
	}
	out := &Callout{Kind: kind}
	if title = strings.TrimSpace(title); title != "" {
		out.Title = s.sayHTML(r, placedText{file: s.file, top: s.infoPlace(line, title)}, title, bad)
	}
	out.Text = template.HTML(s.passage(r, body, place{line + 1, 1}, bad))
	if len(bad.list) > before {
		return nil
	}
	return out
}
