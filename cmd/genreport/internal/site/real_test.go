package site

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// strictPolicy is the one that the README gives, with what pages have no use for taken away too.
const strictPolicy = "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// repository is its root.
func repository(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", "..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// realSite is the site of the committed content and results, made by the program itself.
type realSite struct {
	dir     string   // with its files
	address string   // at which they are served, below a path and with strictPolicy; ends with a slash
	pages   []string // paths of all pages
	browser context.Context
}

// articles are the paths of the articles in both languages.
func (r realSite) articles() []string {
	return slices.DeleteFunc(slices.Clone(r.pages), func(name string) bool {
		dir, file := filepath.Split(name)
		return dir != "zh/" && dir != "en/" || slices.Contains([]string{"index.html", "guide.html", "method.html"}, file)
	})
}

// tab opens one in the browser and watches it.
func (r realSite) tab(t *testing.T, c *troubles) context.Context {
	t.Helper()
	ctx, cancel := chromedp.NewContext(r.browser)
	t.Cleanup(cancel)
	watch(t, ctx, c)
	focused(t, ctx)
	return ctx
}

// renderReal renders the committed content into a directory.
func renderReal(t *testing.T, args ...string) string {
	t.Helper()
	root := repository(t)
	program, dir := filepath.Join(t.TempDir(), "genreport"), filepath.Join(t.TempDir(), "public")
	for _, command := range [][]string{
		{"go", "build", "-o", program, "./cmd/genreport"},
		append([]string{program, "render", "--out", dir}, args...),
	} {
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, out)
		}
	}
	return dir
}

func pagesIn(t *testing.T, dir string) []string {
	t.Helper()
	var pages []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, ".html") {
			pages = append(pages, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// TestRealSite reads the site of the committed content as readers do, in one browser.
func TestRealSite(t *testing.T) {
	r := realSite{browser: browser(t), dir: renderReal(t)}
	r.pages = pagesIn(t, r.dir)
	if n := len(r.articles()); n < 6 || len(r.pages) < n+10 {
		t.Fatalf("%d articles among the pages %q", n, r.pages)
	}
	server := httptest.NewServer(http.StripPrefix("/repo/sub/", http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Security-Policy", strictPolicy)
		http.ServeFile(w, q, filepath.Join(r.dir, filepath.FromSlash(q.URL.Path)))
	})))
	t.Cleanup(server.Close)
	r.address = server.URL + "/repo/sub/"
	do(t, r.browser)

	t.Run("quiet and fitting", r.quiet)
	t.Run("without scripts", r.withoutScripts)
	t.Run("charts", r.charts)
	t.Run("demonstrations", r.demonstrations)
	t.Run("reading", r.reading)
	t.Run("keyboard", r.keyboard)
	t.Run("accessible", r.accessible)
	t.Run("paper", r.paper)
}

// TestRealLinks follows every link of the committed content's site that stays within it, in pages of articles, lists and runs, in
// feeds and in the site map, relative and absolute. (Earlier articles are in TestHostileEverywhere.)
func TestRealLinks(t *testing.T) {
	if testing.Short() {
		t.Skip("renders all pages")
	}
	for _, base := range []string{"", "https://example.org/sub/"} {
		var args []string
		if base != "" {
			args = []string{"--base-url", base}
		}
		dir := renderReal(t, args...)
		files := map[string][]byte{}
		kinds := map[string]int{}
		err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			files[name], err = os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
			kinds[strings.TrimPrefix(strings.TrimPrefix(name, "zh/"), "en/")]++
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []string{"index.html", "404.html", "feed.xml", "runs/index.html", "data/run.schema.json", "method.html", "guide.html"} {
			if kinds[kind] == 0 {
				t.Errorf("there is no %s: %v", kind, kinds)
			}
		}
		if _, there := files["sitemap.xml"]; there != (base != "") {
			t.Errorf("with base %q a site map is there: %v", base, there)
		}
		for _, b := range brokenAnywhere(t, files, base) {
			t.Errorf("base %q: %s", base, b)
		}
	}
}

