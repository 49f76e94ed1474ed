package site

import (
	"encoding/xml"
	"html"
	"html/template"
	"slices"
	"strings"

	"genreport/cmd/genreport/internal/article"
)

// social is what previews of a link show. Addresses in it are absolute, and
// empty without a base URL.
type social struct {
	Type, Title  string // the title without the site's
	URL          string
	Locale       string
	OtherLocales []string
	Published    string // date, of articles
	Picture      string
	PictureText  string
}

// neighbour is the previous or next article of a series.
type neighbour struct {
	Series, Title, Href string
	Number              int
}

// inLanguages tells where a page is in each language.
type inLanguages struct {
	same  func(lang string) string // its path; "" where it has none
	other string                   // for readers of none of them; "": English where there is any
}

// lists are the lists of articles: who reads none of the languages chooses on the root page.
func lists() inLanguages { return inLanguages{same: indexPath, other: "index.html"} }

// addressed gives the page at path its addresses.
func (b *builder) addressed(f *frame, path string, in inLanguages) {
	f.Canonical = b.absolute(path)
	f.Social.URL = f.Canonical
	f.Alternates = b.alternates(in)
}

// pictured gives a list of articles the preview picture of the first one that has any.
func (b *builder) pictured(f *frame, lang string) {
	for _, p := range b.in.Pages {
		if p.Lang == lang && !p.Aside && f.Social.Picture == "" {
			f.Social.Picture, f.Social.PictureText = b.picture(p)
		}
	}
}

// picture is the address of an article's preview picture, and what it shows in words; "" where there is none.
func (b *builder) picture(p article.Page) (address, text string) {
	c := b.card(p)
	if b.base == nil || b.in.Pictures[c.file()] == nil {
		return "", ""
	}
	b.put(c.path(), b.in.Pictures[c.file()])
	text = p.Title
	for _, h := range c.Headlines {
		text += " · " + html.UnescapeString(plain(h.Value)+" "+plain(h.Label))
	}
	return b.absolute(c.path()), text
}

// alternates are the same page in each language, itself included, and the one
// for readers of none of them.
func (b *builder) alternates(in inLanguages) []alternate {
	if b.base == nil {
		return nil
	}
	var all []alternate
	other := in.other
	for _, lang := range b.in.Languages {
		if path := in.same(lang); path != "" {
			all = append(all, alternate{b.texts[lang].Tag, b.absolute(path)})
			if in.other == "" && (other == "" || lang == "en") {
				other = path
			}
		}
	}
	if other != "" {
		all = append(all, alternate{"x-default", b.absolute(other)})
	}
	return all
}

// around fills in what leads from an article to other pages, and what says of
// it what it is.
func (b *builder) around(v *articleView, p article.Page, path, earlier string) {
	t := b.texts[p.Lang]
	same := b.sameArticle(p.Slug)
	v.Switch = b.languages(path, p.Lang, func(lang string) string {
		for _, e := range b.in.Earlier {
			if earlier != "" && e.Run == earlier && e.Page.Slug == p.Slug && e.Page.Lang == lang {
				return e.path()
			}
		}
		if other := same(lang); other != "" {
			return other
		}
		return indexPath(lang)
	})
	for i, s := range v.Switch {
		if !s.Current {
			v.Switch[i].Places = b.places(p, b.in.Languages[i])
		}
	}
	if earlier != "" {
		v.NoIndex, v.Earlier, v.Today = true, t.EarlierNotice, b.link(path, pagePath(p))
		return // without a canonical address: it is a page of its own, only not for search engines
	}
	v.NoIndex = p.Draft
	b.addressed(&v.frame, path, inLanguages{same: same})
	if p.Aside {
		return
	}
	v.Social.Type, v.Social.Published = "article", v.Measured
	v.Social.Picture, v.Social.PictureText = b.picture(p)
	v.Data = b.structured(p, v.frame)
	series := slices.DeleteFunc(slices.Clone(b.in.Pages), func(o article.Page) bool {
		return o.Lang != p.Lang || o.Aside || o.Series != p.Series
	})
	slices.SortStableFunc(series, func(x, y article.Page) int { return x.Number - y.Number })
	at := slices.IndexFunc(series, func(o article.Page) bool { return o.Slug == p.Slug })
	near := func(i int) *neighbour {
		if i < 0 || i >= len(series) {
			return nil
		}
		o := series[i]
		return &neighbour{Series: o.Series, Number: o.Number, Title: o.Title, Href: b.link(path, pagePath(o))}
	}
	v.Prev, v.Next = near(at-1), near(at+1)
}

// places are the ids of an article's sections in another language, in the order
// of p's, so that the language switch can keep the reader's place: headings have
// an id in their own language. "" where the two are not built alike.
func (b *builder) places(p article.Page, lang string) string {
	for _, o := range b.in.Pages {
		if o.Slug != p.Slug || o.Lang != lang || len(o.Contents) != len(p.Contents) {
			continue
		}
		var ids []string
		for _, h := range o.Contents {
			ids = append(ids, h.ID)
		}
		return strings.Join(ids, " ")
	}
	return ""
}

