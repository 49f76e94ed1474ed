package article

import (
	"errors"
	"html/template"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// placedText is YAML whose places are those of the file it stands in.
type placedText struct {
	file string
	top  place    // of the whole
	root ast.Node // may be nil
}

// readWords parses the text that begins after skip lines of a file.
func readWords(file string, skip int, text string) (placedText, error) {
	w := placedText{file: file, top: place{max(skip, 1), 1}}
	parsed, err := parser.ParseBytes([]byte(strings.Repeat("\n", skip)+text), 0)
	if err != nil {
		return w, yamlFault(file, w.top, nil, err, nil)
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
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(n.Values) {
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

// walk follows keys as far as they lead: to where the last of them stands, and to
// its value. Found is false where one of them is not there.
func (w placedText) walk(path ...string) (p place, value ast.Node, found bool) {
	p, value = w.top, w.root
	for _, key := range path {
		at, next := child(value, key)
		if at == nil {
			return p, value, false
		}
		p, value = placeOfNode(at, p), next
	}
	return p, value, true
}

// has reports whether there is an entry.
func (w placedText) has(path ...string) bool {
	_, _, found := w.walk(path...)
	return found
}

// place is where an entry stands, its key if it has one, or the innermost of
// what holds it.
func (w placedText) place(path ...string) place {
	p, _, _ := w.walk(path...)
	return p
}

// value is where the value of an entry stands, or the innermost of what holds it.
func (w placedText) value(path ...string) place {
	p, n, found := w.walk(path...)
	if found && n != nil && len(path) > 0 {
		switch n.(type) {
		case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode:
			return placeOfNode(n, p)
		}
	}
	return p
}

// placeOf is that of an error about an entry, or about a part of it. A label and its
// value are under the key that the part names, or under one of those that have labels.
func (w placedText) placeOf(err error, path ...string) place {
	e, ok := errors.AsType[partError](err)
	if !ok {
		return w.place(path...)
	}
	if len(e.part) == 3 && e.part[0] == partLabel {
		return w.place(append(slices.Clone(path), e.part[1:]...)...)
	}
	if len(e.part) == 3 && e.part[0] == partValue {
		return w.value(append(slices.Clone(path), e.part[1:]...)...)
	}
	if len(e.part) == 2 && (e.part[0] == partLabel || e.part[0] == partValue) {
		for _, key := range []string{"case", "than", "where", "over", "x", "series", "rows", "columns"} {
			label := append(slices.Clone(path), key, e.part[1])
			if w.has(label...) && e.part[0] == partValue {
				return w.value(label...)
			} else if w.has(label...) {
				return w.place(label...)
			}
		}
		return w.place(path...)
	}
	return w.value(append(slices.Clone(path), e.part...)...)
}

func placeOfNode(n ast.Node, otherwise place) place {
	if t := n.GetToken(); t != nil && t.Position != nil {
		return place{t.Position.Line, t.Position.Column}
	}
	return otherwise
}

// decode is strict: what isn't known is refused, with its place and what was
// probably meant.
func (w placedText) decode(v any) error {
	if w.root == nil {
		return fault{w.file, w.top, errors.New("there is nothing in it")}
	}
	if err := yaml.NodeToValue(w.root, v, yaml.Strict(), yaml.DisallowUnknownField()); err != nil {
		return yamlFault(w.file, w.top, w.root, err, v)
	}
	return nil
}

var (
	yamlPlace    = regexp.MustCompile(`^\[(\d+):(\d+)\] `)
	unknownField = regexp.MustCompile(`^unknown field "(.*)"$`)
)

func yamlFault(file string, p place, root ast.Node, err error, v any) error {
	message := strings.SplitN(err.Error(), "\n", 2)[0]
	if m := yamlPlace.FindStringSubmatch(message); m != nil {
		p.line, _ = strconv.Atoi(m[1])
		p.column, _ = strconv.Atoi(m[2])
		message = strings.TrimPrefix(message, m[0])
	}
	out := errors.New(message)
	if m := unknownField.FindStringSubmatch(message); m != nil && v != nil {
		out = unknown("key", m[1], namesAt(root, reflect.TypeOf(v), p))
	}
	return fault{file, p, out}
}

// namesAt are the keys that may stand at a place: those of the type that is read
// from the mapping which has a key there.
func namesAt(n ast.Node, t reflect.Type, p place) []string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	entries := map[string]ast.Node{}
	switch n := n.(type) {
	case *ast.AnchorNode:
		return namesAt(n.Value, t, p)
	case *ast.TagNode:
		return namesAt(n.Value, t, p)
	case *ast.SequenceNode:
		for _, v := range n.Values {
			if t.Kind() == reflect.Slice {
				if names := namesAt(v, t.Elem(), p); names != nil {
					return names
				}
			}
		}
		return nil
	case *ast.MappingNode:
		for _, v := range n.Values {
			entries[keyText(v.Key)] = v.Value
			if placeOfNode(v.Key, place{}) == p {
				return yamlNames(t)
			}
		}
	case *ast.MappingValueNode:
		entries[keyText(n.Key)] = n.Value
		if placeOfNode(n.Key, place{}) == p {
			return yamlNames(t)
		}
	}
	for key, value := range entries {
		if within := fieldType(t, key); within != nil {
			if names := namesAt(value, within, p); names != nil {
				return names
			}
		}
	}
	return nil
}

// fieldType is the type that is read from the value of a key; nil where there is
// none.
func fieldType(t reflect.Type, key string) reflect.Type {
	switch t.Kind() {
	case reflect.Map:
		return t.Elem()
	case reflect.Struct:
		for i := range t.NumField() {
			if name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ","); name == key {
				return t.Field(i).Type
			}
		}
	}
	return nil
}

// yamlNames are the keys that a type has.
func yamlNames(t reflect.Type) []string {
	var out []string
	if t.Kind() == reflect.Struct {
		for i := range t.NumField() {
			if name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ","); name != "" {
				out = append(out, name)
			}
		}
	}
	return out
}

// sharedWords are the words of SLUG.yaml.
func (s source) sharedWords() placedText {
	if s.sharedText == "" { // of an aside
		return placedText{file: s.sharedFile, top: begin()}
	}
	return s.words
}

// raw is the text of one of the article's files, as it is written.
func (s source) raw(file string) string {
	if file == s.sharedFile {
		return s.sharedText
	}
	return s.text
}

// scalar is a text of YAML with its places in the file.
func (s source) scalar(file string, p place, text string) written {
	return scalar(file, s.raw(file), p, text)
}

// passage renders Markdown with references that stands in a block of its own,
// from a place of the file on, which may be that of its key.
func (s source) passage(r *resolver, text string, at place, bad *faults) string {
	w := s.scalar(s.file, at, text)
	doc := r.parse([]byte(text), style{s.lang, s.front.HTML})
	doc.written = w
	s.resolveRefs(r, doc, bad)
	r.looseText(doc)
	var b strings.Builder
	for n := doc.root.FirstChild(); n != nil; n = n.NextSibling() {
		if kind := n.Kind().String(); kind == "Heading" || kind == "FootnoteList" {
			bad.at(s.file, at, errors.New("a block can't hold a "+strings.ToLower(strings.TrimSuffix(kind, "List"))+": its id might be taken"))
		}
		h, err := doc.render(n)
		bad.at(s.file, at, err)
		b.WriteString(string(h))
	}
	return b.String()
}

// say resolves text for where no markup goes. Its words are in the file and at
// the place that where tells.
func (s source) say(r *resolver, where placedText, text string, bad *faults, path ...string) string {
	w := s.scalar(where.file, where.place(path...), text)
	r.prose(w)
	out, err := r.plain(w)
	bad.at(where.file, where.place(path...), err)
	return out
}

// sayHTML is the same for where markup may go.
func (s source) sayHTML(r *resolver, where placedText, text string, bad *faults, path ...string) template.HTML {
	w := s.scalar(where.file, where.place(path...), text)
	r.prose(w)
	out, err := r.inline(w, ref{})
	bad.at(where.file, where.place(path...), err)
	return out
}

// standAt makes the resolver tell a place; the result takes it back.
func (r *resolver) standAt(where placedText, path ...string) func() {
	before := r.here
	p := where.place(path...)
	r.here = Place{where.file, p.line, p.column}
	return func() { r.here = before }
}

// declaredIn reads what SLUG.yaml declares under a key and an id, with its words.
func declaredIn[T any](s source, key, what, id string, ids []string, line int, bad *faults) (d T, at placedText, ok bool) {
	if !slices.Contains(ids, id) {
		bad.at(s.file, s.infoPlace(line, id), unknown(what, id, ids))
		return d, at, false
	}
	at = s.sharedWords().within(key, id)
	if err := at.decode(&d); err != nil {
		bad.at(s.sharedFile, at.top, err)
		return d, at, false
	}
	return d, at, true
}

// infoPlace is where a word of a block's first line stands.
func (s source) infoPlace(line int, word string) place {
	start := offsetOf(s.text, place{line, 1})
	first, _, _ := strings.Cut(s.text[start:], "\n")
	_, after, ok := strings.Cut(first, " ") // the kind of block
	if at := strings.Index(after, word); ok && at >= 0 {
		return placeIn(s.text, start+len(first)-len(after)+at)
	}
	return place{line, 1}
}
