package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"genreport/cmd/genreport/internal/article"
	"genreport/cmd/genreport/internal/chart"
	"genreport/cmd/genreport/internal/schema"
	"genreport/cmd/genreport/internal/site"
	"genreport/measure"
	"genreport/measure/experiments"
)

// bundlePath is where `make assets` puts ECharts.
var bundlePath = filepath.Join("build", "echarts.js")

// renderFlags are the flags of render, and of run, which renders too.
type renderFlags struct {
	content, out, baseURL, bundle, cards string
	timings                              bool
}

func (f *renderFlags) register(fs *flag.FlagSet, out string) {
	fs.StringVar(&f.content, "content", "content", "`DIR` with site.yaml and the articles")
	fs.StringVar(&f.out, "out", "", "`DIR` for the pages (default: "+out+")")
	fs.StringVar(&f.baseURL, "base-url", "", "`URL` where the site will stand (default: base_url of site.yaml)")
	fs.StringVar(&f.bundle, "echarts", bundlePath, "`FILE` with the ECharts bundle that `make assets` builds")
}

func renderCommand(_ context.Context, args []string, s streams) error {
	var f renderFlags
	fs := flag.NewFlagSet("render", flag.ContinueOnError)
	f.register(fs, "public; build/public for the profile quick")
	fs.StringVar(&f.cards, "cards", "", "`DIR` in which to leave the pages that pictures for previews of links are taken of (`make social` does)")
	fs.BoolVar(&f.timings, "timings", false, "tell how long each part took, and how many charts were drawn")
	results := fs.String("results", "", "`DIR` with result files (default: content/results; build/results for the profile quick)")
	profile := fs.String("profile", string(experiments.Standard), "`NAME`: with quick, pages are made from quick runs too")
	if err := parse(fs, args, s, "Makes the pages from the content and the newest complete runs."); err != nil {
		return err
	}
	p, err := experiments.ParseProfile(*profile)
	if err != nil {
		return usageError{err}
	}
	if err := checkResults(*results); err != nil {
		return err
	}
	// A render is over before it has made much garbage: to collect it takes a tenth of its time.
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(min(debug.SetMemoryLimit(-1), garbageLimit))
	return f.render(s, resultsFor(*results, p), p)
}

// garbageLimit is the memory, in bytes, below which nothing is collected.
const garbageLimit = 1 << 30

// checkResults refuses a directory that was named and is not there: the default
// one may be missing before the first run.
func checkResults(given string) error {
	if given == "" {
		return nil
	}
	if info, err := os.Stat(given); err != nil {
		return usageError{fmt.Errorf("--results %s: %w", given, err)}
	} else if !info.IsDir() {
		return usageError{fmt.Errorf("--results %s is not a directory", given)}
	}
	return nil
}

// resultsFor keeps quick runs out of what is committed.
func resultsFor(given string, p experiments.Profile) string {
	switch {
	case given != "":
		return given
	case p == experiments.Quick:
		return filepath.Join("build", "results")
	}
	return filepath.Join("content", "results")
}

// outFor keeps pages of quick runs out of what is committed.
func outFor(given string, p experiments.Profile) string {
	switch {
	case given != "":
		return given
	case p == experiments.Quick:
		return filepath.Join("build", "public")
	}
	return "public"
}

// material is what pages are made of, read and resolved.
type material struct {
	content  article.Content
	catalog  article.Catalog
	data     article.Data
	profiles []string // that count
	runs     int      // found, of any profile
	pages    []article.Page
}

// readMaterial reads content and results, and resolves the pages.
func readMaterial(contentDir, results string, p experiments.Profile) (material, error) {
	m, err := readFiles(contentDir, results, p)
	if err == nil {
		err = m.resolve(contentDir)
	}
	return m, err
}

