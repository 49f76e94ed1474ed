package article

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"genreport/cmd/genreport/internal/near"
)

// Place is where something stands in the content. Line and Column count from 1,
// columns in characters, not in bytes.
type Place struct {
	File         string // within the content
	Line, Column int
}

// place is a Place of a file that is known.
type place struct{ line, column int }

// placeIn is the place of an offset in a text, in bytes.
func placeIn(text string, offset int) place {
	before := text[:min(max(offset, 0), len(text))]
	start := 1 + strings.LastIndexByte(before, '\n')
	return place{1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(before[start:])}
}

// placesIn is placeIn for many offsets in a long text.
func placesIn(text string) func(offset int) place {
	starts := []int{0} // of lines
	for i := range len(text) {
		if text[i] == '\n' {
			starts = append(starts, i+1)
		}
	}
	return func(offset int) place {
		offset = min(max(offset, 0), len(text))
		line := sort.SearchInts(starts, offset+1)
		return place{line, 1 + utf8.RuneCountInString(text[starts[line-1]:offset])}
	}
}

// lineAt is the line, from 1, of an offset in text.
func lineAt(text string, offset int) int { return placeIn(text, offset).line }

// offsetOf is the opposite of placeIn: where a place is in a text.
func offsetOf(text string, p place) int {
	offset := 0
	for range p.line - 1 {
		n := strings.IndexByte(text[offset:], '\n')
		if n < 0 {
			return len(text)
		}
		offset += n + 1
	}
	for range p.column - 1 {
		_, size := utf8.DecodeRuneInString(text[offset:])
		offset += size
	}
	return min(offset, len(text))
}

// fault is an error in content, with its place.
type fault struct {
	file string
	place
	err error
}

func (f fault) Error() string {
	return fmt.Sprintf("%s:%d:%d: %v", f.file, max(f.line, 1), max(f.column, 1), f.err)
}
func (f fault) Unwrap() error { return f.err }

// begin is where a file begins: of what is wrong with the whole of it.
func begin() place { return place{1, 1} }

// faults collects them, so that one does not hide another.
type faults struct{ list []error }

// at adds an error at a place of a file. One that knows its place keeps it, and
// errors that are joined are told one by one.
func (f *faults) at(file string, p place, err error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			f.at(file, p, e)
		}
		return
	}
	if err == nil || errors.Is(err, errFaulty) {
		return
	}
	var placed fault
	if !errors.As(err, &placed) {
		placed = fault{file, p, err}
	}
	// A page is resolved twice, and a line several times.
	if !slices.ContainsFunc(f.list, func(have error) bool { return have.Error() == placed.Error() }) {
		f.list = append(f.list, placed)
	}
}

func (f *faults) join() error { return errors.Join(f.list...) }

// partError is an error in a part of what is looked up, such as the value of a
// label: whoever knows where the parts stand gives it its place.
type partError struct {
	part []string
	err  error
}

func (p partError) Error() string { return p.err.Error() }
func (p partError) Unwrap() error { return p.err }

// wrong makes an error one of a part.
func wrong(err error, part ...string) error {
	if err == nil {
		return nil
	}
	return partError{part, err}
}

// The parts of what is looked up, beside the keys of a declaration: a label and
// its value, each followed by the label's name, and before it the key that has the
// label, if that is known.
const (
	partLabel = "label"
	partValue = "value"
)

// unknown says that a name is none of those there are, and which was meant.
func unknown(what, got string, have []string) error {
	have = slices.Compact(slices.Sorted(slices.Values(have)))
	best := near.Best(got, have)
	if best != "" {
		return fmt.Errorf("unknown %s %q; did you mean %q?", what, got, best)
	}
	if len(have) == 0 {
		return fmt.Errorf("unknown %s %q; there are none", what, got)
	}
	return fmt.Errorf("unknown %s %q; there are %s", what, got, strings.Join(have, ", "))
}
