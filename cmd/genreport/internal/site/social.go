package site

import (
	"bytes"
	"fmt"
	"image/png"
	"strings"

	"genreport/cmd/genreport/internal/article"
)

// Size of the pictures that previews of links show, in pixels.
const (
	PictureWidth  = 1200
	PictureHeight = 630
)

// card is what the picture of an article shows.
type card struct {
	Lang, Slug, Tag         string
	SiteTitle, Series       string
	Number                  int
	Title, Question, Footer string
	Headlines               []article.Headline
	HeadlineSize            string
	page                    []byte
}

// Cards are the pages that pictures for previews are taken of, one an article
// and language, by the name that its picture must have under [Input.Pictures],
// with .html after it. The name has a digest of the page: a picture of other
// numbers is never published.
//
// A browser takes the pictures (make social), since only it sets Chinese and
// Latin type as the pages do. They are committed beside the content, so that
// pages come out the same on a machine without fonts.
func Cards(in Input) (map[string][]byte, error) {
	b := builder{in: in, files: map[string][]byte{}, texts: map[string]text{}}
	if err := b.prepare(); err != nil {
		return nil, fmt.Errorf("make the pictures' pages: %w", err)
	}
	all := map[string][]byte{}
	for _, p := range in.Pages {
		if !p.Aside && !p.Draft {
			c := b.card(p)
			all[c.file()+".html"] = c.page
		}
	}
	return all, nil
}

func (b *builder) card(p article.Page) card {
	t := b.texts[p.Lang]
	c := card{Lang: p.Lang, Slug: p.Slug, Tag: t.Tag, SiteTitle: b.in.Title[p.Lang], Series: p.Series, Number: p.Number, Title: p.Title,
		Question: p.Question, Footer: strings.Trim(versions(p)+" · "+measured(p), " ·")}
	shown := p.Headlines[:min(3, len(p.Headlines))] // what there is room for
	c.HeadlineSize = headlineSize(shown)
	for _, h := range shown {
		c.Headlines = append(c.Headlines, article.Headline{Value: unlinked(h.Value), Label: unlinked(h.Label)})
	}
	var out bytes.Buffer
	if err := b.templates.ExecuteTemplate(&out, "card.html", c); err != nil {
		out.Reset() // no picture has the name of nothing
	}
	c.page = out.Bytes()
	return c
}

func (c card) file() string { return c.Lang + "-" + c.Slug + "." + digest(c.page) + ".png" }
func (c card) path() string { return "assets/" + c.file() }

// CheckPicture says why a file can't be the picture of a preview.
func CheckPicture(content []byte) error {
	size, err := png.DecodeConfig(bytes.NewReader(content))
	if err != nil {
		return err
	}
	if size.Width != PictureWidth || size.Height != PictureHeight {
		return fmt.Errorf("it is %d × %d pixels, want %d × %d", size.Width, size.Height, PictureWidth, PictureHeight)
	}
	return nil
}