// node is a JSON object of JSON-LD.
type node = map[string]any

// structured is the article and its data set as schema.org describes them. The
// template that shows it escapes it for a script element.
func (b *builder) structured(p article.Page, f frame) node {
	text := node{"@type": "Article", "headline": p.Title, "description": p.Summary, "inLanguage": f.Tag,
		"isPartOf": node{"@type": "WebSite", "name": f.SiteTitle}}
	data := node{"@type": "Dataset", "name": p.Title + " · " + f.UI.DatasetName, "description": sentences(p.Lang, f.UI.DatasetText, p.Question, p.Summary),
		"inLanguage": f.Tag, "isAccessibleForFree": true, "measurementTechnique": f.UI.Technique}
	if b.in.License != "" {
		text["license"], data["license"] = b.in.License, b.in.License
	}
	if f.Author != "" {
		author := node{"@type": "Organization", "name": f.Author}
		text["author"], data["creator"] = author, author
	}
	if day := measured(p); day != "" {
		text["datePublished"], text["dateModified"], data["dateModified"] = day, day, day
	}
	var metrics []string
	for _, e := range p.Evidence {
		for _, m := range e.Metrics {
			if name := e.Experiment + "/" + m.Name; !slices.Contains(metrics, name) {
				metrics = append(metrics, name)
			}
		}
	}
	if metrics != nil {
		data["variableMeasured"] = metrics
	}
	if f.Canonical != "" {
		text["url"], text["mainEntityOfPage"], data["url"] = f.Canonical, f.Canonical, f.Canonical+"#_evidence"
		text["isPartOf"] = node{"@type": "WebSite", "name": f.SiteTitle, "url": b.absolute("index.html")}
		var files []node
		for _, r := range p.Runs {
			for _, name := range b.filesOf(r.Run.ID) {
				files = append(files, node{"@type": "DataDownload", "encodingFormat": "application/json", "contentUrl": b.absolute(name)})
			}
		}
		if files != nil {
			data["distribution"] = files
		}
	}
	if f.Social.Picture != "" {
		text["image"] = f.Social.Picture
	}
	all := []node{text}
	if len(p.Runs) > 0 {
		all = append(all, data)
	}
	return node{"@context": "https://schema.org", "@graph": all}
}

// sentences puts sentences one behind the other; Chinese has no space between them.
func sentences(lang string, all ...string) string {
	if lang == "zh" {
		return strings.Join(all, "")
	}
	return strings.Join(all, " ")
}

// filesOf are the published result files of a run, run.json first.
func (b *builder) filesOf(run string) []string {
	var all []string
	for _, name := range sortedKeys(b.in.Data) {
		if strings.HasPrefix(name, run+"/") && name != run+"/run.json" {
			all = append(all, "data/"+name)
		}
	}
	if _, ok := b.in.Data[run+"/run.json"]; ok {
		all = append([]string{"data/" + run + "/run.json"}, all...)
	}
	return all
}

// listed is a page that search engines are told of.
type listed struct {
	path    string
	in      inLanguages
	changed string // date; "" where it isn't known
}

type siteMap struct {
	XMLName xml.Name  `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 urlset"`
	Links   string    `xml:"xmlns:xhtml,attr"`
	Pages   []mapPage `xml:"url"`
}

type mapPage struct {
	Address    string    `xml:"loc"`
	Changed    string    `xml:"lastmod,omitempty"`
	Alternates []mapLink `xml:"xhtml:link"`
}

type mapLink struct {
	Rel  string `xml:"rel,attr"`
	Lang string `xml:"hreflang,attr"`
	Href string `xml:"href,attr"`
}

// forCrawlers writes robots.txt and, where addresses are known, sitemap.xml.
func (b *builder) forCrawlers() error {
	robots := "User-agent: *\nAllow: /\n"
	if b.base != nil {
		robots += "\nSitemap: " + b.absolute("sitemap.xml") + "\n"
		m := siteMap{Links: "http://www.w3.org/1999/xhtml"}
		for _, l := range b.listed {
			p := mapPage{Address: b.absolute(l.path), Changed: l.changed}
			for _, a := range b.alternates(l.in) {
				p.Alternates = append(p.Alternates, mapLink{"alternate", a.Tag, a.Href})
			}
			m.Pages = append(m.Pages, p)
		}
		content, err := marshalXML(m)
		if err != nil {
			return err
		}
		b.files["sitemap.xml"] = content
	}
	b.files["robots.txt"] = []byte(robots)
	return nil
}

func marshalXML(v any) ([]byte, error) {
	content, err := xml.MarshalIndent(v, "", " ")
	if err != nil {
		return nil, err
	}
	return append([]byte(xml.Header), append(content, '\n')...), nil
}

// unlinked is HTML without its links, which lead to places of their own page.
func unlinked(h template.HTML) template.HTML {
	return template.HTML(anchor.ReplaceAllString(string(h), ""))
}