// clipped are visible texts that are cut, or stand outside of the window and of what scrolls. Blanks at the end of a
// preformatted line hang out of it.
const clipped = `(() => {
	const found = [];
	const scrolls = (e) => { for (; e && e !== document.body; e = e.parentElement) if (/auto|scroll/.test(getComputedStyle(e).overflowX)) return true; return false; };
	for (const e of document.querySelectorAll("body *")) {
		if (e.closest("svg, .unseen, .skip") || e.matches("pre code") || !e.checkVisibility({visibilityProperty: true})) continue;
		const s = getComputedStyle(e);
		if (/hidden|clip/.test(s.overflowX + s.overflowY) && (e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1) && e.textContent.trim()) found.push("cut: " + e.outerHTML.slice(0, 100));
		const r = e.getBoundingClientRect();
		if (r.width && (r.right > innerWidth + 1 || r.left < -1) && !scrolls(e)) found.push("outside: " + e.outerHTML.slice(0, 100));
	}
	for (const text of document.querySelectorAll("figure svg text, .demo svg text")) {
		if (!text.checkVisibility({visibilityProperty: true}) || !text.textContent.trim()) continue;
		const r = text.getBoundingClientRect(), box = text.ownerSVGElement.getBoundingClientRect();
		if (r.left < box.left - 2 || r.right > box.right + 2 || r.top < box.top - 2 || r.bottom > box.bottom + 2)
			found.push("outside its picture: " + text.textContent + " in " + (text.closest("[id]") || {}).id + " " + [r.left - box.left, box.right - r.right, r.top - box.top, box.bottom - r.bottom].map(Math.round));
	}
	return found.slice(0, 6);
})()`

// quiet: no page asks for anything that isn't there or elsewhere, none complains, and each fits every window.
func (r realSite) quiet(t *testing.T) {
	var c troubles
	ctx := r.tab(t, &c)
	for _, root := range []string{r.address, "file://" + r.dir + "/"} {
		for _, name := range r.pages {
			do(t, ctx, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(root+name))
			if sheets := value[int64](t, ctx, `[...document.styleSheets].filter(s => s.ownerNode.sheet).length`); sheets != 1 {
				t.Errorf("%s has %d style sheets in effect", root+name, sheets)
			}
			if !value[bool](t, ctx, `"js" in document.documentElement.dataset`) {
				t.Errorf("%s: its script does not run", root+name)
			}
			if strings.HasPrefix(root, "file:") {
				// The charts come alive from files too.
				if value[bool](t, ctx, `(() => { const s = document.querySelector("figure[data-option] > .wide"); if (s) s.focus(); return !!s })()`) {
					until(t, ctx, `!!document.querySelector("figure[data-option] > .wide.alive")`)
				}
			}
			value[bool](t, ctx, `document.querySelectorAll("details").forEach(d => d.open = true), true`)
			for _, width := range []int64{320, 390, 768, 1440} {
				if strings.HasPrefix(root, "file:") {
					continue // the same pages
				}
				do(t, ctx, chromedp.EmulateViewport(width, 800))
				if w := value[int64](t, ctx, `document.documentElement.scrollWidth`); w > width {
					t.Errorf("%s is %d px wide in a window of %d", name, w, width)
				}
				for _, s := range value[[]string](t, ctx, clipped) {
					t.Errorf("%s at %d px: %s", name, width, s)
				}
			}
			for _, s := range c.take() {
				t.Errorf("%s: %s", root+name, s)
			}
		}
	}
}

