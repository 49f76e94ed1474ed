package article

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"genreport/cmd/genreport/internal/diagram"
	"genreport/measure"
)

// declared in a.yaml, whose first three lines are testContent's.
const (
	testTable = "tables:\n  t:\n    experiment: channels\n    metric: rate\n    rows: channels\n    columns: client\n"
	testDemo  = `demos:
  d:
    objects:
      app: {kind: client, at: [1, 1]}
      q: {kind: queue, at: [2, 1]}
    links:
      pub: {from: app, to: q}
    steps:
      - id: one
        active: [app]
      - id: two
        blocked: [q]
        messages: {pub: ["1"]}
        labels: {q: "${channels/rate client=go channels=2000}"}
`
	demoBody = "```demo d\ntitle: T\nnames: {app: App, q: Q}\nsteps:\n  one: {title: First, caption: \"**A** of ${given/7}.\"}\n  two: {title: Second, caption: B., labels: {pub: sent}}\n```\n"
)

func TestTable(t *testing.T) {
	body := "```table t\ntitle: Rates of ${given/2}\ncorner: channels\nunit: msg/s\ncaption: Medians.\nnames: {go: amqp091-go}\n```\n"
	p, err := page(t, testData(), testContent("en", testHead, body, testTable))
	if err != nil {
		t.Fatal(err)
	}
	g := p.Blocks[0].Grid
	if g == nil || g.ID != "t-t" || g.Corner != "channels" || g.Unit != "msg/s" || !slices.Equal(g.Head, []string{"amqp091-go", "pika"}) {
		t.Fatalf("%+v", g)
	}
	// The medians that testCatalog tells of, with the digits that samples six apart support.
	want := [][]string{{"1,000", "100", "50"}, {"2,000", "250", "50"}}
	for i, row := range g.Rows {
		got := []string{row.Name}
		for _, c := range row.Cells {
			got = append(got, textOf(string(c)))
		}
		if !slices.Equal(got, want[i]) {
			t.Errorf("row %d: %v, want %v", i, got, want[i])
		}
	}
	if len(g.Rows) != 2 || !strings.Contains(string(g.Rows[0].Cells[0]), `href="#`) || len(p.Evidence) != 4 || len(p.Used) != 4 {
		t.Errorf("%d rows, %s, %d cases, %d references", len(g.Rows), g.Rows[0].Cells[0], len(p.Evidence), len(p.Used))
	}
	// Several metrics go down, in their own units, and what is missing says why.
	several := "tables:\n  t:\n    experiment: channels\n    metrics: [rate, memory, processes]\n    columns: client\n    where: {channels: '2000'}\n"
	p, err = page(t, testData(func(r measure.Result) {
		for i, c := range r.Cells {
			if c.Labels["client"] == "pika" {
				r.Cells[i].Values["memory"] = measure.Missing("no <reading>")
			}
		}
	}), testContent("zh", testHead, "```table t\ntitle: T\n```\n", several))
	if err != nil {
		t.Fatal(err)
	}
	g = p.Blocks[0].Grid
	if got := textOf(string(g.Rows[1].Cells[0])); got != "3.91 MiB" { // 2,000 × 2,048 B
		t.Errorf("memory is %s", got)
	}
	if got := string(g.Rows[1].Cells[1]); !strings.Contains(got, "未测量\uff08no &lt;reading&gt;\uff09") {
		t.Errorf("a missing value is %s", got)
	}
	if g.Rows[0].Unit != "/s" || g.Rows[2].Unit != "" || textOf(string(g.Rows[2].Cells[0])) != "8,000" {
		t.Errorf("%+v", g.Rows)
	}
}

func TestParameters(t *testing.T) {
	body := "```given channels\ntitle: Set\nparameters:\n  queue: {name: Kind <b>, text: of queue}\n  messages: {name: Messages}\n```\n"
	p, err := page(t, testData(), testContent("en", testHead, body, ""))
	if err != nil {
		t.Fatal(err)
	}
	g := p.Blocks[0].Given
	if len(g.Rows) != 2 || g.Rows[0].Key != "queue" || textOf(string(g.Rows[0].Value)) != "classic" || g.Rows[0].Name != "Kind &lt;b&gt;" || textOf(string(g.Rows[1].Value)) != "100,000" {
		t.Errorf("%+v", g)
	}
	if g.Data.Href != "data/20260504T030201Z/channels.json" {
		t.Errorf("data is %+v", g.Data)
	}
}

