package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// lines is a writer that gives what is written, line by line.
type lines struct {
	mu   sync.Mutex
	part string
	out  chan string
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := strings.Split(l.part+string(p), "\n")
	for _, line := range all[:len(all)-1] {
		select {
		case l.out <- line:
		default: // the test reads no more
		}
	}
	l.part = all[len(all)-1]
	return len(p), nil
}

// generous is far more than a change takes, for machines that are busy; what it
// takes is told by serve itself.
const generous = 2 * time.Minute

// served is a preview that runs.
type served struct {
	t       testing.TB
	url     string
	events  *bufio.Reader
	version string
}

func startServe(t testing.TB, args ...string) *served {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	log := &lines{out: make(chan string, 1000)}
	done := make(chan error, 1)
	go func() {
		done <- serveCommand(ctx, append([]string{"--addr", "127.0.0.1:0", "--echarts", filepath.Join("..", "..", bundlePath)}, args...), streams{err: log, out: io.Discard})
	}()
	var s *served
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("it ended with %v", err)
			}
		case <-time.After(generous):
			t.Error("it does not end")
		}
	})
	for s == nil {
		select {
		case err := <-done:
			done <- err
			t.Fatalf("it ended: %v", err)
		case line := <-log.out:
			if m := regexp.MustCompile(`http://\S+/`).FindString(line); m != "" {
				s = &served{t: t, url: m}
			}
		case <-time.After(generous):
			t.Fatal("it does not say where it listens")
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+strings.TrimPrefix(eventsPath, "/"), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	s.events = bufio.NewReader(resp.Body)
	if s.next(); s.version == "0" {
		s.next() // the pages are made
	}
	return s
}

// next waits for an event.
func (s *served) next() {
	s.t.Helper()
	got := make(chan string, 1)
	go func() {
		for {
			line, err := s.events.ReadString('\n')
			if err != nil {
				return
			}
			if v, ok := strings.CutPrefix(line, "data: "); ok {
				got <- strings.TrimSpace(v)
				return
			}
		}
	}()
	select {
	case v := <-got:
		if v == s.version {
			s.t.Errorf("version %s was told twice", v)
		}
		s.version = v
	case <-time.After(generous):
		s.t.Fatal("there is no event")
	}
}

// get is a file as it is served.
func (s *served) get(name string, status int) string {
	s.t.Helper()
	resp, err := http.Get(s.url + name)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != status {
		s.t.Fatalf("%s: status %d, %v", name, resp.StatusCode, err)
	}
	return string(body)
}

func (s *served) has(page string, want ...string) {
	s.t.Helper()
	for _, w := range want {
		if !strings.Contains(page, w) {
			s.t.Errorf("the page lacks %q: %.2000s", w, page)
		}
	}
}

func writeTo(t testing.TB, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

const serveHead = "---\ntitle: T\nquestion: Q?\nsummary: S.\nheadlines: [{value: a, label: l}, {value: b, label: l}, {value: c, label: l}]\n---\n\n"

func smallContent(t *testing.T) string {
	dir := t.TempDir()
	writeTo(t, dir, "site.yaml", "title: {en: Site}\nlanguages: [en]\n")
	for _, slug := range []string{"one", "two"} {
		writeTo(t, dir, slug+".yaml", "series: "+slug+"\nnumber: 1\nbrokers: {current: 'debian:forky'}\n")
		writeTo(t, dir, "en/"+slug+".md", serveHead+"Words of "+slug+".\n")
	}
	return dir
}

func TestServe(t *testing.T) {
	dir := smallContent(t)
	templates := filepath.Join(t.TempDir(), "templates")
	if err := os.CopyFS(templates, os.DirFS(filepath.Join("..", "..", "templates"))); err != nil {
		t.Fatal(err)
	}
	s := startServe(t, "--content", dir, "--templates", templates)
	page := s.get("en/one.html", http.StatusOK)
	s.has(page, "Words of one.", `<script src="/_serve/reload.js" data-version="`+s.version+`">`)
	if strings.Contains(page, "_serve\"") {
		t.Error("there are errors")
	}
	s.has(s.get("", http.StatusOK), "Site")
	s.has(s.get("en/", http.StatusOK), "one.html")
	s.has(s.get("_serve/reload.js", http.StatusOK), "EventSource")
	s.has(s.get("en/three.html", http.StatusNotFound), "_serve/reload.js")

	// A sentence.
	began := time.Now()
	writeTo(t, dir, "en/one.md", serveHead+"Other words.\n")
	s.next()
	s.has(s.get("en/one.html", http.StatusOK), "Other words.", s.version)
	t.Logf("a change is shown after %v", time.Since(began))

	// Errors of two articles are told, with file and line; the pages stay, and
	// a third article's change shows.
	writeTo(t, dir, "en/two.md", serveHead+"\n${channel-limit/negotiate client=pika}\n")
	s.next()
	writeTo(t, dir, "en/one.md", serveHead+"a <b>c</b>\n")
	s.next()
	page = s.get("en/two.html", http.StatusOK)
	s.has(page, filepath.Join(dir, "en/two.md")+":9:17: unknown metric &#34;negotiate&#34;; did you mean &#34;negotiated&#34;?",
		filepath.Join(dir, "en/one.md")+":8:3: HTML is not passed on", "Words of two.", "2 errors")
	s.has(s.get("en/one.html", http.StatusOK), "Other words.", "2 errors")
	s.has(s.get("en/index.html", http.StatusOK), "one.html", "two.html")
	writeTo(t, dir, "pages/en/three.md", "---\ntitle: Three\nsummary: S.\n---\n\nIt is new.\n") // in directories that are new too
	for !strings.Contains(s.get("en/index.html", http.StatusOK), "three.html") {
		s.next()
	}
	s.has(s.get("en/three.html", http.StatusOK), "It is new.", "2 errors")

	// site.yaml, without which there is no site: what there was stays.
	writeTo(t, dir, "site.yaml", "title: {en: Site}\nlanguages: [en\n")
	s.next()
	s.has(s.get("en/three.html", http.StatusOK), "It is new.", filepath.Join(dir, "site.yaml")+":")
	writeTo(t, dir, "site.yaml", "title: {en: Another}\nlanguages: [en]\n")
	s.next()
	writeTo(t, dir, "en/one.md", serveHead+"Mended.\n")
	s.next()
	writeTo(t, dir, "en/two.md", serveHead+"Mended too.\n")
	s.next()
	page = s.get("en/two.html", http.StatusOK)
	s.has(page, "Mended too.", "Another")
	if strings.Contains(page, "errors") {
		t.Error("errors stay after they are mended")
	}

	// A template, and one that is wrong.
	base, err := os.ReadFile(filepath.Join(templates, "base.html"))
	if err != nil {
		t.Fatal(err)
	}
	writeTo(t, templates, "base.html", strings.Replace(string(base), `<footer class="site">`, `<footer class="site">A foot.`, 1))
	s.next()
	s.has(s.get("en/two.html", http.StatusOK), "A foot.")
	writeTo(t, templates, "base.html", string(base)+"{{")
	s.next()
	s.has(s.get("en/two.html", http.StatusOK), "Mended too.", "template: base.html:")
	writeTo(t, templates, "base.html", string(base))
	s.next()

	// An article that is gone is gone.
	for _, name := range []string{"one.yaml", "en/one.md"} {
		if err := os.Remove(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			t.Fatal(err)
		}
	}
	for deadline := time.Now().Add(generous); ; time.Sleep(50 * time.Millisecond) {
		resp, err := http.Get(s.url + "en/one.html")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusNotFound {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the page of an article that is gone stays")
		}
	}

	// Nothing is for others, and nothing is written.
	req, _ := http.NewRequest(http.MethodGet, s.url, nil)
	req.Host = "rebound.example:80"
	if resp, err := http.DefaultClient.Do(req); err != nil || resp.StatusCode != http.StatusForbidden {
		t.Errorf("another host's name: %v, %v", resp, err)
	}
	if resp, err := http.Post(s.url, "text/plain", strings.NewReader("x")); err != nil || resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %v, %v", resp, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 4 { // site.yaml, two.yaml, en, pages
		t.Errorf("%v, %v", entries, err)
	}
}

// The repository's own articles, with their charts and claims.
func TestServeArticles(t *testing.T) {
	if testing.Short() {
		t.Skip("it draws all charts")
	}
	dir := filepath.Join(t.TempDir(), "content")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "content"))); err != nil {
		t.Fatal(err)
	}
	s := startServe(t, "--content", dir, "--results", filepath.Join(dir, "results"))
	name := filepath.Join(dir, "zh", "channels-and-connections.md")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for i, words := range []string{"one", "two", "three"} {
		began := time.Now()
		writeTo(t, dir, "zh/channels-and-connections.md", string(text)+"\nThe words are "+words+".\n")
		s.next()
		s.has(s.get("zh/channels-and-connections.html", http.StatusOK), "The words are "+words+".")
		t.Logf("change %d is shown after %v", i+1, time.Since(began))
	}
	// Results that are gone are not measured.
	runs, err := filepath.Glob(filepath.Join(dir, "results", "*", "channel-limit.json"))
	if err != nil || len(runs) == 0 {
		t.Fatal(runs, err)
	}
	for _, name := range runs {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	for !strings.Contains(s.get("en/channels-and-connections.html", http.StatusOK), "not measured") {
		s.next()
	}
}

