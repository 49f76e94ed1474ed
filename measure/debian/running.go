package debian

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"genreport/measure/process"
)

// Running is a started command of a Rootfs with all processes below it. Its
// methods may be called from several goroutines.
type Running struct {
	pid  int // of bwrap, the ancestor of all
	done chan struct{}
	err  error // valid once done is closed
}

// Run starts cmd, tied to this process (see StartTied).
func Run(cmd *exec.Cmd) (*Running, error) {
	wait, err := StartTied(cmd)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Args[0], err)
	}
	r := &Running{pid: cmd.Process.Pid, done: make(chan struct{})}
	go func() {
		r.err = wait()
		close(r.done)
	}()
	return r, nil
}

// Done is closed when all processes have ended.
func (r *Running) Done() <-chan struct{} { return r.done }

// Ended reports whether all processes have ended.
func (r *Running) Ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// Exit says how it ended, such as "exit status 1"; ask once Done is closed.
func (r *Running) Exit() string {
	if r.err == nil {
		return "exit status 0"
	}
	return r.err.Error()
}

var errEnded = errors.New("it has ended")

// Processes lists the living processes, parents first.
func (r *Running) Processes() ([]process.Status, error) {
	if r.Ended() {
		return nil, errEnded
	}
	return process.Descendants(r.pid)
}

// CPU returns the user and system CPU time, in steps of 10 ms, of all
// processes that there have ever been below the command.
func (r *Running) CPU() (time.Duration, error) {
	t, err := process.CPUBelow(r.pid)
	if err == nil && r.Ended() {
		err = errEnded
	}
	if err != nil {
		return 0, err
	}
	return t, nil
}

// Pause stops all processes (SIGSTOP) and returns once they stand still.
func (r *Running) Pause() error {
	deadline := time.Now().Add(5 * time.Second)
	for {
		// Again until all stand still: a process may have forked meanwhile.
		running, err := r.signalAll(syscall.SIGSTOP)
		if err != nil {
			return err
		}
		if running == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d of its processes do not stop", running)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// Resume lets the processes stopped by Pause go on.
func (r *Running) Resume() error {
	_, err := r.signalAll(syscall.SIGCONT)
	return err
}

// signalAll signals every process and returns how many of them were not
// standing still before.
func (r *Running) signalAll(sig syscall.Signal) (running int, err error) {
	list, err := r.Processes()
	if err != nil {
		return 0, err
	}
	for _, p := range list {
		if p.State == 'Z' {
			continue
		}
		if p.State != 'T' {
			running++
		}
		if err := syscall.Kill(p.PID, sig); err != nil && err != syscall.ESRCH {
			return running, err
		}
	}
	return running, nil
}

// Terminate asks the processes of a name to end (SIGTERM) and waits for that, at
// most as long as given. Paused ones go on to hear it.
func (r *Running) Terminate(name string, within time.Duration) {
	r.Resume()
	list, err := r.Processes()
	if err != nil {
		return
	}
	asked := false
	for _, p := range list {
		if p.Name == name && syscall.Kill(p.PID, syscall.SIGTERM) == nil {
			asked = true
		}
	}
	if !asked {
		return
	}
	select {
	case <-r.done:
	case <-time.After(within):
	}
}

// Kill ends all processes (SIGKILL) and waits for that. The first process of the
// PID namespace goes first: when the kernel lets go of it, none of the others is left.
func (r *Running) Kill() error {
	if r.Ended() {
		return nil
	}
	if list, err := process.Descendants(r.pid); err == nil {
		for _, p := range list {
			if p.Parent == r.pid {
				syscall.Kill(p.PID, syscall.SIGKILL)
			}
		}
	}
	select {
	case <-r.done:
		return nil
	case <-time.After(5 * time.Second):
	}
	syscall.Kill(r.pid, syscall.SIGKILL)
	select {
	case <-r.done:
		return nil
	case <-time.After(5 * time.Second):
		return errors.New("its processes do not end, even when killed")
	}
}

// DescriptorLimit returns how many files a server may open: as many as are
// allowed, but a billion would stall its start.
func DescriptorLimit() uint64 {
	const enough = 65536
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 1024
	}
	return min(limit.Max, enough)
}

// TailFile returns at most the last 64 kB of a file; "" if it can't be read.
func TailFile(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	const most = 64 << 10
	if info, err := f.Stat(); err == nil && info.Size() > most {
		f.Seek(-most, io.SeekEnd)
	}
	data, _ := io.ReadAll(f)
	return string(data)
}
