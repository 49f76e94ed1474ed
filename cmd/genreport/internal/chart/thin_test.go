package chart

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// long is a series of n points; those that gap names are missing.
func long(n int, value func(int) float64, gap func(int) bool) Figure {
	f := Figure{ID: "long", Kind: Line, Title: "Long", YTitle: "1/s", Series: []Series{{Name: "a"}, {Name: "b"}}}
	for i := range n {
		f.Categories = append(f.Categories, strconv.Itoa(i))
		for s := range f.Series {
			p := Point{}
			if !gap(i) {
				v := value(i) + float64(s)
				p.Value = &v
			}
			f.Series[s].Points = append(f.Series[s].Points, p)
		}
	}
	return f
}

// Whatever the series, each column keeps its first, smallest, largest and last value, and a column without any is a gap.
func TestThinningKeepsExtremes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 30 {
		n := 1500 + r.IntN(20000)
		f := long(n, func(int) float64 { return math.Exp(5 * r.NormFloat64()) }, func(int) bool { return r.IntN(4) == 0 || round%3 == 0 && r.IntN(2) == 0 })
		hole := r.IntN(n - 200)
		for i := hole; i < hole+200; i++ {
			f.Series[0].Points[i].Value = nil
		}
		f, err := ready(f)
		if err != nil {
			t.Fatal(err)
		}
		got := thin(f)
		if got == nil || len(got.from) != 720 {
			t.Fatalf("%d points are not thinned", n)
		}
		for s, series := range f.Series {
			kept := make([][]float64, 720)
			breaks := make([]bool, 720)
			for _, p := range got.points[s] {
				if p.value == nil {
					breaks[p.column] = true
				} else {
					kept[p.column] = append(kept[p.column], *p.value)
				}
			}
			for c := range 720 {
				// The columns by another sum: category i is in the last column that does not begin after it.
				var all []float64
				missing := false
				for i := range n {
					if i < got.from[c] || c+1 < 720 && i >= got.from[c+1] {
						continue
					}
					if v := series.Points[i].Value; v != nil {
						all = append(all, *v)
					} else {
						missing = true
					}
				}
				if missing != breaks[c] {
					t.Fatalf("round %d, column %d: missing %v, a gap %v", round, c, missing, breaks[c])
				}
				if len(all) == 0 {
					if len(kept[c]) > 0 {
						t.Fatalf("round %d, column %d has values that nobody measured", round, c)
					}
					continue
				}
				lo, hi := math.Inf(1), math.Inf(-1)
				for _, v := range all {
					lo, hi = min(lo, v), max(hi, v)
				}
				klo, khi := math.Inf(1), math.Inf(-1)
				for _, v := range kept[c] {
					klo, khi = min(klo, v), max(khi, v)
				}
				if lo != klo || hi != khi || all[0] != kept[c][0] || all[len(all)-1] != kept[c][len(kept[c])-1] || len(kept[c]) > 4 {
					t.Fatalf("round %d, column %d: %v–%v of %v–%v", round, c, klo, khi, lo, hi)
				}
			}
		}
	}
}

func TestShortSeriesStayWhole(t *testing.T) {
	if f := long(1440, func(i int) float64 { return float64(i) }, func(int) bool { return false }); thin(clean(f)) != nil {
		t.Error("two points a pixel are thinned")
	}
	if all, err := Detail(long(1440, func(i int) float64 { return float64(i) }, func(int) bool { return false })); all != nil || err != nil {
		t.Errorf("a chart that shows every point has others: %d bytes, %v", len(all), err)
	}
	f := long(1441, func(i int) float64 { return float64(i) }, func(int) bool { return false })
	if thin(clean(f)) == nil {
		t.Error("more than two points a pixel are not thinned")
	}
	f.Kind = Bar
	if thin(clean(f)) != nil {
		t.Error("bars are thinned")
	}
}

