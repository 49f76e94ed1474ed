package article

import (
	"cmp"
	"fmt"
	htmlpkg "html"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"genreport/measure"
)

// What the tests measure: medians are 100 and 250 messages a second with go,
// 50 and 50 with pika; 4 processes and 2 KiB a channel; seven samples.
func testCatalog() Catalog {
	k := Known{
		Metrics: map[string]measure.Metric{
			"rate":      {Unit: measure.PerSecond, Better: measure.Higher},
			"memory":    {Unit: measure.Bytes, Better: measure.Lower},
			"processes": {Unit: measure.Count, Better: measure.Lower, Exact: true},
		},
		Texts: []string{"error"},
	}
	for _, client := range []string{"go", "pika"} {
		for _, channels := range []string{"1000", "2000"} {
			k.Cases = append(k.Cases, measure.Labels{"client": client, "channels": channels})
		}
	}
	other := Known{Metrics: map[string]measure.Metric{"limit": {Unit: measure.Count}}, Cases: []measure.Labels{{"client": "go"}}}
	return Catalog{"channels": k, "unmeasured": other}
}

func testRecorded(profile string) measure.Recorded {
	run := measure.NewRun(time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC), profile)
	run.Brokers = []measure.Broker{{Label: "debian:forky", RabbitMQ: "4.3.6", Erlang: "29.1"}}
	run.Clients = []measure.Client{{Label: "pika", Library: "pika", Version: "1.4.4", Runtime: "Python 3.13"}}
	run.Machine = measure.Machine{CPU: "Testcore <2>", Cores: 2, MemoryBytes: 24 << 30}
	medians := map[string]float64{"go 1000": 100, "go 2000": 250, "pika 1000": 50, "pika 2000": 50}
	res := measure.NewResult(run, "channels", 1, 28)
	res.Whole = true
	res.Metrics = testCatalog()["channels"].Metrics
	res.Parameters = map[string]string{"messages": "100000", "queue": "classic"}
	for _, c := range testCatalog()["channels"].Cases {
		for repeat := range 7 {
			n := map[string]int64{"1000": 1000, "2000": 2000}[c["channels"]]
			rate := medians[c["client"]+" "+c["channels"]] + float64(repeat-3)
			res.Cells = append(res.Cells, measure.Cell{
				Labels: overlay(c, measure.Labels{"broker": "debian:forky"}), Repeat: repeat + 1, Order: len(res.Cells),
				Values: map[string]measure.Value{
					"rate": measure.Float(rate), "memory": measure.Int(2048 * n), "processes": measure.Int(4 * n),
				},
				Texts:   map[string]string{"error": "no <free> channel"},
				Command: "genreport measure --case " + c.String(),
			})
		}
	}
	return measure.Recorded{Run: run, Results: map[string]measure.Result{"channels": res}}
}

func testData(change ...func(measure.Result)) Data {
	rec := testRecorded("standard")
	for _, f := range change {
		f(rec.Results["channels"])
	}
	return NewData(testCatalog(), []measure.Recorded{rec}, []string{"standard", "full"})
}

const testHead = `---
title: Title
question: A question?
summary: A summary.
headlines:
  - {value: "1", label: a}
  - {value: "2", label: b}
  - {value: "3", label: c}
---

Lede.

`

// headLines is how many lines come before a test's body.
var headLines = strings.Count(testHead, "\n")

func testContent(lang, head, body, figures string) fstest.MapFS {
	return fstest.MapFS{
		"site.yaml":       {Data: []byte("title: {" + lang + ": Site}\nlanguages: [" + lang + "]\n")},
		"a.yaml":          {Data: []byte("series: RabbitMQ\nnumber: 1\nbrokers: {current: 'debian:forky'}\n" + figures)},
		lang + "/a.md":    {Data: []byte(head + body)},
		"results/x.json":  {Data: []byte("{}")},
		"notes/README.md": {Data: []byte("not an article")},
	}
}

// page resolves one article with the given body.
func page(t *testing.T, d Data, fsys fstest.MapFS) (Page, error) {
	t.Helper()
	c, err := Load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	pages, err := c.Resolve(d)
	if err != nil {
		return Page{}, err
	}
	if len(pages) != 1 {
		t.Fatalf("%d pages", len(pages))
	}
	return pages[0], nil
}

func bodyHTML(p Page) string {
	var b strings.Builder
	for _, block := range p.Blocks {
		b.WriteString(string(block.HTML))
	}
	return b.String()
}

// textOf is HTML without its tags, entities as they are.
func textOf(html string) string {
	var b strings.Builder
	for _, part := range strings.Split(html, "<") {
		_, text, ok := strings.Cut(part, ">")
		if !ok {
			text = part
		}
		b.WriteString(text)
	}
	return strings.ReplaceAll(b.String(), "\u00a0", " ")
}