func TestSetupAndCallout(t *testing.T) {
	body := "```setup\ntitle: How\ntext: Some *text*.\nconfig: |\n  a = ${x}\nexperiment: channels\nwhere: {client: go}\n```\n\n" +
		"```callout warning Mind ${given/4}\nA **bold** ${channels/rate client=go channels=1000}.\n\n- and a list\n```\n\n```callout note\nx\n```\n"
	p, err := page(t, testData(), testContent("en", testHead, body, ""))
	if err != nil {
		t.Fatal(err)
	}
	s := p.Blocks[0].Setup
	if s.Config != "a = ${x}" || s.Commands != "build/genreport measure --case channels=1000,client=go\nbuild/genreport measure --case channels=2000,client=go" ||
		!strings.Contains(string(s.Text), "<em>text</em>") {
		t.Errorf("%+v", s)
	}
	c := p.Blocks[1].Callout
	if c.Kind != "warning" || textOf(string(c.Title)) != "Mind 4" || !strings.Contains(textOf(string(c.Text)), "A bold 100.") || !strings.Contains(string(c.Text), "<li>") {
		t.Errorf("%+v", c)
	}
	var shapes []string
	for _, u := range p.Shapes {
		shapes = append(shapes, u.Key)
	}
	if want := []string{"setup", "callout warning", "callout note"}; !slices.Equal(shapes, want) {
		t.Errorf("%q, want %q", shapes, want)
	}
	if len(p.Loose) != 3 { // those of testHead
		t.Errorf("loose: %v", p.Loose)
	}
}

func TestDemo(t *testing.T) {
	p, err := page(t, testData(), testContent("en", testHead, demoBody, testDemo))
	if err != nil {
		t.Fatal(err)
	}
	d := p.Blocks[0].Demo
	if d.ID != "demo-d" || len(d.Steps) != 2 || d.Steps[1].ID != "demo-d-2" || plainOf(d.Steps[0].Caption) != "A of 7." {
		t.Fatalf("%+v", d)
	}
	two := d.Diagram.Steps[1]
	if q := two.Looks["q"]; q.State != diagram.Blocked || q.Label != "250" {
		t.Errorf("q is %+v", q)
	}
	if l := two.Looks["pub"]; l.State != diagram.Active || l.Label != "sent" || !slices.Equal(l.Messages, []string{"1"}) {
		t.Errorf("pub is %+v", l)
	}
	if d.Diagram.Steps[0].Description != "A of 7." || d.Diagram.Steps[0].Title != "First" {
		t.Errorf("%+v", d.Diagram.Steps[0])
	}
}

