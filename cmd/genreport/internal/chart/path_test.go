package chart

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// pathToken is a command or a number of a path's d, as SVG 1.1 (8.3.9) writes them: ".5.5" is two numbers, and so is "1-2".
var pathToken = regexp.MustCompile(`[A-Za-z]|[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?`)

// subpaths are the points of each part of a path, from one M to the next. Of an arc it is where it ends.
func subpaths(t testing.TB, d string) (all [][][2]float64) {
	t.Helper()
	tokens := pathToken.FindAllString(d, -1)
	var x, y float64
	var command byte
	for i := 0; i < len(tokens); {
		if c := tokens[i][0]; len(tokens[i]) == 1 && strings.IndexByte("MmLlHhVvAaZz", c) >= 0 {
			command = c
			i++
			if command == 'M' || command == 'm' {
				all = append(all, nil)
			}
			if command == 'Z' || command == 'z' {
				x, y = all[len(all)-1][0][0], all[len(all)-1][0][1]
				continue
			}
		}
		n := map[byte]int{'M': 2, 'L': 2, 'H': 1, 'V': 1, 'A': 7}[command&^0x20]
		if n == 0 || i+n > len(tokens) {
			t.Fatalf("a path that this test can't read: %q", d)
		}
		var v []float64
		for _, token := range tokens[i : i+n] {
			f, err := strconv.ParseFloat(token, 64)
			if err != nil {
				t.Fatalf("the path %q: %v", d, err)
			}
			v = append(v, f)
		}
		i += n
		fromX, fromY := 0.0, 0.0
		if command >= 'a' {
			fromX, fromY = x, y
		}
		switch command &^ 0x20 {
		case 'H':
			x = fromX + v[0]
		case 'V':
			y = fromY + v[0]
		default:
			x, y = fromX+v[n-2], fromY+v[n-1]
		}
		switch command { // what follows M without a letter is lines
		case 'M':
			command = 'L'
		case 'm':
			command = 'l'
		}
		last := len(all) - 1
		all[last] = append(all[last], [2]float64{x, y})
	}
	return all
}

// pointsOf are the points of all parts of a path.
func pointsOf(t testing.TB, d string) [][2]float64 {
	t.Helper()
	return slices.Concat(subpaths(t, d)...)
}

// However long the line, no point is further than half a tenth of a pixel from where it was.
func TestLongPathsDoNotDrift(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var want [][2]float64
	var d strings.Builder
	for i := range 2000 {
		p := [2]float64{float64(i) * 0.35333, 300 * r.Float64()}
		want = append(want, p)
		command := "L"
		if i == 0 || i%500 == 0 {
			command = "M"
		}
		fmt.Fprintf(&d, "%s%v %v", command, p[0], p[1])
	}
	svg, err := inline(`<svg><path d="`+d.String()+`" fill="none" stroke="`+seriesColor(0)+`"/></svg>`, bars())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range parse(t, svg) {
		if e.name != "path" {
			continue
		}
		if len(e.attr["d"]) > d.Len()*2/5 {
			t.Errorf("%d characters became %d: not written from point to point in tenths", d.Len(), len(e.attr["d"]))
		}
		parts := subpaths(t, e.attr["d"])
		got := slices.Concat(parts...)
		if len(parts) != 4 || len(got) != len(want) {
			t.Fatalf("%d parts and %d points, want 4 and %d", len(parts), len(got), len(want))
		}
		for i := range want {
			if math.Abs(got[i][0]-want[i][0]) > 0.0501 || math.Abs(got[i][1]-want[i][1]) > 0.0501 {
				t.Fatalf("point %d is at %v, not %v", i, got[i], want[i])
			}
		}
		return
	}
	t.Error("no path")
}
