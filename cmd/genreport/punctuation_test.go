package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Chinese text has full-width punctuation, and a half-width space between Han
// and Latin script, everywhere: in what authors write and in what templates say.
func TestChinesePunctuation(t *testing.T) {
	var files []string
	for _, pattern := range []string{"content/zh/*.md", "content/pages/zh/*.md", "content/site.yaml", "cmd/genreport/scaffold/zh.md", "cmd/genreport/internal/site/i18n.go", "cmd/genreport/internal/words/words.go", "cmd/genreport/internal/article/bounds.go"} {
		found, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pattern)))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(found), err)
		}
		files = append(files, found...)
	}
	half := regexp.MustCompile(`\p{Han}[,;:?!()]|[,;?!()]\p{Han}`)
	tight := regexp.MustCompile(`\p{Han}[A-Za-z0-9]|[A-Za-z0-9%]\p{Han}`)
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if m := half.FindString(line); m != "" {
				t.Errorf("%s:%d: half-width punctuation beside Chinese: %q", name, i+1, m)
			}
			if m := tight.FindString(line); m != "" {
				t.Errorf("%s:%d: no space between scripts: %q", name, i+1, m)
			}
		}
	}
}

var (
	notProse  = regexp.MustCompile(`(?s)<(script|pre|code|style)\b.*?</(?:script|pre|code|style)>`)
	attribute = regexp.MustCompile(` (?:title|aria-label|alt|content|data-[a-z]+)="([^"]*)"`)
	signs     = regexp.MustCompile(`<span aria-hidden="true">[^<]*</span>`)
	ends      = regexp.MustCompile(`</(?:td|th|dt|dd|li|p|div|text|title|desc)>`)
	markup    = regexp.MustCompile(`<[^>]*>`)
)

// So has what templates and programs put together, in text and in attributes.
func TestChinesePagesPunctuation(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join("..", "..", "public", "zh", "*.html"))
	if err != nil || len(pages) < 5 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	half := regexp.MustCompile(`\p{Han}[,;:?!()]|\p{Han} \(|[,;?!()]\p{Han}|[^\s·] \x{ff08}`)
	for _, name := range pages {
		page, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text := notProse.ReplaceAllString(string(page), "code")
		found := 0
		for _, m := range attribute.FindAllStringSubmatch(text, -1) {
			found++
			if h := half.FindString(m[1]); h != "" {
				t.Errorf("%s: %q in the attribute%s", name, h, m[0])
			}
		}
		if found == 0 {
			t.Errorf("%s has no attributes: this test sees too little", name)
		}
		text = ends.ReplaceAllString(signs.ReplaceAllString(text, ""), "\n")
		for line := range strings.Lines(markup.ReplaceAllString(text, "")) {
			if h := half.FindString(line); h != "" {
				t.Errorf("%s: %q in %.120q", name, h, strings.TrimSpace(line))
			}
		}
	}
}
