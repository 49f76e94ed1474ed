package site

import (
	"encoding/json"
	"encoding/xml"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"genreport/cmd/genreport/internal/article"
	"genreport/measure"
)

var dataBlock = regexp.MustCompile(`(?s)<script type="application/ld\+json">(.*?)</script>`)

// graph is the JSON-LD of a page.
func graph(t *testing.T, page []byte) []map[string]any {
	t.Helper()
	m := dataBlock.FindSubmatch(page)
	if m == nil {
		t.Fatal("the page has no JSON-LD")
	}
	var all struct {
		Context string           `json:"@context"`
		Graph   []map[string]any `json:"@graph"`
	}
	if err := json.Unmarshal(m[1], &all); err != nil {
		t.Fatalf("%v: %s", err, m[1])
	}
	if all.Context != "https://schema.org" {
		t.Errorf("context %q", all.Context)
	}
	return all.Graph
}

func metas(t *testing.T, name string, page []byte) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, e := range elements(t, name, page) {
		if e.name == "meta" {
			out[e.attrs["name"]+e.attrs["property"]] = html.UnescapeString(e.attrs["content"])
		}
	}
	return out
}

const articlePage = "en/channels-and-connections.html"

// Addresses that have to be absolute are there with a base URL, and nothing
// that looks like one without.
func TestHead(t *testing.T) {
	in := sampleInput(plainCharts{})
	page := build(t, in)[articlePage]
	m := metas(t, articlePage, page)
	for name, want := range map[string]string{"og:type": "article", "og:title": "How many channels does a connection want?", "og:site_name": "Brokers, measured",
		"og:locale": "en_US", "og:locale:alternate": "zh_CN", "twitter:card": "summary", "article:published_time": "2026-11-30", "og:url": "", "og:image": "",
		"description": "Measured: the limit and the cost of channels, and how throughput grows with channels and with connections."} {
		if m[name] != want {
			t.Errorf("%s is %q, want %q", name, m[name], want)
		}
	}
	g := graph(t, page)
	if len(g) != 2 || g[0]["@type"] != "Article" || g[1]["@type"] != "Dataset" || g[0]["url"] != nil || g[1]["distribution"] != nil {
		t.Errorf("without a base URL: %v", g)
	}

	in.BaseURL, in.License = "https://example.org/sub", "https://example.org/licence"
	cards, err := Cards(in)
	if err != nil || len(cards) != 2 {
		t.Fatalf("%d cards, %v", len(cards), err)
	}
	in.Pictures = map[string][]byte{}
	for name := range cards {
		if strings.HasPrefix(name, "en-") {
			in.Pictures[strings.TrimSuffix(name, ".html")] = []byte("png")
		}
	}
	files := build(t, in)
	inspect(t, files, "https://example.org/sub/")
	page = files[articlePage]
	m = metas(t, articlePage, page)
	picture, ok := strings.CutPrefix(m["og:image"], "https://example.org/sub/")
	if !ok || string(files[picture]) != "png" || m["twitter:card"] != "summary_large_image" || m["og:url"] != "https://example.org/sub/"+articlePage {
		t.Errorf("with a base URL: %v", m)
	}
	if zh := metas(t, "zh", files["zh/channels-and-connections.html"]); zh["og:image"] != "" {
		t.Error("the Chinese article has a picture of none")
	}
	g = graph(t, page)
	if g[0]["url"] != "https://example.org/sub/"+articlePage || g[0]["image"] != m["og:image"] || g[0]["datePublished"] != "2026-11-30" {
		t.Errorf("the article is %v", g[0])
	}
	var addresses []string
	for _, d := range g[1]["distribution"].([]any) {
		addresses = append(addresses, d.(map[string]any)["contentUrl"].(string))
	}
	data := "https://example.org/sub/data/" + sampleRun + "/"
	if !slices.Equal(addresses, []string{data + "run.json", data + "channel-cost.json", data + "channel-limit.json", data + "channel-throughput.json", data + "connection-throughput.json"}) {
		t.Errorf("the data set's files are %v", addresses)
	}
	if !strings.Contains(string(page), `<link rel="alternate" hreflang="x-default" href="https://example.org/sub/en/channels-and-connections.html">`) {
		t.Error("no x-default")
	}
	// What the picture shows is said in words, and a list has that of its first article.
	if want := " · 2,047 channel_max: the most channels that a broker permits on one connection · ~4.0 / 18 KiB Erlang"; !strings.Contains(m["og:image:alt"], want) {
		t.Errorf("the picture's text is %q, want %q in it", m["og:image:alt"], want)
	}
	index := files["en/index.html"]
	if im := metas(t, "en/index.html", index); im["og:image"] != m["og:image"] || im["og:image:alt"] != m["og:image:alt"] {
		t.Errorf("the list shows %v", im)
	}
	// Who reads neither language chooses on the root page.
	for _, list := range []string{"index.html", "en/index.html"} {
		if !strings.Contains(string(files[list]), `<link rel="alternate" hreflang="x-default" href="https://example.org/sub/index.html">`) &&
			!strings.Contains(string(files[list]), `<link rel="alternate" hreflang="x-default" href="https://example.org/sub/">`) {
			t.Errorf("%s has no x-default", list)
		}
	}
	if g[0]["license"] != "https://example.org/licence" || g[1]["license"] != "https://example.org/licence" {
		t.Errorf("the licences are %v and %v", g[0]["license"], g[1]["license"])
	}

	// A picture is of what the page says, or it is none.
	in.Pages[1].Title = "Another"
	if m := metas(t, articlePage, build(t, in)[articlePage]); m["og:image"] != "" {
		t.Error("the picture is of another title")
	}
}

