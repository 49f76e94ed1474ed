package article

import (
	"math"
	"strconv"
	"strings"

	"genreport/measure"
)

// unit is how a base unit is shown.
type unit struct {
	name   string
	factor float64 // base units in one of it
}

// units by the name that options use.
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

// defaultDigits is what repeated measurements of throughput and time support.
const defaultDigits = 3

// formatValue shows x of a base unit. Rounding comes before the choice of the
// unit, so that 999,999 ns is 1.00 ms and never 1,000 µs.
func formatValue(x float64, u measure.Unit, o options) string {
	digits := o.digits
	if digits == 0 {
		digits = defaultDigits
	}
	shown := unit{"", 1}
	if o.unit != "" {
		shown = units[o.unit]
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
	text := formatNumber(x/shown.factor, digits)
	if o.digits == 0 && u == measure.Count && math.Abs(x) >= 100 && math.Abs(x) < 1e15 {
		text = thousands(strconv.FormatFloat(math.Round(x), 'f', 0, 64)) // counts are shown whole
	}
	if o.bare || shown.name == "" {
		return text
	}
	return text + "\u00a0" + shown.name // no-break space
}

// Rate shows messages per second as texts do.
func Rate(perSecond float64) string { return formatValue(perSecond, measure.PerSecond, options{}) }

// formatExact shows a whole number with all its digits.
func formatExact(n int64) string { return thousands(strconv.FormatInt(n, 10)) }

// formatNumber shows x with the given significant digits, trailing zeros kept,
// without an exponent.
func formatNumber(x float64, digits int) string {
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