// readFiles reads content and results; what is wrong with either is told
// together. With the profile quick, quick runs count too.
func readFiles(contentDir, results string, p experiments.Profile) (material, error) {
	var m material
	var contentErr, resultsErr error
	var reading sync.WaitGroup
	reading.Go(func() {
		if m.content, contentErr = article.Load(os.DirFS(contentDir)); contentErr != nil {
			contentErr = inDir(contentDir, contentErr)
		}
	})
	var runs []measure.Recorded
	if _, err := os.Stat(results); !errors.Is(err, fs.ErrNotExist) { // without any there is still an article
		if runs, resultsErr = measure.Load(os.DirFS(results), experiments.Methods()); resultsErr != nil {
			resultsErr = inDir(results, resultsErr)
		}
	}
	reading.Wait()
	m.profiles = []string{string(experiments.Standard), string(experiments.Full)}
	if p == experiments.Quick {
		m.profiles = append(m.profiles, string(experiments.Quick))
	}
	m.catalog = catalog()
	m.runs, m.data = len(runs), article.NewData(m.catalog, runs, m.profiles)
	if err := errors.Join(contentErr, resultsErr); err != nil {
		if resultsErr == nil { // what is wrong in the articles that could be read
			if _, more := m.content.Resolve(m.data); more != nil {
				err = errors.Join(err, inDir(contentDir, more))
			}
		}
		return m, usageError{err}
	}
	return m, nil
}

// resolve makes the pages.
func (m *material) resolve(contentDir string) error {
	var err error
	if m.pages, err = m.content.Resolve(m.data); err != nil {
		return usageError{inDir(contentDir, err)}
	}
	return nil
}

// render makes all pages. With the profile quick, quick runs count too.
func (f *renderFlags) render(s streams, results string, p experiments.Profile) error {
	took := begin()
	out := outFor(f.out, p)
	var charts *chart.Cache
	var chartsErr error
	var opening sync.WaitGroup
	opening.Go(func() { charts, chartsErr = chart.Open(f.bundle, drawings()) })
	m, err := readFiles(f.content, results, p)
	opening.Wait()
	if err != nil {
		return err
	}
	took.done("reading", "")
	if err := errors.Join(m.resolve(f.content), chartsErr); err != nil {
		return err
	}
	took.done("articles", "")
	content, pages := m.content, m.pages
	baseURL := content.Site.BaseURL
	if f.baseURL != "" {
		baseURL = f.baseURL
	}
	in := site.Input{
		Config: site.Config{Title: content.Site.Title, Author: content.Site.Author, Footer: content.Site.Footer, BaseURL: baseURL, License: content.Site.License, Languages: content.Site.Languages},
		Pages:  pages, ECharts: charts.Script(), Tool: version,
	}
	var published []string // runs
	for _, p := range pages {
		published = append(published, runIDs(p)...)
	}
	if p != experiments.Quick {
		h, err := historyOf(content, m, pages)
		if err != nil {
			return usageError{inDir(f.content, err)}
		}
		in.Runs, in.Earlier, in.Changes = m.data.Runs(), h.earlier, h.changes
		for _, r := range in.Runs {
			published = append(published, r.Run.ID)
		}
	}
	took.done("earlier runs", "")
	drawn, err := charts.DrawAll(figures(in))
	if err != nil {
		return err
	}
	in.Charts = drawn
	took.done("charts", fmt.Sprintf(" (%d drawn, %d kept)", drawn.Made, drawn.Kept))
	if in.Data, err = schema.Files(); err != nil {
		return err
	}
	maps.Copy(in.Data, resultFiles(m.data.Runs(), published))
	if f.cards != "" {
		if err := writeCards(f.cards, in); err != nil {
			return err
		}
	}
	var lacking []string
	if baseURL != "" {
		if in.Pictures, lacking, err = picturesOf(f.content, in); err != nil {
			return err
		}
	}
	files, err := site.Build(in)
	if err != nil {
		return err
	}
	took.done("pages", "")
	if err := site.Write(out, files); err != nil {
		return err
	}
	took.done("writing", "")
	missing := 0
	for _, p := range pages {
		missing += len(p.Unmet)
	}
	fmt.Fprintf(s.err, "%d pages in %s; open %s\n", len(pages), out, filepath.Join(out, "index.html"))
	if f.timings {
		fmt.Fprintf(s.err, "timings: %s\n", took)
	}
	if baseURL == "" {
		fmt.Fprintf(s.err, "no base_url in site.yaml, so pages have no sitemap, no canonical links and no preview pictures, and 404.html has no style below a path: give it before publishing\n")
	} else if len(lacking) > 0 {
		fmt.Fprintf(s.err, "%d pages have no preview picture of what they say now: run `make social`\n", len(lacking))
	}
	if m.runs == 0 {
		fmt.Fprintf(s.err, "there is no run in %s yet, so every number reads \"not measured\": run `genreport measure`\n", results)
	} else if missing > 0 {
		fmt.Fprintf(s.err, "%d references have no number and read \"not measured\"\n", missing)
	}
	return nil
}

