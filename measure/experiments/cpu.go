package experiments

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"genreport/measure"
	"genreport/measure/broker"
)

// window is the time in which the load of a cell runs, and what was read when
// it began.
type window struct {
	broker     *broker.Broker
	began      time.Time
	spent      time.Duration // by the broker
	spentErr   error
	machine    CoreTime
	machineErr error
}

func openWindow(b *broker.Broker) window {
	w := window{broker: b}
	w.machine, w.machineErr = ReadCoreTime()
	w.spent, w.spentErr = b.CPU()
	w.began = time.Now()
	return w
}

// close ends the window of so many client processes, which say themselves how
// much CPU time they took.
func (w window) close(processes int, clients float64) *measure.CPU {
	c := &measure.CPU{Wall: time.Since(w.began).Seconds(), Processes: processes, Clients: measure.Float(clients), Broker: w.brokerTime()}
	now, err := ReadCoreTime()
	if err = errors.Join(w.machineErr, err); err != nil {
		why := measure.Missing("failed: " + err.Error())
		c.Cores, c.Idle, c.Steal = 1, why, why
		return c
	}
	// The kernel corrects idle time backwards at times.
	c.Cores = now.Cores
	c.Idle = measure.Float(max(0, now.Idle-w.machine.Idle))
	c.Steal = measure.Float(max(0, now.Steal-w.machine.Steal))
	return c
}

// brokerTime is the CPU seconds of the broker since the window began, or why
// there are none.
func (w window) brokerTime() measure.Value {
	if w.spentErr != nil {
		return unavailable(w.spentErr)
	}
	now, err := w.broker.CPU()
	if err != nil {
		return unavailable(err)
	}
	return measure.Float((now - w.spent).Seconds())
}

// CoreTime is what became of the time of the processor cores that this process
// may use, since the machine was started, in seconds of one core.
type CoreTime struct {
	Cores              int
	Total, Idle, Steal float64
}

// ReadCoreTime reads the kernel's counters, which are in steps of 10 ms.
func ReadCoreTime() (CoreTime, error) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return CoreTime{}, err
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return CoreTime{}, err
	}
	return parseCoreTime(string(stat), string(status))
}

// parseCoreTime adds up the cores that Cpus_allowed_list has: on a machine of
// which only a part is given to us, the rest is always idle.
func parseCoreTime(stat, status string) (CoreTime, error) {
	allowed := map[string]bool{}
	for _, line := range strings.Split(status, "\n") {
		list, ok := strings.CutPrefix(line, "Cpus_allowed_list:")
		if !ok {
			continue
		}
		for _, part := range strings.Split(strings.TrimSpace(list), ",") {
			first, last, isRange := strings.Cut(part, "-")
			if !isRange {
				last = first
			}
			from, err := strconv.Atoi(first)
			to, err2 := strconv.Atoi(last)
			if err != nil || err2 != nil {
				return CoreTime{}, fmt.Errorf("/proc/self/status: the allowed cores are %q", list)
			}
			for n := from; n <= to; n++ {
				allowed["cpu"+strconv.Itoa(n)] = true
			}
		}
	}
	const tick = 0.01 // s; what the kernel shows to programs, on every architecture of Debian
	var t CoreTime
	for _, line := range strings.Split(stat, "\n") {
		f := strings.Fields(line)
		if len(f) == 0 || !allowed[f[0]] {
			continue
		}
		// user nice system idle iowait irq softirq steal; what follows is part of user and nice.
		if len(f) < 9 {
			return CoreTime{}, fmt.Errorf("/proc/stat: %d fields of %s", len(f)-1, f[0])
		}
		t.Cores++
		for i, text := range f[1:9] {
			n, err := strconv.ParseUint(text, 10, 64)
			if err != nil {
				return CoreTime{}, fmt.Errorf("/proc/stat: %w", err)
			}
			seconds := float64(n) * tick
			t.Total += seconds
			switch i {
			case 3, 4: // a core that waits for a disk has nothing to do
				t.Idle += seconds
			case 7:
				t.Steal += seconds
			}
		}
	}
	if t.Cores == 0 {
		return CoreTime{}, errors.New("/proc/stat has none of the allowed cores")
	}
	return t, nil
}
