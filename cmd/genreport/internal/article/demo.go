package article

import (
	"cmp"
	"errors"
	"fmt"
	htmlpkg "html"
	"html/template"
	"maps"
	"slices"
	"strconv"
	"strings"

	"genreport/cmd/genreport/internal/diagram"
)

// demoDeclared is a step-by-step demonstration, in SLUG.yaml: things, links
// between them, and how they are in each step. Its words are in the Markdown.
type demoDeclared struct {
	Objects  map[string]demoObject       `yaml:"objects"`
	Links    map[string]demoLink         `yaml:"links"`
	Recorded map[string]recordedDeclared `yaml:"recorded"` // series of results that steps show
	Steps    []demoStep                  `yaml:"steps"`
}

type demoObject struct {
	Kind string `yaml:"kind"`
	At   []int  `yaml:"at"` // column and row, from 1
	To   []int  `yaml:"to"` // the last column and row that it takes, if it takes several
}

type demoLink struct {
	From string `yaml:"from"`
	To   string `yaml:"to"`
}

// demoStep lists who is in which state; what isn't listed is idle.
type demoStep struct {
	ID       string              `yaml:"id"`
	Active   []string            `yaml:"active"`
	Blocked  []string            `yaml:"blocked"`
	Closed   []string            `yaml:"closed"`
	Absent   []string            `yaml:"absent"`
	Messages map[string][]string `yaml:"messages"` // by link: a mark for each on its way
	Labels   map[string]string   `yaml:"labels"`   // counters and what needs no translation
	Recorded *demoRecorded       `yaml:"recorded"`
}

// demoWords is the body of a demo block:
//
//	```demo ID
//	title: …
//	names: {object: its name}
//	recorded: {series: {name: what was recorded, zero: what happens at zero}}
//	steps:
//	  STEP: {title: …, caption: Markdown, labels: {object or link: text}}
//	```
type demoWords struct {
	Title    string                   `yaml:"title"`
	Caption  string                   `yaml:"caption"`
	Names    map[string]string        `yaml:"names"`
	Recorded map[string]recordedWords `yaml:"recorded"`
	Steps    map[string]demoStepWords `yaml:"steps"`
}

type demoStepWords struct {
	Title   string            `yaml:"title"`
	Caption string            `yaml:"caption"`
	Labels  map[string]string `yaml:"labels"`
}

// Demo is a step-by-step demonstration.
type Demo struct {
	ID      string // unique on the page
	Title   template.HTML
	Caption template.HTML
	Steps   []DemoStep
	Diagram diagram.Diagram
}

// DemoStep is the wording of one step; its picture is the diagram's.
type DemoStep struct {
	ID       string
	Title    template.HTML
	Caption  template.HTML // paragraphs
	Recorded *DemoRecorded // nil where it shows no recorded data
}

// gridMost is how many columns and rows a demonstration may have.
const gridMost = 8

