package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"genreport/cmd/genreport/internal/article"
	"genreport/cmd/genreport/internal/claim"
	"genreport/cmd/genreport/internal/site"
	"genreport/measure"
	"genreport/measure/experiments"
)

func checkCommand(_ context.Context, args []string, s streams) error {
	fs := flag.NewFlagSet("check", flag.ContinueOnError)
	content := fs.String("content", "content", "`DIR` with site.yaml and the articles")
	results := fs.String("results", "", "`DIR` with result files (default: content/results; build/results for the profile quick)")
	out := fs.String("out", "", "`DIR` of rendered pages whose links are followed (default: public, or build/public for the profile quick, if it is there)")
	profile := fs.String("profile", string(experiments.Standard), "`NAME`: with quick, quick runs count too")
	strict := fs.Bool("strict", false, "fail for warnings too")
	if err := parse(fs, args, s, "Reads content and results without any broker, and tells what does not hold:\nreferences without a number, failed repeats and broken runs behind the pages,\nlinks of the pages that lead nowhere. Drift and preview pictures that are missing or\nstale are told, and fail with --strict."); err != nil {
		return err
	}
	p, err := experiments.ParseProfile(*profile)
	if err != nil {
		return usageError{err}
	}
	if err := checkResults(*results); err != nil {
		return err
	}
	c := checker{content: *content, results: resultsFor(*results, p), found: map[finding]bool{}}
	if c.m, err = readMaterial(c.content, c.results, p); err != nil {
		return err
	}
	if err := c.pages(); err != nil {
		return err
	}
	c.languages()
	if err := c.pictures(); err != nil {
		return err
	}
	c.verdicts(s.out)
	links, err := c.links(outFor(*out, p), *out != "")
	if err != nil {
		return err
	}
	return c.report(s, links, *strict)
}

// finding is something that does not hold, and where.
type finding struct {
	file         string
	line, column int // no column: 0
	text         string
	mild         bool // fails with --strict only
}

// place is the finding's file and line, and its column if there is one.
func (f finding) place() string {
	if f.column == 0 {
		return fmt.Sprintf("%s:%d", f.file, f.line)
	}
	return fmt.Sprintf("%s:%d:%d", f.file, f.line, f.column)
}

type checker struct {
	content, results string
	m                material
	found            map[finding]bool
}

func (c *checker) add(dir, file string, line int, mild bool, format string, a ...any) {
	c.found[finding{file: filepath.Join(dir, filepath.FromSlash(file)), line: line, text: fmt.Sprintf(format, a...), mild: mild}] = true
}

// said is add for what stands in the content.
func (c *checker) said(at article.Place, mild bool, format string, a ...any) {
	c.found[finding{filepath.Join(c.content, filepath.FromSlash(at.File)), at.Line, at.Column, fmt.Sprintf(format, a...), mild}] = true
}

// pages checks what the pages show.
func (c *checker) pages() error {
	for _, p := range c.m.pages {
		for _, u := range p.Unmet {
			c.said(u.Place, false, "not measured (%s)", u.Reason)
		}
		c.prose(p)
		for _, e := range p.Evidence {
			if err := c.failed(e); err != nil {
				return err
			}
		}
		for _, src := range p.Runs {
			if err := c.run(src); err != nil {
				return err
			}
		}
	}
	return nil
}

// prose tells what an article says that results don't bear out: claims, numbers
// that were typed in, and an article that could say anything.
func (c *checker) prose(p article.Page) {
	for _, n := range p.Loose {
		c.said(n.Place, false, "%s is typed in: refer to a result, or mark it as given: ${given/%s | from=SOURCE}", n.Text, n.Text)
	}
	for _, n := range p.Unsourced {
		c.said(n.Place, false, "%s is given without a source: ${given/%s | from=SOURCE}, where SOURCE is an experiment or one of sources in %s", n.Text, n.Text, sourcesOf(p))
	}
	for _, k := range p.Claims {
		said := "does not hold"
		switch {
		case k.Verdict == k.Expect:
			continue
		case k.Verdict == claim.Undecided:
			said = "is undecided"
			c.said(k.Place, true, "claim %s is %s", k.Name, k.Said)
		case k.Expect == claim.Holds:
			c.said(k.Place, false, "claim %s does not hold: %s", k.Name, k.Numbers)
		default:
			if k.Verdict == claim.Holds {
				said = "holds"
			}
			c.said(k.Place, false, "claim %s is written for the verdict %s, and now it %s: reword what stands around it, and change expect", k.Name, k.Expect, k.Said)
		}
		for _, u := range k.Uses {
			c.said(u.Place, k.Verdict == claim.Undecided, "claim %s %s, and so this reads: %s", k.Name, said, u.Text)
		}
	}
	file := article.Place{File: path.Join(p.Lang, p.Slug+".md"), Line: 1, Column: 1}
	if !p.Aside && (len(p.Evidence) == 0 || !slices.ContainsFunc(p.Used, func(u article.Used) bool { return !u.Words })) { // figures alone bind no prose
		c.said(file, false, "no number of the article is bound to a result")
	}
	if !p.Aside && len(p.Claims) == 0 {
		c.said(file, false, "the article claims nothing: declare what it says under claims in %s.yaml", p.Slug)
	}
}

