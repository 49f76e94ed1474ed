package measure

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"
)

const testID = "20261130T223153Z"

var methods = map[string]int{"cost": 2}

func testRun() Run {
	run := NewRun(time.Date(2026, 11, 30, 22, 31, 53, 0, time.UTC), "quick")
	run.Brokers = []Broker{{Label: "debian:forky", RabbitMQ: "4.3.6", Erlang: "29", Plugins: []string{"rabbitmq_management"}}}
	return run
}

func testResult(run Run) Result {
	r := NewResult(run, "cost", 2, 2)
	r.Metrics["memory"] = Metric{Unit: Bytes, Better: Lower, Description: "memory"}
	r.Cells = append(r.Cells,
		Cell{Labels: Labels{"client": "go"}, Repeat: 1, Values: map[string]Value{"memory": Int(17)}},
		Cell{Labels: Labels{"client": "go"}, Repeat: 2, Order: 1, Values: map[string]Value{"memory": Missing("it broke")}, Failure: &Failure{Reason: "it broke"}})
	return r
}

func encode(t *testing.T, v any) string {
	t.Helper()
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data) + "\n"
}

func files(t *testing.T, run, result string) fstest.MapFS {
	t.Helper()
	return fstest.MapFS{
		testID + "/run.json":  {Data: []byte(run)},
		testID + "/cost.json": {Data: []byte(result)},
	}
}

func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error; want one with %q", parts)
		return
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q; want %q in it", err, p)
		}
	}
}

func TestLoad(t *testing.T) {
	run := testRun()
	fsys := files(t, encode(t, run), "\xef\xbb\xbf"+encode(t, testResult(run)))
	later := run
	later.ID = "20261201T000000Z-b"
	fsys[later.ID+"/run.json"] = &fstest.MapFile{Data: []byte(encode(t, later))}
	fsys["README.md"] = &fstest.MapFile{}
	fsys["notes/x.json"] = &fstest.MapFile{}
	fsys[testID+"/.tmp-1"] = &fstest.MapFile{}
	got, err := Load(fsys, methods)
	if err != nil || len(got) != 2 || got[0].Run.ID != testID || got[1].Run.ID != later.ID {
		t.Fatalf("%d runs, %v", len(got), err)
	}
	r := got[0].Results["cost"]
	if n, ok := r.Cells[0].Values["memory"].Int64(); !ok || n != 17 {
		t.Errorf("memory is %d, %v", n, ok)
	}
	if r.Cells[1].Failure == nil || r.Cells[1].Values["memory"].Reason() != "it broke" {
		t.Errorf("second cell %+v", r.Cells[1])
	}
}

// Every cut of either file is refused, and names the file.
func TestLoadTruncated(t *testing.T) {
	run, result := encode(t, testRun()), encode(t, testResult(testRun()))
	for n := range strings.LastIndexByte(result, '}') {
		_, err := Load(files(t, run, result[:n]), methods)
		if err == nil || !strings.Contains(err.Error(), testID+"/cost.json:") {
			t.Fatalf("cut at byte %d: %v", n, err)
		}
	}
	for n := range strings.LastIndexByte(run, '}') {
		_, err := Load(files(t, run[:n], result), methods)
		if err == nil || !strings.Contains(err.Error(), testID+"/run.json:") {
			t.Fatalf("cut at byte %d: %v", n, err)
		}
	}
}

