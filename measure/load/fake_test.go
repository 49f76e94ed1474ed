package load

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// fakeBroker speaks as much AMQP 0-9-1 as a publisher needs, and does what no
// real broker can be asked for.
type fakeBroker struct {
	uri      string
	ackEvery int                   // confirms come together for so many; 0: none come
	nack     func(tag uint64) bool // is called for the last one of these
	dieAfter uint64                // messages, then the connection is cut
}

func (f *fakeBroker) start(t testing.TB) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	f.uri = "amqp://guest:guest@" + l.Addr().String() + "/"
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go f.serve(c)
		}
	}()
}

func (f *fakeBroker) serve(c net.Conn) {
	defer c.Close()
	r, w := bufio.NewReaderSize(c, 1<<16), bufio.NewWriter(c)
	method := func(channel, class, id uint16, args ...any) {
		var p bytes.Buffer
		for _, a := range append([]any{class, id}, args...) {
			binary.Write(&p, binary.BigEndian, a)
		}
		for _, a := range []any{byte(frameMethod), channel, uint32(p.Len()), p.Bytes(), byte(0xCE)} {
			binary.Write(w, binary.BigEndian, a)
		}
	}
	text := func(s string) []byte { return append(binary.BigEndian.AppendUint32(nil, uint32(len(s))), s...) }
	if _, err := r.Discard(len("AMQP0091")); err != nil {
		return
	}
	method(0, 10, 10, byte(0), byte(9), text(""), text("PLAIN"), text("en_US")) // start
	head := make([]byte, frameHeader+4)
	tags := map[uint16]uint64{} // published on each channel, since confirms
	confirming := map[uint16]bool{}
	published := uint64(0)
	for {
		if r.Buffered() == 0 {
			w.Flush()
		}
		if _, err := io.ReadFull(r, head); err != nil {
			return
		}
		channel, size := binary.BigEndian.Uint16(head[1:]), binary.BigEndian.Uint32(head[3:])
		if _, err := r.Discard(int(size) - 4 + 1); err != nil {
			return
		}
		if head[0] != frameMethod {
			continue
		}
		switch class, id := binary.BigEndian.Uint16(head[7:]), binary.BigEndian.Uint16(head[9:]); [2]uint16{class, id} {
		case [2]uint16{10, 11}:
			method(0, 10, 30, uint16(2047), uint32(131072), uint16(0)) // tune
		case [2]uint16{10, 40}:
			method(0, 10, 41, byte(0)) // open-ok
		case [2]uint16{10, 50}:
			method(0, 10, 51) // close-ok
			w.Flush()
			return
		case [2]uint16{20, 10}:
			method(channel, 20, 11, text("")) // channel.open-ok
		case [2]uint16{50, 10}:
			method(channel, 50, 11, byte(1), byte('q'), uint32(published), uint32(0)) // declare-ok
		case [2]uint16{85, 10}:
			confirming[channel] = true
			method(channel, 85, 11) // select-ok
		case [2]uint16{60, 40}: // publish; what is confirmed may still be on its way
			published++
			tag := tags[channel] + 1
			tags[channel] = tag
			if published == f.dieAfter {
				w.Flush()
				return
			}
			if !confirming[channel] || f.ackEvery == 0 || tag%uint64(f.ackEvery) != 0 {
				break
			}
			if f.nack != nil && f.nack(tag) {
				if tag > 1 && f.ackEvery > 1 {
					method(channel, 60, 80, tag-1, byte(1)) // ack, multiple
				}
				method(channel, 60, 120, tag, byte(0)) // nack
			} else {
				method(channel, 60, 80, tag, byte(1)) // ack, multiple
			}
		}
	}
}

// worked runs a job to its end, with a start and a stop.
func worked(t testing.TB, job Job) (Message, error) {
	t.Helper()
	data, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	in, feed := io.Pipe()
	defer feed.Close()
	out, say := io.Pipe()
	go io.WriteString(feed, string(data)+"\n")
	result := make(chan error, 1)
	go func() {
		err := Work(context.Background(), in, say)
		say.Close()
		result <- err
	}()
	var last Message
	for s := bufio.NewScanner(out); s.Scan(); {
		last = Message{}
		if err := json.Unmarshal(s.Bytes(), &last); err != nil {
			t.Errorf("line %q: %v", s.Text(), err)
		}
		switch last.Type {
		case TypeReady:
			go io.WriteString(feed, "start\n")
		case TypeResult:
			go io.WriteString(feed, "stop\n")
		}
	}
	return last, <-result
}