// sourcesOf is the file that declares the sources of a page.
func sourcesOf(p article.Page) string {
	if p.Aside {
		return "its front matter"
	}
	return p.Slug + ".yaml"
}

// languages tells what one language of an article refers to and another lacks, or
// has less often: a deleted reference is found even if the same stands elsewhere.
func (c *checker) languages() {
	bySlug := map[string][]article.Page{}
	for _, p := range c.m.pages {
		bySlug[p.Slug] = append(bySlug[p.Slug], p)
	}
	for _, pages := range bySlug {
		for _, p := range pages {
			for _, other := range pages {
				there := fmt.Sprintf("%s/%s.md", other.Lang, other.Slug)
				for _, u := range more(p.Used, other.Used) {
					c.said(u.Place, false, "${%s} is %d times here and %d times in %s: the languages must say the same", u.Key, u.here, u.there, there)
				}
				for _, u := range more(p.Shapes, other.Shapes) {
					c.said(u.Place, false, "the block %s is not in %s: the languages must show the same", u.Key, there)
				}
			}
		}
	}
}

// surplus is something of which one language has more than another.
type surplus struct {
	article.Used
	here, there int
}

// more are the things that stand more often here than there, at the last place in
// the file: which of several is too many can't be told.
func more(here, there []article.Used) []surplus {
	count := func(all []article.Used) map[string]int {
		n := map[string]int{}
		for _, u := range all {
			n[u.Key]++
		}
		return n
	}
	mine, other := count(here), count(there)
	inOrder := slices.SortedStableFunc(slices.Values(here), func(a, b article.Used) int {
		return cmp.Or(b.Line-a.Line, b.Column-a.Column)
	})
	var out []surplus
	for _, u := range inOrder {
		if mine[u.Key] > other[u.Key] {
			out = append(out, surplus{u, mine[u.Key], other[u.Key]})
			mine[u.Key] = 0 // told
		}
	}
	return out
}

// verdicts prints what the results say of each claim, once for all languages.
func (c *checker) verdicts(out io.Writer) {
	seen := map[string]bool{}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, p := range c.m.pages {
		for _, k := range p.Claims {
			place := fmt.Sprint(k.Place)
			if p.Lang != "en" && slices.ContainsFunc(c.m.pages, func(o article.Page) bool { return o.Lang == "en" && o.Slug == p.Slug }) || seen[place+k.Name] {
				continue
			}
			seen[place+k.Name] = true
			line := fmt.Sprintf("claim %s\t%s\t%s", k.Name, k.Said, k.Tested)
			if k.Numbers != "" {
				line += "\t" + k.Numbers
			}
			fmt.Fprintln(w, line)
		}
	}
	w.Flush()
}

// failed tells the repeats of a shown case that have no numbers.
func (c *checker) failed(e article.Evidence) error {
	if len(e.Failed) == 0 {
		return nil
	}
	name := strings.TrimPrefix(e.Data.Href, "data/")
	data, err := os.ReadFile(filepath.Join(c.results, filepath.FromSlash(name)))
	if err != nil {
		return fmt.Errorf("reading results: %w", err)
	}
	for _, f := range e.Failed {
		line, cell := cellAt(data, e.Labels, f.Repeat)
		reason := f.Reason
		if cell.Integrity != nil {
			if err := cell.Integrity.Check(); err != nil && !strings.Contains(reason, err.Error()) {
				reason += "; " + err.Error()
			}
		}
		c.add(c.results, name, line, false, "repeat %d of %s failed: %s", f.Repeat, e.Labels, reason)
	}
	return nil
}

