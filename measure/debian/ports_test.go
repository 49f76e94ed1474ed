package debian

import (
	"net"
	"strconv"
	"testing"
)

func TestReservePorts(t *testing.T) {
	first, err := ReservePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	defer ReleasePorts(first)
	t.Setenv("TMPDIR", t.TempDir()) // which runs need not have in common
	second, err := ReservePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, p := range append(first, second...) {
		if p.Number < firstPort || p.Number > lastPort || seen[p.Number] {
			t.Errorf("port %d: out of range or twice", p.Number)
		}
		seen[p.Number] = true
	}
	ReleasePorts(second)
	third, err := ReservePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	defer ReleasePorts(third)
	if last := third[2].Number; last > second[2].Number+100 { // others run on this machine too
		t.Errorf("released ports up to %d were not taken again but %d", second[2].Number, last)
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
		if PortFree(number) {
			t.Errorf("listening on %s: the port is said to be free", host)
		}
		l.Close()
		if !PortFree(number) {
			t.Errorf("listener on %s closed: the port is said to be taken", host)
		}
	}
}
