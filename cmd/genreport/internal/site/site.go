// Package site makes files of pages: HTML that needs no script, works under
// any path and from a disk, and passes a strict Content-Security-Policy.
//
// [Build] is pure: it reads nothing and writes nothing, and gives the same
// bytes for the same input. [Write] puts its result in place of a directory.
package site

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"genreport/cmd/genreport/internal/article"
	"genreport/cmd/genreport/internal/chart"
	"genreport/templates"
)

// Config is what all pages share.
type Config struct {
	Title     map[string]string // by language
	Author    string
	Footer    map[string][]string // lines by language
	BaseURL   string              // where the site will be; may be empty
	Languages []string            // "zh", "en"; the first is the one of the root page's frame
}

// Charts draws figures.
type Charts interface {
	SVG(chart.Figure) (string, error)
}

// Input is all that a site is made of.
type Input struct {
	Config
	Pages  []article.Page // lists have them in this order
	Charts Charts
	Data   map[string][]byte // result files to publish, by path under data/
	Tool   string            // version of genreport

	Templates fs.FS // nil: those that are built in
}

// Build makes the site's files, by path.
func Build(in Input) (map[string][]byte, error) {
	b := builder{in: in, files: map[string][]byte{}, texts: map[string]text{}}
	if err := b.prepare(); err != nil {
		return nil, fmt.Errorf("build the site: %w", err)
	}
	for _, step := range []func() error{b.root, b.indexes, b.articles, b.notFound} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("build the site: %w", err)
		}
	}
	return b.files, nil
}

type builder struct {
	in          Input
	base        *url.URL // nil without a base URL
	texts       map[string]text
	pages       map[string]bool // paths of the articles
	templates   *template.Template
	style, icon string // paths
	files       map[string][]byte
}

