package chart

import (
	"iter"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// layout is what must be decided before ECharts draws: it fits the plot to its labels, but doesn't wrap a legend's height into that,
// and drops or overlaps labels that don't fit.
type layout struct {
	legend           []string
	legendTextWidth  int // 0: each as wide as its text
	iconWidth        int
	iconHeight       int
	yTitle, xTitle   string // in lines
	categories       []string
	yTitleTop        int
	top              int // of what belongs to the plot: its upper edge, or that of a label above it
	axis             axis
	categoryStep     int // every so many categories have a label
	categoryWidth    int // 0: as long as they are; else rotated ones end in an ellipsis
	xTitleGap        int // from the axis, past its labels
	rotateCategories float64
	rotateValues     bool
	symbolSize       int
}

const (
	maxCategoryLines  = 5
	minWrapWidth      = 48
	rotation          = 40.0 // of labels that can't stand upright, in degrees
	maxRotatedLabels  = 24
	categoryGap       = 14 // at least, between labels when some are left out
	maxPointsWithMark = 60
)

func (r *Renderer) layout(f Figure) (layout, error) {
	l := layout{iconWidth: 12, iconHeight: 12, symbolSize: 10, categoryStep: 1}
	if f.Kind == Line {
		l.iconWidth, l.iconHeight = 34, 12
		if len(f.Categories) > maxPointsWithMark {
			l.symbolSize = 0
		}
	}
	width := float64(f.Width - 2*edge)

	y, err := r.legend(f, &l, width)
	if err != nil {
		return l, err
	}
	l.yTitleTop = y
	if f.YTitle != "" {
		lines, err := r.wrap(f.YTitle, width)
		if err != nil {
			return l, err
		}
		l.yTitle = strings.Join(lines, "\n")
		y += len(lines)*lineHeight + 8
	}
	// The uppermost axis label sticks out of the plot by half its height.
	y += fontSize / 2
	l.top = y

	lo, hi := extent(f)
	l.axis = niceAxis(lo, hi)
	if f.Log {
		lo = lowest(f, hi)
		l.axis = logAxis(lo, hi)
	}
	axisLabels := 0.0
	for v := range l.axis.ticks() {
		w, err := r.width(thousands(strconv.FormatFloat(round12(v), 'f', -1, 64)), fontSize)
		if err != nil {
			return l, err
		}
		axisLabels = max(axisLabels, w)
	}
	left := axisLabels + labelMargin
	band := (width - left) / float64(len(f.Categories))
	bottom, overhang, err := r.categories(f, &l, band)
	if err != nil {
		return l, err
	}
	band = (width - max(left, overhang)) / float64(len(f.Categories))
	l.xTitleGap = int(bottom) + 8
	if f.XTitle != "" {
		lines, err := r.wrap(f.XTitle, width)
		if err != nil {
			return l, err
		}
		l.xTitle = strings.Join(lines, "\n")
		bottom += float64(len(lines)*lineHeight) + 8
	}
	return l, r.valueLabels(f, &l, band, float64(f.Height-y)-bottom, lo, hi)
}

// legend lays the legend out in rows as ECharts does and returns where it ends.
func (r *Renderer) legend(f Figure, l *layout, width float64) (int, error) {
	if len(f.Series) == 1 && f.Series[0].Name == "" {
		return 0, nil
	}
	available := width - float64(l.iconWidth) - legendIcon
	var widths []float64
	tooWide := false
	for i, s := range f.Series {
		l.legend = append(l.legend, seriesKey(i))
		w, err := r.width(s.Name, fontSize)
		if err != nil {
			return 0, err
		}
		widths = append(widths, w)
		tooWide = tooWide || w > available
	}
	height := 0
	if tooWide {
		l.legendTextWidth = int(available)
		for _, s := range f.Series {
			lines, err := r.wrap(s.Name, available)
			if err != nil {
				return 0, err
			}
			height += len(lines)*legendLine + legendGap
		}
		return height, nil
	}
	rows, x := 1, 0.0
	for i, w := range widths {
		w += float64(l.iconWidth) + legendIcon
		if i > 0 && x+w > width {
			rows++
			x = 0
		}
		x += w + legendGap
	}
	return rows*(legendLine+legendGap) - 4, nil
}

// categories decides how the categories' labels fit into their bands and returns the height they take, and the width that the
// first one takes to the left of the plot.
func (r *Renderer) categories(f Figure, l *layout, band float64) (height, overhang float64, err error) {
	if f.thin != nil {
		return r.columns(f, l, band)
	}
	usable := band - 6
	most, longest := 1, 0.0
	for _, c := range f.Categories {
		lines, err := r.wrap(c, usable)
		if err != nil {
			return 0, 0, err
		}
		w, err := r.width(c, fontSize)
		if err != nil {
			return 0, 0, err
		}
		l.categories = append(l.categories, strings.Join(lines, "\n"))
		most, longest = max(most, len(lines)), max(longest, w)
	}
	if most == 1 || most <= maxCategoryLines && usable >= minWrapWidth {
		return float64(labelMargin + most*categoryLine), 0, nil
	}
	l.categories = f.Categories
	if len(f.Categories) <= maxRotatedLabels {
		l.rotateCategories = rotation
		sin, cos := math.Sincos(rotation * math.Pi / 180)
		if limit := 0.35 * float64(f.Height) / sin; longest > limit {
			longest = limit
			l.categoryWidth = int(limit)
		}
		return labelMargin + longest*sin + fontSize, longest*cos - band/2, nil
	}
	// Too many to name them all.
	for step := range niceSteps(len(f.Categories)) {
		l.categoryStep = step
		if float64(step)*band >= longest+categoryGap {
			break
		}
	}
	return labelMargin + categoryLine, 0, nil
}

// columns names some categories of a thinned chart, each in its column.
func (r *Renderer) columns(f Figure, l *layout, band float64) (height, overhang float64, err error) {
	longest := 0.0
	for i := 0; i < len(f.Categories); i += max(1, len(f.Categories)/1000) { // enough to know how wide they are
		w, err := r.width(f.Categories[i], fontSize)
		if err != nil {
			return 0, 0, err
		}
		longest = max(longest, w)
	}
	l.categories = make([]string, len(f.thin.from))
	for step := range niceSteps(len(f.Categories)) {
		if float64(step)*band >= longest+2*categoryGap {
			for i := 0; i < len(f.Categories); i += step {
				l.categories[f.thin.column(i)] = f.Categories[i]
			}
			break
		}
	}
	return labelMargin + categoryLine, 0, nil
}

// niceSteps yields 1, 2, 5, 10, 20, … up to the first that reaches limit.
func niceSteps(limit int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for power := 1; ; power *= 10 {
			for _, m := range []int{1, 2, 5} {
				if !yield(m*power) || m*power >= limit {
					return
				}
			}
		}
	}
}

