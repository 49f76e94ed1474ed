package webapi

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// Serve is the main of a process: it reads a job and commands from in, does the
// job and reports on out. The error it returns has been reported on out too.
func Serve(in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	lines := make(chan string)
	go func() { // the end of in cancels whatever is going on
		defer cancel()
		defer close(lines)
		s := bufio.NewScanner(in)
		s.Buffer(nil, 1<<20)
		for s.Scan() {
			select {
			case lines <- s.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	s := talk{lines: lines, say: json.NewEncoder(out)}
	outcome, err := s.run(ctx)
	m := Message{Type: TypeResult, Result: &outcome}
	if err != nil {
		err = errors.New(s.job.redact(err.Error()))
		m.Type, m.Error = TypeError, err.Error()
	}
	return errors.Join(err, s.say.Encode(m))
}

// talk is the conversation of one process.
type talk struct {
	job   Job
	lines <-chan string
	say   *json.Encoder
}

func (s *talk) run(ctx context.Context) (Outcome, error) {
	line, ok := <-s.lines
	if !ok {
		return Outcome{}, errors.New("no job on standard input")
	}
	if err := json.Unmarshal([]byte(line), &s.job); err != nil {
		return Outcome{}, errors.New("the job is not JSON of the right shape") // the text may hold credentials
	}
	if err := s.job.Validate(); err != nil {
		return Outcome{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, seconds(s.job.Limit), fmt.Errorf("the job took longer than its limit of %v s", s.job.Limit))
	defer cancel()
	switch s.job.Role {
	case API:
		return s.serveAPI(ctx)
	case Consumer:
		return s.consume(ctx)
	}
	return s.generate(ctx)
}

func (s *talk) ready(listen string) error {
	versions := map[string]string{}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if name, ours := libraries()[m.Path]; ours {
				versions[name] = m.Version
			}
		}
	}
	return s.say.Encode(Message{Type: TypeReady, Ready: &Ready{Runtime: runtime.Version(), Versions: versions, Listen: listen}})
}

// libraries are those worth a mention, by module path.
func libraries() map[string]string {
	return map[string]string{
		"github.com/gin-gonic/gin":       "gin",
		"gorm.io/gorm":                   "gorm",
		"gorm.io/driver/mysql":           "gorm-mysql",
		"github.com/go-sql-driver/mysql": "go-sql-driver",
		"github.com/rabbitmq/amqp091-go": "amqp091-go",
	}
}

// until gives nil when the command comes, or why it does not.
func (s *talk) until(ctx context.Context, command string) <-chan error {
	got := make(chan error, 1)
	go func() {
		select {
		case line, ok := <-s.lines:
			switch line = strings.TrimSpace(line); {
			case !ok:
				got <- fmt.Errorf("standard input ended before %q", command)
			case line != command:
				got <- fmt.Errorf("got the line %q, want %q", line, command)
			default:
				got <- nil
			}
		case <-ctx.Done():
			got <- context.Cause(ctx)
		}
	}()
	return got
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
