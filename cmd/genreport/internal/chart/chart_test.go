package chart

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

var bundle = filepath.Join("..", "..", "..", "..", "build", "echarts.js")

var shared = sync.OnceValues(func() (*Renderer, error) { return Load(bundle) })

func renderer(t testing.TB) *Renderer {
	t.Helper()
	r, err := shared()
	if err != nil {
		t.Fatalf("%v (make assets builds it)", err)
	}
	return r
}

func draw(t testing.TB, f Figure) string {
	t.Helper()
	svg, err := renderer(t).SVG(f)
	if err != nil {
		t.Fatal(err)
	}
	return svg
}

func num(v float64) *float64 { return &v }

func points(values ...float64) []Point {
	var all []Point
	for _, v := range values {
		all = append(all, Point{Value: num(v)})
	}
	return all
}

// bars is three series of four categories with whiskers.
func bars() Figure {
	f := Figure{
		ID: "throughput", Kind: Bar, Title: "Throughput by channels", Description: "It stays flat.",
		XTitle: "Channels on one connection", YTitle: "Messages per second", Categories: []string{"1", "4", "16", "64"},
		Series: []Series{
			{Name: "go", Points: points(30000, 32000, 34000, 36000)},
			{Name: "go-batched", Points: points(50000, 60000, 61000, 62000)},
			{Name: "pika", Points: points(15000, 15000, 14000, 14500)},
		},
	}
	for _, s := range f.Series {
		for i, p := range s.Points {
			s.Points[i].Low, s.Points[i].High = num(*p.Value-1000), num(*p.Value+2000)
		}
	}
	return f
}

func lines() Figure {
	f := bars()
	f.ID, f.Kind = "lines", Line
	return f
}

type element struct {
	name string
	attr map[string]string
	text string
}

// parse reads an SVG as XML.
func parse(t testing.TB, svg string) []*element {
	t.Helper()
	var all, open []*element
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("not XML: %v\n%s", err, svg)
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := &element{name: token.Name.Local, attr: map[string]string{}}
			for _, a := range token.Attr {
				e.attr[a.Name.Local] = a.Value
			}
			all, open = append(all, e), append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 {
				open[len(open)-1].text += string(token)
			}
		}
	}
}

func texts(t testing.TB, svg string) []string {
	t.Helper()
	var all []string
	for _, e := range parse(t, svg) {
		if e.name == "text" {
			all = append(all, e.text)
		}
	}
	return all
}

var number = regexp.MustCompile(`-?\d+(\.\d+)?`)

