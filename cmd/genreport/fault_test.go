package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"genreport/measure"
	"genreport/measure/experiments"
)

// soakVariable makes the tests of this file long: see `make soak`.
const soakVariable = "GENREPORT_SOAK"

func soak() bool { return os.Getenv(soakVariable) != "" }

// build is the program as people have it.
func build(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("starts real nodes")
	}
	return buildGenreport(t)
}

// started is a genreport that measures.
type started struct {
	*exec.Cmd
	mu    sync.Mutex
	talk  bytes.Buffer
	cells chan struct{} // closed when it has begun with the cells
	ended chan struct{}
	err   error
}

// launch starts a process group of its own, as a shell with a terminal does.
func launch(t *testing.T, name string, args ...string) *started {
	t.Helper()
	s := &started{Cmd: exec.Command(name, args...), cells: make(chan struct{}), ended: make(chan struct{})}
	s.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	pipe, err := s.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		first := true
		for lines := bufio.NewScanner(pipe); lines.Scan(); {
			s.mu.Lock()
			s.talk.WriteString(lines.Text() + "\n")
			s.mu.Unlock()
			if first && strings.Contains(lines.Text(), "  cell 1 of ") {
				first = false
				close(s.cells)
			}
		}
		s.err = s.Wait()
		close(s.ended)
	}()
	t.Cleanup(func() { s.Process.Kill() })
	return s
}

func (s *started) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.talk.String()
}

// within waits for the end, and says how it ended.
func (s *started) within(t *testing.T, d time.Duration) int {
	t.Helper()
	select {
	case <-s.ended:
	case <-time.After(d):
		t.Fatalf("it has not ended after %v:\n%s", d, s.said())
	}
	var exit *exec.ExitError
	if errors.As(s.err, &exit) {
		return exit.ExitCode()
	}
	if s.err != nil {
		t.Fatal(s.err)
	}
	return 0
}

// wantGone waits until none of the processes lives.
func wantGone(t *testing.T, ours []process) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		left := slices.DeleteFunc(slices.Clone(ours), func(p process) bool { now, ok := look(p.pid); return !ok || now.start != p.start })
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("these outlive genreport: %v", left)
			return
		}
	}
}

const faultRun = "20260101T000000Z-fault"

// faultArgs measure a node with the Go client in this many cells of under a second.
func faultArgs(results string, repeats int) []string {
	return []string{"measure", "--profile", "quick", "--experiment", "channel-throughput", "--case", "client=go,channels=1", "--case", "client=go,channels=4",
		"--repeats", fmt.Sprint(repeats), "--run", faultRun, "--results", results}
}

// wantRun loads the run and finds cells that are there twice or failed
// otherwise than the test expects.
func wantRun(t *testing.T, results string, expected func(reason string) bool) (run measure.Recorded, cells int) {
	t.Helper()
	runs, err := measure.Load(os.DirFS(results), experiments.Methods())
	if err != nil || len(runs) != 1 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	seen := map[string]bool{}
	for _, c := range runs[0].Results["channel-throughput"].Cells {
		key := fmt.Sprint(c.Labels, c.Repeat)
		if seen[key] {
			t.Errorf("%s is there twice", key)
		}
		seen[key] = true
		if c.Failure != nil && !expected(c.Failure.Reason) {
			t.Errorf("%s failed: %s", key, c.Failure.Reason)
		}
	}
	return runs[0], len(seen)
}

func never(string) bool { return false }

