// Package chart draws figures: go-echarts describes a chart, ECharts itself (in goja, without a browser) draws it, and what comes
// out is made into an SVG that stands inline in a page.
//
// The SVG is the same bytes each time, scales with its container (it has a viewBox and no size), takes its font from the page, and
// passes a strict Content-Security-Policy: no style element or attribute, no class, no script, no reference to anything outside.
// Its colours are the page's custom properties --chart-1 … --chart-6 (series), --chart-text (value labels, legend), --chart-muted
// (axis labels and names), --chart-axis, --chart-grid and --chart-bg, each with a light default, so that it is right on its own too.
//
// Text is 13 px in a viewBox of 720 × 360. A page that shows it much smaller, on a phone, does better to show a second figure of the
// same data, say 400 × 320, with an ID of its own; labels and legend are laid out for the width asked for.
package chart

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strings"
	"sync"
	"unicode"

	"github.com/dop251/goja"
)

// Kind is the form of a chart.
type Kind int

const (
	// Bar draws bars grouped by category, from zero.
	Bar Kind = iota
	// Line draws points joined by a line over equally spaced categories, with an axis from zero.
	Line
)

// Figure is a chart whose values are already scaled to the unit that its axis name tells.
type Figure struct {
	// ID is unique on the page: every id in the SVG starts with it. It consists of letters, digits, - and _.
	ID   string
	Kind Kind
	// Title and Description are for those who can't see the chart. They aren't drawn: the page's caption shows the title.
	Title, Description string
	// XTitle and YTitle name the axes, with unit. Either may be empty.
	XTitle, YTitle string
	Categories     []string
	// Series are told apart by name; a single series may have none, and then there is no legend.
	Series []Series
	// Phases name parts of a line chart's x axis; every other one is shaded.
	Phases []Phase
	// Log is for values that span powers of ten: a line chart's value axis is logarithmic, from one power of ten to another, rather than
	// from zero. Every number must be above 0 then.
	Log bool
	// Width and Height are those of the viewBox, legend and axis names included; 0 means 720 and 360.
	Width, Height int
	// ValueLabels prints the points' labels beside them. On lines a label for which there is no room is left out.
	ValueLabels bool

	thin *thinned // a line of more points than pixels
}

// Series is one value per category.
type Series struct {
	Name   string
	Points []Point
}

// Phase is the categories from From to To, both included, counted from 0.
type Phase struct {
	Name     string
	From, To int
}

// Point is a value, or the place where one is missing.
type Point struct {
	// Value is nil where there is no measurement: a gap, never 0.
	Value *float64
	// Low and High are the smallest and the largest sample, drawn as a whisker; both or neither.
	Low, High *float64
	// Label is the value as text. Without it the value is printed with thousands separators. The label of a missing value is its reason
	// ("refused"), and is printed in its place whether ValueLabels is set or not.
	Label string
	// Mark is a sign that stands beside the point, whether ValueLabels is set or not: "†". With ValueLabels the label has it already.
	Mark string
	// Tip is what a reader is told who points at it. Without it, it is the value, with the smallest and the largest sample.
	Tip string
	// Short is shown instead, and Tip only said, where there is no number: a reason may be long.
	Short string
}

// Drawing is a figure twice: as the picture that a page shows, and as the option from which ECharts draws the same in a browser.
type Drawing struct {
	SVG           string
	Option        []byte // JSON
	Width, Height int
}

const (
	defaultWidth  = 720
	defaultHeight = 360
	minWidth      = 240
	minHeight     = 160
	largest       = 1e15 // of the values: beyond, doubles skip integers
)

// Renderer draws figures with one ECharts, which is loaded once. It is safe for concurrent use, one figure at a time.
type Renderer struct {
	mu      sync.Mutex
	vm      *goja.Runtime
	draw    goja.Callable
	measure goja.Callable
}

// Load makes a renderer from the bundle that `make assets` builds.
func Load(path string) (*Renderer, error) {
	script, err := read(path)
	if err != nil {
		return nil, err
	}
	return New(script)
}

func read(path string) ([]byte, error) {
	script, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("load ECharts, which draws the charts: %s does not exist: run \"make assets\"", path)
	}
	if err != nil {
		return nil, fmt.Errorf("load ECharts, which draws the charts: %w", err)
	}
	return script, nil
}

