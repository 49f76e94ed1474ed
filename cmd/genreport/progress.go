package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"genreport/measure/runner"
)

// progress tells a person how far a run is: a bar that stays on one line of a
// terminal, plain lines elsewhere.
type progress struct {
	mu       sync.Mutex
	w        io.Writer
	quiet    bool
	terminal bool
	shown    bool // a bar is on the current line
	last     int  // percent of the last plain line
}

func newProgress(w io.Writer, quiet bool) *progress {
	return &progress{w: w, quiet: quiet, terminal: isTerminal(w), last: -1}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// say prints a line.
func (p *progress) say(line string) {
	if p.quiet && !strings.HasPrefix(line, "failed") {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	fmt.Fprintln(p.w, line)
}

func (p *progress) cell(at runner.Progress) {
	if p.quiet {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	percent := 100 * at.Done / max(at.Total, 1)
	if !p.terminal {
		if percent/10 != p.last/10 || p.last < 0 { // every tenth part
			fmt.Fprintf(p.w, "%3d%%  cell %d of %d  about %s left  %s\n", percent, at.Done+1, at.Total, at.Left, at.Cell)
		}
		p.last = percent
		return
	}
	const width = 24
	full := width * at.Done / max(at.Total, 1)
	p.erase()
	fmt.Fprintf(p.w, "\r%s%s %3d%%  about %s left  %.60s", strings.Repeat("█", full), strings.Repeat("░", width-full), percent, at.Left, at.Cell)
	p.shown = true
}

// clear takes the bar away.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
}

func (p *progress) erase() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}
