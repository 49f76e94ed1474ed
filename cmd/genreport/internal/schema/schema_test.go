package schema

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"genreport/measure"
)

var root = filepath.Join("..", "..", "..", "..")

// compiled are the schemas that files are held against, by name.
func compiled(t *testing.T) map[string]*validator.Schema {
	t.Helper()
	files, err := Files()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*validator.Schema{}
	for name, data := range files {
		doc, err := validator.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		c := validator.NewCompiler()
		c.DefaultDraft(validator.Draft2020)
		c.AssertFormat()
		if err := c.AddResource(name, doc); err != nil {
			t.Fatal(err)
		}
		if out[name], err = c.Compile(name); err != nil {
			t.Fatal(err)
		}
	}
	if len(out) != 2 {
		t.Fatalf("%d schemas", len(out))
	}
	return out
}

func schemaFor(file string) string {
	if filepath.Base(file) == "run.json" {
		return RunFile
	}
	return ExperimentFile
}

func check(schema *validator.Schema, text []byte) error {
	doc, err := validator.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return schema.Validate(doc)
}

func TestSchemasSayTheirDraft(t *testing.T) {
	files, err := Files()
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range files {
		if !bytes.Contains(data, []byte(`"$schema": "https://json-schema.org/draft/2020-12/schema"`)) {
			t.Errorf("%s does not say draft 2020-12", name)
		}
		again, err := Files()
		if err != nil || !bytes.Equal(data, again[name]) {
			t.Errorf("%s is not the same each time", name)
		}
	}
}

// What genreport wrote, and what its documentation shows, is valid.
func TestFilesAreValid(t *testing.T) {
	schemas := compiled(t)
	n := 0
	for _, pattern := range []string{"content/results/*/*.json", "measure/testdata/example/*/*.json"} {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil || len(files) < 2 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			n++
			if err := check(schemas[schemaFor(f)], text); err != nil {
				t.Errorf("%s: %v", f, err)
			}
		}
	}
	if n < 7 {
		t.Errorf("only %d files", n)
	}
	format, err := os.ReadFile(filepath.Join(root, "measure", "FORMAT.md"))
	if err != nil {
		t.Fatal(err)
	}
	examples := strings.Split(string(format), "```json\n")[1:]
	if len(examples) != 2 {
		t.Fatalf("FORMAT.md has %d examples", len(examples))
	}
	for i, name := range []string{RunFile, ExperimentFile} {
		text, _, _ := strings.Cut(examples[i], "```")
		if err := check(schemas[name], []byte(text)); err != nil {
			t.Errorf("example %d of FORMAT.md: %v", i, err)
		}
	}
	for _, name := range []string{RunFile, ExperimentFile} {
		if !strings.Contains(string(format), name) {
			t.Errorf("FORMAT.md does not name %s", name)
		}
	}
}

