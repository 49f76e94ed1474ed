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

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"genreport/cmd/genreport/internal/number"
	"genreport/measure"
)

// Resolve makes the pages, in the order of their numbers, each language in
// turn. An error in one article does not hide those of the others.
func (c Content) Resolve(d Data) ([]Page, error) {
	all, errs := make([]Page, len(c.articles)), make([]error, len(c.articles))
	var wg sync.WaitGroup
	for _, slug := range c.slugs() {
		wg.Go(func() {
			var cited []measure.Run
			for i, s := range c.articles {
				if s.slug != slug {
					continue
				}
				if cited == nil {
					cited = s.likelyRuns(d)
				}
				all[i], cited, errs[i] = s.resolve(d, cited)
			}
		})
	}
	wg.Wait()
	var pages []Page
	for i, p := range all {
		if errs[i] == nil {
			pages = append(pages, p)
		}
	}
	return pages, errors.Join(errs...)
}

// ResolveBefore makes the pages as they were before a run was added: d lacks it, and later are those with it. Pages that the run has
// nothing for are the later ones; of a page that nothing had been measured for there is only its name.
func (c Content) ResolveBefore(d Data, added measure.Recorded, later []Page) ([]Page, error) {
	pages := slices.Clone(later)
	var errs []error
	for i, s := range c.articles { // one page each: all could be resolved
		switch p := later[i]; {
		case !p.asked.needs(added):
		case !slices.ContainsFunc(d.runs, p.asked.has):
			pages[i] = Page{Slug: p.Slug, Lang: p.Lang, Series: p.Series, Number: p.Number, Aside: p.Aside, ForAuthors: p.ForAuthors, asked: p.asked}
		default:
			var err error
			pages[i], _, err = s.resolve(d, s.likelyRuns(d))
			errs = append(errs, err)
		}
	}
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

// slugs are those of the articles, in their order.
func (c Content) slugs() []string {
	var all []string
	for _, s := range c.articles {
		if !slices.Contains(all, s.slug) {
			all = append(all, s.slug)
		}
	}
	return all
}

// likelyRuns is a guess of the runs that the page will cite.
func (s source) likelyRuns(d Data) []measure.Run {
	var runs []measure.Run
	for _, id := range slices.Sorted(maps.Keys(s.shared.Claims)) {
		_, run, why := d.find(s.shared.Claims[id].Experiment, s.shared.Brokers["current"])
		if why == "" && !slices.ContainsFunc(runs, func(r measure.Run) bool { return r.ID == run.ID }) {
			runs = append(runs, run)
		}
	}
	return runs
}

// resolve makes the page, and tells the runs that it cites. What run.json tells stands in the first sentence, and which runs the numbers
// come from is known after the last: when they are not those guessed, the page is made again.
func (s source) resolve(d Data, guess []measure.Run) (Page, []measure.Run, error) {
	p, r, err := s.resolveWith(d, guess)
	if err != nil {
		return p, nil, err
	}
	var cited []measure.Run
	for _, src := range r.runs {
		cited = append(cited, src.Run)
	}
	if slices.EqualFunc(cited, guess, func(a, b measure.Run) bool { return a.ID == b.ID }) {
		return p, cited, nil
	}
	p, _, err = s.resolveWith(d, cited)
	return p, cited, err
}

func (s source) resolveWith(d Data, cited []measure.Run) (Page, *resolver, error) {
	r := &resolver{data: d.watched(), lang: s.lang, brokers: s.shared.Brokers, file: s.file, cited: cited,
		sources: s.shared.Sources, declaredClaims: s.shared.Claims, faulty: map[string]error{}}
	p := Page{Slug: s.slug, Lang: s.lang, Series: s.shared.Series, Number: s.shared.Number, Aside: s.aside, ForAuthors: s.forAuthors}
	var bad faults
	for _, id := range slices.Sorted(maps.Keys(s.shared.Claims)) {
		if err := s.shared.Claims[id].check(r); err != nil {
			r.faulty[id] = err
			bad.add(s.sharedFile, s.lineIn("claims", id), fmt.Errorf("claim %s: %w", id, err))
		}
	}
	s.resolveBody(r, &p, &bad)
	s.resolveFront(r, &p, &bad)
	p.Errata = s.errata(r, &bad)
	s.resolveClaims(r, &p, &bad)
	p.Evidence = r.evidenceOf()
	p.Runs, p.Draft, p.Unmet, p.Used, p.Loose = r.runs, r.draft, r.unmet, r.used, r.loose
	p.asked = *r.data.asked
	return p, r, bad.join()
}

func (s source) resolveFront(r *resolver, p *Page, bad *faults) {
	plain := func(text string) string {
		r.line = s.lineOf(text)
		r.prose(text, r.line)
		out, err := r.plain(text)
		bad.add(s.file, s.lineOf(text), err)
		return out
	}
	inline := func(text string) template.HTML {
		r.line = s.lineOf(text)
		r.prose(text, r.line)
		out, err := r.inline(text, ref{})
		bad.add(s.file, s.lineOf(text), err)
		return out
	}
	p.Title, p.Question, p.Summary = plain(s.front.Title), plain(s.front.Question), plain(s.front.Summary)
	for _, h := range s.front.Headlines {
		p.Headlines = append(p.Headlines, Headline{Value: inline(h.Value), Label: inline(h.Label), Note: inline(h.Note)})
	}
}

// resolveClaims lists the page's claims, and finds those that it does not use.
func (s source) resolveClaims(r *resolver, p *Page, bad *faults) {
	for _, c := range r.claims {
		c.File, c.Line = s.sharedFile, s.lineIn("claims", c.Name)
		p.Claims = append(p.Claims, *c)
	}
	for _, id := range slices.Sorted(maps.Keys(s.shared.Claims)) {
		if r.faulty[id] == nil && !slices.ContainsFunc(r.claims, func(c *Claim) bool { return c.Name == id }) {
			bad.add(s.file, 1, fmt.Errorf("claim %s is declared in %s and not used here", id, s.sharedFile))
		}
	}
}

// lineOf is where a front-matter text stands, by its first words; 1 if they
// are folded over lines.
func (s source) lineOf(text string) int {
	for i, line := range strings.Split(s.head, "\n") {
		if strings.Contains(line, text) {
			return i + 2
		}
	}
	return 1
}

func (s source) resolveBody(r *resolver, p *Page, bad *faults) {
	doc := parseMarkdown(s.body, style{s.lang, s.front.HTML})
	s.resolveRefs(r, doc, bad)
	r.looseText(doc.root, s.body, func(offset int) int { return lineAt(s.body, offset) })
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
			line := lineAt(s.body, f.Info.Segment.Start)
			info := string(f.Info.Segment.Value(s.body))
			kind, rest, _ := strings.Cut(info, " ")
			switch kind {
			case "output":
				endLede()
				flush()
				o := r.output(rest, codeText(f, s.body), line, func(at int, err error) { bad.add(s.file, line+at, err) })
				if o != nil {
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
					bad.add(s.file, line, fmt.Errorf("figure %s is there twice", id))
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
			bad.add(s.file, 1, err)
		}
		html.WriteString(string(h))
	}
	endLede()
	flush()
	for id := range s.shared.Figures {
		if !figures[id] {
			bad.add(s.file, 1, fmt.Errorf("figure %s is declared in %s and not shown here", id, s.sharedFile))
		}
	}
	s.unshown(own, bad)
	p.Shapes = own.shapes
}

func (s source) figure(r *resolver, id string, line int, body string, bad *faults) *Figure {
	d, ok := s.shared.Figures[id]
	if !ok {
		bad.add(s.file, line, unknown("figure", id, keys(s.shared.Figures)))
		return nil
	}
	var w figureWords
	if err := decodeYAML(s.file, line, []byte(body), &w); err != nil {
		bad.list = append(bad.list, err)
		return nil
	}
	if err := r.declared(d); err != nil {
		bad.add(s.sharedFile, s.lineIn("figures", id), fmt.Errorf("figure %s: %w", id, err))
		return nil
	}
	r.line = line
	for _, text := range append([]string{w.Title, w.Caption, w.Alt, w.X, w.Y}, w.Phases...) {
		r.prose(text, line)
	}
	f, err := r.figure(id, d, w)
	bad.add(s.file, line, err)
	return f
}

// lineIn is where SLUG.yaml declares something within one of its keys.
func (s source) lineIn(key, id string) int {
	within := 0
	for i, line := range strings.Split(s.sharedText, "\n") {
		if line != "" && line[0] != ' ' && line[0] != '#' {
			within = 0
			if strings.HasPrefix(line, key+":") {
				within = i + 1
			}
		}
		if within > 0 && strings.HasPrefix(strings.TrimSpace(line), id+":") {
			return i + 1
		}
		if within == i+1 && strings.Contains(line, "{") { // all on one line
			return i + 1
		}
	}
	return 1
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
	_ = ast.Walk(doc.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		if at, err := doc.check(n); err != nil && at >= 0 {
			bad.add(s.file, lineAt(s.body, at), err)
		} else {
			bad.add(s.file, s.lineOfBlock(n), err)
		}
		switch n := n.(type) {
		case *refNode:
			line := lineAt(s.body, n.offset)
			r.line = line
			parsed, err := parseRef(n.text)
			var v resolved
			if err == nil {
				v, err = r.lookup(parsed, ref{})
			}
			bad.add(s.file, line, err)
			n.html, n.plain = v.html(s.lang), v.words(s.lang)
		case *ast.CodeSpan:
			return ast.WalkSkipChildren, nil
		case *ast.Image:
			if holdsRef(n) || strings.Contains(string(n.Destination)+string(n.Title), refOpen) {
				bad.add(s.file, s.lineOfBlock(n), errors.New("an image can't hold a reference: say the number in the text beside it"))
				return ast.WalkSkipChildren, nil
			}
		case *ast.FencedCodeBlock:
			s.checkFence(n, bad)
		case *ast.Text:
			if i := bytes.Index(segment(n.Segment, s.body), []byte(refOpen)); i >= 0 {
				bad.add(s.file, lineAt(s.body, n.Segment.Start+i), errors.New("${ has no closing } on its line"))
			}
		case *ast.Link:
			if strings.Contains(string(n.Destination)+string(n.Title), refOpen) {
				bad.add(s.file, s.lineOfBlock(n), errors.New("a link's address and title can't hold a reference"))
			}
		}
		return ast.WalkContinue, nil
	})
}

