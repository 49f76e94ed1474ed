package main

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"genreport/measure/experiments"
)

// A new article of any experiment is right as it is: with the committed results
// nothing is found in it, and without any its numbers alone are missing.
func TestNewArticle(t *testing.T) {
	committed := filepath.Join("..", "..", "content", "results")
	for _, e := range experiments.All() {
		if testing.Short() && e.Name != "channel-limit" && e.Name != "quorum-drain" {
			continue // results are read each time
		}
		for _, results := range []string{committed, t.TempDir()} {
			dir := t.TempDir()
			var told bytes.Buffer
			if err := newCommand(t.Context(), []string{"article", "my-article", "--experiment", e.Name, "--content", dir, "--results", results}, streams{out: io.Discard, err: &told}); err != nil {
				t.Errorf("%s: %v", e.Name, err)
				continue
			}
			m, err := readMaterial(dir, results, experiments.Standard)
			if err != nil {
				t.Errorf("%s: %v", e.Name, err)
				continue
			}
			c := checker{content: dir, results: results, m: m, found: map[finding]bool{}}
			if err := c.pages(); err != nil {
				t.Fatal(err)
			}
			c.languages()
			for f := range c.found {
				if results == committed && !f.mild || results != committed && !f.mild && !strings.Contains(f.text, "not measured") && !strings.Contains(f.text, "is bound to a result") {
					t.Errorf("%s: %+v", e.Name, f)
				}
			}
			if len(m.pages) != 2 {
				t.Fatalf("%s: %d pages", e.Name, len(m.pages))
			}
			for _, p := range m.pages {
				if len(p.Claims) != 1 || len(p.Headlines) != 3 || len(p.Used) < 5 {
					t.Errorf("%s: %d claims, %d headlines, %d references", e.Name, len(p.Claims), len(p.Headlines), len(p.Used))
				}
			}
			if missing := strings.Contains(told.String(), "no complete run"); missing != (results != committed) {
				t.Errorf("%s: %s", e.Name, told.String())
			}
		}
	}
}

func TestNewArticleRefuses(t *testing.T) {
	dir := smallContent(t)
	before, err := os.ReadFile(filepath.Join(dir, "en", "one.md"))
	if err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"is there already":             {"article", "one"},
		`"Upper" is part of addresses`: {"article", "Upper"},
		`"../x" is part of addresses`:  {"article", "../x"},
		`"site" is part of addresses`:  {"article", "site"},
		"it needs article NAME":        {"article"},
		`it makes no "page"`:           {"page", "x"},
		`unknown experiment "nosuch"`:  {"article", "x", "--experiment", "nosuch"},
	} {
		err := newCommand(t.Context(), append(args, "--content", dir, "--results", dir), streams{out: io.Discard, err: io.Discard})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", args, err, want)
		}
	}
	after, err := os.ReadFile(filepath.Join(dir, "en", "one.md"))
	if err != nil || string(after) != string(before) {
		t.Errorf("a file was changed: %q, %v", after, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 4 {
		t.Errorf("%v, %v", entries, err)
	}
}

// An editor completes references from `experiments --json`: it has all that a
// reference may name.
func TestExperimentsForEditors(t *testing.T) {
	var out bytes.Buffer
	if err := experimentsCommand(t.Context(), []string{"--json"}, streams{out: &out, err: io.Discard}); err != nil {
		t.Fatal(err)
	}
	var listed []struct {
		Name    string
		Cases   []map[string]string
		Metrics map[string]any
		Texts   map[string]any
		Series  map[string]any
	}
	if err := json.Unmarshal(out.Bytes(), &listed); err != nil {
		t.Fatal(err)
	}
	all := catalog()
	if len(listed) != len(all) || len(all) < 12 {
		t.Errorf("%d experiments, want %d", len(listed), len(all))
	}
	for _, e := range listed {
		known, ok := all[e.Name]
		if !ok {
			t.Errorf("there is no %s", e.Name)
			continue
		}
		for m := range known.Metrics {
			if _, ok := e.Metrics[m]; !ok {
				t.Errorf("%s lacks the metric %s", e.Name, m)
			}
		}
		for _, text := range known.Texts {
			if _, ok := e.Texts[text]; !ok {
				t.Errorf("%s lacks the text %s", e.Name, text)
			}
		}
		for _, s := range known.Series {
			if _, ok := e.Series[s]; !ok {
				t.Errorf("%s lacks the series %s", e.Name, s)
			}
		}
		for _, c := range known.Cases {
			if !slices.ContainsFunc(e.Cases, func(have map[string]string) bool { return maps.Equal(have, map[string]string(c)) }) {
				t.Errorf("%s lacks the case %s", e.Name, c)
			}
		}
	}
}
