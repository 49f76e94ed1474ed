package site

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"genreport/cmd/genreport/internal/article"
	"genreport/measure"
)

func labelNumbers() article.Numbers {
	low, high := 90.5, 120.0
	return article.Numbers{Experiment: "throughput", Metric: "rate", Description: "messages", Unit: measure.PerSecond, X: "channels", Series: "client", Runs: []string{"r1"},
		Command: "build/genreport measure --experiment throughput", Points: []article.NumberPoint{
			{Labels: measure.Labels{"client": "go", "channels": "1"}, X: "1", Series: "go", Value: measure.Float(100), Repeats: 3, Low: &low, High: &high,
				Samples: []measure.Value{measure.Float(90.5), measure.Int(9007199254740993), measure.Float(120)}, Bound: []measure.Bound{measure.BoundHost, measure.BoundClient}},
			{Labels: measure.Labels{"client": "=cmd|x", "channels": "-1"}, X: "-1", Series: "=cmd|x", Value: measure.Missing("the node, \"a\",\nfailed"), Repeats: 2,
				Samples: []measure.Value{measure.Missing("no"), measure.Int(7)}},
			{X: "4", Series: "go", Value: measure.Float(5), Repeats: 7, Low: &low, High: &high, Interval: true, From: 4, To: 6},
		}}
}

func TestFigureCSV(t *testing.T) {
	out, err := figureCSV(labelNumbers())
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range out {
		if b > 126 {
			t.Fatalf("byte %x is not ASCII", b)
		}
	}
	if n, crlf := bytes.Count(out, []byte("\n")), bytes.Count(out, []byte("\r\n")); n != crlf {
		t.Errorf("%d lines, %d end in CR LF", n, crlf)
	}
	rows, err := csv.NewReader(bytes.NewReader(out)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"channels", "client", "rate median (1/s)", "smallest (1/s)", "largest (1/s)", "95% from (1/s)", "95% to (1/s)", "n", "sample 1 (1/s)", "sample 2 (1/s)", "sample 3 (1/s)", "bound by", "missing"},
		{"1", "go", "100", "90.5", "120", "", "", "3", "90.5", "9007199254740993", "120", "host; client", ""},
		// A number stays one, a formula doesn't. The reader makes one newline of two characters.
		{"-1", "'=cmd|x", "", "", "", "", "", "1", "", "7", "", "", "the node, \"a\",\nfailed"},
		{"4", "go", "5", "90.5", "120", "4", "6", "0", "", "", "", "", ""},
	}
	if !reflect.DeepEqual(rows, want) {
		t.Errorf("\n%q, want\n%q", rows, want)
	}
}

func timeNumbers() article.Numbers {
	n := article.Numbers{Experiment: "memory", Metric: "rss", Unit: measure.Bytes, Series: "broker", Runs: []string{"r1"}, Command: "c"}
	for _, b := range []string{"a", "b"} {
		for s, v := range []measure.Value{measure.Int(1), measure.Missing("the node was busy"), measure.Int(3)} {
			n.Points = append(n.Points, article.NumberPoint{Labels: measure.Labels{"broker": b}, Series: b, X: []string{"-1", "0", "1"}[s], Value: v})
		}
	}
	return n
}

func TestFigureCSVOverTime(t *testing.T) {
	out, err := figureCSV(timeNumbers())
	if err != nil {
		t.Fatal(err)
	}
	want := "broker,time (s),rss (B),missing\r\na,-1,1,\r\na,0,,the node was busy\r\na,1,3,\r\nb,-1,1,\r\nb,0,,the node was busy\r\nb,1,3,\r\n"
	if string(out) != want {
		t.Errorf("%q, want %q", out, want)
	}
}

func TestFigureJSON(t *testing.T) {
	out, err := figureJSON(article.Figure{Name: "f", Title: `<a href="#x">1,000</a> &lt;b&gt;`, Numbers: labelNumbers()})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out), "9007199254740993") {
		t.Error("a large number has lost digits")
	}
	var got map[string]any
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{"figure": "f", "title": "1,000 <b>", "experiment": "throughput", "metric": "rate", "unit": "1/s", "x": "channels", "series": "client",
		"command": "build/genreport measure --experiment throughput"} {
		if got[key] != want {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
	points := got["points"].([]any)
	first, second := points[0].(map[string]any), points[1].(map[string]any)
	if first["median"] != 100.0 || first["n"] != 3.0 || first["smallest"] != 90.5 || len(first["samples"].([]any)) != 3 || first["interval_95"] != nil {
		t.Errorf("%v", first)
	}
	if median, there := second["median"]; !there || median != nil || second["missing"] != "the node, \"a\",\nfailed" || second["samples"].([]any)[0] != nil {
		t.Errorf("what is missing: %v", second)
	}
	if got := points[2].(map[string]any)["interval_95"]; !reflect.DeepEqual(got, []any{4.0, 6.0}) {
		t.Errorf("the interval is %v", got)
	}
	out, err = figureJSON(article.Figure{Name: "f", Numbers: timeNumbers()})
	if err != nil {
		t.Fatal(err)
	}
	var over struct {
		X     string
		Lines []struct {
			Labels  map[string]string
			Time    []float64 `json:"time_s"`
			Values  []*float64
			Missing map[string]string
		}
	}
	if err := json.Unmarshal(out, &over); err != nil {
		t.Fatal(err)
	}
	if l := over.Lines; over.X != "time_s" || len(l) != 2 || l[1].Labels["broker"] != "b" || !reflect.DeepEqual(l[0].Time, []float64{-1, 0, 1}) || *l[0].Values[2] != 3 ||
		l[0].Values[1] != nil || l[0].Missing["0"] != "the node was busy" {
		t.Errorf("%+v", over)
	}
}

// A figure's files have names that stay, and the page leads to them.
func TestFigureFiles(t *testing.T) {
	in := sampleInput(plainCharts{})
	in.ECharts = []byte("/* bundle */")
	for _, p := range in.Pages {
		for _, b := range p.Blocks {
			if b.Figure != nil && b.Figure.ID == "fig-channels" {
				b.Figure.ID, b.Figure.Name, b.Figure.Numbers = "figure-rate", "rate", labelNumbers()
			}
		}
	}
	files := build(t, in)
	for _, name := range []string{"rate.csv", "rate.json", "rate.js"} {
		for _, lang := range []string{"zh", "en"} {
			if len(files[lang+"/channels-and-connections/figures/"+name]) == 0 {
				t.Errorf("no %s in %s", name, lang)
			}
		}
	}
	page := string(files["en/channels-and-connections.html"])
	for _, want := range []string{`id="figure-rate"`, `href="#figure-rate"`, `href="../en/channels-and-connections/figures/rate.csv"`, `download="channels-and-connections-rate.json"`,
		`data-option="../en/channels-and-connections/figures/rate.js"`, "<code><span>build/genreport</span> measure <span>--experiment</span> throughput</code>", `>CSV</a>`, `aria-label="CSV · Figure 1"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if script := string(files["en/channels-and-connections/figures/rate.js"]); !strings.HasPrefix(script, `(self.genreportCharts=self.genreportCharts||{})["figure-rate"]={`) {
		t.Errorf("%.90s", script)
	}
	if strings.Contains(string(files["en/index.html"]), "assets/charts.") {
		t.Error("a page without charts has their script")
	}
	in.ECharts = nil
	if page := string(build(t, in)["en/channels-and-connections.html"]); strings.Contains(page, "assets/charts.") || strings.Contains(page, "data-option") {
		t.Error("without ECharts the page has the script of charts")
	}
}
