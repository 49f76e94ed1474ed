package site

import (
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"html/template"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"genreport/cmd/genreport/internal/article"
	"genreport/cmd/genreport/internal/chart"
	"genreport/cmd/genreport/internal/claim"
	"genreport/measure"
)

// plainCharts draws as much of a figure as other packages' tests need.
type plainCharts struct{}

func (plainCharts) Draw(f *chart.Figure) (chart.Drawing, error) {
	title := html.EscapeString(f.Title)
	return chart.Drawing{Option: []byte("{}"), Width: 720, Height: 360, SVG: fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 360" role="img" aria-labelledby="%s-title"><title id="%s-title">%s</title></svg>`, f.ID, f.ID, title)}, nil
}

func build(t *testing.T, in Input) map[string][]byte {
	t.Helper()
	files, err := Build(in)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// element is a start tag.
type element struct {
	name  string
	attrs map[string]string
}

var void = map[string]bool{"meta": true, "link": true, "br": true, "hr": true, "img": true, "wbr": true}

// elements reads the start tags of a page, and fails when tags don't nest:
// pages of this package and of its tests leave out no end tag.
func elements(t *testing.T, name string, page []byte) []element {
	t.Helper()
	var all []element
	var open []string
	d := xml.NewDecoder(strings.NewReader(string(page)))
	d.Strict, d.Entity = false, xml.HTMLEntity
	for {
		token, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			e := element{x.Name.Local, map[string]string{}}
			for _, a := range x.Attr {
				if _, twice := e.attrs[a.Name.Local]; twice {
					t.Errorf("%s: <%s> has %s twice", name, e.name, a.Name.Local)
				}
				e.attrs[a.Name.Local] = a.Value
			}
			all = append(all, e)
			if !void[e.name] {
				open = append(open, e.name)
			}
		case xml.EndElement:
			if void[x.Name.Local] {
				continue
			}
			if len(open) == 0 || open[len(open)-1] != x.Name.Local {
				t.Fatalf("%s: </%s> closes %v", name, x.Name.Local, open)
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		t.Errorf("%s: %v not closed", name, open)
	}
	return all
}

// inspect checks what has to hold for every page of a site.
func inspect(t *testing.T, files map[string][]byte, base string) {
	t.Helper()
	ids := map[string]map[string]bool{}
	pages := map[string][]element{}
	for name, content := range files {
		if strings.HasSuffix(name, ".html") {
			pages[name] = elements(t, name, content)
			ids[name] = map[string]bool{}
			for _, e := range pages[name] {
				if id, ok := e.attrs["id"]; ok {
					if ids[name][id] {
						t.Errorf("%s: the id %q is there twice", name, id)
					}
					ids[name][id] = true
				}
			}
		}
	}
	for name, all := range pages {
		level := 0
		titles := 0
		for _, e := range all {
			switch e.name {
			case "style", "base", "iframe", "object", "embed", "form":
				t.Errorf("%s has a <%s>", name, e.name)
			case "script": // data that no browser runs, or a file of the site, which the page does without
				if e.attrs["type"] == "application/ld+json" {
					continue
				}
				// The page's own script chooses its colours before anything is drawn.
				if _, deferred := e.attrs["defer"]; e.attrs["src"] == "" || !deferred && !strings.Contains(e.attrs["src"], "assets/page.") {
					t.Errorf("%s has a script that is no file, or not deferred: %v", name, e.attrs)
				}
			case "h1", "h2", "h3", "h4", "h5", "h6":
				l := int(e.name[1] - '0')
				if l > level+1 {
					t.Errorf("%s: <h%d> follows <h%d>", name, l, level)
				}
				if level = l; l == 1 {
					titles++
				}
			}
			for a, v := range e.attrs {
				switch {
				case a == "style", strings.HasPrefix(a, "on"):
					t.Errorf("%s: <%s %s=%q>", name, e.name, a, v)
				case (a == "aria-labelledby" || a == "aria-describedby") && !ids[name][v]:
					t.Errorf("%s: %s=%q leads nowhere", name, a, v)
				case a == "href" || a == "src":
					rel := e.attrs["rel"]
					if rel == "canonical" || rel == "alternate" && e.attrs["type"] == "" {
						if base == "" || !strings.HasPrefix(v, base) {
							t.Errorf("%s: %s is %q", name, rel, v)
						}
						continue
					}
					u, err := url.Parse(v)
					if err != nil || u.Scheme != "" || u.Host != "" {
						t.Errorf("%s: %s is not relative: %v", name, v, err)
						continue
					}
					to := name
					switch {
					case strings.HasPrefix(u.Path, "/") && name == "404.html" && base != "":
						b, _ := url.Parse(base)
						to = strings.TrimPrefix(u.Path, b.Path)
					case strings.HasPrefix(u.Path, "/"):
						t.Errorf("%s: %s is not relative", name, v)
					case u.Path != "":
						to = path.Join(path.Dir(name), u.Path)
					}
					if _, ok := files[to]; !ok {
						t.Errorf("%s: %s leads to %s, which is not there", name, v, to)
					} else if u.Fragment != "" && !ids[to][u.Fragment] {
						t.Errorf("%s: nothing has the id of %s", name, v)
					}
				}
			}
		}
		if titles != 1 {
			t.Errorf("%s has %d <h1>", name, titles)
		}
	}
}

func TestSite(t *testing.T) {
	for _, base := range []string{"", "https://example.org/repo/sub/", "https://example.org/repo/sub", "https://example.org"} {
		in := sampleInput(plainCharts{})
		in.BaseURL = base
		files := build(t, in)
		if base != "" {
			base = strings.TrimSuffix(base, "/") + "/"
		}
		inspect(t, files, base)
		for _, name := range []string{"index.html", "zh/index.html", "en/index.html", "zh/channels-and-connections.html", "en/channels-and-connections.html",
			"404.html", ".nojekyll", "data/" + sampleRun + "/channel-limit.json"} {
			if _, ok := files[name]; !ok {
				t.Errorf("%s is missing", name)
			}
		}
		page := string(files["en/channels-and-connections.html"])
		for _, want := range []string{`<html lang="en">`, `href="../zh/channels-and-connections.html"`, `id="fig-channels-wide-title"`, `id="fig-channels-narrow-title"`,
			`>RabbitMQ <span aria-hidden="true">·</span> 21<`, "Measured · output on this machine", "<th scope=\"row\">64</th>", "23.5 GiB", "not measured (the node did not answer)",
			`<a href="../data/experiment.schema.json">experiment.schema.json</a> <span aria-hidden="true">·</span> <a href="../data/run.schema.json">run.schema.json</a>`} {
			if !strings.Contains(page, want) {
				t.Errorf("the English article has no %s", want)
			}
		}
		for _, unwanted := range []string{"noindex", `class="notice"`, "series-nav"} {
			if strings.Contains(page, unwanted) {
				t.Errorf("the article has %s", unwanted)
			}
		}
		canonical := `<link rel="canonical" href="` + base + `en/channels-and-connections.html">`
		alternate := `<link rel="alternate" hreflang="zh-Hans" href="` + base + `zh/channels-and-connections.html">`
		if has := strings.Contains(page, canonical) && strings.Contains(page, alternate); has != (base != "") {
			t.Errorf("with base URL %q: canonical and alternates there is %v", base, has)
		}
	}
}

// Corrections stand behind the text, dated, with a heading of their own and a way
// to it; an article without any has none of this. The feed tells of the article
// again on the day of a correction.
func TestErrata(t *testing.T) {
	in := sampleInput(plainCharts{})
	in.Pages[0].Errata = []article.Erratum{{Date: "2026-12-09", Text: "<p>写错了一个名字。</p>"}}
	in.Pages[1].Errata = []article.Erratum{{Date: "2026-12-09", Text: "<p>A name was wrong.</p>"}, {Date: "2026-12-08", Text: "<p>So was another.</p>"}}
	files := build(t, in)
	inspect(t, files, "")
	for lang, want := range map[string]string{
		"zh": "勘误与更正 发表之后改正的地方。 2026-12-09 写错了一个名字。",
		"en": "Errata and corrections What was put right after the article was published. 2026-12-09 A name was wrong. 2026-12-08 So was another.",
	} {
		page := files[lang+"/channels-and-connections.html"]
		if !strings.Contains(textOf(page), want) || !strings.Contains(string(page), `<a href="#_errata">`) || !strings.Contains(string(page), `<time datetime="2026-12-09">`) {
			t.Errorf("%s: %s", lang, page)
		}
		if f := readFeed(t, files[lang+"/feed.xml"]); f.Entries[0].Updated != "2026-12-09T00:00:00Z" {
			t.Errorf("%s: the feed has %s", lang, f.Entries[0].Updated)
		}
	}
	for name, content := range build(t, sampleInput(plainCharts{})) {
		if strings.HasSuffix(name, ".html") && strings.Contains(string(content), "rrata") {
			t.Errorf("%s speaks of errata that there are none of", name)
		}
	}
}

// text is what a page says, without markup and with single spaces.
func textOf(page []byte) string {
	return strings.Join(strings.Fields(html.UnescapeString(tag.ReplaceAllString(string(page), " "))), " ")
}

// What stands behind the numbers, in both languages.
func TestBehind(t *testing.T) {
	in := sampleInput(plainCharts{})
	steady, drifted := in.Pages[0].Runs[0].Run, in.Pages[1].Runs[0].Run
	control := func(rates ...measure.Value) (all []measure.Control) {
		for i, r := range rates {
			all = append(all, measure.Control{When: []string{"first", "middle", "last"}[i], Broker: "debian:forky", Rate: r})
		}
		return all
	}
	steady.Control = control(measure.Float(31000), measure.Float(30500), measure.Float(31200))       // 1.6 %
	drifted.Control = control(measure.Float(31000), measure.Missing("it ended"), measure.Int(28520)) // 8 %
	files := func(run measure.Run) map[string]string {
		for i := range in.Pages {
			in.Pages[i].Runs[0].Run = run
		}
		built := build(t, in)
		inspect(t, built, "")
		out := map[string]string{}
		for _, lang := range []string{"zh", "en"} {
			out[lang] = textOf(built[lang+"/channels-and-connections.html"])
		}
		return out
	}
	wants := func(what string, pages map[string]string, want map[string][]string) {
		for lang, all := range want {
			for _, w := range all {
				if !strings.Contains(pages[lang], w) {
					t.Errorf("%s: the %s page does not say %q", what, lang, w)
				}
			}
		}
	}
	pages := files(drifted)
	wants("drifted", pages, map[string][]string{
		"en": {"during run " + sampleRun + " the control load drifted by 8%, more than the limit of 5%", "Control debian:forky · 31,000 → not measured (it ended) → 28,500 /s largest drift 8% (limit 5%)",
			"bound by host-bound, the machine had no core time left; the broker used 58% of the busy CPU time",
			"bound by client-bound, the load clients used up their cores; the broker used 34–40% of the busy CPU time",
			"bound by mixed: not bound by anyone's CPU (2 repeats); client-bound, the load clients used up their cores (1 repeat)",
			"spread no 95% interval: the range of 3 repeats holds the true median with a probability of only 75%; it takes 6 repeats.",
			"spread no 95% interval: one sample says nothing of the spread; it takes 6.",
			"messages 3 of 3 repeats add up, 0 lost",
			"repeat 2 failed integrity: 100000 messages were published and 99998 are in the queue (100,000 sent, 99,998 enqueued, 0 out of order)",
			"† Client-bound: the load clients used up their cores, the broker may do more. pika: 1 , 4 ; go: 4",
			"15,100 /s † (client-bound)"},
		"zh": {"批次 " + sampleRun + " 的对照负载偏移了 8%\uff0c超过 5% 的限度", "对照负载 debian:forky · 31,000 → 未测量\uff08it ended\uff09 → 28,500 /s 最大偏移 8%\uff08限度 5%\uff09",
			"瓶颈 受限于整机\uff0c已没有空闲的核\uff1b忙碌的 CPU 时间里 broker 占 58%",
			"瓶颈 各次不一\uff1a不受 CPU 限制\uff082 次\uff09\uff1b受限于客户端\uff0c压测客户端用满了自己的核\uff081 次\uff09",
			"离散程度 不给出 95% 区间\uff1a3 次重复的最小值到最大值包住真正中位数的概率只有 75%\uff0c至少要 6 次\u3002",
			"消息清点 3/3 次重复对得上\uff0c丢失 0",
			"第 2 次失败 integrity: 100000 messages were published and 99998 are in the queue\uff08发送 100,000\uff0c入队 99,998\uff0c乱序 0\uff09",
			"† 受限于客户端\uff1a压测客户端用满了自己的核\uff0cbroker 也许还能更快\u3002 pika\uff1a 1 \uff0c 4 \uff1bgo\uff1a 4"},
	})
	// Two runs are told in one notice.
	for i := range in.Pages {
		two := slices.Clone(in.Pages[i].Runs)
		other := two[0].Run
		other.ID = "20261201T000000Z"
		in.Pages[i].Runs = append(two, article.Source{Run: other})
	}
	pages = files(drifted)
	wants("twice", pages, map[string][]string{
		"en": {"during run " + sampleRun + " the control load drifted by 8%, during run 20261201T000000Z the control load drifted by 8%, more than the limit of 5%"},
		"zh": {"批次 " + sampleRun + " 的对照负载偏移了 8%\uff0c批次 20261201T000000Z 的对照负载偏移了 8%\uff0c超过 5% 的限度"},
	})
	for lang, said := range map[string]string{"en": "was not steady", "zh": "状态不稳"} {
		if n := strings.Count(pages[lang], said); n != 1 {
			t.Errorf("%s: %d notices, want one", lang, n)
		}
	}
	for i := range in.Pages {
		in.Pages[i].Runs = in.Pages[i].Runs[:1]
	}
	pages = files(steady)
	wants("steady", pages, map[string][]string{"en": {"largest drift 1.6% (limit 5%)"}, "zh": {"最大偏移 1.6%\uff08限度 5%\uff09"}})
	for lang, unwanted := range map[string]string{"en": "was not steady", "zh": "状态不稳"} {
		if strings.Contains(pages[lang], unwanted) {
			t.Errorf("steady: the %s page says %q", lang, unwanted)
		}
	}
	// A case without any of it says nothing of it.
	for i := range in.Pages {
		for k, e := range in.Pages[i].Evidence {
			in.Pages[i].Evidence[k] = article.Evidence{ID: e.ID, Experiment: e.Experiment, Labels: e.Labels, Metrics: e.Metrics, Repeats: 6}
		}
	}
	if page := build(t, in)["en/channels-and-connections.html"]; strings.Contains(string(page), `class="behind"`) {
		t.Error("a case of which nothing is recorded has a list of it")
	}
}

// Every page leads to those that are no articles, in its language, and articles
// do where their evidence begins; lists have no entry of them.
func TestAsides(t *testing.T) {
	in := withAsides(sampleInput(plainCharts{}))
	files := build(t, in)
	inspect(t, files, "")
	for name, links := range map[string][]string{
		"en/channels-and-connections.html": {`<a href="../en/method.html" hreflang="en" lang="en">`, `<p class="about">How they come about and what they mean: <a href="../en/method.html">How to read these numbers</a>.</p>`},
		"zh/channels-and-connections.html": {`<a href="../zh/method.html" hreflang="zh-Hans" lang="zh-Hans">`, "怎么读\uff0c见<a href=\"../zh/method.html\">怎样读这些数字</a>\u3002</p>"},
		"en/index.html":                    {`<a href="../en/method.html" hreflang="en" lang="en">`},
		"zh/index.html":                    {`<a href="../zh/method.html" hreflang="zh-Hans" lang="zh-Hans">`},
		"index.html":                       {`<a href="en/method.html" hreflang="en" lang="en">`, `<a href="zh/method.html" hreflang="zh-Hans" lang="zh-Hans">`},
		"404.html":                         {`<a href="en/method.html" hreflang="en" lang="en">`, `<a href="zh/method.html" hreflang="zh-Hans" lang="zh-Hans">`},
		"en/method.html":                   {`<span aria-current="page" lang="en">How to read these numbers</span>`, `href="../zh/method.html"`, "<h1>How to read these numbers</h1>"},
	} {
		page := string(files[name])
		for _, l := range links {
			if !strings.Contains(page, l) {
				t.Errorf("%s has no %s", name, l)
			}
		}
		if strings.HasSuffix(name, "index.html") && strings.Count(page, `class="entry"`) != strings.Count(name, "/")+2*(1-strings.Count(name, "/")) {
			t.Errorf("%s lists %d articles", name, strings.Count(page, `class="entry"`))
		}
	}
	if page := string(files["en/method.html"]); strings.Contains(page, `class="series"`) || strings.Contains(page, `class="evidence"`) {
		t.Error("a page that is no article has what articles have")
	}
	in.Pages = in.Pages[:2]
	for i := range in.Pages {
		in.Pages[i].Runs = nil // and no feed, which needs the time of a run
	}
	for name, page := range build(t, in) {
		if strings.Contains(string(page), `class="asides"`) {
			t.Errorf("%s leads to pages that there are none of", name)
		}
	}
}

// The mark does not make headline figures smaller, and lists show it too.
func TestMarkedHeadline(t *testing.T) {
	in := sampleInput(plainCharts{})
	marked := in.Pages[1].Headlines[2].Value
	if !strings.Contains(string(marked), `class="mark"`) {
		t.Fatal("the fixture has no marked headline")
	}
	for i := range in.Pages {
		in.Pages[i].Headlines = []article.Headline{{Value: marked}}
	}
	files := build(t, in)
	if !strings.Contains(string(files["en/channels-and-connections.html"]), `headlines medium`) { // "15,100† → 26,300": 16 characters
		t.Error("the words for those who hear the page count as width")
	}
	list := string(files["en/index.html"])
	if !strings.Contains(list, `<span class="mark"><span aria-hidden="true" title="client-bound: the load clients used up their cores">†</span><span class="unseen"> (client-bound)</span></span>`) {
		t.Error("the list does not show the mark")
	}
}

func TestMarkedOutlier(t *testing.T) {
	in := sampleInput(plainCharts{})
	for i := range in.Pages {
		if len(in.Pages[i].Evidence) > 0 {
			in.Pages[i].Evidence[0].Metrics[0].Samples = []article.ShownSample{{Text: "17"}, {Text: "99", Outlier: true}}
		}
	}
	files := build(t, in)
	for name, want := range map[string]string{"en/channels-and-connections.html": "17 · 99<i> (outlier, counted)</i></span>", "zh/channels-and-connections.html": "17 · 99<i>（离群，照计）</i></span>"} {
		if got := string(files[name]); !strings.Contains(got, want) {
			t.Errorf("%s does not mark the outlier", name)
		}
	}
}

func TestPercent(t *testing.T) {
	for share, want := range map[float64]string{0: "0%", 0.05: "5%", 0.08000000000000007: "8%", 0.0563: "5.6%", 0.123: "12%", 0.58: "58%", 0.9375: "93.8%", 0.95: "95%", 0.99999: "100%", 1: "100%"} {
		if got := percent(share); got != want {
			t.Errorf("%g: %s, want %s", share, got, want)
		}
	}
}

func TestSameBytes(t *testing.T) {
	a, b := build(t, sampleInput(plainCharts{})), build(t, sampleInput(plainCharts{}))
	if !reflect.DeepEqual(a, b) {
		t.Error("two builds differ")
	}
}

const hostile = `</ScRiPt><img src=x onerror=alert(1)> "q" 'q' <!-- {{.}} & ` + "\u2028"

func TestHostileStrings(t *testing.T) {
	in := sampleInput(plainCharts{})
	in.Title = map[string]string{"zh": hostile, "en": hostile}
	in.Author, in.Tool = hostile, hostile
	in.Footer = map[string][]string{"zh": {hostile}, "en": {hostile}}
	for i := range in.Pages {
		p := &in.Pages[i]
		p.Series, p.Title, p.Question, p.Summary = hostile, hostile, hostile, hostile
		p.Contents[0].Text = hostile
		for _, b := range p.Blocks {
			if b.Output != nil {
				b.Output.Client = hostile
			}
			if f := b.Figure; f != nil {
				f.Wide.Title, f.Narrow.Title = hostile, hostile
				f.Table = article.Table{Head: []string{hostile, hostile}, Rows: [][]string{{hostile, hostile}}}
				f.Data[0].Text = hostile
				f.Marked = []article.MarkedSeries{{Name: hostile, Points: []article.Link{{Href: "#e-limit", Text: hostile}}}}
			}
		}
		e := &p.Evidence[0]
		e.Experiment, e.Command, e.Data.Text = hostile, hostile, hostile
		e.Labels = measure.Labels{hostile: hostile}
		e.Failed = []article.FailedRepeat{{Repeat: 1, Reason: hostile}}
		e.Metrics = []article.EvidenceMetric{
			{Name: hostile, Unit: hostile, Median: hostile, Low: "1", High: hostile, Interval: hostile, Samples: []article.ShownSample{{Text: hostile}}, Description: hostile},
			{Name: "x", Missing: hostile},
		}
		r := &p.Runs[0].Run
		r.Profile, r.Machine.CPU, r.Brokers[0].RabbitMQ, r.Clients[0].Library, r.Warnings = hostile, hostile, hostile, hostile, []string{hostile}
		r.Control = []measure.Control{{Broker: hostile, Rate: measure.Missing(hostile)}}
	}
	files := build(t, in)
	inspect(t, files, "")
	for name, content := range files {
		if !strings.HasSuffix(name, ".html") {
			continue
		}
		if lower := strings.ToLower(string(content)); strings.Count(lower, "</script") != strings.Count(lower, "<script") || strings.Contains(lower, "<img") || strings.Contains(lower, "<!--") {
			t.Errorf("%s has a hostile string as markup", name)
		}
		if !strings.Contains(html.UnescapeString(string(content)), hostile) {
			t.Errorf("%s does not show the hostile string as it is", name)
		}
	}
}

func TestNotices(t *testing.T) {
	in := sampleInput(plainCharts{})
	for i := range in.Pages {
		in.Pages[i].Draft, in.Pages[i].Unmet = true, make([]article.Unmet, 3)
	}
	files := build(t, in)
	inspect(t, files, "")
	for name, want := range map[string][]string{
		"en/channels-and-connections.html": {"not for publishing", "3 numbers of this article", "noindex"},
		"zh/channels-and-connections.html": {"不用于发布", "有 3 处数字未测量"},
		"en/index.html":                    {">Draft<"},
	} {
		for _, w := range want {
			if !strings.Contains(string(files[name]), w) {
				t.Errorf("%s does not say %q", name, w)
			}
		}
	}
}

// A page with nothing but its title is a page.
func TestBarePage(t *testing.T) {
	in := sampleInput(plainCharts{})
	in.Pages = []article.Page{{Slug: "bare", Lang: "zh", Title: "只有标题"}}
	files := build(t, in)
	inspect(t, files, "")
	page := string(files["zh/bare.html"])
	// English has no such page: the switch leads to its list.
	if !strings.Contains(page, `href="../en/index.html"`) || strings.Contains(page, "_evidence") {
		t.Error(page)
	}
	if !strings.Contains(string(files["en/index.html"]), "No articles yet.") {
		t.Error("the English list does not say that it is empty")
	}
}

func TestBuildRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Input)
		want   string
	}{
		"no language":      {func(in *Input) { in.Languages = nil }, "no languages"},
		"unknown language": {func(in *Input) { in.Languages = append(in.Languages, "fr") }, `language "fr"`},
		"no title":         {func(in *Input) { delete(in.Title, "en") }, `no title of the site in language "en"`},
		"other language":   {func(in *Input) { in.Languages = []string{"zh"} }, `is in language "en"`},
		"twice":            {func(in *Input) { in.Pages = append(in.Pages, in.Pages[0]) }, "is there twice"},
		"slug":             {func(in *Input) { in.Pages[0].Slug = "../x" }, "its name may have"},
		"index":            {func(in *Input) { in.Pages[0].Slug = "index" }, "its name may have"},
		"base URL":         {func(in *Input) { in.BaseURL = "example.org" }, "is not of the form"},
		"base URL scheme":  {func(in *Input) { in.BaseURL = "javascript://x/y" }, "is not of the form"},
		"data path":        {func(in *Input) { in.Data["../x"] = nil }, "no valid path"},
		"data missing":     {func(in *Input) { delete(in.Data, sampleRun+"/run.json") }, "data/" + sampleRun + "/run.json, which is not published"},
		"chart":            {func(in *Input) { in.Charts = brokenCharts{} }, "zh/channels-and-connections.html: figure fig-channels: no ink"},
	} {
		in := sampleInput(plainCharts{})
		c.change(&in)
		if _, err := Build(in); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is %v, want %q in it", name, err, c.want)
		}
	}
}