var validSlug = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// prepare checks the input and makes the files that pages refer to.
func (b *builder) prepare() error {
	var errs []error
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	if len(b.in.Languages) == 0 {
		bad("no languages: list them in site.yaml")
	}
	for _, lang := range b.in.Languages {
		t, err := ui(lang)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if _, twice := b.texts[lang]; twice {
			bad("language %q is listed twice", lang)
		}
		b.texts[lang] = t
		if strings.TrimSpace(b.in.Title[lang]) == "" {
			bad("no title of the site in language %q: add it to site.yaml", lang)
		}
	}
	if b.in.BaseURL != "" {
		u, err := url.Parse(b.in.BaseURL)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
			bad("base URL %q is not of the form https://example.org/path/", b.in.BaseURL)
		} else {
			u.Path = strings.TrimSuffix(u.Path, "/") + "/"
			b.base = u
		}
	}
	for name, content := range b.in.Data {
		if !fs.ValidPath(name) || name == "." {
			bad("data file %q has no valid path", name)
		}
		b.files["data/"+name] = content
	}
	b.pages = map[string]bool{}
	for _, p := range b.in.Pages {
		path := pagePath(p)
		switch {
		case b.texts[p.Lang].Lang == "":
			bad("article %s is in language %q, which the site doesn't have", p.Slug, p.Lang)
		case !validSlug.MatchString(p.Slug) || p.Slug == "index":
			bad("article %q: its name may have lower-case letters, digits and dashes, and isn't \"index\"", p.Slug)
		case b.pages[path]:
			bad("article %s is there twice", path)
		}
		b.pages[path] = true
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	from := b.in.Templates
	if from == nil {
		from = templates.FS
	}
	for _, a := range []struct {
		name string
		path *string
	}{{"style.css", &b.style}, {"favicon.svg", &b.icon}} {
		content, err := fs.ReadFile(from, a.name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(content)
		name, ext, _ := strings.Cut(a.name, ".")
		*a.path = "assets/" + name + "." + hex.EncodeToString(sum[:])[:10] + "." + ext
		b.files[*a.path] = content
	}
	// GitHub Pages would otherwise leave out what Jekyll does not publish.
	b.files[".nojekyll"] = nil
	var err error
	b.templates, err = template.ParseFS(from, "*.html")
	return err
}

func pagePath(p article.Page) string    { return p.Lang + "/" + p.Slug + ".html" }
func indexPath(lang string) string      { return lang + "/index.html" }
func (b *builder) isFile(p string) bool { _, ok := b.files[p]; return ok }

// root lists the articles of all languages, for visitors who named none.
func (b *builder) root() error {
	const path = "index.html"
	first := b.in.Languages[0]
	f := b.frame(path, first, "", b.texts[first].Tagline)
	f.Switch = b.languages(path, "", indexPath)
	f.Asides = b.asides(path, b.in.Languages...)
	f.Canonical = b.absolute(path)
	f.Alternates = b.alternates(indexPath)
	return b.render("root.html", path, struct {
		frame
		Lists []list
	}{f, b.lists(path)})
}

func (b *builder) indexes() error {
	for _, lang := range b.in.Languages {
		path := indexPath(lang)
		f := b.frame(path, lang, "", b.texts[lang].Tagline)
		f.Switch = b.languages(path, lang, indexPath)
		f.Canonical = b.absolute(path)
		f.Alternates = b.alternates(indexPath)
		if err := b.render("index.html", path, struct {
			frame
			List list
		}{f, b.list(path, lang, 2)}); err != nil {
			return err
		}
	}
	return nil
}

// notFound is shown by hosts in place of a page of any depth. Only its links
// can't be relative, and are from the host's root when that is known.
func (b *builder) notFound() error {
	const path = "404.html"
	first := b.in.Languages[0]
	f := b.frame(path, first, b.texts[first].NotFound, b.texts[first].NotFoundText)
	f.Switch = b.languages(path, "", indexPath)
	f.Asides = b.asides(path, b.in.Languages...)
	f.NoIndex = true
	return b.render("404.html", path, struct {
		frame
		Lists []list
	}{f, b.lists(path)})
}

func (b *builder) articles() error {
	for _, p := range b.in.Pages {
		v, err := b.article(p)
		if err != nil {
			return fmt.Errorf("%s: %w", pagePath(p), err)
		}
		if err := b.render("article.html", pagePath(p), v); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) render(name, path string, data any) error {
	var out bytes.Buffer
	if err := b.templates.ExecuteTemplate(&out, name, data); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	b.files[path] = out.Bytes()
	return nil
}

// frame is what every page has around its content.
type frame struct {
	UI                      text
	Tag, Title, Description string
	SiteTitle, Author, Tool string
	Style, Icon, Home       string
	Canonical               string // "" without a base URL
	Alternates              []alternate
	Switch                  []language
	Footer                  []string
	Asides                  []aside
	NoIndex                 bool
}

// aside leads to a page that is no article.
type aside struct {
	Tag, Title, Href string
	Current          bool
	forAuthors       bool
}

// Explaining are the asides that tell how numbers come about.
func (f frame) Explaining() []aside {
	return slices.DeleteFunc(slices.Clone(f.Asides), func(a aside) bool { return a.forAuthors })
}

type alternate struct{ Tag, Href string }

// language is an entry of the language switch.
type language struct {
	Tag, Name, Href string
	Current         bool
}

func (b *builder) frame(path, lang, title, description string) frame {
	t := b.texts[lang]
	site := b.in.Title[lang]
	if title == "" {
		title = site
	} else {
		title += " · " + site
	}
	return frame{UI: t, Tag: t.Tag, Title: title, Description: description, SiteTitle: site, Author: b.in.Author, Tool: b.in.Tool,
		Style: b.link(path, b.style), Icon: b.link(path, b.icon), Home: b.link(path, indexPath(lang)), Footer: b.in.Footer[lang], Asides: b.asides(path, lang)}
}

// asides are the pages that are no articles, in the given languages, as links
// of the page at path.
func (b *builder) asides(path string, languages ...string) []aside {
	var all []aside
	for _, p := range b.in.Pages {
		if p.Aside && slices.Contains(languages, p.Lang) {
			all = append(all, aside{b.texts[p.Lang].Tag, p.Title, b.link(path, pagePath(p)), pagePath(p) == path, p.ForAuthors})
		}
	}
	return all
}

// languages is the switch of the page at path, to what "to" gives for each.
func (b *builder) languages(path, current string, to func(lang string) string) []language {
	var all []language
	for _, lang := range b.in.Languages {
		t := b.texts[lang]
		all = append(all, language{t.Tag, t.Name, b.link(path, to(lang)), lang == current})
	}
	return all
}

// alternates are the same page in each language, itself included.
func (b *builder) alternates(to func(lang string) string) []alternate {
	if b.base == nil {
		return nil
	}
	var all []alternate
	for _, lang := range b.in.Languages {
		if path := to(lang); path != "" {
			all = append(all, alternate{b.texts[lang].Tag, b.absolute(path)})
		}
	}
	return all
}

// link leads from one file of the site to another. Directories are never
// linked to: from a disk they would open as a listing.
func (b *builder) link(from, to string) string {
	if from == "404.html" && b.base != nil {
		return b.base.Path + escape(to)
	}
	return strings.Repeat("../", strings.Count(from, "/")) + escape(to)
}

// absolute is the address of a file, or "" when the site's isn't known.
func (b *builder) absolute(path string) string {
	if b.base == nil {
		return ""
	}
	if path == "index.html" {
		return b.base.String()
	}
	return b.base.String() + escape(path)
}

func escape(path string) string { return (&url.URL{Path: path}).EscapedPath() }

// list is the articles of one language.
type list struct {
	UI                         text
	Lang, Tag, SiteTitle, Home string
	Level                      int // of the titles' headings
	Entries                    []entry
}

type entry struct {
	Series, Title, Question, Href string
	Number                        int
	Draft                         bool
	Headlines                     []article.Headline
}

func (b *builder) lists(path string) []list {
	var all []list
	for _, lang := range b.in.Languages {
		all = append(all, b.list(path, lang, 3))
	}
	return all
}

func (b *builder) list(path, lang string, level int) list {
	t := b.texts[lang]
	l := list{UI: t, Lang: lang, Tag: t.Tag, SiteTitle: b.in.Title[lang], Home: b.link(path, indexPath(lang)), Level: level}
	for _, p := range b.in.Pages {
		if p.Lang != lang || p.Aside {
			continue
		}
		e := entry{Series: p.Series, Number: p.Number, Title: p.Title, Question: p.Question, Draft: p.Draft, Href: b.link(path, pagePath(p))}
		for _, h := range p.Headlines {
			// The links of numbers lead to places in the article.
			e.Headlines = append(e.Headlines, article.Headline{Value: unlinked(h.Value), Label: unlinked(h.Label)})
		}
		l.Entries = append(l.Entries, e)
	}
	return l
}

var anchor = regexp.MustCompile(`</?a(\s[^>]*)?>`)

func unlinked(h template.HTML) template.HTML {
	return template.HTML(anchor.ReplaceAllString(string(h), ""))
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