func holdsRef(n ast.Node) bool {
	found := false
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		_, ok := n.(*refNode)
		found = found || ok
		return ast.WalkContinue, nil
	})
	return found
}

// checkFence finds a block that was meant to be an output or a figure, and one
// that swallows what follows because it has no end.
func (s source) checkFence(f *ast.FencedCodeBlock, bad *faults) {
	kind, line := "", 1
	if f.Info != nil {
		line = lineAt(s.body, f.Info.Segment.Start)
		kind, _, _ = strings.Cut(string(f.Info.Segment.Value(s.body)), " ")
	} else if f.Lines().Len() > 0 {
		line = lineAt(s.body, f.Lines().At(0).Start) - 1
	}
	blocks := append([]string{"output", "figure", "claim"}, ownKinds()...)
	if near := unknown("block", kind, blocks); !slices.Contains(blocks, kind) && strings.Contains(near.Error(), "did you mean") {
		bad.add(s.file, line, near)
	}
	end := len(s.body)
	if n := f.Lines().Len(); n > 0 {
		end = f.Lines().At(n - 1).Stop
	}
	if f.NextSibling() == nil && !bytes.Contains(s.body[min(end, len(s.body)):], []byte("```")) && !bytes.Contains(s.body[min(end, len(s.body)):], []byte("~~~")) {
		bad.add(s.file, line, errors.New("the block has no closing ``` and takes in everything that follows"))
	}
}

