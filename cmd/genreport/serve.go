package main

import (
	"bytes"
	"context"

	"errors"
	"flag"
	"fmt"
	"html"
	"io/fs"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"genreport/cmd/genreport/internal/article"
	"genreport/cmd/genreport/internal/chart"
	"genreport/cmd/genreport/internal/schema"
	"genreport/cmd/genreport/internal/site"
	"genreport/measure"
	"genreport/measure/experiments"
)

func serveCommand(ctx context.Context, args []string, s streams) error {
	var p preview
	fs := flag.NewFlagSet("serve", flag.ContinueOnError)
	addr := fs.String("addr", "127.0.0.1:9500", "loopback `ADDRESS` to listen on; port 0 takes a free one")
	fs.StringVar(&p.content, "content", "content", "`DIR` with site.yaml and the articles")
	results := fs.String("results", "", "`DIR` with result files (default: content/results; build/results for the profile quick)")
	profile := fs.String("profile", string(experiments.Standard), "`NAME`: with quick, pages are made from quick runs too")
	fs.StringVar(&p.templates, "templates", "", "`DIR` with the templates (default: templates, if it has them, or those built in)")
	bundle := fs.String("echarts", bundlePath, "`FILE` with the ECharts bundle that `make assets` builds")
	if err := parse(fs, args, s, "Shows the pages at a loopback address, and again after each change of content, results or\ntemplates. What is wrong stands on top of each page. Nothing is written, and no broker is asked."); err != nil {
		return err
	}
	profileName, err := experiments.ParseProfile(*profile)
	if err != nil {
		return usageError{err}
	}
	if err := checkResults(*results); err != nil {
		return err
	}
	if err := checkLoopback(*addr); err != nil {
		return usageError{err}
	}
	if info, err := os.Stat(p.content); err != nil {
		return usageError{fmt.Errorf("--content: %w", err)}
	} else if !info.IsDir() {
		return usageError{fmt.Errorf("--content: %s is not a directory", p.content)}
	}
	p.results = resultsFor(*results, profileName)
	p.profiles = profilesOf(profileName)
	if p.templates == "" {
		if _, err := os.Stat(filepath.Join("templates", "article.html")); err == nil {
			p.templates = "templates"
		}
	}
	charts, err := chart.Open(*bundle, drawings())
	if err != nil {
		return err
	}
	p.charts = charts
	if p.schemas, err = schema.Files(); err != nil {
		return err
	}
	return p.serve(ctx, *addr, s)
}

// checkLoopback refuses an address that others on the network reach: drafts and
// error messages are nobody else's.
func checkLoopback(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("--addr %s: %w", addr, err)
	}
	if !isLoopback(host) {
		return fmt.Errorf("--addr %s is not a loopback address: use 127.0.0.1:PORT; for others, `genreport render` makes the pages", addr)
	}
	return nil
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// profilesOf are those whose runs pages show.
func profilesOf(p experiments.Profile) []string {
	all := []string{string(experiments.Standard), string(experiments.Full)}
	if p == experiments.Quick {
		all = append(all, string(experiments.Quick))
	}
	return all
}

// preview is a site that is made again whenever what it is made of changes.
type preview struct {
	content, results, templates string
	profiles                    []string
	charts                      *chart.Cache
	schemas                     map[string][]byte

	// Of the goroutine that makes the site.
	again   *article.Again // of the results that were read last
	dataErr error
	runs    []measure.Recorded
	good    []article.Page // the last ones without an error
	config  site.Config

	mu      sync.Mutex
	shown   shown
	changed chan struct{} // closed when shown is replaced
}

// shown is what is served.
type shown struct {
	version string
	files   map[string][]byte
	errs    []string
}

// A save shows in the browser within half a second. BenchmarkServe measures it, from
// the write to the event, on the repository's articles; what it says of an AMD EPYC
// with two cores, on which a RabbitMQ node and its clients were measured meanwhile
// (load 4):
//
//	zh/channels-and-connections.md   220 ms, the slowest of twenty 359 ms
//	en/rabbitmq-versions.md          267 ms, 518 ms
//	zh/web-api.md                    231 ms, 301 ms
//	rabbitmq-versions.yaml           209 ms, 302 ms
const (
	quiet   = 30 * time.Millisecond  // after the last of the events that one save gives
	longest = 150 * time.Millisecond // that a change waits for others
)