// One change of a valid file, the message, and the line it names: that of the
// new text, wherever in the file that is.
func TestLoadRefusesText(t *testing.T) {
	good := encode(t, testResult(testRun()))
	for _, tt := range []struct {
		name, old, new, want string
		above                int // lines between the place that is named and the change
	}{
		{"key twice", `"method": 2,`, "\"method\": 2,\n \"method\": 3,", `key "method" is there twice`, 0},
		{"key twice in an array", `"repeat": 2,`, "\"repeat\": 2,\n \"repeat\": 1,", `key "repeat" is there twice`, 0},
		{"key twice in a value", `"value": 17`, "\"value\": 17,\n \"value\": 18", `key "value" is there twice`, 0},
		{"key twice, once escaped", `"method": 2,`, "\"method\": 2,\n \"meth\\u006fd\": 3,", `key "method" is there twice`, 0},
		{"label twice", `"client": "go"`, "\"client\": \"go\",\n \"client\": \"pika\"", `key "client" is there twice`, 0},
		{"unknown key", `"method": 2,`, "\"method\": 2,\n \"colour\": 3,", `unknown key "colour"`, 0},
		{"unknown key in an array", `"repeat": 2,`, "\"repeat\": 2,\n \"colour\": [{}],", `unknown key "colour"`, 0},
		{"unknown key in a value", `"value": 17`, "\"value\": 17,\n \"unit\": \"B\"", `unknown key "unit"`, 0},
		{"key in another case", `"method": 2,`, "\n\"Method\": 2,", `unknown key "Method"`, 0},
		{"text for a number", `"repeat": 2,`, "\n\"repeat\": \"2\",", "string", 0},
		{"number for a text", `"experiment": "cost"`, "\n\"experiment\": 5", "number", 0},
		{"fraction for a count", `"planned": 2`, "\n\"planned\": 2.5", "2.5", 0},
		{"count beyond 64 bits", `"planned": 2`, "\n\"planned\": 9223372036854775808", "9223372036854775808", 0},
		{"array for an object", `"parameters": {}`, "\n\"parameters\": []", "array", 0},
		{"array for a metric", `"memory": {`, "\n\"memory\": [], \"m\": {", "array", 0},
		{"array for a value", `"values": {`, "\n\"values\": {\"memory\": [1]}, \"v\": {", "array", 0},
		{"text for a value", `"values": {`, "\n\"values\": {\"memory\": \"x\"}, \"v\": {", "string", 0},
		{"null for a number", `"repeat": 2,`, "\n\"repeat\": null,", "null", 0},
		{"null for a text", `"experiment": "cost"`, "\n\"experiment\": null", "null", 0},
		{"null for a truth", `"whole": false`, "\n\"whole\": null", "null", 0},
		{"null for an object", `"memory": {`, "\n\"memory\": null, \"m\": {", "null", 0},
		{"null for a cell", `"cells": [`, "\"cells\": [\nnull,", "null", 0},
		{"null for a value", `"values": {`, "\n\"values\": {\"memory\": null}, \"v\": {", "null", 0},
		{"text for a number of a value", `"value": 17`, "\n\"value\": \"17\"", "want a number", 0},
		{"text for a number below its key", `"value": 17`, "\"value\":\n\"17\"", `cells/0/values/memory/value: it is "17", want a number`, 0},
		{"null for a reason", `"value": 17`, "\n\"value\": null, \"reason\": null", "values/memory", 0},
		{"null for a label of that name", `"labels": {`, "\n\"labels\": {\"value\": null,", "null", 0},
		{"null for a label beside a reason alone", `"labels": {`, "\n\"labels\": {\"x\": null,", "null", 0},
		{"number and reason", `"value": 17`, "\n\"value\": 17, \"reason\": \"x\"", "both", 2},
		{"no value", `"value": 17`, "\n", "neither", 2},
		{"trailing comma", `"repeat": 2,`, "\"repeat\": 2,\n ,", "invalid character", 0},
		{"NaN", `"value": 17`, "\n\"value\": NaN", "invalid character", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bad := strings.Replace(good, tt.old, tt.new, 1)
			if bad == good {
				t.Fatalf("%q is not in the file", tt.old)
			}
			_, err := Load(files(t, encode(t, testRun()), bad), methods)
			before := good[:strings.Index(good, tt.old)] + tt.new[:strings.LastIndexByte(tt.new, '\n')+1]
			n := 1 + strings.Count(before, "\n") - tt.above
			wantError(t, err, fmt.Sprintf("cost.json:%d: ", n), tt.want)
		})
	}
	for _, rest := range []string{"{}", "x", "null", "\x00", "}"} {
		_, err := Load(files(t, encode(t, testRun()), good+rest), methods)
		wantError(t, err, fmt.Sprintf("cost.json:%d: ", 1+strings.Count(good, "\n")))
	}
	for _, text := range []string{"", "\n\n", "[]", "5", "\"x\"", "null", "\xef\xbb\xbf"} {
		_, err := Load(files(t, encode(t, testRun()), text), methods)
		wantError(t, err, "cost.json:")
	}
	run := encode(t, testRun())
	bad := strings.Replace(run, `"2026-11-30T22:31:53Z"`, `"yesterday"`, 1)
	_, err := Load(files(t, bad, good), methods)
	wantError(t, err, fmt.Sprintf("run.json:%d: ", 1+strings.Count(bad[:strings.Index(bad, "yesterday")], "\n")), "yesterday")
}