// valueLabels turns labels that are wider than their bars, and makes room above the highest one.
func (r *Renderer) valueLabels(f Figure, l *layout, band, plot, lo, hi float64) error {
	widest := 0.0
	for _, s := range f.Series {
		for _, p := range s.Points {
			label := pointLabel(f, p)
			if label == "" {
				continue
			}
			w, err := r.width(label, labelSize)
			if err != nil {
				return err
			}
			widest = max(widest, w)
		}
	}
	if widest == 0 || plot <= 0 {
		return nil
	}
	slot := band
	if n := float64(len(f.Series)); f.Kind == Bar && n > 1 {
		slot = min(barMaxWidth, band*(1-barCategoryGap)/(n+(n-1)*barGap)) * (1 + barGap)
	}
	need := float64(labelSize + 2 + labelDistance + l.symbolSize/2)
	if f.Kind == Bar && widest > slot-2 {
		l.rotateValues = true
		need = widest + labelDistance
	}
	above := f.ValueLabels || marked(f)
	if l.axis.log {
		for above && math.Log10(l.axis.max/hi)/math.Log10(l.axis.max/l.axis.min)*plot < min(need, plot*0.4) {
			l.axis.max *= 10
		}
		return nil
	}
	need = min(need, plot*0.4) // with less room than this, labels may well leave the plot
	span := l.axis.max - l.axis.min
	if hi > 0 && above {
		for (l.axis.max-hi)/span*plot < need {
			l.axis.max = round12(l.axis.max + l.axis.step)
			span = l.axis.max - l.axis.min
		}
	}
	if lo < 0 && above {
		for (lo-l.axis.min)/span*plot < need {
			l.axis.min = round12(l.axis.min - l.axis.step)
			span = l.axis.max - l.axis.min
		}
	}
	return nil
}

// marked reports whether a point has a mark.
func marked(f Figure) bool {
	for _, s := range f.Series {
		for _, p := range s.Points {
			if p.Mark != "" && p.Value != nil {
				return true
			}
		}
	}
	return false
}

