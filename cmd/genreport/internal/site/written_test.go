package site

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/chromedp/cdproto/input"
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
	mux := http.NewServeMux()
	mux.Handle("/x/", http.StripPrefix("/x/", http.FileServer(http.Dir(dir))))
	mux.HandleFunc("/favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL + "/x/"
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

	// The chart that answers: at the spike's column it tells of it, and closer it is drawn from all points.
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
	loaded := func() bool {
		return value[bool](t, ctx, `performance.getEntriesByType("resource").some(e => e.name.endsWith("/over.detail.js"))`)
	}
	axis := `[...document.querySelectorAll("#figure-over .live text")].map(e => e.textContent).filter(s => /^[0-9]{2},[0-9]{3}$/.test(s) && s !== "10,000").sort().join(" ")`
	column := spikeAt * 720 / firstSeconds
	key("Home", false, 1)
	key("ArrowRight", true, column/10)
	key("ArrowRight", false, column%10)
	if got := value[string](t, ctx, said); !strings.HasPrefix(got, "54,305–54,443; ") || !strings.Contains(got, "– 9,500; ") && !strings.Contains(got, "– 9,500; ") {
		t.Errorf("at the spike is said %q", got)
	}
	whole := value[string](t, ctx, axis)
	if whole != "20,000 40,000 60,000 80,000" || loaded() {
		t.Errorf("the axis says %q, all points are loaded: %v", whole, loaded())
	}
	// Closer the columns are of fewer seconds, and at last each is one.
	seek := func(want string) string {
		t.Helper()
		for _, arrow := range []string{"ArrowLeft", "ArrowRight"} {
			for range 20 {
				if got := value[string](t, ctx, said); strings.Contains(got, want) {
					return got
				}
				key(arrow, false, 1)
			}
		}
		t.Fatalf("nothing near by says %q; the last was %q", want, value[string](t, ctx, said))
		return ""
	}
	key("+", false, 4)
	until(t, ctx, axis+" !== "+strconv.Quote(whole))
	if got := value[string](t, ctx, axis); got != "52,000 54,000 56,000" {
		t.Errorf("sixteen times as close the axis says %q", got)
	}
	if got := seek("9,500"); !strings.HasPrefix(got, "54,31") && !strings.HasPrefix(got, "54,32") {
		t.Errorf("sixteen times as close the spike is at %q", got)
	}
	picture(t, ctx, "long-closer")
	key("+", false, 8)
	if got := seek("9,500"); got != "54,321; noisy  9,500; steady  2,000" {
		t.Errorf("as close as can be the spike is %q", got)
	}
	for i, arrow := range []string{"ArrowLeft", "ArrowRight"} {
		seek("9,500")
		key(arrow, false, 1)
		at := spikeAt - 1 + 2*i
		shown := func(n int64) string { return fmt.Sprintf("%d,%03d", n/1000, n%1000) }
		v, _ := want["noisy"][at].Int64() // shown with three digits, as in the table
		if got, next := value[string](t, ctx, said), shown(int64(at))+"; noisy  "+shown((v+5)/10*10)+"; steady  2,000"; got != next {
			t.Errorf("beside the spike is %q, want %q", got, next)
		}
	}
	if !loaded() || value[bool](t, ctx, `document.querySelector("#figure-over .whole").hidden`) {
		t.Error("closer, not all points are loaded, or there is no way back")
	}
	picture(t, ctx, "long-closest")
	key("0", false, 1)
	if got := value[string](t, ctx, axis); got != whole || !value[bool](t, ctx, `document.querySelector("#figure-over .whole").hidden`) {
		t.Errorf("back again the axis says %q", got)
	}
	// The gap: dragging from before it to after it, the steady line ends and begins at its seconds.
	gx := func(second float64) float64 {
		box := value[[]float64](t, ctx, `(() => { const r = document.querySelector("#figure-over .wide").getBoundingClientRect(), of = (s) => { const q = [...document.querySelectorAll("#figure-over .live text")].find(e => e.textContent === s).getBoundingClientRect(); return q.left + q.width / 2; }; return [of("20,000"), of("80,000"), r.top + r.height / 2] })()`)
		return box[0] + (second-20_000)*(box[1]-box[0])/60_000
	}
	_, middle := at(t, ctx, "figure-over", 0, 180)
	from, end := gx(18_000), gx(22_000)
	do(t, ctx, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, from, middle), chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, from, middle, chromedp.ButtonLeft), chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, (from+end)/2, middle, chromedp.ButtonLeft),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, end, middle, chromedp.ButtonLeft), chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, end, middle, chromedp.ButtonLeft), chromedp.Sleep(500*time.Millisecond))
	if got := value[string](t, ctx, axis); !strings.Contains(got, "19,000 20,000 21,000") || strings.Contains(got, "17,000") || strings.Contains(got, "23,000") {
		t.Errorf("after dragging from 18,000 to 22,000 the axis says %q", got)
	}
	picture(t, ctx, "long-gap")
	gap := value[[]float64](t, ctx, `(() => {
		const of = (s) => { const q = [...document.querySelectorAll("#figure-over .live text")].find(e => e.textContent === s).getBoundingClientRect(); return q.left + q.width / 2; };
		const line = [...document.querySelectorAll("#figure-over .live path")].filter(e => (e.getAttribute("stroke") || "").includes("--chart-2,") && e.getBoundingClientRect().width > 50)[0].getBoundingClientRect();
		return [19000 + (line.right - of("19,000")) * 2000 / (of("21,000") - of("19,000"))];
	})()`)
	if math.Abs(gap[0]-20_000) > 30 {
		t.Errorf("closer, the steady line ends at second %v, want 19,999", gap[0])
	}
	// With Ctrl the wheel zooms: up closer, down further; without, it is the page's.
	wheel := func(delta float64, keys int64) string {
		t.Helper()
		do(t, ctx, chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
			_, err := chromedp.Call(ctx, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseWheel, X: end, Y: middle, DeltaX: 1e-9, DeltaY: delta, Modifiers: keys})
			return err
		}), chromedp.Sleep(400*time.Millisecond))
		return value[string](t, ctx, axis)
	}
	const ctrl = 2
	// The pointer is at about 18,900: a fifth less, from 18,200 to 21,400.
	if got := wheel(-120, ctrl); got != "19,000 20,000 21,000" {
		t.Errorf("a fifth closer the axis says %q", got)
	}
	if got := wheel(120, ctrl); !strings.HasPrefix(got, "18,000 19,000 20,000 21,000") {
		t.Errorf("back again the axis says %q", got)
	}
	top := value[float64](t, ctx, `scrollY`)
	before := value[string](t, ctx, axis)
	if got := wheel(120, 0); got != before || value[float64](t, ctx, `scrollY`) <= top {
		t.Errorf("without Ctrl the axis says %q, the page is scrolled by %v", got, value[float64](t, ctx, `scrollY`)-top)
	}
	for _, s := range c.take() {
		t.Error(s)
	}
}

