package article

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// written is text of the content that may hold references, and where each byte
// of it stands.
type written struct {
	text string
	file string
	at   func(offset int) place
}

// part is the text between two offsets.
func (w written) part(from, to int) written {
	return written{w.text[from:to], w.file, func(offset int) place { return w.at(from + offset) }}
}

// trimmed is the text without the space around it.
func (w written) trimmed() written {
	from := len(w.text) - len(strings.TrimLeftFunc(w.text, unicode.IsSpace))
	return w.part(from, max(from, len(strings.TrimRightFunc(w.text, unicode.IsSpace))))
}

// place is where an offset of the text is in the content.
func (w written) place(offset int) Place {
	p := w.at(offset)
	return Place{w.file, p.line, p.column}
}

// fault is an error at an offset of the text; nil where there is none.
func (w written) fault(offset int, err error) error {
	if err == nil || errors.Is(err, errFaulty) {
		return nil
	}
	if placed, ok := errors.AsType[fault](err); ok {
		return placed
	}
	return fault{w.file, w.at(offset), err}
}

// scalar is a text of YAML as it stands in raw, from the place of its key or of
// itself on: it may be quoted, or folded over lines. Where it can't be found it
// stands, all of it, at the place.
func scalar(file, raw string, p place, text string) written {
	var offsets []int
	found := false
	return written{text, file, func(offset int) place {
		if !found {
			found = true
			start := offsetOf(raw, p)
			if offsets = align(raw, start, text); offsets == nil {
				offsets = align(raw, afterKey(raw, start), text)
			}
		}
		if offset < 0 || offset >= len(offsets) {
			if offset > 0 && offset == len(offsets) {
				offset--
			} else {
				return p
			}
		}
		return placeIn(raw, offsets[offset])
	}}
}

// afterKey is the offset of the value of a key that stands at an offset.
func afterKey(raw string, offset int) int {
	rest := raw[offset:]
	from := 0
	if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
		from = 1 + strings.IndexByte(rest[1:], rest[0])
	}
	colon := strings.IndexByte(rest[max(from, 0):], ':')
	if colon < 0 {
		return offset
	}
	return offset + max(from, 0) + colon + 1
}

// align finds the bytes of a scalar's text in YAML that begins at an offset; nil
// where it does not stand there. What YAML takes out of a scalar is passed over:
// quotation marks, the header of a block, indentation and escapes.
func align(raw string, at int, text string) []int {
	skipSpace := func() {
		for at < len(raw) && strings.IndexByte(" \t\r\n", raw[at]) >= 0 {
			at++
		}
	}
	skipSpace()
	quote := byte(0)
	if at < len(raw) {
		switch c := raw[at]; c {
		case '"', '\'':
			quote = c
			at++
		case '|', '>':
			n := strings.IndexByte(raw[at:], '\n')
			if n < 0 {
				return nil
			}
			at += n + 1
			skipSpace()
		}
	}
	out := make([]int, 0, len(text))
	for i := 0; i < len(text); {
		want, size := utf8.DecodeRuneInString(text[i:])
		for {
			if at >= len(raw) {
				if unicode.IsSpace(want) { // the end of a block, whose line has none
					break
				}
				return nil
			}
			have, n := utf8.DecodeRuneInString(raw[at:])
			switch {
			case have == '\\' && quote == '"' && at+1 < len(raw):
				if next := raw[at+1]; next != byte(want) && strings.IndexByte("\"\\/", next) >= 0 {
					return nil
				}
				for range size {
					out = append(out, at)
				}
				if at += 2; strings.IndexByte("xuU", raw[at-1]) >= 0 {
					at += map[byte]int{'x': 2, 'u': 4, 'U': 8}[raw[at-1]]
				}
			case have == want:
				for range size {
					out = append(out, at)
				}
				if at += n; quote == '\'' && have == '\'' {
					at++
				}
			case unicode.IsSpace(want) && unicode.IsSpace(have):
				for range size {
					out = append(out, at)
				}
				skipSpace()
			case unicode.IsSpace(have):
				at += n
				continue
			default:
				return nil
			}
			break
		}
		if len(out) < i+size {
			for len(out) < i+size {
				out = append(out, len(raw))
			}
		}
		i += size
	}
	return out
}