// What the type itself writes when nothing is in it is not refused: lists that
// were never made are null.
func TestWrittenEmptyIsValid(t *testing.T) {
	schemas := compiled(t)
	run := measure.Run{Format: measure.Format, Kind: "run", ID: "20260102T030405Z", Profile: "quick"}
	res := measure.Result{Format: measure.Format, Kind: "experiment", Run: "20260102T030405Z", Experiment: "x", Method: 1, Profile: "quick", Cells: []measure.Cell{{Repeat: 1}}}
	for name, v := range map[string]any{RunFile: run, ExperimentFile: res} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := check(schemas[name], text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// One change of the valid example, and the schema refuses it.
func TestMutationsAreRefused(t *testing.T) {
	schemas := compiled(t)
	for _, tt := range []struct{ file, name, old, new string }{
		{"example-load", "unknown key", `"method": 1,`, `"method": 1, "colour": 1,`},
		{"example-load", "unknown key in a cell", `"repeat": 1,`, `"repeat": 1, "colour": 1,`},
		{"example-load", "unknown key in a value", `"value": 1999.6`, `"value": 1999.6, "unit": "1/s"`},
		{"example-load", "unknown key in cpu", `"wall_s": 10.0,`, `"wall_s": 10.0, "colour": 1,`},
		{"example-load", "unknown key in integrity", `"sent": 20000,`, `"sent": 20000, "colour": 1,`},
		{"example-load", "text for a number", `"repeat": 1,`, `"repeat": "1",`},
		{"example-load", "fraction for a count", `"repeat": 1,`, `"repeat": 1.5,`},
		{"example-load", "number for a text", `"profile": "standard"`, `"profile": 3`},
		{"example-load", "text for a value", `"value": 1999.6`, `"value": "1999.6"`},
		{"example-load", "NaN as text", `"value": 1999.6`, `"value": "NaN"`},
		{"example-load", "NaN", `"value": 1999.6`, `"value": NaN`},
		{"example-load", "number and reason", `"value": 1999.6`, `"value": 1999.6, "reason": "x"`},
		{"example-load", "null without a reason", `"value": 1999.6`, `"value": null`},
		{"example-load", "null with an empty reason", `"value": 1999.6`, `"value": null, "reason": ""`},
		{"example-load", "no value at all", `"value": 1999.6`, ``},
		{"example-load", "no cells", `"cells":`, `"parts":`},
		{"example-load", "no method", `"method": 1,`, ``},
		{"example-load", "method 0", `"method": 1,`, `"method": 0,`},
		{"example-load", "repeat 0", `"repeat": 1,`, `"repeat": 0,`},
		{"example-load", "no command", `"command":`, `"commands":`},
		{"example-load", "unit", `"unit": "B"`, `"unit": "MiB"`},
		{"example-load", "direction", `"better": "lower"`, `"better": "less"`},
		{"example-load", "kind", `"kind": "experiment"`, `"kind": "run"`},
		{"example-load", "newer format", `"format": 1`, `"format": 2`},
		{"example-load", "null for a number", `"method": 1`, `"method": null`},
		{"run", "unknown key", `"profile":`, `"colour": 1, "profile":`},
		{"run", "unknown key in the machine", `"cores": 4,`, `"cores": 4, "host": "x",`},
		{"run", "text for a number", `"cores": 4`, `"cores": "4"`},
		{"run", "no time", `"started": "2026-01-02T03:04:05Z"`, `"started": "yesterday"`},
		{"run", "no ended", `"ended": "2026-01-02T03:05:01Z",`, ``},
		{"run", "no machine", `"machine":`, `"computer":`},
		{"run", "id", `"id": "20260102T030405Z"`, `"id": "today"`},
		{"run", "kind", `"kind": "run"`, `"kind": "experiment"`},
		{"run", "control without a rate", `"rate": {`, `"speed": {`},
	} {
		text, err := os.ReadFile(filepath.Join(root, "measure", "testdata", "example", "20260102T030405Z", tt.file+".json"))
		if err != nil {
			t.Fatal(err)
		}
		bad := bytes.Replace(text, []byte(tt.old), []byte(tt.new), 1)
		if bytes.Equal(bad, text) {
			t.Errorf("%s: %q is not in %s.json", tt.name, tt.old, tt.file)
			continue
		}
		if err := check(schemas[schemaFor(tt.file+".json")], bad); err == nil {
			t.Errorf("%s.json, %s: the schema does not refuse it", tt.file, tt.name)
		}
	}
}

// The schema's keys are those that the strict decoder knows: the tags of the
// types, and of a value the two that its own decoder reads.
func TestKeysAreThoseOfTheDecoder(t *testing.T) {
	files, err := Files()
	if err != nil {
		t.Fatal(err)
	}
	for name, of := range map[string]reflect.Type{RunFile: reflect.TypeFor[measure.Run](), ExperimentFile: reflect.TypeFor[measure.Result]()} {
		var doc map[string]any
		if err := json.Unmarshal(files[name], &doc); err != nil {
			t.Fatal(err)
		}
		want, got := map[string]bool{}, map[string]bool{}
		decoderKeys(of, of.Name(), want)
		schemaKeys(doc, doc, of.Name(), got)
		if len(want) < 30 {
			t.Errorf("%s: the walk found only %d keys", name, len(want))
		}
		if !maps.Equal(want, got) {
			t.Errorf("%s: the decoder knows\n%q\nthe schema\n%q", name, sorted(want), sorted(got))
		}
	}
}

func sorted(m map[string]bool) []string { return slices.Sorted(maps.Keys(m)) }

// decoderKeys collects the path of each key: "Run.tool.version".
func decoderKeys(t reflect.Type, path string, keys map[string]bool) {
	switch t.Kind() {
	case reflect.Pointer:
		decoderKeys(t.Elem(), path, keys)
	case reflect.Slice, reflect.Map:
		decoderKeys(t.Elem(), path+"[]", keys)
	case reflect.Struct:
		if t == reflect.TypeFor[measure.Value]() {
			keys[path+".value"], keys[path+".reason"] = true, true
			return
		}
		for f := range t.Fields() {
			if tag, ok := f.Tag.Lookup("json"); ok {
				name, _, _ := strings.Cut(tag, ",")
				keys[path+"."+name] = true
				decoderKeys(f.Type, path+"."+name, keys)
			}
		}
	}
}

func schemaKeys(doc, s map[string]any, path string, keys map[string]bool) {
	if ref, ok := s["$ref"].(string); ok {
		schemaKeys(doc, doc["$defs"].(map[string]any)[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any), path, keys)
	}
	for _, one := range list(s["oneOf"]) {
		schemaKeys(doc, one.(map[string]any), path, keys)
	}
	if items, ok := s["items"].(map[string]any); ok {
		schemaKeys(doc, items, path+"[]", keys)
	}
	if more, ok := s["additionalProperties"].(map[string]any); ok {
		schemaKeys(doc, more, path+"[]", keys)
	}
	properties, _ := s["properties"].(map[string]any)
	for name, p := range properties {
		keys[path+"."+name] = true
		schemaKeys(doc, p.(map[string]any), path+"."+name, keys)
	}
}

func list(v any) []any { l, _ := v.([]any); return l }

// A rule for a key that is no more would check nothing.
func TestLimitsAreOfKeys(t *testing.T) {
	known := map[string]bool{}
	for _, of := range []reflect.Type{reflect.TypeFor[measure.Run](), reflect.TypeFor[measure.Result](), reflect.TypeFor[measure.Cell](), reflect.TypeFor[measure.Failure](),
		reflect.TypeFor[measure.CPU](), reflect.TypeFor[measure.Series](), reflect.TypeFor[measure.Histogram]()} {
		for f := range of.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			known[of.Name()+"."+name] = true
		}
	}
	for key := range limits() {
		if !known[key] {
			t.Errorf("there is no %s", key)
		}
	}
}