// hostileSite is content and results in which every string that can come from outside is hostile, each with a name of its own by which
// it is found again: texts of content, in each language; results, versions, machines and reasons, in all.
type hostileSite struct {
	t     *testing.T
	names []string
}

// text is the hostile string with a name. It must be seen on some page.
func (h *hostileSite) text(name string) string {
	if !slices.Contains(h.names, name) {
		h.names = append(h.names, name)
	}
	return "[" + name + "]" + hostile + "."
}

// unseen is one that no page shows, only files.
func (h *hostileSite) unseen(name string) string { return "[" + name + "]" + hostile + "." }

// yaml is such a text as a string of YAML.
func (h *hostileSite) yaml(name string) string { return quoted(h.t, h.text(name)) }

// markdown is such a text where Markdown is read: HTML is refused there unless it is escaped.
func (h *hostileSite) markdown(name string) string {
	return strings.NewReplacer("<", `\<`, "[", `\[`).Replace(h.text(name))
}

// yamlMarkdown is that in a string of YAML.
func (h *hostileSite) yamlMarkdown(name string) string { return quoted(h.t, h.markdown(name)) }

func (h *hostileSite) catalog() article.Catalog {
	k := article.Known{Texts: []string{"said"}, Series: []string{"over"}, Metrics: map[string]measure.Metric{
		"rate":   {Unit: measure.PerSecond, Better: measure.Higher, Description: h.text("description of a metric")},
		"memory": {Unit: measure.Bytes, Better: measure.Lower, Description: "bytes"},
	}}
	for _, client := range []string{"plain", h.text("label")} {
		for _, x := range []string{"1", h.text("x")} {
			k.Cases = append(k.Cases, measure.Labels{"client": client, "x": x})
		}
	}
	return article.Catalog{"hurt": k}
}