func floats(t testing.TB, s string) []float64 {
	t.Helper()
	var all []float64
	for _, n := range number.FindAllString(s, -1) {
		v, err := strconv.ParseFloat(n, 64)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

// position is the place of a text.
func position(t testing.TB, svg, text string) (x, y float64) {
	t.Helper()
	for _, e := range parse(t, svg) {
		if e.name == "text" && e.text == text {
			at := floats(t, e.attr["transform"])
			return at[len(at)-2], at[len(at)-1]
		}
	}
	t.Fatalf("no text %q in %q", text, texts(t, svg))
	return 0, 0
}

type rect struct{ x, bottom, width, height float64 }

// barsOf are the bars of a series, without its sign in the legend.
func barsOf(t testing.TB, svg string, series int) []rect {
	t.Helper()
	var all []rect
	for _, e := range parse(t, svg) {
		if e.name == "path" && e.attr["fill"] == seriesColor(series) && e.attr["transform"] == "" {
			// From its foot on the left to its foot on the right, up (or down), and back.
			if p := pointsOf(t, e.attr["d"]); len(p) == 4 && same(p[0][1], p[1][1]) && same(p[1][0], p[2][0]) && same(p[2][1], p[3][1]) && same(p[3][0], p[0][0]) {
				all = append(all, rect{p[0][0], p[0][1], p[1][0] - p[0][0], p[1][1] - p[2][1]})
			}
		}
	}
	return all
}

// same tells whether two numbers are the same but for the last digits of their sums.
func same(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func near(t testing.TB, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance {
		t.Errorf("%s is %v, not %v", what, got, want)
	}
}

func TestBarsAreAsHighAsTheirValues(t *testing.T) {
	f := bars()
	svg := draw(t, f)
	// 80,000 must be the uppermost line: the largest sample is 64,000.
	_, zero := position(t, svg, "0")
	_, top := position(t, svg, "80,000")
	pixels := (zero - top) / 80000
	if pixels <= 0 {
		t.Fatalf("0 is at %v, 80,000 at %v", zero, top)
	}
	x1, _ := position(t, svg, "1")
	for i, s := range f.Series {
		got := barsOf(t, svg, i)
		if len(got) != len(s.Points) {
			t.Fatalf("series %s: %d bars, not %d", s.Name, len(got), len(s.Points))
		}
		for j, p := range s.Points {
			what := fmt.Sprintf("series %s, category %s: ", s.Name, f.Categories[j])
			near(t, what+"foot", got[j].bottom, zero, 0.1)
			near(t, what+"height", got[j].height, *p.Value*pixels, 0.1)
		}
		// Three bars and two gaps stand around their category's label.
		near(t, "series "+s.Name+": first bar's centre", got[0].x+got[0].width/2, x1+float64(i-1)*got[0].width*(1+barGap), 0.2)
	}
}

func TestWhiskersSpanTheSamples(t *testing.T) {
	f := bars()
	svg := draw(t, f)
	_, zero := position(t, svg, "0")
	_, top := position(t, svg, "80,000")
	pixels := (zero - top) / 80000
	var whiskers [][][2]float64
	for _, e := range parse(t, svg) {
		if e.attr["stroke"] == colorText {
			whiskers = append(whiskers, pointsOf(t, e.attr["d"]))
		}
	}
	if len(whiskers) != 12 {
		t.Fatalf("%d whiskers, not 12", len(whiskers))
	}
	for i, s := range f.Series {
		for j, p := range s.Points {
			w, bar := whiskers[4*i+j], barsOf(t, svg, i)[j]
			what := fmt.Sprintf("series %s, category %s: ", s.Name, f.Categories[j])
			near(t, what+"whisker", w[0][0], bar.x+bar.width/2, 0.15)
			near(t, what+"high", w[0][1], zero-*p.High*pixels, 0.1)
			near(t, what+"low", w[1][1], zero-*p.Low*pixels, 0.1)
		}
	}
}

func symbolsOf(t testing.TB, svg string, series int) (at [][2]float64) {
	t.Helper()
	_, zero := position(t, svg, "0")
	for _, e := range parse(t, svg) {
		if e.name == "path" && e.attr["fill"] == seriesColor(series) && e.attr["stroke"] == colorBg {
			n := floats(t, strings.TrimPrefix(e.attr["transform"], "matrix"))
			x, y := n[len(n)-2], n[len(n)-1]
			if y > 40 && y <= zero { // below the legend
				at = append(at, [2]float64{x, y})
			}
		}
	}
	return at
}

func TestLinePointsAreAtTheirValues(t *testing.T) {
	f := lines()
	f.Series = f.Series[:2] // symbols that are drawn around their middle
	svg := draw(t, f)
	_, zero := position(t, svg, "0")
	_, top := position(t, svg, "80,000")
	pixels := (zero - top) / 80000
	for i, s := range f.Series[:1] {
		got := symbolsOf(t, svg, i)
		if len(got) != 4 {
			t.Fatalf("series %s: %d symbols, not 4", s.Name, len(got))
		}
		for j, p := range s.Points {
			x, _ := position(t, svg, f.Categories[j])
			near(t, "x of "+f.Categories[j], got[j][0], x, 0.1)
			near(t, "y of "+f.Categories[j], got[j][1], zero-*p.Value*pixels, 0.1)
		}
	}
	dashes := map[string]bool{}
	for i := range f.Series {
		for _, e := range parse(t, svg) {
			if e.attr["stroke"] == seriesColor(i) && e.attr["stroke-width"] == "2" {
				dashes[fmt.Sprint(i, e.attr["stroke-dasharray"])] = true
			}
		}
	}
	if len(dashes) != 2 || !dashes["0"] || !dashes["17,3"] {
		t.Errorf("lines and legend have the dashes %v", dashes)
	}
}

func TestMissingIsAGap(t *testing.T) {
	f := bars()
	f.Series[1].Points[2] = Point{Label: "refused"}
	svg := draw(t, f)
	if n := len(barsOf(t, svg, 1)); n != 3 {
		t.Errorf("%d bars, not 3", n)
	}
	if !slices.Contains(texts(t, svg), "refused") {
		t.Errorf("the reason is missing: %q", texts(t, svg))
	}

	f = lines()
	f.Series = f.Series[:1]
	f.Series[0].Points[2] = Point{}
	svg = draw(t, f)
	if n := len(symbolsOf(t, svg, 0)); n != 3 {
		t.Errorf("%d symbols, not 3", n)
	}
	for _, e := range parse(t, svg) {
		if d := e.attr["d"]; e.attr["stroke"] == seriesColor(0) && e.attr["stroke-width"] == "2" && e.attr["transform"] == "" {
			// 1 to 4, nothing to or from 16.
			lines := 0
			for _, part := range subpaths(t, d) {
				lines += len(part) - 1
			}
			if lines != 1 {
				t.Errorf("the line goes over the gap: %s", d)
			}
		}
	}

	f.Series[0].Points = make([]Point, 4)
	draw(t, f) // nothing measured is still a figure
}

func TestNegativeValuesHangFromZero(t *testing.T) {
	f := bars()
	f.Series = []Series{{Points: points(-5, 10, 0, 4)}}
	f.ValueLabels = true
	svg := draw(t, f)
	_, zero := position(t, svg, "0")
	_, ten := position(t, svg, "10")
	b := barsOf(t, svg, 0)
	near(t, "bar of -5", b[0].height, -(zero-ten)/2, 0.1)
	near(t, "its foot", b[0].bottom, zero, 0.1)
}

const hostile = `</ScRiPt><img src=x onerror=alert(1)> "q" 'a' & <!-- ]]> {b} {a|c} ${x} __f__ ` + "\u2028"

func TestHostileTextStaysText(t *testing.T) {
	for _, kind := range []Kind{Bar, Line} {
		f := bars()
		f.Kind, f.Width, f.ValueLabels = kind, 2000, true
		f.Title, f.Description, f.XTitle, f.YTitle = "t"+hostile+".", "d"+hostile+".", "x"+hostile+".", "y"+hostile+"."
		f.Categories = []string{"c" + hostile + "."}
		f.Series = []Series{
			{Name: "s" + hostile + ".", Points: []Point{{Value: num(1), Label: "l" + hostile + "."}}},
			{Name: "__proto__", Points: []Point{{Label: "m" + hostile + "."}}},
		}
		svg := draw(t, f)
		var all strings.Builder
		for _, e := range parse(t, svg) {
			all.WriteString(e.text)
			if !slices.Contains([]string{"svg", "title", "desc", "path", "text", "g"}, e.name) {
				t.Errorf("an element <%s>", e.name)
			}
		}
		// Wrapping takes the space at a line's end.
		got := strings.ReplaceAll(all.String(), " ", "")
		for _, prefix := range []string{"t", "d", "x", "y", "c", "s", "l", "m"} {
			if want := strings.ReplaceAll(prefix+hostile+".", " ", ""); !strings.Contains(got, want) {
				t.Errorf("kind %d: %q is not in\n%q", kind, want, got)
			}
		}
		if !strings.Contains(got, "__proto__") {
			t.Error("no series __proto__")
		}
		for _, bad := range []string{"<img", "</ScRiPt", "<!--", "\u2028", "\u2029", "]]>"} {
			if strings.Contains(svg, bad) {
				t.Errorf("%q is in the SVG", bad)
			}
		}
	}
}

// ECharts keeps what it is given in plain objects, where such a name changes every object there is.
func TestNamesOfObjectsSpoilNothing(t *testing.T) {
	r, err := Load(bundle)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"__proto__", "constructor", "toString", "0"} {
		f := bars()
		f.Title, f.Description, f.XTitle, f.YTitle, f.ValueLabels = name, name, name, name, true
		f.Categories = []string{name, name, "c", "d"}
		f.Series[1].Name = name
		f.Series[1].Points[0].Label = name
		f.Series[2].Points[0] = Point{Label: name}
		for _, f.Kind = range []Kind{Bar, Line} {
			svg, err := r.SVG(f)
			if err != nil {
				t.Fatal(err)
			}
			// Two categories, two axes, the legend and the labels.
			want := 7
			got := 0
			for _, text := range texts(t, svg) {
				if text == name {
					got++
				}
			}
			if got < want-1 || f.Kind == Bar && got < want {
				t.Errorf("kind %d: %q is there %d times, not %d", f.Kind, name, got, want)
			}
		}
		if svg, err := r.SVG(bars()); err != nil || svg != draw(t, bars()) {
			t.Fatalf("after %q a figure looks otherwise: %v", name, err)
		}
	}
}

// phased is a line over ten categories with two phases.
func phased() Figure {
	f := Figure{ID: "p", Kind: Line, Title: "Phases", Description: "A line.", YTitle: "messages/s", Phases: []Phase{{"no consumers", 0, 3}, {"ten consumers", 4, 9}}}
	s := Series{Name: "4.0.5"}
	for i := range 10 {
		f.Categories = append(f.Categories, fmt.Sprint("t", i))
		v := float64(1000 + i)
		s.Points = append(s.Points, Point{Value: &v})
	}
	f.Series = []Series{s}
	return f
}

// The first phase is shaded over its categories and no more; both are named.
func TestPhases(t *testing.T) {
	svg := draw(t, phased())
	x0, _ := position(t, svg, "t0")
	x3, _ := position(t, svg, "t3")
	x4, _ := position(t, svg, "t4")
	half := (x4 - x3) / 2
	var shades [][][2]float64
	for _, e := range parse(t, svg) {
		if e.name == "path" && e.attr["fill"] == colorGrid && e.attr["fill-opacity"] == "0.4" {
			shades = append(shades, pointsOf(t, e.attr["d"]))
		}
	}
	if len(shades) != 1 {
		t.Fatalf("%d shaded parts, want the first of two", len(shades))
	}
	near(t, "left edge", shades[0][0][0], x0-half, 0.2)
	near(t, "width", shades[0][1][0]-shades[0][0][0], x3-x0+2*half, 0.4)
	for _, name := range []string{"no consumers", "ten consumers"} {
		x, _ := position(t, svg, name)
		from := x0
		if name == "ten consumers" {
			from = x4
		}
		if x < from-half || x > from+half+10 {
			t.Errorf("%q is at %v, its phase begins at %v", name, x, from-half)
		}
	}
	plain := phased()
	plain.Phases = nil
	if bare := draw(t, plain); strings.Contains(bare, "consumers") {
		t.Error("phases where there are none")
	}
	for want, phases := range map[string][]Phase{
		"goes from 3 to 10 of 10": {{"x", 3, 10}}, "goes from -1": {{"x", -1, 2}}, "goes from 5 to 4": {{"x", 5, 4}},
		"begins before the one ahead": {{"x", 0, 4}, {"y", 4, 9}},
	} {
		f := phased()
		f.Phases = phases
		if _, err := renderer(t).SVG(f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", phases, err)
		}
	}
	f := bars()
	f.Phases = []Phase{{"x", 0, 0}}
	if _, err := renderer(t).SVG(f); err == nil || !strings.Contains(err.Error(), "only lines have phases") {
		t.Error(err)
	}
}

func TestCharactersThatXMLForbidsAreReplaced(t *testing.T) {
	f := bars()
	f.Series[0].Name = "a\x00b\x1bc\xffd\ne"
	svg := draw(t, f)
	if want := "a\uFFFDb\uFFFDc\uFFFDd e"; !slices.Contains(texts(t, svg), want) {
		t.Errorf("no %q in %q", want, texts(t, svg))
	}
}

func TestPassesAStrictPolicy(t *testing.T) {
	for _, f := range []Figure{bars(), lines(), phased()} {
		f.ValueLabels = true
		svg := draw(t, f)
		ids := map[string]int{}
		for i, e := range parse(t, svg) {
			if (e.name == "svg") != (i == 0) || slices.Contains([]string{"style", "script", "image", "use", "a", "foreignObject"}, e.name) {
				t.Errorf("an element <%s>", e.name)
			}
			for name, value := range e.attr {
				if name == "style" || name == "class" || name == "href" || name == "font-family" || strings.HasPrefix(name, "on") {
					t.Errorf("<%s> has %s=%q", e.name, name, value)
				}
				if name != "xmlns" && strings.Contains(value, "://") {
					t.Errorf("<%s> refers to %q", e.name, value)
				}
				if (name == "fill" || name == "stroke") && value != "none" && !strings.HasPrefix(value, "var(--chart-") {
					t.Errorf("<%s> has %s=%q", e.name, name, value)
				}
			}
			if id, ok := e.attr["id"]; ok {
				ids[id]++
				if !strings.HasPrefix(id, f.ID+"-") || ids[id] > 1 {
					t.Errorf("the id %q is not the figure's own", id)
				}
			}
		}
		root := parse(t, svg)[0]
		if root.attr["role"] != "img" || ids[root.attr["aria-labelledby"]] != 1 || ids[root.attr["aria-describedby"]] != 1 {
			t.Errorf("the root says %v, the ids are %v", root.attr, ids)
		}
		if root.attr["viewBox"] != "0 0 720 360" || root.attr["width"] != "" {
			t.Errorf("the root says %v", root.attr)
		}
	}
}

func TestForeignMarkupIsRefused(t *testing.T) {
	for raw, want := range map[string]string{
		`<svg><script>x</script></svg>`:                              "<script>",
		`<svg><path d="M0 0" onclick="x"/></svg>`:                    "onclick",
		`<svg><path d="M0 0" fill="#fff"/></svg>`:                    "#fff",
		`<svg><path d="M0 0" fill="url(http://x/)"/></svg>`:          "url(",
		`<svg><text style="font-size:12px;color:red">x</text></svg>`: "color",
		`<svg><!-- x --></svg>`:                                      "Comment",
		`<svg><g>`:                                                   "cut short",
		`<p></p>`:                                                    "<p>",
	} {
		if _, err := inline(raw, bars()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

func TestFigureStaysAsItWas(t *testing.T) {
	f := bars()
	f.Categories[0], f.Series[0].Name, f.Series[0].Points[0].Label = "a\nb", "c\nd", "e\nf"
	draw(t, f)
	if f.Categories[0] != "a\nb" || f.Series[0].Name != "c\nd" || f.Series[0].Points[0].Label != "e\nf" {
		t.Errorf("the figure was changed: %+v", f)
	}
}

func TestSameBytesEachTime(t *testing.T) {
	first := draw(t, bars())
	other := draw(t, lines())
	if draw(t, bars()) != first || draw(t, lines()) != other {
		t.Error("a second drawing differs")
	}
	fresh, err := Load(bundle)
	if err != nil {
		t.Fatal(err)
	}
	again, err := fresh.SVG(bars())
	if err != nil {
		t.Fatal(err)
	}
	if again != first {
		t.Error("another renderer's drawing differs")
	}
}

func TestConcurrentUse(t *testing.T) {
	want := draw(t, bars())
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if got, err := renderer(t).SVG(bars()); err != nil || got != want {
				t.Errorf("a drawing beside others differs: %v", err)
			}
		})
	}
	wg.Wait()
}

// TestSameBytesEverywhere runs this test binary under other time zones and locales.
func TestSameBytesEverywhere(t *testing.T) {
	const child = "GENREPORT_CHART_TEST_CHILD"
	if os.Getenv(child) != "" {
		fmt.Println("SVG:" + draw(t, bars()) + draw(t, lines()))
		return
	}
	want := "SVG:" + draw(t, bars()) + draw(t, lines()) + "\n"
	for _, env := range [][]string{{"TZ=Asia/Shanghai", "LC_ALL=C"}, {"TZ=America/New_York", "LC_ALL=zh_CN.UTF-8", "LANG=zh_CN.UTF-8"}} {
		c := exec.Command(os.Args[0], "-test.run=^TestSameBytesEverywhere$")
		c.Env = append(append(os.Environ(), env...), child+"=1")
		out, err := c.Output()
		if err != nil {
			t.Fatalf("%v: %v\n%s", env, err, out)
		}
		if !strings.Contains(string(out), want) {
			t.Errorf("%v: another drawing", env)
		}
	}
}

func TestBadFiguresAreRefused(t *testing.T) {
	for _, test := range []struct {
		name string
		want []string
		bad  func(*Figure)
	}{
		{"NaN", []string{"throughput", "go-batched", `"16"`, "NaN"}, func(f *Figure) { f.Series[1].Points[2].Value = num(math.NaN()) }},
		{"infinity", []string{"throughput", "pika", `"1"`, "+Inf", "high", "missing"}, func(f *Figure) { f.Series[2].Points[0].High = num(math.Inf(1)) }},
		{"huge", []string{"scale"}, func(f *Figure) { f.Series[0].Points[0].Value = num(1e300) }},
		{"only low", []string{"only one"}, func(f *Figure) { f.Series[0].Points[0].High = nil }},
		{"low above high", []string{"above"}, func(f *Figure) { f.Series[0].Points[0].Low = num(40000) }},
		{"samples without value", []string{"no value"}, func(f *Figure) { f.Series[0].Points[0].Value = nil }},
		{"too few points", []string{`"go"`, "3 points for 4"}, func(f *Figure) { f.Series[0].Points = f.Series[0].Points[:3] }},
		{"no title", []string{"title"}, func(f *Figure) { f.Title = " " }},
		{"no ID", []string{"ID"}, func(f *Figure) { f.ID = "" }},
		{"ID with a quote", []string{"ID"}, func(f *Figure) { f.ID = `a"b` }},
		{"ID that starts with a digit", []string{"ID"}, func(f *Figure) { f.ID = "1a" }},
		{"no categories", []string{"categories"}, func(f *Figure) { f.Categories = nil }},
		{"no series", []string{"series"}, func(f *Figure) { f.Series = nil }},
		{"same name twice", []string{"two", `"go"`}, func(f *Figure) { f.Series[2].Name = "go" }},
		{"no name", []string{"no name"}, func(f *Figure) { f.Series[2].Name = "" }},
		{"kind", []string{"kind 7"}, func(f *Figure) { f.Kind = 7 }},
		{"size", []string{"100 × 360"}, func(f *Figure) { f.Width = 100 }},
	} {
		f := bars()
		test.bad(&f)
		_, err := renderer(t).SVG(f)
		if err == nil {
			t.Errorf("%s: accepted", test.name)
			continue
		}
		for _, want := range test.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: the error doesn't say %q: %v", test.name, want, err)
			}
		}
	}
}

