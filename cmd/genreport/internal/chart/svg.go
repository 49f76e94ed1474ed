package chart

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"genreport/cmd/genreport/internal/minify"
)

// What a chart's SVG may consist of. Anything else is an error rather than something that reaches a page unseen.
var (
	elements = set("g", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text", "tspan")

	attributes = set("d", "x", "y", "width", "height", "r", "cx", "cy", "rx", "ry", "x1", "y1", "x2", "y2", "points", "transform",
		"fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-dashoffset", "stroke-linecap",
		"stroke-linejoin", "stroke-miterlimit", "opacity", "paint-order", "text-anchor", "dominant-baseline")

	// Of a text's style, which is all that ECharts writes as CSS. Families are left to the page.
	styles = set("font-size", "font-weight", "font-style")

	numbers = set("d", "x", "y", "width", "height", "r", "cx", "cy", "rx", "ry", "x1", "y1", "x2", "y2", "points", "transform", "stroke-width")
	decimal = regexp.MustCompile(`-?\d+\.\d+(e-?\d+)?`)
	// polyline is a path of many straight lines, as a chart over time has.
	polyline = regexp.MustCompile(`^M\S+ \S+([ML]-?[\d.]+(e-?\d+)? -?[\d.]+(e-?\d+)?){20,}$`)
	color    = regexp.MustCompile(`^(none|var\(--chart-[a-z0-9]+, #[0-9a-f]{6}\))$`)
)

func set(names ...string) map[string]bool {
	m := map[string]bool{}
	for _, n := range names {
		m[n] = true
	}
	return m
}

// inline rewrites the SVG that ECharts drew for a page with a strict Content-Security-Policy.
func inline(raw string, f Figure) (string, error) {
	w := writer{}
	d := xml.NewDecoder(strings.NewReader(raw))
	depth, hidden := 0, 0
	for {
		token, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", err
		}
		switch t := token.(type) {
		case xml.StartElement:
			depth++
			if hidden > 0 || t.Name.Local == "defs" {
				// Clip paths, which cut nothing off: the axes hold every value.
				hidden++
				continue
			}
			if depth == 1 {
				if t.Name.Local != "svg" {
					return "", fmt.Errorf("it starts with <%s>", t.Name.Local)
				}
				w.root(f)
				continue
			}
			if err := w.start(t); err != nil {
				return "", err
			}
		case xml.EndElement:
			depth--
			switch {
			case hidden > 0:
				hidden--
			case depth > 0:
				w.end()
			}
		case xml.CharData:
			if text := string(t); strings.TrimSpace(text) != "" {
				w.close()
				w.text(text)
			}
		default:
			return "", fmt.Errorf("it has a %T", token)
		}
	}
	if depth != 0 {
		return "", errors.New("it is cut short")
	}
	w.b.WriteString("</svg>")
	return w.b.String(), nil
}

type writer struct {
	b strings.Builder
	// open holds the names of the elements begun; "" for one that is left out.
	open    []string
	pending bool // the last start tag may still become an empty element
}

func (w *writer) root(f Figure) {
	fmt.Fprintf(&w.b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-labelledby="%s-title"`, f.Width, f.Height, f.ID)
	if f.Description != "" {
		fmt.Fprintf(&w.b, ` aria-describedby="%s-desc"`, f.ID)
	}
	fmt.Fprintf(&w.b, `><title id="%s-title">`, f.ID)
	w.text(f.Title)
	w.b.WriteString("</title>")
	if f.Description != "" {
		fmt.Fprintf(&w.b, `<desc id="%s-desc">`, f.ID)
		w.text(f.Description)
		w.b.WriteString("</desc>")
	}
}

func (w *writer) start(t xml.StartElement) error {
	name := t.Name.Local
	if t.Name.Space != "" || !elements[name] {
		return fmt.Errorf("it has an element <%s>", name)
	}
	values := map[string]string{}
	for _, a := range t.Attr {
		values[a.Name.Local] = a.Value
	}
	w.close()
	unfilled := values["fill"] == "none" || values["fill-opacity"] == "0"
	unstroked := values["stroke"] == "" || values["stroke"] == "none" || values["stroke-opacity"] == "0" || values["stroke-width"] == "0"
	if unfilled && unstroked {
		// Nothing to see: the background, which is the page's, and areas to point at.
		w.open = append(w.open, "")
		return nil
	}
	w.b.WriteString("<" + name)
	for _, a := range t.Attr {
		if unstroked && strings.HasPrefix(a.Name.Local, "stroke") {
			continue
		}
		if a.Name.Local == "fill" && a.Value == "#000" && !unstroked {
			a.Value = "none" // the default of ECharts' lines, which have no area
		}
		if err := w.attribute(a); err != nil {
			return fmt.Errorf("<%s>: %w", name, err)
		}
	}
	w.open = append(w.open, name)
	w.pending = true
	return nil
}

func (w *writer) attribute(a xml.Attr) error {
	name, value := a.Name.Local, a.Value
	switch {
	case a.Name.Space == "xml" && name == "space":
		return nil
	case a.Name.Space == "" && (name == "clip-path" || name == "pointer-events" || strings.HasPrefix(name, "ecmeta_")):
		return nil // for ECharts' own client-side script, but for the clip path
	case a.Name.Space == "" && name == "style":
		return w.style(value)
	case a.Name.Space != "" || !attributes[name]:
		return fmt.Errorf("it has an attribute %s", name)
	}
	switch {
	case (name == "fill" || name == "stroke") && !color.MatchString(value):
		// A colour of ECharts' own would be wrong on a dark page.
		return fmt.Errorf("its %s is %q, not one of the page's colours", name, value)
	case name == "d":
		digits := 2
		if polyline.MatchString(value) {
			digits = 1
		}
		short, err := minify.Path(shorten(value, digits))
		if err != nil {
			return err
		}
		value = short
	case numbers[name]:
		value = shorten(value, 2)
	}
	w.put(name, value)
	return nil
}

func (w *writer) put(name, value string) {
	w.b.WriteString(" " + name + `="`)
	w.text(value)
	w.b.WriteString(`"`)
}

func (w *writer) style(css string) error {
	for declaration := range strings.SplitSeq(css, ";") {
		name, value, ok := strings.Cut(declaration, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		switch {
		case name == "" && !ok, name == "font-family":
		case styles[name]:
			// An attribute takes a bare number for pixels.
			w.put(name, strings.TrimSuffix(value, "px"))
		default:
			return fmt.Errorf("its style has %q", name)
		}
	}
	return nil
}

func (w *writer) close() {
	if w.pending {
		w.b.WriteString(">")
		w.pending = false
	}
}

func (w *writer) end() {
	name := w.open[len(w.open)-1]
	w.open = w.open[:len(w.open)-1]
	switch {
	case w.pending:
		w.b.WriteString("/>")
		w.pending = false
	case name != "":
		w.b.WriteString("</" + name + ">")
	}
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;", "\u2028", "&#x2028;", "\u2029", "&#x2029;")

func (w *writer) text(s string) { w.b.WriteString(escaper.Replace(s)) }

// shorten rounds the numbers in text to so many decimals of a pixel: nobody sees more than two, or more than one on a line of many points,
// and another processor's last digits may differ.
func shorten(text string, decimals int) string {
	return decimal.ReplaceAllStringFunc(text, func(number string) string {
		v, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return number
		}
		s := strconv.FormatFloat(v, 'f', decimals, 64)
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
		if s == "-0" {
			return "0"
		}
		return s
	})
}
