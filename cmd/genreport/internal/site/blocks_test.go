package site

import (
	"context"
	"fmt"
	"html"
	"html/template"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"genreport/cmd/genreport/internal/article"
	"genreport/cmd/genreport/internal/diagram"
)

// pathsDemo has two lanes: a request that is answered by the database, and one
// that is answered when a queue has it.
func pathsDemo(lang string) *article.Demo {
	box := func(id, kind string, name string, column, row int) diagram.Box {
		at := diagram.Cell{Column: column, Row: row}
		return diagram.Box{ID: id, Kind: kind, Name: name, At: at, To: at}
	}
	lane := func(id, name string, row int) diagram.Box {
		return diagram.Box{ID: id, Kind: diagram.Group, Name: name, At: diagram.Cell{Column: 1, Row: row}, To: diagram.Cell{Column: 5, Row: row}}
	}
	client, database := say(lang, "客户端", "Client"), say(lang, "数据库", "Database")
	d := &article.Demo{ID: "demo-paths", Title: template.HTML(say(lang, "两条路", "Two paths"))}
	d.Diagram = diagram.Diagram{ID: d.ID, Words: map[diagram.State]string{diagram.Idle: "idle", diagram.Active: "active", diagram.Blocked: say(lang, "受阻", "blocked"), diagram.Closed: "closed"},
		Boxes: []diagram.Box{lane("sync", say(lang, "同步", "At once"), 1), lane("async", say(lang, "异步", "Later"), 2),
			box("c1", "client", client, 1, 1), box("a1", "server", "API", 2, 1), box("d1", "database", database, 5, 1),
			box("c2", "client", client, 1, 2), box("a2", "server", "API", 2, 2), box("q", "queue", say(lang, "队列", "Queue"), 3, 2),
			box("w", "consumer", say(lang, "消费者", "Consumer"), 4, 2), box("d2", "database", database, 5, 2)},
		Links: []diagram.Link{{ID: "r1", From: "c1", To: "a1"}, {ID: "o1", From: "a1", To: "c1"}, {ID: "s1", From: "a1", To: "d1"}, {ID: "t1", From: "d1", To: "a1"},
			{ID: "r2", From: "c2", To: "a2"}, {ID: "o2", From: "a2", To: "c2"}, {ID: "p2", From: "a2", To: "q"}, {ID: "k2", From: "q", To: "a2"},
			{ID: "g2", From: "q", To: "w"}, {ID: "s2", From: "w", To: "d2"}}}
	for i, looks := range []map[string]diagram.Look{
		{"c1": {State: diagram.Active}, "r1": {State: diagram.Active, Label: "POST", Messages: []string{""}}, "c2": {State: diagram.Active}, "r2": {State: diagram.Active, Label: "POST", Messages: []string{""}}},
		{"a1": {State: diagram.Blocked}, "s1": {State: diagram.Active, Label: "INSERT", Messages: []string{"1"}}, "p2": {State: diagram.Active, Label: "publish", Messages: []string{"1"}}},
		{"o1": {State: diagram.Active, Label: "201"}, "o2": {State: diagram.Active, Label: "202"}, "w": {State: diagram.Active}, "s2": {State: diagram.Active, Messages: []string{"1"}}},
	} {
		title := fmt.Sprintf(say(lang, "第 %d 步", "Act %d"), i+1)
		d.Steps = append(d.Steps, article.DemoStep{ID: fmt.Sprintf("demo-paths-%d", i+1), Title: template.HTML(title),
			Caption: template.HTML("<p>" + say(lang, "说明", "Caption") + fmt.Sprint(" ", i+1, "</p>"))})
		d.Diagram.Steps = append(d.Diagram.Steps, diagram.Step{Title: title, Description: title, Looks: looks})
	}
	return d
}

