// Package schema makes the JSON Schema of the result files from the Go types
// that read and write them, so that the two can't say different things.
package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/invopop/jsonschema"

	"genreport/measure"
)

// The names under which the schemas are published, beside the runs.
const (
	RunFile        = "run.schema.json"
	ExperimentFile = "experiment.schema.json"
)

// Files are the schemas by name.
func Files() (map[string][]byte, error) {
	files := map[string][]byte{}
	for name, of := range map[string]struct {
		t     reflect.Type
		title string
	}{
		RunFile:        {reflect.TypeFor[measure.Run](), "run.json of a genreport run"},
		ExperimentFile: {reflect.TypeFor[measure.Result](), "EXPERIMENT.json of a genreport run"},
	} {
		data, err := encode(of.t, of.title)
		if err != nil {
			return nil, fmt.Errorf("making %s: %w", name, err)
		}
		files[name] = data
	}
	return files, nil
}

func encode(t reflect.Type, title string) ([]byte, error) {
	r := jsonschema.Reflector{Anonymous: true, Mapper: mapped}
	s := r.ReflectFromType(t)
	s.Title = title
	s.Description = fmt.Sprintf("Format %d. Numbers are in base units. measure/FORMAT.md of genreport tells what each key means.", measure.Format)
	s.Definitions["Value"] = value()
	if err := refine(t, s.Definitions, map[reflect.Type]bool{}); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(s)
	return out.Bytes(), err
}

// mapped is the schema of types that write themselves, or have few values.
func mapped(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[measure.Value]():
		return &jsonschema.Schema{Ref: "#/$defs/Value"}
	case reflect.TypeFor[time.Time]():
		return &jsonschema.Schema{Type: "string", Format: "date-time"}
	case reflect.TypeFor[measure.Unit]():
		return oneOfTexts(measure.Count, measure.Seconds, measure.Bytes, measure.PerSecond, measure.CPUSeconds)
	case reflect.TypeFor[measure.Direction]():
		return oneOfTexts(measure.Higher, measure.Lower, measure.Neither)
	}
	return nil
}

func oneOfTexts[T ~string](all ...T) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, one := range all {
		s.Enum = append(s.Enum, string(one))
	}
	return s
}

// value is a number, or null and why there is none.
func value() *jsonschema.Schema {
	object := func(required []string, properties map[string]*jsonschema.Schema) *jsonschema.Schema {
		s := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(), Required: required, AdditionalProperties: jsonschema.FalseSchema}
		for _, k := range []string{"value", "reason"} {
			if p := properties[k]; p != nil {
				s.Properties.Set(k, p)
			}
		}
		return s
	}
	return &jsonschema.Schema{
		Description: "a number, or null and the reason why there is none",
		OneOf: []*jsonschema.Schema{
			object([]string{"value"}, map[string]*jsonschema.Schema{"value": {Type: "number"}}),
			object([]string{"value", "reason"}, map[string]*jsonschema.Schema{"value": {Type: "null"}, "reason": nonEmpty()}),
		},
	}
}

func nonEmpty() *jsonschema.Schema {
	one := uint64(1)
	return &jsonschema.Schema{Type: "string", MinLength: &one}
}

// refine adds what the types don't say: that a list which is always there may
// be null, and which values Validate refuses.
func refine(t reflect.Type, defs jsonschema.Definitions, done map[reflect.Type]bool) error {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || done[t] || mapped(t) != nil {
		return nil
	}
	done[t] = true
	def, ok := defs[t.Name()]
	if !ok {
		return fmt.Errorf("type %s has no definition", t)
	}
	rules := limits()
	for f := range t.Fields() {
		key, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		p, ok := def.Properties.Get(key)
		if !ok {
			return fmt.Errorf("%s.%s has no property %q", t, f.Name, key)
		}
		if limit := rules[t.Name()+"."+key]; limit != nil {
			limit(p)
		}
		// encoding/json writes an empty list that was never made as null.
		nullable := slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map}, f.Type.Kind())
		if nullable && !strings.Contains(options, "omitempty") {
			def.Properties.Set(key, &jsonschema.Schema{OneOf: []*jsonschema.Schema{p, {Type: "null"}}})
		}
		if err := refine(f.Type, defs, done); err != nil {
			return err
		}
	}
	return nil
}

// limits are the values that measure refuses though their type is right, by
// type and key.
func limits() map[string]func(*jsonschema.Schema) {
	type s = jsonschema.Schema
	least := func(n int) func(*s) { return func(p *s) { p.Minimum = json.Number(strconv.Itoa(n)) } }
	exactly := func(v any) func(*s) { return func(p *s) { p.Const = v } }
	positive := func(p *s) { p.ExclusiveMinimum = "0" }
	text := func(p *s) { p.MinLength = nonEmpty().MinLength }
	runID := func(p *s) { p.Pattern = `^[0-9]{8}T[0-9]{6}Z(-[a-z0-9-]+)?$` }
	return map[string]func(*s){
		"Run.format":        exactly(measure.Format),
		"Run.kind":          exactly("run"),
		"Run.id":            runID,
		"Run.profile":       text,
		"Result.format":     exactly(measure.Format),
		"Result.kind":       exactly("experiment"),
		"Result.run":        text,
		"Result.experiment": func(p *s) { p.Pattern = `^[^./\\][^/\\]*$` },
		"Result.method":     least(1),
		"Result.profile":    text,
		"Result.planned":    least(0),
		"Cell.repeat":       least(1),
		"Failure.reason":    text,
		"CPU.wall_s":        positive,
		"CPU.cores":         least(1),
		"CPU.processes":     least(0),
		"Series.step_s":     positive,
		"Histogram.count":   least(0),
		"Histogram.hdr":     text,
	}
}
