package chart

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// apart is how far, in CIEDE2000 units, any two series stay from each other, whoever looks. A just noticeable difference of large
// patches is about 1; thin lines and small symbols need several times that.
const apart = 12

// rgb is a colour in linear light, each channel from 0 to 1.
type rgb [3]float64

// linear undoes the transfer function of sRGB (IEC 61966-2-1).
func linear(t testing.TB, hex string) (c rgb) {
	t.Helper()
	var v [3]int
	if _, err := fmt.Sscanf(hex, "#%02x%02x%02x", &v[0], &v[1], &v[2]); err != nil {
		t.Fatalf("%q is no colour: %v", hex, err)
	}
	for i := range v {
		if c[i] = float64(v[i]) / 255; c[i] <= 0.04045 {
			c[i] /= 12.92
		} else {
			c[i] = math.Pow((c[i]+0.055)/1.055, 2.4)
		}
	}
	return c
}

// eyes are how colours reach a reader: as they are, or without one kind of cone. The matrices are those for severity 1.0 of
// Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color Vision Deficiency", IEEE Transactions on
// Visualization and Computer Graphics 15 (2009), table 1; they apply to linear light.
func eyes() map[string][3]rgb {
	return map[string][3]rgb{
		"normal vision": {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
		"protanopia":    {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
		"deuteranopia":  {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
		"tritanopia":    {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
	}
}

func seen(c rgb, m [3]rgb) (out rgb) {
	for i, row := range m {
		out[i] = min(1, max(0, row[0]*c[0]+row[1]*c[1]+row[2]*c[2]))
	}
	return out
}

// lab is CIE L*a*b* under D65.
func lab(c rgb) [3]float64 {
	f := func(v float64) float64 {
		if v > 216.0/24389 {
			return math.Cbrt(v)
		}
		return (24389.0/27*v + 16) / 116
	}
	x := f((0.4124564*c[0] + 0.3575761*c[1] + 0.1804375*c[2]) / 0.95047)
	y := f(0.2126729*c[0] + 0.7151522*c[1] + 0.0721750*c[2])
	z := f((0.0193339*c[0] + 0.1191920*c[1] + 0.9503041*c[2]) / 1.08883)
	return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
}

// difference is CIEDE2000, as Sharma, Wu and Dalal, "The CIEDE2000 Color-Difference Formula", Color Research and Application 30
// (2005), put it.
func difference(p, q [3]float64) float64 {
	seven := func(c float64) float64 { return math.Sqrt(math.Pow(c, 7) / (math.Pow(c, 7) + math.Pow(25, 7))) }
	g := 0.5 * (1 - seven((math.Hypot(p[1], p[2])+math.Hypot(q[1], q[2]))/2))
	a1, a2 := p[1]*(1+g), q[1]*(1+g)
	c1, c2 := math.Hypot(a1, p[2]), math.Hypot(a2, q[2])
	hue := func(a, b float64) float64 {
		if h := math.Atan2(b, a) * 180 / math.Pi; h < 0 {
			return h + 360
		} else {
			return h
		}
	}
	h1, h2 := hue(a1, p[2]), hue(a2, q[2])
	dh, hm := h2-h1, h1+h2
	if c1*c2 == 0 {
		dh = 0
	} else if math.Abs(h1-h2) <= 180 {
		hm /= 2
	} else {
		dh -= math.Copysign(360, dh)
		if hm < 360 {
			hm = (hm + 360) / 2
		} else {
			hm = (hm - 360) / 2
		}
	}
	rad := func(d float64) float64 { return d * math.Pi / 180 }
	lm, cm := (p[0]+q[0])/2, (c1+c2)/2
	t := 1 - 0.17*math.Cos(rad(hm-30)) + 0.24*math.Cos(rad(2*hm)) + 0.32*math.Cos(rad(3*hm+6)) - 0.20*math.Cos(rad(4*hm-63))
	l := (q[0] - p[0]) / (1 + 0.015*(lm-50)*(lm-50)/math.Sqrt(20+(lm-50)*(lm-50)))
	c := (c2 - c1) / (1 + 0.045*cm)
	h := 2 * math.Sqrt(c1*c2) * math.Sin(rad(dh/2)) / (1 + 0.015*cm*t)
	turn := -math.Sin(rad(60*math.Exp(-(hm-275)/25*(hm-275)/25))) * 2 * seven(cm)
	return math.Sqrt(l*l + c*c + h*h + turn*c*h)
}

// The formula is the one that is meant: pairs of the test data that Sharma, Wu and Dalal publish with it.
func TestDifferenceOfColours(t *testing.T) {
	for _, pair := range []struct {
		p, q [3]float64
		want float64
	}{
		{[3]float64{50, 2.6772, -79.7751}, [3]float64{50, 0, -82.7485}, 2.0425},
		{[3]float64{50, 0, 0}, [3]float64{50, -1, 2}, 2.3669},
		{[3]float64{50, 2.4900, -0.0010}, [3]float64{50, -2.4900, 0.0009}, 7.1792},
		{[3]float64{50, 2.5, 0}, [3]float64{73, 25, -18}, 27.1492},
		{[3]float64{60.2574, -34.0099, 36.2677}, [3]float64{60.4626, -34.1751, 39.4387}, 1.2644},
		{[3]float64{22.7233, 20.0904, -46.6940}, [3]float64{23.0331, 14.9730, -42.5619}, 2.0373},
		{[3]float64{2.0776, 0.0795, -1.1350}, [3]float64{0.9033, -0.0636, -0.5514}, 0.9082},
	} {
		near(t, fmt.Sprint("the difference of ", pair.p, " and ", pair.q), difference(pair.p, pair.q), pair.want, 0.00005)
	}
	// White against black is 21:1 (WCAG 2).
	near(t, "contrast", contrast(linear(t, "#ffffff"), linear(t, "#000000")), 21, 1e-9)
	near(t, "contrast of #767676", contrast(linear(t, "#ffffff"), linear(t, "#767676")), 4.54, 0.005)
}

// contrast is WCAG's, from 1 to 21.
func contrast(a, b rgb) float64 {
	luminance := func(c rgb) float64 { return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2] }
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// palettes are the colours of a style sheet's themes: light, dark and paper, in the order in which it has them.
func palettes(t *testing.T) map[string]map[string]string {
	t.Helper()
	css, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "templates", "style.css"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]map[string]string{}
	themes := []string{"light", "dark", "paper"}
	for i, m := range regexp.MustCompile(`--chart-bg: (#[0-9a-f]+);[^}]*`).FindAllStringSubmatch(string(css), -1) {
		if i == len(themes) {
			t.Fatal("the style sheet has more themes than the test knows")
		}
		colors := map[string]string{}
		for _, c := range regexp.MustCompile(`--chart-([a-z0-9]+): (#[0-9a-f]+);`).FindAllStringSubmatch(m[0], -1) {
			if hex := c[2]; len(hex) == 4 {
				c[2] = "#" + strings.Repeat(hex[1:2], 2) + strings.Repeat(hex[2:3], 2) + strings.Repeat(hex[3:4], 2)
			}
			colors[c[1]] = c[2]
		}
		all[themes[i]] = colors
	}
	if len(all) != 3 {
		t.Fatalf("the themes are %v", all)
	}
	return all
}

// Any two series that can meet in a chart are told apart by colour with any kind of eyes, and each stands out from the page by the 3:1
// that WCAG 1.4.11 asks of graphics; what is written, by the 4.5:1 of 1.4.3.
func TestColours(t *testing.T) {
	for theme, colors := range palettes(t) {
		background := linear(t, colors["bg"])
		for i := range MostSeries {
			name := fmt.Sprint(i + 1)
			if c := contrast(linear(t, colors[name]), background); c < 3 {
				t.Errorf("%s: series %s, %s, has a contrast of %.2f:1", theme, name, colors[name], c)
			}
			for j := range i {
				for kind, m := range eyes() {
					a, b := colors[fmt.Sprint(j+1)], colors[name]
					if d := difference(lab(seen(linear(t, a), m)), lab(seen(linear(t, b), m))); d < apart {
						t.Errorf("%s, %s: series %d and %d, %s and %s, are only %.1f apart", theme, kind, j+1, i+1, a, b, d)
					}
				}
			}
			// The picture on its own looks like the one in a light page.
			if want := fmt.Sprintf("var(--chart-%s, %s)", name, colors[name]); theme == "light" && seriesColor(i) != want {
				t.Errorf("series %s is drawn in %s, the style sheet says %s", name, seriesColor(i), want)
			}
		}
		for _, name := range []string{"text", "muted"} {
			if c := contrast(linear(t, colors[name]), background); c < 4.5 {
				t.Errorf("%s: %s has a contrast of %.2f:1", theme, name, c)
			}
		}
	}
}

// six is a figure of as many series as can be told apart.
func six(kind Kind) Figure {
	f := Figure{ID: "six", Kind: kind, Title: "Six", Categories: []string{"a", "b"}}
	for i := range MostSeries {
		f.Series = append(f.Series, Series{Name: fmt.Sprint("s", i), Points: points(float64(10+5*i), float64(12+5*i))})
	}
	return f
}

// In grey they are told apart too: no two lines have the same dashes, no two lines' symbols the same shape, and no two series' bars the
// same pattern, in plot and legend.
func TestColourIsNotTheOnlyDistinction(t *testing.T) {
	dashes, shapes := map[string]int{}, map[string]int{}
	svg := parse(t, draw(t, six(Line)))
	for i := range MostSeries {
		found := map[string]int{}
		symbols := map[string]int{}
		for _, e := range svg {
			switch {
			case e.name == "path" && e.attr["stroke"] == seriesColor(i):
				found[e.attr["stroke-dasharray"]]++
			case e.name == "path" && e.attr["fill"] == seriesColor(i):
				symbols[e.attr["d"]]++
			}
		}
		if len(found) != 1 || len(symbols) == 0 {
			t.Errorf("series %d has the dashes %v and the symbols %v", i+1, found, symbols)
		}
		for d, n := range found {
			if n != 2 {
				t.Errorf("series %d has %d lines, want one in the plot and one in the legend", i+1, n)
			}
			dashes[d]++
		}
		for s := range symbols {
			shapes[s]++
		}
	}
	if len(dashes) != MostSeries {
		t.Errorf("six lines have the dashes %v", dashes)
	}
	for s, n := range shapes {
		if n > 1 {
			t.Errorf("%d lines have the symbol %s", n, s)
		}
	}

	// The directions of the pattern's strokes over a bar: all of its lines, so a plain bar has none.
	f := six(Bar)
	f.Width = 1200 // so that bars are wide enough for any pattern
	drawn := draw(t, f)
	patterns := map[string]int{}
	for i := range MostSeries {
		for _, b := range barsOf(t, drawn, i)[:1] {
			patterns[directions(t, drawn, b)]++
		}
	}
	if len(patterns) != MostSeries || patterns[""] != 1 {
		t.Errorf("six series of bars have the patterns %v", patterns)
	}
	icons := map[string]bool{}
	for i := range MostSeries {
		icons[seriesIcon(i)] = true
	}
	if len(icons) != MostSeries {
		t.Errorf("six series have %d signs in the legend", len(icons))
	}

	over := six(Line)
	over.Series = append(over.Series, Series{Name: "s6", Points: points(1, 2)})
	if _, err := renderer(t).SVG(over); err == nil || !strings.Contains(err.Error(), "7 series") {
		t.Errorf("a seventh series, which looks like the first: %v", err)
	}
}

// directions are those of the lines of a bar's pattern: of -, |, / and \.
func directions(t *testing.T, svg string, b rect) string {
	t.Helper()
	found := map[byte]bool{}
	for _, e := range parse(t, svg) {
		if e.name != "path" || e.attr["stroke-opacity"] != "0.6" {
			continue
		}
		for _, m := range regexp.MustCompile(`M(\S+) ([\d.]+)(L(\S+) ([\d.]+)|[hlHV][^M]*)`).FindAllStringSubmatch(e.attr["d"], -1) {
			n := floats(t, m[0])
			x1, y1 := n[0], n[1]
			if x1 < b.x-0.1 || x1 > b.x+b.width+0.1 {
				continue
			}
			switch m[3][0] {
			case 'h', 'H':
				found['-'] = true
			case 'V':
				found['|'] = true
			default:
				x2, y2 := n[2], n[3]
				if m[3][0] == 'l' {
					x2, y2 = x1+x2, y1+y2
				}
				switch {
				case y1 == y2:
					found['-'] = true
				case x1 == x2:
					found['|'] = true
				case (x2-x1)*(y2-y1) < 0:
					found['/'] = true
				default:
					found['\\'] = true
				}
			}
		}
	}
	out := ""
	for _, d := range `-|/\` {
		if found[byte(d)] {
			out += string(d)
		}
	}
	return out
}
