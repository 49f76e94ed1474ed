package site

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"genreport/cmd/genreport/internal/article"
	"genreport/cmd/genreport/internal/chart"
)

// policy is the strictest one that pages are made for.
const policy = "default-src 'none'; img-src 'self' data:; style-src 'self'; script-src 'self'; connect-src 'self'"

// hostileName is one that must stay text wherever it goes.
const hostileName = `<img src=x onerror="document.title='owned'">{a|b}${1} __proto__`

// longReason is why the first line has no value at second 5.
var longReason = "not tried (because of " + strings.Repeat("reasons, ", 60) + "and others)"

// timeFigure has two lines of 120 seconds: 1000 + s, with a gap at 5 and from 40 to 49, and 500. What second 6 is told by is too long for a
// chart, in words and in one.
func timeFigure() *article.Figure {
	f := chart.Figure{ID: "figure-time-wide", Kind: chart.Line, Title: "Over time", Description: "Two lines.", XTitle: "seconds", YTitle: "Messages per second"}
	a, b := chart.Series{Name: hostileName}, chart.Series{Name: "flat"}
	for s := range 120 {
		f.Categories = append(f.Categories, fmt.Sprint(s))
		v, w := float64(1000+s), 500.0
		p := chart.Point{Value: &v, Tip: fmt.Sprintf("%d", 1000+s)}
		if s >= 40 && s < 50 {
			p = chart.Point{Tip: "not measured (why {x|y})"}
		}
		switch s {
		case 5:
			p = chart.Point{Tip: longReason, Short: "not tried"}
		case 6:
			p.Tip = strings.Repeat("m", 300) + strings.Repeat(" words", 200)
		}
		a.Points, b.Points = append(a.Points, p), append(b.Points, chart.Point{Value: &w, Tip: "500"})
	}
	f.Series = []chart.Series{a, b}
	f.Phases = []chart.Phase{{Name: "before", From: 0, To: 59}, {Name: "after", From: 60, To: 119}}
	narrow := f
	narrow.ID, narrow.Width, narrow.Height = "figure-time-narrow", 400, 320
	return &article.Figure{ID: "figure-time", Name: "time", Title: "Over time", Wide: f, Narrow: narrow}
}

// chartSite is the sample pages with charts that answer, served under a path with the policy; asked are the requests for scripts.
func chartSite(t *testing.T) (dir, root string, asked func() []string) {
	t.Helper()
	path := filepath.Join("..", "..", "..", "..", "build", "echarts.js")
	charts, err := chart.Open(path, filepath.Join(t.TempDir(), "drawings"))
	if err != nil {
		t.Fatalf("%v (\"make assets\" makes it)", err)
	}
	in := sampleInput(charts)
	in.ECharts = charts.Script()
	for i := range in.Pages {
		in.Pages[i].Blocks = append(in.Pages[i].Blocks, article.Block{Figure: timeFigure()})
	}
	files, err := Build(in)
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(t.TempDir(), "public")
	if err := Write(dir, files); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var scripts []string
	server := httptest.NewServer(http.StripPrefix("/repo/sub/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".js") {
			mu.Lock()
			scripts = append(scripts, filepath.Base(r.URL.Path))
			mu.Unlock()
		}
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("Cache-Control", "no-store")
		http.ServeFile(w, r, filepath.Join(dir, filepath.FromSlash(r.URL.Path)))
	})))
	t.Cleanup(server.Close)
	return dir, server.URL + "/repo/sub/", func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(scripts)
	}
}

func do(t *testing.T, ctx context.Context, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// focused lets a page be told of focus in the background too.
func focused(t *testing.T, ctx context.Context) {
	t.Helper()
	do(t, ctx, chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
		return err
	}))
}

