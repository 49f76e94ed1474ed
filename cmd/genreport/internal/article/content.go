package article

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"genreport/measure"
	"genreport/measure/parallel"
)

// Site is site.yaml: what all pages share.
type Site struct {
	Title     map[string]string   `yaml:"title"` // by language
	Author    string              `yaml:"author"`
	BaseURL   string              `yaml:"base_url"`
	License   string              `yaml:"license"`
	Languages []string            `yaml:"languages"`
	Footer    map[string][]string `yaml:"footer"` // lines by language
}

// declared is SLUG.yaml: what the languages of an article share.
type declared struct {
	Series  string                    `yaml:"series"`
	Number  int                       `yaml:"number"`
	Brokers map[string]string         `yaml:"brokers"` // alias -> label of a broker
	Figures map[string]figureDeclared `yaml:"figures"`
	Claims  map[string]claimDeclared  `yaml:"claims"`
	Sources map[string]givenSource    `yaml:"sources"` // of numbers that nobody measured here
	Tables  map[string]any            `yaml:"tables"`  // each a tableDeclared, read where it is shown
	Demos   map[string]any            `yaml:"demos"`   // each a demoDeclared
	Errata  []erratumDeclared         `yaml:"errata"`  // corrections since it was published
}

// figureDeclared says what a figure shows; its words are in the Markdown.
type figureDeclared struct {
	Kind       string         `yaml:"kind"` // bar, line or time
	Experiment string         `yaml:"experiment"`
	Metric     string         `yaml:"metric"`  // of kind time: what is recorded over time
	Metrics    []string       `yaml:"metrics"` // instead of metric and x: these metrics along the axis, such as percentiles
	X          string         `yaml:"x"`       // label along the axis; not of kind time
	Series     string         `yaml:"series"`  // label that tells the series apart
	Zero       string         `yaml:"zero"`    // kind time: the parameter, in seconds, from which time counts
	Where      measure.Labels `yaml:"where"`
	Unit       string         `yaml:"unit"`
	Per        string         `yaml:"per"`    // divide by this label's number
	Axis       string         `yaml:"axis"`   // kind line: log, for values that span powers of ten
	Labels     bool           `yaml:"labels"` // print the values in the chart
	Gaps       bool           `yaml:"gaps"`   // what was measured and has no number belongs to what the figure says
}

// front is the front matter of LANG/SLUG.md.
type front struct {
	Title     string         `yaml:"title"`
	Question  string         `yaml:"question"`
	Summary   string         `yaml:"summary"`
	Headlines []frontFigures `yaml:"headlines"`
	HTML      bool           `yaml:"html"` // pass HTML on
}

type frontFigures struct {
	Value string `yaml:"value"`
	Label string `yaml:"label"`
	Note  string `yaml:"note"`
}

// Content is everything that authors wrote.
type Content struct {
	Site     Site
	articles []source
}

// source is one article in one language, before its references are resolved.
type source struct {
	slug, lang string
	file       string // LANG/SLUG.md
	shared     declared
	sharedFile string
	sharedText string     // of it
	words      placedText // of it
	text       string     // of the file
	front      front
	frontWords placedText
	body       []byte // Markdown, with the front matter blanked out so that lines stay
	aside      bool   // of pages/, not an article
	forAuthors bool
}

// asideFront is the front matter of pages/LANG/SLUG.md.
type asideFront struct {
	Title   string                 `yaml:"title"`
	Summary string                 `yaml:"summary"`
	Brokers map[string]string      `yaml:"brokers"` // as in SLUG.yaml; only where references need them
	Sources map[string]givenSource `yaml:"sources"` // as in SLUG.yaml
	HTML    bool                   `yaml:"html"`    // pass HTML on
	For     string                 `yaml:"for"`     // "authors": it does not explain the numbers
}

