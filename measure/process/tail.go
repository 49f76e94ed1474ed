package process

import (
	"bytes"
	"sync"
)

// tailSize is how much a Tail keeps, in octets.
const tailSize = 4096

// Tail keeps the end of what is written to it, such as a program's errors. It is safe for concurrent use.
type Tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - tailSize; over > 0 {
		t.buf = t.buf[over:]
	}
	return len(p), nil
}

// String is the last 4096 octets, without blanks around them.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.buf))
}
