// Package latency keeps distributions of latencies: recorded cheaply, merged
// without loss, and stored in a few kilobytes as [measure.Histogram].
//
// A [Histogram] counts nanoseconds in buckets that are at most 0.1 % wide, so
// that every quantile is known to three significant digits, however long the
// tail. It knows nothing of schedules: what is recorded in it, and from which
// moment it counts, is its user's business.
package latency

import (
	"fmt"
	"math"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"genreport/measure"
)

const (
	// Longest is the longest latency that is told from a longer one: no job
	// may take longer.
	Longest = 30 * time.Minute
	// digits is the number of significant decimal digits that are kept.
	digits = 3
)

// Histogram is a distribution of latencies. It is not safe for use by several
// goroutines at once.
type Histogram struct {
	h *hdr.Histogram
}

// New is a histogram without values.
func New() *Histogram {
	return &Histogram{hdr.New(1, Longest.Nanoseconds(), digits)}
}

// Record counts a latency. One below zero or above Longest counts as these: a
// sample that is dropped would flatter the others.
func (h *Histogram) Record(d time.Duration) {
	_ = h.h.RecordValue(int64(min(max(d, 0), Longest))) // in range
}

// Count is the number of values.
func (h *Histogram) Count() int64 { return h.h.TotalCount() }

// Merge adds the values of other.
func (h *Histogram) Merge(other *Histogram) {
	h.h.Merge(other.h) // nothing is dropped: all histograms have the same range
}

// Quantile is the value of rank ⌈q·count⌉ when all are sorted (nearest rank),
// rounded up within its bucket; not ok without values. The library's own
// percentiles round the rank to the nearest whole one, so that they miss the
// largest of 60 values at 0.99.
func (h *Histogram) Quantile(q float64) (d time.Duration, ok bool) {
	n := h.Count()
	if n == 0 || math.IsNaN(q) {
		return 0, false
	}
	// 0.07·100 is a little more than 7: what arithmetic adds is no rank.
	rank := int64(math.Ceil(q*float64(n) - 1e-12*float64(n)))
	rank = min(max(rank, 1), n)
	for _, b := range h.h.Distribution() {
		if rank -= b.Count; rank <= 0 {
			return time.Duration(b.To), true
		}
	}
	return 0, false
}

// Max is the largest value, as Quantile(1) gives it.
func (h *Histogram) Max() (d time.Duration, ok bool) { return h.Quantile(1) }

// Above is how many values lie above d, to the precision of a bucket.
func (h *Histogram) Above(d time.Duration) (n int64) {
	for _, b := range h.h.Distribution() {
		if b.From > int64(d) {
			n += b.Count
		}
	}
	return n
}

// Encode gives what is stored.
func (h *Histogram) Encode() measure.Histogram {
	text, err := h.h.Encode(hdr.V2CompressedEncodingCookieBase)
	if err != nil { // it writes to memory only
		panic(fmt.Sprintf("latency: encoding a histogram: %v", err))
	}
	return measure.Histogram{Count: h.Count(), HDR: string(text)}
}

// Decode reads what Encode gave. Text of another kind, or with another range or
// precision, is refused: merged with ours it would lose values.
func Decode(m measure.Histogram) (*Histogram, error) {
	h, err := hdr.Decode([]byte(m.HDR))
	if err != nil {
		return nil, fmt.Errorf("latency histogram: it is not an HdrHistogram (format V2, compressed, base64): %w", err)
	}
	if h.LowestTrackableValue() != 1 || h.HighestTrackableValue() != Longest.Nanoseconds() || h.SignificantFigures() != digits {
		return nil, fmt.Errorf("latency histogram: it goes from %d to %d ns with %d digits, want 1 to %d ns with %d digits",
			h.LowestTrackableValue(), h.HighestTrackableValue(), h.SignificantFigures(), Longest.Nanoseconds(), digits)
	}
	if h.TotalCount() != m.Count {
		return nil, fmt.Errorf("latency histogram: it holds %d values, and %d are said to be in it", h.TotalCount(), m.Count)
	}
	return &Histogram{h}, nil
}
