package site

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"strings"

	"genreport/cmd/genreport/internal/article"
	"genreport/cmd/genreport/internal/chart"
)

// figure is what figure.html shows.
type figure struct {
	UI             *text
	Words          figureWords
	ID, Label      string
	Title, Caption template.HTML
	Wide, Narrow   template.HTML // SVG
	Option         string        // the script with what the chart is drawn from, or ""
	Detail         string        // the script with all points of a long one, or ""
	Table          article.Table
	Rows           [][]figureCell
	TableLabel     string
	Shortened      bool // the table leaves out points that the files have
	CSV, JSON      file
	Command        template.HTML
	Data           []article.Link
	Marked         []article.MarkedSeries
}

// figureCell is a number, or the words where one is missing.
type figureCell struct {
	Text  string
	Words bool
}

// file is one of a figure's own.
type file struct{ Href, Name string }

// chartScripts are what makes the charts of a page answer: the page's small script, which loads the other when a reader reaches for one.
type chartScripts struct{ Loader, ECharts string }

// figureWords are the strings of figures, beside those of text.
type figureWords struct {
	Link, CSV, JSON, Again, Shortened string // Shortened goes before a link to the CSV
	Whole, Help                       string
}

func wordsOfFigures(lang string) figureWords {
	if lang == "zh" {
		return figureWords{Link: "本图的链接", CSV: "下载 CSV", JSON: "下载 JSON", Again: "重新测量：", Shortened: "表里只列出其中一部分时刻，全部数据见",
			Whole: "显示全部", Help: "按左右方向键逐点看数值，数字键开关各个系列，加号和减号缩放，Esc 离开"}
	}
	return figureWords{Link: "Link to this figure", CSV: "Download CSV", JSON: "Download JSON", Again: "Measure it again:", Shortened: "The table has some of the seconds only; all are in the",
		Whole: "Show all", Help: "Left and right arrow keys move through the points, digits switch series, plus and minus zoom, Escape leaves"}
}

func (b *builder) figure(in *article.Figure, number int, t text, links *linker) (*figure, error) {
	f := &figure{UI: &t, Words: wordsOfFigures(t.Lang), ID: in.ID, Label: fmt.Sprintf(t.Figure, number), Title: in.Title, Caption: in.Caption,
		Table: in.Table, Marked: in.Marked, Command: commandHTML(in.Numbers.Command)}
	f.TableLabel = t.FigureData + t.Separator + f.Label
	f.Shortened = in.Numbers.Timed() && len(in.Table.Rows) < len(in.Wide.Categories)
	for _, row := range in.Table.Rows {
		var cells []figureCell
		for _, text := range row {
			cells = append(cells, figureCell{text, text != "–" && !startsWithNumber(text)})
		}
		f.Rows = append(f.Rows, cells)
	}
	var options bytes.Buffer
	for _, size := range []struct {
		name   string
		figure *chart.Figure
		svg    *template.HTML
	}{{"wide", &in.Wide, &f.Wide}, {"narrow", &in.Narrow, &f.Narrow}} {
		d, err := b.in.Charts.Draw(size.figure)
		if err != nil {
			return nil, fmt.Errorf("figure %s: %w", in.ID, err)
		}
		*size.svg = template.HTML(d.SVG)
		if options.Len() > 0 {
			options.WriteString(",\n")
		}
		fmt.Fprintf(&options, `%q:{"width":%d,"height":%d,"option":%s}`, size.name, d.Width, d.Height, d.Option)
	}
	for _, d := range in.Data {
		f.Data = append(f.Data, links.to(d))
	}
	name := in.Name
	if name == "" {
		name = in.ID
	}
	page := strings.TrimSuffix(links.from, ".html")
	to := func(ext string, content []byte) file {
		p := page + "/figures/" + name + ext
		b.put(p, content)
		return file{b.link(links.from, p), path.Base(page) + "-" + name + ext}
	}
	if len(in.Numbers.Points) > 0 {
		csv, err := figureCSV(in.Numbers)
		if err != nil {
			return nil, fmt.Errorf("figure %s: %w", in.ID, err)
		}
		js, err := figureJSON(*in)
		if err != nil {
			return nil, fmt.Errorf("figure %s: %w", in.ID, err)
		}
		f.CSV, f.JSON = to(".csv", csv), to(".json", js)
	}
	if len(b.in.ECharts) > 0 {
		// A script rather than JSON, since a page that is opened from a disk may load scripts, but fetch nothing; and not in the
		// page, since most readers never reach for most charts.
		id, err := json.Marshal(in.ID)
		if err != nil {
			return nil, err
		}
		f.Option = to(".js", fmt.Appendf(nil, "(self.genreportCharts=self.genreportCharts||{})[%s]={\n%s};\n", id, options.Bytes())).Href
		all, err := chart.Detail(in.Wide)
		if err != nil {
			return nil, fmt.Errorf("figure %s: %w", in.ID, err)
		}
		if all != nil {
			f.Detail = to(".detail.js", fmt.Appendf(nil, "(self.genreportDetails=self.genreportDetails||{})[%s]=%s;\n", id, all)).Href
		}
	}
	return f, nil
}

// chartScripts gives the scripts of charts. There are none without ECharts. A page with a demonstration too
// loads one file rather than two.
func (b *builder) chartScripts(from string, demo bool) (chartScripts, error) {
	if len(b.in.ECharts) == 0 {
		return chartScripts{}, nil
	}
	script := b.charts
	if demo {
		script = b.both
	}
	loader, err := script()
	if err != nil {
		return chartScripts{}, err
	}
	return chartScripts{b.link(from, loader), b.link(from, b.echarts())}, nil
}

// script puts scripts among the site's files, as one that has the name of the last.
func (b *builder) script(names ...string) (path string, err error) {
	var all [][]byte
	for _, name := range names {
		content, err := fs.ReadFile(b.in.Templates, name)
		if err != nil {
			return "", err
		}
		if content, err = smaller(name, content); err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, content)
	}
	return b.asset(names[len(names)-1], bytes.Join(all, []byte(";\n"))), nil
}

// asset puts a file among the site's, under a name that changes with its content.
func (b *builder) asset(name string, content []byte) string {
	base, ext, _ := strings.Cut(name, ".")
	p := "assets/" + base + "." + digest(content) + "." + ext
	b.put(p, content)
	return p
}
