package article

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"

	"genreport/cmd/genreport/internal/number"
	"genreport/measure"
	"genreport/measure/parallel"
	"genreport/measure/stats"
)

// Resolve makes the pages, in the order of their numbers, each language in
// turn. An error in one article does not hide those of the others.
func (c Content) Resolve(d Data) ([]Page, error) {
	all, errs := make([]Page, len(c.articles)), make([]error, len(c.articles))
	size := func(i int) int { return len(c.articles[i].body) }
	parallel.Do(len(c.articles), size, func(i int) { all[i], _, errs[i] = c.articles[i].resolve(d, c.articles[i].likely(d)) })
	var pages []Page
	for i, p := range all {
		if errs[i] == nil {
			pages = append(pages, p)
		}
	}
	return pages, errors.Join(errs...)
}

// ResolveBefore makes the pages as they were before a run was added: d lacks it,
// and later are those with it. Pages that the run has nothing for are the later
// ones; of a page that nothing had been measured for there is only its name.
func (c Content) ResolveBefore(d Data, added measure.Recorded, later []Page) ([]Page, error) {
	pages, errs := slices.Clone(later), make([]error, len(later))
	var wg sync.WaitGroup
	for i, s := range c.articles { // one page each: all could be resolved
		switch p := later[i]; {
		case !p.asked.needs(added):
		case !slices.ContainsFunc(d.runs, p.asked.has):
			pages[i] = Page{Slug: p.Slug, Lang: p.Lang, Series: p.Series, Number: p.Number, Aside: p.Aside, ForAuthors: p.ForAuthors, asked: p.asked}
		default:
			wg.Go(func() { pages[i], _, errs[i] = s.resolve(d, s.likely(d)) })
		}
	}
	wg.Wait()
	return pages, errors.Join(errs...)
}

func (a asked) has(rec measure.Recorded) bool {
	for e := range rec.Results {
		if a.experiments[e] {
			return true
		}
	}
	return false
}

func (a asked) needs(rec measure.Recorded) bool { return a.anyRun || a.has(rec) }

// leads are what the numbers of a page come from: known once they all are looked
// up, and asked for by what stands before them.
type leads struct {
	cited []measure.Run
	shown []string // experiments that the page has evidence of
}

func (r *resolver) led() leads {
	var l leads
	for _, src := range r.runs {
		l.cited = append(l.cited, src.Run)
	}
	l.shown = keysInOrder(r.evidence)
	return l
}

// same reports whether a page made with one reads as one made with the other, of
// the same data.
func (l leads) same(other leads) bool {
	return slices.Equal(slices.Sorted(slices.Values(l.shown)), slices.Sorted(slices.Values(other.shown))) &&
		slices.EqualFunc(l.cited, other.cited, func(a, b measure.Run) bool { return a.ID == b.ID })
}

// likely is a guess of a page's leads.
func (s source) likely(d Data) leads {
	var l leads
	for _, id := range slices.Sorted(maps.Keys(s.shared.Claims)) {
		experiment := s.shared.Claims[id].Experiment
		_, run, why := d.find(experiment, s.shared.Brokers["current"])
		if why != "" {
			continue
		}
		if !slices.ContainsFunc(l.cited, func(r measure.Run) bool { return r.ID == run.ID }) {
			l.cited = append(l.cited, run)
		}
		if !slices.Contains(l.shown, experiment) {
			l.shown = append(l.shown, experiment)
		}
	}
	return l
}

// resolve makes the page, and tells its leads. With those that it had before it is
// made once, else twice.
func (s source) resolve(d Data, guess leads) (Page, leads, error) {
	p, r, err := s.resolveWith(d, guess)
	if err != nil {
		return p, guess, err
	}
	found := r.led()
	if !found.same(guess) {
		p, _, err = s.resolveWith(d, found)
	}
	return p, found, err
}

