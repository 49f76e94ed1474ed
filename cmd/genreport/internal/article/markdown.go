package article

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// style is what a piece of Markdown is written and rendered with.
type style struct {
	lang string
	html bool // HTML is passed on; the front matter asks for it
}

// newMarkdown is goldmark as articles use it: tables, footnotes, references,
// plain addresses as links, and emphasis that works beside Chinese punctuation.
// There is no typographer: two hyphens stay two hyphens.
func newMarkdown(s style) goldmark.Markdown {
	title, back := "Footnote ^^", "back to the text"
	if s.lang == "zh" {
		title, back = "\u811a\u6ce8 ^^", "\u56de\u5230\u6b63\u6587"
	}
	options := []renderer.Option{renderer.WithNodeRenderers(util.Prioritized(refRenderer{}, 50)), html.WithXHTML()}
	if s.html {
		options = append(options, html.WithUnsafe())
	}
	return goldmark.New(
		goldmark.WithExtensions(extension.Table,
			extension.NewFootnote(extension.WithFootnoteLinkTitle(title), extension.WithFootnoteBacklinkTitle(back),
				extension.WithFootnoteBacklinkHTML(`<span aria-hidden="true">&#x21a9;&#xfe0e;</span><span class="unseen">`+back+`</span>`)),
			extension.NewCJK(extension.WithEscapedSpace())),
		goldmark.WithParserOptions(
			parser.WithAutoHeadingID(),
			parser.WithInlineParsers(
				util.Prioritized(refParser{}, 50), // before emphasis and links
				util.Prioritized(emphasisParser{}, 499),
			),
			parser.WithASTTransformers(util.Prioritized(autolinks{}, 500)),
		),
		goldmark.WithRendererOptions(options...),
	)
}

// emphasisParser is CommonMark's emphasis with one more rule: Chinese, Japanese
// and Korean have no spaces between words, so that a delimiter beside their
// characters may open or close whatever punctuation is on its other side. It is
// the rule of the specification "CJK-friendly emphasis"; goldmark's own has none.
type emphasisParser struct{}

func (emphasisParser) Trigger() []byte { return []byte{'*', '_'} }

func (emphasisParser) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	node := parser.ScanDelimiter(line, before, 1, emphasis{})
	if node == nil {
		return nil
	}
	after := ' '
	if node.OriginalLength < len(line) {
		after, _ = utf8.DecodeRune(line[node.OriginalLength:])
	}
	if isCJK(before) || isCJK(after) {
		punct := func(r rune) bool { return util.IsPunctRune(r) && !isCJK(r) }
		left := !util.IsSpaceRune(after) && (!punct(after) || util.IsSpaceRune(before) || punct(before) || isCJK(before))
		right := !util.IsSpaceRune(before) && (!punct(before) || util.IsSpaceRune(after) || punct(after) || isCJK(after))
		node.CanOpen, node.CanClose = left, right
		if node.Char == '_' {
			node.CanOpen = left && (!right || util.IsPunctRune(before))
			node.CanClose = right && (!left || util.IsPunctRune(after))
		}
	}
	node.Segment = segment.WithStop(segment.Start + node.OriginalLength)
	block.Advance(node.OriginalLength)
	pc.PushDelimiter(node)
	return node
}

type emphasis struct{}

func (emphasis) IsDelimiter(b byte) bool { return b == '*' || b == '_' }
func (emphasis) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	return opener.Char == closer.Char
}
func (emphasis) OnMatch(consumes int) ast.Node { return ast.NewEmphasis(consumes) }

// isCJK tells characters of scripts that put no spaces between words, and their
// full-width punctuation.
func isCJK(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Bopomofo, unicode.Hangul) || isFullWidthMark(r)
}

