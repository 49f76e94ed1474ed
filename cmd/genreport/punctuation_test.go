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