// unreadable are the texts of a page that can't be seen with everything unfolded, apart from what is meant for ears and
// from the other of a picture's two sizes.
const unreadable = `(() => {
	const found = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	let seen = 0;
	while (walk.nextNode()) {
		const node = walk.currentNode, e = node.parentElement;
		if (!node.data.trim() || e.closest("script, .unseen, .skip, svg > title, svg > desc, svg title, svg desc, button")) continue;
		if (e.closest("svg")) {
			const other = e.closest(".wide, .narrow");
			if (other && !other.checkVisibility()) continue;
		}
		const range = document.createRange();
		range.selectNodeContents(node);
		const r = range.getBoundingClientRect();
		if (!e.checkVisibility({visibilityProperty: true, opacityProperty: true}) || !r.width || !r.height) found.push(node.data.trim().slice(0, 60) + " in " + e.outerHTML.slice(0, 60));
		else seen++;
	}
	return seen < 20 ? ["only " + seen + " texts"] : found.slice(0, 6);
})()`

// withoutScripts: all of it is there.
func (r realSite) withoutScripts(t *testing.T) {
	var c troubles
	ctx := r.tab(t, &c)
	scripts(t, ctx, false)
	for _, name := range r.pages {
		article := slices.Contains(r.articles(), name)
		for _, width := range []int64{390, 1280} {
			do(t, ctx, chromedp.EmulateViewport(width, 900), chromedp.Navigate(r.address+name))
			if value[bool](t, ctx, `"js" in document.documentElement.dataset`) {
				t.Fatal("scripts run: this test sees nothing")
			}
			if article && width == 1280 {
				// Folded parts open without scripts.
				for _, what := range []string{".chart details", ".experiment"} {
					do(t, ctx, chromedp.Click(chromedp.CSS(what+" > summary")))
					if !value[bool](t, ctx, fmt.Sprintf(`(() => { const e = document.querySelector("%s > :not(summary)"); return e.checkVisibility() && e.getBoundingClientRect().height > 40 })()`, what)) {
						t.Errorf("%s: a click does not open %s", name, what)
					}
				}
			}
			value[bool](t, ctx, `document.querySelectorAll("details").forEach(d => d.open = true), true`)
			for _, s := range value[[]string](t, ctx, unreadable) {
				t.Errorf("%s at %d px: not to be read: %s", name, width, s)
			}
			if n := value[int64](t, ctx, `[...document.querySelectorAll("button, .live")].filter(e => e.checkVisibility()).length`); n != 0 {
				t.Errorf("%s shows %d things that do nothing", name, n)
			}
			if !article {
				continue
			}
			// Every figure has its picture, described, and its numbers; every demonstration all its steps.
			bad := value[[]string](t, ctx, `[...document.querySelectorAll("figure.chart")].filter(f => {
				const shown = [...f.querySelectorAll("svg")].filter(s => s.checkVisibility() && s.getBoundingClientRect().height > 150);
				return shown.length !== 1 || shown[0].querySelectorAll("path").length < 3 || shown[0].querySelectorAll("text").length < 4 || !shown[0].querySelector("title, desc")
					|| !f.querySelector("table.data td") || !f.querySelector("a[download$='.csv']") || !f.querySelector("a[download$='.json']") || !f.querySelector("a.label[href='#" + f.id + "']");
			}).map(f => f.id).concat([...document.querySelectorAll(".demo .steps > li")].filter(s => [...s.querySelectorAll(".wide svg, .narrow svg")].filter(p => p.checkVisibility({visibilityProperty: true})).length !== 1 || s.querySelector(".step-caption").getBoundingClientRect().height < 10
				|| [...s.querySelectorAll(".recorded svg")].some(p => !p.checkVisibility({visibilityProperty: true}) || p.getBoundingClientRect().height < 40 || !p.querySelector("title, desc"))).map(s => s.id))`)
			counts := value[[]int64](t, ctx, `[document.querySelectorAll("figure.chart").length, document.querySelectorAll(".demo .steps > li").length, document.querySelectorAll("figure.output").length]`)
			if len(bad) > 0 || counts[0] < 3 || counts[1] < 3 || counts[2] < 3 {
				t.Errorf("%s at %d px: incomplete are %q of %v figures, steps and outputs", name, width, bad, counts)
			}
		}
		if !article {
			continue
		}
		// Plain links: to the samples behind a number, and to the other language.
		to := value[string](t, ctx, `document.querySelectorAll("details").forEach(d => d.open = false), document.querySelector(".prose a.n").hash`)
		do(t, ctx, chromedp.Click(chromedp.CSS(`.prose a.n`)), chromedp.Sleep(200*time.Millisecond))
		if got := value[string](t, ctx, `(() => { const e = document.querySelector(":target"); if (!e) return "no target"; const r = e.getBoundingClientRect(); return "#" + e.id + " " + (e.checkVisibility() && r.height > 50 && r.top >= 0 && r.top < innerHeight) })()`); got != to+" true" {
			t.Errorf("%s: a click on a number that leads to %s ends at %s", name, to, got)
		}
		do(t, ctx, chromedp.Navigate(r.address+name), chromedp.Click(chromedp.CSS(`.languages a`)))
		until(t, ctx, fmt.Sprintf(`location.href !== %q && document.readyState === "complete"`, r.address+name))
		if got := value[string](t, ctx, `location.href + " " + document.documentElement.lang`); got != r.address+otherLanguage(name)+" "+map[bool]string{true: "en", false: "zh-Hans"}[strings.HasPrefix(name, "zh/")] {
			t.Errorf("%s: the language switch leads to %s", name, got)
		}
	}
	for _, s := range c.take() {
		// Chromium says of scripts that are off that they are.
		if !strings.Contains(s, "Blocked script execution") {
			t.Error(s)
		}
	}
}