// isFullWidthMark tells punctuation whose glyph brings its own space.
func isFullWidthMark(r rune) bool {
	return r >= 0x3000 && r <= 0x303f || r >= 0xff01 && r <= 0xff60 && !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

// autolinks makes links of plain addresses. An address is ASCII, so that it ends
// before a Chinese full stop or a Chinese word; goldmark's own linkifier goes on
// over both, and finds no address that follows a Chinese character.
type autolinks struct{}

var address = regexp.MustCompile(`https?://[A-Za-z0-9][-A-Za-z0-9._~:/?#@!&'()*+,;=%\[\]]*`)

func (autolinks) Transform(doc *ast.Document, reader text.Reader, _ parser.Context) {
	source := reader.Source()
	var texts []*ast.Text
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.CodeSpan, *ast.Link, *ast.Image:
			return ast.WalkSkipChildren, nil
		case *ast.Text:
			texts = append(texts, n)
		}
		return ast.WalkContinue, nil
	})
	for i, t := range texts { // an address with a _ in it is in several
		if i > 0 && t.PreviousSibling() == ast.Node(texts[i-1]) && texts[i-1].Segment.Len() > 0 && texts[i-1].Merge(t, source) {
			t.Parent().RemoveChild(t.Parent(), t)
			texts[i] = texts[i-1]
		}
	}
	for i, t := range texts {
		if i == 0 || t != texts[i-1] {
			linkAddresses(t, source)
		}
	}
}

func linkAddresses(t *ast.Text, source []byte) {
	parent := t.Parent()
	for {
		value := t.Segment.Value(source)
		at := address.FindIndex(value)
		if at == nil || t.Segment.Padding > 0 {
			return
		}
		start, stop := t.Segment.Start+at[0], t.Segment.Start+at[0]+addressEnd(value[at[0]:at[1]])
		if start > 0 && isWordByte(source[start-1]) {
			return
		}
		if at[0] > 0 {
			parent.InsertBefore(parent, t, ast.NewTextSegment(text.NewSegment(t.Segment.Start, start)))
		}
		parent.InsertBefore(parent, t, ast.NewAutoLink(ast.AutoLinkURL, ast.NewTextSegment(text.NewSegment(start, stop))))
		t.Segment = t.Segment.WithStart(stop)
	}
}

func isWordByte(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '_'
}

// addressEnd leaves out punctuation that belongs to the sentence, and a closing
// parenthesis that the address has not opened.
func addressEnd(url []byte) int {
	for n := len(url); n > 0; n-- {
		switch c := url[n-1]; {
		case strings.IndexByte("?!.,:;*_~'", c) >= 0:
		case c == ')' && bytes.Count(url[:n], []byte("(")) < bytes.Count(url[:n], []byte(")")):
		case c == ']' && bytes.Count(url[:n], []byte("[")) < bytes.Count(url[:n], []byte("]")):
		default:
			return n
		}
	}
	return len(url)
}

// refNode is a reference in Markdown; html is what it resolves to.
type refNode struct {
	ast.BaseInline
	text   string
	offset int // in the source
	html   template.HTML
	plain  string
}

var kindRef = ast.NewNodeKind("Reference")

func (n *refNode) Kind() ast.NodeKind { return kindRef }

func (n *refNode) Dump(source []byte, level int) {
	ast.DumpHelper(n, source, level, map[string]string{"Text": n.text}, nil)
}

// refParser recognizes ${…}.
type refParser struct{}

func (refParser) Trigger() []byte { return []byte{refOpen[0]} }

func (refParser) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, segment := block.PeekLine()
	if !bytes.HasPrefix(line, []byte(refOpen)) {
		return nil
	}
	end := bytes.Index(line, []byte(refClose))
	if end < 0 {
		return nil // found by checkUnclosed
	}
	block.Advance(end + len(refClose))
	return &refNode{text: string(line[len(refOpen):end]), offset: segment.Start}
}

// refRenderer writes what a reference resolved to.
type refRenderer struct{}

func (refRenderer) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(kindRef, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			_, err := w.WriteString(string(n.(*refNode).html))
			return ast.WalkContinue, err
		}
		return ast.WalkContinue, nil
	})
}

