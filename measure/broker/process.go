package broker

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// A process is one line of /proc/PID/stat.
type process struct {
	pid, parent int
	name        string
	state       byte
	ticks       uint64 // user and system time, reaped children included
}

// Linux reports CPU time to user space in this unit on every architecture
// that Debian has.
const tick = 10 * time.Millisecond

// descendants returns the processes below root, parents first. Ordinary
// errors mean that a process has ended meanwhile.
func descendants(root int) ([]process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	children := map[int][]process{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, err := readProcess(pid); err == nil {
			children[p.parent] = append(children[p.parent], p)
		}
	}
	below := append([]process(nil), children[root]...)
	for i := 0; i < len(below); i++ {
		below = append(below, children[below[i].pid]...)
	}
	return below, nil
}

func readProcess(pid int) (process, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, err
	}
	return parseStat(data)
}

// parseStat reads "pid (name) state ppid …". The name may hold blanks and
// parentheses: it ends at the last one.
func parseStat(data []byte) (process, error) {
	open, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if open < 0 || end < open {
		return process{}, fmt.Errorf("process status: no name in it")
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(data[:open])))
	if err != nil {
		return process{}, fmt.Errorf("process status: %w", err)
	}
	fields := bytes.Fields(data[end+1:])
	if len(fields) < 15 {
		return process{}, fmt.Errorf("process status: %d fields after the name", len(fields))
	}
	p := process{pid: pid, name: string(data[open+1 : end]), state: fields[0][0]}
	if p.parent, err = strconv.Atoi(string(fields[1])); err != nil {
		return process{}, fmt.Errorf("process status: %w", err)
	}
	// utime, stime, and those of children that were waited for: fields 14 to
	// 17 of the line, of which three stand before the ones here.
	for _, f := range fields[11:15] {
		n, err := strconv.ParseUint(string(f), 10, 64)
		if err != nil {
			return process{}, fmt.Errorf("process status: %w", err)
		}
		p.ticks += n
	}
	return p, nil
}

// cpuBelow returns the CPU time of all processes below root, ended ones
// included. Each process counts itself and the children it has reaped; whoever
// lost its parent is reaped by the first process of its PID namespace.
func cpuBelow(root int) (time.Duration, error) {
	list, err := descendants(root)
	if err != nil {
		return 0, err
	}
	var ticks uint64
	for _, p := range list {
		ticks += p.ticks
	}
	return time.Duration(ticks) * tick, nil
}