func (s source) resolveWith(d Data, known leads) (Page, *resolver, error) {
	r := &resolver{data: d.watched(), lang: s.lang, brokers: s.shared.Brokers, here: Place{s.file, 1, 1}, leads: known,
		sources: s.shared.Sources, declaredClaims: s.shared.Claims, faulty: map[string]error{}, markdowns: map[style]goldmark.Markdown{}}
	p := Page{Slug: s.slug, Lang: s.lang, Series: s.shared.Series, Number: s.shared.Number, Aside: s.aside, ForAuthors: s.forAuthors}
	var bad faults
	shared := s.sharedWords()
	r.shared = shared
	for _, id := range slices.Sorted(maps.Keys(s.shared.Claims)) {
		if err := s.shared.Claims[id].check(r); err != nil {
			r.faulty[id] = err
			bad.at(s.sharedFile, shared.placeOf(err, "claims", id), fmt.Errorf("claim %s: %w", id, err))
		}
	}
	s.resolveBody(r, &p, &bad)
	s.resolveFront(r, &p, &bad)
	p.Errata = s.errata(r, &bad)
	s.resolveClaims(r, &p, shared, &bad)
	p.Evidence = r.evidenceOf()
	p.Runs, p.Draft, p.Unmet, p.Used, p.Loose = r.runs, r.draft, r.unmet, r.used, r.loose
	p.Given, p.Unsourced = r.givenSources(), r.unsourced
	p.asked = *r.data.asked
	return p, r, bad.join()
}

func (s source) resolveFront(r *resolver, p *Page, bad *faults) {
	plain := func(text, key string) string { return s.say(r, s.frontWords, text, bad, key) }
	p.Title, p.Question, p.Summary = plain(s.front.Title, "title"), plain(s.front.Question, "question"), plain(s.front.Summary, "summary")
	for i, h := range s.front.Headlines {
		inline := func(text, key string) template.HTML {
			return s.sayHTML(r, s.frontWords, text, bad, "headlines", strconv.Itoa(i), key)
		}
		p.Headlines = append(p.Headlines, Headline{Value: inline(h.Value, "value"), Label: inline(h.Label, "label"), Note: inline(h.Note, "note")})
	}
}

// resolveClaims lists the page's claims, and finds those that it does not use.
func (s source) resolveClaims(r *resolver, p *Page, shared placedText, bad *faults) {
	for _, c := range r.claims {
		at := shared.place("claims", c.Name)
		c.Place = Place{s.sharedFile, at.line, at.column}
		p.Claims = append(p.Claims, *c)
	}
	for _, id := range slices.Sorted(maps.Keys(s.shared.Claims)) {
		if r.faulty[id] == nil && !slices.ContainsFunc(r.claims, func(c *Claim) bool { return c.Name == id }) {
			bad.at(s.file, begin(), fmt.Errorf("claim %s is declared in %s and not used here", id, s.sharedFile))
		}
	}
}

