package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"genreport/measure"
	"genreport/measure/experiments"
)

// However genreport ends while it measures, no broker and no client outlives
// it, and what it wrote can be read.
func TestNothingOutlivesGenreport(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a real node")
	}
	exe := buildGenreport(t)
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		results := t.TempDir()
		cmd := exec.Command(exe, "measure", "--profile", "quick", "--experiment", "channel-throughput",
			"--case", "client=pika", "--repeats", "100", "--results", results)
		talk, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill() })
		lines := bufio.NewScanner(talk)
		for lines.Scan() && !strings.Contains(lines.Text(), "cell 1 of") {
			t.Log(lines.Text())
		}
		go func() { // so that it never waits for a reader
			for lines.Scan() {
			}
		}()
		// The broker and a client: in the middle of a cell.
		var ours []process
		for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			ours = descendants(cmd.Process.Pid)
			measured, _ := filepath.Glob(filepath.Join(results, "*", "channel-throughput.json"))
			if len(measured) == 1 && has(ours, "beam.smp") && has(ours, "python3") {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("no broker and client among %v", ours)
			}
		}
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		err = cmd.Wait()
		if err == nil {
			t.Errorf("%v: status 0", sig)
		}
		for deadline := time.Now().Add(15 * time.Second); ; time.Sleep(50 * time.Millisecond) {
			left := slices.DeleteFunc(slices.Clone(ours), func(p process) bool { now, ok := look(p.pid); return !ok || now.start != p.start })
			if len(left) == 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Errorf("%v: these outlive genreport: %v", sig, left)
				break
			}
		}
		runs, err := measure.Load(os.DirFS(results), experiments.Methods())
		if err != nil || len(runs) != 1 {
			t.Errorf("%v: %d runs, %v", sig, len(runs), err)
		}
	}
}

// process is one that lives; pids are used again, start times are not.
type process struct {
	pid, parent int
	name, start string
}

func look(pid int) (process, bool) {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return process{}, false
	}
	_, rest, _ := strings.Cut(string(data), "(")
	end := strings.LastIndex(rest, ")")
	f := strings.Fields(rest[end+1:]) // from the third field on; see proc_pid_stat(5)
	parent, err := strconv.Atoi(f[1])
	if err != nil || f[0] == "Z" {
		return process{}, false
	}
	return process{pid: pid, parent: parent, name: rest[:end], start: f[19]}, true
}

func descendants(pid int) []process {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var all []process
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil {
			if p, ok := look(n); ok {
				all = append(all, p)
			}
		}
	}
	ours := []int{pid}
	var out []process
	for i := 0; i < len(ours); i++ {
		for _, p := range all {
			if p.parent == ours[i] {
				ours = append(ours, p.pid)
				out = append(out, p)
			}
		}
	}
	return out
}

func has(list []process, name string) bool {
	return slices.ContainsFunc(list, func(p process) bool { return strings.HasPrefix(p.name, name) })
}
