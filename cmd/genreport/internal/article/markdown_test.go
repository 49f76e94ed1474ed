package article

import (
	"regexp"
	"strings"
	"testing"
)

func markdown(t *testing.T, source string, s style) string {
	t.Helper()
	doc := parseMarkdown(newMarkdown(s), []byte(source), s)
	h, err := doc.render(doc.root)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(h))
}

// What Chinese authors write, and CommonMark reads differently. The first ones
// are examples of the specification of CJK-friendly emphasis.
func TestChineseEmphasis(t *testing.T) {
	for source, want := range map[string]string{
		"**历经10年，**年":           "<strong>历经10年，</strong>年",
		"中文**（x）**中文":           "中文<strong>（x）</strong>中文",
		"税込**¥10,000**で":        "税込<strong>¥10,000</strong>で",
		"我**`code`**吗":          "我<strong><code>code</code></strong>吗",
		"**“引号”**中文":            "<strong>“引号”</strong>中文",
		"*重点。*下一句":              "<em>重点。</em>下一句",
		"**结论**：如下":             "<strong>结论</strong>：如下",
		"中**粗*斜，*粗**文":          "中<strong>粗<em>斜，</em>粗</strong>文",
		"a**(b)**c":             "a**(b)**c", // Latin as CommonMark has it
		"snake_case_name 中_文_字": "snake_case_name 中_文_字",
		"2 * 3 * 4":             "2 * 3 * 4",
		"**共 [链接。](a.html)**文":  `<strong>共 <a href="a.html">链接。</a></strong>文`,
	} {
		if got := markdown(t, source, style{lang: "zh"}); got != "<p>"+want+"</p>" {
			t.Errorf("%s: %s, want %s", source, got, want)
		}
	}
}

// A line break shows as a space where Latin script or code meets Chinese, and
// as nothing within Chinese and beside full-width punctuation.
func TestLineBreaks(t *testing.T) {
	for source, want := range map[string]string{
		"中文\n中文":              "中文中文",
		"中文，\nLatin":          "中文，Latin",
		"Latin\n（中文）":         "Latin（中文）",
		"中文\nLatin\n中文":       "中文\nLatin\n中文",
		"中文\n`code`\n中文":      "中文\n<code>code</code>\n中文",
		"中文\n`代码`\n中文":        "中文\n<code>代码</code>\n中文",
		"**中文**\n中文":          "<strong>中文</strong>中文",
		"中文\n**中文**":          "中文<strong>中文</strong>",
		"中文\n**Latin**":       "中文\n<strong>Latin</strong>",
		"中文\n“中文”\n中文":        "中文“中文”中文",
		"two\nlines":          "two\nlines",
		"한국\n말":               "한국\n말", // Korean has spaces between words
		"中文\\\n中文":            "中文<br />\n中文",
		"中文 [链接](a.html)\n中文": `中文 <a href="a.html">链接</a>中文`,
	} {
		if got := markdown(t, source, style{lang: "zh"}); got != "<p>"+want+"</p>" {
			t.Errorf("%q: %q, want %q", source, got, want)
		}
	}
	// The words of a reference count as what they turn out to be.
	body := "## H\n\n共\n${channels/rate client=go channels=1000}\n条\n${given/很多}\n次\n"
	p, err := page(t, testData(), testContent("zh", testHead, body, ""))
	if err != nil || !strings.Contains(textOf(bodyHTML(p)), "共\n100\n条很多次") {
		t.Errorf("%q, %v", textOf(bodyHTML(p)), err)
	}
}

func TestHeadingIDsOfAnyScript(t *testing.T) {
	got := markdown(t, "## 吞吐量\n\n## 吞吐量\n\n## RabbitMQ 4.3：快吗？\n\n## …\n\n## E-mail\n\n## F `x`\n", style{lang: "zh"})
	var ids []string
	for _, m := range regexp.MustCompile(`id="([^"]*)"`).FindAllStringSubmatch(got, -1) {
		ids = append(ids, m[1])
	}
	want := "吞吐量 吞吐量-2 rabbitmq-4-3-快吗 section s-e-mail s-f-x"
	if strings.Join(ids, " ") != want {
		t.Errorf("%s, want %s", strings.Join(ids, " "), want)
	}
}

func TestAutolinks(t *testing.T) {
	link := func(url string) string { return `<a href="` + url + `">` + url + `</a>` }
	for source, want := range map[string]string{
		"https://example.com/docs。下一句":               link("https://example.com/docs") + "。下一句",
		"见https://example.com/docs，再看":               "见" + link("https://example.com/docs") + "，再看",
		"见（https://example.com/docs）":                "见（" + link("https://example.com/docs") + "）",
		"see (https://example.com/a_(b)).":           "see (" + link("https://example.com/a_(b)") + ").",
		"https://example.com/a_b_c, then":            link("https://example.com/a_b_c") + ", then",
		"http://a.example. and https://b.example/":   link("http://a.example") + ". and " + link("https://b.example/"),
		"https://example.com/中文":                     link("https://example.com/") + "中文",
		"**https://example.com/**":                   "<strong>" + link("https://example.com/") + "</strong>",
		"`https://example.com/`":                     "<code>https://example.com/</code>",
		"[https://example.com/](https://b.example/)": `<a href="https://b.example/">https://example.com/</a>`,
		"xhttps://example.com/":                      "xhttps://example.com/",
		"<https://example.com/>":                     link("https://example.com/"),
	} {
		if got := markdown(t, source, style{lang: "zh"}); got != "<p>"+want+"</p>" {
			t.Errorf("%s: %s, want %s", source, got, want)
		}
	}
}