type brokenCharts struct{}

func (brokenCharts) Draw(*chart.Figure) (chart.Drawing, error) {
	return chart.Drawing{}, errors.New("no ink")
}

func TestOutputTables(t *testing.T) {
	zh, err := ui("zh")
	if err != nil {
		t.Fatal(err)
	}
	line := func(head bool, cells ...template.HTML) article.OutputLine {
		return article.OutputLine{Cells: cells, Head: head}
	}
	out := makeOutput(article.Output{Lines: []article.OutputLine{
		line(false, "text"),
		line(true, "what", "n", "note"),
		line(false, "1 个连接", `<a class="n" href="#x">1,000</a> ms`, "2 fast"),
		line(false, "2 个连接", `<span class="missing">未测量</span>`, "slow"),
		line(true, "x", "y"),
		line(false, "−1", "~2", "3"),
	}}, 1, zh)
	if len(out.Parts) != 3 || out.Parts[0].Text != "text" {
		t.Fatalf("parts: %+v", out.Parts)
	}
	numbers := func(p part) (all []bool) {
		for _, c := range p.Rows[0] {
			all = append(all, c.Number)
		}
		return all
	}
	if got := numbers(out.Parts[1]); !slices.Equal(got, []bool{false, true, false}) {
		t.Errorf("first table: %v", got)
	}
	if got := numbers(out.Parts[2]); !slices.Equal(got, []bool{true, true, true}) || len(out.Parts[2].Head) != 3 {
		t.Errorf("second table: %v, %v", got, out.Parts[2].Head)
	}
}

