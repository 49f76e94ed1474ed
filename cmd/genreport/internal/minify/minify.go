// Package minify makes what a page loads smaller, and changes nothing of what it does: style sheets, scripts and the paths of SVGs.
package minify

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/tdewolff/minify/v2"
	"github.com/tdewolff/minify/v2/css"
	"github.com/tdewolff/minify/v2/js"
	"github.com/tdewolff/minify/v2/svg"
)

// Source is this package's own: who keeps what it made can tell whether it would make the same today.
//
//go:embed minify.go
var Source string

const (
	cssType = "text/css"
	jsType  = "text/javascript"
	svgType = "image/svg+xml"
)

// digits are the significant ones of a path's numbers, so that 3.3-1.1 is 2.2 and not 2.1999999999999997. A coordinate of a chart has
// five: 1234.5 and 234.56.
const digits = 6

func minifier() *minify.M {
	m := minify.New()
	m.AddFunc(cssType, css.Minify)
	m.Add(jsType, &js.Minifier{Version: 2015})
	m.Add(svgType, &svg.Minifier{Precision: digits})
	return m
}

// CSS makes a style sheet smaller. What is no CSS is left as it is.
func CSS(sheet []byte) ([]byte, error) { return minifier().Bytes(cssType, sheet) }

// JS makes a script smaller: local names become short and comments go. A syntax error is an error.
func JS(script []byte) ([]byte, error) { return minifier().Bytes(jsType, script) }

// The element that a path stands in while it is made shorter, since the library takes documents.
const before, after = `<path d="`, `"/>`

// Path writes the d of an SVG's path with the fewest characters that mean the same, to six significant digits.
func Path(d string) (string, error) {
	if strings.ContainsAny(d, `"<&`) {
		return "", fmt.Errorf("%q is no path", d)
	}
	short, err := minifier().String(svgType, before+d+after)
	if err != nil {
		return "", err
	}
	short, ok := strings.CutPrefix(short, before)
	short, ok2 := strings.CutSuffix(short, after)
	if !ok || !ok2 {
		return "", fmt.Errorf("the path %q became %q", d, short)
	}
	return short, nil
}