// New makes a renderer from the text of the bundle.
func New(script []byte) (*Renderer, error) {
	vm := goja.New()
	// ECharts times its text measuring and changes its method when that is slow, and names things at random.
	vm.SetTimeSource(epoch)
	vm.SetRandSource(func() float64 { return 0.5 })
	ignore := func(goja.FunctionCall) goja.Value { return goja.Undefined() }
	console := vm.NewObject()
	for _, name := range []string{"log", "warn", "error"} {
		if err := console.Set(name, ignore); err != nil {
			return nil, fmt.Errorf("start ECharts: %w", err)
		}
	}
	for name, value := range map[string]any{"console": console, "setTimeout": ignore, "clearTimeout": ignore} {
		if err := vm.Set(name, value); err != nil {
			return nil, fmt.Errorf("start ECharts: %w", err)
		}
	}
	if _, err := vm.RunScript("echarts.js", string(script)); err != nil {
		return nil, fmt.Errorf("start ECharts: %w: rebuild it with \"make assets\"", err)
	}
	r := &Renderer{vm: vm}
	api, _ := vm.Get("genreport").(*goja.Object)
	if api == nil {
		return nil, errors.New("start ECharts: the bundle defines no genreport: rebuild it with \"make assets\"")
	}
	var ok, ok2 bool
	r.draw, ok = goja.AssertFunction(api.Get("draw"))
	r.measure, ok2 = goja.AssertFunction(api.Get("measure"))
	if !ok || !ok2 {
		return nil, errors.New("start ECharts: the bundle is not this version's: rebuild it with \"make assets\"")
	}
	return r, nil
}

// SVG draws a figure.
func (r *Renderer) SVG(f Figure) (string, error) {
	d, err := r.Draw(f)
	return d.SVG, err
}

// Draw draws a figure and gives the option that it was drawn from.
func (r *Renderer) Draw(f Figure) (Drawing, error) {
	f, err := ready(f)
	if err != nil {
		return Drawing{}, err
	}
	f.thin = thin(f)
	r.mu.Lock()
	defer r.mu.Unlock()
	option, err := r.option(f)
	if err != nil {
		return Drawing{}, fmt.Errorf("draw figure %q: describe it to ECharts: %w", f.ID, err)
	}
	raw, err := r.draw(goja.Undefined(), r.vm.ToValue(string(option)), r.vm.ToValue(f.Width), r.vm.ToValue(f.Height))
	if err != nil {
		return Drawing{}, fmt.Errorf("draw figure %q: ECharts: %w", f.ID, err)
	}
	svg, err := inline(raw.String(), f)
	if err != nil {
		return Drawing{}, fmt.Errorf("draw figure %q: take over ECharts' SVG: %w", f.ID, err)
	}
	return Drawing{SVG: svg, Option: option, Width: f.Width, Height: f.Height}, nil
}

// ready cleans a figure and refuses what can't be drawn.
func ready(f Figure) (Figure, error) {
	f = clean(f)
	if err := check(f); err != nil {
		return f, fmt.Errorf("draw figure %q: %w", f.ID, err)
	}
	return f, nil
}

// clean fills in defaults and makes every text one line of characters that XML allows. The caller's figure stays as it is.
func clean(f Figure) Figure {
	if f.Width == 0 {
		f.Width = defaultWidth
	}
	if f.Height == 0 {
		f.Height = defaultHeight
	}
	for _, s := range []*string{&f.Title, &f.Description, &f.XTitle, &f.YTitle} {
		*s = line(*s)
	}
	categories := make([]string, len(f.Categories))
	for i, c := range f.Categories {
		categories[i] = line(c)
	}
	f.Categories = categories
	series := make([]Series, len(f.Series))
	for i, s := range f.Series {
		points := make([]Point, len(s.Points))
		for j, p := range s.Points {
			p.Label, p.Mark, p.Tip, p.Short = line(p.Label), line(p.Mark), line(p.Tip), line(p.Short)
			points[j] = p
		}
		series[i] = Series{Name: line(s.Name), Points: points}
	}
	f.Series = series
	phases := make([]Phase, len(f.Phases))
	for i, p := range f.Phases {
		p.Name = line(p.Name)
		phases[i] = p
	}
	f.Phases = phases
	return f
}

