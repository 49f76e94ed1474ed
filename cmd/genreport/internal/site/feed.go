package site

import (
	"crypto/sha256"
	"encoding/xml"
	"fmt"
	"html"
	"slices"
	"strings"
	"time"

	"genreport/cmd/genreport/internal/article"
)

// Change is a claim of an article whose verdict changed from one run to a later
// one, in one language.
type Change struct {
	Lang, Slug    string
	Claim         string // its name
	Tested        string // what is
	Run           string // that changed it
	When          time.Time
	Before, After string     // the verdicts, in words
	Sentences     []Sentence // where the article's wording changed with it
}

// Sentence is a wording before and after a change.
type Sentence struct{ Before, After string }

// feedLink leads to a feed.
type feedLink struct{ Title, Href string }

func feedPath(lang string) string    { return lang + "/feed.xml" }
func changesPath(lang string) string { return lang + "/changes.xml" }

// feedLinks are the feeds of a language, as links of the page at path.
func (b *builder) feedLinks(path, lang string) []feedLink {
	var all []feedLink
	for _, f := range []struct{ path, title string }{{feedPath(lang), b.texts[lang].Feed}, {changesPath(lang), b.texts[lang].ChangesFeed}} {
		if b.isFile(f.path) {
			all = append(all, feedLink{f.title, b.link(path, f.path)})
		}
	}
	return all
}

type atomFeed struct {
	XMLName   xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
	Lang      string      `xml:"xml:lang,attr"`
	ID        string      `xml:"id"`
	Title     string      `xml:"title"`
	Subtitle  string      `xml:"subtitle,omitempty"`
	Updated   string      `xml:"updated"`
	Author    atomAuthor  `xml:"author"`
	Generator string      `xml:"generator"`
	Links     []atomLink  `xml:"link"`
	Entries   []atomEntry `xml:"entry"`
}

type atomAuthor struct {
	Name string `xml:"name"`
}

type atomLink struct {
	Rel  string `xml:"rel,attr"`
	Type string `xml:"type,attr"`
	Href string `xml:"href,attr"`
}

type atomEntry struct {
	ID      string      `xml:"id"`
	Title   string      `xml:"title"`
	Updated string      `xml:"updated"`
	Link    atomLink    `xml:"link"`
	Summary string      `xml:"summary,omitempty"`
	Content atomContent `xml:"content"`
}

type atomContent struct {
	Type string `xml:"type,attr"`
	Text string `xml:",chardata"`
}