func TestReferences(t *testing.T) {
	tests := map[string]string{
		"channels/rate client=go channels=1000":                                            "100",
		"channels/rate client=go channels=1000 | min":                                      "97",  // of samples from 97 to 103
		"channels/rate client=go channels=1000 | max digits=2":                             "100", // 103 to two digits
		"channels/rate client=go | range":                                                  "100–250",
		"channels/rate client=pika | range":                                                "50",
		"channels/rate client=go channels=2000 : channels=1000":                            "2.5",
		"channels/rate client=go channels=2000 : client=pika | digits=3":                   "5.00",
		"channels/memory client=go channels=1000":                                          "1.95 MiB", // 2,048,000 B
		"channels/memory client=go channels=1000 | per=channels":                           "2.00 KiB",
		"channels/memory client=go | slope=channels digits=2":                              "2.0 KiB",
		"channels/memory client=go channels=2000 | unit=KiB digits=4":                      "4,000 KiB",
		"channels/memory client=go channels=2000 | unit=KiB digits=4 bare":                 "4,000",
		"channels/processes client=go channels=2000":                                       "8,000",
		"channels/processes client=go channels=2000 | per=channels":                        "4.00",
		"channels/processes client=go | slope=channels digits=2":                           "4.0",
		"channels/error client=pika channels=1000":                                         "no &lt;free&gt; channel",
		"channels/error client=pika channels=1000 | first":                                 "no &lt;free&gt; channel",
		"channels/@messages":                                                               "100,000",
		"channels/@queue":                                                                  "classic",
		"broker/rabbitmq":                                                                  "4.3.6",
		"broker/erlang broker=current":                                                     "29.1",
		"client/library client=pika":                                                       "pika",
		"machine/cpu":                                                                      "Testcore &lt;2&gt;",
		"machine/memory":                                                                   "24 GiB",
		"run/id":                                                                           "20260504T030201Z",
		"run/date":                                                                         "2026-05-04",
		"channels/rate client=go channels=1000 broker=current":                             "100",
		"channels/rate client=pika channels=2000 : client=go channels=1000":                "0.50",
		"channels/rate client=go channels=2000 - channels=1000":                            "150",
		"channels/rate client=go channels=1000 - channels=2000":                            "−150",
		"channels/rate client=go channels=1000 - client=pika":                              "50", // 44 to 56
		"channels/rate client=go channels=1000 - client=pika | digits=3":                   "50.0",
		"channels/rate client=go channels=2000 - client=pika | max digits=3":               "200", // 253 less 53
		"channels/rate client=pika channels=2000 - channels=1000":                          "0",
		"channels/memory client=go channels=2000 - channels=1000":                          "1.95 MiB",
		"channels/memory client=go channels=2000 - channels=1000 | unit=KiB bare digits=4": "2,000",
		"channels/memory client=go channels=2000 - channels=1000 | per=channels":           "0 B",
		"channels/processes client=go channels=2000 - channels=1000":                       "4,000",
		"channels/rate client=go | slope=channels":                                         "0.150",
	}
	for text, want := range tests {
		p, err := page(t, testData(), testContent("en", testHead, "## H\n\n>"+"${"+text+"}<\n", ""))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got := textOf(bodyHTML(p))
		if !strings.Contains(got, "\n"+want+"&lt;") {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
		if len(p.Unmet) != 0 || p.Draft {
			t.Errorf("%s: %d missing, draft %v", text, len(p.Unmet), p.Draft)
		}
	}
}

// A number leads to the samples and the command behind it.
func TestReferenceLeadsToEvidence(t *testing.T) {
	p, err := page(t, testData(), testContent("en", testHead, "## H\n\n${channels/rate client=go channels=1000}\n", ""))
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Evidence) != 1 {
		t.Fatalf("evidence %+v", p.Evidence)
	}
	e := p.Evidence[0]
	if !strings.Contains(bodyHTML(p), `<a class="n" href="#`+e.ID+`">100</a>`) {
		t.Errorf("%s has no link to %s", bodyHTML(p), e.ID)
	}
	if e.Command != "build/genreport measure --case channels=1000,client=go" || e.Data.Href != "data/20260504T030201Z/channels.json" {
		t.Errorf("%+v", e)
	}
	for _, m := range e.Metrics {
		if m.Name != "rate" {
			continue
		}
		want := EvidenceMetric{Name: "rate", Unit: "1/s", Median: "100.00", Low: "97.000", High: "103.00", Interval: "97.000–103.00",
			Samples: []ShownSample{{Text: "97.000"}, {Text: "98.000"}, {Text: "99.000"}, {Text: "100.00"}, {Text: "101.00"}, {Text: "102.00"}, {Text: "103.00"}}}
		if !reflect.DeepEqual(m, want) {
			t.Errorf("%+v, want %+v", m, want)
		}
	}
	if len(p.Runs) != 1 || p.Runs[0].Run.ID != "20260504T030201Z" || !reflect.DeepEqual(p.Runs[0].Experiments, []string{"channels"}) {
		t.Errorf("%+v", p.Runs)
	}
}

// The quartiles of 97 to 102 and 200 are 98.5 and 101.5: what is beyond 106 lies
// outside Tukey's fences.
func TestOutlierInEvidence(t *testing.T) {
	far := testData(func(r measure.Result) {
		for _, c := range r.Cells {
			if c.Labels["client"] == "go" && c.Labels["channels"] == "1000" && c.Values["rate"].Float64() == 103 {
				c.Values["rate"] = measure.Float(200)
			}
		}
	})
	p, err := page(t, far, testContent("en", testHead, "## H\n\n${channels/rate client=go channels=1000}\n", ""))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range p.Evidence[0].Metrics {
		if m.Name != "rate" {
			continue
		}
		want := []ShownSample{{Text: "97.000"}, {Text: "98.000"}, {Text: "99.000"}, {Text: "100.00"}, {Text: "101.00"}, {Text: "102.00"}, {Text: "200.00", Outlier: true}}
		if !reflect.DeepEqual(m.Samples, want) || m.High != "200.00" {
			t.Errorf("%+v, want samples %+v", m, want)
		}
	}
}

func TestMissing(t *testing.T) {
	failed := testData(func(r measure.Result) {
		c := &r.Cells[2] // go, 1000 channels
		c.Failure = &measure.Failure{Reason: "the broker left"}
		for name := range c.Values {
			c.Values[name] = measure.Missing("the broker left")
		}
	})
	unfinished := testRecorded("standard")
	cut := unfinished.Results["channels"]
	cut.Cells = cut.Cells[:20]
	unfinished.Results["channels"] = cut
	profiles := []string{"standard", "full"}
	tests := []struct {
		name       string
		d          Data
		lang, text string
		want       string
	}{
		{"failed repeat", failed, "en", "channels/rate client=go channels=1000", "not measured (the broker left)"},
		{"failed repeat", failed, "zh", "channels/rate client=go channels=1000", "未测量\uff08the broker left\uff09"},
		{"failed repeat, text", failed, "en", "channels/error client=go channels=1000", "not measured (the broker left)"},
		{"ratio over failed", failed, "en", "channels/rate client=pika channels=1000 : client=go", "not measured (the broker left)"},
		{"difference over failed", failed, "zh", "channels/rate client=pika channels=1000 - client=go", "未测量\uff08the broker left\uff09"},
		{"range over failed", failed, "en", "channels/rate client=go | range", "not measured (the broker left)"},
		{"other case of it", failed, "en", "channels/rate client=pika channels=1000", "50"},
		{"no run of the experiment", testData(), "en", "unmeasured/limit client=go", "not measured (no complete standard or full run of unmeasured on debian:forky)"},
		{"unfinished", NewData(testCatalog(), []measure.Recorded{unfinished}, profiles), "en", "channels/rate client=go channels=1000", "not measured (no complete standard or full run of channels on debian:forky)"},
		{"quick only", NewData(testCatalog(), []measure.Recorded{testRecorded("quick")}, profiles), "en", "channels/rate client=go channels=1000", "not measured (no complete standard or full run of channels on debian:forky)"},
		{"no run at all", NewData(testCatalog(), nil, profiles), "en", "broker/rabbitmq", "not measured (no run tells it)"},
	}
	for _, tt := range tests {
		p, err := page(t, tt.d, testContent(tt.lang, testHead, "## H\n\n${"+tt.text+"}\n", ""))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got := textOf(bodyHTML(p)); !strings.Contains(got, "\n"+tt.want+"\n") {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		if measured := tt.want == "50"; measured != (len(p.Unmet) == 0) {
			t.Errorf("%s: %d missing", tt.name, len(p.Unmet))
		}
	}
}

// The newest complete run is shown, and a quick one makes the page a draft.
func TestWhichRun(t *testing.T) {
	old, cut, quick := testRecorded("standard"), testRecorded("standard"), testRecorded("quick")
	cut.Run.ID, quick.Run.ID = "20260505T000000Z", "20260506T000000Z"
	res := cut.Results["channels"]
	res.Whole = false
	cut.Results["channels"] = res
	all := []measure.Recorded{old, cut, quick}
	for _, tt := range []struct {
		profiles []string
		want     string
		draft    bool
	}{
		{[]string{"standard", "full"}, "20260504T030201Z", false},
		{[]string{"standard", "full", "quick"}, "20260506T000000Z", true},
	} {
		p, err := page(t, NewData(testCatalog(), all, tt.profiles), testContent("en", testHead, "## H\n\n${channels/rate client=go channels=1000} ${run/id}\n", ""))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(textOf(bodyHTML(p)), "100 "+tt.want) || p.Draft != tt.draft {
			t.Errorf("%v: %s, draft %v", tt.profiles, bodyHTML(p), p.Draft)
		}
	}
}

func TestWrongReferences(t *testing.T) {
	tests := map[string]string{
		"chanels/rate client=go channels=1000":                            `unknown experiment "chanels"; did you mean "channels"?`,
		"channels/rates client=go channels=1000":                          `unknown metric "rates"; did you mean "rate"?`,
		"channels/rate client=goo channels=1000":                          `label client of channels: unknown value "goo"; did you mean "go"?`,
		"channels/rate clint=go":                                          `unknown label "clint"; did you mean "client"?`,
		"channels/rate client=go":                                         "the labels name 2 cases of channels; give channels too",
		"channels/rate broker=old client=go":                              `unknown broker alias "old"`,
		"channels/@message":                                               `unknown parameter "message"; did you mean "messages"?`,
		"channels/error client=go channels=1000 | bare":                   "takes no option but first",
		"channels/error client=go channels=1000 - channels=2000":          "no difference",
		"channels/@messages - client=go":                                  "no difference",
		"broker/rabbitmq - broker=before":                                 "no difference",
		"channels/rate client=go channels=2000 - channels=1000 | range":   "range does not go with a difference",
		"channels/rate client=go channels=2000 : channels=1000 | slope=x": "slope does not go with a ratio",
		"channels/rate client=go channels=2000 - channels=1000 | unit=s":  `unit=s does not fit the metric, which is in "1/s"`,
		"channels/rate client=go channels=2000 - channels=3000":           `unknown value "3000"`,
		"channels/rate client=go channels=1000 | first":                   "first is for what a program said",
		"database/colour":                                                 `unknown database fact "colour"`,
		"channels/rate client=go | slope=client":                          "is not a number to divide by",
		"rate client=go":                                                  "names no experiment",
		"broker/rabbit":                                                   `unknown broker fact "rabbit"; did you mean "rabbitmq"?`,
		"machine/host":                                                    `unknown machine fact "host"`,
		"channels/rate client=go channels=1000 : client=":                 "is not label=value",
	}
	for text, want := range tests {
		_, err := page(t, testData(), testContent("en", testHead, "## H\n\ntext\n*more* ${"+text+"}\n", ""))
		place := fmt.Sprintf("en/a.md:%d:", headLines+4) // TestPlaces has the columns
		if err == nil || !strings.HasPrefix(err.Error(), place) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s…%s", text, err, place, want)
		}
	}
}