// headingIDs makes ids from headings in any script: letters and digits stay,
// the rest becomes dashes; an id that is taken gets a number. Those of figures
// (f-), claims (c-), evidence (e-) and sources (g-) are kept apart.
type headingIDs struct{ taken map[string]bool }

func (h *headingIDs) Generate(value []byte, _ ast.NodeKind) []byte {
	var b strings.Builder
	for _, r := range strings.ToLower(string(value)) {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	base := strings.Trim(b.String(), "-")
	if base == "" {
		base = "section"
	}
	if len(base) > 1 && base[1] == '-' && strings.IndexByte("cefg", base[0]) >= 0 {
		base = "s-" + base
	}
	id := base
	for n := 2; h.taken[id]; n++ {
		id = fmt.Sprintf("%s-%d", base, n)
	}
	h.taken[id] = true
	return []byte(id)
}

func (h *headingIDs) Put(value []byte) { h.taken[string(value)] = true }

// document is parsed Markdown.
type document struct {
	md      goldmark.Markdown
	style   style
	source  []byte
	root    ast.Node
	written written // the source, with its places
}

// parse reads Markdown of a page. To make what reads it takes longer than most texts do.
func (r *resolver) parse(source []byte, s style) document {
	if r.markdowns[s] == nil {
		r.markdowns[s] = newMarkdown(s)
	}
	return parseMarkdown(r.markdowns[s], source, s)
}

func parseMarkdown(md goldmark.Markdown, source []byte, s style) document {
	ctx := parser.NewContext(parser.WithIDs(&headingIDs{taken: map[string]bool{}}))
	return document{md: md, style: s, source: source, root: md.Parser().Parse(text.NewReader(source), parser.WithContext(ctx))}
}

func (d document) render(n ast.Node) (template.HTML, error) {
	var b buffer
	d.joinLines(n)
	err := d.md.Renderer().Render(&b, d.source, n)
	return template.HTML(b.String()), err
}

// buffer is a [util.BufWriter] without another buffer before it.
type buffer struct{ bytes.Buffer }

func (buffer) Buffered() int { return 0 }
func (buffer) Flush() error  { return nil }

// joinLines takes out the line breaks of the source that would show as a space
// within Chinese text. One between Chinese and Latin script or code stays: that
// is the space which stands between them. It needs the words of references.
func (d document) joinLines(root ast.Node) {
	var open []*ast.Text // breaks after which nothing has come yet
	last := ' '
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		words, leaf := d.words(n)
		if n.Type() == ast.TypeBlock {
			open, last = nil, ' '
		}
		if first, size := utf8.DecodeRuneInString(words); size > 0 {
			for _, t := range open {
				t.SetSoftLineBreak(!joined(last, first))
			}
			open = nil
			last, _ = utf8.DecodeLastRuneInString(words)
		}
		if t, ok := n.(*ast.Text); ok && t.SoftLineBreak() {
			open = append(open, t)
		}
		if leaf {
			return ast.WalkSkipChildren, nil
		}
		return ast.WalkContinue, nil
	})
}

// words are a node's own, and whether it has no others within.
func (d document) words(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.Text:
		return string(n.Segment.Value(d.source)), true
	case *ast.String:
		return string(n.Value), true
	case *refNode:
		return n.plain, true
	case *ast.CodeSpan, *ast.AutoLink, *ast.Image:
		return "a", true // a space stands beside it, whatever is in it
	}
	return "", false
}

// joined reports whether there is no space between the end of one line and the
// beginning of the next.
func joined(last, first rune) bool {
	if isFullWidthMark(last) || isFullWidthMark(first) {
		return true
	}
	ideograph := func(r rune) bool { return isCJK(r) && !unicode.Is(unicode.Hangul, r) } // Korean has spaces
	quote := func(r rune) bool { return strings.ContainsRune("\u2018\u2019\u201c\u201d\u2026\u2014\u00b7", r) }
	return ideograph(last) && (ideograph(first) || quote(first)) || quote(last) && ideograph(first)
}

