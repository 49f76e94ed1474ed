package article

import (
	"reflect"
	"strings"
	"testing"

	"genreport/measure"
)

func TestParseRef(t *testing.T) {
	tests := map[string]ref{
		"e/rate":                     {experiment: "e", name: "rate", labels: measure.Labels{}},
		"rate":                       {name: "rate", labels: measure.Labels{}},
		"e/@messages":                {experiment: "e", name: "@messages", labels: measure.Labels{}},
		"  e/rate  client=go n=4  ":  {experiment: "e", name: "rate", labels: measure.Labels{"client": "go", "n": "4"}},
		"e/rate node=channel_max=16": {experiment: "e", name: "rate", labels: measure.Labels{"node": "channel_max=16"}},
		"e/rate client=go n=4 : n=1": {experiment: "e", name: "rate", labels: measure.Labels{"client": "go", "n": "4"}, over: measure.Labels{"client": "go", "n": "1"}},
		"e/rate n=4 : n=1 | digits=3 bare": {experiment: "e", name: "rate", labels: measure.Labels{"n": "4"}, over: measure.Labels{"n": "1"},
			options: options{digits: 3, bare: true}},
		"e/rate client=go n=4 - n=1": {experiment: "e", name: "rate", labels: measure.Labels{"client": "go", "n": "4"}, over: measure.Labels{"client": "go", "n": "1"}, minus: true},
		"e/rate n=a-b - n=-":         {experiment: "e", name: "rate", labels: measure.Labels{"n": "a-b"}, over: measure.Labels{"n": "-"}, minus: true},
		"e/rate n=go-batched":        {experiment: "e", name: "rate", labels: measure.Labels{"n": "go-batched"}},
		"e/rate n=4 - n=1 | digits=3 unit=ms bare": {experiment: "e", name: "rate", labels: measure.Labels{"n": "4"}, over: measure.Labels{"n": "1"}, minus: true,
			options: options{digits: 3, unit: "ms", bare: true}},
		"e/m | slope=n unit=KiB": {experiment: "e", name: "m", labels: measure.Labels{}, options: options{stat: "slope", by: "n", unit: "KiB"}},
		`e/m \| per=n`:           {experiment: "e", name: "m", labels: measure.Labels{}, options: options{per: "n"}},
		"e/m | per=n max":        {experiment: "e", name: "m", labels: measure.Labels{}, options: options{stat: "max", per: "n"}},
	}
	for text, want := range tests {
		got, err := parseRef(text)
		got.parts = nil // TestPlaces has where they stand
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
	}
}

func TestParseRefRefuses(t *testing.T) {
	tests := map[string]string{
		"":                           "is empty",
		" | digits=2":                "is empty",
		"e/":                         "names no metric",
		"e/rate client":              `"client" is not label=value`,
		"e/rate client=":             `"client=" is not label=value`,
		"e/rate client=go client=go": "label client is there twice",
		"e/rate n=4 : n=4":           "compares a case with itself",
		"e/rate n=4 - n=4":           "the difference \"e/rate n=4 - n=4\" compares a case with itself",
		"e/rate n=4 : n=1 - n=2":     "is a ratio and a difference",
		"e/rate n=4 - n=1 : n=2":     "is a ratio and a difference",
		"e/rate n=4 -":               `"-" is not label=value`,
		"e/rate n=4 - 1":             `"1" is not label=value`,
		"e/rate | digits=0":          "not in 1…15",
		"e/rate | digits=x":          "not in 1…15",
		"e/rate | unit=kib":          `did you mean "KiB"`,
		"e/rate | digit=2":           `did you mean "digits"`,
		"e/rate | slope":             "slope=LABEL",
		"e/rate | per":               "per=LABEL",
	}
	for text, want := range tests {
		got, err := parseRef(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v; want %q", text, got, err, want)
		}
	}
}

func TestUnknown(t *testing.T) {
	have := []string{"rate", "elapsed"}
	for got, want := range map[string]string{
		"rat":   `unknown metric "rat"; did you mean "rate"?`,
		"bytes": `unknown metric "bytes"; there are elapsed, rate`,
	} {
		if err := unknown("metric", got, have); err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
