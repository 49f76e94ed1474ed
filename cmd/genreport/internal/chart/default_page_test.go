package chart_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/components"
	"github.com/go-echarts/go-echarts/v2/opts"

	"genreport/cmd/genreport/internal/article"
	"genreport/cmd/genreport/internal/chart"
	"genreport/measure"
	"genreport/measure/experiments"
)

// TestDefaultPage makes the page that go-echarts writes by default for the charts of
// the fixture of `make site-figures`, which measures it beside ours. With
// GENREPORT_DEFAULT_PAGE it is written to that file.
func TestDefaultPage(t *testing.T) {
	title, figures := fixture(t)
	if len(figures) != 12 {
		t.Fatalf("the fixture has %d figures, want 12", len(figures))
	}
	var b bytes.Buffer
	if err := defaultPage(title, figures).Render(&b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	if n := strings.Count(page, "echarts.init("); n != 12 {
		t.Errorf("the page starts %d charts, want 12", n)
	}
	// What is at the page's mercy: one script, of another host.
	if n := strings.Count(page, "<script src="); n != 1 || !strings.Contains(page, `<script src="https://go-echarts.github.io/go-echarts-assets/assets/echarts.min.js">`) {
		t.Errorf("the page loads %d scripts, want go-echarts' own", n)
	}
	for _, f := range figures {
		if !strings.Contains(page, f.Title) {
			t.Errorf("the page has no chart %q", f.Title)
		}
	}
	if to := os.Getenv("GENREPORT_DEFAULT_PAGE"); to != "" {
		if err := os.WriteFile(to, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// fixture gives the title and the figures of the fixture, from the committed results.
func fixture(t *testing.T) (string, []chart.Figure) {
	t.Helper()
	root := filepath.Join("..", "..", "..", "..")
	content, err := article.Load(os.DirFS(filepath.Join(root, "scripts", "site-figures", "fixture")))
	if err != nil {
		t.Fatal(err)
	}
	runs, err := measure.Load(os.DirFS(filepath.Join(root, "content", "results")), experiments.Methods())
	if err != nil {
		t.Fatal(err)
	}
	catalog := article.Catalog{}
	for _, e := range experiments.All() {
		k := article.Known{Metrics: e.Metrics}
		for name := range e.Series {
			k.Series = append(k.Series, name)
		}
		for _, c := range e.Cases(experiments.Standard) {
			k.Cases = append(k.Cases, c.Labels)
		}
		catalog[e.Name] = k
	}
	pages, err := content.Resolve(article.NewData(catalog, runs, []string{string(experiments.Standard)}))
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) != 1 || len(pages[0].Unmet) > 0 {
		t.Fatalf("the fixture has %d pages, want one without missing numbers", len(pages))
	}
	var figures []chart.Figure
	for _, b := range pages[0].Blocks {
		if b.Figure != nil {
			figures = append(figures, b.Figure.Wide)
		}
	}
	return string(pages[0].Title), figures
}

// defaultPage sets what says which chart it is, and leaves all else to go-echarts.
// It draws neither intervals nor phases, for which a chart needs more than that.
func defaultPage(title string, figures []chart.Figure) *components.Page {
	page := components.NewPage().SetPageTitle(title)
	for _, f := range figures {
		global := []charts.GlobalOpts{
			charts.WithTitleOpts(opts.Title{Title: f.Title}),
			charts.WithXAxisOpts(opts.XAxis{Name: f.XTitle}),
			charts.WithYAxisOpts(opts.YAxis{Name: f.YTitle}),
		}
		if f.Kind == chart.Bar {
			c := charts.NewBar()
			c.SetGlobalOptions(global...)
			c.SetXAxis(f.Categories)
			for _, s := range f.Series {
				data := make([]opts.BarData, len(s.Points))
				for i, p := range s.Points {
					data[i].Value = value(p)
				}
				c.AddSeries(s.Name, data)
			}
			page.AddCharts(c)
			continue
		}
		c := charts.NewLine()
		c.SetGlobalOptions(global...)
		c.SetXAxis(f.Categories)
		for _, s := range f.Series {
			data := make([]opts.LineData, len(s.Points))
			for i, p := range s.Points {
				data[i].Value = value(p)
			}
			c.AddSeries(s.Name, data)
		}
		page.AddCharts(c)
	}
	return page
}

// value is what ECharts takes for a point, "-" for none.
func value(p chart.Point) any {
	if p.Value == nil {
		return "-"
	}
	return *p.Value
}
