// Package process reads what Linux tells of processes, and keeps the end of what they say.
package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// Status is one line of /proc/PID/stat.
type Status struct {
	PID, Parent int
	Name        string // at most 15 octets
	State       byte   // R, S, D, T, Z, …
	// CPU is the user and system time used so far, that of children it has waited for included, to 10 ms.
	CPU time.Duration
}

// Linux reports CPU time to user space in this unit on every architecture
// that Debian has.
const tick = 10 * time.Millisecond

// Descendants returns the processes below root, parents first. Ordinary
// errors mean that a process has ended meanwhile.
func Descendants(root int) ([]Status, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	children := map[int][]Status{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, err := Read(pid); err == nil {
			children[p.Parent] = append(children[p.Parent], p)
		}
	}
	below := append([]Status(nil), children[root]...)
	for i := 0; i < len(below); i++ {
		below = append(below, children[below[i].PID]...)
	}
	return below, nil
}

// Read reads what the kernel tells of a process.
func Read(pid int) (Status, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Status{}, err
	}
	return parseStat(data)
}

// parseStat reads "pid (name) state ppid …". The name may hold blanks and
// parentheses: it ends at the last one.
func parseStat(data []byte) (Status, error) {
	open, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if open < 0 || end < open {
		return Status{}, fmt.Errorf("process status: no name in it")
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(data[:open])))
	if err != nil {
		return Status{}, fmt.Errorf("process status: %w", err)
	}
	fields := bytes.Fields(data[end+1:])
	if len(fields) < 15 {
		return Status{}, fmt.Errorf("process status: %d fields after the name", len(fields))
	}
	p := Status{PID: pid, Name: string(data[open+1 : end]), State: fields[0][0]}
	if p.Parent, err = strconv.Atoi(string(fields[1])); err != nil {
		return Status{}, fmt.Errorf("process status: %w", err)
	}
	// utime, stime, and those of children that were waited for: fields 14 to
	// 17 of the line, of which three stand before the ones here.
	for _, f := range fields[11:15] {
		n, err := strconv.ParseInt(string(f), 10, 64)
		if err != nil {
			return Status{}, fmt.Errorf("process status: %w", err)
		}
		p.CPU += time.Duration(n) * tick
	}
	return p, nil
}

// CPUBelow returns the CPU time of all processes below root, ended ones
// included. Each process counts itself and the children it has reaped; whoever
// lost its parent is reaped by the first process of its PID namespace.
func CPUBelow(root int) (time.Duration, error) {
	list, err := Descendants(root)
	if err != nil {
		return 0, err
	}
	var sum time.Duration
	for _, p := range list {
		sum += p.CPU
	}
	return sum, nil
}
