package site

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	permissions "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// later evaluates an expression that is a promise.
func later[T any](t *testing.T, ctx context.Context, expression string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// grid is the file of a figure: the value of each series at each place, in the order in which they are there; nil is missing.
type grid struct {
	x, series []string
	values    map[[2]string]*float64
	timed     bool
}

func readGrid(t *testing.T, file string) grid {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	head := rows[0]
	g := grid{values: map[[2]string]*float64{}, timed: slices.Contains(head, "time (s)")}
	median := slices.IndexFunc(head, func(name string) bool { return strings.Contains(name, " median") })
	for _, row := range rows[1:] {
		x, series, text := row[0], "", ""
		switch {
		case g.timed:
			x, series, text = row[1], row[0], row[2]
		case median == 2:
			series, text = row[1], row[2]
		default:
			text = row[median]
		}
		if !slices.Contains(g.x, x) {
			g.x = append(g.x, x)
		}
		if !slices.Contains(g.series, series) {
			g.series = append(g.series, series)
		}
		var value *float64
		if text != "" {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			value = &v
		} else if row[len(row)-1] == "" {
			t.Errorf("%s: neither a value nor a reason in %q", file, row)
		}
		g.values[[2]string{x, series}] = value
	}
	if g.timed { // lines of different lengths share an axis
		slices.SortStableFunc(g.x, func(a, b string) int {
			x, _ := strconv.ParseFloat(a, 64)
			y, _ := strconv.ParseFloat(b, 64)
			return int(math.Copysign(1, x-y))
		})
	}
	return g
}

var shownNumber = regexp.MustCompile(`^(−?)([0-9,]+)(?:\.([0-9]+))?`)

// shows tells whether a text is a number rounded to what it shows, in units of a scale.
func shows(text string, value *float64, scale float64) bool {
	m := shownNumber.FindStringSubmatch(text)
	if m == nil || value == nil {
		return m == nil && value == nil
	}
	whole := strings.ReplaceAll(m[2], ",", "")
	n, err := strconv.ParseFloat(whole+"."+m[3]+"0", 64)
	if err != nil {
		return false
	}
	if m[1] != "" {
		n = -n
	}
	digit := math.Pow10(-len(m[3])) // that of the last that may be rounded
	if m[3] == "" {
		digit = math.Pow10(len(whole) - len(strings.TrimRight(whole, "0")))
		if n == 0 {
			digit = 1
		}
	}
	return math.Abs(n-*value*scale) <= digit/2*1.0001
}

// said splits what a chart says of a point into the texts of its series.
func said(text string, names []string) []string {
	_, rest, _ := strings.Cut(text, "; ")
	var all []string
	for i, name := range names {
		if name != "" {
			rest = strings.TrimPrefix(rest, name+"  ")
		}
		end := len(rest)
		if i+1 < len(names) {
			if at := strings.Index(rest, "; "+names[i+1]+"  "); at >= 0 {
				end = at
			}
		}
		all = append(all, rest[:end])
		rest = strings.TrimPrefix(rest[end:], "; ")
	}
	return all
}

// charts tell the values of their files, and show less or a part when asked.
func (r realSite) charts(t *testing.T) {
	var c troubles
	ctx := r.tab(t, &c)
	do(t, ctx, chromedp.EmulateViewport(1280, 900))
	zoomed := 0
	for _, name := range r.articles() {
		do(t, ctx, chromedp.Navigate(r.address+name))
		for _, id := range value[[]string](t, ctx, `[...document.querySelectorAll("figure.chart")].map(f => f.id)`) {
			figure := fmt.Sprintf(`document.getElementById(%q)`, id)
			href := value[string](t, ctx, figure+`.querySelector("a[download$='.csv']").getAttribute("href")`)
			g := readGrid(t, filepath.Join(r.dir, filepath.Dir(name), href))
			value[bool](t, ctx, figure+`.querySelector(".wide").focus(), true`)
			until(t, ctx, `!!`+figure+`.querySelector(".wide.alive")`)
			names := value[[]string](t, ctx, fmt.Sprintf(`self.genreportCharts[%q].wide.option.names || []`, id))
			if len(names) == 0 { // taken off by what draws
				names = value[[]string](t, ctx, figure+`.querySelector("thead").textContent.trim() && [...`+figure+`.querySelectorAll("thead th")].slice(1).map(e => e.textContent)`)
			}
			// Point by point; over time the first ones, then each tenth.
			all := later[[]string](t, ctx, `(async () => {
				const stage = `+figure+`.querySelector(".wide"), all = [];
				const press = async (key, shiftKey) => {
					stage.dispatchEvent(new KeyboardEvent("keydown", {key, shiftKey, bubbles: true, cancelable: true}));
					await new Promise(done => setTimeout(done, 5));
					all.push(stage.querySelector("[role=status]").textContent);
				};
				await press("Home");
				for (let i = 1; i < `+fmt.Sprint(len(g.x))+`; i += i < 12 ? 1 : 10) await press("ArrowRight", i >= 12);
				return all;
			})()`)
			var texts [][]string
			var at []int
			for i, n := 0, 0; n < len(all); n++ {
				at, texts = append(at, i), append(texts, said(all[n], names))
				if i+1 < 12 {
					i++
				} else {
					i = min(i+10, len(g.x)-1)
				}
			}
			if len(names) != len(g.series) {
				t.Errorf("%s: %s has the series %q, its file %q", name, id, names, g.series)
				continue
			}
			// One unit for the whole figure: as it is, thousandths, millionths, percent, or KiB, MiB, GiB.
			wrong := ""
			for _, scale := range []float64{1, 1e3, 1e6, 100, 1. / 1024, 1. / 1024 / 1024, 1. / 1024 / 1024 / 1024} {
				bad, numbers := "", 0
				for k, i := range at {
					for s := range names {
						v := g.values[[2]string{g.x[i], g.series[s]}]
						if v != nil {
							numbers++
						}
						if !shows(texts[k][s], v, scale) && bad == "" {
							have := "nothing"
							if v != nil {
								have = fmt.Sprint(*v)
							}
							bad = fmt.Sprintf("at %s %s it says %q (in %q), and its file has %s", g.x[i], g.series[s], texts[k][s], all[k], have)
						}
					}
				}
				if bad == "" && numbers > 2 {
					wrong = ""
					break
				}
				if wrong == "" {
					wrong = bad + " "
				}
			}
			if wrong != "" {
				t.Errorf("%s: %s: %s", name, id, wrong)
			}
			// What is said is also drawn.
			drawn := strings.Join(textsOf(t, ctx, id), "|")
			for s, n := range names {
				want := strings.TrimSpace(n + "  " + texts[len(texts)-1][s])
				if shownNumber.MatchString(texts[len(texts)-1][s]) && !strings.Contains(drawn, want) {
					t.Errorf("%s: %s says %q and draws %q", name, id, want, drawn)
				}
			}
			marks := figure + `.querySelectorAll(".wide .live path").length`
			if len(names) > 1 {
				n := value[int64](t, ctx, marks)
				press(t, ctx, "1", 1)
				until(t, ctx, figure+`.querySelector("[role=status]").textContent === `+jsString(strings.Join(names[1:], ", ")))
				until(t, ctx, fmt.Sprintf(`%s < %d`, marks, n))
				press(t, ctx, "1", 1)
				until(t, ctx, fmt.Sprintf(`%s.querySelector("[role=status]").textContent === %s`, figure, jsString(strings.Join(names, ", "))))
			}
			if g.timed && len(g.x) >= 24 {
				zoomed++
				before := textsOf(t, ctx, id)
				ax, ay := at2(t, ctx, id, 200, 200)
				bx, _ := at2(t, ctx, id, 400, 200)
				do(t, ctx, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, ax, ay), chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, ax, ay, chromedp.ButtonLeft), chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, (ax+bx)/2, ay, chromedp.ButtonLeft),
					chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, bx, ay, chromedp.ButtonLeft), chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, bx, ay, chromedp.ButtonLeft))
				until(t, ctx, `!`+figure+`.querySelector(".whole").hidden`)
				if slices.Equal(before, textsOf(t, ctx, id)) {
					t.Errorf("%s: %s: after dragging over a part the axis is the same", name, id)
				}
				do(t, ctx, chromedp.Click(chromedp.CSS("#"+id+" .whole")))
				until(t, ctx, figure+`.querySelector(".whole").hidden`)
			}
		}
		// The pointer shows what keys do; the legend is there for it too.
		id := value[string](t, ctx, `document.querySelector("figure.chart").id`)
		x, y := at2(t, ctx, id, 360, 200)
		move(t, ctx, x, y)
		move(t, ctx, x+1, y)
		until(t, ctx, fmt.Sprintf(`[...document.querySelectorAll("#%s .wide .live text")].some(e => e.textContent.includes("  "))`, id))
		n := value[int64](t, ctx, fmt.Sprintf(`document.querySelectorAll("#%s .wide .live path").length`, id))
		lx, ly := at2(t, ctx, id, 8, 8)
		do(t, ctx, chromedp.MouseClickXY(lx, ly))
		until(t, ctx, fmt.Sprintf(`document.querySelectorAll("#%s .wide .live path").length < %d`, id, n))
		for _, s := range c.take() {
			t.Errorf("%s: %s", name, s)
		}
	}
	if zoomed < 4 {
		t.Errorf("only %d figures were zoomed", zoomed)
	}
}

