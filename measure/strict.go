package measure

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

var byteOrderMark = []byte("\xef\xbb\xbf")

// decodeStrict reads one JSON object into v. A byte-order mark is harmless;
// unknown or duplicate keys, wrong types, a cut-off end and anything after the
// object are refused, with the file and line.
func decodeStrict(name string, data []byte, v any) error {
	data = bytes.TrimPrefix(data, byteOrderMark)
	strict := jsonv2.RejectUnknownMembers(true)
	null, within := []byte("null"), 0
	values := jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, v *Value) error {
		start := d.InputOffset()
		err := v.UnmarshalJSONFrom(d)
		if !v.OK() { // where a null had to be
			within += bytes.Count(data[start:d.InputOffset()], null)
		}
		return err
	})
	err := jsonv2.Unmarshal(data, v, strict, jsonv2.WithUnmarshalers(values))
	if err == nil && bytes.Count(data, null) > within { // To look for them at every value takes a quarter of the time.
		reflect.ValueOf(v).Elem().SetZero()
		err = jsonv2.Unmarshal(data, v, strict, jsonv2.WithUnmarshalers(jsonv2.UnmarshalFromFunc(refuseNull)))
	}
	if err == nil {
		return nil
	}
	offset, err := explain(err)
	line := 1 + bytes.Count(data[:min(max(offset, 0), int64(len(data)))], []byte("\n"))
	return fmt.Errorf("%s:%d: %w", name, line, err)
}

// refuseNull keeps a null from standing for 0, "" or false.
func refuseNull(d *jsontext.Decoder, v any) error {
	if d.PeekKind() == 'n' {
		switch reflect.TypeOf(v).Elem().Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
		default:
			return errors.New("null stands where a value is needed")
		}
	}
	return jsonv2.SkipFunc
}

// explain is where in a text an error of reading it is, and what it is in words
// of a result file where the library's are less plain.
func explain(err error) (offset int64, plain error) {
	var syntactic *jsontext.SyntacticError
	var semantic *jsonv2.SemanticError
	switch {
	case errors.As(err, &syntactic):
		offset = syntactic.ByteOffset
		if errors.Is(err, jsontext.ErrDuplicateName) {
			return offset, fmt.Errorf("key %q is there twice", syntactic.JSONPointer.LastToken())
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return offset, errors.New("the file is cut off; restore it from version control or measure again")
		}
	case errors.As(err, &semantic):
		offset = semantic.ByteOffset
		if errors.Is(err, jsonv2.ErrUnknownName) {
			return offset, fmt.Errorf("unknown key %q", semantic.JSONPointer.LastToken())
		}
		if semantic.JSONKind == 0 && semantic.Err != nil { // it is this package's, and says it all
			return offset, fmt.Errorf("%s: %w", strings.TrimPrefix(string(semantic.JSONPointer), "/"), semantic.Err)
		}
	}
	return offset, err
}