// Load reads content. An error of one file does not hide those of others.
func Load(fsys fs.FS) (Content, error) {
	var c Content
	_, words, err := readYAML(fsys, "site.yaml", &c.Site)
	if err != nil {
		return c, err
	}
	if err := c.Site.validate(); err != nil {
		return c, fault{"site.yaml", words.placeOf(err), err}
	}
	files, err := fs.Glob(fsys, "*.yaml")
	if err != nil {
		return c, err
	}
	files = slices.DeleteFunc(files, func(name string) bool { return name == "site.yaml" })
	loaded := make([]loadedArticle, len(files))
	var asides []source
	var asidesErr error
	parallel.Do(len(files)+1, func(int) int { return 1 }, func(i int) {
		if i < len(files) {
			loaded[i] = c.loadArticle(fsys, files[i])
		} else {
			asides, asidesErr = c.loadAsides(fsys)
		}
	})
	var errs []error
	taken := map[string]string{} // file by place in its series
	for i, name := range files {
		a := loaded[i]
		errs = append(errs, a.errs...)
		if a.words.file == "" { // it could not be read
			continue
		}
		place := fmt.Sprintf("%s %d", a.shared.Series, a.shared.Number)
		if other := taken[place]; other != "" {
			errs = append(errs, fault{name, a.words.value("number"), fmt.Errorf("%s is number %d of the series %s already", other, a.shared.Number, a.shared.Series)})
		}
		taken[place] = name
		c.articles = append(c.articles, a.sources...)
	}
	for _, lang := range c.Site.Languages {
		stray, err := fs.Glob(fsys, path.Join(lang, "*.md"))
		if err != nil {
			return c, err
		}
		for _, name := range stray {
			if slug := strings.TrimSuffix(path.Base(name), ".md"); !slices.Contains(files, slug+".yaml") {
				errs = append(errs, fault{name, begin(), fmt.Errorf("there is no %s.yaml beside the language directories", slug)})
			}
		}
	}
	slices.SortStableFunc(c.articles, func(a, b source) int { return a.shared.Number - b.shared.Number })
	c.articles = append(c.articles, asides...)
	return c, errors.Join(append(errs, asidesErr)...)
}

// loadedArticle is SLUG.yaml with the Markdown of each language.
type loadedArticle struct {
	shared  declared
	words   placedText
	sources []source
	errs    []error
}

func (c Content) loadArticle(fsys fs.FS, name string) loadedArticle {
	var a loadedArticle
	text, words, err := readYAML(fsys, name, &a.shared)
	if err != nil {
		a.errs = append(a.errs, err)
		return a
	}
	a.words = words
	if err := a.shared.validate(c.Site.Languages); err != nil {
		a.errs = append(a.errs, fault{name, words.placeOf(err), err})
	}
	a.errs = append(a.errs, checkErrata(name, words, a.shared.Errata, c.Site.Languages)...)
	for _, lang := range c.Site.Languages {
		s, err := loadSource(fsys, strings.TrimSuffix(name, ".yaml"), lang)
		if err != nil {
			a.errs = append(a.errs, err)
			continue
		}
		s.shared, s.sharedFile, s.sharedText, s.words = a.shared, name, text, words
		a.sources = append(a.sources, s)
	}
	return a
}

// Next is the place of another article: in the series of the last, after all.
func (c Content) Next() (series string, number int) {
	series = "RabbitMQ"
	for _, s := range c.articles {
		if !s.aside {
			series, number = s.shared.Series, max(number, s.shared.Number)
		}
	}
	return series, number + 1
}

// asideDir has the pages that are no articles, by language.
const asideDir = "pages"

// forAuthors marks a page that tells how articles are written.
const forAuthors = "authors"

// loadAsides reads them, each in every language.
func (c Content) loadAsides(fsys fs.FS) ([]source, error) {
	var slugs []string
	for _, lang := range c.Site.Languages {
		names, err := fs.Glob(fsys, path.Join(asideDir, lang, "*.md"))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if slug := strings.TrimSuffix(path.Base(name), ".md"); !slices.Contains(slugs, slug) {
				slugs = append(slugs, slug)
			}
		}
	}
	slices.Sort(slugs)
	var all []source
	var errs []error
	for _, slug := range slugs {
		for _, lang := range c.Site.Languages {
			s, err := loadAside(fsys, slug, lang)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			all = append(all, s)
		}
	}
	return all, errors.Join(errs...)
}

func loadAside(fsys fs.FS, slug, lang string) (source, error) {
	s := source{slug: slug, lang: lang, file: path.Join(asideDir, lang, slug+".md"), aside: true}
	var front asideFront
	if err := s.read(fsys, &front); err != nil {
		return s, err
	}
	if front.Title == "" || front.Summary == "" {
		return s, fault{s.file, begin(), errors.New("front matter needs title and summary")}
	}
	if front.For != "" && front.For != forAuthors {
		return s, fault{s.file, s.frontWords.value("for"), fmt.Errorf("for is %q; it is %s, or left out", front.For, forAuthors)}
	}
	if err := checkSources(front.Sources, []string{lang}); err != nil {
		return s, fault{s.file, s.frontWords.placeOf(err), err}
	}
	s.forAuthors = front.For == forAuthors
	s.front.Title, s.front.Summary, s.front.HTML, s.shared.Brokers, s.shared.Sources = front.Title, front.Summary, front.HTML, front.Brokers, front.Sources
	return s, nil
}