// BenchmarkServe is the time from a saved file until the browser is told to load the
// page again, on the repository's articles: a sentence of the Markdown, and the
// declarations beside it.
//
//	go test -run '^$' -bench Serve -benchtime 20x ./cmd/genreport
//
// It has to be below half a second. The rules are those of the preview: it waits
// until no file has changed for 30 ms (quiet), makes the pages whose files changed,
// and takes the others, their charts and the results as they were. serve.go has the
// figures.
func BenchmarkServe(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "content")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "content"))); err != nil {
		b.Fatal(err)
	}
	s := startServe(b, "--content", dir, "--results", filepath.Join(dir, "results"))
	changed := 0
	for _, name := range []string{"zh/channels-and-connections.md", "en/rabbitmq-versions.md", "zh/web-api.md", "rabbitmq-versions.yaml"} {
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			var slowest time.Duration
			for b.Loop() {
				changed++
				began := time.Now()
				if strings.HasSuffix(name, ".md") {
					writeTo(b, dir, name, string(text)+"\nIt changed "+strconv.Itoa(changed)+" times.\n")
				} else { // which both languages show
					writeTo(b, dir, name, string(text)+"errata:\n  - {date: 2026-12-01, en: \"a "+strconv.Itoa(changed)+"\", zh: \"a "+strconv.Itoa(changed)+"\"}\n")
				}
				s.next()
				slowest = max(slowest, time.Since(began))
			}
			b.ReportMetric(float64(slowest.Milliseconds()), "ms-slowest")
		})
	}
}

func TestServeRefuses(t *testing.T) {
	dir := smallContent(t)
	for want, args := range map[string][]string{
		"not a loopback address": {"--content", dir, "--addr", ":9500"},
		"0.0.0.0:9500":           {"--content", dir, "--addr", "0.0.0.0:9500"},
		"192.0.2.1:9500":         {"--content", dir, "--addr", "192.0.2.1:9500"},
		"missing port":           {"--content", dir, "--addr", "127.0.0.1"},
		"--content":              {"--content", filepath.Join(dir, "nosuch")},
		"not a directory":        {"--content", filepath.Join(dir, "site.yaml")},
		"make assets":            {"--content", dir, "--echarts", "nosuch.js"},
	} {
		err := serveCommand(t.Context(), args, streams{err: io.Discard, out: io.Discard})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", args, err, want)
		}
	}
}