// until waits for a condition of the page.
func until(t *testing.T, ctx context.Context, expression string) {
	t.Helper()
	for range 100 {
		v, err := chromedp.Run(ctx, chromedp.Evaluate[bool](expression))
		if err != nil && !strings.Contains(err.Error(), "navigated") { // a page on its way is not there yet
			t.Fatalf("%s: %v", expression, err)
		}
		if err == nil && v {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("in 10 s this did not become true: %s", expression)
}

// at is where on the screen a place of a figure's wide drawing is.
func at(t *testing.T, ctx context.Context, figure string, x, y float64) (float64, float64) {
	t.Helper()
	value[bool](t, ctx, fmt.Sprintf(`document.querySelector("#%s .wide").scrollIntoView({block: "center", behavior: "instant"}), true`, figure))
	box := value[[]float64](t, ctx, fmt.Sprintf(`(() => { const r = document.querySelector("#%s .wide").getBoundingClientRect(); return [r.left, r.top, r.width / 720] })()`, figure))
	return box[0] + x*box[2], box[1] + y*box[2]
}

func move(t *testing.T, ctx context.Context, x, y float64) {
	t.Helper()
	do(t, ctx, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x-3, y), chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x, y))
}

// texts are those of the live chart.
func texts(t *testing.T, ctx context.Context, figure string) []string {
	t.Helper()
	return value[[]string](t, ctx, fmt.Sprintf(`[...document.querySelectorAll("#%s .live text")].map(e => e.textContent.replaceAll("\u200b", ""))`, figure))
}

