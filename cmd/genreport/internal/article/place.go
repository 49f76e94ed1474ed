package article

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// placedFault is an error in content, with line and column.
type placedFault struct {
	fault
	column int
}

func (f placedFault) Error() string {
	return fmt.Sprintf("%s:%d:%d: %v", f.file, f.line, max(f.column, 1), f.err)
}

// at adds an error at a line and column.
func (f *faults) at(file string, p place, err error) {
	if err == nil || errors.Is(err, errFaulty) {
		return
	}
	var placed placedFault
	if !errors.As(err, &placed) { // one that knows its place keeps it
		placed = placedFault{fault{file, p.line, err}, p.column}
	}
	if !slices.ContainsFunc(f.list, func(have error) bool { return have.Error() == placed.Error() }) {
		f.list = append(f.list, placed)
	}
}

// place is a line and a column, from 1.
type place struct{ line, column int }

// placedText is YAML whose places are those of the file it stands in.
type placedText struct {
	file string
	top  place    // of the whole
	root ast.Node // may be nil
}

// readWords parses the text that begins after skip lines of a file. column is
// that of the whole's name.
func readWords(file string, skip int, text string) (placedText, error) {
	w := placedText{file: file, top: place{max(skip, 1), 1}}
	parsed, err := parser.ParseBytes([]byte(strings.Repeat("\n", skip)+text), 0)
	if err != nil {
		return w, yamlFault(file, w.top, err, nil)
	}
	for _, d := range parsed.Docs {
		if d.Body != nil {
			w.root = d.Body
			break
		}
	}
	return w, nil
}

// within are the words under a key of these; there may be none.
func (w placedText) within(path ...string) placedText {
	p := w.place(path...)
	for _, key := range path {
		_, w.root = child(w.root, key)
	}
	w.top = p
	return w
}

// child is an entry of a mapping or a sequence.
func child(n ast.Node, key string) (at, value ast.Node) {
	switch n := n.(type) {
	case *ast.AnchorNode:
		return child(n.Value, key)
	case *ast.TagNode:
		return child(n.Value, key)
	case *ast.MappingNode:
		for _, v := range n.Values {
			if keyText(v.Key) == key {
				return v.Key, v.Value
			}
		}
	case *ast.MappingValueNode:
		if keyText(n.Key) == key {
			return n.Key, n.Value
		}
	case *ast.SequenceNode:
		if i, err := strconv.Atoi(key); err == nil && i < len(n.Values) {
			return n.Values[i], n.Values[i]
		}
	}
	return nil, nil
}

func keyText(n ast.MapKeyNode) string {
	if s, ok := n.(*ast.StringNode); ok {
		return s.Value
	}
	return strings.Trim(n.String(), `"'`)
}

// keysOf are a mapping's keys as they stand.
func (w placedText) keysOf() []string {
	var out []string
	switch n := w.root.(type) {
	case *ast.MappingNode:
		for _, v := range n.Values {
			out = append(out, keyText(v.Key))
		}
	case *ast.MappingValueNode:
		out = append(out, keyText(n.Key))
	}
	return out
}

// place is where an entry stands, or the innermost of what holds it.
func (w placedText) place(path ...string) place {
	p, n := w.top, w.root
	for _, key := range path {
		at, value := child(n, key)
		if at == nil {
			break
		}
		if t := at.GetToken(); t != nil && t.Position != nil {
			p = place{t.Position.Line, t.Position.Column}
		}
		n = value
	}
	return p
}

// decode is strict: what isn't known is refused, with its place and what was
// probably meant.
func (w placedText) decode(v any) error {
	if w.root == nil {
		return placedFault{fault{w.file, w.top.line, errors.New("there is nothing in it")}, w.top.column}
	}
	if err := yaml.NodeToValue(w.root, v, yaml.Strict(), yaml.DisallowUnknownField()); err != nil {
		return yamlFault(w.file, w.top, err, v)
	}
	return nil
}

var (
	yamlPlace    = regexp.MustCompile(`^\[(\d+):(\d+)\] `)
	unknownField = regexp.MustCompile(`^unknown field "(.*)"$`)
)

func yamlFault(file string, p place, err error, v any) error {
	message := strings.SplitN(err.Error(), "\n", 2)[0]
	if m := yamlPlace.FindStringSubmatch(message); m != nil {
		p.line, _ = strconv.Atoi(m[1])
		p.column, _ = strconv.Atoi(m[2])
		message = strings.TrimPrefix(message, m[0])
	}
	out := errors.New(message)
	if m := unknownField.FindStringSubmatch(message); m != nil && v != nil {
		out = unknown("key", m[1], yamlNames(reflect.TypeOf(v)))
	}
	return placedFault{fault{file, p.line, out}, p.column}
}

// yamlNames are the keys that a type may have, at any depth.
func yamlNames(t reflect.Type) []string {
	var out []string
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return yamlNames(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
			if name == "" {
				continue
			}
			out = append(append(out, name), yamlNames(t.Field(i).Type)...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// shared are the words of SLUG.yaml.
func (s source) sharedWords() (placedText, error) {
	if s.words == nil { // an aside has none
		return placedText{top: place{1, 1}}, nil
	}
	return s.words()
}

// passage renders Markdown with references that stands in a block of its own,
// from a place of the file on; its lines are told as the file's.
func (s source) passage(r *resolver, text string, at place, bad *faults) string {
	in := s
	in.body = append(bytes.Repeat([]byte("\n"), at.line-1), text...)
	doc := parseMarkdown(in.body, style{s.lang, s.front.HTML})
	before := len(bad.list)
	in.resolveRefs(r, doc, bad)
	for i, err := range bad.list[before:] { // the column is that of the text
		if f, ok := errors.AsType[fault](err); ok {
			bad.list[before+i] = placedFault{f, cmp.Or(at.column, 1)}
		}
	}
	r.looseText(doc.root, in.body, func(offset int) int { return lineAt(in.body, offset) })
	var b strings.Builder
	for n := doc.root.FirstChild(); n != nil; n = n.NextSibling() {
		if kind := n.Kind().String(); kind == "Heading" || kind == "FootnoteList" {
			bad.at(s.file, at, fmt.Errorf("a block can't hold a %s: its id might be taken", strings.ToLower(strings.TrimSuffix(kind, "List"))))
		}
		h, err := doc.render(n)
		bad.at(s.file, at, err)
		b.WriteString(string(h))
	}
	return b.String()
}
