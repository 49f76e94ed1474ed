package broker

import (
	"net"
	"strconv"
	"testing"
)

func TestReservePorts(t *testing.T) {
	first, err := reservePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	defer releasePorts(first)
	t.Setenv("TMPDIR", t.TempDir()) // which runs need not have in common
	second, err := reservePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, p := range append(first, second...) {
		if p.number < firstPort || p.number > lastPort || seen[p.number] {
			t.Errorf("port %d: out of range or twice", p.number)
		}
		seen[p.number] = true
	}
	releasePorts(second)
	third, err := reservePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	defer releasePorts(third)
	if last := third[2].number; last > second[2].number+100 { // others run on this machine too
		t.Errorf("released ports up to %d were not taken again but %d", second[2].number, last)
	}
}

// A listener on any one address makes a port unusable.
func TestPortFree(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "127.0.0.2", "0.0.0.0", "::1", "::"} {
		l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			t.Logf("%s: not on this machine: %v", host, err)
			continue
		}
		_, text, _ := net.SplitHostPort(l.Addr().String())
		number, _ := strconv.Atoi(text)
		if portFree(number) {
			t.Errorf("listening on %s: the port is said to be free", host)
		}
		l.Close()
		if !portFree(number) {
			t.Errorf("listener on %s closed: the port is said to be taken", host)
		}
	}
}