// jsString is a string in JavaScript.
func jsString(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// textsOf are those of a live chart, also of one whose id has characters that CSS wants escaped.
func textsOf(t *testing.T, ctx context.Context, id string) []string {
	t.Helper()
	time.Sleep(50 * time.Millisecond)
	return texts(t, ctx, id)
}

// at2 is where a place of a figure's wide drawing is, once the page has stopped moving.
func at2(t *testing.T, ctx context.Context, id string, x, y float64) (float64, float64) {
	t.Helper()
	at(t, ctx, id, x, y)
	return at(t, ctx, id, x, y)
}

// reading: copying, the other language at the same place, and colours.
func (r realSite) reading(t *testing.T) {
	var c troubles
	ctx := r.tab(t, &c)
	origin, err := url.Parse(r.address)
	if err != nil {
		t.Fatal(err)
	}
	do(t, ctx, chromedp.EmulateViewport(1280, 900), chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		for _, name := range []string{"clipboard-read", "clipboard-write"} {
			if _, err := chromedp.Call(ctx, permissions.SetPermission, permissions.SetPermissionParams{
				Permission: &permissions.PermissionDescriptor{Name: name}, Setting: permissions.PermissionSettingGranted, Origin: "http://" + origin.Host}); err != nil {
				return err
			}
		}
		return nil
	}))
	const light, dark, paper = "rgb(252, 251, 248)", "rgb(21, 24, 28)", `getComputedStyle(document.documentElement).backgroundColor`
	for _, name := range r.articles() {
		do(t, ctx, prefer("light"), chromedp.Navigate(r.address+name))
		value[bool](t, ctx, `document.querySelectorAll("details").forEach(d => d.open = true), true`)
		// Each block has one button, and what is pasted is its text.
		for _, box := range []string{"figure.output", "pre.command", ".setup pre"} {
			without := value[int64](t, ctx, fmt.Sprintf(`[...document.querySelectorAll("%s")].filter(e => e.querySelectorAll("button.copy").length !== 1).length`, box))
			n := value[int64](t, ctx, fmt.Sprintf(`document.querySelectorAll("%s").length`, box))
			if n == 0 {
				if box != ".setup pre" {
					t.Errorf("%s has no %s", name, box)
				}
				continue
			}
			if without > 0 {
				t.Errorf("%s: %d of %d %s have no button for copying", name, without, n, box)
				continue
			}
			// The words of the block, one after another, apart from the button's and from what is for ears.
			words := value[string](t, ctx, fmt.Sprintf(`(() => { const e = document.querySelector("%s").cloneNode(true); e.querySelectorAll("button, figcaption").forEach(b => b.remove()); const words = []; const w = document.createTreeWalker(e, NodeFilter.SHOW_TEXT); while (w.nextNode()) words.push(w.currentNode.data); return words.join(" ").split(/\s+/).filter(Boolean).join("") })()`, box))
			do(t, ctx, chromedp.Click(chromedp.CSS(box+" button.copy")))
			until(t, ctx, fmt.Sprintf(`document.querySelector("%s button.copy").textContent === document.querySelector("header.site").dataset.copied`, box))
			pasted := later[string](t, ctx, `navigator.clipboard.readText()`)
			if got := strings.Join(strings.Fields(pasted), ""); got != words || len(words) < 10 {
				t.Errorf("%s: %s has %q and gives %q", name, box, words, pasted)
			}
			if box == "pre.command" {
				if want := value[string](t, ctx, `document.querySelector("pre.command code").textContent`); pasted != want {
					t.Errorf("%s: copied is %q, not %q", name, pasted, want)
				}
			}
		}
		value[bool](t, ctx, `document.querySelectorAll("details").forEach(d => d.open = false), true`)

		// The third section here is the third there.
		const third = `decodeURIComponent(document.querySelectorAll(".contents a")[2].hash)`
		value[bool](t, ctx, `document.getElementById(`+third+`.slice(1)).scrollIntoView({behavior: "instant"}), true`)
		time.Sleep(600 * time.Millisecond) // as long as it takes to be reading there
		do(t, ctx, chromedp.Click(chromedp.CSS(".languages a")))
		until(t, ctx, `location.pathname.endsWith(`+jsString("/"+otherLanguage(name))+`) && document.readyState === "complete"`)
		// The section, or what of it is near its head.
		if !value[bool](t, ctx, `(() => { const head = (i) => document.getElementById(decodeURIComponent(document.querySelectorAll(".contents a")[i].hash.slice(1)));
			const at = document.getElementById(decodeURIComponent(location.hash.slice(1))), after = (a, b) => !!(a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING);
			return !!at && (at === head(2) || after(head(2), at) && after(at, head(3))); })()`) {
			t.Errorf("%s: from the third section to %q", name, value[string](t, ctx, `decodeURIComponent(location.hash)`))
		}

		// Colours: light, dark, and as the system has them; on the next page too.
		do(t, ctx, chromedp.Navigate(r.address+name))
		for i, want := range []string{light, light, dark, light} {
			if i > 0 {
				do(t, ctx, chromedp.Click(chromedp.CSS("button.theme")))
			}
			if got := value[string](t, ctx, paper); got != want {
				t.Errorf("%s: after %d choices the paper is %s, not %s", name, i, got, want)
			}
			if i == 2 {
				do(t, ctx, chromedp.Navigate(r.address+otherLanguage(name)))
				if got := value[string](t, ctx, paper); got != dark {
					t.Errorf("%s: the next page does not remember the choice: %s", name, got)
				}
				do(t, ctx, chromedp.Navigate(r.address+name))
			}
		}
		do(t, ctx, prefer("dark"))
		if got := value[string](t, ctx, paper); got != dark {
			t.Errorf("%s: as the system has it, which is dark, the paper is %s", name, got)
		}
		for _, s := range c.take() {
			t.Errorf("%s: %s", name, s)
		}
	}
}