// plainText is a node's text without markup.
func (d document) plainText(n ast.Node) string {
	var b strings.Builder
	d.joinLines(n)
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			b.Write(n.Segment.Value(d.source))
			if n.SoftLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.AutoLink:
			b.Write(n.Label(d.source))
		case *refNode:
			b.WriteString(n.plain)
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

var (
	scheme       = regexp.MustCompile(`^[A-Za-z][-+.A-Za-z0-9]*:`)
	script       = regexp.MustCompile(`(?i)<\s*script`)
	openFootnote = regexp.MustCompile(`(?:^|[^\\])(\[\^[^\]\s]+\])`)
)

// check finds what a node must not have: an address that runs a program, HTML
// that was not asked for, and a footnote without its text. The offset is where
// in the source; -1: somewhere in the node's block.
func (d document) check(n ast.Node) (offset int, err error) {
	switch n := n.(type) {
	case *ast.Link:
		return -1, checkAddress(n.Destination)
	case *ast.Image:
		return -1, checkAddress(n.Destination)
	case *ast.AutoLink:
		if n.AutoLinkType == ast.AutoLinkURL {
			return -1, checkAddress(n.URL(d.source))
		}
	case *ast.RawHTML:
		if n.Segments.Len() > 0 {
			s := n.Segments.At(0)
			if bytes.HasPrefix(d.source[s.Start:], []byte("</")) && afterHTML(n) {
				return -1, nil // what it closes has been told
			}
			return s.Start, d.checkHTML(d.source[s.Start:n.Segments.At(n.Segments.Len()-1).Stop])
		}
	case *ast.HTMLBlock:
		text := n.Lines().Value(d.source)
		if n.HasClosure() {
			text = append(text[:len(text):len(text)], n.ClosureLine.Value(d.source)...)
		}
		offset := -1
		if n.Lines().Len() > 0 {
			offset = n.Lines().At(0).Start
		} else if n.HasClosure() {
			offset = n.ClosureLine.Start
		}
		if d.style.html && bytes.Contains(text, []byte(refOpen)) {
			return offset, errors.New("a reference can't stand in a block of HTML: leave an empty line before and after the text that has it")
		}
		return offset, d.checkHTML(text)
	case *ast.Text:
		text := n.Segment.Value(d.source)
		if !bytes.Contains(text, []byte("[^")) { // as nearly all texts: found sooner
			return -1, nil
		}
		if at := openFootnote.FindSubmatchIndex(text); at != nil {
			return n.Segment.Start + at[2], fmt.Errorf("the footnote %s has no text: write it as a paragraph of its own, %[1]s: …", text[at[2]:at[3]])
		}
	}
	return -1, nil
}

// afterHTML reports whether other HTML stands before a piece of it in its text.
func afterHTML(n ast.Node) bool {
	for before := n.PreviousSibling(); before != nil; before = before.PreviousSibling() {
		if _, ok := before.(*ast.RawHTML); ok {
			return true
		}
	}
	return false
}

func (d document) checkHTML(text []byte) error {
	switch {
	case !d.style.html:
		return errors.New("HTML is not passed on: write Markdown, or \\< for the sign; `html: true` in the front matter passes it on")
	case script.Match(text):
		return errors.New("a page has no script, whoever wrote it")
	}
	return nil
}

// checkAddress refuses what is neither a page elsewhere nor one of this site.
// The address is looked at as a browser does, with its entities decoded.
func checkAddress(destination []byte) error {
	plain, err := url.PathUnescape(string(util.URLEscape(destination, true)))
	if err != nil {
		plain = string(destination)
	}
	plain = strings.Map(func(r rune) rune {
		if r <= ' ' {
			return -1
		}
		return r
	}, plain)
	switch s := strings.ToLower(scheme.FindString(plain)); s {
	case "", "http:", "https:", "mailto:":
		return nil
	default:
		return fmt.Errorf("a link can't lead to an address that begins with %q: it takes https, http or mailto, or a page of this site", s)
	}
}
