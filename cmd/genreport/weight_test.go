package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// What a page loads by itself: its style sheets, scripts and icon. What previews and feeds load is not a reader's.
var loaded = regexp.MustCompile(`<(?:link rel="(?:stylesheet|icon)"[^>]*? href|script[^>]*? src)="([^"]+)"`)

// The first view of an article is at most 60 kB over the wire from a host that compresses with gzip, with 400 bytes of headers an
// answer. What a real browser loads is measured by "make site-figures".
func TestFirstViewIsLight(t *testing.T) {
	const limit, headers = 60_000, 400
	pages, err := filepath.Glob(filepath.Join("..", "..", "public", "*", "*.html"))
	if err != nil || len(pages) < 6 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for _, page := range pages {
		html, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		total := headers + compressed(t, html)
		found := loaded.FindAllSubmatch(html, -1)
		if len(found) < 3 {
			t.Errorf("%s loads %d files: this test sees too few", page, len(found))
		}
		for _, m := range found {
			file, err := os.ReadFile(filepath.Join(filepath.Dir(page), filepath.FromSlash(string(m[1]))))
			if err != nil {
				t.Fatal(err)
			}
			total += headers + compressed(t, file)
		}
		t.Logf("%s: %d bytes in %d requests", page, total, 1+len(found))
		if total > limit {
			t.Errorf("%s: its first view is %d bytes over the wire, at most %d are right", page, total, limit)
		}
	}
}

func compressed(t *testing.T, content []byte) int {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Len()
}
