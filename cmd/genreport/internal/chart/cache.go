package chart

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"genreport/cmd/genreport/internal/minify"
)

// program is what makes a drawing of a figure: who changes it need not remember that drawings are kept.
//
//go:embed chart.go layout.go option.go svg.go thin.go
var program embed.FS

// Cache draws figures and keeps the drawings, so that an unchanged figure is not drawn again. What it keeps is only ever a copy: a
// drawing that is damaged, or can't be read or written, is made anew. It is safe for concurrent use, by several processes too.
type Cache struct {
	dir    string // "": keeps nothing
	script []byte
	base   []byte // hash of everything but the figure
	start  func() (*Renderer, error)
	tidy   sync.Once // when a drawing was made: without, there are no more than before
}

// unused is for how long a drawing is kept that no page has.
const unused = 60 * 24 * time.Hour

// Open makes a cache in a directory, which need not exist; with "" nothing is kept. The bundle is what `make assets` builds.
func Open(bundle, dir string) (*Cache, error) {
	script, err := read(bundle)
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	h.Write([]byte(drawingHead)) // another program, which keeps drawings in another form, has its own
	h.Write(script)
	if err := fs.WalkDir(program, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		source, err := program.ReadFile(name)
		fmt.Fprintf(h, "%s %d\n%s", name, len(source), source)
		return err
	}); err != nil {
		return nil, fmt.Errorf("read the program's own source: %w", err)
	}
	fmt.Fprintf(h, "minify %d\n%s", len(minify.Source), minify.Source)
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if strings.Contains(d.Path, "echarts") || strings.Contains(d.Path, "goja") || strings.Contains(d.Path, "minify") {
				fmt.Fprintln(h, d.Path, d.Version)
			}
		}
	}
	c := &Cache{dir: dir, script: script, base: h.Sum(nil), start: sync.OnceValues(func() (*Renderer, error) { return New(script) })}
	return c, nil
}

// Script is the bundle, from which a browser draws the same figures.
func (c *Cache) Script() []byte { return c.script }

// Draw gives the drawing of a figure.
func (c *Cache) Draw(f *Figure) (Drawing, error) {
	readied, key, err := c.ready(*f)
	if err != nil {
		return Drawing{}, err
	}
	d, kept, err := c.draw(readied, key, c.start)
	if !kept { // there is one more than before
		c.tidy.Do(func() { c.trim(time.Now()) })
	}
	return d, err
}

// Drawn is the drawings of many figures.
type Drawn struct {
	Kept, Made int // how many there were, and how many had to be drawn
	cache      *Cache
	all        map[*Figure]*drawn
}

type drawn struct {
	once sync.Once
	Drawing
	kept bool
}

// DrawAll draws figures, as many at once as there are cores, each once however often it is among them.
func (c *Cache) DrawAll(figures []*Figure) (Drawn, error) {
	out := Drawn{cache: c, all: map[*Figure]*drawn{}}
	byKey := map[string]*drawn{}
	var mu sync.Mutex
	draw := func(f *Figure, start func() (*Renderer, error)) (err error) {
		readied, key, err := c.ready(*f)
		if err != nil {
			return err
		}
		mu.Lock()
		if byKey[key] == nil {
			byKey[key] = &drawn{}
		}
		d := byKey[key]
		out.all[f] = d
		mu.Unlock()
		d.once.Do(func() { // its error is told once, too
			d.Drawing, d.kept, err = c.draw(readied, key, start)
		})
		return err
	}
	errs := make([]error, len(figures))
	var next atomic.Int64
	var wg sync.WaitGroup
	for n := range min(runtime.GOMAXPROCS(0), len(figures)) {
		start := c.start
		if n > 0 { // a renderer draws one figure at a time
			start = sync.OnceValues(func() (*Renderer, error) { return New(c.script) })
		}
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(figures); i = int(next.Add(1)) - 1 {
				errs[i] = draw(figures[i], start)
			}
		})
	}
	wg.Wait()
	for _, d := range byKey {
		if d.kept {
			out.Kept++
		} else {
			out.Made++
		}
	}
	if out.Made > 0 {
		c.tidy.Do(func() { c.trim(time.Now()) })
	}
	return out, errors.Join(errs...)
}

