package article

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"

	"genreport/measure"
)

// Site is site.yaml: what all pages share.
type Site struct {
	Title     map[string]string   `yaml:"title"` // by language
	Author    string              `yaml:"author"`
	BaseURL   string              `yaml:"base_url"`
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

// givenSource is where a given number is from.
type givenSource struct {
	Title map[string]string `yaml:"title"` // by language
	URL   string            `yaml:"url"`
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
	sharedText string // of it
	words      func() (placedText, error)
	front      front
	head       string // the front matter's text
	body       []byte // Markdown, with the front matter blanked out so that lines stay
	aside      bool   // of pages/, not an article
	forAuthors bool
}

// asideFront is the front matter of pages/LANG/SLUG.md.
type asideFront struct {
	Title   string            `yaml:"title"`
	Summary string            `yaml:"summary"`
	Brokers map[string]string `yaml:"brokers"` // as in SLUG.yaml; only where references need them
	HTML    bool              `yaml:"html"`    // pass HTML on
	For     string            `yaml:"for"`     // "authors": it does not explain the numbers
}

// Load reads content. An error of one file does not hide those of others.
func Load(fsys fs.FS) (Content, error) {
	var c Content
	if err := readYAML(fsys, "site.yaml", &c.Site); err != nil {
		return c, err
	}
	if err := c.Site.validate(); err != nil {
		return c, fault{"site.yaml", 1, err}
	}
	files, err := fs.Glob(fsys, "*.yaml")
	if err != nil {
		return c, err
	}
	var errs []error
	taken := map[string]string{} // file by place in its series
	for _, name := range files {
		if name == "site.yaml" {
			continue
		}
		slug := strings.TrimSuffix(name, ".yaml")
		var shared declared
		if err := readYAML(fsys, name, &shared); err != nil {
			errs = append(errs, err)
			continue
		}
		if err := shared.validate(); err != nil {
			errs = append(errs, fault{name, 1, err})
		}
		place := fmt.Sprintf("%s %d", shared.Series, shared.Number)
		if other := taken[place]; other != "" {
			errs = append(errs, fault{name, 1, fmt.Errorf("%s is number %d of the series %s already", other, shared.Number, shared.Series)})
		}
		taken[place] = name
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			errs = append(errs, fmt.Errorf("reading content: %w", err))
			continue
		}
		errs = append(errs, checkErrata(name, string(text), shared.Errata, c.Site.Languages)...)
		words := sync.OnceValues(func() (placedText, error) { return readWords(name, 0, string(text)) })
		for _, lang := range c.Site.Languages {
			s, err := loadSource(fsys, slug, lang)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			s.words = words
			s.shared, s.sharedFile, s.sharedText = shared, name, string(text)
			c.articles = append(c.articles, s)
		}
	}
	for _, lang := range c.Site.Languages {
		stray, err := fs.Glob(fsys, path.Join(lang, "*.md"))
		if err != nil {
			return c, err
		}
		for _, name := range stray {
			if slug := strings.TrimSuffix(path.Base(name), ".md"); !slices.Contains(files, slug+".yaml") {
				errs = append(errs, fault{name, 1, fmt.Errorf("there is no %s.yaml beside the language directories", slug)})
			}
		}
	}
	slices.SortStableFunc(c.articles, func(a, b source) int { return a.shared.Number - b.shared.Number })
	asides, err := c.loadAsides(fsys)
	c.articles = append(c.articles, asides...)
	return c, errors.Join(append(errs, err)...)
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
		return s, fault{s.file, 1, errors.New("front matter needs title and summary")}
	}
	if front.For != "" && front.For != forAuthors {
		return s, fault{s.file, 1, fmt.Errorf("for is %q; it is %s, or left out", front.For, forAuthors)}
	}
	s.forAuthors = front.For == forAuthors
	s.front.Title, s.front.Summary, s.front.HTML, s.shared.Brokers = front.Title, front.Summary, front.HTML, front.Brokers
	return s, nil
}

func (s Site) validate() error {
	if len(s.Languages) == 0 {
		return errors.New("languages is empty; it lists zh, en or both")
	}
	for _, lang := range s.Languages {
		if lang != "zh" && lang != "en" {
			return unknown("language", lang, []string{"zh", "en"})
		}
		if s.Title[lang] == "" {
			return fmt.Errorf("title has nothing for %s", lang)
		}
	}
	return nil
}

func (d declared) validate() error {
	switch {
	case d.Series == "":
		return errors.New("series is empty")
	case d.Number < 1:
		return errors.New("number counts from 1")
	case d.Brokers["current"] == "":
		return errors.New("brokers names no current: add `brokers: {current: debian:forky}`")
	}
	for name, s := range d.Sources {
		if u, err := url.Parse(s.URL); err != nil || u.Scheme != "https" || u.Host == "" {
			return fmt.Errorf("source %s: url is %q, want an https address", name, s.URL)
		}
	}
	return nil
}

var yamlLine = regexp.MustCompile(`^\[(\d+):\d+\] `)

// readYAML reads a file strictly: unknown and duplicate keys are refused.
func readYAML(fsys fs.FS, name string, v any) error {
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return fmt.Errorf("reading content: %w", err)
	}
	return decodeYAML(name, 0, data, v)
}

// decodeYAML gives errors the file's line; the text begins after skip lines.
func decodeYAML(name string, skip int, data []byte, v any) error {
	err := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict(), yaml.DisallowUnknownField()).Decode(v)
	if err == nil {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return fault{name, skip + 1, errors.New("there is nothing in it")}
	}
	line, message := 1, strings.SplitN(err.Error(), "\n", 2)[0]
	if m := yamlLine.FindStringSubmatch(message); m != nil {
		line, _ = strconv.Atoi(m[1])
		message = strings.TrimPrefix(message, m[0])
	}
	return fault{name, skip + line, errors.New(message)}
}

const fence = "---\n"

func loadSource(fsys fs.FS, slug, lang string) (source, error) {
	s := source{slug: slug, lang: lang, file: path.Join(lang, slug+".md")}
	if err := s.read(fsys, &s.front); err != nil {
		return s, err
	}
	if s.front.Title == "" || s.front.Question == "" || s.front.Summary == "" {
		return s, fault{s.file, 1, errors.New("front matter needs title, question and summary")}
	}
	if n := len(s.front.Headlines); n != 3 && n != 4 {
		return s, fault{s.file, 1, fmt.Errorf("front matter has %d headlines, want 3 or 4", n)}
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
	data = bytes.ReplaceAll(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), []byte("\r\n"), []byte("\n"))
	rest, ok := bytes.CutPrefix(data, []byte(fence))
	if !ok {
		return fault{s.file, 1, errors.New("front matter is missing: the file begins with ---, its keys, and ---")}
	}
	head, body, ok := bytes.Cut(rest, []byte("\n"+fence))
	if !ok {
		return fault{s.file, 1, errors.New("front matter has no closing ---")}
	}
	if err := decodeYAML(s.file, 1, head, front); err != nil {
		return err
	}
	s.head = string(head)
	s.body = append(bytes.Repeat([]byte("\n"), lineAt(data, len(data)-len(body))-1), body...)
	return nil
}