func TestChinese(t *testing.T) {
	f := bars()
	f.Title, f.Description, f.XTitle, f.YTitle = "吞吐量", "随信道数几乎不变。", "信道数", "每秒消息数（条/秒）"
	f.Categories = []string{"一个", "四个", "十六个", "六十四个"}
	f.Series[0].Name = "原样客户端"
	svg := draw(t, f)
	got := texts(t, svg)
	for _, want := range []string{"信道数", "每秒消息数（条/秒）", "一个", "六十四个", "原样客户端"} {
		if !slices.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	if !strings.Contains(svg, "<title id=\"throughput-title\">吞吐量</title>") {
		t.Error("no Chinese title")
	}
}

func TestEveryCategoryIsNamed(t *testing.T) {
	for _, width := range []int{720, 400, 300} {
		f := bars()
		f.Width = width
		f.Categories = []string{"RabbitMQ 3.10.8（bookworm）", "RabbitMQ 4.0.5（trixie）", "RabbitMQ 4.3.6（forky）", "averyverylongwordwithoutabreak"}
		got := strings.Join(texts(t, draw(t, f)), "")
		for _, want := range []string{"3.10.8", "（bookworm）", "（forky）", "averyverylongwordwithoutabreak"} {
			if !strings.Contains(got, want) {
				t.Errorf("%d px: no %q in %q", width, want, got)
			}
		}
	}
}

func TestValueLabels(t *testing.T) {
	f := bars()
	f.Series = f.Series[:1]
	f.Series[0].Points[1].Label = "32.0 k"
	if got := texts(t, draw(t, f)); slices.Contains(got, "32.0 k") || slices.Contains(got, "36,000") {
		t.Errorf("labels that nobody asked for: %q", got)
	}
	f.ValueLabels = true
	got := texts(t, draw(t, f))
	for _, want := range []string{"30,000", "32.0 k", "34,000", "36,000"} {
		if !slices.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
}

// Every text stands inside the viewBox and none on another, by the widths that the layout reckons with.
func TestTextsHaveRoom(t *testing.T) {
	r := renderer(t)
	many := Figure{ID: "many", Kind: Line, Title: "t", YTitle: "ms", XTitle: "s", Series: []Series{{Name: "a"}}}
	for i := range 301 { // so that the last one is named
		many.Categories = append(many.Categories, strconv.Itoa(i))
		many.Series[0].Points = append(many.Series[0].Points, Point{Value: num(float64(i % 40))})
	}
	long := bars()
	long.Categories = []string{"wait_for_confirms_once", "publisher-per-request", "averyverylongwordwithoutabreak", "x"}
	long.Series[0].Name = "a client with quite a long name, which says what it does and how it does that, in one line of a legend, or two"
	crowded := Figure{ID: "crowded", Title: "t", YTitle: "messages per second, over all connections and channels", XTitle: "client", Series: []Series{{}}}
	for i := range 14 {
		crowded.Categories = append(crowded.Categories, fmt.Sprint("a client with a long name, number ", i))
		crowded.Series[0].Points = append(crowded.Series[0].Points, Point{Value: num(float64(i))})
	}
	rows := lines()
	rows.Series[0].Name, rows.Series[1].Name, rows.Series[2].Name = "RabbitMQ 3.10.8", "RabbitMQ 4.0.5", "RabbitMQ 4.3.6"
	for _, f := range []Figure{bars(), rows, many, long, crowded} {
		for _, width := range []int{720, 400, 320} {
			f.Width, f.ValueLabels = width, f.ID != "many"
			type place struct {
				text                     string
				left, right, top, bottom float64
			}
			var places []place
			for _, e := range parse(t, draw(t, f)) {
				if e.name != "text" {
					continue
				}
				x, y := 0.0, 0.0
				if at := floats(t, e.attr["transform"]); len(at) > 0 {
					x, y = at[len(at)-2], at[len(at)-1]
				}
				if strings.HasPrefix(e.attr["transform"], "matrix") {
					if x < 0 || x > float64(width) || y < 0 || y > 360 {
						t.Errorf("%s at %d px: %q is at %v, %v", f.ID, width, e.text, x, y)
					}
					continue
				}
				for _, n := range floats(t, e.attr["x"]) {
					x += n
				}
				for _, n := range floats(t, e.attr["y"]) {
					y += n
				}
				size, err := strconv.Atoi(e.attr["font-size"])
				if err != nil {
					t.Fatal(err)
				}
				w, err := r.width(e.text, size)
				if err != nil {
					t.Fatal(err)
				}
				switch e.attr["text-anchor"] {
				case "middle":
					x -= w / 2
				case "end":
					x -= w
				}
				if x < -1 || x+w > float64(width)+1 || y < 6 || y > 354 {
					t.Errorf("%s at %d px: %q goes from %.1f to %.1f at height %.1f", f.ID, width, e.text, x, x+w, y)
				}
				here := place{e.text, x, x + w, y - 6, y + 6}
				for _, p := range places {
					if here.left < p.right && p.left < here.right && here.top < p.bottom && p.top < here.bottom {
						t.Errorf("%s at %d px: %q is on %q", f.ID, width, here.text, p.text)
					}
				}
				places = append(places, here)
			}
		}
	}
}

func TestNiceAxis(t *testing.T) {
	for _, test := range []struct{ lo, hi, min, max, step float64 }{
		{0, 64000, 0, 80000, 20000},
		{0, 36000, 0, 40000, 10000},
		{0, 40000, 0, 40000, 10000},
		{0, 5.8, 0, 6, 2},
		{0, 1, 0, 1, 0.25},
		{0, 0.3, 0, 0.3, 0.1},
		{-5, 10, -5, 10, 5},
		{-3, 0, -3, 0, 1},
		{0, 0, 0, 1, 0.5},
	} {
		if got := niceAxis(test.lo, test.hi); got != (axis{test.min, test.max, test.step}) {
			t.Errorf("%v to %v: %v", test.lo, test.hi, got)
		}
	}
}

func TestThousands(t *testing.T) {
	for number, want := range map[string]string{
		"0": "0", "999": "999", "1000": "1,000", "36000": "36,000", "-1234567.25": "-1,234,567.25", "-100": "-100", "0.5": "0.5",
	} {
		if got := thousands(number); got != want {
			t.Errorf("%s: %s, not %s", number, got, want)
		}
	}
}

func TestLinesBreakWhereTheyMay(t *testing.T) {
	for text, want := range map[string]string{
		"amqp091-go, gathered":   "amqp091-|go, |gathered",
		"RabbitMQ 4.0.5（trixie）": "RabbitMQ |4.0.5|（trixie）",
		"吞吐量，每秒":                 "吞|吐|量，|每|秒",
		"-5 ms":                  "-5 |ms",
		"":                       "",
	} {
		if got := strings.Join(parts(text), "|"); got != want {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
	}
}

func TestMissingBundleNamesTheRemedy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "echarts.js")
	_, err := Load(path)
	if err == nil || !strings.Contains(err.Error(), `run "make assets"`) || !strings.Contains(err.Error(), path) {
		t.Errorf("absent: %v", err)
	}
	for _, script := range []string{"", "syntax error", "globalThis.genreport = {}"} {
		if _, err := New([]byte(script)); err == nil || !strings.Contains(err.Error(), `"make assets"`) {
			t.Errorf("%q: %v", script, err)
		}
	}
}

func BenchmarkSVG(b *testing.B) {
	r := renderer(b)
	for b.Loop() {
		if _, err := r.SVG(bars()); err != nil {
			b.Fatal(err)
		}
	}
}