func blocksOf(lang string) []article.Block {
	return []article.Block{
		{Grid: &article.Grid{ID: "t-x", Title: "Rates", Unit: "/s", Corner: "case", Head: []string{"a", "b"}, Caption: "<p>Medians.</p>",
			Rows: []article.GridRow{{Name: "one", Cells: []template.HTML{"1", `<span class="missing">not measured (no reason)</span>`}}}}},
		{Given: &article.Given{Title: "Set", Rows: []article.GivenRow{{Key: "before_s", Name: "Before", Value: "60 s", Text: "time"}, {Key: "messages", Name: "Messages", Value: "1,000, 10,000, 100,000", Text: "of each broker"}}, Data: sampleLink("channel-limit")}},
		{Setup: &article.Setup{Title: "How", Text: "<p>Text.</p>", Config: "a = 1", Commands: "ls"}},
		{Callout: &article.Callout{Kind: "warning", Text: "<p>Mind.</p>"}},
		{Callout: &article.Callout{Kind: "note", Title: "By the way", Text: "<p>Note.</p>"}},
		{Demo: pathsDemo(lang)},
	}
}

func withBlocks(in Input) Input {
	for i := range in.Pages {
		in.Pages[i].Blocks = append(in.Pages[i].Blocks, blocksOf(in.Pages[i].Lang)...)
	}
	return in
}

func TestBlocks(t *testing.T) {
	in := withBlocks(sampleInput(plainCharts{}))
	in.Pages = append(in.Pages, sampleAside("zh"), sampleAside("en"))
	files := build(t, in)
	inspect(t, files, "")
	page := string(files["en/channels-and-connections.html"])
	for _, want := range []string{`<span class="label">Table 1</span> Rates <span class="unit">/s</span>`, `<th scope="row">one</th><td>1</td><td><span class="missing">`,
		`<th scope="row">Before <code>before_s</code></th><td>60 s</td><td>time</td>`, `<details class="setup">`, `<pre><code>a = 1</code></pre>`,
		`<aside class="callout warning" aria-label="Warning">`, `By the way`, `<section class="demo" id="demo-paths"`, `<li id="demo-paths-3">`} {
		if !strings.Contains(page, want) {
			t.Errorf("the article has no %s", want)
		}
	}
	script := regexp.MustCompile(`<script src="\.\./assets/demo\.[0-9a-f]{10}\.js" defer></script>`)
	for name, content := range files {
		if want := strings.HasSuffix(name, "channels-and-connections.html"); strings.HasSuffix(name, ".html") && script.Match(content) != want {
			t.Errorf("%s has the script: %v", name, !want)
		}
	}
	if !strings.Contains(string(files["zh/channels-and-connections.html"]), "表 1") {
		t.Error("the Chinese table has no number")
	}
	for name := range build(t, sampleInput(plainCharts{})) {
		if strings.HasPrefix(name, "assets/demo.") {
			t.Errorf("%s is there though no page has a demonstration", name)
		}
	}
}

func TestHostileBlocks(t *testing.T) {
	in := withBlocks(sampleInput(plainCharts{}))
	safe := template.HTML(template.HTMLEscapeString(hostile))
	for i := range in.Pages {
		for _, b := range in.Pages[i].Blocks {
			switch {
			case b.Grid != nil:
				b.Grid.Corner, b.Grid.Unit, b.Grid.Head, b.Grid.Title = hostile, hostile, []string{hostile, hostile}, safe
				b.Grid.Rows[0].Name, b.Grid.Rows[0].Unit = hostile, hostile
			case b.Given != nil:
				b.Given.Rows[0].Key = hostile
			case b.Setup != nil:
				b.Setup.Config, b.Setup.Commands = hostile, hostile
			case b.Demo != nil:
				d := &b.Demo.Diagram
				d.Boxes[3].Name = hostile
				d.Steps[0].Title, d.Steps[0].Description = hostile, hostile
				d.Steps[0].Looks["r1"] = diagram.Look{State: diagram.Active, Label: hostile, Messages: []string{hostile}}
				d.Words[diagram.Blocked] = hostile
			}
		}
	}
	files := build(t, in)
	inspect(t, files, "")
	script := regexp.MustCompile(`<script src="[^"<>]*"( defer)?></script>|<script type="application/ld\+json">[^<]*</script>`)
	for _, name := range []string{"en/channels-and-connections.html", "zh/channels-and-connections.html"} {
		page := script.ReplaceAllString(string(files[name]), "")
		if lower := strings.ToLower(page); strings.Contains(lower, "</script") || strings.Contains(lower, "<img") || strings.Contains(lower, "<!--") {
			t.Errorf("%s has a hostile string as markup", name)
		}
		if n := strings.Count(html.UnescapeString(page), hostile); n < 15 {
			t.Errorf("%s shows the hostile string %d times", name, n)
		}
	}
}

