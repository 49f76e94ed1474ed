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
)

// Loose is a number that was typed into prose: neither bound to a result nor
// marked as given.
type Loose struct {
	File string
	Line int
	Text string
}

// Used is a reference to a result: both languages of an article should have the
// same.
type Used struct {
	Key  string // without what only changes how the number is shown
	File string
	Line int
}

var (
	reference = regexp.MustCompile(`\$\{[^}]*\}`)
	tags      = regexp.MustCompile(`<[^>]*>`)
	numeral   = regexp.MustCompile(`[0-9]+(?:[.,][0-9]+)*`)
)

// looseNumbers are the numbers in a text outside references. A digit within a
// name, which a letter or underscore stands right before, is none: amqp091-go.
func looseNumbers(text string) []string {
	text = reference.ReplaceAllString(text, "\x00")
	var out []string
	for _, at := range numeral.FindAllStringIndex(text, -1) {
		before, _ := utf8.DecodeLastRuneInString(text[:at[0]])
		if before < utf8.RuneSelf && (unicode.IsLetter(before) || before == '_') {
			continue
		}
		out = append(out, text[at[0]:at[1]])
	}
	return out
}

// prose notes the loose numbers of a text that readers see.
func (r *resolver) prose(text string, line int) {
	for _, n := range looseNumbers(text) {
		r.loose = append(r.loose, Loose{r.file, line, n})
	}
}

// looseText notes those of a document's text. Code is quoted, not said.
func (r *resolver) looseText(root ast.Node, source []byte, lineOf func(offset int) int) {
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.CodeSpan, *ast.CodeBlock, *ast.FencedCodeBlock:
			return ast.WalkSkipChildren, nil
		case *ast.Text:
			text := string(n.Segment.Value(source))
			if n.Segment.Start > 0 { // a name may go on over a node's border
				if b := source[n.Segment.Start-1]; b < utf8.RuneSelf && (unicode.IsLetter(rune(b)) || b == '_') {
					text = string(rune(b)) + text
				}
			}
			r.prose(text, lineOf(n.Segment.Start))
		case *ast.HTMLBlock:
			for i := range n.Lines().Len() {
				line := n.Lines().At(i)
				r.prose(tags.ReplaceAllString(string(line.Value(source)), ""), lineOf(line.Start))
			}
		}
		return ast.WalkContinue, nil
	})
}

// sentence renders Markdown with references that stands outside the body: the
// words of a claim.
func (s source) sentence(r *resolver, text string, line int, bad *faults) template.HTML {
	doc := parseMarkdown([]byte(text), style{lang: s.lang})
	r.line = line
	_ = ast.Walk(doc.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		_, err := doc.check(n)
		bad.add(s.file, line, err)
		switch n := n.(type) {
		case *refNode:
			parsed, err := parseRef(n.text)
			var v resolved
			if err == nil {
				v, err = r.lookup(parsed, ref{})
			}
			bad.add(s.file, line, err)
			n.html, n.plain = v.html(s.lang), v.words(s.lang)
		case *ast.Heading: // its id might be another's on the page
			bad.add(s.file, line, errors.New("a claim's words can't have a heading: put it above them"))
		case *east.FootnoteLink:
			bad.add(s.file, line, errors.New("a claim's words can't have a footnote: put it in the text beside them"))
		case *ast.Text:
			if strings.Contains(string(n.Segment.Value(doc.source)), refOpen) {
				bad.add(s.file, line, errors.New("${ has no closing } on its line"))
			}
		}
		return ast.WalkContinue, nil
	})
	r.looseText(doc.root, doc.source, func(int) int { return line })
	var b strings.Builder
	for n := doc.root.FirstChild(); n != nil; n = n.NextSibling() {
		h, err := doc.render(n)
		bad.add(s.file, line, err)
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
	var w wordings
	if err := decodeYAML(s.file, line, []byte(body), &w); err != nil {
		bad.list = append(bad.list, err)
		return ""
	}
	if err := w.check(); err != nil {
		bad.add(s.file, line, err)
		return ""
	}
	c, err := r.claimOf(id)
	if err != nil {
		bad.add(s.file, line, err)
		return ""
	}
	// The sentences that are not shown must be right too, and count for nothing.
	before := *r
	for _, text := range []string{w.Holds, w.Fails, w.Undecided} {
		if text != w.of(c.Verdict) {
			s.sentence(r, text, line, bad)
		}
	}
	r.unmet, r.evidence, r.runs, r.draft = before.unmet, before.evidence, before.runs, before.draft
	html := string(s.sentence(r, w.of(c.Verdict), line, bad))
	c.Sentence = template.HTML(html)
	c.Uses = append(c.Uses, ClaimUse{s.file, line, strings.TrimSpace(htmlpkg.UnescapeString(tags.ReplaceAllString(html, "")))})
	if i := strings.LastIndex(html, "</p>"); i >= 0 {
		html = html[:i] + string(c.mark()) + html[i:]
	}
	return template.HTML(`<div class="claimed">` + html + "</div>\n")
}
