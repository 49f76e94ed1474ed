package site

import (
	"bytes"
	"context"
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

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"genreport/cmd/genreport/internal/article"
	"genreport/cmd/genreport/internal/chart"
)

// policy is the strictest one that pages are made for.
const policy = "default-src 'none'; img-src 'self' data:; style-src 'self'; script-src 'self'; connect-src 'self'"

// hostileName is one that must stay text wherever it goes.
const hostileName = `<img src=x onerror="document.title='owned'">{a|b}${1} __proto__`

// timeFigure has two lines of 120 seconds: 1000 + s, with a gap from 40 to 49, and 500.
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
