package chart

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

// counted is a cache, and how often it started ECharts.
func counted(t *testing.T, dir string) (*Cache, *int) {
	t.Helper()
	c, err := Open(bundle, dir)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	var mu sync.Mutex
	c.start = func() (*Renderer, error) {
		mu.Lock()
		defer mu.Unlock()
		n++
		return renderer(t), nil
	}
	return c, &n
}

func mustDraw(t *testing.T, c *Cache, f Figure) Drawing {
	t.Helper()
	d, err := c.Draw(&f)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// kept is where the drawing of a figure is kept.
func kept(t *testing.T, c *Cache, f Figure) string {
	t.Helper()
	_, key, err := c.ready(f)
	if err != nil {
		t.Fatal(err)
	}
	return c.path(key)
}

func TestUnchangedFiguresAreNotDrawnAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	c, n := counted(t, dir)
	first := mustDraw(t, c, bars())
	want, err := renderer(t).Draw(bars())
	if err != nil || !reflect.DeepEqual(first, want) {
		t.Fatal("the cache draws something else", err)
	}
	again, m := counted(t, dir)
	if got := mustDraw(t, again, bars()); !reflect.DeepEqual(got, want) || *n != 1 || *m != 0 {
		t.Errorf("drawn %d and %d times, want 1 and 0", *n, *m)
	}
	// Anything that shows makes it another figure.
	changed := bars()
	changed.Series[1].Points[2].Value = num(61001)
	renamed := bars()
	renamed.Series[0].Name = "other"
	tipped := bars()
	tipped.Series[0].Points[0].Tip = "other"
	for i, f := range []Figure{changed, renamed, tipped} {
		mustDraw(t, again, f)
		if *m != i+1 {
			t.Errorf("change %d was not drawn", i)
		}
	}
	// So does another bundle.
	other := filepath.Join(t.TempDir(), "echarts.js")
	script, err := os.ReadFile(bundle)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other, append(script, ' '), 0o644); err != nil {
		t.Fatal(err)
	}
	o, err := Open(other, dir)
	if err != nil {
		t.Fatal(err)
	}
	if kept(t, c, bars()) == kept(t, o, bars()) {
		t.Error("another ECharts' drawings are taken")
	}
}

func TestDamagedDrawingsAreMadeAnew(t *testing.T) {
	dir := t.TempDir()
	c, n := counted(t, dir)
	want := mustDraw(t, c, bars())
	path := kept(t, c, bars())
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	flipped := append([]byte{}, whole...)
	flipped[len(flipped)/2] ^= 1
	for i, damaged := range [][]byte{nil, whole[:len(whole)/2], flipped, []byte("\n{}"), append(whole, 'x')} {
		if err := os.WriteFile(path, damaged, 0o644); err != nil {
			t.Fatal(err)
		}
		if got := mustDraw(t, c, bars()); !reflect.DeepEqual(got, want) || *n != i+2 {
			t.Errorf("damage %d: drawn %d times", i, *n)
		}
		if now, err := os.ReadFile(path); err != nil || string(now) != string(whole) {
			t.Errorf("damage %d was not mended", i)
		}
	}
}

func TestNowhereToKeepDrawings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", filepath.Join(file, "below")} {
		c, n := counted(t, dir)
		for range 2 {
			if d := mustDraw(t, c, bars()); d.SVG == "" {
				t.Error("nothing drawn")
			}
		}
		if *n != 2 {
			t.Errorf("%q: drawn %d times", dir, *n)
		}
	}
}

func TestManyDrawAtOnce(t *testing.T) {
	dir := t.TempDir()
	want, err := renderer(t).Draw(lines())
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		c, _ := counted(t, dir)
		wg.Go(func() {
			for range 3 {
				f := lines()
				if d, err := c.Draw(&f); err != nil || !reflect.DeepEqual(d, want) {
					t.Error("another drawing", err)
				}
			}
		})
	}
	wg.Wait()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%d files are left: %v", len(entries), err)
	}
}

func TestOldDrawingsGo(t *testing.T) {
	dir := t.TempDir()
	c, _ := counted(t, dir)
	mustDraw(t, c, bars())
	mustDraw(t, c, lines())
	old, used := kept(t, c, bars()), kept(t, c, lines())
	stray := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(stray, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	past := time.Now().Add(-61 * 24 * time.Hour)
	for _, p := range []string{old, used, stray} {
		if err := os.Chtimes(p, past, past); err != nil {
			t.Fatal(err)
		}
	}
	mustDraw(t, c, lines()) // in use
	more := bars()
	more.Series[0].Name = "more"
	again, _ := counted(t, dir)
	if _, err := again.DrawAll([]*Figure{&more}); err != nil {
		t.Fatal(err)
	}
	for p, there := range map[string]bool{old: false, used: true, stray: true} {
		if _, err := os.Stat(p); (err == nil) != there {
			t.Errorf("%s: there is %v", filepath.Base(p), err == nil)
		}
	}
}

// Many figures are drawn as one by one, each once; and none of them again.
func TestDrawAll(t *testing.T) {
	dir := t.TempDir()
	narrow := bars()
	narrow.Width = 360
	figures := []Figure{bars(), lines(), narrow, lines()}
	var want []Drawing
	for _, f := range figures {
		d, err := renderer(t).Draw(f)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, d)
	}
	for run, drawn := range []int{3, 0} {
		c, err := Open(bundle, dir)
		if err != nil {
			t.Fatal(err)
		}
		all, err := c.DrawAll([]*Figure{&figures[0], &figures[1], &figures[2], &figures[3]})
		if err != nil || all.Made != drawn || all.Kept != 3-drawn {
			t.Errorf("run %d: %d made and %d kept, %v; want %d and %d", run, all.Made, all.Kept, err, drawn, 3-drawn)
		}
		c.start = func() (*Renderer, error) {
			t.Errorf("run %d: a figure is drawn that was among all", run)
			return renderer(t), nil
		}
		for i := range figures {
			if d, err := all.Draw(&figures[i]); err != nil || !reflect.DeepEqual(d, want[i]) {
				t.Errorf("run %d: drawing %d is another: %v", run, i, err)
			}
		}
	}
	c, _ := counted(t, dir)
	other := lines()
	other.Series[0].Name = "other"
	none, err := c.DrawAll(nil)
	if err != nil {
		t.Fatal(err)
	}
	if d, err := none.Draw(&other); err != nil || d.SVG == "" {
		t.Errorf("a figure that was not among all: %v", err)
	}
	// What is wrong with many is told once.
	c.script = []byte("throw new Error('no ECharts')")
	c.start = func() (*Renderer, error) { return New(c.script) }
	one, two := lines(), lines()
	one.Title, two.Title = "other", "other"
	if _, err := c.DrawAll([]*Figure{&one, &two, &one}); err == nil || strings.Count(err.Error(), "no ECharts") != 1 {
		t.Errorf("error %v", err)
	}
	good, bad := bars(), bars()
	bad.ID = ""
	if _, err := c.DrawAll([]*Figure{&good, &bad}); err == nil {
		t.Error("no error of a figure without id")
	}
}