func TestLoadRefusesContent(t *testing.T) {
	good := encode(t, testResult(testRun()))
	for _, tt := range []struct{ name, old, new, want string }{
		{"no format", ` "format": 1,`, "", "does not say its format"},
		{"format null", `"format": 1`, `"format": null`, "does not say its format"},
		{"older format", `"format": 1`, `"format": 0`, "format 0 is older than this genreport reads (1): measure again"},
		// With other keys, as a newer one has.
		{"newer format", `"format": 1`, `"format": 2, "colour": 1`, "format 2 is newer than this genreport reads (1): update genreport"},
		{"older method", `"method": 2`, `"method": 1`, "measured by method 1 of cost, and this genreport uses 2: measure again"},
		{"newer method", `"method": 2`, `"method": 3`, "measured by method 3 of cost, newer than this genreport's 2: update genreport"},
		{"kind", `"kind": "experiment"`, `"kind": "run"`, `kind is "run", want "experiment"`},
		{"other name", `"experiment": "cost"`, `"experiment": "limit"`, `holds experiment "limit"; its name says "cost"`},
		{"other run", `"run": "20261130T223153Z"`, `"run": "20250101T000000Z"`, "belongs to run 20250101T000000Z"},
		{"other profile", `"profile": "quick"`, `"profile": "full"`, "(full)"},
		{"more cells than planned", `"planned": 2`, `"planned": 1`, "only 1 were planned"},
		{"cell twice", `"repeat": 2`, `"repeat": 1`, "there twice"},
		{"metric without value", `"value": 17`, `"value": null, "reason": ""`, "neither"},
		{"failed cell with number", `"value": null,`, `"value": 3, "reason": ""`, ""},
		{"unit", `"unit": "B"`, `"unit": "MiB"`, `unknown unit "MiB"`},
		{"direction", `"better": "lower"`, `"better": "less"`, `better is "less"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bad := strings.Replace(good, tt.old, tt.new, 1)
			if bad == good {
				t.Fatalf("%q is not in the file", tt.old)
			}
			_, err := Load(files(t, encode(t, testRun()), bad), methods)
			wantError(t, err, testID+"/cost.json:", tt.want)
		})
	}
	_, err := Load(files(t, encode(t, testRun()), good), map[string]int{"other": 1})
	wantError(t, err, "cost.json:1:", `unknown experiment "cost"`)
}

// Who shows what is in a file needs no method of today; everything else is
// checked as always.
func TestReadRunTakesEveryMethod(t *testing.T) {
	result := testResult(testRun())
	result.Method = 7
	got, err := ReadRun(files(t, encode(t, testRun()), encode(t, result)), testID)
	if err != nil || got.Results["cost"].Method != 7 || got.Run.ID != testID {
		t.Errorf("%+v, %v", got, err)
	}
	_, err = LoadRun(files(t, encode(t, testRun()), encode(t, result)), testID, methods)
	wantError(t, err, "cost.json:1: measured by method 7 of cost, newer")
	result.Planned = 1
	_, err = ReadRun(files(t, encode(t, testRun()), encode(t, result)), testID)
	wantError(t, err, "cost.json:1:", "2 cells, but only 1 were planned")
}

func TestLoadRefusesRun(t *testing.T) {
	run := testRun()
	for _, tt := range []struct{ name, old, new, want string }{
		{"id", testID, "20250101T000000Z", `the run's id is "20250101T000000Z", but it is in directory "` + testID + `"`},
		{"form of id", testID, "today", `run id "today"`},
		{"kind", `"kind": "run"`, `"kind": "experiment"`, "kind is"},
		{"newer", `"format": 1`, `"format": 2`, "newer"},
		{"profile", `"quick"`, `""`, "profile is"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Load(files(t, strings.Replace(encode(t, run), tt.old, tt.new, 1), encode(t, testResult(run))), methods)
			wantError(t, err, testID+"/run.json:1:", tt.want)
		})
	}
	_, err := Load(fstest.MapFS{testID + "/cost.json": {Data: []byte("{}")}}, methods)
	wantError(t, err, "reading "+testID+"/run.json")
}

