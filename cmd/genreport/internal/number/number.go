// Package number shows numbers in base units as people read them. Pages and
// tables share it, so that the same value reads the same everywhere.
package number

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"genreport/measure"
)

// unit is how a base unit is shown.
type unit struct {
	name   string
	factor float64 // base units in one of it
}

// units by the name that Options use.
var units = map[string]unit{
	"µs":  {"µs", 1e-6},
	"ms":  {"ms", 1e-3},
	"s":   {"s", 1},
	"min": {"min", 60},
	"B":   {"B", 1},
	"KiB": {"KiB", 1 << 10},
	"MiB": {"MiB", 1 << 20},
	"GiB": {"GiB", 1 << 30},
	"%":   {"%", 0.01}, // of a share, which is a count without a unit
}

// ladder is the units that values of a base unit are shown in, small to large.
func ladder(u measure.Unit) []unit {
	switch u {
	case measure.Seconds, measure.CPUSeconds:
		return []unit{units["µs"], units["ms"], units["s"]}
	case measure.Bytes:
		return []unit{units["B"], units["KiB"], units["MiB"], units["GiB"]}
	}
	return []unit{{"", 1}}
}

// Units are the names that Options.Unit may be, sorted.
func Units() []string { return slices.Sorted(maps.Keys(units)) }

// Options change how a value is shown; the zero Options suit most.
type Options struct {
	Digits int    // significant digits; 0: as many as suit the metric and the interval
	Unit   string // display unit; "": as suits the value
	Bare   bool   // the number without its unit
	// Low and High bound the value, in base units: the interval of its samples, or
	// their range. Without Digits no more are shown than they support; see
	// Supported. Where they are equal, nothing is known of the value's spread.
	Low, High float64
}

// Fits reports whether a display unit is one of a base unit; "" always is.
func Fits(display string, u measure.Unit) bool {
	if display == "" {
		return true
	}
	if display == "%" {
		return u == measure.Count
	}
	for _, known := range [][]string{{"µs", "ms", "s", "min"}, {"B", "KiB", "MiB", "GiB"}} {
		if slices.Contains(known, display) {
			return slices.ContainsFunc(ladder(u), func(x unit) bool { return slices.Contains(known, x.name) })
		}
	}
	return false
}

// Scale is how many base units the display unit has; false where there is no
// such unit.
func Scale(unit string) (float64, bool) {
	u, ok := units[unit]
	return u.factor, ok
}

// What a number shows that nobody asked for more or fewer digits of: even tight
// samples of throughput and time support no more than the most, and fewer than
// the fewest are hard to compare.
const (
	fewestDigits = 2
	mostDigits   = 3
)

// coarsest is the share of an interval's width by which rounding may move a
// number.
const coarsest = 0.1

// Supported is how many significant digits of x its interval supports: the
// fewest, two or three, with which rounding moves x by no more than a tenth of
// the width. What a third digit adds is then far within the interval, and would
// only pretend. Where low and high are equal nothing is known of the spread, and
// it is three.
func Supported(x, low, high float64) int {
	width := math.Abs(high - low)
	if x == 0 || width == 0 || math.IsNaN(width) {
		return mostDigits
	}
	for digits := fewestDigits; digits < mostDigits; digits++ {
		if half := math.Pow10(leading(x)-digits+1) / 2; half <= width*coarsest*(1+1e-9) {
			return digits
		}
	}
	return mostDigits
}

// leading is the power of ten of the first significant digit.
func leading(x float64) int { return int(math.Floor(math.Log10(math.Abs(x)) + 1e-12)) }

// Format shows x of a base unit.
func Format(x float64, u measure.Unit, o Options) string {
	shown, digits, whole := o.as(x, u)
	text := Significant(x/shown.factor, digits)
	if whole {
		text = fixed(x, 0)
	}
	if o.Bare || shown.name == "" {
		return text
	}
	if shown.name == "%" {
		return text + "%"
	}
	return text + "\u00a0" + shown.name // no-break space
}

