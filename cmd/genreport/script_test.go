package main

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"genreport": main})
}

// TestScripts runs the command as people do; testdata/script has the scripts.
// Those that need real brokers skip with -short.
func TestScripts(t *testing.T) {
	repo, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			env.Setenv("REPO", repo)
			env.Setenv("ECHARTS", filepath.Join(repo, bundlePath))
			env.Setenv("XDG_CACHE_HOME", cache)
			bin, _, _ := strings.Cut(env.Getenv("PATH"), string(filepath.ListSeparator))
			env.Setenv("GENREPORT", filepath.Join(bin, "genreport"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"status": wantStatus, "swap": swapSamples},
	})
}

// wantStatus is "status N command…": the command must exit with that status.
func wantStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command…")
	}
	want, err := strconv.Atoi(args[0])
	if err != nil {
		ts.Fatalf("status: %v", err)
	}
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("status %d, want %d", got, want)
	}
}

// swapSamples is "swap RESULTS EXPERIMENT LABELS LABELS": in all runs, each cell
// with the first labels changes its values with that of the second, repeat by repeat.
func swapSamples(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: swap RESULTS EXPERIMENT LABELS LABELS")
	}
	labels := func(text string) map[string]any {
		out := map[string]any{}
		for pair := range strings.SplitSeq(text, ",") {
			name, value, _ := strings.Cut(pair, "=")
			out[name] = value
		}
		return out
	}
	first, second := labels(args[2]), labels(args[3])
	files, err := filepath.Glob(filepath.Join(ts.MkAbs(args[0]), "*", args[1]+".json"))
	ts.Check(err)
	swapped := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		ts.Check(err)
		decoder := json.NewDecoder(strings.NewReader(string(data)))
		decoder.UseNumber()
		var result map[string]any
		ts.Check(decoder.Decode(&result))
		byCell := map[string]map[string]any{}
		key := func(labels, repeat any) string {
			text, err := json.Marshal([]any{labels, repeat}) // keys are sorted
			ts.Check(err)
			return string(text)
		}
		cells, _ := result["cells"].([]any)
		for _, c := range cells {
			cell := c.(map[string]any)
			byCell[key(cell["labels"], cell["repeat"])] = cell
		}
		for _, c := range cells {
			cell := c.(map[string]any)
			own := cell["labels"].(map[string]any)
			other := maps.Clone(own)
			maps.Copy(other, first)
			if !maps.Equal(own, other) {
				continue
			}
			maps.Copy(other, second)
			partner := byCell[key(other, cell["repeat"])]
			if partner == nil {
				ts.Fatalf("%s: no cell has the labels %v", file, other)
			}
			cell["values"], partner["values"] = partner["values"], cell["values"]
			swapped++
		}
		data, err = json.MarshalIndent(result, "", " ")
		ts.Check(err)
		ts.Check(os.WriteFile(file, data, 0o644))
	}
	if swapped == 0 {
		ts.Fatalf("nothing was swapped in %v", files)
	}
}
