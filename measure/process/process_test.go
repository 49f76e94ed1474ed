package process

import (
	"os/exec"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	// As proc(5) lists them: utime, stime, cutime and cstime are the 14th to the 17th, in hundredths of a second.
	p, err := parseStat([]byte("42 (a) b (c) S 7 42 42 0 -1 4194304 100 0 0 0 11 22 33 44 20 0 1 0 500 0 0\n"))
	if err != nil {
		t.Fatal(err)
	}
	if want := (Status{PID: 42, Parent: 7, Name: "a) b (c", State: 'S', CPU: 1100 * time.Millisecond}); p != want {
		t.Errorf("got %+v, want %+v", p, want)
	}
	for _, bad := range []string{"", "42", "42 (x", "42 (x) S 7", "x (x) S 7 42 42 0 -1 4194304 100 0 0 0 11 22 33 44",
		"42 (x) S 7 42 42 0 -1 4194304 100 0 0 0 11 b 33 44"} {
		if _, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q accepted", bad)
		}
	}
}

// A reaped grandchild's time counts too.
func TestCPUBelow(t *testing.T) {
	cmd := exec.Command("sh", "-c", "sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'; echo; sleep 60")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	out.Read(make([]byte, 1))
	self, err := Read(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	got, err := CPUBelow(self.Parent)
	if err != nil {
		t.Fatal(err)
	}
	if got < 50*time.Millisecond || got > 30*time.Second {
		t.Errorf("CPU time below this process is %v", got)
	}
	for range 100 { // until the shell has started the last command
		list, err := Descendants(cmd.Process.Pid)
		if err == nil && len(list) == 1 && list[0].Name == "sleep" {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Error("the child sleep is not among the descendants")
}