func line(s string) string {
	// Map turns invalid bytes into the replacement character by itself.
	return strings.TrimSpace(strings.Map(func(c rune) rune {
		switch {
		case c == '\n' || c == '\r' || c == '\t':
			return ' '
		case c < ' ' || c == 0xFFFE || c == 0xFFFF:
			return unicode.ReplacementChar
		}
		return c
	}, s))
}

func check(f Figure) error {
	if f.ID == "" {
		return errors.New("it has no ID")
	}
	for i, c := range f.ID {
		if !unicode.IsLetter(c) && (i == 0 || !unicode.IsDigit(c) && c != '-' && c != '_') {
			return fmt.Errorf("its ID has a %q: use letters, digits, - and _, a letter first", c)
		}
	}
	if f.Kind != Bar && f.Kind != Line {
		return fmt.Errorf("unknown kind %d", f.Kind)
	}
	if f.Title == "" {
		return errors.New("it has no title, which those need who can't see it")
	}
	if f.Width < minWidth || f.Height < minHeight {
		return fmt.Errorf("%d × %d is too small: at least %d × %d", f.Width, f.Height, minWidth, minHeight)
	}
	if len(f.Categories) == 0 {
		return errors.New("it has no categories")
	}
	if len(f.Series) == 0 {
		return errors.New("it has no series")
	}
	if n := len(f.Series); n > MostSeries {
		return fmt.Errorf("it has %d series, and readers tell at most %d apart: make two figures of it", n, MostSeries)
	}
	for i, p := range f.Phases {
		switch {
		case f.Kind != Line:
			return errors.New("only lines have phases")
		case p.From < 0 || p.From > p.To || p.To >= len(f.Categories):
			return fmt.Errorf("phase %q goes from %d to %d of %d categories", p.Name, p.From, p.To, len(f.Categories))
		case i > 0 && p.From <= f.Phases[i-1].To:
			return fmt.Errorf("phase %q begins before the one ahead of it ends", p.Name)
		}
	}
	if f.Log && f.Kind != Line {
		return errors.New("its axis is logarithmic: only lines are compared on one, since bars stand on zero")
	}
	names := map[string]bool{}
	for _, s := range f.Series {
		if s.Name == "" && len(f.Series) > 1 {
			return errors.New("one of its series has no name")
		}
		if names[s.Name] {
			return fmt.Errorf("two of its series are named %q", s.Name)
		}
		names[s.Name] = true
		if len(s.Points) != len(f.Categories) {
			return fmt.Errorf("series %q: %d points for %d categories: a missing one is a Point without Value", s.Name, len(s.Points), len(f.Categories))
		}
		for i, p := range s.Points {
			err := checkPoint(p)
			if err == nil && f.Log && !p.positive() {
				err = errors.New("a number that is not above 0 has no place on a logarithmic axis")
			}
			if err != nil {
				return fmt.Errorf("series %q, category %q: %w", s.Name, f.Categories[i], err)
			}
		}
	}
	return nil
}

// positive reports whether all of a point's numbers are above 0.
func (p Point) positive() bool {
	for _, v := range []*float64{p.Value, p.Low, p.High} {
		if v != nil && *v <= 0 {
			return false
		}
	}
	return true
}

// Positive reports whether all numbers of a figure are above 0, as a logarithmic axis needs.
func (f Figure) Positive() bool {
	for _, s := range f.Series {
		for _, p := range s.Points {
			if !p.positive() {
				return false
			}
		}
	}
	return true
}

func checkPoint(p Point) error {
	for _, v := range []struct {
		name  string
		value *float64
	}{{"value", p.Value}, {"low", p.Low}, {"high", p.High}} {
		switch {
		case v.value == nil:
		case math.IsNaN(*v.value) || math.IsInf(*v.value, 0):
			return fmt.Errorf("its %s is %v: leave a missing value out", v.name, *v.value)
		case math.Abs(*v.value) > largest:
			return fmt.Errorf("its %s is %v: scale it to a unit that people can read", v.name, *v.value)
		}
	}
	switch {
	case (p.Low == nil) != (p.High == nil):
		return errors.New("it has only one of low and high")
	case p.Low != nil && p.Value == nil:
		return errors.New("it has low and high, but no value")
	case p.Low != nil && *p.Low > *p.High:
		return fmt.Errorf("its low %v is above its high %v", *p.Low, *p.High)
	}
	return nil
}