// stops are what the Tab key has to come to, in the order of the document.
const stops = `[...document.querySelectorAll("a[href], button, summary, input, select, textarea, [tabindex]")].filter(e => e.tabIndex >= 0 && e.checkVisibility({visibilityProperty: true}))`

// keyboard: everything that can be operated is come to by Tab alone, in order, and seen to be; keys operate it.
func (r realSite) keyboard(t *testing.T) {
	var c troubles
	ctx := r.tab(t, &c)
	do(t, ctx, chromedp.EmulateViewport(1280, 900), prefer("light"))
	through := func(name string, unfold bool) {
		do(t, ctx, chromedp.Navigate("about:blank"), chromedp.Navigate(r.address+name))
		value[bool](t, ctx, fmt.Sprintf(`(() => {
			if (%v) document.querySelectorAll("details").forEach(d => d.open = true);
			const stops = %s;
			self.stopsOf = stops;
			self.came = [];
			const look = (e) => { const s = getComputedStyle(e); return [s.outlineStyle, s.outlineWidth, s.outlineColor].join(); };
			const plain = new Map(stops.map(e => [e, look(e)]));
			document.addEventListener("focusin", (event) => {
				const e = event.target, r = e.getBoundingClientRect();
				const visible = e.matches(":focus-visible") && plain.get(e) !== look(e) && !look(e).startsWith("none") && r.bottom > 0 && r.top < innerHeight;
				self.came.push([stops.indexOf(e), visible, e.outerHTML.slice(0, 120)]);
			});
			return true;
		})()`, unfold, stops))
		n := int(value[int64](t, ctx, `stopsOf.length`))
		press(t, ctx, "Tab", n+1)
		came := value[[][]any](t, ctx, `came`)
		for i := range n {
			if i >= len(came) {
				t.Errorf("%s: Tab comes to %d of %d stops; the next is %s", name, len(came), n, value[string](t, ctx, fmt.Sprintf(`stopsOf[%d].outerHTML.slice(0, 120)`, i)))
				break
			}
			if at := int(came[i][0].(float64)); at != i {
				t.Errorf("%s: stop %d of Tab is %s, and should be %s", name, i, came[i][2], value[string](t, ctx, fmt.Sprintf(`stopsOf[%d].outerHTML.slice(0, 120)`, i)))
				break
			}
			if !came[i][1].(bool) {
				t.Errorf("%s: it isn't seen that the focus is on %s", name, came[i][2])
				break
			}
		}
		if len(came) > n && int(came[n][0].(float64)) != 0 {
			t.Errorf("%s: after the last stop comes %v", name, came[n])
		}
		if n < 6 {
			t.Errorf("%s has %d stops", name, n)
		}
		for _, s := range c.take() {
			t.Errorf("%s: %s", name, s)
		}
	}
	for _, name := range r.pages {
		if !strings.HasPrefix(name, "zh/") || slices.Contains(r.articles(), name) {
			through(name, false)
		}
	}
	through("en/channels-and-connections.html", true)

	focus := func(selector string) {
		t.Helper()
		value[bool](t, ctx, fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.scrollIntoView({block: "center", behavior: "instant"}); e.focus(); return document.activeElement === e })() || null`, selector))
	}
	const active = `document.activeElement`
	for _, name := range r.articles() {
		want := func(what, expression string) {
			t.Helper()
			for range 40 {
				if value[bool](t, ctx, expression) {
					return
				}
				time.Sleep(25 * time.Millisecond)
			}
			t.Errorf("%s: %s: not so: %s", name, what, expression)
		}
		do(t, ctx, chromedp.Navigate("about:blank"), chromedp.Navigate(r.address+name))
		press(t, ctx, "Tab", 1)
		want("the first stop skips to the text, and is seen", active+`.matches("a.skip") && `+active+`.getBoundingClientRect().top >= 0`)
		press(t, ctx, "Enter", 1)
		want("Enter on it", `location.hash === "#_main"`)
		press(t, ctx, "Tab", 1)
		want("then the text's first stop", active+` === document.querySelector("main :is(a[href], button, summary, [tabindex='0'])")`)
		for _, s := range []string{".chart summary", ".experiment > summary"} {
			focus(s)
			press(t, ctx, "Enter", 1)
			want("Enter unfolds "+s, fmt.Sprintf(`document.querySelector("%s").parentElement.open`, s))
			press(t, ctx, "Tab", 1)
			want("Tab goes into what is unfolded", fmt.Sprintf(`document.querySelector("%s").parentElement.contains(%s) && %s.tagName !== "SUMMARY"`, s, active, active))
			if s == ".chart summary" {
				want("first to the numbers", active+`.matches(".scroll") && !!`+active+`.querySelector("table.data td")`)
			}
			focus(s)
			press(t, ctx, " ", 1)
			want("Space folds "+s, fmt.Sprintf(`!document.querySelector("%s").parentElement.open`, s))
		}
		focus("button.theme")
		press(t, ctx, " ", 1)
		want("Space chooses light", `document.documentElement.dataset.theme === "light"`)
		press(t, ctx, "Enter", 2)
		want("Enter, twice, the system's", `!document.documentElement.dataset.theme`)
		const step = `[...document.querySelectorAll(".demo .steps > li")].findIndex(e => e.matches(".current"))`
		focus(".controls .on")
		press(t, ctx, "Enter", 1)
		want("Enter on next", step+` === 1`)
		focus(".controls .back")
		press(t, ctx, " ", 1)
		want("Space on back", step+` === 0`)
		focus(".controls .dot:nth-child(3)")
		press(t, ctx, "Enter", 1)
		want("Enter on a dot", step+` === 2`)
		focus("figure.chart > .wide")
		press(t, ctx, "ArrowRight", 1)
		want("an arrow on a chart", `/\d/.test(document.querySelector("figure.chart > .wide [role=status]")?.textContent) && [...document.querySelectorAll("figure.chart > .wide .live text")].some(e => e.textContent.includes("  "))`)
		press(t, ctx, "Escape", 1)
		want("Escape closes what it says", `![...document.querySelectorAll("figure.chart > .wide .live text")].some(e => e.textContent.includes("  "))`)
		press(t, ctx, "Tab", 1)
		want("and Tab goes on from there", `(() => { const all = `+stops+`; return all.indexOf(`+active+`) === all.indexOf(document.querySelector("figure.chart > .wide")) + 1 })()`)
		focus(".output .copy")
		press(t, ctx, "Enter", 1)
		want("Enter copies", `document.querySelector(".output .copy").textContent === document.querySelector("header.site").dataset.copied`)
		focus(".prose a.n")
		press(t, ctx, "Enter", 1)
		want("Enter on a number shows its samples", `document.querySelector(":target")?.checkVisibility() && "#" + document.querySelector(":target").id === document.querySelector(".prose a.n").hash`)
		focus(".languages a")
		press(t, ctx, "Enter", 1)
		want("Enter on the other language", `location.pathname.endsWith(`+jsString(otherLanguage(name))+`)`)
		for _, s := range c.take() {
			t.Errorf("%s: %s", name, s)
		}
	}
}

// accessible: axe finds nothing, in light and in dark, with everything unfolded.
func (r realSite) accessible(t *testing.T) {
	script, err := os.ReadFile(filepath.Join(repository(t), "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatalf("%v (\"npm ci\" installs it, and so does \"make assets\")", err)
	}
	var c troubles
	ctx := r.tab(t, &c)
	do(t, ctx, chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, page.SetBypassCSP, page.SetBypassCSPParams{Enabled: true})
		return err
	}))
	const all, colours = `["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]`, `["color-contrast", "link-in-text-block"]`
	for _, name := range r.pages {
		do(t, ctx, chromedp.EmulateViewport(390, 844), prefer("light"), chromedp.Navigate(r.address+name))
		value[bool](t, ctx, `document.querySelectorAll("details").forEach(d => d.open = true), true`)
		do(t, ctx, chromedp.Evaluate[chromedp.Void](string(script)))
		for _, scheme := range []string{"light", "dark"} {
			rules, least := all, "10"
			if scheme == "dark" { // only colours are others
				rules, least = colours, "1"
			}
			do(t, ctx, prefer(scheme))
			found := later[[]string](t, ctx, `axe.run(document, {runOnly: `+rules+`, resultTypes: ["violations"]}).then(r => r.violations.map(v => v.id + ": " + v.help + ": " + v.nodes.slice(0, 3).map(n => n.html.slice(0, 160)).join(" | ")).concat(r.passes.length < `+least+` || !r.passes.some(p => p.id === "color-contrast") ? ["hardly anything was looked at"] : []))`)
			for _, s := range found {
				t.Errorf("%s (%s): %s", name, scheme, s)
			}
		}
	}
}
