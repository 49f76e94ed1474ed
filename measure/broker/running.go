package broker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"genreport/measure/debian"
	"genreport/measure/process"
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
	if n.running().Ended() {
		return "", fmt.Errorf("%s: the node has ended", name)
	}
	argv := append([]string{"/usr/lib/rabbitmq/bin/rabbitmqctl"}, args...)
	cmd := n.command(ctx, argv...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	wait, err := debian.StartTied(cmd)
	if err != nil {
		return "", fmt.Errorf("%s: start bwrap: %w", name, err)
	}
	err = wait()
	if ctx.Err() != nil {
		return "", fmt.Errorf("%s: %w", name, ctx.Err())
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", name, err, debian.LastLines(stderr.String()+"\n"+stdout.String(), 8))
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
	t, err := n.running().CPU()
	if err != nil {
		return 0, fmt.Errorf("read the node's CPU time: %w", err)
	}
	return t, nil
}

func (n *node) processes() ([]process.Status, error) {
	list, err := n.running().Processes()
	if err != nil {
		return nil, fmt.Errorf("list the node's processes: %w", err)
	}
	return list, nil
}

func (n *node) pause() error {
	if err := n.running().Pause(); err != nil {
		return fmt.Errorf("pause the node: %w", err)
	}
	return nil
}

func (n *node) resume() error {
	if err := n.running().Resume(); err != nil {
		return fmt.Errorf("resume the node: %w", err)
	}
	return nil
}

// stop ends the node: SIGTERM to the Erlang VM, which shuts down in order,
// and SIGKILL to all if that takes too long.
func (n *node) stop() error {
	n.stopOnce.Do(func() {
		close(n.stopping) // a restart gives up
		n.life.Lock()
		defer n.life.Unlock()
		run := n.running()
		run.Terminate(vm, stopTimeout)
		err := n.kill(run)
		n.stopErr = errors.Join(err, n.removeDir())
		debian.ReleasePorts(n.ports.reserved)
	})
	return n.stopErr
}

var errStopped = errors.New("it was stopped, and its data removed")

func (n *node) stopped() bool {
	select {
	case <-n.stopping:
		return true
	default:
		return false
	}
}

func (n *node) crash(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("kill the node: %w", err)
	}
	n.life.Lock()
	defer n.life.Unlock()
	if n.stopped() {
		return fmt.Errorf("kill the node: %w", errStopped)
	}
	return n.kill(n.running())
}

func (n *node) restart(ctx context.Context) error {
	n.life.Lock()
	defer n.life.Unlock()
	if n.stopped() {
		return fmt.Errorf("restart the node: %w", errStopped)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-n.stopping:
			cancel()
		case <-ended:
		}
	}()
	if err := n.kill(n.running()); err != nil {
		return err
	}
	if err := n.bringUp(ctx); err != nil {
		if n.stopped() {
			err = errStopped
		}
		return fmt.Errorf("restart the node: %w", err)
	}
	return nil
}

// kill ends all processes and waits for that.
func (n *node) kill(run *debian.Running) error {
	if err := run.Kill(); err != nil {
		return fmt.Errorf("stop the node: %w", err)
	}
	return nil
}

// logTail returns the last lines of the log, or of what was printed on the
// console if the node did not get as far as to have a log.
func (n *node) logTail(lines int) string {
	text := debian.TailFile(filepath.Join(n.dir.Path, "log", "rabbit.log"))
	console := debian.TailFile(filepath.Join(n.dir.Path, "console.log"))
	if strings.TrimSpace(text) == "" {
		return debian.LastLines(console, lines)
	}
	return debian.LastLines(text, lines)
}

// said returns all that the node has said, on its log and on its console.
func (n *node) said() string {
	var all strings.Builder
	for _, name := range []string{"log/rabbit.log", "console.log"} {
		data, _ := os.ReadFile(filepath.Join(n.dir.Path, name)) // it may not have come to that
		all.Write(data)
	}
	return all.String()
}
