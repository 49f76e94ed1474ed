package broker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// ctl runs rabbitmqctl in a sandbox of its own, outside the node's process
// tree, so that it does not count as the node's CPU time.
func (n *node) ctl(ctx context.Context, args ...string) (string, error) {
	name := "rabbitmqctl"
	for _, a := range args {
		// The command only: what follows may be a password.
		if !strings.HasPrefix(a, "-") {
			name += " " + a
			break
		}
	}
	select {
	case <-n.done:
		return "", fmt.Errorf("%s: the node has ended", name)
	default:
	}
	argv := append([]string{"/usr/lib/rabbitmq/bin/rabbitmqctl"}, args...)
	cmd := n.rootfs.command(ctx, CommandOptions{Env: n.env, Bind: map[string]string{n.dir: guestDir}, Dir: guestDir}, nil, argv)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	wait, err := StartTied(cmd)
	if err != nil {
		return "", fmt.Errorf("%s: start bwrap: %w", name, err)
	}
	err = wait()
	if ctx.Err() != nil {
		return "", fmt.Errorf("%s: %w", name, ctx.Err())
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", name, err, lastLines(stderr.String()+"\n"+stdout.String(), 8))
	}
	return strings.TrimSpace(stdout.String()), nil
}

func (n *node) info(ctx context.Context) (Info, error) {
	text, err := n.ctl(ctx, "eval", infoExpression())
	if err != nil {
		return Info{}, err
	}
	info, err := parseInfo(text)
	if err != nil {
		return Info{}, fmt.Errorf("ask the node for its versions: %w", err)
	}
	info.Package = n.rootfs.Package
	return info, nil
}

func (n *node) cpu() (time.Duration, error) {
	t, err := cpuBelow(n.pid)
	if err != nil {
		return 0, err
	}
	select {
	case <-n.done:
		return 0, errors.New("read the node's CPU time: the node has ended")
	default:
		return t, nil
	}
}

func (n *node) pause() error {
	deadline := time.Now().Add(5 * time.Second)
	for {
		// Again until all stand still: a process may have forked meanwhile.
		running, err := n.signalAll(syscall.SIGSTOP)
		if err != nil {
			return fmt.Errorf("pause the node: %w", err)
		}
		if running == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("pause the node: %d of its processes do not stop", running)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (n *node) resume() error {
	if _, err := n.signalAll(syscall.SIGCONT); err != nil {
		return fmt.Errorf("resume the node: %w", err)
	}
	return nil
}

// signalAll signals every process of the node and returns how many of them
// were not standing still before.
func (n *node) signalAll(sig syscall.Signal) (running int, err error) {
	select {
	case <-n.done:
		return 0, errors.New("the node has ended")
	default:
	}
	list, err := descendants(n.pid)
	if err != nil {
		return 0, err
	}
	for _, p := range list {
		if p.state == 'Z' {
			continue
		}
		if p.state != 'T' {
			running++
		}
		if err := syscall.Kill(p.pid, sig); err != nil && err != syscall.ESRCH {
			return running, err
		}
	}
	return running, nil
}

// stop ends the node: SIGTERM to the Erlang VM, which shuts down in order,
// and SIGKILL to all if that takes too long.
func (n *node) stop() error {
	n.stopOnce.Do(func() {
		n.terminate()
		err := n.kill()
		n.stopErr = errors.Join(err, n.removeDir())
		releasePorts(n.ports.reserved)
	})
	return n.stopErr
}

func (n *node) terminate() {
	n.signalAll(syscall.SIGCONT) // a paused process does not hear SIGTERM
	list, err := descendants(n.pid)
	if err != nil {
		return
	}
	asked := false
	for _, p := range list {
		if p.name == "beam.smp" && syscall.Kill(p.pid, syscall.SIGTERM) == nil {
			asked = true
		}
	}
	if !asked {
		return
	}
	select {
	case <-n.done:
	case <-time.After(stopTimeout):
	}
}

// kill ends all processes and waits for that. The first process of the PID
// namespace goes first: when the kernel lets go of it, none of the others is left.
func (n *node) kill() error {
	select {
	case <-n.done:
		return nil
	default:
	}
	if list, err := descendants(n.pid); err == nil {
		for _, p := range list {
			if p.parent == n.pid {
				syscall.Kill(p.pid, syscall.SIGKILL)
			}
		}
	}
	select {
	case <-n.done:
		return nil
	case <-time.After(5 * time.Second):
	}
	syscall.Kill(n.pid, syscall.SIGKILL)
	select {
	case <-n.done:
		return nil
	case <-time.After(5 * time.Second):
		return errors.New("stop the node: its processes do not end, even when killed")
	}
}

// logTail returns the last lines of the log, or of what was printed on the
// console if the node did not get as far as to have a log.
func (n *node) logTail(lines int) string {
	text := tailFile(filepath.Join(n.dir, "log", "rabbit.log"))
	console := tailFile(filepath.Join(n.dir, "console.log"))
	if strings.TrimSpace(text) == "" {
		return lastLines(console, lines)
	}
	return lastLines(text, lines)
}

// said returns all that the node has said, on its log and on its console.
func (n *node) said() string {
	var all strings.Builder
	for _, name := range []string{"log/rabbit.log", "console.log"} {
		data, _ := os.ReadFile(filepath.Join(n.dir, name)) // it may not have come to that
		all.Write(data)
	}
	return all.String()
}

// tailFile returns at most the last 64 kB of a file.
func tailFile(path string) string {
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