func otherLanguage(name string) string {
	if rest, ok := strings.CutPrefix(name, "zh/"); ok {
		return "en/" + rest
	}
	return "zh/" + strings.TrimPrefix(name, "en/")
}

// demonstrations go step by step: with buttons, keys and addresses.
func (r realSite) demonstrations(t *testing.T) {
	var c troubles
	ctx := r.tab(t, &c)
	do(t, ctx, chromedp.EmulateViewport(1280, 900))
	const shown = `[...document.querySelectorAll(".demo .steps > li")].map((e, i) => e.checkVisibility({visibilityProperty: true}) ? i : "").join("")`
	for _, name := range r.articles() {
		scripts(t, ctx, true)
		do(t, ctx, chromedp.Navigate(r.address+name))
		ids := value[[]string](t, ctx, `[...document.querySelectorAll(".demo .steps > li")].map(e => e.id)`)
		is := func(what string, want int) {
			t.Helper()
			if got := value[string](t, ctx, shown); got != fmt.Sprint(want) {
				t.Errorf("%s: %s shows the steps %q, want %d", name, what, got, want)
			}
		}
		is("at first", 0)
		do(t, ctx, chromedp.Click(chromedp.CSS(".controls .on")))
		is("next", 1)
		if got := value[string](t, ctx, `decodeURIComponent(location.hash.slice(1))`); got != ids[1] {
			t.Errorf("%s: after a step the address is that of %q", name, got)
		}
		do(t, ctx, chromedp.Click(chromedp.CSS(".controls .back")))
		is("back", 0)
		value[bool](t, ctx, `document.querySelector(".steps").focus(), true`)
		press(t, ctx, "ArrowRight", 2)
		is("two arrows", 2)
		press(t, ctx, "End", 1)
		is("End", len(ids)-1)
		do(t, ctx, chromedp.Navigate("about:blank"), chromedp.Navigate(r.address+name+"#"+url.PathEscape(ids[2])))
		is("the address of a step", 2)
		if !value[bool](t, ctx, `(() => { const r = document.querySelector(".demo").getBoundingClientRect(); return r.top < innerHeight && r.bottom > 0 })()`) {
			t.Errorf("%s: the step of the address is out of sight", name)
		}
		const moving = `getComputedStyle(document.querySelector("li.current")).animationName`
		if got := value[string](t, ctx, moving); got != "step-in" {
			t.Errorf("%s: the step comes with the animation %q", name, got)
		}
		scripts(t, ctx, true, &emulation.MediaFeature{Name: "prefers-reduced-motion", Value: "reduce"})
		if got := value[string](t, ctx, moving); got != "none" {
			t.Errorf("%s: with reduced motion the step comes with the animation %q", name, got)
		}
		for _, s := range c.take() {
			t.Errorf("%s: %s", name, s)
		}
	}
}