func (p *preview) serve(ctx context.Context, addr string, s streams) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watching files: %w", err)
	}
	defer watcher.Close()
	for _, dir := range []string{p.content, p.results, p.templates} {
		if err := watchTree(watcher, dir); err != nil {
			return fmt.Errorf("watching %s: %w", dir, err)
		}
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("--addr: %w: another port may be free", err)
	}
	p.changed = make(chan struct{})
	p.shown.version = "0" // until the first pages are made
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server := &http.Server{Handler: p, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	defer server.Close()
	fmt.Fprintf(s.err, "the pages are at http://%s/ and follow each change; Ctrl-C ends it\n", listener.Addr())
	p.make(true, s)
	return p.follow(ctx, watcher, served, s)
}

// follow makes the site again after changes, until ctx ends.
func (p *preview) follow(ctx context.Context, watcher *fsnotify.Watcher, served <-chan error, s streams) error {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	var first time.Time // of the changes that wait
	results := false    // are among them
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-served:
			return fmt.Errorf("serving: %w", err)
		case err := <-watcher.Errors: // events were lost: look at everything
			fmt.Fprintf(s.err, "watching files: %v\n", err)
			results = true
		case e := <-watcher.Events:
			if e.Op == fsnotify.Chmod || isScratch(e.Name) {
				continue
			}
			if e.Has(fsnotify.Create) {
				if err := watchTree(watcher, e.Name); err != nil {
					fmt.Fprintf(s.err, "watching %s: %v\n", e.Name, err)
				}
			}
			results = results || within(p.results, e.Name)
		case <-timer.C:
			p.make(results, s)
			first, results = time.Time{}, false
			continue
		}
		if first.IsZero() {
			first = time.Now()
		}
		timer.Reset(min(quiet, max(0, time.Until(first.Add(longest)))))
	}
}

// watchTree watches a directory and those in it; what is none is let be.
func watchTree(watcher *fsnotify.Watcher, dir string) error {
	if dir == "" {
		return nil
	}
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // gone again, or not there yet
		}
		if err != nil || !d.IsDir() {
			return err
		}
		return watcher.Add(name)
	})
}

// isScratch tells an editor's own files.
func isScratch(name string) bool {
	base := filepath.Base(name)
	return strings.HasPrefix(base, ".") || strings.HasSuffix(base, "~") || strings.HasSuffix(base, ".swp") || base == "4913"
}

func within(dir, name string) bool {
	rel, err := filepath.Rel(dir, name)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// make reads what there is and replaces what is served. Where something is
// wrong, the last pages without an error stay, below the errors.
func (p *preview) make(results bool, s streams) {
	began := time.Now()
	files, err := p.build(results)
	errs := messages(err)
	p.mu.Lock()
	defer p.mu.Unlock()
	if files == nil {
		files = p.shown.files
	}
	if p.shown.files != nil && slices.Equal(errs, p.shown.errs) && maps.EqualFunc(files, p.shown.files, bytes.Equal) {
		return
	}
	p.shown = shown{strconv.FormatInt(time.Now().UnixNano(), 36), files, errs}
	close(p.changed)
	p.changed = make(chan struct{})
	for _, e := range errs {
		fmt.Fprintln(s.err, e)
	}
	fmt.Fprintf(s.err, "%s: %d files in %d ms, %d errors\n", began.Format(time.TimeOnly), len(files), time.Since(began).Milliseconds(), len(errs))
}

// build is the site's files; nil where none can be made. There may be files and
// errors.
func (p *preview) build(results bool) (map[string][]byte, error) {
	if results {
		p.load()
	}
	content, contentErr := article.Load(os.DirFS(p.content))
	pages, pagesErr := p.again.Resolve(content)
	var errs []error
	for _, err := range []error{contentErr, pagesErr} {
		if err != nil {
			errs = append(errs, inDir(p.content, err))
		}
	}
	errs = append(errs, p.dataErr)
	if contentErr == nil || len(pages) > 0 { // else site.yaml itself may be wrong
		p.config = site.Config{Title: content.Site.Title, Author: content.Site.Author, Footer: content.Site.Footer, BaseURL: content.Site.BaseURL, Languages: content.Site.Languages}
	}
	if contentErr != nil || pagesErr != nil {
		pages = p.withGood(pages)
	}
	if len(p.config.Languages) == 0 {
		return nil, errors.Join(errs...)
	}
	p.good = pages
	// A run that is gone while its last good page is still shown has no files, which site.Build tells.
	var cited []string
	for _, page := range pages {
		cited = append(cited, runIDs(page)...)
	}
	data := resultFiles(p.runs, cited)
	maps.Copy(data, p.schemas)
	in := site.Input{Config: p.config, Pages: pages, Charts: p.charts, ECharts: p.charts.Script(), Data: data, Tool: version}
	if p.templates != "" {
		in.Templates = os.DirFS(p.templates)
	}
	files, err := site.Build(in)
	return files, errors.Join(append(errs, err)...)
}

// withGood adds the last good pages of articles that have an error now.
func (p *preview) withGood(pages []article.Page) []article.Page {
	for _, old := range p.good {
		if slices.Contains(p.config.Languages, old.Lang) && !slices.ContainsFunc(pages, func(n article.Page) bool { return n.Slug == old.Slug && n.Lang == old.Lang }) {
			pages = append(pages, old)
		}
	}
	slices.SortStableFunc(pages, func(a, b article.Page) int {
		switch {
		case a.Aside != b.Aside && a.Aside:
			return 1
		case a.Aside != b.Aside:
			return -1
		case a.Aside:
			return strings.Compare(a.Slug, b.Slug)
		}
		return a.Number - b.Number
	})
	return pages
}

// load reads the results. Where one is wrong, those that were read before stay.
func (p *preview) load() {
	var runs []measure.Recorded
	p.dataErr = nil
	if _, err := os.Stat(p.results); !errors.Is(err, fs.ErrNotExist) {
		if runs, err = measure.Load(os.DirFS(p.results), experiments.Methods()); err != nil {
			p.dataErr = inDir(p.results, err)
			if p.again != nil {
				return
			}
		}
	}
	p.runs, p.again = runs, article.NewAgain(article.NewData(catalog(), runs, p.profiles))
}

// messages are the errors that are joined in one, a line or more each.
func messages(err error) []string {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var out []string
		for _, e := range joined.Unwrap() {
			out = append(out, messages(e)...)
		}
		return out
	}
	return strings.Split(err.Error(), "\n")
}