func TestChartsAnswer(t *testing.T) {
	ctx := browser(t)
	dir, root, asked := chartSite(t)
	var c troubles
	watch(t, ctx, &c)
	clean := func(where string) {
		t.Helper()
		for _, s := range c.take() {
			t.Errorf("%s: %s", where, s)
		}
	}
	for _, page := range []string{root + "en/channels-and-connections.html", "file://" + dir + "/zh/channels-and-connections.html"} {
		do(t, ctx, chromedp.EmulateViewport(1280, 900), chromedp.Navigate(page))
		// Scrolling through the page under a resting pointer loads nothing.
		move(t, ctx, 640, 5)
		do(t, ctx, chromedp.Sleep(100*time.Millisecond))
		value[bool](t, ctx, `scrollTo({top: document.documentElement.scrollHeight, behavior: "instant"}), true`)
		do(t, ctx, chromedp.Sleep(300*time.Millisecond))
		if got := value[int64](t, ctx, `document.querySelectorAll("script[src]").length`); got != 2 { // the page's own, and that of charts
			t.Errorf("before anyone reached for a chart there are %d scripts", got)
		}
		if all := asked(); strings.HasPrefix(page, "http") && (len(all) != 2 || !strings.HasPrefix(all[0], "page.") || !strings.HasPrefix(all[1], "charts.")) {
			t.Errorf("before anyone reached for a chart these were loaded: %q", all)
		}
		before := value[float64](t, ctx, `document.documentElement.scrollHeight`)

		// Pointing at a bar: the table's values.
		x, y := at(t, ctx, "fig-channels", 150, 200)
		move(t, ctx, x, y)
		until(t, ctx, `!!document.querySelector("#fig-channels .wide.alive")`)
		move(t, ctx, x+1, y)
		do(t, ctx, chromedp.Sleep(300*time.Millisecond))
		got := strings.Join(texts(t, ctx, "fig-channels"), "|")
		for _, want := range []string{"go  31,200 (30,264–32,136)", "go-batched  61,800 (59,946–63,654)", "pika  15,100 (14,647–15,553)"} {
			if !strings.Contains(got, want) {
				t.Errorf("pointing at the first bars: no %q in %q", want, got)
			}
		}
		if after := value[float64](t, ctx, `document.documentElement.scrollHeight`); after != before {
			t.Errorf("the page was %v px high and is %v", before, after)
		}
		if all := asked(); strings.HasPrefix(page, "http") && len(all) != 4 {
			t.Errorf("after that these were loaded: %q", all)
		}
		clean(page)

		// The legend takes a series out: its bars, whiskers and value go.
		marks := `document.querySelectorAll("#fig-channels .live path").length`
		n := value[int64](t, ctx, marks)
		lx, ly := at(t, ctx, "fig-channels", 8, 8)
		do(t, ctx, chromedp.MouseClickXY(lx, ly), chromedp.Sleep(400*time.Millisecond))
		if m := value[int64](t, ctx, marks); m > n-8 {
			t.Errorf("with one of three series out there are %d paths of %d", m, n)
		}
		move(t, ctx, x, y)
		do(t, ctx, chromedp.Sleep(300*time.Millisecond))
		if got := strings.Join(texts(t, ctx, "fig-channels"), "|"); strings.Contains(got, "31,200") || !strings.Contains(got, "go-batched  61,800") {
			t.Errorf("with go out the tooltip says %q", got)
		}
		picture(t, ctx, "legend")
		clean(page)

		// Keys: a chart that has focus, point by point; a gap says why.
		value[bool](t, ctx, `document.querySelector("#figure-time .wide").focus(), true`)
		until(t, ctx, `!!document.querySelector("#figure-time .wide.alive")`)
		key := func(k string, times int) {
			t.Helper()
			for range times {
				value[bool](t, ctx, fmt.Sprintf(`document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key: %q, bubbles: true})), true`, k))
				do(t, ctx, chromedp.Sleep(20*time.Millisecond))
			}
			do(t, ctx, chromedp.Sleep(200*time.Millisecond))
		}
		key("ArrowRight", 3)
		if got := strings.Join(texts(t, ctx, "figure-time"), "|"); !strings.Contains(got, hostileName+"  1002") || !strings.Contains(got, "flat  500") {
			t.Errorf("three steps to the right: %q", got)
		}
		if got := value[string](t, ctx, `document.querySelector("#figure-time [role=status]").textContent`); got != "2; "+hostileName+"  1002; flat  500" {
			t.Errorf("what is said: %q", got)
		}
		key("ArrowRight", 40)
		if got := strings.Join(texts(t, ctx, "figure-time"), "|"); !strings.Contains(got, "not measured (why {x|y})") {
			t.Errorf("in the gap: %q", got)
		}
		picture(t, ctx, "keys")
		key("2", 1)
		if got := value[string](t, ctx, `document.querySelector("#figure-time [role=status]").textContent`); got != hostileName {
			t.Errorf("after the second series was switched off: %q", got)
		}
		key("2", 1)
		if title := value[string](t, ctx, `document.title`); strings.Contains(title, "owned") {
			t.Error("a label became code")
		}
		clean(page)

		// Dragging over a part zooms to it, a button back.
		ax, ay := at(t, ctx, "figure-time", 200, 200)
		bx, _ := at(t, ctx, "figure-time", 400, 200)
		do(t, ctx, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, ax, ay), chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, ax, ay, chromedp.ButtonLeft), chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, (ax+bx)/2, ay, chromedp.ButtonLeft),
			chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, bx, ay, chromedp.ButtonLeft), chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, bx, ay, chromedp.ButtonLeft), chromedp.Sleep(500*time.Millisecond))
		if hidden := value[bool](t, ctx, `document.querySelector("#figure-time .whole").hidden`); hidden {
			t.Error("after dragging nothing is zoomed")
		}
		all := texts(t, ctx, "figure-time")
		if slices.Contains(all, "0") && slices.Contains(all, "110") || slices.Contains(all, "110") {
			t.Errorf("after zooming to the middle the axis says %q", all)
		}
		picture(t, ctx, "zoom")
		do(t, ctx, chromedp.Click(chromedp.CSS("#figure-time .whole")), chromedp.Sleep(300*time.Millisecond))
		if all := texts(t, ctx, "figure-time"); !slices.Contains(all, "110") {
			t.Errorf("after zooming out the axis says %q", all)
		}
		// Escape leaves.
		value[bool](t, ctx, `document.querySelector("#figure-time .wide").focus(), true`)
		key("ArrowRight", 1)
		key("Escape", 1)
		if active := value[string](t, ctx, `document.activeElement.tagName`); active != "BODY" {
			t.Errorf("after Escape the focus is on %s", active)
		}
		if got := strings.Join(texts(t, ctx, "figure-time"), "|"); strings.Contains(got, "flat  500") {
			t.Errorf("after Escape there is still %q", got)
		}
		clean(page)
	}
}

// touches sends what a finger, or some, do: each place is one moment, with x and y of each finger. The last moment lifts them.
func touches(t *testing.T, ctx context.Context, moments ...[][2]float64) {
	t.Helper()
	send := func(kind input.DispatchTouchEventType, fingers [][2]float64) {
		points := []*input.TouchPoint{}
		for i, f := range fingers {
			id := float64(i)
			points = append(points, &input.TouchPoint{X: f[0], Y: f[1], ID: &id})
		}
		do(t, ctx, chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
			_, err := chromedp.Call(ctx, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: kind, TouchPoints: points})
			return err
		}), chromedp.Sleep(20*time.Millisecond))
	}
	for i, fingers := range moments {
		kind := input.DispatchTouchEventTypeTouchMove
		if i == 0 {
			kind = input.DispatchTouchEventTypeTouchStart
		}
		send(kind, fingers)
	}
	send(input.DispatchTouchEventTypeTouchEnd, nil)
	do(t, ctx, chromedp.Sleep(600*time.Millisecond))
}

