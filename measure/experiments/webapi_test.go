package experiments

import (
	"math"
	"strings"
	"testing"
	"time"

	"genreport/measure/load/latency"
	"genreport/measure/webapi"
)

// Of 1,000 posts with latencies of 1 to 900 ms, 100 were never committed: the
// median is the 500th, 500 ms, the 90th percentile the last that was, 900 ms, and
// the 99th is one of those that have none.
func TestQuantilesCountWhatNeverEnded(t *testing.T) {
	h := latency.New()
	for i := range 900 {
		h.Record(time.Duration(i+1) * time.Millisecond)
	}
	for _, want := range []struct{ q, seconds float64 }{{0.5, 0.5}, {0.9, 0.9}} {
		got := timeQuantile(h, 100, want.q, "never came")
		if !got.OK() || math.Abs(got.Float64()/want.seconds-1) > 0.002 {
			t.Errorf("quantile %v is %v, want %v s", want.q, got, want.seconds)
		}
	}
	if got := timeQuantile(h, 100, 0.99, "never came"); got.OK() || got.Reason() != "10.0 % of them never came" {
		t.Errorf("the 99th percentile is %v (%s), want none", got, got.Reason())
	}
	// Without the lost ones it is there: 99 % of 900 is the 891st.
	if got := timeQuantile(h, 0, 0.99, ""); !got.OK() || math.Abs(got.Float64()/0.891-1) > 0.002 {
		t.Errorf("the 99th percentile is %v, want 0.891 s", got)
	}
	few := latency.New()
	few.Record(time.Second)
	if got := timeQuantile(few, 0, 0.99, ""); got.OK() || !strings.Contains(got.Reason(), "too few") {
		t.Errorf("the 99th percentile of one value is %v", got)
	}
	if got := timeQuantile(latency.New(), 0, 0.5, ""); got.OK() {
		t.Errorf("the median of nothing is %v", got)
	}
}

// At 1,000 posts/s from 5 s on, post 10 was to be sent at 5.000 s and post 12 at
// 5.002 s. The first commit of each counts, whoever made it.
func TestCommitLatencyJoinsByID(t *testing.T) {
	sent := webapi.Outcome{Began: 5e9, FirstID: 10, Rate: 1000, AcceptedIDs: []uint64{10, 11, 12}}
	h, never := commitLatency(sent, []webapi.Outcome{
		{CommitIDs: []uint64{12, 10, 99}, CommitAt: []int64{5_052_000_000, 5_400_000_000, 1}},
		{CommitIDs: []uint64{10}, CommitAt: []int64{5_010_000_000}},
		{CommitIDs: []uint64{11}, CommitAt: []int64{9_000_000_001}}, // too late
	}, 9_000_000_000)
	if never != 1 || h.Count() != 2 {
		t.Fatalf("%d latencies and %d without, want 2 and 1", h.Count(), never)
	}
	for q, want := range map[float64]time.Duration{0.5: 10 * time.Millisecond, 1: 50 * time.Millisecond} {
		if got, _ := h.Quantile(q); math.Abs(float64(got)/float64(want)-1) > 0.002 {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
}

// Of posts 1 to 5, 1 to 4 were answered with success; 2 is missing, 3 is there
// three times, and 5 is there though nobody was told so.
func TestReckonCountsLostAndDoubled(t *testing.T) {
	got := reckon(webapi.Outcome{AcceptedIDs: []uint64{1, 2, 3, 4}}, map[uint64]int{1: 1, 3: 3, 4: 1, 5: 1})
	if want := (reckoning{rows: 6, lost: 1, doubled: 2, unasked: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestFateAddsUp(t *testing.T) {
	for _, tt := range []struct {
		name string
		f    fate
		want string // of the check; "" is none
	}{
		{"all there", fate{accepted: 10, rows: 7, different: 7, left: 3}, ""},
		{"doubled", fate{accepted: 10, rows: 9, different: 7, left: 3}, ""},
		{"more than was promised", fate{accepted: 10, refused: 2, rows: 12, different: 12}, ""},
		{"from nowhere", fate{accepted: 10, refused: 1, rows: 12, different: 12}, "10 messages were enqueued"},
		{"lost", fate{accepted: 10, rows: 7, different: 7, left: 2}, "10 messages were enqueued"},
	} {
		i := tt.f.integrity()
		err := i.Check()
		if (tt.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	if n, _ := (fate{accepted: 10, rows: 9, different: 7, left: 3}).integrity().Duplicated.Int64(); n != 2 {
		t.Errorf("%d doubled, want 2", n)
	}
}
