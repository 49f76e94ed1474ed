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
	made map[string]any
}

// remember is what work gives for a question, which tells all that it depends on.
func remember[T any](m *memo, work func() T, question ...any) T {
	if m == nil { // of no data
		return work()
	}
	key := fmt.Sprintf("%T %+v", *new(T), question)
	m.mu.Lock()
	known, ok := m.made[key]
	m.mu.Unlock()
	if ok {
		return known.(T)
	}
	v := work()
	m.mu.Lock()
	m.made[key] = v
	m.mu.Unlock()
	return v
}
