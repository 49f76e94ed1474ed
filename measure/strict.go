package measure

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	if offset, err := checkTokens(data); err != nil {
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
// the last of two equal keys and stops at the end of the first value.
func checkTokens(data []byte) (offset int64, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	type level struct {
		keys map[string]bool // nil in an array
		key  bool            // the next string is a key
	}
	var stack []level
	valueDone := func() {
		if n := len(stack); n > 0 && stack[n-1].keys != nil {
			stack[n-1].key = true
		}
	}
	for first := true; first || len(stack) > 0; first = false {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			return int64(len(data)), errors.New("the file is cut off; restore it from version control or measure again")
		}
		if err != nil {
			return d.InputOffset(), err
		}
		switch t := t.(type) {
		case json.Delim:
			switch t {
			case '{':
				stack = append(stack, level{keys: map[string]bool{}, key: true})
			case '[':
				stack = append(stack, level{})
			default:
				stack = stack[:len(stack)-1]
				valueDone()
			}
		case string:
			n := len(stack)
			if n > 0 && stack[n-1].key {
				if stack[n-1].keys[t] {
					return d.InputOffset(), fmt.Errorf("key %q is there twice", t)
				}
				stack[n-1].keys[t] = true
				stack[n-1].key = false
				continue
			}
			valueDone()
		default:
			valueDone()
		}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return d.InputOffset(), errors.New("something follows the end of the object")
	}
	return 0, nil
}