// Every string is there in every language, and says as many numbers.
func TestTexts(t *testing.T) {
	verbs := regexp.MustCompile(`%[ds]`)
	zh, err := ui("zh")
	if err != nil {
		t.Fatal(err)
	}
	en, err := ui("en")
	if err != nil {
		t.Fatal(err)
	}
	a, b := reflect.ValueOf(zh), reflect.ValueOf(en)
	for i := range a.NumField() {
		x, y, name := a.Field(i).String(), b.Field(i).String(), a.Type().Field(i).Name
		if x == "" || y == "" {
			t.Errorf("%s is empty", name)
		}
		if !slices.Equal(verbs.FindAllString(x, -1), verbs.FindAllString(y, -1)) {
			t.Errorf("%s: %q and %q", name, x, y)
		}
	}
	if _, err := ui("fr"); err == nil || !strings.Contains(err.Error(), `"fr"`) {
		t.Errorf("an unknown language: %v", err)
	}
}

// The style sheet asks no other host for anything.
func TestStyle(t *testing.T) {
	for name, content := range build(t, sampleInput(plainCharts{})) {
		if strings.HasSuffix(name, ".css") && regexp.MustCompile(`url\(|@import|//`).Match(content) {
			t.Errorf("%s loads something", name)
		}
	}
}

