package diagram

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"
)

func line(values ...float64) RecordedLine {
	var l RecordedLine
	for i := range values {
		if values[i] < 0 { // a gap
			l.Points = append(l.Points, RecordedPoint{Time: float64(i)})
			continue
		}
		l.Points = append(l.Points, RecordedPoint{Time: float64(i), Value: &values[i]})
	}
	return l
}

// The plot is 340 wide from 6 on, and 58 high from 76 up.
func TestRecordedPath(t *testing.T) {
	for name, tt := range map[string]struct {
		values []float64
		want   string
	}{
		"what lies on a line is left out": {[]float64{0, 5, 10}, "M6 76L346 18"},
		"a corner stays":                  {[]float64{0, 10, 0}, "M6 76L176 18L346 76"},
		"a gap breaks it":                 {[]float64{10, -1, 10}, "M6 18h.1M346 18h.1"},
	} {
		c := Recorded{From: 0, To: 2, Top: 10}
		if got := c.path(line(tt.values...).Points); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// Of 100,000 points a line keeps each column's extremes: the single high one too.
func TestRecordedKeepsExtremes(t *testing.T) {
	values := make([]float64, 100_000)
	values[54_321] = 10
	c := Recorded{From: 0, To: 99_999, Top: 10}
	path := c.path(line(values...).Points)
	if len(path) > 200 || !strings.Contains(path, " 18L") {
		t.Errorf("%d bytes: %.200s", len(path), path)
	}
}

func TestRecordedIsSafe(t *testing.T) {
	const hostile = `</svg><script>"'&<!--`
	l := line(1, 2)
	l.At = &l.Points[1]
	svg := Recorded{ID: "x", Title: hostile, Description: hostile, To: 1, Top: 2, TopText: hostile, FromText: hostile, ToText: hostile, Zero: hostile, Lines: []RecordedLine{l}}.SVG()
	d := xml.NewDecoder(strings.NewReader(svg))
	n := 0
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("%v in %s", err, svg)
		}
		if c, ok := token.(xml.CharData); ok && string(c) == hostile {
			n++
		}
	}
	if n != 6 || strings.Contains(svg, "<script") {
		t.Errorf("%d of 6 texts are there as they are: %s", n, svg)
	}
}
