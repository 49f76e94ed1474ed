package article

import (
	htmlpkg "html"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"genreport/measure"
)

// fuzzData has three repeats of a case: from six on each claim takes a bootstrap,
// which is all that the fuzzer's time would go into.
func fuzzData() Data {
	rec := testRecorded("standard")
	res := rec.Results["channels"]
	res.Cells = slices.DeleteFunc(res.Cells, func(c measure.Cell) bool { return c.Repeat > 3 })
	res.Planned = len(res.Cells)
	rec.Results["channels"] = res
	return NewData(testCatalog(), []measure.Recorded{rec}, []string{"standard"})
}

// fuzzPage resolves content that need not be right. An error must say where: a
// file that is there, and a line that it has.
func fuzzPage(t *testing.T, d Data, fsys fstest.MapFS) (Page, error) {
	t.Helper()
	c, err := Load(fsys)
	var pages []Page
	if err == nil {
		pages, err = c.Resolve(d)
	}
	if err != nil {
		place := regexp.MustCompile(`^([a-z/]+\.(?:md|yaml)):([0-9]+):([0-9]+): .`)
		var all []error
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			all = joined.Unwrap()
		}
		for len(all) > 0 {
			e := all[0]
			all = all[1:]
			if joined, ok := e.(interface{ Unwrap() []error }); ok {
				all = append(all, joined.Unwrap()...)
				continue
			}
			m := place.FindStringSubmatch(e.Error())
			if m == nil {
				t.Fatalf("an error without a place: %v", e)
			}
			line, _ := strconv.Atoi(m[2])
			file := fsys[m[1]]
			if file == nil || line < 1 || line > 1+strings.Count(string(file.Data), "\n")+strings.Count(string(file.Data), "\r") { // YAML ends lines with either
				t.Fatalf("a place that isn't there: %v", e)
			}
			// YAML counts lines for itself; in Markdown the column is one of the line, or right behind it.
			if lines := strings.Split(plainLines(file.Data), "\n"); strings.HasSuffix(m[1], ".md") && !strings.Contains(string(file.Data), "\r") {
				if column, _ := strconv.Atoi(m[3]); column < 1 || column > 1+utf8.RuneCountInString(lines[line-1]) {
					t.Fatalf("a column that isn't there: %v", e)
				}
			}
		}
		return Page{}, err
	}
	return pages[0], nil
}

var (
	fuzzIDs   = regexp.MustCompile(`\sid="([^"]*)"`)
	fuzzHrefs = regexp.MustCompile(`\s(?:href|src)="([^"]*)"`)
)

// sound checks what holds of every page, whatever was written.
func sound(t *testing.T, p Page) {
	t.Helper()
	html := string(p.Lede) + bodyHTML(p)
	ids := map[string]bool{}
	for _, m := range fuzzIDs.FindAllStringSubmatch(html, -1) {
		if ids[m[1]] {
			t.Fatalf("id %q is there twice in %s", m[1], html)
		}
		ids[m[1]] = true
	}
	for _, m := range fuzzHrefs.FindAllStringSubmatch(html, -1) {
		plain, err := url.PathUnescape(htmlpkg.UnescapeString(m[1]))
		if err != nil {
			plain = m[1]
		}
		if strings.HasPrefix(strings.ToLower(strings.TrimLeft(plain, "\x00\t\n\r ")), "javascript:") {
			t.Fatalf("a link that runs a program: %s", m[1])
		}
	}
	for _, tag := range []string{"<script", "<iframe", "<img onerror"} {
		if strings.Contains(strings.ToLower(html), tag) {
			t.Fatalf("%s in %s", tag, html)
		}
	}
}

// FuzzReference puts any text between ${ and }, in a body and in a headline.
func FuzzReference(f *testing.F) {
	for _, seed := range []string{
		"channels/rate client=go channels=1000", "channels/rate client=go channels=2000 : channels=1000 | digits=3 bare",
		"channels/memory client=go | slope=channels digits=2", "channels/rate client=go | range", "channels/memory client=go channels=2000 | per=channels unit=KiB",
		"channels/error client=pika channels=1000", "channels/@messages", "broker/rabbitmq", "client/library client=pika", "machine/cpu", "rule/busy",
		"given/6,000 source=post", "given/", "channels/rate client=go channels=2000 - channels=1000 | unit=ms", "channels/memory client=go channels=2000 - channels=1000 | unit=KiB bare", " - ", "channels/rate a=- - a=b : c", "channels/rate client=go channels=1000 | min max", "channels/rate a=b a=c", "/", "@", ":", "|", " : ", "channels/rate : | per=",
		"channels/rate client=go | per=client", "channels/rate client=go channels=1000 | digits=15 unit=µs", "${", "a\\|b", "\u00a0", "e/" + strings.Repeat("a", 300),
	} {
		f.Add(seed)
	}
	d := fuzzData()
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := parseRef(text); err != nil && err.Error() == "" {
			t.Fatal("an error without words")
		}
		if strings.ContainsAny(text, "}\n\r") {
			return // ends the reference
		}
		p, err := fuzzPage(t, d, testContent("en", testHead, "## H\n\na ${"+text+"} b\n\n| a |\n|---|\n| ${"+strings.ReplaceAll(text, "|", `\|`)+"} |\n", ""))
		if err == nil {
			sound(t, p)
			if strings.Contains(textOf(bodyHTML(p)), "${"+text+"}") && text != "" {
				t.Fatalf("${%s} stands as it was written", text)
			}
		}
	})
}