// Numbers that are typed into these blocks are found where they stand.
func TestLooseInBlocks(t *testing.T) {
	body := "```callout note\nOf 41.\n\nAnd 42.\n```\n\n" + strings.Replace(demoBody, "caption: B.", "caption: B 43.", 1)
	p, err := page(t, testData(), testContent("en", testHead, body, strings.Replace(testDemo, `"${channels/rate client=go channels=2000}"`, `"44"`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range p.Loose {
		got = append(got, fmt.Sprintf("%s:%d %s", l.File, l.Line, l.Text))
	}
	slices.Sort(got)
	at := func(n int) string { return fmt.Sprintf("en/a.md:%d", headLines+n) }
	want := []string{"a.yaml:17 44", at(2) + " 41", at(4) + " 42", at(12) + " 43"}
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("%q is not among %q", w, got)
		}
	}
}

func TestBlocksRefuse(t *testing.T) {
	md := func(line, column int) string { return fmt.Sprintf("en/a.md:%d:%d: ", headLines+line, column) }
	yaml := func(line, column int) string { return fmt.Sprintf("a.yaml:%d:%d: ", line, column) }
	table := "```table t\ntitle: T\n```\n"
	for name, c := range map[string]struct {
		body, declared, want string
	}{
		"block":                    {"```tabel t\ntitle: T\n```\n", "", "unknown block \"tabel\"; did you mean \"table\"?"},
		"table id":                 {"```table s\ntitle: T\n```\n" + table, testTable, md(1, 10) + "unknown table \"s\"; did you mean \"t\"?"},
		"table twice":              {table + "\n" + table, testTable, md(5, 1) + "table t is there twice"},
		"table not shown":          {"x\n", testTable, "table t is declared at a.yaml:5 and not shown here"},
		"table key in Markdown":    {"```table t\ntitel: T\n```\n", testTable, md(2, 1) + "unknown key \"titel\"; did you mean \"title\"?"},
		"table key in YAML":        {table, strings.Replace(testTable, "metric:", "metrik:", 1), yaml(7, 5) + "unknown key \"metrik\"; did you mean \"metric\"?"},
		"table experiment":         {table, strings.Replace(testTable, ": channels\n", ": chanels\n", 1), yaml(6, 17) + "unknown experiment \"chanels\"; did you mean \"channels\"?"},
		"table metric":             {table, strings.Replace(testTable, "rate", "rat", 1), yaml(7, 13) + "unknown metric \"rat\"; did you mean \"rate\"?"},
		"table label":              {table, strings.Replace(testTable, "columns: client", "columns: clint", 1), yaml(9, 14) + "unknown label \"clint\"; did you mean \"client\"?"},
		"table where":              {table, testTable + "    where: {client: goo}\n", yaml(10, 21) + "unknown value of client \"goo\"; did you mean \"go\"?"},
		"table unit":               {table, testTable + "    unit: MiB\n", yaml(10, 11) + "unit=MiB does not fit"},
		"table name":               {"```table t\ntitle: T\nnames: {gp: x}\n```\n", testTable, md(3, 9) + "unknown row or column \"gp\"; did you mean \"go\"?"},
		"table title reference":    {"```table t\ntitle: ${channels/rat client=go}\n```\n", testTable, md(2, 19) + "unknown metric \"rat\"; did you mean \"rate\"?"},
		"given experiment":         {"```given chanels\ntitle: T\n```\n", "", md(1, 10) + "unknown experiment \"chanels\"; did you mean \"channels\"?"},
		"given parameter":          {"```given channels\ntitle: T\nparameters:\n  message: {name: M}\n```\n", "", md(4, 3) + "unknown parameter \"message\"; did you mean \"messages\"?"},
		"given key":                {"```given channels\ntitle: T\nparameters:\n  messages: {nam: M}\n```\n", "", md(4, 14) + "unknown key \"nam\"; did you mean \"name\"?"},
		"setup key":                {"```setup\ntitle: T\ncomands: x\n```\n", "", md(3, 1) + "unknown key \"comands\"; did you mean \"commands\"?"},
		"setup experiment":         {"```setup\ntitle: T\nexperiment: chanels\n```\n", "", md(3, 13) + "unknown experiment \"chanels\"; did you mean \"channels\"?"},
		"empty setup":              {"```setup\n```\n", "", md(1, 1) + "there is nothing in it"},
		"callout kind":             {"```callout warnung\nx\n```\n", "", md(1, 12) + "unknown kind of callout \"warnung\"; did you mean \"warning\"?"},
		"callout reference":        {"```callout note\nx\n\ny ${channels/rat client=go}\n```\n", "", md(4, 14) + "unknown metric \"rat\"; did you mean \"rate\"?"},
		"callout heading":          {"```callout note\n## x\n```\n", "", md(2, 1) + "a block can't hold a heading"},
		"callout HTML":             {"```callout note\n<b>x</b>\n```\n", "", md(2, 1) + "HTML is not passed on"},
		"demo id":                  {"```demo e\ntitle: T\n```\n" + demoBody, testDemo, md(1, 9) + "unknown demonstration \"e\"; did you mean \"d\"?"},
		"demo kind":                {demoBody, strings.Replace(testDemo, "kind: queue", "kind: quee", 1), yaml(8, 11) + "unknown kind of object \"quee\"; did you mean \"queue\"?"},
		"demo key":                 {demoBody, strings.Replace(testDemo, "kind: queue", "kin: queue", 1), yaml(8, 11) + "unknown key \"kin\"; did you mean \"kind\"?"},
		"demo place":               {demoBody, strings.Replace(testDemo, "at: [2, 1]", "at: [2, 0]", 1), yaml(8, 24) + "at is [column, row]"},
		"demo link":                {demoBody, strings.Replace(testDemo, "from: app", "from: apps", 1), yaml(10, 13) + "unknown object \"apps\"; did you mean \"app\"?"},
		"demo state":               {demoBody, strings.Replace(testDemo, "active: [app]", "active: [ap]", 1), yaml(13, 18) + "unknown object or link \"ap\"; did you mean \"app\"?"},
		"demo message":             {demoBody, strings.Replace(testDemo, "messages: {pub", "messages: {pubs", 1), yaml(16, 20) + "unknown link \"pubs\"; did you mean \"pub\"?"},
		"demo label reference":     {demoBody, strings.Replace(testDemo, "channels/rate", "channels/rat", 1), yaml(17, 33) + "unknown metric \"rat\"; did you mean \"rate\"?"},
		"demo step":                {strings.Replace(demoBody, "  two:", "  tow:", 1), testDemo, md(6, 3) + "unknown step \"tow\"; did you mean \"two\"?"},
		"demo step without words":  {strings.Replace(demoBody, "title: Second, ", "", 1), testDemo, md(6, 3) + "step two needs a title and a caption"},
		"demo object without name": {strings.Replace(demoBody, ", q: Q", "", 1), testDemo, md(3, 1) + "object q has no name"},
		"demo name":                {strings.Replace(demoBody, "q: Q", "q: Q, ap: A", 1), testDemo, md(3, 25) + "unknown object \"ap\"; did you mean \"app\"?"},
		"demo caption reference":   {strings.Replace(demoBody, "given/7", "channels/rat client=go", 1), testDemo, md(5, 53) + "unknown metric \"rat\"; did you mean \"rate\"?"},
		"demo yaml":                {strings.Replace(demoBody, "title: T", "title: [T", 1), testDemo, "en/a.md:"},
	} {
		_, err := page(t, testData(), testContent("en", testHead, c.body, c.declared))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", name, err, c.want)
		}
	}
}

// What is wrong in one block does not hide what is wrong in another.
func TestBlocksAllTold(t *testing.T) {
	_, err := page(t, testData(), testContent("en", testHead, "```table t\ntitel: T\n```\n\n```callout nte\nx\n```\n\n"+strings.Replace(demoBody, "  two:", "  tow:", 1), testTable+testDemo))
	for _, want := range []string{`"titel"`, `"nte"`, `"tow"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not in %v", want, err)
		}
	}
}
