package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"genreport/cmd/genreport/internal/article"
)

// binding is a reference in the text of an article that binds words to results.
// What is given binds nothing.
var binding = regexp.MustCompile(`\$\{[^}]*\}`)

// mutant checks an article of which one file differs.
type mutant struct {
	t     *testing.T
	fsys  fstest.MapFS
	again *article.Again
}

// findings are what check tells of the content: errors, or what does not hold.
func (m mutant) findings(file, text string) []string {
	fsys := fstest.MapFS{}
	for name, f := range m.fsys {
		fsys[name] = f
	}
	fsys[file] = &fstest.MapFile{Data: []byte(text)}
	content, err := article.Load(fsys)
	var pages []article.Page
	if err == nil {
		pages, err = m.again.Resolve(content)
	}
	if err != nil {
		return strings.Split(err.Error(), "\n")
	}
	c := checker{m: material{content: content, pages: pages}, found: map[finding]bool{}}
	for _, p := range pages {
		c.prose(p)
	}
	c.languages()
	var out []string
	for f := range c.found {
		if !f.mild { // those fail only with --strict
			out = append(out, f.place()+": "+f.text)
		}
	}
	return out
}

// Whichever binding of an article is deleted, or replaced by what it reads, check
// tells it, with the file and the place.
func TestEachBinding(t *testing.T) {
	if testing.Short() {
		t.Skip("it changes each of some hundred references")
	}
	root := os.DirFS(filepath.Join("..", "..", "content"))
	data, err := readData(filepath.Join("..", "..", "content", "results"))
	if err != nil {
		t.Fatal(err)
	}
	slugs, err := fs.Glob(root, "*.yaml")
	if err != nil || len(slugs) < 4 { // three articles and site.yaml
		t.Fatal(slugs, err)
	}
	for _, declared := range slugs {
		if declared == "site.yaml" {
			continue
		}
		for _, lang := range []string{"en", "zh"} {
			slug := strings.TrimSuffix(declared, ".yaml")
			file := lang + "/" + slug + ".md"
			t.Run(file, func(t *testing.T) {
				t.Parallel()
				m := mutant{t, fstest.MapFS{}, article.NewAgain(data)}
				for _, name := range []string{"site.yaml", declared, "en/" + slug + ".md", "zh/" + slug + ".md"} {
					text, err := fs.ReadFile(root, name)
					if err != nil {
						t.Fatal(err)
					}
					m.fsys[name] = &fstest.MapFile{Data: text}
				}
				text := string(m.fsys[file].Data)
				if found := m.findings(file, text); len(found) > 0 {
					t.Fatalf("the article itself: %q", found)
				}
				reads := map[article.Place]string{}
				content, err := article.Load(m.fsys)
				if err != nil {
					t.Fatal(err)
				}
				pages, err := m.again.Resolve(content)
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range pages {
					for _, u := range p.Used {
						reads[u.Place] = u.Text
					}
				}
				tried := 0
				for i, at := range binding.FindAllStringIndex(text, -1) {
					ref := text[at[0]:at[1]]
					if strings.HasPrefix(ref, "${given/") {
						continue
					}
					line := text[1+strings.LastIndex(text[:at[0]], "\n") : at[0]]
					place := article.Place{File: file, Line: 1 + strings.Count(text[:at[0]], "\n"), Column: 1 + utf8.RuneCountInString(line)}
					said, ok := reads[place]
					if !ok || said == "" {
						t.Errorf("%+v: %s reads nothing", place, ref)
						continue
					}
					instead := []string{"", said}
					if lang == "zh" { // some: it is the same check, and a page takes its time
						if i%8 != 0 {
							continue
						}
						instead = instead[i/8%2 : i/8%2+1]
					}
					for _, words := range instead {
						tried++
						found := m.findings(file, text[:at[0]]+words+text[at[1]:])
						if !slices.ContainsFunc(found, func(f string) bool { return strings.Contains(f, slug+".md:") }) {
							t.Errorf("%+v: with %q in the place of %s check tells %q", place, words, ref, found)
						}
					}
				}
				if tried < 15 {
					t.Errorf("%d changes", tried)
				}
			})
		}
	}
}