func (s source) resolveBody(r *resolver, p *Page, bad *faults) {
	doc := r.parse(s.body, style{s.lang, s.front.HTML})
	body := string(s.body)
	doc.written = written{body, s.file, placesIn(body)}
	s.resolveRefs(r, doc, bad)
	r.looseText(doc)
	var html strings.Builder
	flush := func() {
		if html.Len() > 0 {
			p.Blocks = append(p.Blocks, Block{HTML: template.HTML(html.String())})
			html.Reset()
		}
	}
	figures := map[string]bool{}
	own := ownBlocks{shown: map[string]bool{}}
	inLede := true
	endLede := func() {
		if inLede {
			p.Lede = template.HTML(html.String())
			html.Reset()
			inLede = false
		}
	}
	for n := doc.root.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok {
			endLede()
			if h.Level == 2 {
				id, _ := h.AttributeString("id")
				idBytes, _ := id.([]byte)
				p.Contents = append(p.Contents, Heading{ID: string(idBytes), Text: doc.plainText(h)})
			}
		}
		if f, ok := n.(*ast.FencedCodeBlock); ok && f.Info != nil {
			line := lineAt(body, f.Info.Segment.Start)
			info := string(f.Info.Segment.Value(s.body))
			kind, rest, _ := strings.Cut(info, " ")
			switch kind {
			case "output":
				endLede()
				flush()
				if o := s.output(r, doc, f, bad); o != nil {
					p.Blocks = append(p.Blocks, Block{Output: o})
				}
				continue
			case "claim":
				html.WriteString(string(s.claimBlock(r, strings.TrimSpace(rest), line, codeText(f, s.body), bad)))
				continue
			case "figure":
				endLede()
				flush()
				id := strings.TrimSpace(rest)
				if figures[id] {
					bad.at(s.file, s.infoPlace(line, id), fmt.Errorf("figure %s is there twice", id))
				}
				figures[id] = true
				if fig := s.figure(r, id, line, codeText(f, s.body), bad); fig != nil {
					p.Blocks = append(p.Blocks, Block{Figure: fig})
				}
				continue
			}
			if slices.Contains(ownKinds(), kind) {
				endLede()
				flush()
				if b, ok := s.ownBlock(r, &own, kind, strings.TrimSpace(rest), line, codeText(f, s.body), bad); ok {
					p.Blocks = append(p.Blocks, b)
				}
				continue
			}
		}
		h, err := doc.render(n)
		if err != nil {
			bad.at(s.file, doc.placeOf(n), err)
		}
		html.WriteString(string(h))
	}
	endLede()
	flush()
	for id := range s.shared.Figures {
		if !figures[id] {
			bad.at(s.file, begin(), fmt.Errorf("figure %s is declared in %s and not shown here", id, s.sharedFile))
		}
	}
	s.unshown(own, bad)
	p.Shapes = own.shapes
}

func (s source) figure(r *resolver, id string, line int, body string, bad *faults) *Figure {
	d, ok := s.shared.Figures[id]
	if !ok {
		bad.at(s.file, s.infoPlace(line, id), unknown("figure", id, keys(s.shared.Figures)))
		return nil
	}
	before := len(bad.list)
	at := place{line, 1}
	text, err := readWords(s.file, line, body)
	var w figureWords
	if err == nil {
		err = text.decode(&w)
	}
	if err != nil {
		bad.at(s.file, at, err)
		return nil
	}
	shared := s.sharedWords()
	if err := r.declared(d); err != nil {
		bad.at(s.sharedFile, shared.placeOf(err, "figures", id), fmt.Errorf("figure %s: %w", id, err))
		return nil
	}
	if w.Title == "" || w.Alt == "" {
		bad.at(s.file, at, errors.New("a figure needs title and alt"))
		return nil
	}
	if len(w.Phases) != 0 && (len(w.Phases) != 2 || d.Zero == "") {
		bad.at(s.file, text.place("phases"), errors.New("phases are two, before and after the zero of a figure of kind time"))
		return nil
	}
	defer r.within(d.Experiment)()
	title, caption := s.sayHTML(r, text, w.Title, bad, "title"), s.sayHTML(r, text, w.Caption, bad, "caption")
	say := func(in *string, path ...string) { *in = s.say(r, text, *in, bad, path...) }
	say(&w.Title, "title")
	say(&w.Alt, "alt")
	say(&w.X, "x")
	say(&w.Y, "y")
	for i := range w.Phases {
		say(&w.Phases[i], "phases", strconv.Itoa(i))
	}
	have := append(r.values(r.data.catalog[d.Experiment], d.Series), d.Metrics...)
	for _, name := range slices.Sorted(maps.Keys(w.Names)) {
		if !slices.Contains(have, name) {
			bad.at(s.file, text.place("names", name), unknown("series or metric", name, have))
		}
		w.Names[name] = s.say(r, text, w.Names[name], bad, "names", name)
	}
	r.here = Place{s.file, line, 1}
	f, err := r.figure(id, d, w)
	if err != nil {
		bad.at(s.sharedFile, shared.placeOf(err, "figures", id), fmt.Errorf("figure %s: %w", id, err))
	}
	if len(bad.list) > before {
		return nil
	}
	f.Title, f.Caption = title, caption
	return f
}