// keyOf are the codes that a key is sent with.
func keyOf(key string) input.DispatchKeyEventParams {
	codes := map[string]int64{"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowRight": 39}
	p := input.DispatchKeyEventParams{Key: key, Code: key, WindowsVirtualKeyCode: codes[key]}
	switch key {
	case "Enter":
		p.Text = "\r"
	case " ":
		p.Text, p.Code = " ", "Space"
	}
	return p
}

// press presses a key, as a keyboard does.
func press(t *testing.T, ctx context.Context, key string, times int) {
	t.Helper()
	do(t, ctx, chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		for range times {
			p := keyOf(key)
			p.Type = input.DispatchKeyEventTypeRawKeyDown
			if p.Text != "" {
				p.Type = input.DispatchKeyEventTypeKeyDown
			}
			if _, err := chromedp.Call(ctx, input.DispatchKeyEvent, p); err != nil {
				return err
			}
			p.Type, p.Text = input.DispatchKeyEventTypeKeyUp, ""
			if _, err := chromedp.Call(ctx, input.DispatchKeyEvent, p); err != nil {
				return err
			}
		}
		return nil
	}))
}

// paper: a PDF of each article has all of it, and no figure is cut.
func (r realSite) paper(t *testing.T) {
	var c troubles
	ctx := r.tab(t, &c)
	sheet := regexp.MustCompile(`/Type\s*/Page\b`)
	for _, name := range r.articles() {
		do(t, ctx, chromedp.EmulateViewport(1280, 900), chromedp.Navigate(r.address+name))
		pdf, err := chromedp.Run(ctx, chromedp.PrintToPDF(chromedp.PDFPaper(chromedp.PaperA4)))
		if err != nil {
			t.Fatal(err)
		}
		if n := len(sheet.FindAll(pdf, -1)); !bytes.HasPrefix(pdf, []byte("%PDF-")) || n < 5 || n > 60 || len(pdf) < 100_000 {
			t.Errorf("%s: a PDF of %d bytes and %d pages", name, len(pdf), n)
		}
		// As wide as the text on A4, at 96 dots an inch: 210 mm - 2 · 17 mm; a page has 297 mm - 2 · 18 mm.
		do(t, ctx, chromedp.EmulateViewport(665, 900), chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
			_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
			return err
		}))
		for _, s := range value[[]string](t, ctx, `(() => {
			const found = [], seen = (e) => e && e.checkVisibility({visibilityProperty: true, opacityProperty: true}) && e.getBoundingClientRect().height > 0;
			for (const e of document.querySelectorAll(".chart > .wide, .demo .steps > li, .output")) {
				const r = e.getBoundingClientRect(), unbroken = getComputedStyle(e).breakInside;
				if (!seen(e) || r.height < 20 || r.right > innerWidth + 1) found.push("not whole: " + (e.closest("[id]").id));
				if (unbroken !== "avoid" || r.height > 986) found.push("may be cut: " + (e.closest("[id]").id) + " " + unbroken + " " + r.height);
			}
			if (!seen(document.querySelector(".chart table.data td"))) found.push("the numbers of figures are not there");
			if (!seen(document.querySelector(".case .metrics dd"))) found.push("the samples are not there");
			if (!seen(document.querySelector(".run dd"))) found.push("what was measured on is not there");
			for (const e of document.querySelectorAll("button, .languages, .take, .narrow:not(.demo .narrow)")) if (seen(e)) found.push("of no use on paper: " + e.outerHTML.slice(0, 60));
			if (document.documentElement.scrollWidth > innerWidth) found.push("wider than the paper: " + document.documentElement.scrollWidth);
			return found.slice(0, 8);
		})()`) {
			t.Errorf("%s: %s", name, s)
		}
		scripts(t, ctx, true)
	}
	for _, s := range c.take() {
		t.Error(s)
	}
}
