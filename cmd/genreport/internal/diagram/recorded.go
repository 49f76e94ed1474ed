package diagram

import (
	"fmt"
	"math"
	"strings"
)

// Recorded is a small chart over time of what was recorded, with the moment
// that a step is about marked on each line. It has one size, which suits a phone.
type Recorded struct {
	ID                 string // unique on the page
	Title, Description string
	From, To           float64 // the ends of its axis, in seconds, From < To
	Top                float64 // the largest value, above 0
	TopText            string  // as text
	FromText, ToText   string
	Zero               string // what happens at 0, where the axis has a mark; "": no mark
	Lines              []RecordedLine
}

// RecordedLine is one of its lines. Colour, dashes and the shape of its mark are
// those of the series of charts, by its place.
type RecordedLine struct {
	Points []RecordedPoint // by time
	At     *RecordedPoint  // the moment; nil where nothing was recorded
}

// RecordedPoint is a value, or a gap.
type RecordedPoint struct {
	Time  float64 // seconds
	Value *float64
}

const (
	recordedWidth  = 352.0
	recordedHeight = 96.0
	recordedSide   = 6.0  // of the plot, to either side
	recordedTop    = 18.0 // its upper edge
	recordedBase   = 76.0 // its lower edge
	offTheLine     = .35  // pixels by which a point may be off the line that is drawn without it
)

type pixel struct{ x, y float64 }

// SVG draws it.
func (c Recorded) SVG() string {
	var b strings.Builder
	id := esc(c.ID)
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" role="img" aria-labelledby="%s-title" aria-describedby="%s-desc"><title id="%s-title">%s</title><desc id="%s-desc">%s</desc>`,
		num(recordedWidth), num(recordedHeight), id, id, id, esc(c.Title), id, esc(c.Description))
	fmt.Fprintf(&b, `<path class="inner" d="M%s %sH%sM%s %sH%s"/>`, num(recordedSide), num(recordedTop), num(recordedWidth-recordedSide),
		num(recordedSide), num(recordedBase), num(recordedWidth-recordedSide))
	text := func(s string, x, y float64, anchor string) {
		fmt.Fprintf(&b, `<text x="%s" y="%s" font-size="%s"%s>%s</text>`, num(x), num(y), num(labelSize), anchor, esc(s))
	}
	const middle, end = ` text-anchor="middle"`, ` text-anchor="end"`
	text(c.TopText, recordedSide, recordedTop-5, "")
	text(c.FromText, recordedSide, recordedHeight-5, "")
	text(c.ToText, recordedWidth-recordedSide, recordedHeight-5, end)
	if zero := c.x(0); c.Zero != "" && c.From <= 0 && c.To >= 0 {
		fmt.Fprintf(&b, `<path class="zero" d="M%s %sV%s"/>`, num(zero), num(recordedTop), num(recordedBase))
		// Beside its mark, where there is more room, and clear of the axis' ends.
		anchor := middle
		switch half := measured(c.Zero, labelSize) / 2; {
		case zero-half < recordedSide+measured(c.FromText, labelSize)+8:
			anchor = ""
		case zero+half > recordedWidth-recordedSide-measured(c.ToText, labelSize)-8:
			anchor = end
		}
		text(c.Zero, zero, recordedHeight-5, anchor)
	}
	for i, l := range c.Lines {
		b.WriteString("<g>")
		if d := c.path(l.Points); d != "" {
			fmt.Fprintf(&b, `<path d="%s"/>`, d)
		}
		if l.At != nil && l.At.Value != nil {
			p := c.pixel(*l.At)
			fmt.Fprintf(&b, `<path class="at" d="%s"/>`, markAt(i, p))
		}
		b.WriteString("</g>")
	}
	b.WriteString("</svg>")
	return b.String()
}

// markAt is the shape of a moment: a circle, a square, a triangle, a diamond.
func markAt(line int, p pixel) string {
	x, y := p.x, p.y
	switch line % 4 {
	case 1:
		return fmt.Sprintf("M%s %sh8v8h-8z", num(x-4), num(y-4))
	case 2:
		return fmt.Sprintf("M%s %sl5 9h-10z", num(x), num(y-5.5))
	case 3:
		return fmt.Sprintf("M%s %sl5.5 5.5l-5.5 5.5l-5.5 -5.5z", num(x), num(y-5.5))
	}
	return fmt.Sprintf("M%s %sa4.5 4.5 0 1 1 9 0a4.5 4.5 0 1 1 -9 0z", num(x-4.5), num(y))
}

func (c Recorded) x(time float64) float64 {
	return recordedSide + (time-c.From)/(c.To-c.From)*(recordedWidth-2*recordedSide)
}

func (c Recorded) pixel(p RecordedPoint) pixel {
	return pixel{c.x(p.Time), recordedBase - *p.Value/c.Top*(recordedBase-recordedTop)}
}

// path goes through the points that lie within the axis; a gap breaks it, and a
// point between gaps is a dot.
func (c Recorded) path(points []RecordedPoint) string {
	var b strings.Builder
	var part []pixel
	flush := func() {
		for i, p := range simplified(thinned(part)) {
			command := "L"
			if i == 0 {
				command = "M"
			}
			fmt.Fprintf(&b, "%s%s %s", command, num(p.x), num(p.y))
		}
		if len(part) == 1 {
			b.WriteString("h.1")
		}
		part = part[:0]
	}
	for _, p := range points {
		switch {
		case p.Time < c.From || p.Time > c.To:
		case p.Value == nil:
			flush()
		default:
			part = append(part, c.pixel(p))
		}
	}
	flush()
	return b.String()
}

// thinned keeps of each column of pixels the first, the highest, the lowest and
// the last point, which is all that a line through all of them could show.
func thinned(points []pixel) []pixel {
	if len(points) <= 4*recordedWidth {
		return points
	}
	var out []pixel
	for from := 0; from < len(points); {
		to, low, high := from, from, from
		for to < len(points) && math.Floor(points[to].x) == math.Floor(points[from].x) {
			if points[to].y < points[low].y {
				low = to
			}
			if points[to].y > points[high].y {
				high = to
			}
			to++
		}
		last := from - 1
		for _, i := range []int{from, min(low, high), max(low, high), to - 1} {
			if i > last {
				out, last = append(out, points[i]), i
			}
		}
		from = to
	}
	return out
}

// simplified leaves out points that nobody could see: those that lie on the line
// between the ones that stay (Douglas and Peucker).
func simplified(points []pixel) []pixel {
	if len(points) < 3 {
		return points
	}
	a, z := points[0], points[len(points)-1]
	far, at := 0.0, 0
	length := math.Hypot(z.x-a.x, z.y-a.y)
	for i, p := range points[1 : len(points)-1] {
		off := math.Hypot(p.x-a.x, p.y-a.y)
		if length > 0 {
			off = math.Abs((z.x-a.x)*(a.y-p.y)-(a.x-p.x)*(z.y-a.y)) / length
		}
		if off > far {
			far, at = off, i+1
		}
	}
	if far <= offTheLine {
		return []pixel{a, z}
	}
	return append(simplified(points[:at+1:at+1]), simplified(points[at:])[1:]...)
}