func codeText(f *ast.FencedCodeBlock, source []byte) string {
	var b strings.Builder
	lines := f.Lines()
	for i := range lines.Len() {
		seg := lines.At(i)
		b.Write(seg.Value(source))
	}
	return b.String()
}

// resolveRefs looks up every reference node, and finds what looks like one but
// was not closed on its line.
func (s source) resolveRefs(r *resolver, doc document, bad *faults) {
	file := doc.written.file
	var inImages []*refNode
	_ = ast.Walk(doc.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		if at, err := doc.check(n); err != nil && at >= 0 {
			bad.at(file, doc.written.at(at), err)
		} else if err != nil {
			bad.at(file, doc.placeOf(n), err)
		}
		switch n := n.(type) {
		case *refNode:
			start := n.offset + len(refOpen)
			v, err := r.resolve(doc.written, start, start+len(n.text), ref{})
			if err != nil {
				bad.at(file, doc.written.at(n.offset), err)
			}
			n.html, n.plain = v.html(s.lang), v.words(s.lang)
			for up := n.Parent(); up != nil; up = up.Parent() {
				switch up.(type) {
				case *ast.Link: // which leads where its author wants
					n.html = template.HTML(template.HTMLEscapeString(n.plain))
				case *ast.Image:
					inImages = append(inImages, n)
				}
			}
		case *ast.CodeSpan:
			return ast.WalkSkipChildren, nil
		case *ast.Image:
			if strings.Contains(string(n.Destination)+string(n.Title), refOpen) {
				bad.at(file, doc.placeOf(n), errors.New("an image's address and title can't hold a reference: its alternative text can"))
				return ast.WalkSkipChildren, nil
			}
		case *ast.FencedCodeBlock:
			s.checkFence(doc, n, bad)
		case *ast.Text:
			if i := bytes.Index(n.Segment.Value(doc.source), []byte(refOpen)); i >= 0 {
				bad.at(file, doc.written.at(n.Segment.Start+i), errors.New("${ has no closing } on its line"))
			}
		case *ast.Link:
			if strings.Contains(string(n.Destination)+string(n.Title), refOpen) {
				bad.at(file, doc.placeOf(n), errors.New("a link's address and title can't hold a reference"))
			}
		}
		return ast.WalkContinue, nil
	})
	for _, n := range inImages { // an alternative text has no markup
		n.Parent().ReplaceChild(n.Parent(), n, ast.NewString([]byte(n.plain)))
	}
}

// checkFence finds a block that was meant to be an output or a figure, and one
// that swallows what follows because it has no end.
func (s source) checkFence(doc document, f *ast.FencedCodeBlock, bad *faults) {
	kind, at := "", begin()
	if f.Info != nil {
		at = doc.written.at(f.Info.Segment.Start)
		kind, _, _ = strings.Cut(string(f.Info.Segment.Value(doc.source)), " ")
	} else if f.Lines().Len() > 0 {
		at = place{max(1, doc.written.at(f.Lines().At(0).Start).line-1), 1}
	}
	blocks := append([]string{"output", "figure", "claim"}, ownKinds()...)
	if near := unknown("block", kind, blocks); !slices.Contains(blocks, kind) && strings.Contains(near.Error(), "did you mean") {
		bad.at(doc.written.file, at, near)
	}
	end := len(doc.source)
	if n := f.Lines().Len(); n > 0 {
		end = f.Lines().At(n - 1).Stop
	}
	rest := doc.source[min(end, len(doc.source)):]
	if f.NextSibling() == nil && !bytes.Contains(rest, []byte("```")) && !bytes.Contains(rest, []byte("~~~")) {
		bad.at(doc.written.file, at, errors.New("the block has no closing ``` and takes in everything that follows"))
	}
}

