package article

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

const testErrata = `errata:
  - date: 2026-05-04
    en: "The rate was given as ${given/110}; it is **${channels/rate client=go channels=1000}**."
    zh: "吞吐曾写作 ${given/110}。"
  - {date: "2026-12-01", en: "A name was wrong.", zh: "有一个名字写错了。"}
`

// errataContent is an article in both languages.
func errataContent(errata string) fstest.MapFS {
	fsys := testContent("en", testHead, "## H\n", errata)
	fsys["site.yaml"] = &fstest.MapFile{Data: []byte("title: {en: Site, zh: Site}\nlanguages: [zh, en]\n")}
	fsys["zh/a.md"] = &fstest.MapFile{Data: fsys["en/a.md"].Data}
	return fsys
}

// Corrections are dated and come newest first, in the page's language, with the
// numbers that they refer to.
func TestErrata(t *testing.T) {
	c, err := Load(errataContent(testErrata))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := c.Resolve(testData())
	if err != nil || len(pages) != 2 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	want := map[string]string{
		"zh": "2026-12-01 有一个名字写错了。 2026-05-04 吞吐曾写作 110。",
		"en": "2026-12-01 A name was wrong. 2026-05-04 The rate was given as 110; it is 100.",
	}
	for _, p := range pages {
		var said []string
		for _, e := range p.Errata {
			said = append(said, e.Date, strings.TrimSpace(textOf(string(e.Text))))
		}
		if got := strings.Join(said, " "); got != want[p.Lang] {
			t.Errorf("%s: %q, want %q", p.Lang, got, want[p.Lang])
		}
		if len(p.Loose) != 3 { // the headlines of the tests
			t.Errorf("%s: %+v", p.Lang, p.Loose)
		}
	}
	if cited := pages[1].Evidence; len(cited) != 1 || cited[0].Labels["client"] != "go" {
		t.Errorf("%+v", cited)
	}
	if p, err := page(t, testData(), testContent("en", testHead, "## H\n", "")); err != nil || p.Errata != nil {
		t.Errorf("%+v, %v", p.Errata, err)
	}
}

// What is wrong in a correction is told with its place in the YAML.
func TestErrataRefuse(t *testing.T) {
	for change, want := range map[[2]string]string{
		{"2026-05-04", "4.5.2026"}:              `a.yaml:5:11: date of an erratum is "4.5.2026", want the day`,
		{"2026-05-04", ""}:                      `a.yaml:5:10: date of an erratum is ""`,
		{"    zh: \"吞吐", "    en2: \"吞吐"}:       `a.yaml:7:5: unknown key "en2"; did you mean "en"?`,
		{", zh: \"有一个名字写错了。\"", ""}:             "a.yaml:8:", // and that it has nothing for zh
		{"channels/rate", "channels/rat"}:       `a.yaml:6:65: unknown metric "rat"; did you mean "rate"?`,
		{"The rate was", "## Rate\\n\\nIt was"}: "a.yaml:6:5: a block can't hold a heading",
	} {
		text := strings.Replace(testErrata, change[0], change[1], 1)
		c, err := Load(errataContent(text))
		if err == nil {
			_, err = c.Resolve(testData())
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", change, err, want)
		}
	}
	_, err := Load(errataContent(strings.Replace(testErrata, ", zh: \"有一个名字写错了。\"", "", 1)))
	if err == nil || !strings.Contains(err.Error(), "an erratum has nothing for zh") {
		t.Errorf("%v", err)
	}
	// A digit that is typed in is found where it stands.
	p, err := page(t, testData(), testContent("en", testHead, "## H\n", strings.Replace(testErrata, "${given/110}", "110", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(p.Loose); !strings.Contains(got, "{{a.yaml 6 32} 110}") {
		t.Errorf("%s", got)
	}
}
