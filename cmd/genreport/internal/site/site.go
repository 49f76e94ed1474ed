// Package site makes files of pages: HTML that needs no script, works under
// any path and from a disk, and passes a strict Content-Security-Policy. A page
// with a step-by-step demonstration has a script, a file of the site, that shows
// one step at a time; without it all steps are there.
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
	"strconv"
	"strings"
	"sync"

	"genreport/cmd/genreport/internal/article"
	"genreport/cmd/genreport/internal/chart"
	"genreport/measure"
	"genreport/measure/parallel"
	"genreport/templates"
)

// Config is what all pages share.
type Config struct {
	Title     map[string]string // by language
	Author    string
	Footer    map[string][]string // lines by language
	BaseURL   string              // where the site will be; may be empty
	License   string              // address of the licence of text and data; may be empty
	Languages []string            // "zh", "en"; the first is the one of the root page's frame
}

// Charts draws figures, several at once.
type Charts interface {
	Draw(*chart.Figure) (chart.Drawing, error)
}

// Input is all that a site is made of.
type Input struct {
	Config
	Pages   []article.Page // lists have them in this order
	Earlier []Earlier      // articles as earlier runs made them
	Runs    []measure.Recorded
	Changes []Change // of claims, oldest first
	Charts  Charts
	// ECharts is the bundle with which charts answer a reader; without it they are pictures.
	ECharts  []byte
	Data     map[string][]byte // result files to publish, by path under data/
	Pictures map[string][]byte // for previews of links, by the name that [Cards] gives
	Tool     string            // version of genreport

	Templates fs.FS // nil: those that are built in
}

// Build makes the site's files, by path.
func Build(in Input) (map[string][]byte, error) {
	b := builder{in: in, files: map[string][]byte{}, texts: map[string]text{}}
	if err := b.prepare(); err != nil {
		return nil, fmt.Errorf("build the site: %w", err)
	}
	for _, step := range []func() error{b.feeds, b.write, b.forCrawlers} {
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
	buffers     sync.Pool
	mu          sync.Mutex // of files, while articles are made at once
	files       map[string][]byte
	style, icon string // paths
	pageScript  string
	listed      []listed // pages for the sitemap
	// Paths of scripts that some pages have: of charts, of both in one file, of demonstrations.
	charts, both, demo func() (string, error)
	echarts            func() string
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
	for _, e := range b.in.Earlier {
		switch {
		case !b.pages[pagePath(e.Page)]:
			bad("article %s of run %s is none of today", pagePath(e.Page), e.Run)
		case !measure.ValidRunID(e.Run) || b.pages[e.path()]:
			bad("article %s has no run of its own: %q", pagePath(e.Page), e.Run)
		}
		b.pages[e.path()] = true
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if b.in.Templates == nil {
		b.in.Templates = templates.FS
	}
	type asset struct {
		name string
		path *string
	}
	assets := []asset{{"style.css", &b.style}, {"favicon.svg", &b.icon}, {"page.js", &b.pageScript}}
	for _, a := range assets {
		content, err := fs.ReadFile(b.in.Templates, a.name)
		if err != nil {
			return err
		}
		if content, err = smaller(a.name, content); err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		*a.path = b.asset(a.name, content)
	}
	b.charts = sync.OnceValues(func() (string, error) { return b.script("charts.js") })
	b.both = sync.OnceValues(func() (string, error) { return b.script("demo.js", "charts.js") })
	b.demo = sync.OnceValues(func() (string, error) { return b.script("demo.js") })
	b.echarts = sync.OnceValue(func() string { return b.asset("echarts.js", b.in.ECharts) })
	// GitHub Pages would otherwise leave out what Jekyll does not publish.
	b.files[".nojekyll"] = nil
	var err error
	b.templates, err = template.ParseFS(b.in.Templates, "*.html")
	return err
}

// digest names content: a file whose name has it may be cached for ever.
func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])[:10]
}

func pagePath(p article.Page) string { return p.Lang + "/" + p.Slug + ".html" }
func indexPath(lang string) string   { return lang + "/index.html" }

func (b *builder) isFile(p string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ok := b.files[p]
	return ok
}

