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
	Digits int    // significant digits; 0: as many as suit the metric
	Unit   string // display unit; "": as suits the value
	Bare   bool   // the number without its unit
}

// Fits reports whether a display unit is one of a base unit; "" always is.
func Fits(display string, u measure.Unit) bool {
	if display == "" {
		return true
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

// defaultDigits is what repeated measurements of throughput and time support.
const defaultDigits = 3

// Format shows x of a base unit. Rounding comes before the choice of the
// unit, so that 999,999 ns is 1.00 ms and never 1,000 µs.
func Format(x float64, u measure.Unit, o Options) string {
	digits := o.Digits
	if digits == 0 {
		digits = defaultDigits
	}
	shown := unit{"", 1}
	if o.Unit != "" {
		shown = units[o.Unit]
	} else {
		steps := ladder(u)
		shown = steps[0]
		size := max(math.Abs(x), math.Abs(roundTo(x, digits)))
		for _, s := range steps[1:] {
			if size >= s.factor*(1-1e-12) {
				shown = s
			}
		}
	}
	text := Significant(x/shown.factor, digits)
	if o.Digits == 0 && u == measure.Count && math.Abs(x) >= 100 && math.Abs(x) < 1e15 {
		text = thousands(strconv.FormatFloat(math.Round(x), 'f', 0, 64)) // counts are shown whole
	}
	if o.Bare || shown.name == "" {
		return text
	}
	return text + "\u00a0" + shown.name // no-break space
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
	decimals := digits - 1 - int(math.Floor(math.Log10(math.Abs(x))+1e-12))
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
