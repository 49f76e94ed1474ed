package article

import (
	"fmt"
	"strings"
	"testing"
)

// Whatever is wrong is told with its line and the column of what is wrong, in
// characters, behind Chinese too. ^ stands before it, and is no part of the text.
func TestPlaces(t *testing.T) {
	const c = "claims:\n  结: {is: less, experiment: channels, metric: rate, case: {client: go, channels: '2000'}, than: {client: go, channels: '1000'}}\n"
	const use = "\n${claim/结 | holds=甲 fails=乙 undecided=丙}\n"
	const f = "figures:\n  图: {kind: bar, experiment: channels, metric: rate, x: channels, series: client}\n"
	const show = "\n```figure 图\ntitle: 题\nalt: 文\n```\n"
	const table = "tables:\n  表: {experiment: channels, metric: rate, rows: channels, columns: client}\n"
	const tableShown = "\n```table 表\ntitle: 题\n```\n"
	for what, tt := range map[string]struct{ body, declared, want string }{
		"experiment":       {"中文，${^chanels/rate client=go}", "", `unknown experiment "chanels"; did you mean "channels"?`},
		"metric":           {"中文 ${channels/^rats client=go}", "", `unknown metric "rats"; did you mean "rate"?`},
		"label":            {"中文 ${channels/rate ^clint=go}", "", `unknown label "clint"; did you mean "client"?`},
		"value":            {"中文 ${channels/rate client=^goo channels=1000}", "", `unknown value "goo"; did you mean "go"?`},
		"second value":     {"中 ${channels/rate client=go channels=1000 : client=^goo}", "", `unknown value "goo"; did you mean "go"?`},
		"second label":     {"中 ${channels/rate client=go channels=1000 - ^clint=go}", "", `unknown label "clint"; did you mean "client"?`},
		"option":           {"中文 ${channels/rate client=go channels=1000 | ^digts=2}", "", `unknown option "digts"; did you mean "digits"?`},
		"unit":             {"中文 ${channels/memory client=go channels=1000 | digits=2 unit=^kib}", "", `unknown unit "kib"; did you mean "KiB"?`},
		"unit of another":  {"中文 ${channels/rate client=go channels=1000 | ^unit=KiB}", "", "unit=KiB does not fit"},
		"per":              {"中 ${channels/rate client=go channels=1000 | ^per=client}", "", "not a number to divide by"},
		"parameter":        {"中 ${channels/^@message}", "", `unknown parameter "message"; did you mean "messages"?`},
		"fact":             {"中 ${broker/^rabbit}", "", `unknown broker fact "rabbit"; did you mean "rabbitmq"?`},
		"alias":            {"中 ${channels/rate client=go channels=1000 broker=^curent}", "", `unknown broker alias "curent"; did you mean "current"?`},
		"several cases":    {"中 ^${channels/rate client=go}", "", "the labels name 2 cases"},
		"emphasis":         {"**中文${^chanels/rate}**", "", `unknown experiment "chanels"`},
		"table cell":       {"| 列 | 列 |\n|---|---|\n| 中 | ${channels/rate client=go channels=1000 \\| ^digts=2} |", "", `unknown option "digts"`},
		"heading":          {"## 中 ${channels/^rats}", "", `unknown metric "rats"`},
		"list":             {"- 一\n- 二 ${channels/^rats}", "", `unknown metric "rats"`},
		"quoted":           {"> 中 ${channels/^rats}", "", `unknown metric "rats"`},
		"alternative text": {"![图 ${channels/^rats}](x.png)", "", `unknown metric "rats"`},
		"open":             {"中文 ^${channels/rate", "", "${ has no closing }"},
		"link":             {"中文 ^[链](javascript:x)", "", "a link can't lead"},
		"HTML":             {"中文 ^<b>x</b>", "", "HTML is not passed on"},
		"block":            {"```^outptu experiment=channels\nx\n```", "", `unknown block "outptu"; did you mean "output"?`},
		"output":           {"```output experiment=^chanels\nx\n```", "", `unknown experiment "chanels"; did you mean "channels"?`},
		"output each":      {"```output experiment=channels each=^clint\nx\n```", "", `unknown label "clint"; did you mean "client"?`},
		"output label":     {"```output experiment=channels ^clint=go\nx\n```", "", `unknown label "clint"; did you mean "client"?`},
		"output value":     {"```output experiment=channels client=^goo\nx\n```", "", `unknown value "goo"; did you mean "go"?`},
		"output cell":      {"```output experiment=channels client=go each=channels\n通道 || 速率\n${channels} 个 || 速 ${^rats}\n```", "", `unknown metric "rats"; did you mean "rate"?`},
		"claim":            {"中 ${claim/^结论 | holds=甲 fails=乙 undecided=丙}" + use, c, `unknown claim "结论"`},
		"claim verdict":    {"中 ${claim/结 | holds=甲 ^fail=乙 undecided=丙}" + use, c, `unknown verdict "fail"; did you mean "fails"?`},
		"claim block":      {"```claim ^结论\nholds: 甲\nfails: 乙\nundecided: 丙\n```" + use, c, `unknown claim "结论"`},
		"claim key":        {"```claim 结\nholds: 甲\n^fials: 乙\nundecided: 丙\n```", c, `unknown key "fials"; did you mean "fails"?`},
		"claim words":      {"```claim 结\nholds: >-\n  甲乙\n  丙 ${channels/^rats}\nfails: 乙\nundecided: 丙\n```", c, `unknown metric "rats"`},
		"unshown words":    {"```claim 结\nholds: 甲\nfails: \"乙 \\\"丁\\\" ${channels/^rats}\"\nundecided: 丙\n```", c, `unknown metric "rats"`},
		"claim's metric":   {use, strings.Replace(c, "rate", "^rats", 1), `unknown metric "rats"; did you mean "rate"?`},
		"claim's key":      {use, strings.Replace(c, "metric", "^metrik", 1), `unknown key "metrik"; did you mean "metric"?`},
		"claim's kind":     {use, strings.Replace(c, "less", "^les", 1), `unknown kind of claim "les"; did you mean "less"?`},
		"claim's value":    {use, strings.Replace(c, "'2000'", "^'2001'", 1), `unknown value "2001"; did you mean "2000"?`},
		"claim's label":    {use, strings.Replace(c, "channels: '2000'", "^chanels: '2000'", 1), `unknown label "chanels"; did you mean "channels"?`},
		"figure id":        {"```figure ^图二\ntitle: 题\n```" + show, f, `unknown figure "图二"`},
		"figure key":       {"```figure 图\ntitle: 题\nalt: 文\n^captoin: 字\n```", f, `unknown key "captoin"; did you mean "caption"?`},
		"figure words":     {"```figure 图\ntitle: 题\nalt: 文\ncaption: '题''文 ${channels/^rats}'\n```", f, `unknown metric "rats"`},
		"figure names":     {"```figure 图\ntitle: 题\nalt: 文\nnames: {go: 甲, ^gp: 乙}\n```", f, `unknown series or metric "gp"; did you mean "go"?`},
		"figure's metric":  {show, strings.Replace(f, "rate", "^rats", 1), `unknown metric "rats"; did you mean "rate"?`},
		"figure's label":   {show, strings.Replace(f, "x: channels", "x: ^chanels", 1), `unknown label "chanels"; did you mean "channels"?`},
		"figure's key":     {show, strings.Replace(f, "series", "^serie", 1), `unknown key "serie"; did you mean "series"?`},
		"figure's where":   {show, strings.Replace(f, "}", ", where: {client: ^goo}}", 1), `unknown value "goo"; did you mean "go"?`},
		"table's label":    {tableShown, strings.Replace(table, "columns: client", "columns: ^clint", 1), `unknown label "clint"; did you mean "client"?`},
		"table words":      {"```table 表\ntitle: 题\ncaption: >-\n  中文\n  ${channels/^rats}\n```", table, `unknown metric "rats"`},
		"setup's where":    {"```setup\ntitle: 题\nexperiment: channels\nwhere: {client: ^goo}\n```", "", `unknown value "goo"; did you mean "go"?`},
		"callout words":    {"```callout note 题 ${channels/^rats}\n文\n```", "", `unknown metric "rats"`},
		"callout text":     {"```callout note\n文\n- 中 ${channels/^rats}\n```", "", `unknown metric "rats"`},
		"erratum":          {"", "errata:\n  - {date: 2026-12-01, en: \"中 ${channels/^rats}\"}\n", `unknown metric "rats"`},
		"series":           {"", "^seres: x\n", `unknown key "seres"; did you mean "series"?`},
	} {
		file, text := "en/a.md", testHead+"\n## 题\n\n"+tt.body+"\n"
		head := string(testContent("en", "", "", "")["a.yaml"].Data)
		if strings.Contains(tt.declared, "^") {
			file, text = "a.yaml", head+tt.declared
		}
		p := placeIn(text, strings.Index(text, "^"))
		want := fmt.Sprintf("%s:%d:%d: ", file, p.line, p.column)
		body := "\n## 题\n\n" + strings.Replace(tt.body, "^", "", 1) + "\n"
		c, err := Load(testContent("en", testHead, body, strings.Replace(tt.declared, "^", "", 1)))
		if err == nil {
			_, err = c.Resolve(testData())
		}
		if err == nil {
			t.Errorf("%s: no error", what)
			continue
		}
		found := false
		for _, line := range strings.Split(err.Error(), "\n") {
			found = found || strings.HasPrefix(line, want) && strings.Contains(line, tt.want)
		}
		if !found {
			t.Errorf("%s: %v\nwant %s…%s", what, err, want, tt.want)
		}
	}
}

