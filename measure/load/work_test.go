package load

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// work runs Work on text and returns its last word.
func work(t *testing.T, text string) (Message, error) {
	t.Helper()
	in, feed := io.Pipe()
	defer feed.Close()
	go io.WriteString(feed, text)
	var out bytes.Buffer
	var err error
	within(t, "Work", func() { err = Work(context.Background(), in, &out) })
	var m Message
	for s := bufio.NewScanner(&out); s.Scan(); {
		m = Message{}
		if err := json.Unmarshal(s.Bytes(), &m); err != nil {
			t.Errorf("line %q: %v", s.Text(), err)
		}
	}
	return m, err
}

func jobText(t *testing.T, j Job) string {
	t.Helper()
	data, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	return string(data) + "\n"
}

// mute accepts connections and never says a word.
func mute(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return "amqp://user:s3cret@" + l.Addr().String() + "/"
}

func TestWorkFails(t *testing.T) {
	job := Job{Role: OpenChannels, Channels: 1, Limit: 20, URI: "amqp://user:s3cret@127.0.0.1:1/"}
	invalid, limited, tls := job, job, job
	invalid.Channels = 0
	limited.URI, limited.Limit = mute(t), 0.5
	tls.URI, tls.CA = "amqps"+strings.TrimPrefix(mute(t), "amqp"), "no certificate"
	for _, tt := range []struct{ name, in, want string }{
		{"bad JSON", `{"uri": "amqp://user:s3cret@h/", ` + "\n", "the job is not JSON of the right shape"},
		{"wrong type", `{"uri": "amqp://user:s3cret@h/", "channels": "s3cret"}` + "\n", "the job is not JSON of the right shape"},
		{"invalid job", jobText(t, invalid), "channels is 0, not in 1…1e6"},
		{"unreachable", jobText(t, job), "connecting to the broker: dial tcp (an address): connect: connection refused"},
		{"out of time", jobText(t, limited), "connecting to the broker: context deadline exceeded"},
		{"CA that is none", jobText(t, tls), "the CA certificate is not PEM"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := work(t, tt.in)
			if err == nil || m.Type != TypeError || !strings.Contains(m.Error, tt.want) {
				t.Errorf("%+v, %v; want an error with %q", m, err, tt.want)
			}
			if all := m.Error + err.Error(); strings.Contains(all, "s3cret") {
				t.Errorf("it tells the password: %s", all)
			}
		})
	}
}

// The end of standard input ends the client, whatever it is doing.
func TestWorkEndsWithInput(t *testing.T) {
	var out bytes.Buffer
	within(t, "no input", func() {
		if err := Work(context.Background(), strings.NewReader(""), &out); err == nil {
			t.Error("no error without a job")
		}
	})
	if !strings.Contains(out.String(), "no job on standard input") {
		t.Errorf("said %s", out.String())
	}
	for _, scheme := range []string{"amqp", "amqps"} { // while a handshake of either layer waits
		uri := scheme + strings.TrimPrefix(mute(t), "amqp")
		began := time.Now()
		within(t, "connecting after the end of input", func() {
			err := Work(context.Background(), strings.NewReader(jobText(t, Job{Role: OpenChannels, Channels: 1, Limit: 600, URI: uri})), io.Discard)
			if err == nil || !strings.Contains(err.Error(), "context canceled") {
				t.Errorf("%s: %v", scheme, err)
			}
		})
		if time.Since(began) > dialTimeout/2 { // only the handshake's own limit ended it
			t.Errorf("%s: it took %v", scheme, time.Since(began))
		}
	}
}

// While it works a client listens for "stop", and for nothing else.
func TestHeed(t *testing.T) {
	for _, tt := range []struct{ line, want string }{{"stop", ""}, {"start", `got the line "start" while working, want "stop"`}, {"", ""}} {
		lines := make(chan string, 1)
		if tt.line != "" {
			lines <- tt.line
		}
		w := &worker{lines: lines}
		var err error
		within(t, "heed", func() {
			err = w.heed(context.Background(), nil, func(ctx context.Context, stop <-chan struct{}) error {
				if tt.line == "" {
					return nil // done before anything came
				}
				select {
				case <-stop:
					return nil
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			})
		})
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || err.Error() != tt.want) || w.stopped != (tt.line == "stop") {
			t.Errorf("%q: %v, stopped %v", tt.line, err, w.stopped)
		}
	}
}