// check refuses what can't be drawn.
func (d demoDeclared) check(at placedText, bad *faults) bool {
	before := len(bad.list)
	fail := func(err error, path ...string) { bad.at(at.file, at.place(path...), err) }
	if len(d.Objects) == 0 || len(d.Steps) == 0 {
		fail(errors.New("a demonstration needs objects and steps"))
	}
	for _, id := range slices.Sorted(maps.Keys(d.Objects)) {
		o := d.Objects[id]
		if !slices.Contains(diagram.Kinds(), o.Kind) {
			fail(unknown("kind of object", o.Kind, diagram.Kinds()), "objects", id, "kind")
		}
		if !isCell(o.At) {
			fail(fmt.Errorf("at is [column, row], each from 1 to %d", gridMost), "objects", id, "at")
		} else if o.To != nil && (!isCell(o.To) || o.To[0] < o.At[0] || o.To[1] < o.At[1]) {
			fail(fmt.Errorf("to is [column, row] of the last cell, not before at and at most %d", gridMost), "objects", id, "to")
		}
	}
	for _, id := range slices.Sorted(maps.Keys(d.Links)) {
		l := d.Links[id]
		if _, twice := d.Objects[id]; twice {
			fail(fmt.Errorf("%s is an object too: states tell them apart by name", id), "links", id)
		}
		for _, end := range [][2]string{{"from", l.From}, {"to", l.To}} {
			if o, ok := d.Objects[end[1]]; !ok {
				fail(unknown("object", end[1], keys(d.Objects)), "links", id, end[0])
			} else if o.Kind == diagram.Group {
				fail(fmt.Errorf("%s is a group: a link leads to what stands in it", end[1]), "links", id, end[0])
			}
		}
		if l.From == l.To && l.From != "" {
			fail(errors.New("the link leads back to where it begins"), "links", id)
		}
	}
	all := append(keys(d.Objects), keys(d.Links)...)
	seen := map[string]bool{}
	for i, s := range d.Steps {
		n := strconv.Itoa(i)
		switch {
		case s.ID == "":
			fail(errors.New("the step has no id, by which the Markdown names it"), "steps", n)
		case seen[s.ID]:
			fail(fmt.Errorf("step %s is there twice", s.ID), "steps", n, "id")
		}
		seen[s.ID] = true
		state := map[string]string{}
		for _, list := range s.lists() {
			for k, id := range list.ids {
				where := []string{"steps", n, string(list.state), strconv.Itoa(k)}
				if !slices.Contains(all, id) {
					fail(unknown("object or link", id, all), where...)
				} else if state[id] != "" {
					fail(fmt.Errorf("%s is %s and %s in one step", id, state[id], list.state), where...)
				}
				state[id] = string(list.state)
			}
		}
		for _, id := range slices.Sorted(maps.Keys(s.Messages)) {
			if _, ok := d.Links[id]; !ok {
				fail(unknown("link", id, keys(d.Links)), "steps", n, "messages", id)
			}
		}
		for _, id := range slices.Sorted(maps.Keys(s.Labels)) {
			if !slices.Contains(all, id) {
				fail(unknown("object or link", id, all), "steps", n, "labels", id)
			}
		}
	}
	return len(bad.list) == before
}

func isCell(at []int) bool {
	return len(at) == 2 && at[0] >= 1 && at[0] <= gridMost && at[1] >= 1 && at[1] <= gridMost
}

type stateList struct {
	state diagram.State
	ids   []string
}

func (s demoStep) lists() []stateList {
	return []stateList{{diagram.Active, s.Active}, {diagram.Blocked, s.Blocked}, {diagram.Closed, s.Closed}, {diagram.Absent, s.Absent}}
}

