package load

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"

	"genreport/measure/process"
)

// PikaScript is the pika client, to be given to python3 -c.
//
//go:embed pika.py
var PikaScript string

// endGrace is how long a client that has closed its output, or that was
// killed, may take to end.
const endGrace = 5 * time.Second

// stopGrace is how long a client may take to close its connection: thousands
// of channels take seconds.
const stopGrace = 60 * time.Second

// maxMessages is how many lines other than progress a client may say: ready,
// the results of up to three stages and error, and one to spare. The reader never waits for a listener.
const maxMessages = 6

// Client is a running client process.
type Client struct {
	Ready Ready

	job      Job
	cmd      *exec.Cmd
	in       io.WriteCloser
	out      io.ReadCloser
	grace    time.Duration
	messages chan Message
	stderr   *process.Tail
	ended    chan struct{}
	waitErr  error
	stopOnce sync.Once
	stopErr  error
}

// Start runs cmd as a client process, gives it the job and waits until it is
// connected. Progress, if not nil, is told how much is done. Whatever happens,
// the process has ended when ctx is done and Stop has returned.
func Start(ctx context.Context, cmd *exec.Cmd, job Job, progress func(done int)) (*Client, error) {
	if err := job.Validate(); err != nil {
		return nil, fmt.Errorf("load job: %w", err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c := &Client{job: job, cmd: cmd, in: in, out: out, grace: stopGrace, messages: make(chan Message, maxMessages), stderr: &process.Tail{}, ended: make(chan struct{})}
	cmd.Stderr = c.stderr
	cmd.WaitDelay = endGrace
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the load client: %w", err)
	}
	go c.read(progress)
	line, err := json.Marshal(job)
	if err == nil {
		_, err = in.Write(append(line, '\n'))
	}
	if err != nil {
		return nil, fmt.Errorf("giving the load client its job: %w", c.broken(err))
	}
	m, err := c.next(ctx)
	if err == nil && (m.Type != TypeReady || m.Ready == nil) {
		err = fmt.Errorf("the load client said %q, want %q", m.Type, TypeReady)
	}
	if err != nil {
		c.kill()
		return nil, err
	}
	c.Ready = *m.Ready
	return c, nil
}

// Go tells the client to begin.
func (c *Client) Go() error {
	if _, err := io.WriteString(c.in, "start\n"); err != nil {
		return c.broken(err)
	}
	return nil
}

// Next tells the client that the next phase of its job begins.
func (c *Client) Next() error {
	if _, err := io.WriteString(c.in, "next\n"); err != nil {
		return c.broken(err)
	}
	return nil
}

// broken ends a client that no longer listens and says why, preferably in its
// own words.
func (c *Client) broken(err error) error {
	c.kill()
	for m := range c.messages {
		if m.Type == TypeError {
			return c.said(m)
		}
	}
	return c.explain(err)
}

func (c *Client) said(m Message) error {
	return errors.New("the load client: " + redactText(m.Error, c.job.URI))
}

// Wait returns what the work gave. The client keeps what it opened until Stop.
// With an error, the outcome is what was done before it, as far as the client
// could tell.
func (c *Client) Wait(ctx context.Context) (Outcome, error) {
	m, err := c.next(ctx)
	if err != nil {
		var partial Outcome
		if m.Result != nil {
			partial = *m.Result
		}
		return partial, err
	}
	if m.Type != TypeResult || m.Result == nil {
		return Outcome{}, fmt.Errorf("the load client said %q, want %q", m.Type, TypeResult)
	}
	r := *m.Result
	r.Error = redactText(r.Error, c.job.URI)
	return r, nil
}

// Run is Go and Wait.
func (c *Client) Run(ctx context.Context) (Outcome, error) {
	if err := c.Go(); err != nil {
		return Outcome{}, err
	}
	return c.Wait(ctx)
}

// Stop asks the client to close its connection and waits for its end; one that
// takes too long is killed. It may be called twice. A consumer, or a publisher
// with a rate, a duration or confirms, ends its work first: Wait has its
// outcome.
func (c *Client) Stop() error {
	c.stopOnce.Do(func() {
		_, _ = io.WriteString(c.in, "stop\n") // it may have ended already
		select {
		case <-c.ended:
		case <-time.After(c.grace):
			c.end()
			c.stopErr = fmt.Errorf("the load client did not close its connection within %v", c.grace)
		}
		c.in.Close()
	})
	return c.stopErr
}

func (c *Client) kill() {
	c.stopOnce.Do(func() { c.in.Close() })
	c.end()
}

// end kills the process. A child of its own may hold the output open.
func (c *Client) end() {
	_ = c.cmd.Process.Kill()
	select {
	case <-c.ended:
	case <-time.After(endGrace):
		c.out.Close()
		<-c.ended
	}
}

// next is the client's next word other than progress.
func (c *Client) next(ctx context.Context) (Message, error) {
	limit := time.NewTimer(time.Duration(c.job.Limit*float64(time.Second)) + 10*time.Second)
	defer limit.Stop()
	select {
	case m, ok := <-c.messages:
		if !ok {
			select {
			case <-c.ended:
			case <-time.After(endGrace): // it has closed its output and lives on
				c.kill()
			}
			if ctx.Err() != nil { // which has killed it
				return m, ctx.Err()
			}
			return m, c.explain(errors.New("the load client ended early"))
		}
		if m.Type == TypeError {
			return m, c.said(m)
		}
		return m, nil
	case <-ctx.Done():
		c.kill()
		return Message{}, ctx.Err()
	case <-limit.C:
		c.kill()
		return Message{}, fmt.Errorf("the load client did not answer within its limit of %v s", c.job.Limit)
	}
}

// explain adds what the process left on standard error.
func (c *Client) explain(err error) error {
	text := redactText(c.stderr.String(), c.job.URI)
	switch {
	case text != "" && c.waitErr != nil:
		return fmt.Errorf("%w (%v): %s", err, c.waitErr, text)
	case text != "":
		return fmt.Errorf("%w: %s", err, text)
	case c.waitErr != nil:
		return fmt.Errorf("%w (%v)", err, c.waitErr)
	}
	return err
}

func (c *Client) read(progress func(int)) {
	tell := func(m Message) {
		select {
		case c.messages <- m:
		default: // more than the conversation has; whoever waits has its answer
		}
	}
	s := bufio.NewScanner(c.out)
	s.Buffer(nil, 16<<20)
	for s.Scan() {
		var m Message
		d := json.NewDecoder(bytes.NewReader(s.Bytes()))
		if err := d.Decode(&m); err != nil {
			m = Message{Type: TypeError, Error: fmt.Sprintf("it wrote a line that is not JSON: %.200q", s.Text())}
		}
		if m.Type == TypeProgress {
			if progress != nil {
				progress(m.Done)
			}
			continue
		}
		tell(m)
	}
	if s.Err() != nil { // it would wait for us to read on
		if errors.Is(s.Err(), bufio.ErrTooLong) {
			tell(Message{Type: TypeError, Error: "it wrote a line without end"})
		}
		_ = c.cmd.Process.Kill()
	}
	close(c.messages)
	c.waitErr = c.cmd.Wait()
	close(c.ended)
}
