package site

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"genreport/cmd/genreport/internal/chart"
)

// chromium is any of the names that it is installed under.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "google-chrome", "chromium-browser"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("no chromium and no google-chrome on the PATH: run \"make setup-test\"")
	return ""
}

// browser starts Chromium, which ends with the test.
func browser(t *testing.T) context.Context {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a browser")
	}
	program := chromium(t)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true), chromedp.UserDataDir(t.TempDir()),
		// The network is cut: no name resolves, and only this machine answers.
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"))...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	return ctx
}

func realCharts(t *testing.T) Charts {
	t.Helper()
	c, err := chart.Open(filepath.Join("..", "..", "..", "..", "build", "echarts.js"), "")
	if err != nil {
		t.Fatalf("%v (\"make assets\" makes it)", err)
	}
	return c
}

// sampleSite writes the sample pages into a directory.
func sampleSite(t *testing.T) string {
	t.Helper()
	files, err := Build(withAsides(sampleInput(realCharts(t))))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "public")
	if err := Write(dir, files); err != nil {
		t.Fatal(err)
	}
	return dir
}

// troubles collects what a browser complains about.
type troubles struct {
	mu  sync.Mutex
	all []string
}

func (c *troubles) add(format string, a ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, fmt.Sprintf(format, a...))
}

func (c *troubles) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.all
	c.all = nil
	return all
}

// watch collects console messages, exceptions, dialogs, and requests that fail or
// go to another host.
func watch(t *testing.T, ctx context.Context, c *troubles) {
	t.Helper()
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		t.Fatal(err)
	}
	go func() {
		for e, err := range chromedp.Events(ctx, log.EntryAdded) {
			if err != nil {
				return
			}
			c.add("log: %s %s", e.Entry.Text, e.Entry.URL)
		}
	}()
	go func() {
		for e, err := range chromedp.Events(ctx, runtime.ExceptionThrown) {
			if err != nil {
				return
			}
			c.add("exception: %v", e.ExceptionDetails.Text)
		}
	}()
	go func() {
		for e, err := range chromedp.Events(ctx, runtime.ConsoleAPICalled) {
			if err != nil {
				return
			}
			c.add("console: %s %v", e.Type, e.Args)
		}
	}()
	go func() {
		for e, err := range chromedp.Events(ctx, page.JavascriptDialogOpening) {
			if err != nil {
				return
			}
			c.add("a dialog: %s", e.Message)
			if _, err := chromedp.Call(ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{}); err != nil {
				c.add("closing the dialog: %v", err)
			}
		}
	}()
	go func() {
		for e, err := range chromedp.Events(ctx, network.LoadingFailed) {
			if err != nil {
				return
			}
			c.add("a request failed: %s", e.ErrorText)
		}
	}()
	go func() {
		for e, err := range chromedp.Events(ctx, network.RequestWillBeSent) {
			if err != nil {
				return
			}
			if u, err := url.Parse(e.Request.URL); err != nil || u.Scheme != "file" && u.Hostname() != "127.0.0.1" && u.Scheme != "about" {
				c.add("a request to %s", e.Request.URL)
			}
		}
	}()
}

func value[T any](t *testing.T, ctx context.Context, expression string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return v
}

func TestBrowser(t *testing.T) {
	ctx := browser(t)
	dir := sampleSite(t)
	// The same files, under a path and with the strictest policy that they are made for.
	server := httptest.NewServer(http.StripPrefix("/repo/sub/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'")
		http.ServeFile(w, r, filepath.Join(dir, filepath.FromSlash(r.URL.Path)))
	})))
	t.Cleanup(server.Close)
	var c troubles
	watch(t, ctx, &c)

	pages := []string{"index.html", "404.html", "zh/index.html", "en/index.html", "zh/channels-and-connections.html", "en/channels-and-connections.html", "zh/method.html", "en/method.html"}
	for _, root := range []string{"file://" + dir + "/", server.URL + "/repo/sub/"} {
		for _, page := range pages {
			for _, width := range []int64{360, 800, 1280} {
				if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, 800), chromedp.Navigate(root+page)); err != nil {
					t.Fatal(err)
				}
				// Opened, since that is when tables and commands can be too wide.
				value[bool](t, ctx, `document.querySelectorAll("details").forEach(d => d.open = true), true`)
				if w := value[int64](t, ctx, `document.documentElement.scrollWidth`); w > width {
					wide := value[string](t, ctx, `[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1).slice(0, 5).map(e => e.outerHTML.slice(0, 80)).join("\n")`)
					t.Errorf("%s is %d px wide in a window of %d:\n%s", page, w, width, wide)
				}
				if rules := value[int64](t, ctx, `[...document.styleSheets].length`); rules != 1 {
					t.Errorf("%s has %d style sheets in effect", page, rules)
				}
				for _, s := range c.take() {
					t.Errorf("%s at %d px: %s", root+page, width, s)
				}
			}
		}
	}

	// One of the two drawings of a figure is shown.
	article := server.URL + "/repo/sub/en/channels-and-connections.html"
	for width, want := range map[int64]string{360: "narrow", 559: "narrow", 560: "wide", 1280: "wide"} {
		if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, 800), chromedp.Navigate(article)); err != nil {
			t.Fatal(err)
		}
		got := value[string](t, ctx, `[...document.querySelectorAll(".chart svg")].filter(s => s.checkVisibility()).map(s => s.parentElement.className).join(" ")`)
		if got != want+" "+want {
			t.Errorf("at %d px the drawings shown are %q", width, got)
		}
	}

	// A number leads to its samples though they are folded away.
	if err := chromedp.Do(ctx, chromedp.Click(chromedp.CSS(`.prose a[href="#e-channels-64"]`)), chromedp.Sleep(300*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	shown := `(() => { const e = document.querySelector(":target"), r = e.getBoundingClientRect(); return e.id + " " + (e.checkVisibility() && r.height > 50 && r.top >= 0 && r.top < innerHeight) })()`
	if got := value[string](t, ctx, shown); got != "e-channels-64 true" {
		t.Errorf("after a click on a number: %s", got)
	}
	if err := chromedp.Do(ctx, chromedp.Navigate("file://"+dir+"/zh/channels-and-connections.html#e-cost-1000"), chromedp.Sleep(300*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if got := value[string](t, ctx, shown); got != "e-cost-1000 true" {
		t.Errorf("after opening the address of a case: %s", got)
	}
	for _, s := range c.take() {
		t.Error(s)
	}
	if *look != "" {
		screenshots(t, ctx, dir)
	}
}