// scripts turns them off or on for what is loaded next.
func scripts(t *testing.T, ctx context.Context, on bool, features ...*emulation.MediaFeature) {
	t.Helper()
	err := chromedp.Do(ctx, chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		if _, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on}); err != nil {
			return err
		}
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})
		return err
	}))
	if err != nil {
		t.Fatal(err)
	}
}

func TestDemoInBrowser(t *testing.T) {
	ctx := browser(t)
	files, err := Build(withBlocks(sampleInput(realCharts(t))))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "public")
	if err := Write(dir, files); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'")
		http.ServeFile(w, r, filepath.Join(dir, filepath.FromSlash(r.URL.Path)))
	}))
	t.Cleanup(server.Close)
	var c troubles
	watch(t, ctx, &c)
	const (
		shown   = `[...document.querySelectorAll(".steps > li")].filter(e => e.checkVisibility({visibilityProperty: true})).map(e => e.id).join(" ")`
		drawn   = `[...document.querySelectorAll(".demo svg")].filter(e => e.checkVisibility({visibilityProperty: true})).length`
		inView  = `(() => { const r = document.querySelector(".demo").getBoundingClientRect(); return r.top < innerHeight && r.bottom > 0 })()`
		current = `[...document.querySelectorAll(".dot")].findIndex(e => e.getAttribute("aria-current") === "step")`
	)
	// "about:blank" between, since an address that differs in its fragment only is not loaded anew.
	open := func(address string) {
		t.Helper()
		if err := chromedp.Do(ctx, chromedp.Navigate("about:blank"), chromedp.Navigate(address)); err != nil {
			t.Fatal(err)
		}
	}
	is := func(what, want string) {
		t.Helper()
		// Hash changes and key presses take effect a moment later.
		got := ""
		for range 20 {
			if got = value[string](t, ctx, shown); got == want {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		t.Errorf("%s: shown is %q, want %q", what, got, want)
	}
	for _, root := range []string{"file://" + dir + "/", server.URL + "/"} {
		for _, lang := range []string{"zh", "en"} {
			address := root + lang + "/channels-and-connections.html"
			for _, width := range []int64{360, 1280} {
				if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, 800)); err != nil {
					t.Fatal(err)
				}
				scripts(t, ctx, false)
				open(address + "#demo-paths-3")
				is("without scripts", "demo-paths-1 demo-paths-2 demo-paths-3")
				if got := value[string](t, ctx, `document.querySelector(":target").id + " " + (document.querySelector(":target").getBoundingClientRect().top < innerHeight) + " " + document.querySelectorAll(".demo button").length`); got != "demo-paths-3 true 0" {
					t.Errorf("without scripts the target is %s", got)
				}
				if n := value[int64](t, ctx, drawn); n != 3 {
					t.Errorf("without scripts %d pictures are shown", n)
				}
				scripts(t, ctx, true)
				open(address)
				is("at first", "demo-paths-1")
				if n := value[int64](t, ctx, drawn); n != 1 {
					t.Errorf("%d pictures are shown", n)
				}
				if w := value[int64](t, ctx, `document.documentElement.scrollWidth`); w > width {
					t.Errorf("%s is %d px wide in a window of %d", address, w, width)
				}
			}
			// The narrowest window and the widest text of the accessibility guidelines (WCAG 2.2, 1.4.10 and 1.4.12).
			if err := chromedp.Do(ctx, chromedp.EmulateViewport(320, 800)); err != nil {
				t.Fatal(err)
			}
			open(address)
			value[bool](t, ctx, `document.querySelectorAll("details").forEach(d => d.open = true), document.querySelectorAll("body *").forEach(e => {
				e.style.letterSpacing = ".12em"; e.style.wordSpacing = ".16em"; e.style.lineHeight = "1.5" }), true`)
			if w := value[int64](t, ctx, `document.documentElement.scrollWidth`); w > 320 {
				t.Errorf("%s with its text spaced out is %d px wide in a window of 320:\n%s", address, w,
					value[string](t, ctx, `[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > 321 && !e.parentElement.closest(".scroll")).slice(0, 5).map(e => e.outerHTML.slice(0, 80)).join("\n")`))
			}
			if err := chromedp.Do(ctx, chromedp.EmulateViewport(1280, 800)); err != nil {
				t.Fatal(err)
			}
			open(address)
			click := func(selector string) {
				t.Helper()
				if err := chromedp.Do(ctx, chromedp.Click(chromedp.CSS(selector))); err != nil {
					t.Fatal(err)
				}
			}
			click(".controls .on")
			is("after next", "demo-paths-2")
			if got := value[string](t, ctx, `location.hash + " " + document.querySelector(".demo > [aria-live]").textContent`); got != "#demo-paths-2 "+say(lang, "第 2 步\uff0c共 3 步\uff1a第 2 步。 说明 2", "Step 2 of 3: Act 2. Caption 2") {
				t.Errorf("said is %q", got)
			}
			click(".controls .on")
			click(".controls .on") // there is none after the last
			is("at the end", "demo-paths-3")
			click(".controls .back")
			is("after previous", "demo-paths-2")
			click(".dot:nth-child(1)")
			is("after a dot", "demo-paths-1")
			if n := value[int64](t, ctx, current); n != 0 {
				t.Errorf("dot %d is the current one", n)
			}
			for _, k := range []struct{ key, want string }{{"ArrowRight", "demo-paths-2"}, {"ArrowLeft", "demo-paths-1"}, {"End", "demo-paths-3"}, {"ArrowRight", "demo-paths-3"}, {"Home", "demo-paths-1"}} {
				value[bool](t, ctx, `document.querySelector(".steps").focus(), document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key: "`+k.key+`", bubbles: true, cancelable: true})), true`)
				is("after "+k.key, k.want)
			}
			// Keys elsewhere are none of its business.
			value[bool](t, ctx, `document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "End", bubbles: true})), true`)
			is("after a key elsewhere", "demo-paths-1")
			open(address + "#demo-paths-3")
			is("after opening a step's address", "demo-paths-3")
			if !value[bool](t, ctx, inView) {
				t.Error("the step of the address is out of sight")
			}
			named := func(what string) {
				t.Helper()
				time.Sleep(300 * time.Millisecond) // browsers go to an address's place a moment after the page is there
				if top := value[float64](t, ctx, `document.querySelector(".demo-title").getBoundingClientRect().top`); top < 0 || top > 400 {
					t.Errorf("%s: the demonstration's name is at %g px", what, top)
				}
			}
			named("after opening a step's address")
			// Its step is kept in the other language.
			value[bool](t, ctx, `document.querySelector(".languages a").click(), true`)
			named("in the other language")
			if got, want := value[string](t, ctx, `location.pathname.split("/").at(-2) + location.hash`), say(lang, "en", "zh")+"#demo-paths-3"; got != want {
				t.Errorf("the other language is opened at %s, want %s", got, want)
			}
			is("in the other language", "demo-paths-3")
			open(address + "#demo-paths-3")
			is("back again", "demo-paths-3")
			value[bool](t, ctx, `location.hash = "demo-paths-2", true`)
			is("after the address changed", "demo-paths-2")
			value[bool](t, ctx, `location.hash = "%E0%A4%A", true`)
			is("after an address that is none", "demo-paths-2")

			const moving = `getComputedStyle(document.querySelector("li.current")).animationName`
			if got := value[string](t, ctx, moving); got != "step-in" {
				t.Errorf("the step comes with the animation %q", got)
			}
			scripts(t, ctx, true, &emulation.MediaFeature{Name: "prefers-reduced-motion", Value: "reduce"})
			open(address)
			if got := value[string](t, ctx, moving); got != "none" {
				t.Errorf("with reduced motion the step comes with the animation %q", got)
			}
			for _, s := range c.take() {
				t.Errorf("%s: %s", address, s)
			}
		}
	}
	if *look != "" {
		screenshots(t, ctx, dir)
	}
}