func TestSitemap(t *testing.T) {
	in := withAsides(sampleInput(plainCharts{}))
	in.Pages[0].Draft = true
	if files := build(t, in); files["sitemap.xml"] != nil || string(files["robots.txt"]) != "User-agent: *\nAllow: /\n" {
		t.Error("without a base URL there is a sitemap")
	}
	in.BaseURL = "https://example.org/a&b/"
	files := build(t, in)
	var m struct {
		Pages []struct {
			Loc     string `xml:"loc"`
			Lastmod string `xml:"lastmod"`
			Links   []struct {
				Lang string `xml:"hreflang,attr"`
				Href string `xml:"href,attr"`
			} `xml:"http://www.w3.org/1999/xhtml link"`
		} `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 url"`
	}
	if err := xml.Unmarshal(files["sitemap.xml"], &m); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, p := range m.Pages {
		path := strings.TrimPrefix(p.Loc, "https://example.org/a&b/")
		all = append(all, path)
		if path == articlePage && (p.Lastmod != "2026-11-30" || len(p.Links) != 3 || p.Links[0].Lang != "zh-Hans" || p.Links[2].Href != p.Loc) {
			t.Errorf("%+v", p)
		}
	}
	// Neither the draft nor 404.html.
	if want := []string{"", "zh/index.html", "en/index.html", articlePage, "zh/method.html", "en/method.html"}; !slices.Equal(all, want) {
		t.Errorf("the sitemap has %q, want %q", all, want)
	}
	if !strings.HasSuffix(string(files["robots.txt"]), "\nSitemap: https://example.org/a&b/sitemap.xml\n") {
		t.Errorf("robots.txt: %s", files["robots.txt"])
	}
}

func readFeed(t *testing.T, content []byte) atomFeed {
	t.Helper()
	var f atomFeed
	if err := xml.Unmarshal(content, &f); err != nil {
		t.Fatalf("%v: %s", err, content)
	}
	return f
}