// In front matter too, however its texts are written.
func TestPlacesInFrontMatter(t *testing.T) {
	head := "---\ntitle: \"中文 ${channels/A}\"\nquestion: >-\n  一问\n  ${channels/B} 二问\nsummary: '三''四 ${channels/C}'\nheadlines:\n  - {value: \"五 ${channels/D}\", label: 六, note: \"七 ${channels/E}\"}\n" +
		"  - value: x\n    label: \"八 \\\"九\\\" ${channels/F}\"\n  - {value: x, label: y}\n---\n"
	_, err := page(t, testData(), testContent("en", head, "## H\n", ""))
	if err == nil {
		t.Fatal("no error")
	}
	for _, metric := range []string{"A", "B", "C", "D", "E", "F"} {
		p := placeIn(head, strings.Index(head, "channels/"+metric)+len("channels/"))
		if want := fmt.Sprintf("en/a.md:%d:%d: unknown metric %q", p.line, p.column, metric); !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not in %v", want, err)
		}
	}
	_, err = Load(testContent("en", strings.Replace(testHead, "- {value: \"1\", label: a}", "- {value: 中, lable: a}", 1), "## H\n", ""))
	if err == nil || !strings.Contains(err.Error(), `en/a.md:6:16: unknown key "lable"; did you mean "label"?`) {
		t.Error(err)
	}
}