func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there", "public")
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err.Error()
		}
		return string(b)
	}
	if err := Write(dir, map[string][]byte{"index.html": []byte("one"), "zh/a.html": nil}); err != nil {
		t.Fatal(err)
	}
	if err := Write(dir, map[string][]byte{"index.html": []byte("two")}); err != nil {
		t.Fatal(err)
	}
	if read("index.html") != "two" {
		t.Error(read("index.html"))
	}
	if _, err := os.Stat(filepath.Join(dir, "zh")); err == nil {
		t.Error("what the site no longer has is still there")
	}
	for name, files := range map[string]map[string][]byte{
		"outside":  {"../x": nil},
		"absolute": {"/x": nil},
		"conflict": {"index.html": []byte("three"), "a": nil, "a/b": nil},
	} {
		if err := Write(dir, files); err == nil {
			t.Errorf("%s: no error", name)
		}
		if read("index.html") != "two" {
			t.Errorf("%s: the old site is gone: %s", name, read("index.html"))
		}
	}
	left, err := os.ReadDir(filepath.Dir(dir))
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestWriteTellsOneError(t *testing.T) {
	files := map[string][]byte{}
	for i := range 20 {
		files[fmt.Sprint(i, strings.Repeat("x", 300))] = nil // longer than a name may be
	}
	dir := filepath.Join(t.TempDir(), "public")
	if err := Write(dir, files); err == nil || strings.Count(err.Error(), "too long") != 1 {
		t.Errorf("%v", err)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(dir), "*")); err != nil || len(left) > 0 {
		t.Errorf("left: %q, %v", left, err)
	}
}

