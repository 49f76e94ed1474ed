package site

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

func prefer(scheme string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
		return err
	})
}

// What page.js adds: a remembered choice of colours, copying, and a language
// switch that keeps the place; and what pages are without it.
func TestPageScript(t *testing.T) {
	ctx := browser(t)
	dir := sampleSite(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'")
		http.ServeFile(w, r, filepath.Join(dir, filepath.FromSlash(r.URL.Path)))
	}))
	t.Cleanup(server.Close)
	var c troubles
	watch(t, ctx, &c)
	do := func(actions ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		if err := chromedp.Do(ctx, actions...); err != nil {
			t.Fatal(err)
		}
	}
	want := func(what, expression, want string) {
		t.Helper()
		if got := value[string](t, ctx, expression); got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	const paper = `getComputedStyle(document.documentElement).backgroundColor`
	const light, dark = "rgb(252, 251, 248)", "rgb(21, 24, 28)"
	page := server.URL + "/en/channels-and-connections.html"

	do(chromedp.EmulateViewport(1280, 800), prefer("light"), chromedp.Navigate(page))
	want("at first", paper, light)
	button := chromedp.CSS("button.theme")
	want("its name", `document.querySelector(".theme").getAttribute("aria-label")`, "Colours: as the system has them")
	do(chromedp.Click(button), chromedp.Click(button)) // light, then dark
	want("dark, chosen", paper, dark)
	want("its name", `document.querySelector(".theme").getAttribute("aria-label")`, "Colours: dark")
	do(chromedp.Navigate(server.URL + "/zh/index.html"))
	want("dark, remembered", paper, dark)
	want("what the window's frame is told", `[...document.querySelectorAll('meta[name="theme-color"]')].map(m => m.content).join()`, "#15181c,#15181c")
	do(chromedp.Click(button)) // as the system
	want("as the system", paper, light)
	do(prefer("dark"))
	want("as the system, which is dark", paper, dark)
	do(chromedp.Click(button))
	want("light, though the system is dark", paper, light)
	do(chromedp.Click(button), chromedp.Click(button), prefer("light"))
	want("nothing is remembered of the system's", `String(localStorage.getItem("theme"))`, "null")

	// Copying, with the clipboard and without.
	do(chromedp.Navigate(page))
	value[bool](t, ctx, `navigator.clipboard.writeText = text => { window.copied = text; return Promise.resolve() }, document.querySelectorAll("details").forEach(d => d.open = true), true`)
	do(chromedp.Click(chromedp.CSS("#e-cost-1000 .copy")), chromedp.Sleep(100*time.Millisecond))
	want("the command", `window.copied`, "genreport measure --broker debian:forky --experiment channel-cost --case client=pika,channels=1000 --profile standard")
	want("said", `document.querySelector("#e-cost-1000 .copy").textContent`, "Copied")
	do(chromedp.Click(chromedp.CSS(".output .copy")), chromedp.Sleep(100*time.Millisecond))
	if got := value[string](t, ctx, `window.copied`); !strings.HasPrefix(got, "negotiated channel_max = 2,047") || strings.Contains(got, "Copy") {
		t.Errorf("the output: %q", got)
	}
	value[bool](t, ctx, `Object.defineProperty(navigator, "clipboard", {value: undefined}), document.addEventListener("copy", () => { window.old = document.activeElement.value }), true`)
	do(chromedp.Click(chromedp.CSS("#e-cost-2000 .copy")), chromedp.Sleep(100*time.Millisecond))
	want("without a clipboard", `window.old`, "genreport measure --broker debian:forky --experiment channel-cost --case client=pika,channels=2000 --profile standard")

	// The place is kept: a section by its order, a figure by its name.
	for id, there := range map[string]string{"the-cost": "开销", "fig-connections": "fig-connections", "tools-and-boundaries": "工具与边界", "": ""} {
		do(chromedp.Navigate("about:blank"), chromedp.Navigate(page))
		if id != "" {
			value[bool](t, ctx, `document.getElementById("`+id+`").scrollIntoView(), true`)
		}
		value[bool](t, ctx, `document.querySelector(".languages a").click(), true`)
		do(chromedp.Sleep(500 * time.Millisecond))
		want("from "+id, `location.pathname + decodeURIComponent(location.hash)`, strings.TrimSuffix("/zh/channels-and-connections.html#"+there, "#"))
	}

	// Without scripts the buttons are not there, and the switch leads to the article.
	do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return err
	}), chromedp.Navigate(page))
	want("without scripts", `[...document.querySelectorAll("button")].filter(b => b.checkVisibility()).length + " " + document.querySelector(".languages a").getAttribute("href")`, "0 ../zh/channels-and-connections.html")
	for _, s := range c.take() {
		t.Error(s)
	}
}