func TestLoadTellsAllErrors(t *testing.T) {
	run := testRun()
	fsys := files(t, encode(t, run), "{")
	fsys[testID+"/other.json"] = &fstest.MapFile{Data: []byte(`{"format": 9}`)}
	fsys["20261130T223154Z/run.json"] = &fstest.MapFile{Data: []byte("x")}
	whole := run
	whole.ID = "20261130T223155Z"
	fsys[whole.ID+"/run.json"] = &fstest.MapFile{Data: []byte(encode(t, whole))}
	got, err := Load(fsys, methods)
	wantError(t, err, testID+"/cost.json:1: the file is cut off", testID+"/other.json:1: format 9 is newer", "20261130T223154Z/run.json:1: ")
	if len(got) != 1 || got[0].Run.ID != whole.ID {
		t.Errorf("%d runs", len(got))
	}
}

func TestWriter(t *testing.T) {
	results := filepath.Join(t.TempDir(), "a", "b")
	run := testRun()
	w, err := Create(results, run)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteResult(testResult(run)); err != nil {
		t.Fatal(err)
	}
	got, err := Load(os.DirFS(results), methods)
	if err != nil || len(got) != 1 || len(got[0].Results["cost"].Cells) != 2 {
		t.Errorf("read back %+v, %v", got, err)
	}
	_, err = Create(results, run)
	wantError(t, err, "run "+testID+" is already in "+results, "--run")
	wantNames(t, w.Dir(), "cost.json", "run.json")
}

func wantNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if strings.Join(names, " ") != strings.Join(want, " ") {
		t.Errorf("%s holds %q, want %q", dir, names, want)
	}
}

func TestCreateWhereItCannot(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "results")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := Create(file, testRun())
	wantError(t, err, "making the results directory", file, "not a directory")
	_, err = Create(filepath.Join(file, "below"), testRun())
	wantError(t, err, "making the results directory", "not a directory")
	run := testRun()
	run.ID = "../outside"
	_, err = Create(filepath.Join(dir, "new"), run)
	wantError(t, err, "../outside")
	wantNames(t, dir, "results") // nothing was made for an invalid run
}