// placeOf is where a node is: a link by the text within it, and what has none
// where its block begins.
func (d document) placeOf(n ast.Node) place {
	before := 0
	switch n.(type) {
	case *ast.Link:
		before = len("[")
	case *ast.Image:
		before = len("![")
	}
	for in := n; in != nil && in.Type() == ast.TypeInline; in = in.FirstChild() {
		switch in := in.(type) {
		case *ast.Text:
			return d.written.at(max(0, in.Segment.Start-before))
		case *refNode:
			return d.written.at(max(0, in.offset-before))
		}
	}
	if n.Type() == ast.TypeInline {
		if text, ok := n.PreviousSibling().(*ast.Text); ok {
			return d.written.at(text.Segment.Stop)
		}
	}
	for n != nil && n.Type() == ast.TypeInline {
		n = n.Parent()
	}
	if n == nil || n.Type() == ast.TypeDocument || n.Lines() == nil || n.Lines().Len() == 0 {
		return d.written.at(0)
	}
	return d.written.at(n.Lines().At(0).Start)
}

// evidenceOf describes the cases that the page cites, by experiment.
func (r *resolver) evidenceOf() []Evidence {
	var out []Evidence
	for _, k := range r.evidence {
		res, run, why := r.data.find(k.experiment, k.labels["broker"])
		if why != "" {
			continue
		}
		e := Evidence{ID: k.anchor, Experiment: k.experiment, Labels: k.labels, Command: inRepository(k.cells[0].Command),
			Repeats: len(k.cells), TooFew: k.tooFew(res.Metrics), Limits: k.limits(), Added: k.added(), Failed: k.failed(),
			Data: Link{Href: "data/" + run.ID + "/" + k.experiment + ".json", Text: k.experiment + ".json"}}
		for _, name := range slices.Sorted(slices.Values(keys(res.Metrics))) {
			if !slices.Contains(k.metrics, name) {
				e.Others++
				continue
			}
			e.Metrics = append(e.Metrics, describeMetric(k.group, name, res.Metrics[name]))
		}
		out = append(out, e)
	}
	order := keysInOrder(r.evidence)
	slices.SortStableFunc(out, func(a, b Evidence) int {
		return slices.Index(order, a.Experiment) - slices.Index(order, b.Experiment)
	})
	return out
}

func keysInOrder(list []evidenceKey) []string {
	var out []string
	for _, k := range list {
		if !slices.Contains(out, k.experiment) {
			out = append(out, k.experiment)
		}
	}
	return out
}

// inRepository is a command as it is typed in a clone, where `make build` has put
// the program.
func inRepository(command string) string {
	if strings.HasPrefix(command, "genreport ") {
		return "build/" + command
	}
	return command
}

// evidenceDigits shows samples finer than the text does.
const evidenceDigits = 5

func describeMetric(g group, name string, m measure.Metric) EvidenceMetric {
	e := EvidenceMetric{Name: name, Unit: string(m.Unit), Description: m.Description}
	s, reason := g.summary(name)
	if reason != "" {
		e.Missing = reason
		return e
	}
	show := func(x float64) string {
		if n := int64(x); m.Exact || float64(n) == x && m.Unit == measure.Count {
			return number.Exact(n)
		}
		return number.Format(x, m.Unit, number.Options{Digits: evidenceDigits})
	}
	if m.Unit == measure.Count {
		e.Unit = ""
	}
	e.ClientBound = g.marked(m)
	e.Median, e.Low, e.High = show(s.Median), show(s.Min), show(s.Max)
	if s.Interval {
		e.Interval = show(s.Low) + "–" + show(s.High)
	}
	numbers, _ := g.samples(name)
	outliers := stats.Outliers(numbers)
	for i, x := range numbers {
		e.Samples = append(e.Samples, ShownSample{show(x), slices.Contains(outliers, i)})
	}
	if e.Unit != "" && m.Unit != measure.PerSecond {
		e.Unit = "" // the values carry it
	}
	return e
}

// String names a page in messages.
func (p Page) String() string {
	return p.Lang + "/" + p.Slug + " (" + p.Series + " " + strconv.Itoa(p.Number) + ")"
}
