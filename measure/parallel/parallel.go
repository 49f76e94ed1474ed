// Package parallel uses all cores for work that is there at once.
package parallel

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// Do calls do for each index below n, as many at once as there are cores, and
// returns when all are done. The largest begin first, so that none of them is
// what all others wait for; size is in any unit.
func Do(n int, size func(i int) int, do func(i int)) {
	order, sizes := make([]int, n), make([]int, n)
	for i := range order {
		order[i], sizes[i] = i, size(i)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sizes[b], sizes[a]) })
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		all.Go(func() {
			for k := int(next.Add(1)) - 1; k < n; k = int(next.Add(1)) - 1 {
				do(order[k])
			}
		})
	}
	all.Wait()
}
