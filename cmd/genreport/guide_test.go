package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"genreport/cmd/genreport/internal/chart"
	"genreport/cmd/genreport/internal/site"
	"genreport/measure/experiments"
)

// noCharts draws nothing: what examples say is tested, not how it looks.
type noCharts struct{}

func (noCharts) Draw(f *chart.Figure) (chart.Drawing, error) {
	return chart.Drawing{SVG: "<svg></svg>", Option: []byte("{}"), Width: f.Width, Height: f.Height}, nil
}

var fenceLine = regexp.MustCompile("^(`{3,})(.*)$")

// examples takes a guide apart: the blocks by their info, each with all other
// lines of the guide blank, so that errors tell the guide's lines.
func examples(t *testing.T, text string) (blocks map[string]string, count map[string]int) {
	t.Helper()
	blocks, count = map[string]string{}, map[string]int{}
	kinds := []string{"yaml article", "yaml front", "markdown example"}
	within, fence := "", ""
	for _, line := range strings.Split(text, "\n") {
		m := fenceLine.FindStringSubmatch(line)
		in := within
		switch {
		case fence == "" && m != nil:
			fence, within, in = m[1], m[2], ""
			count[within]++
		case fence != "" && line == fence:
			fence, within, in = "", "", ""
		}
		for _, k := range kinds {
			if in == k {
				blocks[k] += line
			}
			blocks[k] += "\n"
		}
	}
	if fence != "" {
		t.Fatal("the guide has a block without an end")
	}
	return blocks, count
}

// intervalExample is the interval that the examples have.
var intervalExample = regexp.MustCompile(`(?: interval |区间 )<a class="n" href="[^"]*">([0-9.]+–[0-9.]+)</a>`)

// The examples of the authors' guide are an article: it renders, and `check`
// finds nothing in it, in each language.
func TestGuideExamples(t *testing.T) {
	results := filepath.Join("..", "..", "content", "results")
	var before map[string]int
	var intervals []string
	for _, lang := range []string{"en", "zh"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "content", "pages", lang, "guide.md"))
		if err != nil {
			t.Fatal(err)
		}
		blocks, count := examples(t, string(text))
		if count["yaml article"] != 1 || count["yaml front"] != 1 || count["markdown example"] < 7 {
			t.Fatalf("%s: %v", lang, count)
		}
		if before != nil && before["markdown example"] != count["markdown example"] {
			t.Errorf("%s has %d examples, the other language %d", lang, count["markdown example"], before["markdown example"])
		}
		before = count
		dir := t.TempDir()
		writeTo(t, dir, "site.yaml", "title: {"+lang+": Site}\nlanguages: ["+lang+"]\n")
		writeTo(t, dir, "my-article.yaml", blocks["yaml article"])
		writeTo(t, dir, lang+"/my-article.md", "---\n"+strings.TrimSpace(blocks["yaml front"])+"\n---\n"+blocks["markdown example"])
		m, err := readMaterial(dir, results, experiments.Standard)
		if err != nil {
			t.Errorf("%s: %v", lang, err)
			continue
		}
		c := checker{content: dir, results: results, m: m, found: map[finding]bool{}}
		if err := c.pages(); err != nil {
			t.Fatal(err)
		}
		for f := range c.found {
			if !strings.HasPrefix(f.file, results) { // the runs have been told of
				t.Errorf("%s: %+v", lang, f)
			}
		}
		var ids []string
		for _, p := range m.pages {
			ids = append(ids, runIDs(p)...)
		}
		files, err := site.Build(site.Input{Config: site.Config{Title: m.content.Site.Title, Languages: m.content.Site.Languages}, Pages: m.pages, Charts: noCharts{}, Data: resultFiles(m.data.Runs(), ids)})
		if err != nil {
			t.Fatal(err)
		}
		page := string(files[lang+"/my-article.html"])
		for what, want := range map[string]int{"${": 0, "```": 0, `<figure class="chart"`: 3, `class="verdict `: 2, `<figure class="grid"`: 1, `<figure class="parameters"`: 1,
			`<details class="setup"`: 1, `<aside class="callout warning"`: 1, `<section class="demo"`: 1, `<section class="errata"`: 1, `class="footnotes"`: 1, `<section class="sources"`: 1, `<div id="g-post">`: 1, `<div id="g-connection-throughput">`: 1} {
			if got := strings.Count(page, what); got != want {
				t.Errorf("%s: %d times %s, want %d", lang, got, what, want)
			}
		}
		// The interval of the ratio, in both languages the same.
		if m := intervalExample.FindStringSubmatch(page); m == nil {
			t.Errorf("%s: no interval in %s", lang, page)
		} else if intervals = append(intervals, m[1]); intervals[0] != m[1] {
			t.Errorf("%s: the interval is %s, and %s in the other language", lang, m[1], intervals[0])
		}
	}
}
