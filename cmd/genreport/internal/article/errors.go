package article

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// fault is an error in content, with its place.
type fault struct {
	file string
	line int
	err  error
}

func (f fault) Error() string { return fmt.Sprintf("%s:%d: %v", f.file, f.line, f.err) }
func (f fault) Unwrap() error { return f.err }

// faults collects them, so that one does not hide another.
type faults struct{ list []error }

func (f *faults) add(file string, line int, err error) {
	if err == nil || errors.Is(err, errFaulty) {
		return
	}
	for _, have := range f.list { // a line may be resolved several times
		if have.Error() == (fault{file, line, err}).Error() {
			return
		}
	}
	f.list = append(f.list, fault{file, line, err})
}

func (f *faults) join() error { return errors.Join(f.list...) }

// lineAt is the line, from 1, of an offset in text.
func lineAt(text []byte, offset int) int {
	return 1 + bytes.Count(text[:min(max(offset, 0), len(text))], []byte("\n"))
}

// unknown says that a name is none of those there are, and which was meant.
func unknown(what, got string, have []string) error {
	have = slices.Sorted(slices.Values(have))
	best, least := "", 1+len(got)/3
	for _, h := range have {
		if d := distance(strings.ToLower(got), strings.ToLower(h)); d <= least {
			best, least = h, d-1
		}
	}
	if best != "" {
		return fmt.Errorf("unknown %s %q; did you mean %q?", what, got, best)
	}
	return fmt.Errorf("unknown %s %q; there are %s", what, got, strings.Join(have, ", "))
}

// distance is the Levenshtein distance in runes.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j := range y {
			cost := diagonal
			if x[i] != y[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(y)]
}