// run is one run; its case at x of the hostile client failed, and nobody knows another's memory.
func (h *hostileSite) run(day int) measure.Recorded {
	run := measure.NewRun(time.Date(2026, 5, day, 3, 2, 1, 0, time.UTC), "standard")
	ended := run.Started.Add(time.Hour)
	run.Ended = &ended
	run.Tool = measure.Tool{Version: h.text("tool"), Commit: "abc", Go: h.text("Go")}
	run.Machine = measure.Machine{CPU: h.text("CPU"), Cores: 2, MemoryBytes: 24 << 30, OS: h.text("OS"), Kernel: h.text("kernel"), Arch: h.text("arch"), Virtualisation: h.text("virtualisation"), Governor: h.text("governor")}
	run.Brokers = []measure.Broker{{Label: h.text("broker"), RabbitMQ: h.text("RabbitMQ"), Erlang: h.text("Erlang"), Package: h.unseen("package"), Plugins: []string{h.unseen("plugin")},
		Settings: map[string]string{"max_message_size": h.text("setting")}, Components: map[string]string{"ra": h.text("component")}}}
	run.Database = &measure.Database{Label: h.unseen("database"), Server: h.text("database server"), Version: h.text("database version"), Package: h.unseen("database package")}
	run.Clients = []measure.Client{{Label: "plain", Library: h.text("library"), Version: h.text("library version"), Runtime: h.text("runtime")}}
	run.Warnings = []string{h.text("warning")}
	run.Control = []measure.Control{{When: "first", Broker: h.text("broker"), Rate: measure.Missing(h.text("reason of the control"))}}
	cases := h.catalog()["hurt"].Cases
	res := measure.NewResult(run, "hurt", 1, len(cases))
	res.Whole, res.Metrics = true, h.catalog()["hurt"].Metrics
	res.Parameters = map[string]string{"queue": h.text("parameter"), h.unseen("name of a parameter"): "1"}
	for i, c := range cases {
		labels := maps.Clone(c)
		labels["broker"] = h.text("broker")
		cell := measure.Cell{Labels: labels, Repeat: 1, Order: i, Command: h.text("command"), Texts: map[string]string{"said": h.text("said")},
			Values: map[string]measure.Value{"rate": measure.Float(float64(100 * (i + 1))), "memory": measure.Missing(h.text("reason of a value"))},
			Series: map[string]measure.Series{"over": {Unit: measure.Count, Step: 1, Values: []measure.Value{measure.Int(1), measure.Missing(h.text("reason of a second")), measure.Int(3), measure.Int(2), measure.Int(1), measure.Int(2), measure.Int(0)}}}}
		if i == len(cases)-1 {
			cell.Values["rate"], cell.Series = measure.Missing(h.text("reason of a failure")), nil
			cell.Failure = &measure.Failure{Reason: h.text("reason of a failure"), Log: h.unseen("log")}
		}
		res.Cells = append(res.Cells, cell)
	}
	return measure.Recorded{Run: run, Results: map[string]measure.Result{"hurt": res}}
}

