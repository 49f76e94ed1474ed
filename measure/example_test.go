package measure

import (
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// The committed example has every optional part, and is read as what it says.
func TestExampleRun(t *testing.T) {
	runs, err := Load(os.DirFS("testdata/example"), map[string]int{"example-load": 1})
	if err != nil || len(runs) != 1 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	run, res := runs[0].Run, runs[0].Results["example-load"]
	// 31,000 to 28,520: 8 % less; the failed control in the middle counts for nothing.
	if drift, ok := run.Drift(); !ok || math.Abs(drift-0.08) > 1e-12 || !run.Drifted() {
		t.Errorf("drift %g, %v", drift, ok)
	}
	if run.Machine.MemoryBytes != 9007199254740993 { // the first that a double can't hold
		t.Errorf("memory is %d", run.Machine.MemoryBytes)
	}
	if v := run.Machine.StealShare; v == nil || v.Float64() != 0.002 {
		t.Errorf("steal share %v", v)
	}
	if !res.Complete() || len(res.Cells) != 2 {
		t.Fatalf("%d cells", len(res.Cells))
	}
	good, failed := res.Cells[0], res.Cells[1]
	if got := good.CPU.Bound(); got != BoundClient { // 9.3 s of a core's 10
		t.Errorf("bound by %q", got)
	}
	if share, ok := good.CPU.BrokerShare(); !ok || math.Abs(share-7.5/17.3) > 1e-12 { // 40 − 22.6 − 0.1
		t.Errorf("the broker's share is %g, %v", share, ok)
	}
	if got := failed.CPU.Bound(); got != BoundUnknown {
		t.Errorf("bound by %q though the broker does not tell", got)
	}
	if s := good.Series["confirmed"]; s.Unit != PerSecond || len(s.Values) != 4 || s.Values[2].Reason() != "the sample was late" {
		t.Errorf("series %+v", s)
	}
	if h := good.Latency["confirm"]; h.Count != 8 || !strings.HasPrefix(h.HDR, "HISTF") {
		t.Errorf("latency %+v", h)
	}
	if err := good.Integrity.Check(); err != nil {
		t.Errorf("integrity: %v", err)
	}
	if err := failed.Integrity.Check(); failed.Failure == nil || err == nil || err.Error() != failed.Failure.Reason {
		t.Errorf("%v, want the failure's reason", err)
	}
	for name, v := range map[string]any{"run": run, "result": res} {
		wantEverything(t, name, reflect.ValueOf(v))
	}
}

// wantEverything fails where an optional key is nowhere in the example: what
// is empty in one element of a list may be there in another.
func wantEverything(t *testing.T, path string, values ...reflect.Value) {
	t.Helper()
	var flat []reflect.Value
	for _, v := range values {
		for v.Kind() == reflect.Pointer && !v.IsNil() {
			v = v.Elem()
		}
		switch v.Kind() {
		case reflect.Slice:
			for i := range v.Len() {
				flat = append(flat, v.Index(i))
			}
		case reflect.Map:
			for _, k := range v.MapKeys() {
				flat = append(flat, v.MapIndex(k))
			}
		case reflect.Pointer:
		default:
			flat = append(flat, v)
		}
	}
	if len(flat) == 0 {
		t.Errorf("the example has no %s", path)
		return
	}
	switch of := flat[0].Type(); {
	case of == reflect.TypeFor[Value]() || of == reflect.TypeFor[time.Time]() || of.Kind() != reflect.Struct:
		return
	case of.Kind() == reflect.Struct:
		for f := range of.Fields() {
			var all []reflect.Value
			for _, v := range flat {
				if x := v.FieldByIndex(f.Index); !strings.Contains(f.Tag.Get("json"), "omitempty") || !x.IsZero() {
					all = append(all, x)
				}
			}
			wantEverything(t, path+"."+f.Name, all...)
		}
	}
}

// What a run tells of the method it was measured by: missing, too old, too
// new, of an experiment that is none. Each says what to do, where there is
// something to do.
func TestExampleOfOtherMethod(t *testing.T) {
	for _, tt := range []struct {
		methods map[string]int
		want    string
	}{
		{map[string]int{"example-load": 2}, `example-load.json:1: measured by method 1 of example-load, and this genreport uses 2: measure again`},
		{map[string]int{"other": 1}, `example-load.json:1: unknown experiment "example-load"; this genreport does not have it`},
	} {
		_, err := Load(os.DirFS("testdata/example"), tt.methods)
		wantError(t, err, tt.want)
	}
	text, err := os.ReadFile("testdata/example/20260102T030405Z/example-load.json")
	if err != nil {
		t.Fatal(err)
	}
	run, err := os.ReadFile("testdata/example/20260102T030405Z/run.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ old, new, want string }{
		{` "method": 1,` + "\n", "", "example-load.json:1: it does not say the method it was measured by"},
		{`"method": 1`, `"method": 2`, "example-load.json:1: measured by method 2 of example-load, newer than this genreport's 1: update genreport"},
		{`"method": 1`, `"method": 0`, "example-load.json:1: method is 0; it counts from 1"},
		{`"method": 1`, `"method": -1`, "example-load.json:1: method is -1; it counts from 1"},
		{`"method": 1`, `"method": null`, "example-load.json:1: it does not say the method it was measured by"},
		{` "format": 1,` + "\n", "", "example-load.json:1: it does not say its format"},
		{`"format": 1`, `"format": 0`, "example-load.json:1: format 0 is older"},
		{`"format": 1`, `"format": 2`, "example-load.json:1: format 2 is newer"},
		{`"unit": "1/s",` + "\n" + `     "start_s"`, `"unit": "per s",` + "\n" + `     "start_s"`, `series confirmed: unknown unit "per s"`},
	} {
		bad := strings.Replace(string(text), tt.old, tt.new, 1)
		if bad == string(text) {
			t.Errorf("%q is not in the example", tt.old)
			continue
		}
		fsys := fstest.MapFS{"20260102T030405Z/run.json": {Data: run}, "20260102T030405Z/example-load.json": {Data: []byte(bad)}}
		_, err := Load(fsys, map[string]int{"example-load": 1})
		wantError(t, err, tt.want)
	}
}
