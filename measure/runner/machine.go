package runner

import (
	"bufio"
	"context"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"genreport/measure"
	"genreport/measure/experiments"
)

// describeMachine says what the measurements ran on, without what would
// identify the machine. What can't be read stays empty.
func describeMachine() measure.Machine {
	m := measure.Machine{Cores: runtime.NumCPU(), Arch: runtime.GOARCH}
	m.CPU = field("/proc/cpuinfo", "model name", ":")
	if kb, err := strconv.ParseInt(strings.TrimSuffix(field("/proc/meminfo", "MemTotal", ":"), " kB"), 10, 64); err == nil {
		m.MemoryBytes = kb << 10
	}
	m.OS = strings.Trim(field("/etc/os-release", "PRETTY_NAME", "="), `"`)
	if b, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(b))
	}
	if strings.Contains(" "+field("/proc/cpuinfo", "flags", ":")+" ", " hypervisor ") {
		m.Virtualisation = "virtual machine"
	}
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		one, _, _ := strings.Cut(string(b), " ")
		m.Load1, _ = strconv.ParseFloat(one, 64)
	}
	if b, err := os.ReadFile("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"); err == nil {
		m.Governor = strings.TrimSpace(string(b))
	}
	return m
}

// stealTime is how long the machine is looked at before a run.
const stealTime = time.Second

// stealShare is the part of the core time that the hypervisor takes from now
// on for a second.
func stealShare(ctx context.Context) measure.Value {
	before, err := experiments.ReadCoreTime()
	if err != nil {
		return measure.Missing("failed: " + err.Error())
	}
	select {
	case <-ctx.Done():
		return measure.Missing("interrupted")
	case <-time.After(stealTime):
	}
	after, err := experiments.ReadCoreTime()
	if err != nil {
		return measure.Missing("failed: " + err.Error())
	}
	return measure.Float((after.Steal - before.Steal) / (after.Total - before.Total))
}

// field is the value of the first line of file whose key it is.
func field(file, key, separator string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if k, v, ok := strings.Cut(s.Text(), separator); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