func (h *hostileSite) content() map[string]string {
	y := h.yaml
	files := map[string]string{
		"site.yaml": "title: {zh: " + y("site, zh") + ", en: " + y("site, en") + "}\nauthor: " + y("author") + "\nlanguages: [zh, en]\nfooter: {zh: [" + y("footer, zh") + "], en: [" + y("footer, en") + "]}\n",
		"hurt.yaml": "series: " + y("series") + "\nnumber: 1\nbrokers: {current: " + y("broker") + "}\n" +
			"sources: {post: {title: {zh: " + y("source, zh") + ", en: " + y("source, en") + "}}}\n" + `
figures:
  bars: {kind: bar, experiment: hurt, metric: rate, x: x, series: client}
  line: {kind: line, experiment: hurt, metric: rate, x: x, series: client, labels: true}
  over: {kind: time, experiment: hurt, metric: over, series: x, where: {client: plain}}
claims:
  gain: {is: greater, experiment: hurt, metric: rate, case: {client: plain, x: "1"}, than: {client: plain, x: ` + y("x") + `}}
  words: {is: less, experiment: hurt, metric: rate, case: {client: plain, x: "1"}, than: {client: ` + y("label") + `, x: "1"}}
tables:
  all: {experiment: hurt, metric: rate, rows: x, columns: client}
demos:
  way:
    objects: {a: {kind: client, at: [1, 1]}, b: {kind: queue, at: [2, 1]}}
    links: {l: {from: a, to: b}}
    recorded: {r: {experiment: hurt, metric: over, series: x, where: {client: plain}}}
    steps:
      - {id: one, active: [a], messages: {l: [` + y("message") + `]}, labels: {b: ` + y("label of an object") + `}, recorded: {show: r, at: "2"}}
      - {id: two, blocked: [b]}
errata:
  - {date: "2026-12-01", zh: ` + h.yamlMarkdown("erratum, zh") + ", en: " + h.yamlMarkdown("erratum, en") + "}\n",
	}
	for _, lang := range []string{"zh", "en"} {
		y := func(name string) string { return h.yaml(name + ", " + lang) }
		m := func(name string) string { return h.markdown(name + ", " + lang) }
		ym := func(name string) string { return h.yamlMarkdown(name + ", " + lang) }
		raw := func(name string) string { return h.text(name + ", " + lang) }
		files[lang+"/hurt.md"] = "---\ntitle: " + y("title") + "\nquestion: " + y("question") + "\nsummary: " + y("summary") + "\nheadlines:\n" +
			"  - {value: " + y("headline") + ", label: " + y("label of a headline") + ", note: " + y("note of a headline") + "}\n" +
			"  - {value: \"${hurt/rate client=plain x=1}\", label: b}\n  - {value: \"${hurt/said client=plain x=1}\", label: c}\n---\n\n" +
			m("lede") + "\n\n## " + m("heading") + "\n\n" + m("prose") + " `" + raw("code") + "` ${hurt/memory client=plain x=1} ${given/7 | from=post} ${claim/words | holds=\"" +
			"w <img src=x onerror=alert(1)>\" fails=\"w <img src=x onerror=alert(1)>\" undecided=\"w <img src=x onerror=alert(1)>\"}\n\n" +
			"${broker/rabbitmq} ${broker/max_message_size} ${broker/ra} ${client/version client=plain} ${machine/cpu} ${database/server} ${database/version} ${hurt/@queue}\n\n" +
			"| " + m("head of a table") + " |\n|---|\n| " + m("cell of a table") + " |\n\nA footnote.[^1]\n\n[^1]: " + m("footnote") + "\n\n" +
			"[" + m("link") + "](aside.html)\n\n" +
			"```text\n" + raw("block of code") + "\n```\n\n" +
			"```claim gain\nholds: " + ym("claim") + "\nfails: " + ym("claim") + "\nundecided: " + ym("claim") + "\n```\n\n" +
			"```output experiment=hurt client=plain x=1\n" + raw("output") + "\n" + raw("column") + " || ${rate}\n${said}\n```\n\n" +
			"```table all\ntitle: " + y("title of a table") + "\ncorner: " + y("corner") + "\nunit: " + y("unit") + "\nnames: {plain: " + y("name in a table") + "}\ncaption: " + ym("caption of a table") + "\n```\n\n" +
			"```given hurt\ntitle: " + y("title of parameters") + "\nparameters:\n  queue: {name: " + y("name of the parameter") + ", text: " + y("text of a parameter") + "}\n```\n\n" +
			"```setup\ntitle: " + y("title of a setup") + "\ntext: " + ym("text of a setup") + "\nconfig: " + y("configuration") + "\ncommands: " + y("commands") + "\nexperiment: hurt\n```\n\n" +
			"```callout warning " + raw("title of a remark") + "\n" + m("remark") + "\n```\n\n" +
			"```demo way\ntitle: " + y("title of a demonstration") + "\ncaption: " + ym("caption of a demonstration") + "\nnames: {a: " + y("object") + ", b: b}\n" +
			"recorded: {r: {name: " + y("recorded") + ", zero: " + y("zero") + "}}\nsteps:\n" +
			"  one: {title: " + y("step") + ", caption: " + ym("caption of a step") + ", labels: {l: " + y("label of a link") + "}}\n  two: {title: two, caption: two}\n```\n\n"
		for _, id := range []string{"bars", "line", "over"} {
			files[lang+"/hurt.md"] += "```figure " + id + "\ntitle: " + y("title of "+id) + "\ncaption: " + y("caption of "+id) + "\nalt: " + y("alt of "+id) +
				"\nx: " + y("x of "+id) + "\ny: " + y("y of "+id) + "\n"
			if id == "bars" {
				files[lang+"/hurt.md"] += "names: {plain: " + y("name of a series") + "}\n"
			}
			files[lang+"/hurt.md"] += "```\n\n"
		}
		files["pages/"+lang+"/aside.md"] = "---\ntitle: " + y("aside") + "\nsummary: " + y("summary of an aside") + "\n---\n\n" + m("text of an aside") + "\n"
	}
	return files
}

