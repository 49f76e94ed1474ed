package article

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"genreport/cmd/genreport/internal/claim"
	"genreport/measure"
)

// What twoBrokers has: rates of 97…103 and 247…253 with go, 47…53 with pika
// whatever the channels, and half of each on the older broker.
const testClaims = `claims:
  more: {is: greater, experiment: channels, metric: rate, where: {client: go}, case: {channels: '2000'}, than: {channels: '1000'}, factor: 2}
  older: {is: less, experiment: channels, metric: rate, where: {client: go, channels: '1000'}, case: {broker: before}, than: {broker: current}}
  flat: {is: flat, experiment: channels, metric: rate, where: {client: pika}, over: channels, within: 0.2}
  rising: {is: rising, experiment: channels, metric: rate, where: {client: go}, over: channels, every: [before, current]}
  four: {is: between, experiment: channels, metric: processes, where: {client: pika, channels: '1000'}, per: channels, low: 4, high: 4, from: before}
  open: {is: greater, experiment: unmeasured, metric: limit, case: {client: go}, than: {client: go}, expect: undecided}
`

const testClaimsBody = "## H\n\n```claim more\nholds: More, **${channels/rate client=go channels=2000}**.\nfails: Not more.\nundecided: Perhaps more.\n```\n\n" +
	"Older is ${claim/older | holds=\"slower by half\" fails=faster undecided=\"no different\"}, ${claim/flat | holds=flat fails=uneven undecided=open}, " +
	"${claim/rising | holds=rises fails=falls undecided=open}, ${claim/four | holds=four fails=other undecided=open}, ${claim/open | holds=a fails=b undecided=c}.\n"

// testTexts are the claims' words in both languages.
func claimsPage(t *testing.T, d Data, claims, body string) (Page, error) {
	t.Helper()
	fsys := testContent("en", testHead, body, "")
	fsys["a.yaml"].Data = []byte(twoBrokersHead + claims)
	return page(t, d, fsys)
}

