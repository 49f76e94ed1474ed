package parallel

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

func TestDo(t *testing.T) {
	sizes := []int{3, 1, 9, 4, 9, 0, 2}
	var mu sync.Mutex
	var began []int
	var at, most atomic.Int64
	Do(len(sizes), func(i int) int { return sizes[i] }, func(i int) {
		now := at.Add(1)
		for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
		}
		mu.Lock()
		began = append(began, i)
		mu.Unlock()
		runtime.Gosched()
		at.Add(-1)
	})
	if got := slices.Sorted(slices.Values(began)); !slices.Equal(got, []int{0, 1, 2, 3, 4, 5, 6}) {
		t.Errorf("done %v", began)
	}
	if n := most.Load(); n > int64(runtime.GOMAXPROCS(0)) {
		t.Errorf("%d at once", n)
	}
	Do(0, nil, func(int) { t.Error("something is done of nothing") })
}

// One core does all in order: the largest first, and as they come where they are alike.
func TestDoBeginsWithTheLargest(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	sizes := []int{3, 1, 9, 4, 9, 0, 2}
	var began []int
	Do(len(sizes), func(i int) int { return sizes[i] }, func(i int) { began = append(began, i) })
	if !slices.Equal(began, []int{2, 4, 3, 0, 6, 1, 5}) {
		t.Errorf("order %v", began)
	}
}
