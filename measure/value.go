package measure

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Value is one number of one cell, or the reason why there is none. The zero
// Value is neither and does not validate, so that a forgotten metric is found.
type Value struct {
	number string // in decimal, so that 64-bit integers survive
	float  float64
	reason string
}

// Int is a measured whole number.
func Int(n int64) Value { return Value{number: strconv.FormatInt(n, 10), float: float64(n)} }

// Float is a measured number. Not-a-number and infinities can't be stored;
// they become a missing value that says so.
func Float(x float64) Value {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return Missing(fmt.Sprintf("the measurement gave %v", x))
	}
	return Value{number: strconv.FormatFloat(x, 'g', -1, 64), float: x}
}

// Missing is a measurement that was not made or failed, and why.
func Missing(reason string) Value {
	if reason == "" {
		reason = "no reason was recorded"
	}
	return Value{reason: reason}
}

// OK reports whether there is a number.
func (v Value) OK() bool { return v.number != "" }

// Reason says why there is no number; it is empty when there is one.
func (v Value) Reason() string { return v.reason }

// Float64 is the number; it is NaN when there is none.
func (v Value) Float64() float64 {
	if !v.OK() {
		return math.NaN()
	}
	return v.float
}

// Int64 is the number where it is a whole one that fits.
func (v Value) Int64() (int64, bool) {
	if strings.ContainsAny(v.number, ".eE") {
		return 0, false
	}
	n, err := strconv.ParseInt(v.number, 10, 64)
	return n, err == nil
}

// valueJSON is how a Value is written.
type valueJSON struct {
	Value  *float64 `json:"value"` // null where there is a reason
	Reason string   `json:"reason,omitempty"`
}

// MarshalJSON writes {"value": 12.5} or {"value": null, "reason": "…"}.
func (v Value) MarshalJSON() ([]byte, error) {
	if err := v.validate(); err != nil {
		return nil, err
	}
	if v.OK() {
		return []byte(`{"value":` + v.number + "}"), nil
	}
	return json.Marshal(valueJSON{Reason: v.reason})
}

// UnmarshalJSON reads what MarshalJSON writes and nothing else.
func (v *Value) UnmarshalJSON(data []byte) error {
	err := jsonv2.Unmarshal(data, v)
	if err != nil {
		_, err = explain(err)
	}
	return err
}

// UnmarshalJSONFrom reads what MarshalJSON writes and nothing else. It goes by
// tokens: values are most of what is in result files.
func (v *Value) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*v = Value{}
	if d.PeekKind() != '{' {
		text, err := d.ReadValue()
		if err != nil {
			return err
		}
		start := d.InputOffset() - int64(len(text))
		if text.Kind() == 'n' {
			return &jsonv2.SemanticError{ByteOffset: start, JSONPointer: d.StackPointer(), Err: errors.New("null is neither a number nor a reason")}
		}
		return &jsonv2.SemanticError{ByteOffset: start, JSONKind: text.Kind(), GoType: reflect.TypeFor[Value]()}
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	start := d.InputOffset() - int64(len("{"))
	for d.PeekKind() == '"' {
		if err := v.member(d); err != nil {
			return err
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	if err := v.validate(); err != nil {
		return &jsonv2.SemanticError{ByteOffset: start, JSONPointer: d.StackPointer(), Err: err}
	}
	return nil
}

// member reads a key, and what it stands for.
func (v *Value) member(d *jsontext.Decoder) error {
	token, err := d.ReadToken()
	if err != nil {
		return err
	}
	key := token.String()
	if key != "value" && key != "reason" {
		return &jsonv2.SemanticError{ByteOffset: d.InputOffset(), JSONPointer: d.StackPointer(), Err: jsonv2.ErrUnknownName}
	}
	text, err := d.ReadValue()
	if err != nil {
		return err
	}
	wrong := func(what string) error {
		return &jsonv2.SemanticError{ByteOffset: d.InputOffset() - int64(len(text)), JSONPointer: d.StackPointer(), Err: fmt.Errorf("it is %s, want %s", text, what)}
	}
	switch kind := text.Kind(); {
	case key == "value" && kind == '0':
		v.number = string(text)
		if v.float, err = strconv.ParseFloat(v.number, 64); err != nil {
			return wrong("a finite number")
		}
	case key == "value" && kind != 'n':
		return wrong("a number")
	case key == "reason" && kind == '"':
		var reason []byte
		reason, err = jsontext.AppendUnquote(nil, text)
		v.reason = string(reason)
		return err
	case key == "reason":
		return wrong("a text")
	}
	return nil
}

func (v Value) validate() error {
	switch {
	case v.number == "" && v.reason == "":
		return errors.New("a value is neither a number nor a reason")
	case v.number != "" && v.reason != "":
		return errors.New("a value has both a number and a reason")
	}
	return nil
}