// Every wrong reference is told, each with its own line, wherever it stands.
func TestAllFaultsWithTheirLines(t *testing.T) {
	head := strings.Replace(testHead, `value: "2"`, `value: "${x/y}"`, 1)
	body := strings.Join([]string{
		/* +1 */ "## H ${x/heading}",
		/* +2 */ "",
		/* +3 */ "```output experiment=channels client=go each=channels",
		/* +4 */ "${channels} || ${rates}",
		/* +5 */ "```",
		/* +6 */ "",
		/* +7 */ "```figure nofigure",
		/* +8 */ "title: T",
		/* +9 */ "```",
		/* +10 */ "",
		/* +11 */ "open ${channels/rate",
		/* +12 */ "",
		/* +13 */ "| a |",
		/* +14 */ "|---|",
		/* +15 */ "| ${x/cell} |",
		/* +16 */ "",
		/* +17 */ "[link](http://example.org/${x/address})",
		/* +18 */ "",
	}, "\n")
	_, err := page(t, testData(), testContent("en", head, body, ""))
	if err == nil {
		t.Fatal("no error")
	}
	got := err.Error()
	for _, want := range []string{
		"en/a.md:7:16: unknown experiment \"x\"", // the second headline
		fmt.Sprintf("en/a.md:%d:8: unknown experiment \"x\"", headLines+1),
		fmt.Sprintf("en/a.md:%d:18: unknown metric \"rates\"", headLines+4),
		fmt.Sprintf("en/a.md:%d:11: unknown figure \"nofigure\"", headLines+7),
		fmt.Sprintf("en/a.md:%d:6: ${ has no closing }", headLines+11),
		fmt.Sprintf("en/a.md:%d:5: unknown experiment \"x\"", headLines+15),
		fmt.Sprintf("en/a.md:%d:1: a link's address and title can't hold a reference", headLines+17),
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in:\n%s", want, got)
		}
	}
}

func TestCodeSpanShowsReferencesAsTheyAre(t *testing.T) {
	p, err := page(t, testData(), testContent("en", testHead, "## H\n\nWrite `${experiment/metric}`.\n", ""))
	if err != nil || !strings.Contains(bodyHTML(p), "<code>${experiment/metric}</code>") {
		t.Errorf("%s, %v", bodyHTML(p), err)
	}
}

func TestNumbersInEmphasisLinksAndTables(t *testing.T) {
	body := "## ${channels/@messages} messages\n\n**${channels/rate client=go channels=1000}** [about ${channels/rate client=go channels=2000}](x.html)\n\n| ${channels/@messages} | b |\n|---|---|\n| c | ${channels/rate client=pika channels=1000} |\n"
	p, err := page(t, testData(), testContent("en", testHead, body, ""))
	if err != nil {
		t.Fatal(err)
	}
	got := textOf(bodyHTML(p))
	for _, want := range []string{"100,000 messages", "100 about 250", "c\n50\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	if len(p.Contents) != 1 || p.Contents[0].Text != "100,000 messages" {
		t.Errorf("contents %+v", p.Contents)
	}
	if html := bodyHTML(p); !strings.Contains(html, "<strong><a") {
		t.Errorf("no emphasis around a number: %s", html)
	}
}

func TestHeadingIDs(t *testing.T) {
	p, err := page(t, testData(), testContent("zh", testHead, "## 上限\n\n## 上限\n\n## More channels: a test\n\n## \uff1f\n", ""))
	if err != nil {
		t.Fatal(err)
	}
	want := []Heading{{"上限", "上限"}, {"上限-2", "上限"}, {"more-channels-a-test", "More channels: a test"}, {"section", "\uff1f"}}
	if !reflect.DeepEqual(p.Contents, want) {
		t.Errorf("%+v, want %+v", p.Contents, want)
	}
}

// What would be lost or shown raw is refused, with its line.
func TestWhereReferencesCanNotStand(t *testing.T) {
	ok := "${channels/rate client=go channels=1000}"
	tests := map[string]string{
		"![alt](${x/y})":                         "an image's address and title can't hold a reference",
		"[a](x.html \"" + ok + "\")":             "a link's address and title can't hold a reference",
		"a <b onclick=x>b</b>":                   "HTML is not passed on",
		"<script>alert(1)</script>":              "HTML is not passed on",
		"```outputs experiment=channels\nx\n```": `unknown block "outputs"; did you mean "output"?`,
		"```\nopen\n\n" + ok:                     "has no closing ```",
	}
	for body, want := range tests {
		_, err := page(t, testData(), testContent("en", testHead, "## H\n\n"+body+"\n", ""))
		place := fmt.Sprintf("en/a.md:%d:", headLines+3)
		if err == nil || !strings.HasPrefix(err.Error(), place) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s…%s", body, err, place, want)
		}
	}
	for _, body := range []string{"```sh\nls\n```", "```\nplain\n```", "~~~\nplain\n~~~", "a \\< b and 1 < 2"} {
		if _, err := page(t, testData(), testContent("en", testHead, "## H\n\n"+body+"\n", "")); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
	// A bar in a table is escaped.
	p, err := page(t, testData(), testContent("en", testHead, "## H\n\n| a |\n|---|\n| ${channels/rate client=go channels=2000 \\| digits=2} |\n", ""))
	if err != nil || !strings.Contains(textOf(bodyHTML(p)), "250") {
		t.Errorf("%s, %v", bodyHTML(p), err)
	}
}