// feeds writes, for each language, the articles and the changes of claims as
// Atom. Without a base URL their links are relative to the feed, which Atom
// allows; ids don't depend on where the site stands.
func (b *builder) feeds() error {
	for _, lang := range b.in.Languages {
		t := b.texts[lang]
		feed := b.feed(feedPath(lang), lang, b.in.Title[lang], t.Tagline)
		for _, p := range b.in.Pages {
			updated := lastRun(p)
			if p.Lang != lang || p.Aside || p.Draft || updated.IsZero() {
				continue
			}
			if when := corrected(p); when.After(updated) {
				updated = when
			}
			feed.Entries = append(feed.Entries, atomEntry{ID: b.urn(lang, p.Slug), Title: p.Title, Updated: atomTime(updated),
				Link: b.entryLink(feedPath(lang), pagePath(p)), Summary: p.Summary, Content: atomContent{"html", entryHTML(p)}})
		}
		if err := b.writeFeed(feedPath(lang), feed); err != nil {
			return err
		}

		changes := b.feed(changesPath(lang), lang, b.in.Title[lang]+t.Colon+t.ChangesFeed, t.ChangesText)
		for _, c := range b.in.Changes {
			if c.Lang != lang {
				continue
			}
			page := article.Page{Lang: lang, Slug: c.Slug}
			title := c.Claim
			for _, p := range b.in.Pages {
				if pagePath(p) == pagePath(page) {
					title = p.Title
				}
			}
			changes.Entries = append(changes.Entries, atomEntry{ID: b.urn(lang, c.Slug, c.Claim, c.Run), Title: title + t.Colon + c.Before + " → " + c.After,
				Updated: atomTime(c.When), Link: b.entryLink(changesPath(lang), pagePath(page)), Content: atomContent{"html", changeHTML(c, t)}})
		}
		if err := b.writeFeed(changesPath(lang), changes); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) feed(path, lang, title, subtitle string) atomFeed {
	f := atomFeed{Lang: b.texts[lang].Tag, ID: b.urn(path), Title: title, Subtitle: subtitle, Author: atomAuthor{b.in.Author}, Generator: "genreport " + b.in.Tool,
		Links: []atomLink{b.entryLink(path, indexPath(lang))}}
	if f.Author.Name == "" {
		f.Author.Name = b.in.Title[lang]
	}
	if self := b.absolute(path); self != "" {
		f.Links = append(f.Links, atomLink{"self", "application/atom+xml", self})
	}
	return f
}

func (b *builder) entryLink(from, to string) atomLink {
	href := b.absolute(to)
	if href == "" {
		href = b.link(from, to)
	}
	return atomLink{"alternate", "text/html", href}
}

// writeFeed writes a feed, newest entries first. One without any has no time at
// which it changed, and is left out.
func (b *builder) writeFeed(path string, f atomFeed) error {
	if len(f.Entries) == 0 {
		return nil
	}
	newestFirst(f.Entries)
	f.Updated = f.Entries[0].Updated
	content, err := marshalXML(f)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	b.files[path] = content
	return nil
}

// urn is a name that stays the same wherever the site stands: a UUID, version 8,
// of what it is given and the site's author.
func (b *builder) urn(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(append([]string{"genreport", b.in.Author}, parts...), "\x00")))
	u := sum[:16]
	u[6], u[8] = u[6]&0x0f|0x80, u[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

func newestFirst(all []atomEntry) {
	slices.SortStableFunc(all, func(a, b atomEntry) int { return strings.Compare(b.Updated, a.Updated) })
}

func atomTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// lastRun is when the newest run behind a page ended, or began where that is
// all that is known.
func lastRun(p article.Page) time.Time {
	var last time.Time
	for _, r := range p.Runs {
		when := r.Run.Started
		if r.Run.Ended != nil {
			when = *r.Run.Ended
		}
		if when.After(last) {
			last = when
		}
	}
	return last
}

// corrected is the day of the newest correction; zero where there is none.
func corrected(p article.Page) time.Time {
	var last time.Time
	for _, e := range p.Errata {
		if when, err := time.Parse(time.DateOnly, e.Date); err == nil && when.After(last) {
			last = when
		}
	}
	return last
}

// entryHTML is how a feed shows an article: its question and headline numbers.
func entryHTML(p article.Page) string {
	var out strings.Builder
	if p.Question != "" {
		out.WriteString("<p><em>" + html.EscapeString(p.Question) + "</em></p>")
	}
	if len(p.Headlines) > 0 {
		out.WriteString("<ul>")
		for _, h := range p.Headlines {
			fmt.Fprintf(&out, "<li><strong>%s</strong> %s</li>", unlinked(h.Value), unlinked(h.Label))
		}
		out.WriteString("</ul>")
	}
	out.WriteString(string(unlinked(p.Lede)))
	return out.String()
}

func changeHTML(c Change, t text) string {
	var out strings.Builder
	fmt.Fprintf(&out, "<p><code>%s</code> · %s · %s %s</p>", html.EscapeString(c.Claim), html.EscapeString(c.Tested), t.Run, c.Run)
	for _, s := range c.Sentences {
		fmt.Fprintf(&out, "<p>%s%s<del>%s</del></p><p>%s%s<ins>%s</ins></p>", t.Before, t.Colon, html.EscapeString(s.Before), t.After, t.Colon, html.EscapeString(s.After))
	}
	return out.String()
}