// A digit that is typed in is told with its column, too.
func TestPlacesOfLooseNumbers(t *testing.T) {
	body := "## 题\n\n中文 ^41 条，**有^42**\n\n| 列 |\n|---|\n| 值 ^43 |\n\n```output experiment=channels client=go channels=1000\n一 ${rate} || ^44 条\n```\n\n" +
		"```callout note 题 ^45\n中 ^46\n```\n\n```claim c\nholds: 甲 ^47\nfails: >-\n  乙\n  中 ^48\nundecided: \"丙 ^49\"\n```\n\n中 ${claim/c | holds=甲 fails=\"有 ^51\" undecided=丙}\n"
	claims := "claims: {c: {is: flat, experiment: channels, metric: rate, where: {client: pika}, over: channels, within: 0.2}}\n"
	p, err := page(t, testData(), testContent("zh", testHead, strings.ReplaceAll(body, "^", ""), claims))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]Place{}
	for _, l := range p.Loose {
		got[l.Text] = l.Place
	}
	plain := ""
	for i, part := range strings.Split(testHead+body, "^") {
		if i > 0 {
			at := placeIn(plain+part, len(plain))
			if number := part[:2]; got[number] != (Place{"zh/a.md", at.line, at.column}) {
				t.Errorf("%s is at %+v, want %+v", number, got[number], at)
			}
		}
		plain += part
	}
}
