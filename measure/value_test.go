package measure

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

func TestValueSurvivesJSON(t *testing.T) {
	// 2^63-1 and -2^63 have no exact float64.
	for _, tt := range []struct {
		v    Value
		json string
	}{
		{Int(math.MaxInt64), `{"value":9223372036854775807}`},
		{Int(math.MinInt64), `{"value":-9223372036854775808}`},
		{Int(0), `{"value":0}`},
		{Float(0.1), `{"value":0.1}`},
		{Float(math.MaxFloat64), `{"value":1.7976931348623157e+308}`},
		{Float(-5e-324), `{"value":-5e-324}`},
		{Missing("the node had no answer"), `{"value":null,"reason":"the node had no answer"}`},
	} {
		data, err := json.Marshal(tt.v)
		if err != nil || string(data) != tt.json {
			t.Errorf("written %s, %v; want %s", data, err, tt.json)
		}
		var back Value
		if err := json.Unmarshal([]byte(tt.json), &back); err != nil || back != tt.v {
			t.Errorf("%s read as %+v, %v", tt.json, back, err)
		}
	}
	n, ok := Int(math.MaxInt64).Int64()
	if !ok || n != math.MaxInt64 {
		t.Errorf("Int64 %d, %v", n, ok)
	}
	if _, ok := Float(1.5).Int64(); ok {
		t.Error("1.5 passes for a whole number")
	}
}

func TestValueThatIsNoNumber(t *testing.T) {
	for want, v := range map[string]Value{
		"NaN":                    Float(math.NaN()),
		"+Inf":                   Float(math.Inf(1)),
		"-Inf":                   Float(math.Inf(-1)),
		"no reason was recorded": Missing(""),
	} {
		if v.OK() || !strings.Contains(v.Reason(), want) || !math.IsNaN(v.Float64()) {
			t.Errorf("%s: %+v", want, v)
		}
		if _, ok := v.Int64(); ok {
			t.Errorf("%s has a whole number", want)
		}
		data, err := json.Marshal(v)
		if err != nil || !strings.HasPrefix(string(data), `{"value":null,"reason":"`) {
			t.Errorf("%s: written %s, %v", want, data, err)
		}
	}
}

func TestValueRefuses(t *testing.T) {
	if _, err := json.Marshal(Value{}); err == nil {
		t.Error("a zero Value was written")
	}
	for text, want := range map[string]string{
		`{}`:                         "neither",
		`null`:                       "neither",
		`{"value":null}`:             "neither",
		`{"value":null,"reason":""}`: "neither",
		`{"value":1,"reason":"why"}`: "both",
		`{"value":"12"}`:             "want a number",
		`{"value":true}`:             "",
		`{"value":1e400}`:            "finite",
		`{"value":1,"unit":"s"}`:     `unknown key "unit"`,
		`5`:                          "",
		`[1]`:                        "",
		`{"value":{"value":1}}`:      "",
	} {
		var v Value
		if err := json.Unmarshal([]byte(text), &v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v; want an error with %q", text, v, err, want)
		}
	}
}

func TestLabels(t *testing.T) {
	l := Labels{"client": "pika", "node": "channel_max=16", "broker": "debian:forky"}
	if got := l.String(); got != "broker=debian:forky,client=pika,node=channel_max=16" {
		t.Errorf("String is %q", got)
	}
	if got := (Labels{}).String(); got != "" {
		t.Errorf("no labels are %q", got)
	}
	for _, tt := range []struct {
		want  Labels
		match bool
	}{
		{nil, true},
		{Labels{"client": "pika"}, true},
		{Labels{"client": "pika", "broker": "debian:forky"}, true},
		{Labels{"client": "go"}, false},
		{Labels{"client": "pika", "channels": "4"}, false},
	} {
		if got := l.Match(tt.want); got != tt.match {
			t.Errorf("Match(%s) is %v", tt.want, got)
		}
	}
}

func TestValidRunID(t *testing.T) {
	for id, want := range map[string]bool{
		"20261130T223153Z":           true,
		"20261130T223153Z-baseline":  true,
		"20240229T000000Z-2-b":       true,
		"":                           false,
		"20261130T223153":            false,
		"20261130T223153Z-":          false,
		"20261130T223153Zx":          false,
		"20261130T223153Z-Upper":     false,
		"20261130T223153Z-a/../../b": false,
		"20261130T223153Z-a.b":       false,
		"20230229T000000Z":           false, // not a leap year
		"20261130T243153Z":           false,
		"../20261130T223153Z":        false,
	} {
		if got := ValidRunID(id); got != want {
			t.Errorf("%q: %v", id, got)
		}
	}
}

// An error in a list is told with the line of the value, not of what is before it.
func TestPlaceInAList(t *testing.T) {
	var into struct {
		List []Value `json:"list"`
	}
	for _, wrong := range []string{"5", `{"value": "x"}`, "{}", "null", `{"value": 1, "reason": "x"}`} {
		err := decodeStrict("f.json", []byte("{\"list\": [{\"value\": 1},\n\n"+wrong+"]}"), &into)
		if err == nil || !strings.HasPrefix(err.Error(), "f.json:3: ") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}
