package main

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"genreport/measure/runner"
)

func at(done, total int, left time.Duration) runner.Progress {
	return runner.Progress{Done: done, Total: total, Cell: "channel-cost client=go", Left: left}
}

// Elsewhere than on a terminal a line is printed at every tenth part.
func TestProgressLines(t *testing.T) {
	var b strings.Builder
	p := newProgress(&b, false)
	for i := range 40 {
		p.cell(at(i, 40, time.Duration(40-i)*time.Second))
	}
	p.say("debian:forky is ready")
	p.clear()
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 11 {
		t.Fatalf("%d lines: %q", len(lines), lines)
	}
	if want := "10%  cell 5 of 40  about 36s left  channel-cost client=go"; strings.TrimSpace(lines[1]) != want {
		t.Errorf("%q, want %q", lines[1], want)
	}
	if strings.Contains(b.String(), "\x1b") || strings.Contains(b.String(), "\r") {
		t.Errorf("control characters where no terminal is: %q", b.String())
	}
}

func TestProgressQuiet(t *testing.T) {
	var b strings.Builder
	p := newProgress(&b, true)
	p.cell(at(0, 2, time.Second))
	p.say("debian:forky is ready")
	p.warn("failed: it is gone")
	p.clear()
	if b.String() != "failed: it is gone\n" {
		t.Errorf("%q", b.String())
	}
}

// The bar counts down within a cell, and a line of text leaves it in place.
func TestProgressBar(t *testing.T) {
	var b strings.Builder
	now := time.Unix(0, 0)
	p := &progress{w: &b, width: func() int { return 80 }, now: func() time.Time { return now }, done: make(chan struct{})}
	p.cell(at(1, 4, 90*time.Second))
	now = now.Add(20 * time.Second)
	p.warn("failed: it is gone")
	got := b.String()
	if !strings.HasSuffix(got, "\r\x1b[Kfailed: it is gone\n\r\x1b[K██████░░░░░░░░░░░░░░░░░░  25%  about 1m10s left  channel-cost client=go") {
		t.Errorf("%q", got)
	}
	now = now.Add(time.Hour)
	b.Reset()
	p.draw()
	if !strings.Contains(b.String(), "about 0s left") {
		t.Errorf("%q", b.String())
	}
	p.clear()
	if !strings.HasSuffix(b.String(), "\r\x1b[K") {
		t.Errorf("clear leaves the bar: %q", b.String())
	}
}

func TestBarFitsTheTerminal(t *testing.T) {
	long := runner.Progress{Done: 3, Total: 4, Cell: strings.Repeat("broker=debian:forky,", 10)}
	for _, width := range []int{1, 20, 40, 79} {
		if n := utf8.RuneCountInString(bar(long, time.Minute, width)); n > width {
			t.Errorf("%d columns where there are %d", n, width)
		}
	}
}