// lineOfBlock is where the block that holds an inline node begins: links don't
// know their own place.
func (s source) lineOfBlock(n ast.Node) int {
	for n != nil && n.Type() == ast.TypeInline {
		n = n.Parent()
	}
	if n == nil || n.Lines().Len() == 0 {
		return 1
	}
	return lineAt(s.body, n.Lines().At(0).Start)
}

func segment(seg text.Segment, source []byte) []byte { return seg.Value(source) }

// evidenceOf describes the cases that the page cites, by experiment.
func (r *resolver) evidenceOf() []Evidence {
	var out []Evidence
	for _, k := range r.evidence {
		res, run, why := r.data.find(k.experiment, k.labels["broker"])
		if why != "" {
			continue
		}
		for _, g := range groups(res, k.labels) {
			e := Evidence{ID: k.id(), Experiment: k.experiment, Labels: g.labels, Command: inRepository(g.cells[0].Command),
				Repeats: len(g.cells), TooFew: g.tooFew(res.Metrics), Limits: g.limits(), Added: g.added(), Failed: g.failed(),
				Data: Link{Href: "data/" + run.ID + "/" + k.experiment + ".json", Text: k.experiment + ".json"}}
			for _, name := range slices.Sorted(slices.Values(keys(res.Metrics))) {
				if !slices.Contains(k.metrics, name) {
					e.Others++
					continue
				}
				e.Metrics = append(e.Metrics, describeMetric(g, name, res.Metrics[name]))
			}
			out = append(out, e)
		}
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
	for _, x := range numbers {
		e.Samples = append(e.Samples, show(x))
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