// A live chart of many points leaves the wheel to the page, but with Ctrl.
func TestWheelOverCharts(t *testing.T) {
	ctx := browser(t)
	_, root, _ := chartSite(t)
	do(t, ctx, chromedp.EmulateViewport(1280, 900), chromedp.Navigate(root+"en/channels-and-connections.html"))
	x, y := at(t, ctx, "figure-time", 360, 180)
	move(t, ctx, x, y)
	until(t, ctx, `!!document.querySelector("#figure-time .wide.alive")`)
	value[bool](t, ctx, `self.prevented = [], addEventListener("wheel", e => setTimeout(() => prevented.push(e.defaultPrevented)), {capture: true, passive: true}), true`)
	wheel := func(delta float64, keys int64) (scrolled float64, prevented string, zoomed bool) {
		t.Helper()
		top := value[float64](t, ctx, `prevented.length = 0, scrollY`)
		do(t, ctx, chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
			_, err := chromedp.Call(ctx, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseWheel, X: x, Y: y, DeltaX: 1e-9, DeltaY: delta, Modifiers: keys})
			return err
		}), chromedp.Sleep(600*time.Millisecond))
		return value[float64](t, ctx, `scrollY`) - top, value[string](t, ctx, `prevented.join()`), !value[bool](t, ctx, `document.querySelector("#figure-time .whole").hidden`)
	}
	const ctrl = 2
	if scrolled, prevented, zoomed := wheel(-60, 0); scrolled != -60 || prevented != "false" || zoomed {
		t.Errorf("without Ctrl the page is scrolled by %v, prevented: %s, zoomed: %v", scrolled, prevented, zoomed)
	}
	if scrolled, prevented, zoomed := wheel(-60, ctrl); scrolled != 0 || prevented != "true" || !zoomed {
		t.Errorf("with Ctrl the page is scrolled by %v, prevented: %s, zoomed: %v", scrolled, prevented, zoomed)
	}
}

// A finger that scrolls goes over charts, loads nothing and scrolls over live ones too. A tap wakes one, two fingers zoom, and a tap
// elsewhere takes the tooltip away.
func TestFingersOnCharts(t *testing.T) {
	ctx := browser(t)
	_, root, asked := chartSite(t)
	do(t, ctx, chromedp.EmulateViewport(390, 800, chromedp.EmulateMobile, chromedp.EmulateTouch), chromedp.Navigate(root+"en/channels-and-connections.html"))
	middle := func() (x, y float64) {
		t.Helper()
		box := value[[]float64](t, ctx, `(() => { const s = document.querySelector("#figure-time .narrow"); s.scrollIntoView({block: "center", behavior: "instant"}); const r = s.getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2] })()`)
		do(t, ctx, chromedp.Sleep(300*time.Millisecond))
		return box[0], box[1]
	}
	swipe := func() float64 {
		t.Helper()
		x, y := middle()
		top := value[float64](t, ctx, `scrollY`)
		var moments [][][2]float64
		for i := range 10 {
			moments = append(moments, [][2]float64{{x, y + 15*float64(i)}}) // down, as there is more page above
		}
		touches(t, ctx, moments...)
		return top - value[float64](t, ctx, `scrollY`)
	}
	const alive = `!!document.querySelector("#figure-time .narrow.alive")`
	if by := swipe(); by < 80 {
		t.Errorf("a swipe over a picture scrolls by %v px", by)
	}
	if all := asked(); len(all) != 2 || value[bool](t, ctx, alive) {
		t.Errorf("after a swipe these were loaded: %q", all)
	}
	x, y := middle()
	touches(t, ctx, [][2]float64{{x, y}})
	until(t, ctx, alive)
	do(t, ctx, chromedp.Sleep(300*time.Millisecond))
	const tip = `[...document.querySelectorAll("#figure-time .live text")].some(e => e.textContent.includes("flat  500") && e.checkVisibility())`
	if all := asked(); len(all) != 4 || !value[bool](t, ctx, tip) {
		t.Errorf("after a tap these were loaded: %q, a tooltip is there: %v", all, value[bool](t, ctx, tip))
	}
	// Over the live one, which hasn't the focus.
	value[bool](t, ctx, `document.activeElement.blur(), true`)
	if by := swipe(); by < 80 {
		t.Errorf("a swipe over a live chart scrolls by %v px", by)
	}
	x, y = middle()
	touches(t, ctx, [][2]float64{{x, y}})
	value[bool](t, ctx, `document.activeElement.blur(), true`)
	touches(t, ctx, [][2]float64{{x, y}, {x + 5, y}, {x + 10, y}})
	if !value[bool](t, ctx, tip) {
		t.Error("a finger that moves along a chart opens no tooltip")
	}
	touches(t, ctx, [][2]float64{{5, 5}})
	if value[bool](t, ctx, tip) {
		t.Error("after a tap elsewhere the tooltip is still there")
	}
	var apart [][][2]float64
	for i := range 10 {
		d := 20 + 8*float64(i)
		apart = append(apart, [][2]float64{{x - d, y}, {x + d, y}})
	}
	touches(t, ctx, apart...)
	if value[bool](t, ctx, `document.querySelector("#figure-time .whole").hidden`) {
		t.Error("two fingers that go apart don't zoom")
	}
}

