package table

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Format is how tables are printed.
type Format string

const (
	Text     Format = "text"
	Markdown Format = "markdown"
	JSON     Format = "json"
)

// ParseFormat refuses what is none.
func ParseFormat(s string) (Format, error) {
	for _, f := range []Format{Text, Markdown, JSON} {
		if string(f) == s {
			return f, nil
		}
	}
	return "", fmt.Errorf("unknown format %q; there are text, markdown and json", s)
}

// printable is what has tables: [Shown] and [Comparison].
type printable interface{ document() document }

// Write prints tables.
func Write(w io.Writer, f Format, tables printable) error {
	switch f {
	case JSON:
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		return enc.Encode(tables)
	case Markdown:
		_, err := io.WriteString(w, tables.document().markdown())
		return err
	}
	_, err := io.WriteString(w, tables.document().text())
	return err
}

// document is what both texts are made from.
type document []block

type block struct {
	heading string
	level   int // from 1
	lines   []string
	grid    *grid
}

// grid is a table. Without a head its first column names its second.
type grid struct {
	head  []string
	rows  [][]string
	right []int // columns aligned to the right
}

// oneLine keeps what programs said from breaking a table or a terminal.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r) && r != '\u00a0':
			return ' '
		case unicode.IsControl(r) || unicode.In(r, unicode.Cf) || r == utf8.RuneError:
			return -1
		}
		return r
	}, s)
	return strings.TrimSpace(s)
}

func (d document) text() string {
	var out strings.Builder
	line := func(s string) { out.WriteString(strings.TrimRight(s, " ") + "\n") }
	for i, b := range d {
		if i > 0 {
			line("")
		}
		indent := strings.Repeat("  ", max(b.level-1, 0))
		if b.heading != "" {
			line(indent + plain(b.heading))
		}
		for _, l := range b.lines {
			line(indent + plain(l))
		}
		if b.grid != nil {
			for _, l := range b.grid.text() {
				line(indent + "  " + l)
			}
		}
	}
	return out.String()
}

// plain has spaces that tools for text know.
func plain(s string) string { return strings.ReplaceAll(oneLine(s), "\u00a0", " ") }

func (g grid) text() []string {
	rows := g.rows
	if g.head != nil {
		rows = slices.Concat([][]string{g.head}, rows)
	}
	var width []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(width) {
				width = append(width, 0)
			}
			width[i] = max(width[i], utf8.RuneCountInString(plain(cell)))
		}
	}
	var out []string
	for _, row := range rows {
		var cells []string
		for i, cell := range row {
			cell = plain(cell)
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if slices.Contains(g.right, i) {
				cell = pad + cell
			} else {
				cell += pad
			}
			cells = append(cells, cell)
		}
		out = append(out, strings.Join(cells, "  "))
	}
	return out
}

func (d document) markdown() string {
	var out []string
	for _, b := range d {
		if b.heading != "" {
			out = append(out, strings.Repeat("#", b.level)+" "+escape(b.heading))
		}
		if len(b.lines) > 0 {
			var lines []string
			for _, l := range b.lines {
				lines = append(lines, escape(l))
			}
			out = append(out, strings.Join(lines, "\\\n")) // hard line breaks
		}
		if b.grid != nil {
			out = append(out, strings.Join(b.grid.markdown(), "\n"))
		}
	}
	return strings.Join(out, "\n\n") + "\n"
}

func (g grid) markdown() []string {
	head := g.head
	var out []string
	if head == nil { // Markdown has no table without one: a list
		for _, row := range g.rows {
			if row[0] == "" { // it belongs to the one above
				out = append(out, "  - "+escape(row[1]))
				continue
			}
			out = append(out, "- "+escape(row[0])+": "+escape(row[1]))
		}
		return out
	}
	var rule []string
	for i := range head {
		if slices.Contains(g.right, i) {
			rule = append(rule, "---:")
		} else {
			rule = append(rule, "---")
		}
	}
	row := func(cells []string) string {
		var escaped []string
		for _, c := range cells {
			escaped = append(escaped, escape(c))
		}
		return "| " + strings.Join(escaped, " | ") + " |"
	}
	out = append(out, row(head), "| "+strings.Join(rule, " | ")+" |")
	for _, r := range g.rows {
		out = append(out, row(r))
	}
	return out
}

// escape makes text that Markdown shows as it is.
func escape(s string) string {
	var b strings.Builder
	for _, r := range oneLine(s) {
		if strings.ContainsRune("\\`*_{}[]<>#|~&", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
