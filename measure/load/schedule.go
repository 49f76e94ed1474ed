package load

import (
	"context"
	"math"
	"time"
)

// schedule says when to send: an open loop at a constant rate, whose times are
// fixed before it begins. A sender that falls behind sends at once and keeps
// them, so that what a stall delays counts with its whole delay; a loop that
// waits for each answer before the next send would leave that out
// (coordinated omission).
type schedule struct {
	start  time.Duration
	rate   float64       // messages per second; 0: as fast as possible
	count  int           // at most so many
	length time.Duration // at most so long; 0: no limit
}

// at is the intended time of send i, from 0.
func (s schedule) at(i int) time.Duration {
	return s.start + time.Duration(math.Round(float64(i)*1e9/s.rate))
}

// sends is how many sends there are. With a rate, those that lie within the
// length: all of them are made, however late.
func (s schedule) sends() int {
	if s.rate == 0 || s.length == 0 {
		return s.count
	}
	return min(s.count, int(math.Ceil(s.rate*s.length.Seconds()-1e-6)))
}

// run calls send for each message at its intended time, or later. Without a
// rate there is no intended time, and due is the time at which send is called.
// It ends early when ctx is done or stop is closed, the latter without error.
func (s schedule) run(ctx context.Context, c clock, stop <-chan struct{}, send func(i int, due time.Duration) error) error {
	for i := range s.sends() {
		var due time.Duration
		if s.rate > 0 {
			due = s.at(i)
			if c.Now() < due {
				c.SleepUntil(ctx, due)
			}
		} else if due = c.Now(); s.length > 0 && due-s.start >= s.length {
			return nil
		}
		select {
		case <-stop:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		default:
		}
		if err := send(i, due); err != nil {
			return err
		}
	}
	return nil
}