// Two hyphens are an option of a command, not a dash.
func TestNoTypographer(t *testing.T) {
	if got := markdown(t, `use --latency, "quoted" ...`, style{lang: "en"}); got != `<p>use --latency, &quot;quoted&quot; ...</p>` {
		t.Error(got)
	}
}

func TestFootnotes(t *testing.T) {
	source := "一[^a]二[^a]\n三[^b]\n\n[^a]: first\n[^b]: second\n"
	for lang, words := range map[string][2]string{"en": {`title="Footnote 1"`, "back to the text"}, "zh": {`title="脚注 1"`, "回到正文"}} {
		got := markdown(t, source, style{lang: lang})
		ids := map[string]bool{}
		for _, m := range regexp.MustCompile(`id="([^"]*)"`).FindAllStringSubmatch(got, -1) {
			if ids[m[1]] {
				t.Errorf("id %s is there twice", m[1])
			}
			ids[m[1]] = true
		}
		for _, m := range regexp.MustCompile(`href="#([^"]*)"`).FindAllStringSubmatch(got, -1) {
			if !ids[m[1]] {
				t.Errorf("#%s leads nowhere", m[1])
			}
		}
		if len(ids) != 5 || !strings.Contains(got, words[0]) || strings.Count(got, `<span class="unseen">`+words[1]+`</span>`) != 3 {
			t.Errorf("%s: %s", lang, got)
		}
		if strings.Contains(got, "</sup>\n三") {
			t.Errorf("a line break after a footnote's sign shows: %s", got)
		}
	}
}

func TestTables(t *testing.T) {
	p, err := page(t, testData(), testContent("en", testHead, "## H\n\n| a | b |\n|---|--:|\n| x | ${channels/memory client=go channels=1000 \\| unit=KiB} |\n", ""))
	if err != nil || !strings.Contains(bodyHTML(p), "<table>") || !strings.Contains(textOf(bodyHTML(p)), "2,000 KiB") {
		t.Errorf("%s, %v", bodyHTML(p), err)
	}
}

// What is refused, and where.
func TestMarkdownRefuses(t *testing.T) {
	const notPassed = "HTML is not passed on"
	for body, want := range map[string]string{
		"a\nb <b>c</b>\n":                                           "en/a.md:16:3: " + notPassed,
		"a\n\n<div>\n${channels/rate}\n</div>\n":                    "en/a.md:17:1: " + notPassed,
		"<!-- comment -->\n":                                        "en/a.md:15:1: " + notPassed,
		"[x](javascript:alert(1))\n":                                `en/a.md:15:1: a link can't lead to an address that begins with "javascript:"`,
		"[x](javascript&colon;alert(1))\n":                          `begins with "javascript:"`,
		"[x](java&#10;script:alert(1))\n":                           `begins with "javascript:"`,
		"[x](JAVASCRIPT%3Aalert(1))\n":                              `begins with "javascript:"`,
		"<vbscript:x>\n":                                            `begins with "vbscript:"`,
		"![x](data:text/html;base64,x)\n":                           `begins with "data:"`,
		"one[^a]\n\n[^b]: other\n":                                  "en/a.md:15:4: the footnote [^a] has no text",
		"```claim c\nholds: \"# a\"\nfails: b\nundecided: c\n```\n": "en/a.md:16:11: a claim's words can't have a heading",
		"```claim c\nholds: \"a[^n]\\n\\n[^n]: x\"\nfails: b\nundecided: c\n```\n": "en/a.md:16:10: a claim's words can't have a footnote",
		"```claim c\nholds: a[^n]\nfails: b\nundecided: c\n```\n":                  "en/a.md:16:9: the footnote [^n] has no text",
	} {
		fsys := testContent("en", testHead, "## H\n\n"+body, "claims: {c: {is: greater, experiment: channels, metric: rate, case: {client: go, channels: '2000'}, than: {client: go, channels: '1000'}}}\n")
		if _, err := page(t, testData(), fsys); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", body, err, want)
		}
	}
}

// HTML is passed on where the front matter asks for it; a script never is.
func TestHTMLOnRequest(t *testing.T) {
	head := strings.Replace(testHead, "title: Title", "title: Title\nhtml: true", 1)
	p, err := page(t, testData(), testContent("en", head, "## H\n\nH<sub>x</sub> `<b>`\n\n<div class=\"x\">\n\n${channels/rate client=go channels=1000}\n\n</div>\n", ""))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"H<sub>x</sub> <code>&lt;b&gt;</code>", `<div class="x">`, ">100</a>"} {
		if !strings.Contains(bodyHTML(p), want) {
			t.Errorf("%s lacks %s", bodyHTML(p), want)
		}
	}
	for body, want := range map[string]string{
		"<script>x</script>\n":              "en/a.md:16:1: a page has no script",
		"a < SCRIPT src=x>\n":               "",
		"a <SCRIPT src=x>b\n":               "en/a.md:16:3: a page has no script",
		"<div>\n${channels/rate}\n</div>\n": "en/a.md:16:1: a reference can't stand in a block of HTML",
	} {
		_, err := page(t, testData(), testContent("en", head, "## H\n\n"+body, ""))
		if got := ""; err != nil {
			got = err.Error()
			if want == "" || !strings.Contains(got, want) {
				t.Errorf("%q: %v, want %s", body, err, want)
			}
		} else if want != "" {
			t.Errorf("%q: no error, want %s", body, want)
		}
	}
	// A number typed into a block of HTML is found as any other.
	p, err = page(t, testData(), testContent("en", head, "## H\n\n<p class=\"n1\">\n2047 channels\n</p>\n", ""))
	if err != nil || len(p.Loose) == 0 || p.Loose[0].Text != "2047" || p.Loose[0].Line != 17 {
		t.Errorf("%+v, %v", p.Loose, err)
	}
}