// However long a text is, the tooltip stays within the chart. Of a reason the short words are shown, and all are said.
func TestTooltipsWithinCharts(t *testing.T) {
	ctx := browser(t)
	_, root, _ := chartSite(t)
	focused(t, ctx)
	for width, stage := range map[int64]string{1280: "wide", 390: "narrow"} {
		do(t, ctx, chromedp.EmulateViewport(width, 900), chromedp.Navigate("about:blank"), chromedp.Navigate(root+"en/channels-and-connections.html"))
		const figure = `document.querySelector("#figure-time")`
		key := fmt.Sprintf(`%s.querySelector(".%s").dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight", bubbles: true})), true`, figure, stage)
		value[bool](t, ctx, fmt.Sprintf(`%s.querySelector(".%s").focus(), true`, figure, stage))
		until(t, ctx, fmt.Sprintf(`!!%s.querySelector(".%s.alive")`, figure, stage))
		said := ""
		for range 6 {
			value[bool](t, ctx, key)
			do(t, ctx, chromedp.Sleep(50*time.Millisecond))
		}
		until(t, ctx, figure+`.querySelector("[role=status]").textContent.startsWith("5; ")`)
		said = value[string](t, ctx, figure+`.querySelector("[role=status]").textContent`)
		if !strings.Contains(said, longReason) {
			t.Errorf("at %d px is said %q", width, said)
		}
		shown := strings.Join(texts(t, ctx, "figure-time"), "|")
		if !strings.Contains(shown, "not tried") || strings.Contains(shown, "because of") {
			t.Errorf("at %d px is shown %q", width, shown)
		}
		value[bool](t, ctx, key)
		do(t, ctx, chromedp.Sleep(200*time.Millisecond))
		// The tooltip's box is the last that is filled with the background's colour.
		box := value[[]float64](t, ctx, fmt.Sprintf(`(() => {
			const stage = %s.querySelector(".%s"), s = stage.getBoundingClientRect();
			const texts = [...stage.querySelectorAll(".live text")].filter(e => e.textContent.includes("mmm"));
			const boxes = [...stage.querySelectorAll(".live path")].filter(e => (e.getAttribute("fill") || "").includes("--chart-bg") && e.getBoundingClientRect().width > 100).slice(-1);
			const all = [...texts, ...boxes].map(e => e.getBoundingClientRect());
			return [texts.length, boxes.length, Math.min(...all.map(r => r.left)) - s.left, s.right - Math.max(...all.map(r => r.right)), Math.min(...all.map(r => r.top)) - s.top, s.bottom - Math.max(...all.map(r => r.bottom))];
		})()`, figure, stage))
		if box[0] < 1 || box[1] != 1 || slices.Min(box[2:]) < -0.5 {
			t.Errorf("at %d px the tooltip has %v lines of the long text and %v boxes; from the chart's edges they are %v px", width, box[0], box[1], box[2:])
		}
		picture(t, ctx, "tooltip-"+stage)
	}
}