// squeezed is a text without blanks, which wrapping takes, and adds.
func squeezed(s string) string { return strings.Join(strings.Fields(s), "") }

// However hostile a string, and wherever it comes from, a reader sees it as it is: no element and no script comes of it, in pages, cards,
// feeds and charts that answer, with no policy to help.
func TestHostileEverywhere(t *testing.T) {
	ctx := browser(t)
	h := &hostileSite{t: t}
	in := withCharts(t, inputOf(t, h.content(), h.catalog(), h.run(4), h.run(5)))
	in.BaseURL, in.Tool = "https://example.org/x/", h.text("tool")
	for _, lang := range in.Languages {
		in.Changes = append(in.Changes, Change{Lang: lang, Slug: "hurt", Claim: hostile, Tested: hostile, Run: in.Runs[1].Run.ID, When: *in.Runs[1].Run.Ended, Before: hostile, After: hostile,
			Sentences: []Sentence{{Before: hostile, After: hostile}}})
	}
	cards, err := Cards(in)
	if err != nil {
		t.Fatal(err)
	}
	files := build(t, in)
	inspect(t, files, in.BaseURL)
	broken := brokenAnywhere(t, files, in.BaseURL)
	for _, b := range broken {
		t.Error(b)
	}
	if len(cards) != 2 || len(in.Earlier) != 2 {
		t.Fatalf("%d cards, %d earlier articles", len(cards), len(in.Earlier))
	}
	pages := slices.DeleteFunc(slices.Sorted(maps.Keys(files)), func(name string) bool { return path.Ext(name) != ".html" })
	for name, content := range cards {
		files["cards/"+name] = content
		pages = append(pages, "cards/"+name)
	}

	root := serveFiles(t, files)
	var c troubles
	watch(t, ctx, &c)
	focused(t, ctx)
	// What came of strings: elements, scripts, handlers, comments. An element of an image or a script is there with its text as its
	// attribute or not at all.
	const looks = `((doc) => {
		const bad = [...doc.querySelectorAll("img, iframe, object, embed, form, base, meta[http-equiv]")].map(e => e.outerHTML.slice(0, 80));
		for (const e of doc.scripts) if (e.type === "application/ld+json") JSON.parse(e.textContent); else if (!e.src || e.textContent) bad.push("script " + e.textContent.slice(0, 80));
		for (const e of doc.querySelectorAll("*")) for (const a of e.attributes) if (a.name.startsWith("on") || /^\s*javascript:/i.test(a.value)) bad.push(e.tagName + " " + a.name + " " + a.value.slice(0, 80));
		const comments = doc.createTreeWalker(doc, NodeFilter.SHOW_COMMENT);
		while (comments.nextNode()) bad.push("comment " + comments.currentNode.data.slice(0, 80));
		return bad;
	})`
	seen := map[string]bool{} // squeezed texts of pages
	for _, name := range pages {
		do(t, ctx, chromedp.EmulateViewport(1280, 900), chromedp.Navigate(root+name))
		if strings.HasSuffix(name, "/hurt.html") && !strings.Contains(name, "cards") {
			for i := range value[int](t, ctx, `document.querySelectorAll("figure[data-option]").length`) {
				stage := fmt.Sprintf(`document.querySelectorAll("figure[data-option]")[%d].querySelector(".wide")`, i)
				value[bool](t, ctx, stage+`.focus(), true`)
				until(t, ctx, stage+`.classList.contains("alive")`)
				for range 2 {
					value[bool](t, ctx, `document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight", bubbles: true})), true`)
					do(t, ctx, chromedp.Sleep(50*time.Millisecond))
				}
				if said := value[string](t, ctx, stage+`.querySelector("[role=status]").textContent`); !strings.Contains(squeezed(said), squeezed(hostile)) {
					t.Errorf("%s: of a point of figure %d is said %q", name, i+1, said)
				}
			}
		}
		for _, bad := range value[[]string](t, ctx, looks+"(document)") {
			t.Errorf("%s: a string became %s", name, bad)
		}
		text := value[string](t, ctx, `[...document.querySelectorAll("script, style")].forEach(e => e.remove()), document.documentElement.textContent + [...document.querySelectorAll("meta[name=description]")].map(e => e.content).join("")`)
		seen[squeezed(text)] = true
		for _, s := range c.take() {
			t.Errorf("%s: %s", name, s)
		}
	}
	for _, name := range h.names {
		want := squeezed(h.text(name))
		if !slices.ContainsFunc(slices.Collect(maps.Keys(seen)), func(page string) bool { return strings.Contains(page, want) }) {
			t.Errorf("no page shows %q as it is", name)
		}
	}

	// Feeds: their entries are HTML again.
	for _, name := range []string{"zh/feed.xml", "en/feed.xml", "zh/changes.xml", "en/changes.xml"} {
		var feed struct {
			Entries []struct {
				Title   string `xml:"title"`
				Content string `xml:"content"`
			} `xml:"entry"`
		}
		if err := xml.Unmarshal(files[name], &feed); err != nil || len(feed.Entries) == 0 {
			t.Fatalf("%s: %v, %d entries", name, err, len(feed.Entries))
		}
		for _, e := range feed.Entries {
			encoded, err := json.Marshal(e.Content)
			if err != nil {
				t.Fatal(err)
			}
			for _, bad := range value[[]string](t, ctx, looks+fmt.Sprintf(`(new DOMParser().parseFromString(%s, "text/html"))`, encoded)) {
				t.Errorf("%s: a string became %s", name, bad)
			}
			text := value[string](t, ctx, fmt.Sprintf(`new DOMParser().parseFromString(%s, "text/html").documentElement.textContent`, encoded))
			if !strings.Contains(squeezed(text), squeezed(hostile)) || !strings.Contains(squeezed(e.Title), squeezed(hostile)) {
				t.Errorf("%s shows %q under %q", name, text, e.Title)
			}
		}
	}
	var locations struct {
		Pages []string `xml:"url>loc"`
	}
	if err := xml.Unmarshal(files["sitemap.xml"], &locations); err != nil || len(locations.Pages) < 5 {
		t.Errorf("the site map: %v, %q", err, locations.Pages)
	}

	// Downloads: as they are, and nothing that a spreadsheet would calculate.
	for _, lang := range in.Languages {
		rows, err := csv.NewReader(bytes.NewReader(files[lang+"/hurt/figures/bars.csv"])).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		var cells []string
		for _, r := range rows {
			cells = append(cells, r...)
		}
		for _, name := range []string{"label", "x", "reason of a failure"} {
			if !slices.Contains(cells, h.text(name)) {
				t.Errorf("the %s CSV file has no %q: %q", lang, name, cells)
			}
		}
		var figure struct {
			Title  string
			Points []struct {
				Labels  map[string]string
				Missing string
			}
		}
		if err := json.Unmarshal(files[lang+"/hurt/figures/bars.json"], &figure); err != nil {
			t.Fatal(err)
		}
		if last := figure.Points[len(figure.Points)-1]; figure.Title != h.text("title of bars, "+lang) || last.Labels["client"] != h.text("label") || last.Missing != h.text("reason of a failure") {
			t.Errorf("the %s JSON file has %q and %+v", lang, figure.Title, last)
		}
	}
	for name, content := range files {
		// Whatever a browser takes a file for. In XML a line separator is a character like any other.
		if strings.HasPrefix(name, "assets/") || path.Ext(name) != ".js" && path.Ext(name) != ".json" && path.Ext(name) != ".xml" {
			continue
		}
		if text := string(content); strings.Contains(text, "<img") || strings.Contains(text, "<!--") || path.Ext(name) != ".xml" && strings.Contains(text, "\u2028") || strings.Contains(strings.ToLower(text), "</script") {
			t.Errorf("%s has a hostile string as it is", name)
		}
	}
}