// Draw gives the drawing of a figure, which is made now if it was not among those of DrawAll.
func (d Drawn) Draw(f *Figure) (Drawing, error) {
	if known := d.all[f]; known != nil {
		return known.Drawing, nil
	}
	return d.cache.Draw(f)
}

func (c *Cache) draw(f Figure, key string, start func() (*Renderer, error)) (d Drawing, kept bool, err error) {
	path := c.path(key)
	if d, ok := c.kept(path); ok {
		return d, true, nil
	}
	r, err := start() // only now: with all drawings kept ECharts need not start
	if err != nil {
		return d, false, err
	}
	if d, err = r.Draw(f); err == nil {
		c.keep(path, d)
	}
	return d, false, err
}

// ready makes a figure ready, and the key of it and of what draws it.
func (c *Cache) ready(f Figure) (Figure, string, error) {
	f, err := ready(f)
	if err != nil {
		return f, "", err
	}
	figure, err := json.Marshal(f)
	if err != nil {
		return f, "", fmt.Errorf("draw figure %q: %w", f.ID, err)
	}
	h := sha256.New()
	h.Write(c.base)
	h.Write(figure)
	return f, hex.EncodeToString(h.Sum(nil)), nil
}

// path is where the drawing with a key is kept; "" where nothing is.
func (c *Cache) path(key string) string {
	if c.dir == "" {
		return ""
	}
	return filepath.Join(c.dir, key+".drawing")
}

// A kept drawing is two lines, the hash in hexadecimal of what follows, and the width, the height and the length of the SVG; then the SVG
// and the option as they are: to read them from JSON would take longer than all else that is done with them.
const drawingHead = "%d %d %d"

func (c *Cache) kept(path string) (Drawing, bool) {
	var d Drawing
	if path == "" {
		return d, false
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return d, false
	}
	sum, body, _ := bytes.Cut(content, []byte("\n"))
	want := sha256.Sum256(body)
	if string(sum) != hex.EncodeToString(want[:]) {
		return d, false
	}
	head, rest, _ := bytes.Cut(body, []byte("\n"))
	var svg int
	if _, err := fmt.Sscanf(string(head), drawingHead, &d.Width, &d.Height, &svg); err != nil || svg < 0 || svg > len(rest) {
		return Drawing{}, false
	}
	d.SVG, d.Option = string(rest[:svg]), rest[svg:]
	if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > 24*time.Hour {
		now := time.Now()
		_ = os.Chtimes(path, now, now) // it is in use; if that can't be said, it is drawn again one day
	}
	return d, true
}

// keep writes a drawing, whole or not at all. That it can't is no error: the page has it.
func (c *Cache) keep(path string, d Drawing) {
	if path == "" {
		return
	}
	body := slices.Concat(fmt.Appendf(nil, drawingHead+"\n", d.Width, d.Height, len(d.SVG)), []byte(d.SVG), d.Option)
	sum := sha256.Sum256(body)
	if os.MkdirAll(c.dir, 0o755) != nil {
		return
	}
	tmp, err := os.CreateTemp(c.dir, ".drawing-")
	if err != nil {
		return
	}
	_, err = io.Copy(tmp, io.MultiReader(strings.NewReader(hex.EncodeToString(sum[:])+"\n"), bytes.NewReader(body)))
	if errors.Join(err, tmp.Close()) != nil || os.Rename(tmp.Name(), path) != nil {
		_ = os.Remove(tmp.Name())
	}
}

// trim removes what nobody has used for long.
func (c *Cache) trim(now time.Time) {
	if c.dir == "" {
		return
	}
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".drawing") && !strings.HasPrefix(e.Name(), ".drawing-") {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && now.Sub(info.ModTime()) > unused {
			_ = os.Remove(filepath.Join(c.dir, e.Name()))
		}
	}
}
