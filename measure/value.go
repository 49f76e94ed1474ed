package measure

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Value is one number of one cell, or the reason why there is none. The zero
// Value is neither and does not validate, so that a forgotten metric is found.
type Value struct {
	number json.Number // decimal text, so that 64-bit integers survive
	reason string
}

// Int is a measured whole number.
func Int(n int64) Value { return Value{number: json.Number(strconv.FormatInt(n, 10))} }

// Float is a measured number. Not-a-number and infinities can't be stored;
// they become a missing value that says so.
func Float(x float64) Value {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return Missing(fmt.Sprintf("the measurement gave %v", x))
	}
	return Value{number: json.Number(strconv.FormatFloat(x, 'g', -1, 64))}
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
	x, err := v.number.Float64()
	if err != nil {
		return math.NaN()
	}
	return x
}

// Int64 is the number where it is a whole one that fits.
func (v Value) Int64() (int64, bool) {
	n, err := v.number.Int64()
	return n, err == nil
}

type valueJSON struct {
	Value  *number `json:"value"`
	Reason string  `json:"reason,omitempty"`
}

// number is a json.Number that is not read from a string.
type number json.Number

func (n number) MarshalJSON() ([]byte, error) { return json.Marshal(json.Number(n)) }

// UnmarshalJSONFrom keeps the text of a number.
func (n *number) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	text, err := d.ReadValue()
	if err != nil {
		return err
	}
	if text.Kind() != '0' {
		return fmt.Errorf("value is the JSON %s %s, want a number", text.Kind(), text)
	}
	*n = number(text)
	return nil
}

// MarshalJSON writes {"value": 12.5} or {"value": null, "reason": "…"}.
func (v Value) MarshalJSON() ([]byte, error) {
	if err := v.validate(); err != nil {
		return nil, err
	}
	if !v.OK() {
		return json.Marshal(valueJSON{Reason: v.reason})
	}
	n := number(v.number)
	return json.Marshal(valueJSON{Value: &n})
}

// UnmarshalJSON reads what MarshalJSON writes and nothing else.
func (v *Value) UnmarshalJSON(data []byte) error {
	err := jsonv2.Unmarshal(data, v)
	if err != nil {
		_, err = explain(err)
	}
	return err
}

// UnmarshalJSONFrom reads what MarshalJSON writes and nothing else.
func (v *Value) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	start := d.InputOffset()
	var j valueJSON
	if err := jsonv2.UnmarshalDecode(d, &j, jsonv2.RejectUnknownMembers(true)); err != nil {
		return err
	}
	*v = Value{reason: j.Reason}
	if j.Value != nil {
		v.number = json.Number(*j.Value)
	}
	if err := v.validate(); err != nil {
		return &jsonv2.SemanticError{ByteOffset: start, Err: err}
	}
	return nil
}

func (v Value) validate() error {
	switch {
	case v.number == "" && v.reason == "":
		return errors.New("a value is neither a number nor a reason")
	case v.number != "" && v.reason != "":
		return errors.New("a value has both a number and a reason")
	case v.number != "":
		if x, err := v.number.Float64(); err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
			return fmt.Errorf("value %q is not a finite number", v.number)
		}
	}
	return nil
}
