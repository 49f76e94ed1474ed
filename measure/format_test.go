package measure

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
)

// jsonKeys are the keys of t's objects and of all below.
func jsonKeys(t reflect.Type, keys map[string]bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		jsonKeys(t.Elem(), keys)
	case reflect.Struct:
		if t == reflect.TypeFor[Value]() {
			t = reflect.TypeFor[valueJSON]()
		}
		for f := range t.Fields() {
			if tag, ok := f.Tag.Lookup("json"); ok {
				name, _, _ := strings.Cut(tag, ",")
				keys[name] = true
				jsonKeys(f.Type, keys)
			}
		}
	}
}

// FORMAT.md describes every key, in the section of its file, and every unit
// and direction, and its examples are valid.
func TestFormatIsDocumented(t *testing.T) {
	data, err := os.ReadFile("FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	_, rest, _ := strings.Cut(text, "## run.json")
	runPart, resultPart, ok := strings.Cut(rest, "## EXPERIMENT.json")
	if !ok {
		t.Fatal("FORMAT.md lacks a section")
	}
	if want := fmt.Sprintf("Format %d.", Format); !strings.Contains(text, want) {
		t.Errorf("FORMAT.md does not say %q", want)
	}
	for _, part := range []struct {
		name, text string
		t          reflect.Type
		least      int // keys by hand, so that a walk that finds none is noticed
	}{
		{"run.json", runPart, reflect.TypeFor[Run](), 37},
		{"EXPERIMENT.json", resultPart, reflect.TypeFor[Result](), 27},
	} {
		keys := map[string]bool{}
		jsonKeys(part.t, keys)
		if len(keys) < part.least {
			t.Errorf("%s: the walk found only %d keys", part.name, len(keys))
		}
		tables, _, _ := strings.Cut(part.text, "```")
		for _, block := range strings.Split(part.text, "```")[1:] {
			if !strings.HasPrefix(block, "json") {
				tables += block
			}
		}
		for k := range keys {
			if !strings.Contains(tables, "`"+k+"`") {
				t.Errorf("%s: key %s is not described", part.name, k)
			}
		}
	}
	for _, word := range []string{string(Count), string(Seconds), string(Bytes), string(PerSecond), string(CPUSeconds), string(Higher), string(Lower), string(Neither)} {
		if !strings.Contains(resultPart, "`"+word+"`") {
			t.Errorf("%s is not described", word)
		}
	}
	example := func(part string) []byte {
		_, rest, _ := strings.Cut(part, "```json\n")
		text, _, _ := strings.Cut(rest, "```")
		return []byte(text)
	}
	got, err := Load(fstest.MapFS{
		testID + "/run.json":          {Data: example(runPart)},
		testID + "/channel-cost.json": {Data: example(resultPart)},
	}, map[string]int{"channel-cost": 1})
	if err != nil || len(got) != 1 || len(got[0].Results["channel-cost"].Cells) != 2 {
		t.Errorf("the examples: %d runs, %v", len(got), err)
	}
}