func TestUnitMustFit(t *testing.T) {
	for text, want := range map[string]string{
		"channels/rate client=go channels=1000 | unit=MiB":     `unit=MiB does not fit the metric, which is in "1/s"`,
		"channels/memory client=go channels=1000 | unit=ms":    `unit=ms does not fit the metric, which is in "B"`,
		"channels/processes client=go | slope=channels unit=s": `unit=s does not fit the metric, which is in "1"`,
	} {
		_, err := page(t, testData(), testContent("en", testHead, "## H\n\n${"+text+"}\n", ""))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	figures := "figures: {f: {kind: bar, experiment: channels, metric: rate, x: channels, series: client, unit: MiB}}\n"
	if _, err := page(t, testData(), testContent("en", testHead, "## H\n\n```figure f\ntitle: T\nalt: A.\n```\n", figures)); err == nil || !strings.Contains(err.Error(), "does not fit") {
		t.Errorf("%v", err)
	}
}

// Facts are those of the runs that the numbers come from, wherever they stand.
func TestFactsOfTheCitedRuns(t *testing.T) {
	cited, newer := testRecorded("standard"), testRecorded("standard")
	newer.Run.ID = "20270101T000000Z"
	newer.Run.Brokers = []measure.Broker{{Label: "debian:trixie", RabbitMQ: "4.0.5", Erlang: "27"}}
	res := newer.Results["channels"]
	res.Cells = append([]measure.Cell(nil), res.Cells...)
	for i := range res.Cells {
		res.Cells[i].Labels = overlay(res.Cells[i].Labels, measure.Labels{"broker": "debian:trixie"})
	}
	newer.Results = map[string]measure.Result{"channels": res}
	d := NewData(testCatalog(), []measure.Recorded{cited, newer}, []string{"standard"})
	p, err := page(t, d, testContent("en", testHead, "On ${broker/rabbitmq} in ${run/id}.\n\n## H\n\n${channels/rate client=go channels=1000}\n", ""))
	if err != nil || !strings.Contains(textOf(string(p.Lede)), "On 4.3.6 in 20260504T030201Z.") || strings.Count(string(p.Lede), `href="#_run-20260504T030201Z"`) != 2 {
		t.Errorf("%s, %v", p.Lede, err)
	}
}

// A number of several cases leads to all of them.
func TestSeveralCasesLeadToTheirExperiment(t *testing.T) {
	for _, text := range []string{"channels/rate client=go | range", "channels/memory client=go | slope=channels", "channels/rate client=go channels=2000 : channels=1000", "channels/rate client=go channels=2000 - channels=1000"} {
		p, err := page(t, testData(), testContent("en", testHead, "## H\n\n${"+text+"}\n", ""))
		if err != nil || !strings.Contains(bodyHTML(p), `href="#`+EvidenceOf("channels")+`"`) || len(p.Evidence) != 2 {
			t.Errorf("%s: %s, %d cases, %v", text, bodyHTML(p), len(p.Evidence), err)
		}
	}
}

func TestFrontMatterIsResolved(t *testing.T) {
	head := strings.NewReplacer("A summary.", "On RabbitMQ ${broker/rabbitmq}.", `value: "1"`, `value: "${channels/rate client=go channels=2000} & up"`).Replace(testHead)
	p, err := page(t, testData(), testContent("en", head, "## H\n", ""))
	if err != nil {
		t.Fatal(err)
	}
	if p.Summary != "On RabbitMQ 4.3.6." || textOf(string(p.Headlines[0].Value)) != "250 &amp; up" {
		t.Errorf("%q, %q", p.Summary, p.Headlines[0].Value)
	}
	if p.Lede != "<p>Lede.</p>\n" || p.Title != "Title" || p.Series != "RabbitMQ" || p.Number != 1 {
		t.Errorf("%+v", p)
	}
}

func TestOutput(t *testing.T) {
	body := "## H\n\n```output experiment=channels client=go each=channels\nchannels || rate\n${channels} || ${rate}\nall ${rate client=pika channels=1000} <&>\n```\n"
	p, err := page(t, testData(), testContent("en", testHead, body, ""))
	if err != nil {
		t.Fatal(err)
	}
	var out *Output
	for _, b := range p.Blocks {
		if b.Output != nil {
			out = b.Output
		}
	}
	if out == nil {
		t.Fatal("no output block")
	}
	var got []string
	for _, l := range out.Lines {
		var cells []string
		for _, c := range l.Cells {
			cells = append(cells, textOf(string(c)))
		}
		got = append(got, fmt.Sprint(l.Head, " ", strings.Join(cells, "|")))
	}
	want := []string{"true channels|rate", "false 1,000|100", "false 2,000|250", "false all 50 &lt;&amp;&gt;"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

const testFigure = `figures:
  f: {kind: bar, experiment: channels, metric: memory, x: channels, series: client, unit: KiB, per: channels}
  g: {kind: line, experiment: channels, metric: rate, x: channels, series: client, where: {client: go}}
`

func TestFigure(t *testing.T) {
	body := "## H\n\n```figure f\ntitle: \"Memory, ${channels/@messages}\"\nalt: Bars.\nx: channels\ny: KiB\nnames: {go: Go}\n```\n\n```figure g\ntitle: Rate\nalt: A line.\n```\n"
	failed := testData(func(r measure.Result) {
		for i := range r.Cells {
			if c := &r.Cells[i]; c.Labels.Match(measure.Labels{"client": "pika", "channels": "1000"}) {
				c.Failure = &measure.Failure{Reason: "no"}
				for name := range c.Values {
					c.Values[name] = measure.Missing("no")
				}
			}
		}
	})
	p, err := page(t, failed, testContent("en", testHead, body, testFigure))
	if err != nil {
		t.Fatal(err)
	}
	var figures []*Figure
	for _, b := range p.Blocks {
		if b.Figure != nil {
			figures = append(figures, b.Figure)
		}
	}
	if len(figures) != 2 {
		t.Fatalf("%d figures", len(figures))
	}
	f := figures[0]
	if textOf(string(f.Title)) != "Memory, 100,000" || f.Wide.Title != "Memory, 100,000" || f.Wide.Description != "Bars. Vertical axis: KiB. Without a number: pika, 1,000, not measured (no)." {
		t.Errorf("%+v", f)
	}
	wantTable := Table{Caption: "KiB; median; n\u00a0=\u00a07", Head: []string{"channels", "Go", "pika"}, Rows: [][]string{{"1,000", "2.00", "not measured (no)"}, {"2,000", "2.00", "2.00"}}}
	if !reflect.DeepEqual(f.Table, wantTable) {
		t.Errorf("%q, want %q", f.Table, wantTable)
	}
	if pika := f.Wide.Series[1]; pika.Points[0].Value != nil || pika.Points[1].Value == nil || *pika.Points[1].Value != 2 {
		t.Errorf("a failed case must be a gap: %+v", pika)
	}
	// The other figure has whiskers, and only the series that where names.
	g := figures[1]
	if len(g.Wide.Series) != 1 || g.Wide.Series[0].Name != "go" {
		t.Fatalf("%+v", g.Wide.Series)
	}
	point := g.Wide.Series[0].Points[1]
	if *point.Value != 250 || *point.Low != 247 || *point.High != 253 || g.Table.Rows[1][1] != "250 (247–253)" {
		t.Errorf("%g %g %g %q", *point.Value, *point.Low, *point.High, g.Table.Rows)
	}
	if g.Narrow.Width != 400 || g.Narrow.ID == g.Wide.ID {
		t.Errorf("%+v", g.Narrow)
	}
}

func TestWrongFigures(t *testing.T) {
	shown := "## H\n\n```figure f\ntitle: T\nalt: A.\n```\n"
	tests := []struct{ name, figures, body, want string }{
		{"not shown", "figures: {f: {kind: bar, experiment: channels, metric: rate, x: channels, series: client}}\n", "## H\n", "figure f is declared in a.yaml and not shown here"},
		{"twice", "figures: {f: {kind: bar, experiment: channels, metric: rate, x: channels, series: client}}\n", shown + "\n```figure f\ntitle: T\nalt: A.\n```\n", "figure f is there twice"},
		{"metric", "figures: {f: {kind: bar, experiment: channels, metric: rates, x: channels, series: client}}\n", shown, `unknown metric "rates"; did you mean "rate"?`},
		{"kind", "figures: {f: {kind: pie, experiment: channels, metric: rate, x: channels, series: client}}\n", shown, `unknown kind of figure "pie"`},
		{"label", "figures: {f: {kind: bar, experiment: channels, metric: rate, x: chanels, series: client}}\n", shown, `unknown label "chanels"; did you mean "channels"?`},
		{"unit", "figures: {f: {kind: bar, experiment: channels, metric: memory, x: channels, series: client, unit: kB}}\n", shown, `unknown unit "kB"`},
		{"no alt", "figures: {f: {kind: bar, experiment: channels, metric: rate, x: channels, series: client}}\n", "## H\n\n```figure f\ntitle: T\n```\n", "needs title and alt"},
		{"axis", "figures: {f: {kind: line, experiment: channels, metric: rate, x: channels, series: client, axis: lag}}\n", shown, `unknown axis "lag"; did you mean "log"?`},
		{"log bars", "figures: {f: {kind: bar, experiment: channels, metric: rate, x: channels, series: client, axis: log}}\n", shown, "bars stand on zero"},
		{"words", "figures: {f: {kind: bar, experiment: channels, metric: rate, x: channels, series: client}}\n", "## H\n\n```figure f\ntitle: T\nalt: A.\ncolour: red\n```\n", "colour"},
	}
	for _, tt := range tests {
		_, err := page(t, testData(), testContent("en", testHead, tt.body, tt.figures))
		// What is wrong in the YAML is told there: figures are in its fourth line.
		place := "en/a.md:"
		if column, ok := map[string]int{"metric": 56, "kind": 21, "label": 65, "unit": 99, "axis": 98, "log bars": 97}[tt.name]; ok {
			place = fmt.Sprintf("a.yaml:4:%d: figure f: ", column)
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), place) {
			t.Errorf("%s: %v; want %q at %s", tt.name, err, tt.want, place)
		}
	}
}

// The axis says that it is logarithmic. With a number of 0, which has no place on one, it is linear, and says nothing.
func TestFigureOnALogarithmicAxis(t *testing.T) {
	declared := "figures: {f: {kind: line, experiment: channels, metric: rate, x: channels, series: client, axis: log}}\n"
	for _, test := range []struct {
		lang, y, want string
		zero          bool
	}{
		{"en", "messages/s", "messages/s, logarithmic axis", false},
		{"zh", "每秒消息数", "每秒消息数，对数轴", false},
		{"en", "messages/s", "messages/s", true},
	} {
		data := testData(func(r measure.Result) {
			if test.zero {
				r.Cells[0].Values["rate"] = measure.Int(0)
			}
		})
		p, err := page(t, data, testContent(test.lang, testHead, "## H\n\n```figure f\ntitle: T\nalt: A.\nx: channels\ny: "+test.y+"\n```\n", declared))
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, b := range p.Blocks {
			if f := b.Figure; f != nil {
				found++
				if f.Wide.Log == test.zero || f.Narrow.Log == test.zero || f.Wide.YTitle != test.want || !strings.HasPrefix(f.Table.Caption, test.y) || strings.Contains(f.Table.Caption, "log") {
					t.Errorf("%s, with a zero %v: %v, %q, table %q", test.lang, test.zero, f.Wide.Log, f.Wide.YTitle, f.Table.Caption)
				}
			}
		}
		if found != 1 {
			t.Errorf("%d figures", found)
		}
	}
}

// A figure of more series than readers can tell apart is refused where it is declared.
func TestFigureOfTooManySeries(t *testing.T) {
	catalog := testCatalog()
	known := catalog["channels"]
	for i := range 5 {
		known.Cases = append(known.Cases, measure.Labels{"client": fmt.Sprint("c", i), "channels": "1000"})
	}
	catalog["channels"] = known
	figures := "figures: {f: {kind: bar, experiment: channels, metric: rate, x: channels, where: {channels: '1000'}, series: client}}\n"
	_, err := page(t, NewData(catalog, nil, nil), testContent("en", testHead, "## H\n\n```figure f\ntitle: T\nalt: A.\n```\n", figures))
	if err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("a.yaml:4:%d: figure f: the figure has 7 series, and readers tell at most 6 apart", 1+strings.Index(figures, "client}}"))) {
		t.Errorf("%v", err)
	}
}

// twoBrokers measures the same on an older broker: half the rate, and a series
// over seven seconds whose third second is missing.
func twoBrokers() Data {
	rec := testRecorded("standard")
	rec.Run.Brokers = []measure.Broker{
		{Label: "debian:forky", RabbitMQ: "4.10.1", Erlang: "29.1", Components: map[string]string{"ra": "3.1", "khepri": "0.17"}, Settings: map[string]string{"heartbeat": "0"}},
		{Label: "debian:trixie", RabbitMQ: "4.9.9", Erlang: "27.3", Components: map[string]string{"ra": "2.15"}, Settings: map[string]string{"heartbeat": "0"}},
	}
	res := rec.Results["channels"]
	res.Parameters["before"] = "3"
	for _, c := range slices.Clone(res.Cells) {
		old := c
		old.Labels = overlay(c.Labels, measure.Labels{"broker": "debian:trixie"})
		old.Order += 28
		old.Values = map[string]measure.Value{"rate": measure.Float(c.Values["rate"].Float64() / 2), "memory": c.Values["memory"], "processes": c.Values["processes"]}
		res.Cells = append(res.Cells, old)
	}
	res.Planned = 56
	for i := range res.Cells {
		c := &res.Cells[i]
		s := measure.Series{Unit: measure.Count, Start: 0, Step: 1}
		for second := range int64(8) { // the last is not a whole one
			v := measure.Int(1000*second + int64(c.Repeat))
			if second == 2 {
				v = measure.Missing("no answer")
			}
			if c.Labels["broker"] == "debian:trixie" && second >= 6 {
				continue // a shorter one: to 5, which is not a whole one
			}
			s.Values = append(s.Values, v)
		}
		c.Series = map[string]measure.Series{"sent": s}
	}
	rec.Results["channels"] = res
	catalog := testCatalog()
	known := catalog["channels"]
	known.Series = []string{"sent"}
	catalog["channels"] = known
	return NewData(catalog, []measure.Recorded{rec}, []string{"standard"})
}

const twoBrokersHead = "series: RabbitMQ\nnumber: 1\nbrokers: {current: 'debian:forky', before: 'debian:trixie'}\n"

func twoBrokersPage(t *testing.T, body, figures string) (Page, error) {
	t.Helper()
	fsys := testContent("en", testHead, body, "")
	fsys["a.yaml"].Data = []byte(twoBrokersHead + figures)
	return page(t, twoBrokers(), fsys)
}

// Brokers are a dimension of figures and outputs, old versions first: 4.9.9
// before 4.10.1.
func TestBrokersAsLabel(t *testing.T) {
	body := "## H\n\n${broker/rabbitmq broker=before} ${broker/ra broker=before} ${broker/khepri broker=before} ${broker/khepri} ${channels/rate client=go channels=1000 broker=before}" +
		" ${channels/rate client=go channels=1000 broker=current : broker=before}\n\n" +
		"```output experiment=channels client=go channels=1000 each=broker\nRabbitMQ || rate\n${broker} || ${rate}\n```\n\n```figure f\ntitle: T\nalt: A.\n```\n"
	p, err := twoBrokersPage(t, body, "figures: {f: {kind: bar, experiment: channels, metric: rate, x: broker, series: client, where: {channels: '1000'}}}\n")
	if err != nil {
		t.Fatal(err)
	}
	if got := textOf(bodyHTML(p)); !strings.Contains(got, "4.9.9 2.15 – 0.17 50.0 2.0") {
		t.Errorf("%q", got)
	}
	var out *Output
	var f *Figure
	for _, b := range p.Blocks {
		if b.Output != nil {
			out = b.Output
		}
		if b.Figure != nil {
			f = b.Figure
		}
	}
	var rows []string
	for _, l := range out.Lines[1:] {
		rows = append(rows, textOf(string(l.Cells[0]))+" "+textOf(string(l.Cells[1])))
	}
	if !slices.Equal(rows, []string{"4.9.9 50.0", "4.10.1 100"}) {
		t.Errorf("%q", rows)
	}
	if !slices.Equal(f.Wide.Categories, []string{"4.9.9", "4.10.1"}) || *f.Wide.Series[0].Points[0].Value != 50 || *f.Wide.Series[0].Points[1].Value != 100 {
		t.Errorf("%+v", f.Wide)
	}
}

func TestFigureOverTime(t *testing.T) {
	body := "## H\n\n```figure f\ntitle: T\nalt: A.\nx: seconds\ny: messages\nphases: [none, ten]\nnames: {before: old}\n```\n"
	declared := "figures: {f: {kind: time, experiment: channels, metric: sent, series: broker, zero: before, where: {client: go, channels: '1000'}}}\n"
	p, err := twoBrokersPage(t, body, declared)
	if err != nil {
		t.Fatal(err)
	}
	f := p.Blocks[len(p.Blocks)-1].Figure
	w := f.Wide
	if !slices.Equal(w.Categories, []string{"−3", "−2", "−1", "0", "1", "2", "3"}) {
		t.Errorf("%q", w.Categories)
	}
	if len(w.Series) != 2 || w.Series[0].Name != "old" || w.Series[1].Name != "4.10.1" {
		t.Fatalf("%+v", w.Series)
	}
	// The first repeat, and gaps where nothing was read.
	old, now := w.Series[0].Points, w.Series[1].Points
	if *now[1].Value != 1001 || now[2].Value != nil || *now[6].Value != 6001 || old[5].Value != nil || *old[4].Value != 4001 {
		t.Errorf("%+v", w.Series)
	}
	if len(w.Phases) != 2 || w.Phases[0].Name != "none" || w.Phases[0].To != 2 || w.Phases[1].From != 3 || w.Phases[1].To != 6 {
		t.Errorf("%+v", w.Phases)
	}
	// Every second has a row, since there are few.
	if want := [][]string{{"−3", "1.00", "1.00"}, {"−2", "1,001", "1,001"}, {"−1", "not measured (no answer)", "not measured (no answer)"}, {"0", "3,001", "3,001"},
		{"1", "4,001", "4,001"}, {"2", "–", "5,001"}, {"3", "–", "6,001"}}; !reflect.DeepEqual(f.Table.Rows, want) {
		t.Errorf("%q, want %q", f.Table.Rows, want)
	}
	for want, change := range map[string][2]string{
		`unknown series "sended"`:              {"metric: sent", "metric: sended"},
		"takes no x, per or labels":            {"kind: time", "kind: time, x: channels"},
		"zero is for figures of kind time":     {"kind: time, experiment: channels, metric: sent", "kind: bar, experiment: channels, x: channels, metric: rate"},
		`unknown parameter "befor"`:            {"zero: before", "zero: befor"},
		"phases are two":                       {"zero: before, ", ""},
		`parameter queue is "classic"`:         {"zero: before", "zero: queue"},
		"the labels name 2 cases of channels;": {", channels: '1000'", ""},
	} {
		if _, err := twoBrokersPage(t, body, strings.Replace(declared, change[0], change[1], 1)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestCompareVersions(t *testing.T) {
	sorted := []string{"3.10.8", "4.0.5", "4.1.0-rc.1", "4.1.0-rc.2", "4.3.6", "4.10.0", ""}
	for i := range sorted {
		for j := range sorted {
			if got, want := compareVersions(sorted[i], sorted[j]), cmp.Compare(i, j); got != want {
				t.Errorf("%q and %q: %d, want %d", sorted[i], sorted[j], got, want)
			}
		}
	}
}

func TestResolveIsDeterministic(t *testing.T) {
	body := "## H\n\n${channels/rate client=go | range} ${channels/error client=go channels=1000}\n\n```figure f\ntitle: T\nalt: A.\n```\n\n```figure g\ntitle: T\nalt: A.\n```\n"
	first, err := page(t, testData(), testContent("en", testHead, body, testFigure))
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		next, err := page(t, testData(), testContent("en", testHead, body, testFigure))
		if err != nil || !reflect.DeepEqual(first, next) {
			t.Fatalf("two pages of the same content differ: %v", err)
		}
	}
}

// What Markdown renderers are known to get wrong.
func TestMarkdownTraps(t *testing.T) {
	body := "## 吞吐量\n\n## 吞吐量\n\n[见](#吞吐量) `--latency` and --latency\n\n" +
		"https://example.com/docs。下一句\n\n" +
		"one[^a] two[^a] three[^b]\n\n[^a]: first\n[^b]: second\n"
	p, err := page(t, testData(), testContent("zh", testHead, body, ""))
	if err != nil {
		t.Fatal(err)
	}
	html := bodyHTML(p)
	ids, links := map[string]int{}, map[string]bool{}
	for _, m := range regexp.MustCompile(`(id|href)="([^"]*)"`).FindAllStringSubmatch(html, -1) {
		value, err := url.PathUnescape(htmlpkg.UnescapeString(m[2]))
		if err != nil {
			t.Fatal(err)
		}
		if m[1] == "id" {
			ids[value]++
		} else {
			links[value] = true
		}
	}
	for id, n := range ids {
		if n > 1 {
			t.Errorf("id %s is there %d times", id, n)
		}
	}
	for href := range links {
		if target, ok := strings.CutPrefix(href, "#"); ok && ids[target] == 0 {
			t.Errorf("link to #%s leads nowhere", target)
		}
		if strings.HasPrefix(strings.ToLower(href), "javascript:") {
			t.Errorf("a link runs script: %s", href)
		}
		if strings.Contains(href, "。") {
			t.Errorf("a link swallows the full stop: %s", href)
		}
	}
	if !links["#吞吐量"] || ids["吞吐量-2"] != 1 {
		t.Errorf("links %v, ids %v", links, ids)
	}
	if strings.Count(html, "--latency") != 2 {
		t.Errorf("hyphens were changed: %s", html)
	}
}

func TestFirstRepeatOfWhatDiffers(t *testing.T) {
	d := testData(func(r measure.Result) {
		for i, c := range r.Cells {
			if c.Labels["client"] == "pika" && c.Labels["channels"] == "1000" {
				r.Cells[i].Texts = map[string]string{"error": fmt.Sprintf("said in repeat %d", c.Repeat)}
			}
		}
	})
	for text, want := range map[string]string{
		"channels/error client=pika channels=1000":         "not measured (the repeats differ)",
		"channels/error client=pika channels=1000 | first": "said in repeat 1",
	} {
		p, err := page(t, d, testContent("en", testHead, "## H\n\n${"+text+"}\n", ""))
		if err != nil {
			t.Fatal(err)
		}
		if got := textOf(bodyHTML(p)); !strings.Contains(got, "\n"+want+"\n") {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestDatabaseFacts(t *testing.T) {
	rec := testRecorded("standard")
	rec.Run.Database = &measure.Database{Label: "debian:sid", Server: "MySQL", Version: "9.7.4", Settings: map[string]string{"innodb_flush_log_at_trx_commit": "1"}}
	d := NewData(testCatalog(), []measure.Recorded{rec}, []string{"standard"})
	p, err := page(t, d, testContent("en", testHead, "## H\n\n${database/server} ${database/version} ${database/innodb_flush_log_at_trx_commit} ${database/package}\n", ""))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := textOf(bodyHTML(p)), "MySQL 9.7.4 1 not measured (no run tells it)"; !strings.Contains(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Several metrics of one case stand along the axis, as percentiles do.
func TestFigureOfSeveralMetrics(t *testing.T) {
	two := testCatalog()
	two["channels"].Metrics["half"] = measure.Metric{Unit: measure.PerSecond}
	rec := testRecorded("standard")
	for i, c := range rec.Results["channels"].Cells {
		rec.Results["channels"].Metrics["half"] = two["channels"].Metrics["half"]
		rec.Results["channels"].Cells[i].Values["half"] = measure.Float(c.Values["rate"].Float64() / 2)
	}
	d := NewData(two, []measure.Recorded{rec}, []string{"standard"})
	body := "## H\n\n```figure f\ntitle: T\nalt: A.\nx: part\ny: messages/s\nnames: {half: one half}\n```\n"
	declared := "figures: {f: {kind: line, experiment: channels, metrics: [half, rate], series: client, where: {channels: '2000'}}}\n"
	p, err := page(t, d, testContent("en", testHead, body, declared))
	if err != nil {
		t.Fatal(err)
	}
	f := p.Blocks[len(p.Blocks)-1].Figure
	if !slices.Equal(f.Wide.Categories, []string{"one half", "rate"}) || len(f.Wide.Series) != 2 {
		t.Fatalf("%+v", f.Wide)
	}
	// The median with the Go client and 2,000 channels is 250.
	if s := f.Wide.Series[0]; s.Name != "go" || *s.Points[0].Value != 125 || *s.Points[1].Value != 250 {
		t.Errorf("%+v", s)
	}
	for want, change := range map[string][2]string{
		`unknown metric "halve"; did you mean "half"?`: {"[half,", "[halve,"},
		"is in other units than half":                  {"[half, rate]", "[half, memory]"},
		"stand for metric and x":                       {"metrics:", "x: channels, metrics:"},
	} {
		if _, err := page(t, d, testContent("en", testHead, body, strings.Replace(declared, change[0], change[1], 1))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A gap that a figure is about is no finding; a repeat that failed always is.
func TestFigureWithGaps(t *testing.T) {
	body := "## H\n\n```figure f\ntitle: T\nalt: A.\n```\n"
	for _, tt := range []struct {
		gaps   string
		failed bool
		unmet  int
	}{{"", false, 1}, {", gaps: true", false, 0}, {", gaps: true", true, 1}} {
		d := testData(func(r measure.Result) {
			for i := range r.Cells {
				if c := &r.Cells[i]; c.Labels.Match(measure.Labels{"client": "pika", "channels": "1000"}) {
					c.Values["rate"] = measure.Missing("more than a hundredth never came")
					if tt.failed {
						c.Failure = &measure.Failure{Reason: "no"}
					}
				}
			}
		})
		p, err := page(t, d, testContent("en", testHead, body, "figures: {f: {kind: bar, experiment: channels, metric: rate, x: channels, series: client"+tt.gaps+"}}\n"))
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Unmet) != tt.unmet {
			t.Errorf("%q, failed %v: %d unmet, want %d", tt.gaps, tt.failed, len(p.Unmet), tt.unmet)
		}
		if f := p.Blocks[len(p.Blocks)-1].Figure; !strings.Contains(f.Table.Rows[0][2], "not measured (") {
			t.Errorf("%q", f.Table.Rows)
		} else if p, want := f.Wide.Series[1].Points[0], map[bool]string{false: "not measured", true: "failed"}[tt.failed]; p.Short != want || p.Tip != f.Table.Rows[0][2] {
			t.Errorf("%q, failed %v: who points is shown %q and told %q", tt.gaps, tt.failed, p.Short, p.Tip)
		}
	}
}

// The digits of a number are those that its samples support: the fewest, two or
// three, with which rounding moves it by no more than a tenth of the interval.
func TestDigitsThatSamplesSupport(t *testing.T) {
	// Samples are 15,100 and so much more and less a repeat.
	spread := func(repeats int, step float64) Data {
		rec := testRecorded("standard")
		res := rec.Results["channels"]
		res.Cells = slices.DeleteFunc(res.Cells, func(c measure.Cell) bool { return c.Repeat > repeats })
		res.Planned = len(res.Cells)
		for _, c := range res.Cells {
			c.Values["rate"] = measure.Float(15100 + step*float64(2*c.Repeat-repeats-1)/2)
		}
		rec.Results["channels"] = res
		return NewData(testCatalog(), []measure.Recorded{rec}, []string{"standard"})
	}
	one := "channels/rate client=go channels=1000"
	for _, tt := range []struct {
		repeats    int
		step       float64
		text, want string
	}{
		// Two digits end at the thousands: rounding moves a number by up to 500, a
		// tenth of 5,000. Seven samples reach over six steps, five over four.
		{7, 100, one, "15,100"},
		{7, 800, one, "15,100"},  // 4,800 wide
		{7, 1000, one, "15,000"}, // 6,000
		{5, 1000, one, "15,100"}, // 4,000, the range: five have no interval
		{5, 1500, one, "15,000"}, // 6,000
		{1, 1000, one, "15,100"}, // one sample tells of no spread
		{7, 1000, one + " | digits=4", "15,100"},
		{7, 1000, one + " | min", "12,000"}, // 12,100
		{7, 1000, "channels/rate client=go | range", "15,000"},
		{7, 1000, one + " | per=channels", "15"},
		{7, 100, one + " | per=channels", "15.1"},
	} {
		p, err := page(t, spread(tt.repeats, tt.step), testContent("en", testHead, "## H\n\n${"+tt.text+"}\n", ""))
		if err != nil {
			t.Fatal(err)
		}
		if got := textOf(bodyHTML(p)); !strings.Contains(got, "\n"+tt.want+"\n") {
			t.Errorf("%d repeats, %g apart, %s: %q, want %q", tt.repeats, tt.step, tt.text, got, tt.want)
		}
	}
	figure := "figures: {f: {kind: bar, experiment: channels, metric: rate, x: channels, series: client, where: {client: go}, labels: true}}\n"
	p, err := page(t, spread(7, 1000), testContent("en", testHead, "## H\n\n```figure f\ntitle: T\nalt: A.\n```\n", figure))
	if err != nil {
		t.Fatal(err)
	}
	f := p.Blocks[len(p.Blocks)-1].Figure
	if got := f.Table.Rows[0][1]; got != "15,000 (12,000–18,000)" { // 12,100 to 18,100
		t.Errorf("the table has %q", got)
	}
	if point := f.Wide.Series[0].Points[0]; point.Label != "15,000" || *point.Value != 15100 || *f.Numbers.Points[0].Low != 12100 {
		t.Errorf("%+v, %+v", point, f.Numbers.Points[0])
	}
}

// A run that measured one case has no slope; one that is asked over a single value
// has none ever.
func TestSlopeNeedsTwo(t *testing.T) {
	few := testRecorded("standard")
	res := few.Results["channels"]
	res.Cells = slices.DeleteFunc(slices.Clone(res.Cells), func(c measure.Cell) bool { return c.Labels["channels"] == "1000" })
	res.Planned = len(res.Cells)
	few.Results["channels"] = res
	d := NewData(testCatalog(), []measure.Recorded{few}, []string{"standard"})
	for lang, want := range map[string]string{"en": "not measured (one case was measured, and a slope needs two)", "zh": "未测量（只测了一种情形，斜率至少要两种）"} {
		p, err := page(t, d, testContent(lang, testHead, "## H\n\n${channels/memory client=go | slope=channels}\n", ""))
		if err != nil || !strings.Contains(textOf(bodyHTML(p)), want) {
			t.Errorf("%s: %q, %v", lang, textOf(bodyHTML(p)), err)
		}
	}
	_, err := page(t, testData(), testContent("en", testHead, "## H\n\n${channels/memory client=go channels=1000 | slope=channels}\n", ""))
	if err == nil || !strings.Contains(err.Error(), "leave channels out of the labels") {
		t.Error(err)
	}
}

// A slope is bounded by those of the rounds: 0.12 to 0.18 here, where samples move
// apart, so that a third digit of 0.15 would say nothing.
func TestDigitsOfSlope(t *testing.T) {
	d := testData(func(r measure.Result) {
		for _, c := range r.Cells {
			at := map[string]float64{"1000": 100, "2000": 250}[c.Labels["channels"]]
			by := map[string]float64{"1000": 5, "2000": -5}[c.Labels["channels"]]
			c.Values["rate"] = measure.Float(at + by*float64(c.Repeat-4))
		}
	})
	p, err := page(t, d, testContent("en", testHead, "## H\n\n${channels/rate client=go | slope=channels}\n", ""))
	if err != nil || !strings.Contains(textOf(bodyHTML(p)), "\n0.15\n") {
		t.Errorf("%s, %v", textOf(bodyHTML(p)), err)
	}
}

// A difference is another reference than the ratio of the same cases: languages
// must say the same.
func TestDifferenceIsNoRatio(t *testing.T) {
	for sign, want := range map[string]string{"-": "channels/rate channels=2000,client=go - channels=1000,client=go", ":": "channels/rate channels=2000,client=go : channels=1000,client=go"} {
		p, err := page(t, testData(), testContent("en", testHead, "## H\n\n${channels/rate client=go channels=2000 "+sign+" channels=1000 | digits=1}\n", ""))
		if err != nil || len(p.Used) != 1 || p.Used[0].Key != want {
			t.Errorf("%s: %+v, %v", sign, p.Used, err)
		}
	}
}

// A word of ours among what programs said is in the page's language; what a program
// printed stays as it is.
func TestSaidInThePagesLanguage(t *testing.T) {
	for said, want := range map[string]map[string]string{
		"server":                 {"en": "server", "zh": "服务器"},
		"no free server channel": {"en": "no free server channel", "zh": "no free server channel"},
	} {
		d := testData(func(r measure.Result) {
			for i := range r.Cells {
				r.Cells[i].Texts = map[string]string{"error": said}
			}
		})
		for lang, want := range want {
			p, err := page(t, d, testContent(lang, testHead, "## H\n\n```output experiment=channels client=go channels=1000\nby: ${error}\n```\n", ""))
			if err != nil {
				t.Fatal(err)
			}
			cell := string(p.Blocks[len(p.Blocks)-1].Output.Lines[0].Cells[0])
			if got := textOf(cell); got != "by: "+want {
				t.Errorf("%s: %q, want %q", lang, got, want)
			}
			if english := lang == "zh" && want == said; strings.Contains(cell, `lang="en"`) != english {
				t.Errorf("%s: %q is marked as English, or is not: %s", lang, want, cell)
			}
		}
	}
}

// An image's alternative text may have a number.
func TestNumberInAlternativeText(t *testing.T) {
	p, err := page(t, testData(), testContent("en", testHead, "## H\n\n![of **${channels/rate client=go channels=1000}** a second](x.png)\n", ""))
	if err != nil || !strings.Contains(bodyHTML(p), `alt="of 100 a second"`) || len(p.Evidence) != 1 {
		t.Errorf("%s, %v", bodyHTML(p), err)
	}
}