// Kill -9 at any moment, again and again: every file can be read, nothing of
// ours still runs, and in the end the run has each cell once.
func TestKilledAndResumed(t *testing.T) {
	exe := build(t)
	kills, repeats, longest := 2, 3, 15*time.Second
	if soak() {
		kills, repeats, longest = 25, 12, 25*time.Second
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	results := filepath.Join(t.TempDir(), "results")
	resume := []string{"measure", "--resume", "--run", faultRun, "--results", results}
	cells, full := 0, 0
	for killed := 0; killed < kills; {
		args := resume
		if _, err := os.Stat(filepath.Join(results, faultRun)); err != nil {
			args = faultArgs(results, repeats)
		}
		s := launch(t, exe, args...)
		moment := time.Duration(random.Int64N(int64(longest)))
		var ours []process
		select {
		case <-time.After(moment):
			ours = descendants(s.Process.Pid)
			s.Process.Kill()
			s.within(t, 10*time.Second)
			killed++
			t.Logf("killed after %v, with %d processes", moment.Round(time.Millisecond), len(ours))
		case <-s.ended: // too late: it was done
			if code := s.within(t, time.Second); code != exitOK {
				t.Fatalf("status %d:\n%s", code, s.said())
			}
			if _, cells = wantRun(t, results, never); cells != 2*repeats {
				t.Fatalf("%d cells", cells)
			}
			full++
			if err := os.RemoveAll(results); err != nil {
				t.Fatal(err)
			}
			cells = 0
			continue
		}
		wantGone(t, ours)
		if _, err := os.Stat(filepath.Join(results, faultRun)); err != nil {
			continue // before it had made its run
		}
		run, n := wantRun(t, results, never)
		if n < cells || run.Run.Ended != nil {
			t.Errorf("%d cells after %d, ended %v", n, cells, run.Run.Ended)
		}
		cells = n
	}
	args := resume
	if _, err := os.Stat(filepath.Join(results, faultRun)); err != nil {
		args = faultArgs(results, repeats)
	}
	s := launch(t, exe, args...)
	if code := s.within(t, 5*time.Minute); code != exitOK {
		t.Fatalf("status %d:\n%s", code, s.said())
	}
	run, n := wantRun(t, results, never)
	if res := run.Results["channel-throughput"]; n != 2*repeats || res.Planned != n || run.Run.Ended == nil {
		t.Errorf("%d of %d cells, ended %v", n, res.Planned, run.Run.Ended)
	}
	left, _ := filepath.Glob(filepath.Join(results, faultRun, ".tmp-*"))
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	t.Logf("%d kills, %d runs that were done before the next", kills, full)
}

// Ctrl-C, which a terminal sends to the whole group, and SIGTERM end it within
// seconds and in order. What it says then resumes the run.
func TestInterruptedAndResumed(t *testing.T) {
	exe := build(t)
	for _, tt := range []struct {
		sig   syscall.Signal
		group bool
	}{{syscall.SIGINT, true}, {syscall.SIGTERM, false}} {
		results := filepath.Join(t.TempDir(), "the results")
		s := launch(t, exe, faultArgs(results, 6)...)
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) { // the middle of a cell
			written, _ := filepath.Glob(filepath.Join(results, "*", "channel-throughput.json"))
			if len(written) == 1 && strings.Count(fmt.Sprint(descendants(s.Process.Pid)), "genreport") > 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("no cell:\n%s", s.said())
			}
		}
		ours := descendants(s.Process.Pid)
		pid := s.Process.Pid
		if tt.group {
			pid = -pid
		}
		if err := syscall.Kill(pid, tt.sig); err != nil {
			t.Fatal(err)
		}
		if code := s.within(t, 10*time.Second); code != exitFailed {
			t.Errorf("%v: status %d", tt.sig, code)
		}
		wantGone(t, ours)
		run, n := wantRun(t, results, never)
		if n == 0 || n == 12 || run.Run.Ended != nil {
			t.Errorf("%v: %d cells, ended %v", tt.sig, n, run.Run.Ended)
		}
		_, command, ok := strings.Cut(s.said(), "to measure the rest: ")
		if want := fmt.Sprintf("%s measure --resume --run %s --results '%s'\n", exe, faultRun, results); !ok || command != want {
			t.Fatalf("%v: it said\n%s\nwant %s", tt.sig, s.said(), want)
		}
		again := launch(t, "sh", "-c", strings.TrimSpace(command))
		if code := again.within(t, 3*time.Minute); code != exitOK {
			t.Errorf("%v: status %d:\n%s", tt.sig, code, again.said())
		}
		if run, n = wantRun(t, results, never); n != 12 || run.Run.Ended == nil || len(run.Run.Resumed) != 1 {
			t.Errorf("%v: %d cells, ended %v, resumed %v", tt.sig, n, run.Run.Ended, run.Run.Resumed)
		}
	}
}

// A node that is killed at random moments: the run goes on to its end, and each
// cell has its numbers or the reason why not.
func TestBrokerKilledAtRandom(t *testing.T) {
	if !soak() {
		t.Skip("takes minutes; `make soak` does it")
	}
	exe := build(t)
	results := filepath.Join(t.TempDir(), "results")
	const repeats = 100
	s := launch(t, exe, faultArgs(results, repeats)...)
	select {
	case <-s.cells:
	case <-time.After(2 * time.Minute):
		t.Fatalf("no cell:\n%s", s.said())
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	kills := 0
	for running := true; running; {
		select {
		case <-s.ended:
			running = false
		case <-time.After(2*time.Second + time.Duration(random.Int64N(int64(10*time.Second)))):
			for _, p := range descendants(s.Process.Pid) {
				if strings.HasPrefix(p.name, "beam.smp") && syscall.Kill(p.pid, syscall.SIGKILL) == nil {
					kills++
				}
			}
		}
	}
	if code := s.within(t, time.Second); code != exitUnmet && code != exitOK {
		t.Errorf("status %d:\n%s", code, s.said())
	}
	failed := 0
	run, n := wantRun(t, results, func(reason string) bool {
		failed++
		return strings.HasPrefix(reason, "the broker ended: ") || strings.Contains(reason, "start a RabbitMQ node") || strings.HasPrefix(reason, "the broker takes no more")
	})
	if n != 2*repeats || run.Run.Ended == nil || kills < 5 || failed > kills {
		t.Errorf("%d cells, %d kills, %d failed, ended %v", n, kills, failed, run.Run.Ended)
	}
	t.Logf("%d kills, %d of %d cells failed", kills, failed, n)
}
