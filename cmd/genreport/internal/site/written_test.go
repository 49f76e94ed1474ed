package site

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/chromedp/chromedp"

	"genreport/cmd/genreport/internal/article"
	"genreport/cmd/genreport/internal/chart"
	"genreport/measure"
)

// The whole way of an article: from result files and content, as they stand on a disk, to pages. Results and texts are the tests' own.

// inputOf stores the runs, reads them and the content, and resolves the articles, as `genreport render` does.
func inputOf(t *testing.T, content map[string]string, catalog article.Catalog, recorded ...measure.Recorded) Input {
	t.Helper()
	dir := t.TempDir()
	methods := map[string]int{}
	for _, rec := range recorded {
		w, err := measure.Create(dir, rec.Run)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rec.Results {
			methods[r.Experiment] = r.Method
			if err := w.WriteResult(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	runs, err := measure.Load(os.DirFS(dir), methods)
	if err != nil {
		t.Fatal(err)
	}
	fsys := fstest.MapFS{}
	for name, text := range content {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	c, err := article.Load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	data := func(runs []measure.Recorded) article.Data {
		return article.NewData(catalog, runs, []string{"standard"})
	}
	in := Input{Config: Config{Title: c.Site.Title, Author: c.Site.Author, Footer: c.Site.Footer, BaseURL: c.Site.BaseURL, Languages: c.Site.Languages},
		Runs: runs, Tool: "0.1.0", Data: map[string][]byte{}}
	if in.Pages, err = c.Resolve(data(runs)); err != nil {
		t.Fatal(err)
	}
	for i := range len(runs) - 1 {
		before, err := c.ResolveBefore(data(runs[:i+1]), runs[i+1], in.Pages)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range before {
			if !p.Aside {
				in.Earlier = append(in.Earlier, Earlier{runs[i].Run.ID, p})
			}
		}
	}
	err = fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		in.Data[name], err = os.ReadFile(filepath.Join(dir, name))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// withCharts makes an input's charts real, and lets them answer.
func withCharts(t *testing.T, in Input) Input {
	t.Helper()
	charts, err := chart.Open(filepath.Join("..", "..", "..", "..", "build", "echarts.js"), filepath.Join(t.TempDir(), "drawings"))
	if err != nil {
		t.Fatalf("%v (\"make assets\" makes it)", err)
	}
	in.Charts, in.ECharts = charts, charts.Script()
	return in
}

// serveFiles serves a site without any policy: what is safe must be so by itself.
func serveFiles(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "public")
	if err := Write(dir, files); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	return server.URL + "/"
}

// quoted is a string of YAML.
func quoted(t *testing.T, s string) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b) // JSON's strings are YAML's too
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

const (
	firstSeconds = 100_000
	spikeAt      = 54_321
	dipAt        = 77_777
)

// longSeries are two lines of 100,000 seconds: noise between 4,000 and 6,000 with one second of 9,500 and one of 500, and a steady 2,000
// that was not read from second 20,000 to 29,999.
func longSeries() map[string][]measure.Value {
	noisy, steady := make([]measure.Value, firstSeconds), make([]measure.Value, firstSeconds)
	seed := uint32(1)
	for i := range firstSeconds {
		seed = seed*1664525 + 1013904223
		noisy[i], steady[i] = measure.Int(int64(4000+seed>>8%2000)), measure.Int(2000)
		if i >= 20_000 && i < 30_000 {
			steady[i] = measure.Missing("the node did not answer")
		}
	}
	noisy[spikeAt], noisy[dipAt] = measure.Float(9500.5), measure.Int(500)
	return map[string][]measure.Value{"noisy": noisy, "steady": steady}
}

func longInput(t *testing.T) Input {
	t.Helper()
	metrics := map[string]measure.Metric{"mean": {Unit: measure.PerSecond, Better: measure.Higher, Description: "mean rate"}}
	run := measure.NewRun(time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC), "standard")
	run.Brokers = []measure.Broker{{Label: "debian:forky", RabbitMQ: "4.3.6", Erlang: "29.1"}}
	res := measure.NewResult(run, "long", 1, 2)
	res.Whole, res.Metrics = true, metrics
	known := article.Known{Metrics: metrics, Series: []string{"rate"}}
	for i, line := range []string{"noisy", "steady"} {
		known.Cases = append(known.Cases, measure.Labels{"line": line})
		res.Cells = append(res.Cells, measure.Cell{Labels: measure.Labels{"line": line, "broker": "debian:forky"}, Repeat: 1, Order: i, Command: "genreport measure --experiment long --case line=" + line,
			Values: map[string]measure.Value{"mean": measure.Int(1)},
			Series: map[string]measure.Series{"rate": {Unit: measure.PerSecond, Step: 1, Values: longSeries()[line]}}})
	}
	md := `---
title: Long
question: How long?
summary: Long.
headlines:
  - {value: "${long/mean line=noisy}", label: a}
  - {value: "${long/mean line=noisy}", label: b}
  - {value: "${long/mean line=noisy}", label: c}
---

Lede.

` + "```figure over\ntitle: Over a day and more\nalt: Two lines.\nx: seconds\ny: messages/s\n```\n"
	return withCharts(t, inputOf(t, map[string]string{
		"site.yaml":  "title: {en: Site}\nlanguages: [en]\n",
		"long.yaml":  "series: S\nnumber: 1\nbrokers: {current: 'debian:forky'}\nfigures:\n  over: {kind: time, experiment: long, metric: rate, series: line}\n",
		"en/long.md": md,
	}, article.Catalog{"long": known}, measure.Recorded{Run: run, Results: map[string]measure.Result{"long": res}}))
}

// 100,000 points from the result file to the page: the picture is small and has each extreme where it was, and the files have all of them.
func TestLongSeries(t *testing.T) {
	ctx := browser(t)
	files := build(t, longInput(t))
	page, option := files["en/long.html"], files["en/long/figures/over.js"]
	if len(page) > 250_000 || len(option) > 600_000 {
		t.Errorf("the page has %d bytes, what its chart is drawn from %d", len(page), len(option))
	}
	want := longSeries()

	rows, err := csv.NewReader(bytes.NewReader(files["en/long/figures/over.csv"])).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 1+2*firstSeconds || !slices.Equal(rows[0], []string{"line", "time (s)", "rate (1/s)", "missing"}) {
		t.Fatalf("the CSV file has %d rows, headed %q", len(rows), rows[0])
	}
	for i, row := range rows[1:] {
		line, second := "noisy", i
		if i >= firstSeconds {
			line, second = "steady", i-firstSeconds
		}
		v := want[line][second]
		text := ""
		if v.OK() {
			text = strconv.FormatFloat(v.Float64(), 'f', -1, 64)
		}
		if !slices.Equal(row, []string{line, strconv.Itoa(second), text, v.Reason()}) {
			t.Fatalf("row %d of the CSV file is %q, want %s, second %d, %v", i+2, row, line, second, v)
		}
	}

	var all struct {
		Lines []struct {
			Labels  map[string]string
			Time    []float64 `json:"time_s"`
			Values  []*float64
			Missing map[string]string
		}
	}
	if err := json.Unmarshal(files["en/long/figures/over.json"], &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Lines) != 2 {
		t.Fatalf("the JSON file has %d lines", len(all.Lines))
	}
	for _, l := range all.Lines {
		values := want[l.Labels["line"]]
		if len(l.Time) != firstSeconds || len(l.Values) != firstSeconds {
			t.Fatalf("%v has %d seconds and %d values in the JSON file", l.Labels, len(l.Time), len(l.Values))
		}
		for i, v := range l.Values {
			if l.Time[i] != float64(i) || (v != nil) != values[i].OK() || v != nil && *v != values[i].Float64() || l.Missing[strconv.Itoa(i)] != values[i].Reason() {
				t.Fatalf("second %d of %v in the JSON file is wrong", i, l.Labels)
			}
		}
	}

	root := serveFiles(t, files)
	var c troubles
	watch(t, ctx, &c)
	focused(t, ctx)
	do(t, ctx, chromedp.EmulateViewport(1280, 900), chromedp.Navigate(root+"en/long.html"))
	// What is drawn where, by the axes' own labels: at the second of the spike the line reaches 9,500, and nowhere else above 6,100; the same
	// below; the steady line has its gap.
	found := value[map[string]float64](t, ctx, fmt.Sprintf(`(() => {
		const svg = document.querySelector("#figure-over .wide > svg");
		const at = (name, axis) => {
			const all = [...svg.querySelectorAll("text")].filter(e => e.textContent === name).map(e => { const r = e.getBBox(), m = e.getCTM(), s = svg.getCTM(); const p = new DOMPoint(r.x + r.width / 2, r.y + r.height / 2).matrixTransform(m).matrixTransform(s.inverse()); return p; });
			all.sort((a, b) => axis === "x" ? b.y - a.y : a.x - b.x);
			return all[0][axis];
		};
		const x20 = at("20,000", "x"), x80 = at("80,000", "x"), y0 = at("0", "y"), y10 = at("10,000", "y");
		const x = (second) => x20 + (second - 20000) * (x80 - x20) / 60000, y = (v) => y0 + v * (y10 - y0) / 10000;
		const lines = (n) => [...svg.querySelectorAll("path")].filter(e => (e.getAttribute("stroke") || "").includes("--chart-" + n + ",") && e.getBBox().width > 300);
		const hit = (n, px, py) => lines(n).some(e => { const p = new DOMPoint(px, py).matrixTransform(svg.getCTM()).matrixTransform(e.getCTM().inverse()); return e.isPointInStroke(p); });
		// where the line is at a value, between two seconds
		const places = (n, v, from, to, step) => { const out = []; for (let px = x(from); px < x(to); px += step) if (hit(n, px, y(v))) out.push(px); return out; };
		const near = (v, second) => places(1, v, second - 2000, second + 2000, 0.25);
		const above = near(9400, %[2]d), high = near(7000, %[2]d), below = near(600, %[3]d), low = near(3000, %[3]d);
		const body = places(1, 5000, 0, %[1]d, 2.03), most = (x(%[1]d) - x(0)) / 2.03;
		const steady = places(2, 2000, 15000, 35000, 0.25).map(px => 20000 + (px - x20) * 60000 / (x80 - x20));
		const middle = (a) => a.length ? (a[0] + a[a.length - 1]) / 2 : -1, wide = (a) => a.length ? a[a.length - 1] - a[0] : -1;
		return { spike: middle(above) - x(%[2]d), spikeWide: wide(high), dip: middle(below) - x(%[3]d), dipWide: wide(low), body: body.length / most,
			gapFrom: Math.max(...steady.filter(s => s < 25000)), gapTo: Math.min(...steady.filter(s => s > 25000)), inGap: steady.filter(s => s > 20200 && s < 29800).length };
	})()`, firstSeconds-1, spikeAt, dipAt))
	for name, ok := range map[string]bool{
		"the spike is in its column": math.Abs(found["spike"]) <= 1.5, "the spike is one column wide": found["spikeWide"] >= 0.5 && found["spikeWide"] <= 4,
		"the dip is in its column": math.Abs(found["dip"]) <= 1.5, "the dip is one column wide": found["dipWide"] >= 0.5 && found["dipWide"] <= 4,
		"every column has the noise": found["body"] >= 0.97,
		// A column is 139 seconds, and a line has a width.
		"the gap is where it was": math.Abs(found["gapFrom"]-20_000) < 300 && math.Abs(found["gapTo"]-30_000) < 300 && found["inGap"] == 0,
	} {
		if !ok {
			t.Errorf("not so: %s: %v", name, found)
		}
	}

	// The chart that answers: at the spike's column it tells of it, and closer there still is an axis.
	value[bool](t, ctx, `document.querySelector("#figure-over .wide").focus(), true`)
	until(t, ctx, `!!document.querySelector("#figure-over .wide.alive")`)
	said := `document.querySelector("#figure-over [role=status]").textContent`
	key := func(k string, shift bool, times int) {
		t.Helper()
		for range times {
			value[bool](t, ctx, fmt.Sprintf(`document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key: %q, shiftKey: %v, bubbles: true})), true`, k, shift))
			do(t, ctx, chromedp.Sleep(10*time.Millisecond))
		}
		do(t, ctx, chromedp.Sleep(200*time.Millisecond))
	}
	column := spikeAt * 720 / firstSeconds
	key("Home", false, 1)
	key("ArrowRight", true, column/10)
	key("ArrowRight", false, column%10)
	got := value[string](t, ctx, said)
	if !strings.Contains(got, "9,50") || !strings.HasPrefix(got, "54,") {
		t.Errorf("at the spike is said %q", got)
	}
	labels := `[...document.querySelectorAll("#figure-over .live text")].map(e => e.textContent).filter(s => /^[5][0-9],\d\d\d$/.test(s))`
	key("+", false, 4)
	key("ArrowRight", false, 1)
	key("ArrowLeft", false, 1)
	if got := value[[]string](t, ctx, labels); len(got) < 2 {
		t.Errorf("sixteen times as close the axis says %q", got)
	}
	if got := value[string](t, ctx, said); !strings.Contains(got, "9,50") {
		t.Errorf("sixteen times as close, at the spike is said %q", got)
	}
	picture(t, ctx, "long")
	for _, s := range c.take() {
		t.Error(s)
	}
}