// 100,000 points with one spike: the spike is as high as it was in picture and option, the gap is there, and both are small.
func TestHundredThousandPoints(t *testing.T) {
	value := func(i int) float64 {
		if i == 54321 {
			return 9000
		}
		return 1000
	}
	f := long(100000, value, func(i int) bool { return i >= 20000 && i < 30000 })
	f.Phases = []Phase{{"one", 0, 49999}, {"two", 50000, 99999}}
	d, err := renderer(t).Draw(f)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.SVG) > 60000 || len(d.Option) > 250000 {
		t.Errorf("the picture has %d bytes, the option %d", len(d.SVG), len(d.Option))
	}
	var option struct {
		Categories []string
		Tips       [][]string
		Series     []struct {
			Type string
			Data []struct{ Value []any }
		}
	}
	if err := json.Unmarshal(d.Option, &option); err != nil {
		t.Fatal(err)
	}
	column := 54321 * 720 / 100000
	found, gap := false, false
	for _, p := range option.Series[0].Data {
		if p.Value[0] == float64(column) && p.Value[1] == 9000.0 {
			found = true
		}
		gap = gap || p.Value[0] == float64(25000*720/100000) && p.Value[1] == "-"
	}
	if !found || !gap {
		t.Errorf("the spike: %v, the gap: %v", found, gap)
	}
	if got := option.Tips[0][column]; got != "1,000 – 9,000" {
		t.Errorf("at the spike a reader is told %q", got)
	}
	if got := option.Categories[column]; !strings.HasPrefix(got, "543") || !strings.Contains(got, "–544") {
		t.Errorf("where: %q", got)
	}
	// For who looks closer there is every point.
	encoded, err := Detail(f)
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Categories []string
		Values     [][]*float64
		Tips       [][]string
		Phases     [][2]int
	}
	if err := json.Unmarshal(encoded, &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Categories) != 100000 || all.Categories[54321] != "54321" || len(all.Values) != 2 || len(all.Tips) != 2 || len(all.Phases) != 2 || all.Phases[1] != [2]int{50000, 99999} {
		t.Fatalf("%d categories, %d and %d series, phases %v", len(all.Categories), len(all.Values), len(all.Tips), all.Phases)
	}
	for s, series := range f.Series {
		for i, p := range series.Points {
			if got := all.Values[s][i]; (got == nil) != (p.Value == nil) || got != nil && *got != *p.Value || all.Tips[s][i] != tip(p) {
				t.Fatalf("series %d, point %d is %v, %q", s, i, got, all.Tips[s][i])
			}
		}
	}
	// In the picture: from 0 at the axis to the spike, by the axis' own labels.
	_, y10 := position(t, d.SVG, "10,000")
	highest := math.Inf(1)
	for _, e := range parse(t, d.SVG) {
		if e.name == "path" && strings.Contains(e.attr["stroke"], "--chart-1") && len(pointsOf(t, e.attr["d"])) > 20 {
			for _, p := range pointsOf(t, e.attr["d"]) {
				highest = min(highest, p[1])
			}
		}
	}
	zero := axisAt(t, d.SVG, "0", "10,000")
	near(t, "the spike", highest, zero+(y10-zero)*0.9, 0.7)
}

// axisAt is where the y axis' label 0 is: the one above it is at the same x.
func axisAt(t *testing.T, svg, low, high string) float64 {
	t.Helper()
	xh, _ := position(t, svg, high)
	for _, e := range parse(t, svg) {
		if e.name == "text" && e.text == low {
			at := floats(t, e.attr["transform"])
			if at[0] == xh {
				return at[1]
			}
		}
	}
	t.Fatalf("no %q on the axis", low)
	return 0
}

// Bars differ in pattern too, within their boxes; the first is plain.
func TestBarsHavePatterns(t *testing.T) {
	svg := draw(t, bars())
	hatched := map[int]int{}
	for s := range 3 {
		for _, b := range barsOf(t, svg, s) {
			for _, e := range parse(t, svg) {
				if e.name != "path" || e.attr["stroke-opacity"] != "0.6" {
					continue
				}
				first := pointsOf(t, e.attr["d"])[0]
				if first[0] >= b.x-0.1 && first[0] <= b.x+b.width+0.1 && first[1] <= b.bottom+0.1 && first[1] >= b.bottom-b.height-0.1 {
					hatched[s]++
				}
			}
		}
	}
	if hatched[0] != 0 || hatched[1] != 4 || hatched[2] != 4 {
		t.Errorf("of four bars a series these have a pattern: %v", hatched)
	}
}

// A mark is drawn with and without labels, and told to those who point.
func TestMarks(t *testing.T) {
	f := bars()
	f.Series[1].Points[2].Mark = "†"
	d, err := renderer(t).Draw(f)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, text := range texts(t, d.SVG) {
		if text == "†" {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d marks, want 1", n)
	}
	var option struct{ Tips [][]string }
	if err := json.Unmarshal(d.Option, &option); err != nil {
		t.Fatal(err)
	}
	if got := option.Tips[1][2]; !strings.HasPrefix(got, "61,000†") {
		t.Errorf("who points at it is told %q", got)
	}
}
