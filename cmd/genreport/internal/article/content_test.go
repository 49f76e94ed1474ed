package article

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestLoadRefuses(t *testing.T) {
	good := func() fstest.MapFS { return testContent("en", testHead, "## H\n", "") }
	set := func(name, text string) fstest.MapFS {
		fsys := good()
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
		return fsys
	}
	without := func(name string) fstest.MapFS {
		fsys := good()
		delete(fsys, name)
		return fsys
	}
	replace := func(old, new string) fstest.MapFS {
		return set("en/a.md", strings.Replace(testHead+"## H\n", old, new, 1))
	}
	if _, err := Load(good()); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		fsys fstest.MapFS
		want string
	}{
		{"no site", without("site.yaml"), "site.yaml"},
		{"unknown key", set("site.yaml", "title: {en: S}\nlanguages: [en]\nlanguage: [en]\n"), "site.yaml:3:1: "},
		{"duplicate key", set("site.yaml", "title: {en: S}\nlanguages: [en]\ntitle: {en: T}\n"), "site.yaml:3:1: "},
		{"language", set("site.yaml", "title: {de: S}\nlanguages: [de]\n"), `unknown language "de"`},
		{"no language", set("site.yaml", "title: {en: S}\n"), "languages is empty"},
		{"no title", set("site.yaml", "title: {zh: S}\nlanguages: [en]\n"), "title has nothing for en"},
		{"no text", without("en/a.md"), "article a has no en text"},
		{"no declarations", without("a.yaml"), "en/a.md:1:1: there is no a.yaml"},
		{"no current broker", set("a.yaml", "series: S\nnumber: 1\n"), "a.yaml:1:1: brokers names no current"},
		{"no number", set("a.yaml", "series: S\nbrokers: {current: b}\n"), "a.yaml:1:1: number counts from 1"},
		{"empty", set("a.yaml", "\n"), "a.yaml:1:1: there is nothing in it"},
		{"bad yaml", set("a.yaml", "series: S\nnumber: [\n"), "a.yaml:"},
		{"number that is none", set("a.yaml", "series: S\nnumber: one\nbrokers: {current: b}\n"), "a.yaml:2:9: "},
		{"no front matter", set("en/a.md", "## H\n"), "en/a.md:1:1: front matter is missing"},
		{"open front matter", set("en/a.md", "---\ntitle: T\n"), "en/a.md:1:1: front matter has no closing ---"},
		{"front key", replace("summary:", "sumary:"), "en/a.md:4:1: unknown key \"sumary\"; did you mean \"summary\"?"},
		{"front key twice", replace("question:", "title:"), "en/a.md:3:1: "},
		{"no question", replace("question: A question?\n", ""), "front matter needs title, question and summary"},
		{"two headlines", replace("  - {value: \"3\", label: c}\n", ""), "has 2 headlines, want 3"},
	}
	for _, tt := range tests {
		_, err := Load(tt.fsys)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v; want %q", tt.name, err, tt.want)
		}
	}
}

// One wrong file does not hide another.
func TestLoadTellsAll(t *testing.T) {
	fsys := testContent("en", testHead, "## H\n", "")
	fsys["b.yaml"] = &fstest.MapFile{Data: []byte("nothing: 1\n")}
	fsys["c.yaml"] = &fstest.MapFile{Data: []byte("series: S\nnumber: 3\nbrokers: {current: b}\n")}
	_, err := Load(fsys)
	for _, want := range []string{"b.yaml:1:1: ", "article c has no en text"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}

// A byte order mark and Windows line ends don't move lines.
func TestLoadWindowsText(t *testing.T) {
	text := "\ufeff" + strings.ReplaceAll(testHead+"## H\n\n${x/y}\n", "\n", "\r\n")
	fsys := testContent("en", "", text, "")
	_, err := page(t, testData(), fsys)
	if err == nil || !strings.Contains(err.Error(), "en/a.md:15:3: ") {
		t.Errorf("%v", err)
	}
}
