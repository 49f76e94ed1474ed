package load

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"os"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// clock is what a schedule goes by; tests have one that they move themselves.
type clock interface {
	// Now is the time since some moment, on a clock that is never set.
	Now() time.Duration
	// SleepUntil returns at t and never before, unless ctx is done.
	SleepUntil(ctx context.Context, t time.Duration)
}

// machineClock is Linux's CLOCK_MONOTONIC: all processes of a machine see the
// same one, so that a consumer can tell how long ago another process sent.
type machineClock struct {
	base time.Time     // Go's own monotonic reading, which is cheap
	mono time.Duration // CLOCK_MONOTONIC at base
	boot uint64        // says which machine, and since which boot; 0: unknown
}

func newMachineClock() *machineClock {
	c := &machineClock{boot: bootID()}
	// Both readings are of one clock, so only the time between them is an
	// error: the shortest of some tries.
	best := time.Hour
	for range 10 {
		before := time.Now()
		mono := monotonic()
		if gap := time.Since(before); gap < best {
			best, c.base, c.mono = gap, before, mono-gap/2
		}
	}
	return c
}

func (c *machineClock) Now() time.Duration { return c.mono + time.Since(c.base) }

// unix is the wall clock's time at t, as the wall clock was set at the start.
func (c *machineClock) unix(t time.Duration) int64 {
	return c.base.UnixNano() + int64(t-c.mono)
}

// timerSlack is how late a Go timer may fire: it waits in epoll_wait, which
// knows whole milliseconds only.
const timerSlack = 1500 * time.Microsecond

func (c *machineClock) SleepUntil(ctx context.Context, t time.Duration) {
	for {
		left := t - c.Now()
		switch {
		case left <= 0 || ctx.Err() != nil:
			return
		case left > timerSlack:
			timer := time.NewTimer(left - timerSlack)
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
			}
		default: // nanosleep is late by some 50 µs; it may return early
			ts := syscall.NsecToTimespec(int64(left))
			_ = syscall.Nanosleep(&ts, nil)
		}
	}
}

// monotonic reads CLOCK_MONOTONIC, which the syscall package has no call for.
func monotonic() time.Duration {
	const clockMonotonic = 1
	var ts syscall.Timespec
	_, _, _ = syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&ts)), 0)
	return time.Duration(ts.Nano())
}

func bootID() uint64 {
	text, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	id, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(string(text)), "-", ""))
	if err != nil || len(id) < 8 {
		return 0
	}
	return binary.BigEndian.Uint64(id)
}
