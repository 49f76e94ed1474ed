package article

import (
	"fmt"
	"sync"
)

// memo keeps what was worked out of samples, which takes a bootstrap: both
// languages of an article ask for the same, each of them twice, and a preview asks
// again after every change.
type memo struct {
	mu   sync.Mutex
	made map[string]*answer
}

// answer is worked out once, also where several pages ask for it at the same time.
type answer struct {
	once  sync.Once
	value any
}

// remember is what work gives for a question, which tells all that it depends on.
func remember[T any](m *memo, work func() T, question ...any) T {
	if m == nil { // of no data
		return work()
	}
	key := fmt.Sprintf("%T %+v", *new(T), question)
	m.mu.Lock()
	a := m.made[key]
	if a == nil {
		a = &answer{}
		m.made[key] = a
	}
	m.mu.Unlock()
	a.once.Do(func() { a.value = work() })
	return a.value.(T)
}
