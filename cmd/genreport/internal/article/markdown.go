package article

import (
	"bytes"
	"fmt"
	"html/template"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// newMarkdown is goldmark as articles use it: tables, footnotes, Chinese line
// breaks, references, and no raw HTML.
func newMarkdown() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(extension.Table, extension.Footnote,
			extension.NewCJK(extension.WithEastAsianLineBreaks(), extension.WithEscapedSpace())),
		goldmark.WithParserOptions(
			parser.WithAutoHeadingID(),
			parser.WithInlineParsers(util.Prioritized(refParser{}, 50)), // before emphasis and links
		),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(refRenderer{}, 50)), html.WithXHTML()),
	)
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
// the rest becomes dashes; an id that is taken gets a number.
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
	md     goldmark.Markdown
	source []byte
	root   ast.Node
}

func parseMarkdown(source []byte) document {
	md := newMarkdown()
	ctx := parser.NewContext(parser.WithIDs(&headingIDs{taken: map[string]bool{}}))
	return document{md, source, md.Parser().Parse(text.NewReader(source), parser.WithContext(ctx))}
}

func (d document) render(n ast.Node) (template.HTML, error) {
	var b bytes.Buffer
	err := d.md.Renderer().Render(&b, d.source, n)
	return template.HTML(b.String()), err
}

// plainText is a node's text without markup.
func (d document) plainText(n ast.Node) string {
	var b strings.Builder
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
		case *refNode:
			b.WriteString(n.plain)
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}
