package load

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"testing"
)

// Bytes by hand from AMQP 0-9-1: a frame is type, channel (short), size
// (long), payload, 0xCE; a method's payload begins with class and method.
var (
	header = []byte("AMQP\x00\x00\x09\x01")
	// Connection.Start (10, 10). Its text holds what looks like Tune.
	start = []byte("\x01\x00\x00\x00\x00\x00\x12" + "\x00\x0a\x00\x0a" + "\x00\x09" + "\x00\x0a\x00\x1e\xff\xff\xff\xff\xff\xff\xff\xff" + "\xce")
	// Connection.Start-Ok (10, 11).
	startOk = []byte("\x01\x00\x00\x00\x00\x00\x08" + "\x00\x0a\x00\x0b" + "\x00\x0a\x00\x1f" + "\xce")
	// Connection.Tune (10, 30): channel-max 2047, frame-max 131,072, heartbeat 60.
	tune = []byte("\x01\x00\x00\x00\x00\x00\x0c" + "\x00\x0a\x00\x1e" + "\x07\xff" + "\x00\x02\x00\x00" + "\x00\x3c" + "\xce")
	// Connection.Tune-Ok (10, 31): channel-max 100, frame-max 131,072, heartbeat 0.
	tuneOk = []byte("\x01\x00\x00\x00\x00\x00\x0c" + "\x00\x0a\x00\x1f" + "\x00\x64" + "\x00\x02\x00\x00" + "\x00\x00" + "\xce")
	// A heartbeat (type 8) and a method of another class (20, 31).
	heartbeat = []byte("\x08\x00\x00\x00\x00\x00\x00\xce")
	other     = []byte("\x01\x00\x01\x00\x00\x00\x06" + "\x00\x14\x00\x1f" + "\xff\xff" + "\xce")
)

// scripted is a connection that hands out what it is given, piece by piece.
type scripted struct {
	net.Conn
	in      [][]byte
	written bytes.Buffer
}

func (s *scripted) Read(p []byte) (int, error) {
	if len(s.in) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.in[0])
	if s.in[0] = s.in[0][n:]; len(s.in[0]) == 0 {
		s.in = s.in[1:]
	}
	return n, nil
}

func (s *scripted) Write(p []byte) (int, error) { return s.written.Write(p) }

func pieces(data []byte, at int) [][]byte {
	if at > 0 {
		return [][]byte{data[:at], data[at:]}
	}
	var out [][]byte // one byte each
	for i := range data {
		out = append(out, data[i:i+1])
	}
	return out
}

func TestTuneConn(t *testing.T) {
	in := bytes.Join([][]byte{heartbeat, start, tune, heartbeat}, nil)
	out := bytes.Join([][]byte{header, startOk, other, heartbeat, tuneOk, other}, nil)
	for cutIn := range in {
		for cutOut := range out {
			under := &scripted{in: pieces(in, cutIn)}
			c := newTuneConn(under)
			read, err := io.ReadAll(c)
			if err != nil || !bytes.Equal(read, in) {
				t.Fatalf("read %x, %v", read, err)
			}
			for _, p := range pieces(out, cutOut) {
				if n, err := c.Write(p); n != len(p) || err != nil {
					t.Fatal(n, err)
				}
			}
			if !bytes.Equal(under.written.Bytes(), out) {
				t.Fatalf("written %x", under.written.Bytes())
			}
			if offered, agreed := c.tune(); offered != 2047 || agreed != 100 {
				t.Fatalf("cut at %d and %d: offered %d, agreed %d; want 2047, 100", cutIn, cutOut, offered, agreed)
			}
		}
	}
}

func TestFrameScanner(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   []byte
		want string
	}{
		{"methods of the connection alone", bytes.Join([][]byte{start, other, tune, heartbeat, tuneOk}, nil), "10/14 30/8 31/8 "},
		{"unfinished", tune[:len(tune)-1], ""},
		{"not AMQP", []byte("HTTP/1.1 400 Bad Request\r\n\r\n"), ""},
		{"a method without a number", []byte("\x01\x00\x00\x00\x00\x00\x02\x00\x0a\xce"), ""},
	} {
		var got string
		var s frameScanner
		s.scan(tt.in, func(method uint16, args []byte) { got += fmt.Sprintf("%d/%d ", method, len(args)) })
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
