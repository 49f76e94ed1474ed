package webapi

import (
	"sync"
	"syscall"
	"time"

	"genreport/measure"
	"genreport/measure/load"
	"genreport/measure/load/latency"
)

// stage keeps how long a step took, from several goroutines.
type stage struct {
	mu sync.Mutex
	h  *latency.Histogram
}

func newStage() *stage { return &stage{h: latency.New()} }

func (s *stage) record(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.h.Record(d)
}

func (s *stage) encode() *measure.Histogram {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.h.Encode()
	return &m
}

// commits notes the rows that were committed.
type commits struct {
	clock  *load.Clock
	record bool

	mu    sync.Mutex
	began time.Duration
	count int
	ids   []uint64
	at    []int64
	per   perSecond
}

func newCommits(clock *load.Clock, record bool) *commits {
	return &commits{clock: clock, record: record, began: clock.Now()}
}

// begin is when the seconds of the series begin.
func (c *commits) begin(now time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.began = now
}

func (c *commits) add(id uint64) {
	now := c.clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count++
	c.per.add(now - c.began)
	if c.record {
		c.ids, c.at = append(c.ids, id), append(c.at, now.Nanoseconds())
	}
}

func (c *commits) report(o *Outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o.Inserted, o.CommitIDs, o.CommitAt = c.count, c.ids, c.at
	o.Series = map[string]measure.Series{SeriesCommitted: c.per.series()}
}

// perSecond counts events in each second since the start.
type perSecond []int64

func (p *perSecond) add(since time.Duration) {
	second := int(min(max(since, 0), 2*MaxLimit) / time.Second)
	for len(*p) <= second {
		*p = append(*p, 0)
	}
	(*p)[second]++
}

func (p perSecond) series() measure.Series {
	s := measure.Series{Unit: measure.Count, Step: 1, Values: []measure.Value{}}
	for _, n := range p {
		s.Values = append(s.Values, measure.Int(n))
	}
	return s
}

// window is the time over which a process works.
type window struct {
	clock *load.Clock
	began time.Duration
	cpu   time.Duration
}

func openWindow(clock *load.Clock) window { return window{clock, clock.Now(), cpuTime()} }

func (w window) report(o *Outcome) {
	o.Began = w.began.Nanoseconds()
	o.Elapsed = (w.clock.Now() - w.began).Seconds()
	o.CPU = (cpuTime() - w.cpu).Seconds()
}

// cpuTime is the user and system time of this process so far.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
