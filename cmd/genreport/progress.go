package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"genreport/measure/runner"
)

// progress tells a person how far a run is: a bar that stays on one line of a
// terminal and counts down, plain lines elsewhere.
type progress struct {
	mu    sync.Mutex
	w     io.Writer
	quiet bool
	width func() int       // of the terminal; nil: there is none
	now   func() time.Time // for the countdown between cells
	at    runner.Progress
	since time.Time // when at was told
	shown bool      // a bar is on the current line
	tenth int       // of the last plain line
	done  chan struct{}
	stop  sync.Once
}

func newProgress(w io.Writer, quiet bool) *progress {
	p := &progress{w: w, quiet: quiet, width: terminalWidth(w), now: time.Now, tenth: -1, done: make(chan struct{})}
	if p.width != nil && !quiet {
		go p.tick()
	}
	return p
}

// terminalWidth is nil where w is no terminal that can take back a line.
func terminalWidth(w io.Writer) func() int {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return func() int {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
		return 80
	}
}

// tick redraws the bar every second: a cell may take minutes.
func (p *progress) tick() {
	for {
		select {
		case <-p.done:
			return
		case <-time.After(time.Second):
			p.mu.Lock()
			p.draw()
			p.mu.Unlock()
		}
	}
}

// warn prints a line, also when quiet.
func (p *progress) warn(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	fmt.Fprintln(p.w, line)
	p.draw()
}

// say prints a line unless quiet.
func (p *progress) say(line string) {
	if !p.quiet {
		p.warn(line)
	}
}

// cell is told before each cell.
func (p *progress) cell(at runner.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at, p.since = at, p.now()
	if p.width != nil {
		p.draw()
		return
	}
	tenth := 10 * at.Done / max(at.Total, 1)
	if p.quiet || tenth == p.tenth {
		return
	}
	p.tenth = tenth
	fmt.Fprintf(p.w, "%3d%%  cell %d of %d  about %s left  %s\n", 10*tenth, at.Done+1, at.Total, at.Left, at.Cell)
}

func (p *progress) draw() {
	if p.width == nil || p.quiet || p.since.IsZero() {
		return
	}
	left := max(p.at.Left-p.now().Sub(p.since), 0).Round(time.Second)
	fmt.Fprint(p.w, "\r\x1b[K"+bar(p.at, left, p.width()-1))
	p.shown = true
}

// bar is one line of at most width columns.
func bar(at runner.Progress, left time.Duration, width int) string {
	const cells = 24
	full := cells * at.Done / max(at.Total, 1)
	line := []rune(fmt.Sprintf("%s%s %3d%%  about %s left  %s", strings.Repeat("█", full), strings.Repeat("░", cells-full),
		100*at.Done/max(at.Total, 1), left, at.Cell))
	if len(line) > width {
		line = append(line[:max(width-1, 0)], '…')
	}
	return string(line)
}

// clear ends the bar.
func (p *progress) clear() {
	p.stop.Do(func() { close(p.done) })
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	p.since = time.Time{}
}

func (p *progress) erase() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}