// figures are those of all pages, as they are drawn.
func figures(in site.Input) []*chart.Figure {
	pages := slices.Clone(in.Pages)
	for _, e := range in.Earlier {
		pages = append(pages, e.Page)
	}
	var all []*chart.Figure
	for _, p := range pages {
		for _, b := range p.Blocks {
			if b.Figure != nil {
				all = append(all, &b.Figure.Wide, &b.Figure.Narrow)
			}
		}
	}
	return all
}

// timings is how long the parts of a render took.
type timings struct {
	start, last time.Time
	parts       []string
}

func begin() *timings {
	now := time.Now()
	return &timings{start: now, last: now}
}

// done ends a part; the note says what it did.
func (t *timings) done(part, note string) {
	now := time.Now()
	t.parts = append(t.parts, fmt.Sprintf("%s %d ms%s", part, now.Sub(t.last).Milliseconds(), note))
	t.last = now
}

func (t *timings) String() string {
	return fmt.Sprintf("%s; together %d ms", strings.Join(t.parts, ", "), t.last.Sub(t.start).Milliseconds())
}

// drawings is where charts are kept that are drawn; "" where there is no such place.
func drawings() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "genreport", "charts")
}

// inDir puts the directory that was read before the file names of errors.
func inDir(dir string, err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok { // not below: that would lose the file and line around it
		var out []error
		for _, e := range joined.Unwrap() {
			out = append(out, inDir(dir, e))
		}
		return errors.Join(out...)
	}
	return fmt.Errorf("%s%c%w", dir, filepath.Separator, err)
}

// catalog is what articles may refer to.
func catalog() article.Catalog {
	c := article.Catalog{}
	for _, e := range experiments.All() {
		k := article.Known{Metrics: e.Metrics, Series: sortedKeys(e.Series)}
		for name := range e.Texts {
			k.Texts = append(k.Texts, name)
		}
		slices.Sort(k.Texts)
		for _, one := range e.Cases(experiments.Standard) {
			k.Cases = append(k.Cases, one.Labels)
		}
		c[e.Name] = k
	}
	return c
}

func runCommand(ctx context.Context, args []string, s streams) error {
	var m measureFlags
	var r renderFlags
	fs := flag.NewFlagSet("run", flag.ContinueOnError)
	m.register(fs, string(experiments.Quick))
	r.register(fs, "public; build/public for the profile quick")
	if err := parse(fs, args, s, "Measures, then makes the pages."); err != nil {
		return err
	}
	// What would stop the pages is found before the measurements, not after.
	if _, err := article.Load(os.DirFS(r.content)); err != nil {
		return usageError{inDir(r.content, err)}
	}
	if _, err := chart.Load(r.bundle); err != nil {
		return err
	}
	id, err := m.measure(ctx, s)
	if id == "" {
		return err // nothing to show; a run with failed cells has an id
	}
	if renderErr := r.render(s, m.resultsDir(), experiments.Profile(m.profile)); renderErr != nil {
		if err != nil {
			fmt.Fprintf(s.err, "genreport run: %v\n", err)
		}
		return renderErr
	}
	return err
}