// demo makes a demonstration; nil where something is wrong.
func (s source) demo(r *resolver, id string, line int, body string, bad *faults) *Demo {
	before := len(bad.list)
	d, at, ok := declaredIn[demoDeclared](s, "demos", "demonstration", id, keys(s.shared.Demos), line, bad)
	if !ok || !d.check(at, bad) {
		return nil
	}
	if r.checkRecorded(d, at, bad); len(bad.list) > before {
		return nil
	}
	text, err := readWords(s.file, line, body)
	var w demoWords
	if err == nil {
		err = text.decode(&w)
	}
	if err != nil {
		bad.at(s.file, place{line, 1}, err)
		return nil
	}
	say := func(where placedText, text string, path ...string) string { return s.say(r, where, text, bad, path...) }
	if w.Title == "" {
		bad.at(s.file, place{line, 1}, errors.New("a demonstration needs a title"))
	}
	for _, name := range slices.Sorted(maps.Keys(w.Names)) {
		if _, ok := d.Objects[name]; !ok {
			bad.at(s.file, text.place("names", name), unknown("object", name, keys(d.Objects)))
		}
	}
	out := &Demo{ID: "demo-" + id, Title: s.sayHTML(r, text, w.Title, bad, "title")}
	out.Diagram = diagram.Diagram{ID: out.ID, Words: stateWords(r.lang), Colon: colon(r.lang)}
	if w.Caption != "" {
		out.Caption = template.HTML(s.passage(r, w.Caption, text.place("caption"), bad))
	}
	for _, name := range slices.Sorted(maps.Keys(d.Objects)) {
		o := d.Objects[name]
		if w.Names[name] == "" {
			bad.at(s.file, text.place("names"), fmt.Errorf("object %s has no name", name))
		}
		b := diagram.Box{ID: name, Kind: o.Kind, Name: say(text, w.Names[name], "names", name), At: diagram.Cell{Column: o.At[0], Row: o.At[1]}}
		b.To = b.At
		if o.To != nil {
			b.To = diagram.Cell{Column: o.To[0], Row: o.To[1]}
		}
		out.Diagram.Boxes = append(out.Diagram.Boxes, b)
	}
	slices.SortStableFunc(out.Diagram.Boxes, func(a, b diagram.Box) int { // as they are read
		return cmp.Or(cmp.Compare(a.At.Row, b.At.Row), cmp.Compare(a.At.Column, b.At.Column))
	})
	for _, name := range slices.Sorted(maps.Keys(d.Links)) {
		out.Diagram.Links = append(out.Diagram.Links, diagram.Link{ID: name, From: d.Links[name].From, To: d.Links[name].To})
	}
	var ids []string
	for _, step := range d.Steps {
		ids = append(ids, step.ID)
	}
	for _, name := range slices.Sorted(maps.Keys(w.Steps)) {
		if !slices.Contains(ids, name) {
			bad.at(s.file, text.place("steps", name), unknown("step", name, ids))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.Recorded)) {
		if _, ok := d.Recorded[name]; !ok {
			bad.at(s.file, text.place("recorded", name), unknown("recorded series", name, keys(d.Recorded)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Recorded)) {
		if w.Recorded[name].Name == "" {
			bad.at(s.file, text.place("recorded", name), fmt.Errorf("recorded series %s has no name", name))
		}
	}
	defer func() { r.moments = moments{} }()
	for i, step := range d.Steps {
		said, ok := w.Steps[step.ID]
		if !ok || said.Title == "" || said.Caption == "" {
			bad.at(s.file, text.place("steps", step.ID), fmt.Errorf("step %s needs a title and a caption", step.ID))
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(said.Labels)) {
			if _, link := d.Links[name]; !link {
				if _, object := d.Objects[name]; !object {
					bad.at(s.file, text.place("steps", step.ID, "labels", name), unknown("object or link", name, append(keys(d.Objects), keys(d.Links)...)))
				}
			}
		}
		looks := map[string]diagram.Look{}
		for _, list := range step.lists() {
			for _, name := range list.ids {
				looks[name] = diagram.Look{State: list.state}
			}
		}
		for name, marks := range step.Messages {
			l := looks[name]
			l.State, l.Messages = cmp.Or(l.State, diagram.Active), marks
			looks[name] = l
		}
		for _, name := range slices.Sorted(maps.Keys(step.Labels)) {
			l := looks[name]
			l.Label = say(at, step.Labels[name], "steps", strconv.Itoa(i), "labels", name)
			looks[name] = l
		}
		for _, name := range slices.Sorted(maps.Keys(said.Labels)) {
			l := looks[name]
			l.Label = say(text, said.Labels[name], "steps", step.ID, "labels", name)
			looks[name] = l
		}
		one := DemoStep{ID: fmt.Sprintf("%s-%d", out.ID, i+1)}
		r.moments = moments{}
		if rec := step.Recorded; rec != nil {
			one.Recorded, r.moments = s.recorded(r, one.ID+"-recorded", *rec, d.Recorded[rec.Show], w.Recorded[rec.Show], text, at, bad)
		}
		one.Title = s.sayHTML(r, text, said.Title, bad, "steps", step.ID, "title")
		one.Caption = template.HTML(s.passage(r, said.Caption, text.place("steps", step.ID, "caption"), bad))
		out.Steps = append(out.Steps, one)
		out.Diagram.Steps = append(out.Diagram.Steps, diagram.Step{Title: plainOf(one.Title), Description: plainOf(one.Caption), Looks: looks})
	}
	if len(bad.list) > before {
		return nil
	}
	return out
}

// plainOf is the text of HTML.
func plainOf(h template.HTML) string {
	return strings.TrimSpace(htmlpkg.UnescapeString(tags.ReplaceAllString(string(h), "")))
}

func colon(lang string) string {
	if lang == "zh" {
		return "\uff1a"
	}
	return ": "
}

func stateWords(lang string) map[diagram.State]string {
	if lang == "zh" {
		return map[diagram.State]string{diagram.Idle: "空闲", diagram.Active: "工作中", diagram.Blocked: "受阻", diagram.Closed: "已关闭"}
	}
	return map[diagram.State]string{diagram.Idle: "idle", diagram.Active: "active", diagram.Blocked: "blocked", diagram.Closed: "closed"}
}