// Ends shows the interval of x, in the unit of x and without its name: to the
// place to which Format shows x.
func Ends(x float64, u measure.Unit, o Options) (low, high string) {
	shown, digits, whole := o.as(x, u)
	place := 0
	size := roundTo(x/shown.factor, digits)
	if size == 0 {
		size = max(math.Abs(o.Low), math.Abs(o.High)) / shown.factor
	}
	if !whole && size != 0 {
		place = leading(size) - digits + 1
	}
	return fixed(o.Low/shown.factor, place), fixed(o.High/shown.factor, place)
}

// Interval shows the interval of x with the unit once, as 76,100–78,900 or
// 1.2–1.4 MiB; see Ends.
func Interval(x float64, u measure.Unit, o Options) string {
	low, high := Ends(x, u, o)
	text := Range(low, high)
	switch shown, _, _ := o.as(x, u); {
	case o.Bare || shown.name == "":
		return text
	case shown.name == "%":
		return text + "%"
	default:
		return text + "\u00a0" + shown.name
	}
}

// Range shows two numbers that are text already; ends that read the same are one.
func Range(low, high string) string {
	if low == high {
		return low
	}
	return low + "–" + high
}

// as is how x is shown: in which unit, with how many digits, or as a whole number.
// Rounding comes before the choice of the unit, so that 999,999 ns is 1.00 ms and
// never 1,000 µs.
func (o Options) as(x float64, u measure.Unit) (shown unit, digits int, whole bool) {
	digits = o.Digits
	if digits == 0 {
		shown = o.unit(x, u, mostDigits)
		digits = Supported(x/shown.factor, o.Low/shown.factor, o.High/shown.factor)
	}
	// Counts are shown whole.
	whole = o.Digits == 0 && o.Unit == "" && u == measure.Count && math.Abs(x) >= 100 && math.Abs(x) < 1e15
	return o.unit(x, u, digits), digits, whole
}

// unit is the one in which x is shown with so many digits.
func (o Options) unit(x float64, u measure.Unit, digits int) unit {
	if o.Unit != "" {
		return units[o.Unit]
	}
	steps := ladder(u)
	shown := steps[0]
	size := max(math.Abs(x), math.Abs(roundTo(x, digits)))
	for _, s := range steps[1:] {
		if size >= s.factor*(1-1e-12) {
			shown = s
		}
	}
	return shown
}

// fixed shows x rounded to a power of ten.
func fixed(x float64, place int) string {
	if place >= 0 {
		x = math.Round(x/math.Pow10(place)) * math.Pow10(place)
	}
	text := strconv.FormatFloat(x, 'f', max(-place, 0), 64)
	if strings.Trim(text, "-0.") == "" {
		text = strings.TrimPrefix(text, "-") // there is no less than nothing
	}
	return thousands(text)
}

// Exact shows a whole number with all its digits.
func Exact(n int64) string { return thousands(strconv.FormatInt(n, 10)) }

// Significant shows x with the given significant digits, trailing zeros kept,
// without an exponent.
func Significant(x float64, digits int) string {
	if x == 0 {
		return "0"
	}
	x = roundTo(x, digits)
	decimals := digits - 1 - leading(x)
	return thousands(strconv.FormatFloat(x, 'f', max(decimals, 0), 64))
}

// roundTo rounds to significant digits, through decimal text so that what is
// rounded is what would be read.
func roundTo(x float64, digits int) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(x, 'e', digits-1, 64), 64)
	if err != nil {
		return x
	}
	return r
}

// thousands puts a comma between thousands, as both languages read.
func thousands(text string) string {
	sign := ""
	if strings.HasPrefix(text, "-") {
		sign, text = "−", text[1:]
	}
	whole, fraction, hasFraction := strings.Cut(text, ".")
	var b strings.Builder
	for i, d := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	if hasFraction {
		b.WriteString("." + fraction)
	}
	return sign + b.String()
}
