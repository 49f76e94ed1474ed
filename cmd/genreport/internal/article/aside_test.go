package article

import (
	"strings"
	"testing"
	"testing/fstest"

	"genreport/measure"
)

const testAside = "---\ntitle: Method\nsummary: How.\n---\n\nLede.\n\n## H\n\n"

// A page that is no article comes after the articles, with what references
// stand for.
func TestAside(t *testing.T) {
	fsys := testContent("en", testHead, "## H\n", "")
	fsys["pages/en/method.md"] = &fstest.MapFile{Data: []byte(testAside + "${rule/host_idle} ${rule/host_steal} ${rule/busy} ${rule/drift} ${rule/confidence} ${rule/interval_repeats}\n")}
	brokers := strings.Replace(testAside, "title: Method", "title: Broker ${broker/rabbitmq}\nbrokers: {current: 'debian:forky'}", 1)
	fsys["pages/en/versions.md"] = &fstest.MapFile{Data: []byte(brokers + "${channels/rate client=go channels=1000}\n")}
	c, err := Load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	pages, err := c.Resolve(testData())
	if err != nil || len(pages) != 3 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for i, want := range []struct {
		slug, title, text string
		aside             bool
		evidence          int
	}{
		{"a", "Title", "", false, 0},
		{"method", "Method", "10% 5% 90% 5% 95% 6", true, 0},
		{"versions", "Broker 4.3.6", "100", true, 1},
	} {
		p := pages[i]
		if p.Slug != want.slug || p.Title != want.title || p.Aside != want.aside || p.Lang != "en" || len(p.Unmet) != 0 || len(p.Evidence) != want.evidence ||
			want.text != "" && !strings.Contains(textOf(bodyHTML(p)), "\n"+want.text+"\n") || !strings.Contains(string(p.Lede), "Lede.") || len(p.Contents) != 1 {
			t.Errorf("page %d: %+v", i, p)
		}
	}
	// Without any run the thresholds are still known.
	fsys = testContent("en", testHead, "## H\n\n${rule/busy}\n", "")
	p, err := page(t, NewData(testCatalog(), nil, nil), fsys)
	if err != nil || len(p.Unmet) != 0 || !strings.Contains(bodyHTML(p), "90%") {
		t.Errorf("%s, %v", bodyHTML(p), err)
	}
}

// The rule as it is told is the rule as it is applied.
func TestRuleFactsAreApplied(t *testing.T) {
	at := func(clients, broker, idle, steal float64) measure.Bound {
		c := core(clients, broker, idle)
		c.Steal = measure.Float(steal)
		return c.Bound()
	}
	for _, tt := range []struct {
		got, want measure.Bound
	}{ // of 20 s of core time, 10 % are 2 s and 5 % are 1 s; 90 % of a core's 10 s are 9 s
		{at(1, 1, 1.99, 0), measure.BoundHost}, {at(1, 1, 2, 0), measure.BoundNothing},
		{at(1, 1, 15, 1.01), measure.BoundHost}, {at(1, 1, 15, 1), measure.BoundNothing},
		{at(9, 1, 5, 0), measure.BoundClient}, {at(8.99, 1, 5, 0), measure.BoundNothing},
		{at(1, 9, 5, 0), measure.BoundBroker}, {at(1, 8.99, 5, 0), measure.BoundNothing},
	} {
		if tt.got != tt.want {
			t.Errorf("%q, want %q", tt.got, tt.want)
		}
	}
}

func TestAsideRefuses(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"no summary":   {"---\ntitle: T\n---\n", "pages/en/method.md:1:1: front matter needs title and summary"},
		"unknown key":  {"---\ntitle: T\nquestion: Q\nsummary: S\n---\n", "pages/en/method.md:3:1: "},
		"for whom":     {"---\ntitle: T\nsummary: S\nfor: editors\n---\n", `pages/en/method.md:4:6: for is "editors"; it is authors`},
		"no front":     {"# T\n", "pages/en/method.md:1:1: front matter is missing"},
		"threshold":    {testAside + "${rule/idle}\n", `pages/en/method.md:10:8: unknown rule fact "idle"`},
		"rule, option": {testAside + "${rule/busy | bare}\n", "pages/en/method.md:10:1: rule/busy takes no options"},
		"no broker":    {testAside + "${channels/rate client=go channels=1000}\n", `pages/en/method.md:10:1: unknown broker alias "current"`},
		"figure":       {testAside + "```figure f\n```\n", `pages/en/method.md:10:11: unknown figure "f"`},
	} {
		fsys := testContent("en", testHead, "## H\n", "")
		fsys["pages/en/method.md"] = &fstest.MapFile{Data: []byte(tt.text)}
		c, err := Load(fsys)
		if err == nil {
			_, err = c.Resolve(testData())
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	// Both languages have it, or neither.
	fsys := testContent("en", testHead, "## H\n", "")
	fsys["site.yaml"] = &fstest.MapFile{Data: []byte("title: {en: S, zh: S}\nlanguages: [zh, en]\n")}
	fsys["zh/a.md"] = fsys["en/a.md"]
	fsys["pages/en/method.md"] = &fstest.MapFile{Data: []byte(testAside)}
	if _, err := Load(fsys); err == nil || !strings.Contains(err.Error(), "page method has no zh text: open pages/zh/method.md") {
		t.Errorf("%v", err)
	}
}