func verdicts(p Page) string {
	var out []string
	for _, c := range p.Claims {
		out = append(out, c.Name+" "+string(c.Verdict))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func TestClaims(t *testing.T) {
	p, err := claimsPage(t, twoBrokers(), testClaims, testClaimsBody)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := verdicts(p), "flat holds, four holds, more holds, older holds, open undecided, rising holds"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
	text := textOf(bodyHTML(p))
	for _, want := range []string{"More, 250.", "Older is slower by half✓", "flat✓", "rises✓", "four✓", "c?"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %q", want, text)
		}
	}
	for _, not := range []string{"Not more", "Perhaps", "faster", "uneven"} {
		if strings.Contains(text, not) {
			t.Errorf("%q is in %q", not, text)
		}
	}
	byName := map[string]Claim{}
	for _, c := range p.Claims {
		byName[c.Name] = c
		if c.File != "a.yaml" || c.Line < 5 || !strings.Contains(bodyHTML(p), `href="#`+c.ID+`"`) {
			t.Errorf("%+v", c)
		}
	}
	more := byName["more"]
	if more.Tested != "rate · channels · client=go: channels=2,000 is more than 2.00 × channels=1,000" ||
		!strings.HasPrefix(more.Numbers, "channels=2,000 ÷ channels=1,000 = 2.50 (2.4") || len(more.Evidence) != 2 || more.Line != 5 ||
		!strings.Contains(string(more.Sentence), "<strong>") {
		t.Errorf("%+v", more)
	}
	if byName["open"].Said != "undecided (not measured: no complete standard run of unmeasured on debian:forky)" {
		t.Errorf("%+v", byName["open"])
	}
	if byName["rising"].Tested != "rate · channels · client=go: it rises with channels, on each of RabbitMQ 4.9.9, 4.10.1" || len(byName["rising"].Evidence) != 4 {
		t.Errorf("%+v", byName["rising"])
	}
	for _, e := range more.Evidence {
		if !slices.ContainsFunc(p.Evidence, func(have Evidence) bool { return "#"+have.ID == e.Href }) {
			t.Errorf("%s leads nowhere", e.Href)
		}
	}
	// What is shown of a sentence's numbers is that of the sentence that is shown.
	if len(p.Unmet) != 0 {
		t.Errorf("%+v", p.Unmet)
	}
}

// With the samples of two cases swapped the claims and their words follow.
func TestSwappedSamples(t *testing.T) {
	d := twoBrokers()
	cells := d.runs[0].Results["channels"].Cells
	swap := map[string]map[int]measure.Value{}
	for _, c := range cells {
		if c.Labels["client"] == "go" && c.Labels["broker"] == "debian:forky" {
			if swap[c.Labels["channels"]] == nil {
				swap[c.Labels["channels"]] = map[int]measure.Value{}
			}
			swap[c.Labels["channels"]][c.Repeat] = c.Values["rate"]
		}
	}
	for _, c := range cells {
		if c.Labels["client"] == "go" && c.Labels["broker"] == "debian:forky" {
			c.Values["rate"] = swap[map[string]string{"1000": "2000", "2000": "1000"}[c.Labels["channels"]]][c.Repeat]
		}
	}
	p, err := claimsPage(t, d, testClaims, testClaimsBody)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := verdicts(p), "flat holds, four holds, more fails, older holds, open undecided, rising fails"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
	text := textOf(bodyHTML(p))
	if !strings.Contains(text, "Not more.✗") || !strings.Contains(text, "falls✗") {
		t.Errorf("%q", text)
	}
}

func TestWrongClaims(t *testing.T) {
	used := "## H\n\n```claim x\nholds: a\nfails: b\nundecided: c\n```\n"
	for name, tt := range map[string]struct{ claims, body, want string }{
		"kind":       {"{is: greatr, experiment: channels, metric: rate}", used, `a.yaml:5:11: claim x: unknown kind of claim "greatr"; did you mean "greater"?`},
		"experiment": {"{is: flat, experiment: chanels, metric: rate, over: channels, within: 0.1}", used, `a.yaml:5:29: claim x: unknown experiment "chanels"`},
		"metric":     {"{is: flat, experiment: channels, metric: rat, over: channels, within: 0.1}", used, `a.yaml:5:47: claim x: unknown metric "rat"`},
		"over":       {"{is: flat, experiment: channels, metric: rate, over: channel, within: 0.1}", used, `a.yaml:5:59: claim x: unknown label "channel"`},
		"no within":  {"{is: flat, experiment: channels, metric: rate, over: channels}", used, "a.yaml:5:3: claim x: a claim that something is flat needs within"},
		"no case":    {"{is: less, experiment: channels, metric: rate, than: {client: go}}", used, "needs case"},
		"too much":   {"{is: rising, experiment: channels, metric: rate, over: channels, factor: 2}", used, "takes no factor"},
		"at":         {"{is: stops, experiment: channels, metric: rate, over: channels, at: '3000', within: 0.1}", used, `at: unknown value "3000"`},
		"last":       {"{is: stops, experiment: channels, metric: rate, over: channels, at: '2000', within: 0.1}", used, "nothing comes after it"},
		"bounds":     {"{is: between, experiment: channels, metric: rate, case: {client: go}, low: 3, high: 2}", used, "low is 3 and high 2"},
		"expect":     {"{is: less, experiment: channels, metric: rate, case: {client: go}, than: {client: pika}, expect: maybe}", used, `a.yaml:5:103: claim x: unknown verdict to expect "maybe"`},
		"broker":     {"{is: less, experiment: channels, metric: rate, case: {client: go}, than: {client: pika}, from: newest}", used, `unknown broker alias "newest"`},
		"both":       {"{is: less, experiment: channels, metric: rate, case: {client: go}, than: {client: pika}, from: before, every: [before]}", used, "exclude each other"},
		"key":        {"{is: less, experiment: channels, metrics: rate}", used, `a.yaml:5:39: unknown key "metrics"; did you mean "metric"?`},
		"two cases":  {"{is: less, experiment: channels, metric: rate, case: {client: go}, than: {client: pika}}", used, "a.yaml:5:3: claim x: the labels name 2 cases of channels; give channels too"},
		"unused":     {"{is: flat, experiment: channels, metric: rate, where: {client: go}, over: channels, within: 0.1}", "## H\n", "en/a.md:1:1: claim x is declared in a.yaml and not used here"},
		"undeclared": {"{is: flat, experiment: channels, metric: rate, where: {client: go}, over: channels, within: 0.1}", used + "\n${claim/y | holds=a fails=b undecided=c}\n", `unknown claim "y"`},
		"words":      {"{is: flat, experiment: channels, metric: rate, where: {client: go}, over: channels, within: 0.1}", used + "\n${claim/x | holds=a undecided=c}\n", "no words for the verdict fails"},
		"sentence":   {"{is: flat, experiment: channels, metric: rate, where: {client: go}, over: channels, within: 0.1}", "## H\n\n```claim x\nholds: a\nfails: b\n```\n", "no words for the verdict undecided"},
		"in unshown": {"{is: flat, experiment: channels, metric: rate, where: {client: pika}, over: channels, within: 0.1}", strings.Replace(used, "holds: a", "holds: ${channels/rat client=go channels=1000}", 1), `unknown metric "rat"`},
		"yaml":       {"{is: flat, experiment: channels, metric: rate, where: {client: go}, over: channels, within: 0.1}", strings.Replace(used, "holds: a", "hold: a", 1), "hold"},
	} {
		fsys := testContent("en", testHead, tt.body, "")
		fsys["a.yaml"].Data = []byte(twoBrokersHead + "claims:\n  x: " + tt.claims + "\n")
		c, err := Load(fsys)
		if err == nil {
			_, err = c.Resolve(twoBrokers())
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v; want %q", name, err, tt.want)
		}
	}
}

func TestReadWordings(t *testing.T) {
	_, err := readWordings(` holds="a b=c" fails=慢 undecided="" `, 0, map[string]int{})
	if err == nil || !strings.Contains(err.Error(), "no words for the verdict undecided") {
		t.Errorf("%v", err)
	}
	w, err := readWordings(`holds="a b=c" fails=慢 undecided=没有差别`, 0, map[string]int{})
	if err != nil || w != (wordings{"a b=c", "慢", "没有差别"}) || w.of(claim.Undecided) != "没有差别" {
		t.Errorf("%+v, %v", w, err)
	}
	for text, want := range map[string]string{
		`holds="a`: "no closing quotation mark", `holds=a hold=b`: `unknown verdict "hold"`, `holds=a holds=b`: "twice", `faster`: "is not verdict=words", ``: "no words",
	} {
		if _, err := readWordings(text, 0, map[string]int{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// Every number that is typed into what readers see is found, with its line.
func TestLooseNumbers(t *testing.T) {
	for text, want := range map[string]string{
		"With 64 channels, 2,047 at most.":          "64 2,047",
		"amqp091-go, p99, utf8mb4 and x_1":          "",
		"RabbitMQ 4.3.6 of 2026-12-01":              "4.3.6 2026 12 01",
		"${e/rate n=64} and ${given/4.1} are bound": "",
		"历经10年": "10",
		"1":     "1",
		"none":  "",
	} {
		var all []string
		for _, at := range looseNumbers(text) {
			all = append(all, text[at[0]:at[1]])
		}
		if got := strings.Join(all, " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	head := strings.Replace(testHead, "Title", "Title 7", 1)
	body := "## Heading 8\n\nA [link 9](https://example.org/10) with `11` and **12**.\n\n    code 13\n\n| a | 14 |\n|---|---|\n| ${given/15} | b |\n\n" +
		"```output experiment=channels client=go channels=1000\nline 16 || ${rate}\n```\n\n```figure f\ntitle: T 17\nalt: A.\n```\n\n```claim c\nholds: h 18\nfails: i\nundecided: j\n```\n\n" +
		"${claim/c | holds=x fails=\"19 y\" undecided=z}\n"
	fsys := testContent("en", head, body, testFigure[:strings.Index(testFigure, "\n  g:")+1]+
		"claims:\n  c: {is: flat, experiment: channels, metric: rate, where: {client: pika}, over: channels, within: 0.2}\n")
	p, err := page(t, testData(), fsys)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range p.Loose {
		got = append(got, fmt.Sprintf("%d:%s", l.Line-headLines, l.Text))
	}
	slices.Sort(got)
	got = slices.Compact(got)
	// Headlines of the test's head are typed in too: "1", "2" and "3".
	want := []string{"1:8", "3:9", "3:12", "7:14", "12:16", "16:17", "21:18", "26:19", fmt.Sprintf("%d:7", 2-headLines)}
	for i := range 3 {
		want = append(want, fmt.Sprintf("%d:%d", 6+i-headLines, i+1))
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A line of columns whose only references are given numbers names the columns.
func TestGivenInHeading(t *testing.T) {
	body := "## H\n\n```output experiment=channels client=go channels=1000\nchannels || of ${given/2}\n${given/1} || ${rate}\n```\n"
	p, err := page(t, testData(), testContent("en", testHead, body, ""))
	if err != nil {
		t.Fatal(err)
	}
	out := p.Blocks[len(p.Blocks)-1].Output
	if len(out.Lines) != 2 || !out.Lines[0].Head || out.Lines[1].Head {
		t.Errorf("%+v", out.Lines)
	}
}

// What nobody measured is marked, and leads to where it is from.
func TestGiven(t *testing.T) {
	sources := "sources: {post: {title: {zh: 文章}, url: 'https://example.org/a?b&c'}, book: {title: {zh: 书}}}\n"
	body := "## H\n\n${given/64} ${given/6,000 | from=post} ${given/7 | from=book} ${given/1,000 | from=channels} ${given/2 | from=unmeasured} [a ${given/8 | from=post}](x.html)\n\n" +
		"${channels/@messages} ${machine/cores} ${channels/rate client=go channels=1000}\n\n```output experiment=channels client=go channels=1000\nof ${given/9}: ${rate}\n```\n"
	fsys := testContent("zh", testHead, body, sources)
	p, err := page(t, testData(), fsys)
	if err != nil {
		t.Fatal(err)
	}
	plan := ` title="实验 channels 的设定">`
	got := bodyHTML(p)
	for _, want := range []string{
		`<span class="given" title="">64</span> <a class="given" href="https://example.org/a?b&amp;c" title="文章">6,000</a>`,
		`<a class="given" href="#g-book" title="书">7</a>`,
		`<a class="given" href="#_of-channels"` + plan + `1,000</a>`,
		`<span class="given" title="实验 unmeasured 的设定">2</span>`, // of which the page has no evidence
		`<a href="x.html">a 8</a>`, // a link has no other within
		`<a class="given" href="#_of-channels"` + plan + `100,000</a>`,
		`<a class="given" href="#_run-20260504T030201Z" title="测量批次 20260504T030201Z 的记录">2</a>`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s lacks %s", got, want)
		}
	}
	// In a block about an experiment that is the source.
	if out := string(p.Blocks[len(p.Blocks)-1].Output.Lines[0].Cells[0]); !strings.Contains(out, `<a class="given" href="#_of-channels"`+plan+`9</a>`) {
		t.Error(out)
	}
	want := []GivenFrom{{"g-post", "文章", "https://example.org/a?b&c", []string{"6,000", "8"}}, {"g-book", "书", "", []string{"7"}},
		{"g-channels", "实验 channels 的设定", "#_of-channels", []string{"1,000", "9"}}, {"g-unmeasured", "实验 unmeasured 的设定", "", []string{"2"}}}
	if !reflect.DeepEqual(p.Given, want) {
		t.Errorf("%+v, want %+v", p.Given, want)
	}
	if want := []Loose{{Place{"zh/a.md", headLines + 3, 1}, "64"}}; !reflect.DeepEqual(p.Unsourced, want) {
		t.Errorf("%+v, want %+v", p.Unsourced, want)
	}
	for body, want := range map[string]string{
		"${given/64 | from=pst}":           `zh/a.md:13:19: unknown source "pst"; did you mean "post"?`,
		"文${given/64 | form=post}":         `zh/a.md:13:15: unknown option of what is given "form"; did you mean "from"?`,
		"${given/64 | from=}":              "zh/a.md:13:14: from needs a source",
		"${given/64 source=post}":          "zh/a.md:13:12: what is given takes no labels",
		"${given/64 a=b : a=c}":            "no ratio",
		"${given/64 | from=post digits=2}": `unknown option of what is given "digits"`,
		"${given/}":                        "zh/a.md:13:9: ",
	} {
		fsys["zh/a.md"].Data = []byte(testHead + body + "\n")
		if _, err := page(t, testData(), fsys); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", body, err, want)
		}
	}
	for sources, want := range map[string]string{
		"{post: {title: {zh: x}, url: 'javascript:1'}}": "a.yaml:4:39: source post: url is",
		"{post: {title: {en: x}}}":                      "a.yaml:4:18: source post has no title for zh",
		"{post: {titel: {zh: x}}}":                      `a.yaml:4:18: unknown key "titel"; did you mean "title"?`,
		"{'a b': {title: {zh: x}}}":                     "a.yaml:4:11: source \"a b\"",
	} {
		fsys["a.yaml"].Data = []byte("series: R\nnumber: 1\nbrokers: {current: 'debian:forky'}\nsources: " + sources + "\n")
		if _, err := Load(fsys); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", sources, err, want)
		}
	}
}