func (b *builder) put(p string, content []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.files[p] = content
}

// root lists the articles of all languages, for visitors who named none.
func (b *builder) root() error {
	const path = "index.html"
	first := b.in.Languages[0]
	f := b.frame(path, "", b.texts[first].Tagline, b.in.Languages...)
	f.Switch = b.languages(path, "", indexPath)
	b.addressed(&f, path, lists())
	b.pictured(&f, first)
	b.listed = append(b.listed, listed{path: path, in: lists()})
	return b.render("root.html", path, struct {
		frame
		Lists []list
	}{f, b.lists(path)})
}

func (b *builder) indexes() error {
	for _, lang := range b.in.Languages {
		path := indexPath(lang)
		f := b.frame(path, "", b.texts[lang].Tagline, lang)
		f.Switch = b.languages(path, lang, indexPath)
		b.addressed(&f, path, lists())
		b.pictured(&f, lang)
		b.listed = append(b.listed, listed{path: path, in: lists()})
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
	f := b.frame(path, b.texts[first].NotFound, b.texts[first].NotFoundText, b.in.Languages...)
	f.Switch = b.languages(path, "", indexPath)
	f.NoIndex = true
	return b.render("404.html", path, struct {
		frame
		Lists []list
	}{f, b.lists(path)})
}

// write makes the pages, many at once since each takes one core.
func (b *builder) write() error {
	today, earlier := b.in.Pages, b.in.Earlier
	errs := make([]error, len(today)+len(earlier)+1)
	size := func(i int) int {
		switch {
		case i < len(today):
			return len(today[i].Evidence)
		case i < len(today)+len(earlier):
			return len(earlier[i-len(today)].Page.Evidence)
		}
		return 1 // all lists
	}
	parallel.Do(len(errs), size, func(i int) {
		switch {
		case i < len(today):
			errs[i] = b.page(today[i], pagePath(today[i]), "")
		case i < len(today)+len(earlier):
			e := earlier[i-len(today)]
			errs[i] = b.page(e.Page, e.path(), e.Run)
		default:
			errs[i] = b.writeLists()
		}
	})
	return errors.Join(errs...)
}

// writeLists makes the pages that are no articles, and lists for crawlers all that
// there are.
func (b *builder) writeLists() error {
	for _, step := range []func() error{b.root, b.indexes} {
		if err := step(); err != nil {
			return err
		}
	}
	for _, p := range b.in.Pages {
		if !p.Draft {
			b.listed = append(b.listed, listed{path: pagePath(p), in: inLanguages{same: b.sameArticle(p.Slug)}, changed: measured(p)})
		}
	}
	if err := b.archive(); err != nil {
		return err
	}
	return b.notFound()
}

// page writes an article, as today's or as the given earlier run made it.
func (b *builder) page(p article.Page, path, earlier string) error {
	v, err := b.article(p, path, earlier)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return b.render("article.html", path, v)
}

// sameArticle gives the path of an article in a language, "" where it has none.
func (b *builder) sameArticle(slug string) func(lang string) string {
	return func(lang string) string {
		if path := pagePath(article.Page{Lang: lang, Slug: slug}); b.pages[path] {
			return path
		}
		return ""
	}
}

func (b *builder) render(name, path string, data any) error {
	out, _ := b.buffers.Get().(*bytes.Buffer) // one that has grown to the size of a page
	if out == nil {
		out = &bytes.Buffer{}
	}
	defer b.buffers.Put(out)
	out.Reset()
	if err := b.templates.ExecuteTemplate(out, name, data); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	b.put(path, bytes.Clone(out.Bytes()))
	return nil
}

// frame is what every page has around its content.
type frame struct {
	UI                      text
	Tag, Title, Description string
	SiteTitle, Author, Tool string
	Style, Icon, Home       string
	Script                  string
	Canonical               string // "" without a base URL
	Alternates              []alternate
	Social                  social
	Data                    any // JSON-LD; nil: none
	Feeds                   []feedLink
	Switch                  []language
	Footers                 []footer
	Asides                  []aside
	NoIndex                 bool
}

// footer is the end of a page in one language.
type footer struct {
	Tag    string
	UI     text
	Lines  []string
	Asides []aside
	More   []aside // the archive of runs and the feeds
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
	Places          string // ids of its sections, in the order of this page's
}

// frame is that of the page at path; its own words are in the first language.
func (b *builder) frame(path, title, description string, languages ...string) frame {
	lang := languages[0]
	t := b.texts[lang]
	site := b.in.Title[lang]
	short := title
	if title == "" {
		title, short = site, site
	} else {
		title += " · " + site
	}
	f := frame{UI: t, Tag: t.Tag, Title: title, Description: description, SiteTitle: site, Author: b.in.Author, Tool: b.in.Tool,
		Style: b.link(path, b.style), Icon: b.link(path, b.icon), Script: b.link(path, b.pageScript), Home: b.link(path, indexPath(lang)),
		Asides: b.asides(path, lang), Social: social{Type: "website", Title: short, Locale: t.Locale}}
	for _, l := range b.in.Languages {
		if l != lang {
			f.Social.OtherLocales = append(f.Social.OtherLocales, b.texts[l].Locale)
		}
	}
	for _, l := range languages {
		f.Feeds = append(f.Feeds, b.feedLinks(path, l)...)
		f.Footers = append(f.Footers, footer{Tag: b.texts[l].Tag, UI: b.texts[l], Lines: b.in.Footer[l], Asides: b.asides(path, l), More: b.more(path, l)})
	}
	return f
}

// more leads to the archive of runs and to the feeds.
func (b *builder) more(path, lang string) []aside {
	t := b.texts[lang]
	var all []aside
	if len(b.in.Runs) > 0 {
		all = append(all, aside{Tag: t.Tag, Title: t.Archive, Href: b.link(path, archivePath(lang)), Current: archivePath(lang) == path})
	}
	for _, f := range b.feedLinks(path, lang) {
		all = append(all, aside{Tag: t.Tag, Title: f.Title, Href: f.Href})
	}
	return all
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
		all = append(all, language{Tag: t.Tag, Name: t.Name, Href: b.link(path, to(lang)), Current: lang == current})
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
	Series, Title, Question, Summary, Href string
	Number                                 int
	Draft                                  bool
	Headlines                              []article.Headline
	Measured, Versions                     string
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
		e := entry{Series: p.Series, Number: p.Number, Title: p.Title, Question: p.Question, Summary: p.Summary, Draft: p.Draft,
			Href: b.link(path, pagePath(p)), Measured: measured(p), Versions: versions(p)}
		for _, h := range p.Headlines[:min(3, len(p.Headlines))] { // a row of them
			// The links of numbers lead to places in the article.
			e.Headlines = append(e.Headlines, article.Headline{Value: unlinked(h.Value), Label: unlinked(h.Label)})
		}
		l.Entries = append(l.Entries, e)
	}
	return l
}

// measured is the date of the newest run behind a page, "" where there is none.
func measured(p article.Page) string {
	var last string
	for _, r := range p.Runs {
		last = max(last, date(r.Run.Started))
	}
	return last
}

// versions are those of RabbitMQ that a page has numbers of, oldest first.
func versions(p article.Page) string {
	var all []string
	for _, r := range p.Runs {
		for _, x := range r.Run.Brokers {
			if x.RabbitMQ != "" && !slices.Contains(all, x.RabbitMQ) {
				all = append(all, x.RabbitMQ)
			}
		}
	}
	slices.SortFunc(all, compareVersions)
	if len(all) == 0 {
		return ""
	}
	return "RabbitMQ " + strings.Join(all, " · ")
}

// compareVersions orders versions by their numbers: 3.9 before 3.10.
func compareVersions(a, b string) int {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(x), len(y)) {
		m, errM := strconv.Atoi(x[i])
		n, errN := strconv.Atoi(y[i])
		c := strings.Compare(x[i], y[i])
		if errM == nil && errN == nil {
			c = m - n
		}
		if c != 0 {
			return c
		}
	}
	return len(x) - len(y)
}

var anchor = regexp.MustCompile(`</?a(\s[^>]*)?>`)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