// FuzzBody resolves any Markdown.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{
		"## H\n\n${channels/rate client=go channels=1000} and ${channels/rate client=go | range}\n", "${channels/rate", "a $ {b} $${c} \\${d}\n",
		"```output experiment=channels client=go each=channels\na || b\n${channels} || ${rate}\n```\n", "```output experiment=channels\n", "```output each=x\n```\n",
		"```figure f\ntitle: T\nalt: A\n```\n", "```figure f\ntitle: [\n```\n", "```claim c\nholds: a ${channels/rate client=go channels=1000}\nfails: b\nundecided: c\n```\n",
		"${claim/c | holds=a fails=\"b c\" undecided=d}\n", "**\u4e2d\u6587\uff0c**\u4e2d\n\u6587`a`\n\u4e2d", "a[^1]\n\n[^1]: b[^1]\n", "https://example.com/a\u3002b", "[a](https://b.example/ 'c')\n",
		"| a | b |\n|---|---|\n| ${channels/rate \\| min} | c |\n", "<b>x</b>\n", "## a\n## a\n## a-2\n# e-\n", "> - a\n>   ```\n>   x\n", "\ufeff", "\x00", "[x](javascript&colon;a)", "![a](b \"c\")\n", "<https://x.example>\n", "a_b_**c*d_e*\n", "---\n", "a\\\nb  \nc\n",
	} {
		f.Add(seed)
	}
	d := fuzzData()
	claims := "claims: {c: {is: greater, experiment: channels, metric: rate, where: {client: go}, case: {channels: '2000'}, than: {channels: '1000'}}}\n"
	f.Fuzz(func(t *testing.T, body string) {
		fsys := testContent("en", testHead, body+"\n\n${claim/c | holds=a fails=b undecided=c}\n", claims)
		if p, err := fuzzPage(t, d, fsys); err == nil {
			sound(t, p)
			if strings.Contains(body, "```") || len(p.Claims) == 1 {
				return
			}
			t.Fatalf("%d claims", len(p.Claims)) // what comes last was swallowed
		}
	})
}

// FuzzClaim declares any claim, with any words.
func FuzzClaim(f *testing.F) {
	for _, seed := range [][2]string{
		{"{is: greater, experiment: channels, metric: rate, where: {client: go}, case: {channels: '2000'}, than: {channels: '1000'}, factor: 1.2}", `holds=a fails="b c" undecided=d`},
		{"{is: same, experiment: channels, metric: memory, case: {client: go, channels: '1000'}, than: {client: pika, channels: '1000'}, within: 0.1, expect: fails}", `undecided="" holds=a fails=b`},
		{"{is: flat, experiment: channels, metric: rate, where: {client: pika}, over: channels, within: 0.1}", "holds=\"a"},
		{"{is: rising, experiment: channels, metric: rate, where: {client: go}, over: channels, values: ['1000', '2000']}", "holds"},
		{"{is: stops, experiment: channels, metric: rate, where: {client: go}, over: channels, at: '1000', within: 0.1}", "holds= fails= undecided="},
		{"{is: between, experiment: channels, metric: processes, case: {client: go, channels: '1000'}, per: channels, low: 3.9, high: 4.1, every: [current]}", "holds=a holds=b"},
		{"{is: between, experiment: channels, metric: rate, low: .nan, high: .inf}", ""},
		{"{is: falling, experiment: channels, metric: rate, over: broker, from: current}", "=\"\""},
		{"", ""}, {"{", "|"}, {"[]", "}"}, {"{is: flat, experiment: channels, metric: rate, over: client, where: {channels: '1000'}, within: -1}", "a=b"},
	} {
		f.Add(seed[0], seed[1])
	}
	d := fuzzData()
	f.Fuzz(func(t *testing.T, declared, words string) {
		if w, err := readWordings(words, 0, map[string]int{}); err == nil && (w.Holds == "" || w.Fails == "" || w.Undecided == "") {
			t.Fatalf("%q gives %+v without an error", words, w)
		}
		if strings.ContainsAny(words, "}\n\r") {
			words = `holds=a fails=b undecided=c`
		}
		p, err := fuzzPage(t, d, testContent("en", testHead, "${claim/c | "+words+"}\n", "claims:\n  c: "+declared+"\n"))
		if err != nil {
			return
		}
		sound(t, p)
		if len(p.Claims) != 1 || p.Claims[0].Said == "" || p.Claims[0].Tested == "" {
			t.Fatalf("%+v", p.Claims)
		}
	})
}