const (
	eventsPath = "/_serve/events"
	scriptPath = "/_serve/reload.js"
)

// reloadScript is added to pages here and nowhere else.
const reloadScript = `const version = document.currentScript.dataset.version;
new EventSource("` + eventsPath + `").onmessage = e => { if (e.data !== version) location.reload(); };
`

func (p *preview) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// A name that another host's page makes lead here is refused.
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	if !isLoopback(host) {
		http.Error(w, "the preview is for this machine: open it by its loopback address", http.StatusForbidden)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "there is nothing to write to", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	switch r.URL.Path {
	case eventsPath:
		p.events(w, r)
		return
	case scriptPath:
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		fmt.Fprint(w, reloadScript)
		return
	}
	now, _ := p.now()
	name := strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")
	if name == "" || strings.HasSuffix(r.URL.Path, "/") {
		name = path.Join(name, "index.html")
	}
	body, ok := now.files[name]
	status := http.StatusOK
	if !ok {
		status, name = http.StatusNotFound, "404.html"
		if body, ok = now.files[name]; !ok {
			body = []byte("<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>genreport serve</title></head>\n<body>\n<p>The pages are not made yet. They show as soon as they are.</p>\n</body>\n</html>\n")
		}
	}
	kind := mime.TypeByExtension(path.Ext(name))
	if kind == "" {
		kind = "application/octet-stream"
	}
	w.Header().Set("Content-Type", kind)
	if path.Ext(name) == ".html" {
		body = now.dress(body)
	}
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

func (p *preview) now() (shown, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shown, p.changed
}

// dress adds to a page what only the preview has: the errors and the script.
func (s shown) dress(page []byte) []byte {
	var top string
	if len(s.errs) > 0 {
		var b strings.Builder
		b.WriteString(`<details open id="_serve" lang="en" style="margin:0;padding:.6rem 1rem;background:#fdecea;color:#611a15;font:14px/1.5 monospace;border-bottom:2px solid #b3261e">`)
		fmt.Fprintf(&b, "<summary>%d errors; what is wrong is shown as it last was</summary>\n<ul>\n", len(s.errs))
		for _, e := range s.errs {
			b.WriteString("<li>" + html.EscapeString(e) + "</li>\n")
		}
		b.WriteString("</ul>\n</details>\n")
		top = b.String()
	}
	page = bytes.Replace(page, []byte("<body>\n"), []byte("<body>\n"+top), 1)
	return bytes.Replace(page, []byte("</body>"), []byte(`<script src="`+scriptPath+`" data-version="`+s.version+`"></script>`+"\n</body>"), 1)
}

// events tells the version that is shown, now and whenever it changes.
func (p *preview) events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	fmt.Fprint(w, "retry: 500\n\n")
	for {
		now, changed := p.now()
		if _, err := fmt.Fprintf(w, "data: %s\n\n", now.version); err != nil {
			return
		}
		if err := control.Flush(); err != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-changed:
		}
	}
}
