package article

import (
	"errors"
	htmlpkg "html"
	"html/template"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"

	"genreport/cmd/genreport/internal/claim"
)

// Loose is a number that was typed into prose: neither bound to a result nor
// marked as given.
type Loose struct {
	Place
	Text string
}

// Used is a reference to a result: both languages of an article should have the
// same.
type Used struct {
	Place
	Key   string // without what only changes how the number is shown
	Text  string // what the page reads there
	Words bool   // a claim's, a fact or a label's name: not a number of a result
}

var (
	reference = regexp.MustCompile(`\$\{[^}]*\}`)
	tags      = regexp.MustCompile(`<[^>]*>`)
	numeral   = regexp.MustCompile(`[0-9]+(?:[.,][0-9]+)*`)
)

// looseNumbers are the numbers in a text outside references, each from one offset
// to another. A digit within a name, which a letter or underscore stands right
// before, is none: amqp091-go.
func looseNumbers(text string) [][]int {
	if !strings.ContainsAny(text, "0123456789") {
		return nil
	}
	text = reference.ReplaceAllStringFunc(text, func(ref string) string { return strings.Repeat("\x00", len(ref)) })
	var out [][]int
	for _, at := range numeral.FindAllStringIndex(text, -1) {
		before, _ := utf8.DecodeLastRuneInString(text[:at[0]])
		if before < utf8.RuneSelf && (unicode.IsLetter(before) || before == '_') {
			continue
		}
		out = append(out, at)
	}
	return out
}

// prose notes the loose numbers of a text that readers see.
func (r *resolver) prose(w written) {
	for _, n := range looseNumbers(w.text) {
		r.loose = append(r.loose, Loose{w.place(n[0]), w.text[n[0]:n[1]]})
	}
}

// looseText notes those of a document's text. Code is quoted, not said.
func (r *resolver) looseText(doc document) {
	_ = ast.Walk(doc.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.CodeSpan, *ast.CodeBlock, *ast.FencedCodeBlock:
			return ast.WalkSkipChildren, nil
		case *ast.Text:
			start := n.Segment.Start
			for _, at := range looseNumbers(string(n.Segment.Value(doc.source))) {
				if at[0] == 0 && start > 0 { // a name may go on over a node's border
					if b := doc.source[start-1]; b < utf8.RuneSelf && (unicode.IsLetter(rune(b)) || b == '_') {
						continue
					}
				}
				r.loose = append(r.loose, Loose{doc.written.place(start + at[0]), string(doc.source[start+at[0] : start+at[1]])})
			}
		case *ast.HTMLBlock:
			for i := range n.Lines().Len() {
				line := n.Lines().At(i)
				text := tags.ReplaceAllStringFunc(string(line.Value(doc.source)), func(tag string) string { return strings.Repeat("\x00", len(tag)) })
				r.prose(written{text, doc.written.file, func(offset int) place { return doc.written.at(line.Start + offset) }})
			}
		}
		return ast.WalkContinue, nil
	})
}

// sentence renders Markdown with references that stands outside the body: the
// words of a claim.
func (s source) sentence(r *resolver, w written, bad *faults) template.HTML {
	doc := r.parse([]byte(w.text), style{lang: s.lang})
	doc.written = w
	s.resolveRefs(r, doc, bad)
	_ = ast.Walk(doc.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading: // its id might be another's on the page
			bad.at(w.file, doc.placeOf(n), errors.New("a claim's words can't have a heading: put it above them"))
		case *east.FootnoteLink:
			bad.at(w.file, doc.placeOf(n), errors.New("a claim's words can't have a footnote: put it in the text beside them"))
		}
		return ast.WalkContinue, nil
	})
	r.looseText(doc)
	var b strings.Builder
	for n := doc.root.FirstChild(); n != nil; n = n.NextSibling() {
		h, err := doc.render(n)
		bad.at(w.file, w.at(0), err)
		b.WriteString(string(h))
	}
	return template.HTML(b.String())
}

// claimBlock is
//
//	```claim ID
//	holds: a sentence
//	fails: another
//	undecided: a third
//	```
//
// and gives the sentence of the verdict, with its mark.
func (s source) claimBlock(r *resolver, id string, line int, body string, bad *faults) template.HTML {
	at := place{line, 1}
	var w wordings
	text, err := readWords(s.file, line, body)
	if err == nil {
		err = text.decode(&w)
	}
	if err == nil {
		err = w.check()
	}
	if err != nil {
		bad.at(s.file, at, err)
		return ""
	}
	c, err := r.claimOf(id)
	if err != nil {
		bad.at(s.file, s.infoPlace(line, id), err)
		return ""
	}
	sentence := func(v claim.Verdict) template.HTML {
		return s.sentence(r, s.scalar(s.file, text.place(string(v)), w.of(v)), bad)
	}
	// The sentences that are not shown must be right too, and count for nothing.
	before := *r
	for _, v := range claim.Verdicts() {
		if v != c.Verdict {
			sentence(v)
		}
	}
	r.unmet, r.evidence, r.runs, r.draft, r.givenFrom = before.unmet, before.evidence, before.runs, before.draft, before.givenFrom
	html := string(sentence(c.Verdict))
	c.Sentence = template.HTML(html)
	r.used = append(r.used, Used{Place: Place{s.file, line, 1}, Key: claimTarget + "/" + id, Words: true})
	c.Uses = append(c.Uses, ClaimUse{Place{s.file, text.place(string(c.Verdict)).line, text.place(string(c.Verdict)).column},
		strings.TrimSpace(htmlpkg.UnescapeString(tags.ReplaceAllString(html, "")))})
	if i := strings.LastIndex(html, "</p>"); i >= 0 {
		html = html[:i] + string(c.mark(r.lang)) + html[i:]
	}
	return template.HTML(`<div class="claimed">` + html + "</div>\n")
}