func TestWriteRefusesForeignDirectories(t *testing.T) {
	dir := t.TempDir()
	if err := Write(dir, map[string][]byte{"index.html": nil}); err != nil {
		t.Fatalf("an empty directory: %v", err)
	}
	dir = t.TempDir()
	mine := filepath.Join(dir, "thesis.txt")
	if err := os.WriteFile(mine, []byte("years of work"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Write(dir, map[string][]byte{"index.html": nil}); err == nil || !strings.Contains(err.Error(), "--out") {
		t.Errorf("a directory with other files: %v", err)
	}
	if b, err := os.ReadFile(mine); err != nil || string(b) != "years of work" {
		t.Error("a file was lost")
	}
	if err := Write(mine, nil); err == nil {
		t.Error("a file was taken for a directory")
	}
}

// A link to the directory to write stays one.
func TestWriteThroughLink(t *testing.T) {
	parent := t.TempDir()
	link, real := filepath.Join(parent, "public"), filepath.Join(parent, "real")
	if err := os.Mkdir(real, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", link); err != nil {
		t.Fatal(err)
	}
	if err := Write(link, map[string][]byte{"index.html": []byte("x")}); err != nil {
		t.Fatal(err)
	}
	if i, err := os.Lstat(link); err != nil || i.Mode()&os.ModeSymlink == 0 {
		t.Error("the link was replaced")
	}
	if b, err := os.ReadFile(filepath.Join(real, "index.html")); err != nil || string(b) != "x" {
		t.Error(string(b), err)
	}
}

// The claims are folded away below how many there are of each verdict.
func TestClaimCounts(t *testing.T) {
	claims := []article.Claim{{Verdict: claim.Holds}, {Verdict: claim.Fails}, {Verdict: claim.Holds}}
	for lang, want := range map[string]string{"en": "2 hold, 1 does not hold", "zh": "2 条成立\uff0c1 条不成立"} {
		words, err := ui(lang)
		if err != nil {
			t.Fatal(err)
		}
		if got := claimCounts(claims, words); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A command's words are whole, its text is as it was, and none of it is markup.
func TestCommandHTML(t *testing.T) {
	if got, want := string(commandHTML(`build/x measure --case a=<b>,c="d-e" --profile quick`)),
		`<span>build/x</span> measure <span>--case</span> <span>a=&lt;b&gt;,c=&#34;d-e&#34;</span> <span>--profile</span> quick`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
