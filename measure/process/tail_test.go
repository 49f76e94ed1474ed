package process

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestTail(t *testing.T) {
	var b Tail
	io.WriteString(&b, "begin")
	for range 100 {
		fmt.Fprintf(&b, "%0100d", 7)
	}
	io.WriteString(&b, "end\n")
	if s := b.String(); len(s) != 4095 || !strings.HasSuffix(s, "7end") {
		t.Errorf("%d bytes: %.20q", len(s), s)
	}
}