// cellAt is a cell of a result file and the line on which it begins; line 1
// where it is not found.
func cellAt(data []byte, labels measure.Labels, repeat int) (int, measure.Cell) {
	d := json.NewDecoder(bytes.NewReader(data))
	for depth := 0; ; {
		t, err := d.Token()
		if err != nil {
			return 1, measure.Cell{}
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if t == "cells" && depth == 1 {
			if t, err := d.Token(); err == nil && t == json.Delim('[') {
				break
			}
		}
	}
	for d.More() {
		// What stands between two elements is a comma and white space.
		rest := data[d.InputOffset():]
		start := int(d.InputOffset()) + len(rest) - len(bytes.TrimLeft(rest, ", \t\r\n"))
		var cell measure.Cell
		if err := d.Decode(&cell); err != nil {
			return 1, measure.Cell{}
		}
		if cell.Repeat == repeat && maps.Equal(cell.Labels, labels) {
			return 1 + bytes.Count(data[:start], []byte("\n")), cell
		}
	}
	return 1, measure.Cell{}
}

// run tells what is wrong with a run that pages take numbers from.
func (c *checker) run(src article.Source) error {
	r := src.Run
	name := path.Join(r.ID, "run.json")
	data, err := os.ReadFile(filepath.Join(c.results, filepath.FromSlash(name)))
	if err != nil {
		return fmt.Errorf("reading results: %w", err)
	}
	line := func(key string) int {
		before, _, found := bytes.Cut(data, []byte(`"`+key+`"`))
		if !found {
			return 1
		}
		return 1 + bytes.Count(before, []byte("\n"))
	}
	if r.Ended == nil {
		c.add(c.results, name, line("ended"), false, "the run was cut off, and pages show it: measure again")
	}
	if drift, ok := r.Drift(); ok && r.Drifted() {
		c.add(c.results, name, line("control"), true, "the control load drifted by %.1f %%, more than %.0f %%: the machine was not steady", 100*drift, 100*measure.DriftLimit)
	}
	for _, e := range src.Experiments {
		c.stale(r.ID, e)
	}
	return nil
}

// stale tells newer results of an experiment that pages pass over for those of
// the shown run, since they are not complete.
func (c *checker) stale(shown, experiment string) {
	runs := c.m.data.Runs()
	i := slices.IndexFunc(runs, func(r measure.Recorded) bool { return r.Run.ID == shown })
	if i < 0 {
		return
	}
	brokers := brokersOf(runs[i].Results[experiment])
	for _, rec := range runs[i+1:] {
		res, ok := rec.Results[experiment]
		if !ok || res.Complete() || !slices.ContainsFunc(brokersOf(res), func(b string) bool { return slices.Contains(brokers, b) }) {
			continue
		}
		why := "only parts of it were measured"
		if len(res.Cells) < res.Planned {
			why = fmt.Sprintf("it has %d of %d cells", len(res.Cells), res.Planned)
		}
		c.add(c.results, path.Join(rec.Run.ID, experiment+".json"), 1, false, "%s, so pages show the older run %s: measure the whole, or remove this", why, shown)
	}
}

func brokersOf(r measure.Result) []string {
	var out []string
	for _, c := range r.Cells {
		if b := c.Labels["broker"]; !slices.Contains(out, b) {
			out = append(out, b)
		}
	}
	return out
}

// pictures tells the articles that have no preview picture of what they say now.
// Previews take an absolute address, so that pictures are wanted where the site
// has one (base_url), or where some are there: whoever made them renders with
// --base-url. It is a warning, since such a page is published without a picture,
// and says nothing wrong.
func (c *checker) pictures() error {
	there, err := filepath.Glob(filepath.Join(c.content, pictureDir, "*.png"))
	if err != nil || len(there) == 0 && c.m.content.Site.BaseURL == "" {
		return err
	}
	_, lacking, err := picturesOf(c.content, site.Input{Config: site.Config{Title: c.m.content.Site.Title, Languages: c.m.content.Site.Languages}, Pages: c.m.pages})
	if err != nil {
		return err
	}
	for _, name := range lacking {
		page, _, _ := strings.Cut(name, ".") // lang-slug, before the digest
		lang, slug, _ := strings.Cut(page, "-")
		why := "is missing"
		for _, old := range there {
			if strings.HasPrefix(filepath.Base(old), page+".") {
				why = fmt.Sprintf("is not %s, which shows what it said before", filepath.Base(old))
			}
		}
		c.said(article.Place{File: path.Join(lang, slug+".md"), Line: 1, Column: 1}, true, "the preview picture of this article, %s, %s: run `make social`", filepath.Join(c.content, pictureDir, name), why)
	}
	return nil
}

// links follows those of the pages in dir. A default directory need not be
// there.
func (c *checker) links(dir string, given bool) (int, error) {
	if info, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) && !given {
		return 0, nil
	} else if err != nil {
		return 0, usageError{fmt.Errorf("--out: %w", err)}
	} else if !info.IsDir() {
		return 0, usageError{fmt.Errorf("--out: %s is not a directory", dir)}
	}
	broken, links, err := site.BrokenLinks(os.DirFS(dir))
	if err != nil {
		return 0, err
	}
	for _, b := range broken {
		c.add(dir, b.File, b.Line, false, "the link %q %s; does `genreport render` mend it?", b.Href, b.Why)
	}
	return links, nil
}

func (c *checker) report(s streams, links int, strict bool) error {
	all := slices.SortedFunc(maps.Keys(c.found), func(a, b finding) int {
		if n := strings.Compare(a.file, b.file); n != 0 {
			return n
		}
		if n := cmp.Or(a.line-b.line, a.column-b.column); n != 0 {
			return n
		}
		return strings.Compare(a.text, b.text)
	})
	bad, mild := 0, 0
	for _, f := range all {
		fmt.Fprintf(s.out, "%s: %s\n", f.place(), f.text)
		if f.mild {
			mild++
		} else {
			bad++
		}
	}
	fmt.Fprintf(s.err, "checked %d pages from %d runs, and %d links\n", len(c.m.pages), len(c.m.data.Runs()), links)
	if strict {
		bad, mild = bad+mild, 0
	}
	if mild > 0 {
		fmt.Fprintf(s.err, "%d of the above are warnings: they fail with --strict\n", mild)
	}
	if bad > 0 {
		return unmetError{fmt.Errorf("%d findings: something does not hold", bad)}
	}
	return nil
}
