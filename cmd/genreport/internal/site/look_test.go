package site

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// Pictures are for looking at: nothing compares them.
var (
	look   = flag.String("look", "", "`DIR` to leave pictures of the sample pages in")
	lookAt = flag.String("pages", "", "`DIR` of rendered pages, of which TestLook leaves pictures in -look")
)

// TestLook takes pictures of rendered pages: `make screenshots` calls it.
func TestLook(t *testing.T) {
	if *lookAt == "" || *look == "" {
		t.Skip("takes pictures for looking at: run \"make screenshots\"")
	}
	dir, err := filepath.Abs(*lookAt)
	if err != nil {
		t.Fatal(err)
	}
	screenshots(t, browser(t), dir)
}

// view is one way of reading a page.
type view struct {
	path   string // of the page
	width  int64  // in pixels
	scheme string // light or dark
}

// file is where the picture of something on the page is left; "" is the page itself.
func (v view) file(what string) string {
	name := strings.ReplaceAll(strings.TrimSuffix(v.path, ".html"), "/", "-")
	return filepath.Join(*look, fmt.Sprintf("%s%s-%d-%s", name, what, v.width, v.scheme))
}

// screenshots leaves pictures of all pages below dir: whole, in two widths and
// both colour schemes; in light the same with the tables of figures unfolded, and
// as it is printed; and each step of each demonstration.
func screenshots(t *testing.T, ctx context.Context, dir string) {
	t.Helper()
	if err := os.MkdirAll(*look, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Do(ctx); err != nil { // the browser starts before its tabs do
		t.Fatal(err)
	}
	views := make(chan view)
	var tabs sync.WaitGroup
	for range 3 { // while one waits for its page, another draws
		tab, cancel := chromedp.NewContext(ctx)
		t.Cleanup(cancel)
		tabs.Go(func() {
			for v := range views {
				if err := v.take(tab, dir); err != nil {
					t.Errorf("%s at %d pixels, %s: %v", v.path, v.width, v.scheme, err)
				}
			}
		})
	}
	for _, path := range pagesIn(t, dir) {
		for _, width := range []int64{1280, 390} {
			for _, scheme := range []string{"light", "dark"} {
				views <- view{path, width, scheme}
			}
		}
	}
	close(views)
	tabs.Wait()
}

// take leaves the pictures of a view.
func (v view) take(ctx context.Context, dir string) error {
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: v.scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}
	media := chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})
		return err
	})
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(v.width, 1200), media, chromedp.Navigate("file://"+filepath.Join(dir, v.path))); err != nil {
		return err
	}
	if err := v.picture(ctx, "", "document.documentElement"); err != nil {
		return err
	}
	dots, err := chromedp.Run(ctx, chromedp.Evaluate[[]int](`[...document.querySelectorAll(".demo.stepped")].map(d => d.querySelectorAll(".dot").length)`))
	if err != nil {
		return err
	}
	for d, steps := range dots {
		for s := range steps {
			demo := fmt.Sprintf(`document.querySelectorAll(".demo.stepped")[%d]`, d)
			to := fmt.Sprintf(`%s.querySelectorAll(".dot")[%d].click(), %[1]s.scrollIntoView({block: "center"}), true`, demo, s)
			if _, err := chromedp.Run(ctx, chromedp.Evaluate[bool](to)); err != nil {
				return err
			}
			if err := v.picture(ctx, fmt.Sprintf("-demo%d-step%d", d+1, s+1), demo); err != nil {
				return err
			}
		}
	}
	if v.scheme != "light" {
		return nil
	}
	folded, err := chromedp.Run(ctx, chromedp.Evaluate[int](`[...document.querySelectorAll(".chart details, details.setup")].map(d => d.open = true).length`))
	if err != nil {
		return err
	}
	if folded > 0 {
		if err := v.picture(ctx, "-open", "document.documentElement"); err != nil {
			return err
		}
	}
	if v.width < 1000 {
		return nil // paper is as wide for all
	}
	pdf, err := chromedp.Run(ctx, chromedp.PrintToPDF())
	if err != nil {
		return err
	}
	return os.WriteFile(v.file("-print")+".pdf", pdf, 0o644)
}

// picture leaves one of an element, given as a JavaScript expression, with some
// space around it. What is higher than a browser can draw (16,384 pixels)
// becomes several.
func (v view) picture(ctx context.Context, what, element string) error {
	const most, around = 16000.0, 16.0
	box, err := chromedp.Run(ctx, chromedp.Evaluate[[]float64](`(() => {
		const r = `+element+`.getBoundingClientRect(), page = document.documentElement;
		return [r.top + scrollY, r.height, page.scrollWidth, page.scrollHeight, innerHeight];
	})()`))
	if err != nil {
		return err
	}
	top, bottom := max(0, box[0]-around), min(box[3], box[0]+box[1]+around)
	quick, beyond := true, bottom-top > box[4] // beyond the window the page is laid out anew, twice
	for part := 1; top < bottom; part++ {
		clip := page.Viewport{Y: top, Width: box[2], Height: min(most, bottom-top), Scale: 1}
		got, err := chromedp.Call(ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{Clip: &clip, CaptureBeyondViewport: &beyond, OptimizeForSpeed: &quick})
		if err != nil {
			return err
		}
		name := v.file(what)
		if part > 1 {
			name += fmt.Sprintf("-part%d", part)
		}
		if err := os.WriteFile(name+".png", got.Data, 0o644); err != nil {
			return err
		}
		top += most
	}
	return nil
}
