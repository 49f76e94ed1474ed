package measure

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

var byteOrderMark = []byte("\xef\xbb\xbf")

// decodeStrict reads one JSON object into v. A byte-order mark is harmless;
// unknown or duplicate keys, wrong types, a cut-off end and anything after the
// object are refused, with the file and line.
func decodeStrict(name string, data []byte, v any) error {
	data = bytes.TrimPrefix(data, byteOrderMark)
	at := func(offset int64, err error) error {
		line := 1 + bytes.Count(data[:min(max(offset, 0), int64(len(data)))], []byte("\n"))
		return fmt.Errorf("%s:%d: %w", name, line, err)
	}
	if offset, err := checkTokens(data, reflect.TypeOf(v)); err != nil {
		return at(offset, err)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return at(wrong.Offset, err)
		}
		return at(d.InputOffset(), err)
	}
	return nil
}

// checkTokens walks the whole text once, because encoding/json silently takes
// the last of two equal keys, takes "Cells" for "cells", leaves a number that
// is null at 0, and stops at the end of the first value. t is what the text
// will be read into; nil where only its form matters.
func checkTokens(data []byte, t reflect.Type) (offset int64, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	type level struct {
		t     reflect.Type
		start int64
		keys  map[string]bool // nil in an array
		key   bool            // the next string is a key
		field reflect.Type    // of the value that follows the key
	}
	var stack []level
	valueDone := func() {
		if n := len(stack); n > 0 && stack[n-1].keys != nil {
			stack[n-1].key = true
		}
	}
	for first := true; first || len(stack) > 0; first = false {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return int64(len(data)), errors.New("the file is cut off; restore it from version control or measure again")
		}
		if err != nil {
			return d.InputOffset(), err
		}
		here := t // the type of this value
		if n := len(stack); n > 0 {
			here = stack[n-1].field
			if stack[n-1].keys == nil {
				here = elem(stack[n-1].t, reflect.Slice)
			}
		}
		switch token := token.(type) {
		case json.Delim:
			switch token {
			case '{':
				stack = append(stack, level{t: here, start: d.InputOffset() - 1, keys: map[string]bool{}, key: true})
			case '[':
				if readsItself(here) {
					return d.InputOffset(), errors.New("an array stands where a value is needed")
				}
				stack = append(stack, level{t: here})
			default:
				top := stack[len(stack)-1]
				if token == '}' && top.t == valueType {
					if err := json.Unmarshal(data[top.start:d.InputOffset()], new(Value)); err != nil {
						return top.start, err
					}
				}
				stack = stack[:len(stack)-1]
				valueDone()
			}
		case string:
			if n := len(stack); n > 0 && stack[n-1].key {
				top := &stack[n-1]
				if top.keys[token] {
					return d.InputOffset(), fmt.Errorf("key %q is there twice", token)
				}
				top.keys[token] = true
				top.key = false
				var known bool
				if top.field, known = field(top.t, token); !known {
					return d.InputOffset(), fmt.Errorf("unknown key %q", token)
				}
				continue
			}
			if err := checkScalar(here, token); err != nil {
				return d.InputOffset(), err
			}
			valueDone()
		case nil:
			if here != nil && here.Kind() != reflect.Pointer && here.Kind() != reflect.Slice && here.Kind() != reflect.Map {
				return d.InputOffset(), errors.New("null stands where a value is needed")
			}
			valueDone()
		default:
			if err := checkScalar(here, token); err != nil {
				return d.InputOffset(), err
			}
			valueDone()
		}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return d.InputOffset(), errors.New("something follows the end of the object")
	}
	return 0, nil
}

var valueType = reflect.TypeFor[Value]()

// elem is the type of what an array (reflect.Slice) or an object (reflect.Map)
// of type t holds; nil where the text has another shape, which encoding/json
// reports.
func elem(t reflect.Type, kind reflect.Kind) reflect.Type {
	if t = indirect(t); t != nil && t.Kind() == kind {
		return t.Elem()
	}
	return nil
}

// field is the type of what key holds in an object of type t, and whether
// there is such a key.
func field(t reflect.Type, key string) (reflect.Type, bool) {
	t = indirect(t)
	if t == valueType {
		t = reflect.TypeFor[valueJSON]()
	}
	if t == nil || t.Kind() != reflect.Struct {
		return elem(t, reflect.Map), true
	}
	for f := range t.Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name == key {
			return f.Type, true
		}
	}
	return nil, false
}

// checkScalar lets types that read themselves, such as times, see their text
// here, where its place in the file is known.
func checkScalar(t reflect.Type, token any) error {
	if !readsItself(t) {
		return nil
	}
	text, err := json.Marshal(token)
	if err != nil {
		return err
	}
	return reflect.New(indirect(t)).Interface().(json.Unmarshaler).UnmarshalJSON(text)
}

func readsItself(t reflect.Type) bool {
	t = indirect(t)
	return t != nil && reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

func indirect(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}