// What a chart is called is its caption, and its keys are told besides.
func TestChartsAreNamed(t *testing.T) {
	ctx := browser(t)
	_, root, _ := chartSite(t)
	do(t, ctx, chromedp.EmulateViewport(1280, 900), chromedp.Navigate(root+"en/channels-and-connections.html"))
	type named struct{ Name, Description string }
	of := func(selector string) (n named) {
		t.Helper()
		do(t, ctx, chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
			found, err := chromedp.Call(ctx, runtime.Evaluate, runtime.EvaluateParams{Expression: fmt.Sprintf(`document.querySelector(%q)`, selector)})
			if err != nil {
				return err
			}
			tree, err := chromedp.Call(ctx, accessibility.GetPartialAXTree, accessibility.GetPartialAXTreeParams{ObjectID: found.Result.ObjectID})
			if err != nil {
				return err
			}
			if err := json.Unmarshal(tree.Nodes[0].Name.Value, &n.Name); err != nil {
				return err
			}
			return json.Unmarshal(tree.Nodes[0].Description.Value, &n.Description)
		}))
		return n
	}
	if n := of("#figure-time > .wide"); !strings.HasSuffix(n.Name, "Over time") || !strings.HasPrefix(n.Description, "Left and right arrow keys") {
		t.Errorf("a chart is called %q and described as %q", n.Name, n.Description)
	}
}

// In a reader's own palette everything drawn has its colours, though a theme is chosen that is contrary to it.
func TestForcedColors(t *testing.T) {
	ctx := browser(t)
	_, root, _ := chartSite(t)
	for scheme, theme := range map[string]string{"dark": "light", "light": "dark"} {
		scripts(t, ctx, true, &emulation.MediaFeature{Name: "forced-colors", Value: "active"}, &emulation.MediaFeature{Name: "prefers-color-scheme", Value: scheme})
		do(t, ctx, chromedp.EmulateViewport(1280, 900), chromedp.Navigate(root+"en/channels-and-connections.html"))
		wrong := value[[]string](t, ctx, fmt.Sprintf(`(() => {
			document.documentElement.dataset.theme = %q;
			const probe = document.createElement("i");
			document.body.append(probe);
			const system = ["Canvas", "CanvasText", "LinkText", "GrayText"].map(c => (probe.style.color = c, getComputedStyle(probe).color));
			if (new Set(system).size < 4) return ["the palette has no four colours: " + system];
			const bad = new Set(["none"]), n = bad.size;
			let seen = 0;
			for (const e of document.querySelectorAll(".chart .wide svg *")) {
				const s = getComputedStyle(e);
				for (const p of ["fill", "stroke"]) {
					if (s[p] === "none" || !(e.getAttribute(p) || "").includes("var(")) continue;
					seen++;
					if (!system.includes(s[p])) bad.add(p + " " + e.getAttribute(p) + " is " + s[p]);
				}
			}
			bad.delete("none");
			if (seen < 50) bad.add("only " + seen + " colours");
			return [...bad];
		})()`, theme))
		for _, w := range wrong {
			t.Errorf("%s palette, %s theme: %s", scheme, theme, w)
		}
		button := value[string](t, ctx, `(() => { const s = getComputedStyle(document.querySelector(".theme"), "::before"); return s.forcedColorAdjust })()`)
		if button != "none" {
			t.Errorf("the theme's button is drawn over: %s", button)
		}
	}
}