// What the broker acks, nacks, and says nothing of.
func TestPublisherCounts(t *testing.T) {
	job := Job{Role: Publish, Channels: 2, Queue: "q", Messages: 1000, Size: 100, Confirms: true, Window: 40, Numbered: true, Publisher: 3, Limit: 30}
	for _, tt := range []struct {
		name                       string
		broker                     fakeBroker
		edit                       func(*Job)
		sent, acked, nacked, stuck int
		want                       string
	}{
		{"acks one by one", fakeBroker{ackEvery: 1}, func(*Job) {}, 1000, 1000, 0, 0, ""},
		{"acks many at once", fakeBroker{ackEvery: 20}, func(*Job) {}, 1000, 1000, 0, 0, ""},
		{"nacks a tenth", fakeBroker{ackEvery: 1, nack: func(tag uint64) bool { return tag%10 == 0 }}, func(*Job) {}, 1000, 900, 100, 0, ""},
		{"nacks after acks of many", fakeBroker{ackEvery: 20, nack: func(uint64) bool { return true }}, func(*Job) {}, 1000, 950, 50, 0, ""},
		{"one outstanding", fakeBroker{ackEvery: 1}, func(j *Job) { j.Window = 1 }, 1000, 1000, 0, 0, ""},
		{"never confirms: the window is full", fakeBroker{}, func(j *Job) { j.Limit = 1 }, 40, 0, 0, 40, "deadline exceeded"},
		{"confirms all but the last: waits for them", fakeBroker{ackEvery: 20}, func(j *Job) { j.Limit, j.Messages = 1, 1010 }, 1010, 1000, 0, 10, "waiting for publisher confirms"},
		{"cuts the connection while the window is full", fakeBroker{dieAfter: 40}, func(*Job) {}, 40, 0, 0, 40, "publisher confirms"},
		{"cuts the connection while the last are awaited", fakeBroker{ackEvery: 20, dieAfter: 1010}, func(j *Job) { j.Messages = 1010 }, 1010, 1000, 0, 10, "publisher confirms"},
	} {
		for _, batched := range []bool{false, true} {
			t.Run(fmt.Sprint(tt.name, " batched ", batched), func(t *testing.T) {
				t.Parallel()
				b, job := tt.broker, job
				b.start(t)
				tt.edit(&job)
				job.URI, job.Batched = b.uri, batched
				within(t, "publishing", func() {
					m, err := worked(t, job)
					if m.Result == nil {
						t.Fatalf("%+v, %v", m, err)
					}
					if tt.want == "" && (err != nil || m.Type != TypeResult) ||
						tt.want != "" && (err == nil || m.Type != TypeError || !strings.Contains(m.Error, tt.want)) {
						t.Errorf("%s: %v, want %q", m.Type, err, tt.want)
					}
					r := *m.Result
					wantWhole(t, r)
					if r.Sent != tt.sent || r.Acked != tt.acked || r.Nacked != tt.nacked || r.Unconfirmed != tt.stuck {
						t.Errorf("%+v", r)
					}
					if len(r.Streams) != 2 || r.Streams[0].Next+r.Streams[1].Next != tt.sent || r.Streams[1].Publisher != 3 {
						t.Errorf("%+v", r.Streams)
					}
				})
			})
		}
	}
}

// BenchmarkPublish is all that a message costs the client, with the library and
// the system call, to a broker that only reads. What recording adds to a job
// that does not ask for it is nothing: the loop is another one.
func BenchmarkPublish(b *testing.B) {
	for _, batched := range []bool{false, true} {
		for _, bench := range []struct {
			name string
			edit func(*Job)
		}{
			{"plain", func(*Job) {}},
			{"numbered", func(j *Job) { j.Numbered = true }},
			{"rate", func(j *Job) { j.Numbered, j.Rate = true, 1e6 }},
			{"confirms", func(j *Job) { j.Confirms, j.Window = true, 1000 }},
		} {
			b.Run(fmt.Sprint(bench.name, " batched ", batched), func(b *testing.B) {
				f := fakeBroker{ackEvery: 10}
				f.start(b)
				job := Job{Role: Publish, URI: f.uri, Channels: 1, Queue: "q", Messages: (b.N + 9) / 10 * 10, Size: 100, Batched: batched, Limit: 600}
				bench.edit(&job)
				b.ReportAllocs()
				b.ResetTimer()
				m, err := worked(b, job)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(m.Result.Elapsed*float64(time.Second)/float64(b.N), "work-ns/op")
			})
		}
	}
}
