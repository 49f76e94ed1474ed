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
	"runtime/debug"
	"strings"
	"sync"
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
	c.trim(time.Now())
	return c, nil
}

// Script is the bundle, from which a browser draws the same figures.
func (c *Cache) Script() []byte { return c.script }

// Draw gives the drawing of a figure.
func (c *Cache) Draw(f Figure) (Drawing, error) {
	f, err := ready(f)
	if err != nil {
		return Drawing{}, err
	}
	path, err := c.path(f)
	if err != nil {
		return Drawing{}, fmt.Errorf("draw figure %q: %w", f.ID, err)
	}
	if d, ok := c.kept(path); ok {
		return d, nil
	}
	r, err := c.start() // only now: with all drawings kept ECharts need not start
	if err != nil {
		return Drawing{}, err
	}
	d, err := r.Draw(f)
	if err == nil {
		c.keep(path, d)
	}
	return d, err
}

// path is where the drawing of a figure is kept.
func (c *Cache) path(f Figure) (string, error) {
	if c.dir == "" {
		return "", nil
	}
	figure, err := json.Marshal(f)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	h.Write(c.base)
	h.Write(figure)
	return filepath.Join(c.dir, hex.EncodeToString(h.Sum(nil))+".drawing"), nil
}

// A kept drawing is the hash of what follows, in hexadecimal, a newline, and the drawing as JSON.

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
	if string(sum) != hex.EncodeToString(want[:]) || json.Unmarshal(body, &d) != nil {
		return Drawing{}, false
	}
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
	body, err := json.Marshal(d)
	if err != nil {
		return
	}
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