// The chart that answers looks like the picture that it lies over, on a phone too and in the dark.
func TestChartsLookTheSame(t *testing.T) {
	ctx := browser(t)
	_, root, _ := chartSite(t)
	var c troubles
	watch(t, ctx, &c)
	focused(t, ctx)
	for _, width := range []int64{390, 1280} {
		do(t, ctx, chromedp.EmulateViewport(width, 900), chromedp.Navigate(root+"zh/channels-and-connections.html"))
		stage := map[int64]string{390: "narrow", 1280: "wide"}[width]
		for _, id := range []string{"fig-channels", "fig-connections", "figure-time"} {
			value[bool](t, ctx, fmt.Sprintf(`document.querySelector("#%s .%s").focus(), true`, id, stage))
			until(t, ctx, fmt.Sprintf(`!!document.querySelector("#%s .%s.alive")`, id, stage))
			// Every text of the picture is there again, where it was.
			worst := value[[]any](t, ctx, fmt.Sprintf(`(() => {
				const stage = document.querySelector("#%s .%s");
				const of = (root) => [...root.querySelectorAll("text")].map(e => [e.textContent, e.getBoundingClientRect()]);
				const live = of(stage.querySelector(".live svg"));
				let worst = 0, who = "";
				for (const [text, r] of of(stage.querySelector(":scope > svg"))) {
					const d = Math.min(...live.filter(([t]) => t === text).map(([, q]) => Math.hypot(q.left - r.left, q.top - r.top, text.trim() === text ? q.width - r.width : 0)), 1e9);
					if (d > worst) { worst = d; who = text; }
				}
				return [worst, who];
			})()`, id, stage))
			if d := worst[0].(float64); d > 1 {
				t.Errorf("%s at %d px: %q is %v px from where it was", id, width, worst[1], math.Round(d))
			}
			picture(t, ctx, fmt.Sprintf("same-%s-%d", id, width))
		}
	}
	media := chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}})
		return err
	})
	fill := `getComputedStyle([...document.querySelectorAll("#figure-time .live text")].find(e => e.textContent === "flat")).fill`
	light := value[string](t, ctx, fill)
	do(t, ctx, media, chromedp.Sleep(200*time.Millisecond))
	if dark := value[string](t, ctx, fill); light != "rgb(36, 41, 47)" || dark != "rgb(223, 227, 232)" {
		t.Errorf("the legend is %s in the light and %s in the dark", light, dark)
	}
	picture(t, ctx, "dark")
	for _, s := range c.take() {
		t.Error(s)
	}
}

// When a picture becomes a chart that answers, nothing on the page moves and hardly a pixel changes, in each theme and size.
func TestChartsTakeOverUnseen(t *testing.T) {
	ctx := browser(t)
	_, root, _ := chartSite(t)
	var c troubles
	watch(t, ctx, &c)
	focused(t, ctx)
	for _, view := range []struct {
		width         int64
		stage, scheme string
		density       int // of the screen: pixels a CSS pixel
	}{{1280, "wide", "light", 1}, {1280, "wide", "dark", 1}, {390, "narrow", "light", 3}} {
		scripts(t, ctx, true, &emulation.MediaFeature{Name: "prefers-color-scheme", Value: view.scheme})
		do(t, ctx, chromedp.EmulateViewport(view.width, 900, chromedp.EmulateScale(float64(view.density))), chromedp.Navigate("about:blank"), chromedp.Navigate(root+"en/channels-and-connections.html"))
		value[bool](t, ctx, `self.shifts = [], new PerformanceObserver(l => l.getEntries().forEach(e => shifts.push(e.value))).observe({type: "layout-shift", buffered: false}), true`)
		for _, id := range []string{"fig-channels", "fig-connections", "figure-time"} {
			what := fmt.Sprintf("%s at %d px, %s", id, view.width, view.scheme)
			stage := fmt.Sprintf(`document.querySelector("#%s .%s")`, id, view.stage)
			value[bool](t, ctx, stage+`.scrollIntoView({block: "center", behavior: "instant"}), true`)
			// The pointer rests elsewhere. Frames pass, and the shifts of scrolling with them.
			do(t, ctx, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, 2, 2), chromedp.Sleep(300*time.Millisecond))
			value[bool](t, ctx, `shifts.length = 0, true`)
			places := `[scrollY, document.documentElement.scrollHeight, ...[...document.querySelectorAll("figure, h2, .caption")].map(e => e.getBoundingClientRect()).flatMap(r => [r.top, r.left, r.width, r.height])].join()`
			before, seen := value[string](t, ctx, places), pixels(t, ctx, stage)
			value[bool](t, ctx, stage+`.focus({preventScroll: true}), true`)
			until(t, ctx, stage+`.classList.contains("alive")`)
			do(t, ctx, chromedp.Sleep(300*time.Millisecond))
			if after := value[string](t, ctx, places); after != before {
				t.Errorf("%s: things were at %s and are at %s", what, before, after)
			}
			if all := value[[]float64](t, ctx, `shifts`); len(all) > 0 {
				t.Errorf("%s: the layout shifted by %v", what, all)
			}
			if share := changed(t, seen, pixels(t, ctx, stage), view.density); share > mostChanged {
				t.Errorf("%s: %.2f%% of the pixels changed", what, 100*share)
				picture(t, ctx, "changed-"+id)
			}
			value[bool](t, ctx, `document.activeElement.blur(), true`)
		}
		// What would be found if something moved.
		value[bool](t, ctx, `document.querySelector("#figure-time").before(Object.assign(document.createElement("p"), {className: "probe", textContent: "x"})), true`)
		until(t, ctx, `shifts.length > 0`)
	}
	for _, s := range c.take() {
		t.Error(s)
	}
}