// What a chart says by signs it says in words too: which points are bound by the client and which failed, in picture, table, files, chart that
// answers, and to those who hear the page.
func TestMarkedPoints(t *testing.T) {
	metrics := map[string]measure.Metric{"rate": {Unit: measure.PerSecond, Better: measure.Higher, Description: "rate"}}
	run := measure.NewRun(time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC), "standard")
	run.Brokers = []measure.Broker{{Label: "debian:forky", RabbitMQ: "4.3.6", Erlang: "29.1"}}
	res := measure.NewResult(run, "load", 1, 4)
	res.Whole, res.Metrics = true, metrics
	known := article.Known{Metrics: metrics, Series: []string{"over"}}
	for i, c := range []measure.Labels{{"client": "go", "x": "1"}, {"client": "go", "x": "2000"}, {"client": "pika", "x": "1"}, {"client": "pika", "x": "2000"}} {
		known.Cases = append(known.Cases, c)
		labels := maps.Clone(c)
		labels["broker"] = "debian:forky"
		cell := measure.Cell{Labels: labels, Repeat: 1, Order: i, Command: "genreport measure", Values: map[string]measure.Value{"rate": measure.Int(int64(1000 * (i + 1)))},
			Series: map[string]measure.Series{"over": {Unit: measure.PerSecond, Step: 1, Values: []measure.Value{measure.Int(1), measure.Int(2)}}}}
		switch i {
		case 1: // failed
			cell.Failure, cell.Series = &measure.Failure{Reason: "the broker left"}, nil
			cell.Values["rate"] = measure.Missing("the broker left")
		case 2: // bound by its client: nine and a half of ten seconds of its core
			cell.CPU = &measure.CPU{Wall: 10, Cores: 2, Processes: 1, Clients: measure.Float(9.5), Broker: measure.Float(5), Idle: measure.Float(5.5), Steal: measure.Float(0)}
		}
		res.Cells = append(res.Cells, cell)
	}
	content := map[string]string{"site.yaml": "title: {zh: Site, en: Site}\nlanguages: [zh, en]\n",
		"load.yaml": "series: S\nnumber: 1\nbrokers: {current: 'debian:forky'}\nfigures:\n  bars: {kind: bar, experiment: load, metric: rate, x: x, series: client}\n" +
			"  over: {kind: time, experiment: load, metric: over, series: client, where: {x: '2000'}}\n"}
	for _, lang := range []string{"zh", "en"} {
		content[lang+"/load.md"] = "---\ntitle: T\nquestion: Q?\nsummary: S.\nheadlines:\n  - {value: a, label: a}\n  - {value: b, label: b}\n  - {value: c, label: c}\n---\n\nLede.\n\n" +
			"```figure bars\ntitle: Bars\nalt: Alt.\nx: x\ny: y\n```\n\n```figure over\ntitle: Over\nalt: Alt.\nx: x\ny: y\n```\n"
	}
	files := build(t, withCharts(t, inputOf(t, content, article.Catalog{"load": known}, measure.Recorded{Run: run, Results: map[string]measure.Result{"load": res}})))
	for lang, want := range map[string]struct{ short, missing, bound, barsTold, overTold string }{
		"en": {"failed", "not measured (the broker left)", "Client-bound: the load clients used up their cores", "Alt. Vertical axis: y. Client-bound (†): pika, 1. Without a number: go, 2,000, not measured (the broker left).",
			"Alt. Vertical axis: y. Without a number: go, not measured (the broker left)."},
		"zh": {"失败", "未测量\uff08the broker left\uff09", "受限于客户端\uff1a压测客户端用满了自己的核", "Alt.纵轴\uff1ay\u3002受限于客户端\uff08†\uff09\uff1apika\uff0c1\u3002没有数值\uff1ago\uff0c2,000\uff0c未测量\uff08the broker left\uff09\u3002",
			"Alt.纵轴\uff1ay\u3002没有数值\uff1ago\uff0c未测量\uff08the broker left\uff09\u3002"},
	} {
		page := string(files[lang+"/load.html"])
		for id, signs := range map[string]map[string]int{"bars": {"†": 1, want.short: 1}, "over": {"†": 0, want.short: 1}} {
			told := map[string]string{"bars": want.barsTold, "over": want.overTold}[id]
			figure := page[strings.Index(page, `<figure class="chart" id="figure-`+id+`"`):]
			figure = figure[:strings.Index(figure, "</figure>")]
			for _, size := range []string{"wide", "narrow"} {
				_, svg, _ := strings.Cut(figure, `<div class="`+size+`">`)
				svg, _, _ = strings.Cut(svg, "</svg>")
				drawn := texted(svg)
				for sign, n := range signs {
					if got := len(slices.DeleteFunc(slices.Clone(drawn), func(s string) bool { return s != sign })); got != n {
						t.Errorf("%s, %s %s: %q is drawn %d times, want %d: %q", lang, size, id, sign, got, n, drawn)
					}
				}
				if !strings.Contains(svg, ">"+told+"</desc>") {
					t.Errorf("%s, %s %s: who does not see it is not told %q: %.600s", lang, size, id, told, svg)
				}
			}
			if !strings.Contains(figure, ">"+want.missing+"</td>") {
				t.Errorf("%s %s: the table has no %q", lang, id, want.missing)
			}
			if option := string(files[lang+"/load/figures/"+id+".js"]); !strings.Contains(option, want.missing) || strings.Contains(option, "3,000†") != (id == "bars") {
				t.Errorf("%s %s: who points is not told: %.300s", lang, id, option)
			}
			if option := string(files[lang+"/load/figures/"+id+".js"]); id == "bars" && strings.Count(option, `["`+want.short+`","`+want.missing+`"]`) != 2 {
				t.Errorf("%s: who points at a bar is not shown %q, or not told why: %.300s", lang, want.short, option)
			}
			if id == "bars" && (!strings.Contains(figure, ">3,000†</td>") || !strings.Contains(figure, want.bound)) {
				t.Errorf("%s: neither table nor note have the mark: %s", lang, figure)
			}
		}
		if rows := string(files[lang+"/load/figures/bars.csv"]); !strings.Contains(rows, "\r\n1,pika,3000,3000,3000,,,1,3000,client,\r\n") || !strings.Contains(rows, "\r\n2000,go,,,,,,0,,,the broker left\r\n") {
			t.Errorf("the %s CSV file says neither who bound nor what failed: %q", lang, rows)
		}
	}
}

// texted are the texts of an SVG.
func texted(svg string) (all []string) {
	for _, part := range strings.Split(svg, "<text")[1:] {
		_, part, _ = strings.Cut(part, ">")
		text, _, _ := strings.Cut(part, "</text>")
		all = append(all, text)
	}
	return all
}