func TestWriteResultRefuses(t *testing.T) {
	for _, tt := range []struct {
		name   string
		break_ func(*Result)
		want   string
	}{
		{"metric without value", func(r *Result) { delete(r.Cells[0].Values, "memory") }, "metric memory has no value and no reason"},
		{"forgotten value", func(r *Result) { r.Cells[0].Values["memory"] = Value{} }, "neither"},
		{"failed cell with number", func(r *Result) { r.Cells[1].Values["memory"] = Int(0) }, "has a number though the cell failed"},
		{"failure without reason", func(r *Result) { r.Cells[1].Failure.Reason = "" }, "the failure has no reason"},
		{"value of no metric", func(r *Result) { r.Cells[0].Values["colour"] = Int(1) }, "value colour belongs to no declared metric"},
		{"repeat", func(r *Result) { r.Cells[0].Repeat = 0 }, "counts from 1"},
		{"cell twice", func(r *Result) { r.Cells[1].Repeat = 1 }, "there twice"},
		{"no method", func(r *Result) { r.Method = 0 }, "it counts from 1"},
		{"the run's file", func(r *Result) { r.Experiment = "run" }, `"run"`},
		{"a file elsewhere", func(r *Result) { r.Experiment = "../cost" }, `"../cost"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run := testRun()
			w, err := Create(t.TempDir(), run)
			if err != nil {
				t.Fatal(err)
			}
			r := testResult(run)
			if err := w.WriteResult(r); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(w.Dir(), "cost.json")
			before, _ := os.ReadFile(file)
			tt.break_(&r)
			wantError(t, w.WriteResult(r), tt.want)
			if after, _ := os.ReadFile(file); string(after) != string(before) {
				t.Error("the file that was there has changed")
			}
			wantNames(t, w.Dir(), "cost.json", "run.json")
		})
	}
}

// Whoever reads while results are written sees a whole file every time.
func TestWriteResultIsAtomic(t *testing.T) {
	run := testRun()
	w, err := Create(t.TempDir(), run)
	if err != nil {
		t.Fatal(err)
	}
	r := testResult(run)
	r.Planned = 1 << 20
	if err := w.WriteResult(r); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var readers sync.WaitGroup
	reads := 0
	readers.Go(func() {
		for {
			got, err := LoadRun(os.DirFS(filepath.Dir(w.Dir())), testID, methods)
			if err != nil || len(got.Results["cost"].Cells) < 2 {
				t.Errorf("while it was written: %v", err)
				return
			}
			reads++
			select {
			case <-done:
				return
			default:
			}
		}
	})
	for i := range 60 {
		for range 20 { // larger than a page, so that a plain write would be seen in parts
			r.Cells = append(r.Cells, Cell{Labels: Labels{"client": "go"}, Repeat: len(r.Cells) + 1, Values: map[string]Value{"memory": Int(int64(i))}})
		}
		if err := w.WriteResult(r); err != nil {
			t.Error(err)
		}
	}
	close(done)
	readers.Wait()
	if reads < 2 {
		t.Errorf("read %d times: too few to see anything", reads)
	}
	wantNames(t, w.Dir(), "cost.json", "run.json")
}

// A rename that fails leaves nothing behind.
func TestWriteResultCleansUp(t *testing.T) {
	run := testRun()
	w, err := Create(t.TempDir(), run)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(w.Dir(), "cost.json", "x"), 0o777); err != nil {
		t.Fatal(err)
	}
	wantError(t, w.WriteResult(testResult(run)), "writing cost.json")
	wantNames(t, w.Dir(), "cost.json", "run.json")
	info, err := os.Stat(filepath.Join(w.Dir(), "run.json"))
	if err != nil || info.Mode() != fs.FileMode(0o644) {
		t.Errorf("run.json: %v, %v", info.Mode(), err)
	}
}

func TestComplete(t *testing.T) {
	r := testResult(testRun())
	if r.Whole = true; !r.Complete() {
		t.Error("all cells are there, one of them failed: not complete")
	}
	if r.Planned = 3; r.Complete() {
		t.Error("complete with a cell missing")
	}
	if r.Planned, r.Whole = 2, false; r.Complete() {
		t.Error("complete though only part was planned")
	}
}

func FuzzDecodeStrict(f *testing.F) {
	run := testRun()
	data, err := json.MarshalIndent(testResult(run), "", " ")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(append([]byte("\xef\xbb\xbf"), data...))
	for _, s := range []string{"", "{", "[]", `{"format":1,"format":1}`, `{"cells":[{"values":{"a":{"value":1e999}}}]}`,
		`{"cells":null}`, `{"metrics":{"":{"unit":null}}}`, `{"cells":[[{}]]}`, `{"cells":[{"values":{"a":[{"value":1}]}}]}`, "{}\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var r Result
		err := decodeStrict("x.json", data, &r)
		var run Run
		_ = decodeStrict("x.json", data, &run)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "x.json:") {
				t.Errorf("no place in %q", err)
			}
			return
		}
		// What is accepted means the same after it is written and read again.
		once, err := json.Marshal(r)
		if err != nil {
			t.Fatalf("read, and can't be written: %v", err)
		}
		var again Result
		if err := decodeStrict("y.json", once, &again); err != nil {
			t.Fatalf("written %s: %v", once, err)
		}
		if twice, err := json.Marshal(again); err != nil || string(twice) != string(once) {
			t.Errorf("%s became %s, %v", once, twice, err)
		}
	})
}

// One process at a time writes a run; going on with it removes what a killed
// one had not finished, and nothing that another is about to make.
func TestOpen(t *testing.T) {
	results := t.TempDir()
	run := testRun()
	w, err := Create(results, run)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(results, run.ID)
	wantError(t, err, run.ID, "is being measured by another process")
	_, err = Open(results, "20000101T000000Z")
	wantError(t, err, "there is no run 20000101T000000Z")
	_, err = Open(results, "../x")
	wantError(t, err, "is not of the form")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-time.Hour)
	at := func(name string) string { return filepath.Join(results, name) }
	for name, old := range map[string]bool{".tmp-stale": true, ".tmp-fresh": false, ".tmp-held": true} {
		if err := os.Mkdir(at(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if old {
			if err := os.Chtimes(at(name), long, long); err != nil {
				t.Fatal(err)
			}
		}
	}
	held, err := lockDir(at(".tmp-held"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := os.WriteFile(at(run.ID+"/.tmp-1"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	w, err = Open(results, run.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for name, want := range map[string]bool{".tmp-stale": false, ".tmp-fresh": true, ".tmp-held": true, run.ID + "/.tmp-1": false, run.ID + "/run.json": true} {
		if _, err := os.Lstat(at(name)); (err == nil) != want {
			t.Errorf("%s is there: %v", name, err == nil)
		}
	}
	if err := w.WriteResult(testResult(run)); err != nil {
		t.Error(err)
	}
}
