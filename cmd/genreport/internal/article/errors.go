package article

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"genreport/cmd/genreport/internal/near"
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
	best := near.Best(got, have)
	if best != "" {
		return fmt.Errorf("unknown %s %q; did you mean %q?", what, got, best)
	}
	return fmt.Errorf("unknown %s %q; there are %s", what, got, strings.Join(have, ", "))
}