func (s Site) validate() error {
	if len(s.Languages) == 0 {
		return errors.New("languages is empty; it lists zh, en or both")
	}
	for _, lang := range s.Languages {
		if lang != "zh" && lang != "en" {
			return wrong(unknown("language", lang, []string{"zh", "en"}), "languages")
		}
		if s.Title[lang] == "" {
			return wrong(fmt.Errorf("title has nothing for %s", lang), "title")
		}
	}
	return nil
}

func (d declared) validate(languages []string) error {
	switch {
	case d.Series == "":
		return wrong(errors.New("series is empty"), "series")
	case d.Number < 1:
		return wrong(errors.New("number counts from 1"), "number")
	case d.Brokers["current"] == "":
		return wrong(errors.New("brokers names no current: add `brokers: {current: debian:forky}`"), "brokers")
	}
	return checkSources(d.Sources, languages)
}

// checkSources refuses a source of given numbers that names nothing.
func checkSources(all map[string]givenSource, languages []string) error {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s := all[name]
		if !sourceName.MatchString(name) {
			return wrong(fmt.Errorf("source %q: a name has letters, digits and dashes", name), "sources", name)
		}
		if s.URL != "" {
			if u, err := url.Parse(s.URL); err != nil || u.Scheme != "https" || u.Host == "" {
				return wrong(fmt.Errorf("source %s: url is %q, want an https address", name, s.URL), "sources", name, "url")
			}
		}
		for _, lang := range languages {
			if s.Title[lang] == "" {
				return wrong(fmt.Errorf("source %s has no title for %s", name, lang), "sources", name, "title")
			}
		}
	}
	return nil
}

var sourceName = regexp.MustCompile(`^[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*$`)

// readYAML reads a file strictly: unknown and duplicate keys are refused.
func readYAML(fsys fs.FS, name string, v any) (string, placedText, error) {
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return "", placedText{}, fmt.Errorf("reading content: %w", err)
	}
	text := plainLines(data)
	words, err := readWords(name, 0, text)
	if err == nil {
		err = words.decode(v)
	}
	return text, words, err
}

// plainLines is a text without a byte order mark, and with line ends as here.
func plainLines(data []byte) string {
	return string(bytes.ReplaceAll(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), []byte("\r\n"), []byte("\n")))
}

const fence = "---\n"

func loadSource(fsys fs.FS, slug, lang string) (source, error) {
	s := source{slug: slug, lang: lang, file: path.Join(lang, slug+".md")}
	if err := s.read(fsys, &s.front); err != nil {
		return s, err
	}
	if s.front.Title == "" || s.front.Question == "" || s.front.Summary == "" {
		return s, fault{s.file, begin(), errors.New("front matter needs title, question and summary")}
	}
	if n := len(s.front.Headlines); n != 3 && n != 4 {
		return s, fault{s.file, s.frontWords.place("headlines"), fmt.Errorf("front matter has %d headlines, want 3 or 4", n)}
	}
	return s, nil
}

// read takes the file apart: its front matter into front, and the rest.
func (s *source) read(fsys fs.FS, front any) error {
	data, err := fs.ReadFile(fsys, s.file)
	if err != nil {
		what := "article"
		if s.aside {
			what = "page"
		}
		return fmt.Errorf("%s %s has no %s text: %w", what, s.slug, s.lang, err)
	}
	s.text = plainLines(data)
	rest, ok := strings.CutPrefix(s.text, fence)
	if !ok {
		return fault{s.file, begin(), errors.New("front matter is missing: the file begins with ---, its keys, and ---")}
	}
	head, body, ok := strings.Cut(rest, "\n"+fence)
	if !ok {
		return fault{s.file, begin(), errors.New("front matter has no closing ---")}
	}
	if s.frontWords, err = readWords(s.file, 1, head); err != nil {
		return err
	}
	if err := s.frontWords.decode(front); err != nil {
		return err
	}
	s.body = append(bytes.Repeat([]byte("\n"), strings.Count(s.text[:len(s.text)-len(body)], "\n")), body...)
	return nil
}
