package article

import (
	"sync"
	"sync/atomic"
	"testing"
)

// What several pages ask for at the same time is worked out once, and another
// question apart.
func TestRememberWorksOnce(t *testing.T) {
	m := &memo{made: map[string]*answer{}}
	var worked atomic.Int32
	asked := make(chan struct{})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			<-asked
			want := i % 2
			if got := remember(m, func() int { worked.Add(1); return want }, "half", want); got != want {
				t.Errorf("%d for the question of %d", got, want)
			}
		})
	}
	close(asked)
	all.Wait()
	if n := worked.Load(); n != 2 {
		t.Errorf("worked %d times for two questions", n)
	}
}
