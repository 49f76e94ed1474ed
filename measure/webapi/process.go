package webapi

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"

	"genreport/measure/process"
)

const (
	// stopGrace is how long a process may take to stop: what it has in hand has
	// deadlines of its own.
	stopGrace = shutdownTimeout + drainTimeout + 10*time.Second
	// limitGrace is how long after its job's limit a process may still speak.
	limitGrace = 10 * time.Second
	// endGrace is how long a process that was killed may take to end.
	endGrace = 5 * time.Second
	// maxLine is the most that a line of its output may take: ids of
	// MaxRequests, and commits with their times.
	maxLine = 256 << 20
)

// Process is a running process of this package.
type Process struct {
	Ready Ready

	job      Job
	cmd      *exec.Cmd
	in       io.WriteCloser
	out      io.ReadCloser
	deadline time.Time
	messages chan Message
	stderr   *process.Tail
	ended    chan struct{}
	waitErr  error // valid once ended is closed

	once    sync.Once // the outcome is asked for
	outcome Outcome
	err     error
}

// Start runs cmd as a process, gives it the job and waits until it is ready: an
// API listens, and what it needs is connected. Whatever happens, the process
// ends when this one does.
func Start(ctx context.Context, cmd *exec.Cmd, job Job) (*Process, error) {
	if err := job.Validate(); err != nil {
		return nil, fmt.Errorf("%s job: %w", job.Role, err)
	}
	line, err := json.Marshal(job)
	if err != nil {
		return nil, err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p := &Process{job: job, cmd: cmd, in: in, out: out, deadline: time.Now().Add(seconds(job.Limit) + limitGrace),
		messages: make(chan Message, 4), stderr: &process.Tail{}, ended: make(chan struct{})}
	cmd.Stderr = p.stderr
	cmd.WaitDelay = endGrace
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the %s process: %w", job.Role, err)
	}
	go p.read()
	_, writeErr := in.Write(append(line, '\n')) // one that has ended says why
	m, err := p.next(ctx, p.deadline)
	if err == nil && (m.Type != TypeReady || m.Ready == nil) {
		err = p.failed(fmt.Errorf("it said %q, want %q", m.Type, TypeReady))
	}
	if err == nil && writeErr != nil {
		err = p.failed(writeErr)
	}
	if err != nil {
		p.Kill()
		return nil, err
	}
	p.Ready = *m.Ready
	return p, nil
}

// Go tells a generator to begin.
func (p *Process) Go() error {
	if _, err := io.WriteString(p.in, "start\n"); err != nil {
		return p.failed(fmt.Errorf("telling it to start: %w", err))
	}
	return nil
}

// Wait returns what a generator did, once it has ended by itself. With an
// error, the outcome is what was done before it, as far as the process could
// tell.
func (p *Process) Wait(ctx context.Context) (Outcome, error) {
	return p.result(ctx, p.deadline)
}

// Stop tells the process to finish what it has in hand, and returns what it
// did. It may be called twice.
func (p *Process) Stop(ctx context.Context) (Outcome, error) {
	_, _ = io.WriteString(p.in, "stop\n") // it may have ended already
	return p.result(ctx, time.Now().Add(stopGrace))
}

func (p *Process) result(ctx context.Context, deadline time.Time) (Outcome, error) {
	p.once.Do(func() {
		m, err := p.next(ctx, deadline)
		if m.Result != nil {
			p.outcome = *m.Result
		}
		if err == nil && (m.Type != TypeResult || m.Result == nil) {
			err = p.failed(fmt.Errorf("it said %q, want %q", m.Type, TypeResult))
		}
		p.err = err
		if err == nil { // it leaves by itself
			p.in.Close()
			select {
			case <-p.ended:
			case <-time.After(endGrace):
			}
		}
		p.Kill()
	})
	return p.outcome, p.err
}

// Kill ends the process at once, without an outcome, and returns when it has
// ended. What it had in hand is cut off.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // SIGKILL; it may have ended already
	select {
	case <-p.ended:
	case <-time.After(endGrace): // a child of its own may hold the output open
		p.out.Close()
		<-p.ended
	}
	p.in.Close()
}

// CPU is the user and system time that the process has used so far, to 10 ms.
func (p *Process) CPU() (time.Duration, error) {
	select {
	case <-p.ended:
		return 0, p.failed(errors.New("reading its CPU time: it has ended"))
	default:
	}
	status, err := process.Read(p.cmd.Process.Pid)
	if err != nil {
		return 0, p.failed(fmt.Errorf("reading its CPU time: %w", err))
	}
	return status.CPU, nil
}

// next is the process's next word.
func (p *Process) next(ctx context.Context, deadline time.Time) (Message, error) {
	limit := time.NewTimer(time.Until(deadline))
	defer limit.Stop()
	select {
	case m, ok := <-p.messages:
		switch {
		case !ok:
			select {
			case <-p.ended:
			case <-time.After(endGrace): // it has closed its output and lives on
				p.Kill()
			}
			if ctx.Err() != nil { // which has killed it
				return m, ctx.Err()
			}
			return m, p.failed(p.explain())
		case m.Type == TypeError:
			return m, p.failed(errors.New(m.Error))
		}
		return m, nil
	case <-ctx.Done():
		p.Kill()
		return Message{}, ctx.Err()
	case <-limit.C:
		p.Kill()
		return Message{}, p.failed(errors.New("it did not answer in time"))
	}
}

// failed is an error of the process, without credentials.
func (p *Process) failed(err error) error {
	text := p.job.redact(err.Error())
	if text == err.Error() {
		return fmt.Errorf("the %s process: %w", p.job.Role, err)
	}
	return fmt.Errorf("the %s process: %s", p.job.Role, text)
}

// explain is what a process that ended early left.
func (p *Process) explain() error {
	err := errors.New("it ended early")
	if p.waitErr != nil {
		err = fmt.Errorf("%w (%v)", err, p.waitErr)
	}
	if text := p.stderr.String(); text != "" {
		err = fmt.Errorf("%w: %s", err, text)
	}
	return err
}

func (p *Process) read() {
	tell := func(m Message) {
		select {
		case p.messages <- m:
		default: // more than the conversation has; whoever waits has its answer
		}
	}
	s := bufio.NewScanner(p.out)
	s.Buffer(nil, maxLine)
	for s.Scan() {
		var m Message
		if err := json.Unmarshal(s.Bytes(), &m); err != nil {
			m = Message{Type: TypeError, Error: fmt.Sprintf("it wrote a line that is not JSON: %.200q", s.Text())}
		}
		tell(m)
	}
	if s.Err() != nil { // it would wait for us to read on
		if errors.Is(s.Err(), bufio.ErrTooLong) {
			tell(Message{Type: TypeError, Error: "it wrote a line without end"})
		}
		_ = p.cmd.Process.Kill()
	}
	close(p.messages)
	p.waitErr = p.cmd.Wait()
	close(p.ended)
}