// Feeds are valid whatever authors write, with links that work without a base URL.
func TestFeeds(t *testing.T) {
	in := withAsides(sampleInput(plainCharts{}))
	in.Title["en"], in.Pages[1].Title, in.Pages[1].Question = hostile, hostile, hostile
	when := time.Date(2026, 12, 5, 1, 2, 3, 0, time.UTC)
	for i, run := range []string{"20261201T000000Z", "20261205T000000Z"} {
		in.Changes = append(in.Changes, Change{Lang: "en", Slug: "channels-and-connections", Claim: "flat", Tested: "a < b", Run: run, When: when.AddDate(0, 0, 4*(i-1)),
			Before: "holds", After: "does not hold", Sentences: []Sentence{{hostile, "It is <b>not</b>."}}})
	}
	files := build(t, in)
	inspect(t, files, "")
	f := readFeed(t, files["en/feed.xml"])
	if len(f.Entries) != 1 || f.Title != hostile || f.Entries[0].Title != hostile || f.Updated != "2026-11-30T22:51:08Z" || f.Entries[0].Updated != f.Updated {
		t.Errorf("%+v", f)
	}
	if e := f.Entries[0]; e.Link.Href != "../"+articlePage || e.Content.Type != "html" || strings.Contains(e.Content.Text, "<img") ||
		!strings.Contains(e.Content.Text, html.EscapeString(hostile)) || strings.Contains(e.Content.Text, "href=") {
		t.Errorf("%+v", e)
	}
	if files["zh/changes.xml"] != nil {
		t.Error("a feed without entries")
	}
	c := readFeed(t, files["en/changes.xml"])
	if len(c.Entries) != 2 || c.Updated != "2026-12-05T01:02:03Z" || c.Entries[1].Updated != "2026-12-01T01:02:03Z" || c.Entries[0].ID == c.Entries[1].ID ||
		c.Entries[0].Title != hostile+": holds → does not hold" {
		t.Errorf("%+v", c)
	}
	if text := c.Entries[0].Content.Text; strings.Contains(text, "<img") || !strings.Contains(text, "<ins>It is &lt;b&gt;not&lt;/b&gt;.</ins>") {
		t.Error(text)
	}
	page := string(files[articlePage])
	for _, href := range []string{"../en/feed.xml", "../en/changes.xml"} {
		if !strings.Contains(page, `<link rel="alternate" type="application/atom+xml"`) || !strings.Contains(page, `href="`+href+`"`) {
			t.Errorf("the article does not lead to %s", href)
		}
	}

	in.BaseURL = "https://example.org/sub/"
	there := readFeed(t, build(t, in)["en/feed.xml"])
	if there.ID != f.ID || there.Entries[0].ID != f.Entries[0].ID || !regexp.MustCompile(`^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(f.ID) {
		t.Error("ids depend on where the site stands, or are no UUIDs")
	}
	if there.Entries[0].Link.Href != "https://example.org/sub/"+articlePage || there.Links[1].Rel != "self" || there.Links[1].Href != "https://example.org/sub/en/feed.xml" {
		t.Errorf("%+v", there.Links)
	}
}

// The order of a series is that of its numbers, and its ends have one neighbour.
func TestNeighbours(t *testing.T) {
	in := sampleInput(plainCharts{})
	in.Pages = nil
	for _, n := range []int{3, 1, 2} {
		in.Pages = append(in.Pages, article.Page{Slug: "n" + string(rune('0'+n)), Lang: "en", Series: "S", Number: n, Title: "Title " + string(rune('0'+n))})
	}
	in.Pages = append(in.Pages, article.Page{Slug: "other", Lang: "en", Series: "T", Number: 4, Title: "Other"})
	files := build(t, in)
	inspect(t, files, "")
	link := regexp.MustCompile(`<a class="(?:prev|next)" rel="(prev|next)" href="([^"]*)">`)
	for name, want := range map[string]string{"en/n1.html": "next ../en/n2.html", "en/n2.html": "prev ../en/n1.html next ../en/n3.html", "en/n3.html": "prev ../en/n2.html", "en/other.html": ""} {
		var got []string
		for _, m := range link.FindAllStringSubmatch(string(files[name]), -1) {
			got = append(got, m[1], m[2])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// The archive has the runs, newest first, and the articles as they were.
func TestArchive(t *testing.T) {
	in := sampleInput(plainCharts{})
	old := "20261001T000000Z"
	in.Data[old+"/run.json"], in.Data[old+"/channel-limit.json"] = []byte("{}"), []byte("{}")
	cell := measure.Cell{Labels: measure.Labels{"broker": "b"}}
	lost := cell
	lost.Failure = &measure.Failure{Reason: "it ended"}
	was := in.Pages[1]
	was.Runs = []article.Source{{Run: measure.Run{ID: old, Started: time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)}}}
	in.Earlier = []Earlier{{old, was}}
	in.Runs = []measure.Recorded{
		{Run: was.Runs[0].Run, Results: map[string]measure.Result{"channel-limit": {Planned: 4, Cells: []measure.Cell{cell, cell, lost}}}},
		{Run: in.Pages[0].Runs[0].Run},
	}
	for _, base := range []string{"", "https://example.org/x/"} {
		in.BaseURL = base
		files := build(t, in)
		inspect(t, files, base)
		page := textOf(files["en/runs/index.html"])
		if i, k := strings.Index(page, "2026-11-30"), strings.Index(page, "2026-10-01"); i < 0 || k < i {
			t.Errorf("the newest run is not first: %d, %d", i, k)
		}
		for _, want := range []string{"3 of 4 measured, 1 failed", "run.json · channel-limit.json", "How many channels does a connection want? (as it read then)"} {
			if !strings.Contains(page, want) {
				t.Errorf("the archive does not say %q", want)
			}
		}
		then := string(files["en/runs/"+old+"/channels-and-connections.html"])
		if !strings.Contains(then, `content="noindex"`) || strings.Contains(then, "hreflang=\"x-default\"") || strings.Contains(then, "canonical") || strings.Contains(then, "ld+json") {
			t.Error("an earlier article is shown to search engines as today's")
		}
		if !strings.Contains(string(files[articlePage]), `href="../en/runs/index.html#run-`+sampleRun+`"`) {
			t.Error("the article's run does not lead to the archive")
		}
	}
	in.Earlier[0].Page.Slug = "gone"
	if _, err := Build(in); err == nil || !strings.Contains(err.Error(), "is none of today") {
		t.Errorf("an earlier page of no article: %v", err)
	}
}

// The root page and 404.html have the footer of every language.
func TestFooters(t *testing.T) {
	files := build(t, withAsides(sampleInput(plainCharts{})))
	for _, name := range []string{"index.html", "404.html"} {
		page := string(files[name])
		for _, want := range []string{"文字与数据以 Apache-2.0 许可发布。", "Text and data under the Apache-2.0 licence.", `<div class="own" lang="zh-Hans">`, `<div class="own" lang="en">`} {
			if !strings.Contains(page, want) {
				t.Errorf("%s has no %s", name, want)
			}
		}
	}
}

func TestVersions(t *testing.T) {
	run := func(all ...string) (s article.Source) {
		for _, v := range all {
			s.Run.Brokers = append(s.Run.Brokers, measure.Broker{RabbitMQ: v})
		}
		return s
	}
	if got := versions(article.Page{Runs: []article.Source{run("4.3.6", "3.10.8"), run("3.9.1", "4.3.6", "")}}); got != "RabbitMQ 3.9.1 · 3.10.8 · 4.3.6" {
		t.Error(got)
	}
	if got := versions(article.Page{}); got != "" {
		t.Error(got)
	}
}

func TestThemes(t *testing.T) {
	css, err := withThemes([]byte(":root { --a: 1; }\n@media (prefers-color-scheme: dark) {\n  :root {\n    --a: 2;\n  }\n}\np { color: red; }\n"))
	want := ":root { --a: 1; }\n@media (prefers-color-scheme: dark) {\n  :root:where(:not([data-theme=\"light\"])) {\n    --a: 2;\n  }\n}\n" +
		":root:where([data-theme=\"dark\"]) {\n    --a: 2;\n}\np { color: red; }\n"
	if err != nil || string(css) != want {
		t.Errorf("%v\n%s", err, css)
	}
	for name, css := range map[string]string{
		"no dark colours":    "p {}",
		"dark colours aside": "@media (prefers-color-scheme: dark) {\n  :root {\n    --a: 2;\n  }\n}\n@media (prefers-color-scheme: dark) { p { color: red; } }\n",
	} {
		if _, err := withThemes([]byte(css)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A link to the only case of a claim has words too.
func TestClaimLinks(t *testing.T) {
	in := sampleInput(plainCharts{})
	in.Pages[1].Claims = []article.Claim{{ID: "c-1", Name: "limited", Evidence: []article.Link{{Href: "#e-limit"}}}}
	if page := build(t, in)[articlePage]; !strings.Contains(string(page), `<a href="#e-limit">1 case</a>`) {
		t.Error("the link has no words")
	}
}