// wrap breaks a text into lines of a width, within a word only if that alone is wider. (ECharts can break too, but also before a
// comma and after an opening bracket.)
func (r *Renderer) wrap(text string, width float64) (lines []string, err error) {
	fits := func(s string) bool {
		w, e := r.width(strings.TrimRight(s, " "), fontSize)
		if e != nil {
			err = e
		}
		return w <= width
	}
	line := ""
	flush := func() {
		lines = append(lines, strings.TrimRight(line, " "))
		line = ""
	}
	for _, part := range parts(text) {
		if line != "" && !fits(line+part) {
			flush()
		}
		if line == "" && !fits(part) {
			for _, c := range part {
				if line != "" && !fits(line+string(c)) {
					flush()
				}
				line += string(c)
			}
			continue
		}
		line += part
	}
	flush()
	return lines, err
}

const (
	openers = "（【《「『〈“‘([{"
	closers = "）】》」』〉”’，。、；：！？…·)]},.;:!?%"
)

// parts cuts a text where a line may end: after a space, hyphen, underscore or slash inside a word, and around characters of
// scripts without spaces, but not before closing or after opening punctuation.
func parts(text string) []string {
	var all []string
	runes := []rune(text)
	start := 0
	for i := 1; i < len(runes); i++ {
		before, after := runes[i-1], runes[i]
		space := before == ' ' && after != ' '
		word := strings.ContainsRune("-_/", before) && unicode.IsLetter(after) && i-1 > start
		script := (wide(before) || wide(after)) && before != ' ' && after != ' '
		if (space || word || script) && !strings.ContainsRune(openers, before) && !strings.ContainsRune(closers, after) {
			all = append(all, string(runes[start:i]))
			start = i
		}
	}
	return append(all, string(runes[start:]))
}

func wide(c rune) bool {
	return unicode.In(c, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) || c >= 0x3000 && c <= 0x303F || c >= 0xFF00 && c <= 0xFFEF
}

// extent is the range of all values and samples, zero included.
func extent(f Figure) (lo, hi float64) {
	for _, s := range f.Series {
		for _, p := range s.Points {
			for _, v := range []*float64{p.Value, p.Low, p.High} {
				if v != nil {
					lo, hi = min(lo, *v), max(hi, *v)
				}
			}
		}
	}
	return lo, hi
}

// axis is a value axis with a line every step, or one at each power of ten.
type axis struct {
	min, max, step float64
	log            bool
}

// kind is the axis' type to ECharts.
func (a axis) kind() string {
	if a.log {
		return "log"
	}
	return "value"
}

// ticks are the values that have a line.
func (a axis) ticks() iter.Seq[float64] {
	return func(yield func(float64) bool) {
		for v := a.min; v <= a.max*(1+1e-9)+a.step/2; {
			if !yield(v) {
				return
			}
			if a.log {
				v = round12(v * 10)
			} else {
				v += a.step
			}
		}
	}
}

// lowest is the smallest of all values and samples, hi where there is none.
func lowest(f Figure, hi float64) float64 {
	lo := hi
	for _, s := range f.Series {
		for _, p := range s.Points {
			for _, v := range []*float64{p.Value, p.Low} {
				if v != nil {
					lo = min(lo, *v)
				}
			}
		}
	}
	return lo
}

// logAxis goes from the power of ten at or below all values to the one at or above.
func logAxis(lo, hi float64) axis {
	if hi <= 0 { // nothing is measured
		return axis{min: 1, max: 10, log: true}
	}
	from, to := math.Floor(math.Log10(lo)+1e-9), math.Ceil(math.Log10(hi)-1e-9)
	to = max(to, from+1)
	return axis{min: round12(math.Pow(10, from)), max: round12(math.Pow(10, to)), log: true}
}

// niceAxis has three to six steps of 1, 2, 2.5 or 5 times a power of ten and zero on a line.
func niceAxis(lo, hi float64) axis {
	if lo == hi {
		return axis{max: 1, step: 0.5}
	}
	raw := (hi - lo) / 4.5
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	step := 10 * power
	for _, m := range []float64{1, 2, 2.5, 5} {
		if raw <= m*power*(1+1e-9) {
			step = m * power
			break
		}
	}
	return axis{min: round12(math.Floor(lo/step+1e-9) * step), max: round12(math.Ceil(hi/step-1e-9) * step), step: round12(step)}
}

// round12 takes off what binary fractions add.
func round12(v float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 12, 64), 64)
	if err != nil {
		return v
	}
	return r + 0 // no negative zero
}