// mostChanged is the share of a chart's pixels that may look otherwise: the rims of letters.
const mostChanged = 0.002

// pixels are those of an element on the screen.
func pixels(t *testing.T, ctx context.Context, element string) image.Image {
	t.Helper()
	box := value[[]float64](t, ctx, `(() => { const r = `+element+`.getBoundingClientRect(); return [r.left, r.top, r.width, r.height].map(x => x * devicePixelRatio) })()`)
	shot, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatal(err)
	}
	all, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		t.Fatal(err)
	}
	part, ok := all.(interface {
		SubImage(image.Rectangle) image.Image
	})
	if !ok {
		t.Fatalf("a picture of %T", all)
	}
	return part.SubImage(image.Rect(int(box[0]), int(box[1]), int(box[0]+box[2]), int(box[1]+box[3])))
}

// changed is the share of pixels that have no like nearby in the other picture: within one CSS pixel, since a browser sets the lines of a
// scaled picture on rounded heights. Alike are colours of which no channel differs by more than a sixth of what it can.
func changed(t *testing.T, a, b image.Image, within int) float64 {
	t.Helper()
	if a.Bounds() != b.Bounds() || a.Bounds().Dx() < 300 || a.Bounds().Dy() < 200 {
		t.Fatalf("pictures of %v and %v", a.Bounds(), b.Bounds())
	}
	alike := func(p, q color.Color) bool {
		r1, g1, b1, _ := p.RGBA()
		r2, g2, b2, _ := q.RGBA()
		for _, pair := range [][2]uint32{{r1, r2}, {g1, g2}, {b1, b2}} {
			if max(pair[0], pair[1])-min(pair[0], pair[1]) > 0xffff/6 {
				return false
			}
		}
		return true
	}
	n := 0
	side := 2*within + 1
	inner := a.Bounds().Inset(within)
	for y := inner.Min.Y; y < inner.Max.Y; y++ {
		for x := inner.Min.X; x < inner.Max.X; x++ {
			hereToo, thereToo := false, false
			for d := range side * side {
				dx, dy := d%side-within, d/side-within
				hereToo = hereToo || alike(a.At(x, y), b.At(x+dx, y+dy))
				thereToo = thereToo || alike(b.At(x, y), a.At(x+dx, y+dy))
			}
			if !hereToo || !thereToo {
				n++
			}
		}
	}
	return float64(n) / float64(inner.Dx()*inner.Dy())
}

// Without scripts every picture is there, and nothing that does nothing.
func TestChartsWithoutScripts(t *testing.T) {
	ctx := browser(t)
	_, root, _ := chartSite(t)
	do(t, ctx, chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return err
	}), chromedp.EmulateViewport(1280, 900), chromedp.Navigate(root+"en/channels-and-connections.html"))
	if n := value[int64](t, ctx, `[...document.querySelectorAll(".chart .wide svg")].filter(s => s.checkVisibility() && s.getBoundingClientRect().height > 100).length`); n != 3 {
		t.Errorf("%d of 3 pictures", n)
	}
	if n := value[int64](t, ctx, `[...document.querySelectorAll(".whole, .live")].filter(e => e.checkVisibility()).length`); n != 0 {
		t.Errorf("%d things that do nothing are shown", n)
	}
	if n := value[int64](t, ctx, `document.querySelectorAll("[style], style, .chart [tabindex]:not(.scroll)").length`); n != 0 {
		t.Errorf("%d inline styles or stages that take the focus", n)
	}
}

// picture leaves one to look at.
func picture(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	if *look == "" {
		return
	}
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(*look, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(*look, "chart-"+name+".png"), png, 0o644); err != nil {
		t.Fatal(err)
	}
}
