package load

import (
	"encoding/binary"
	"net"
	"sync"
)

// AMQP 0-9-1, section 1.4.2: class connection (10), methods tune and tune-ok.
const (
	frameMethod     = 1
	classConnection = 10
	methodTune      = 30
	methodTuneOk    = 31
	frameHeader     = 7 // type, channel (2), size (4)
)

// tuneConn notes what both sides say about channel_max while a connection is
// opened. amqp091-go shows only the value that was agreed.
type tuneConn struct {
	net.Conn
	mu       sync.Mutex
	in, out  frameScanner
	offered  int
	agreed   int
	complete bool
}

func newTuneConn(c net.Conn) *tuneConn {
	// The client begins with the protocol header, which is not a frame.
	return &tuneConn{Conn: c, out: frameScanner{skip: len("AMQP0091")}}
}

func (c *tuneConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.complete {
		c.in.scan(p[:n], func(method uint16, args []byte) {
			if method == methodTune && len(args) >= 2 {
				c.offered = int(binary.BigEndian.Uint16(args))
			}
		})
	}
	return n, err
}

func (c *tuneConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	if !c.complete {
		c.out.scan(p, func(method uint16, args []byte) {
			if method == methodTuneOk && len(args) >= 2 {
				c.agreed = int(binary.BigEndian.Uint16(args))
				c.complete = true
			}
		})
	}
	c.mu.Unlock()
	return c.Conn.Write(p)
}

// tune is (offered, agreed); call it after the connection is open.
func (c *tuneConn) tune() (offered, agreed int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.offered, c.agreed
}

// frameScanner finds connection methods in a stream cut anywhere.
type frameScanner struct {
	skip int
	buf  []byte
}

func (s *frameScanner) scan(p []byte, found func(method uint16, args []byte)) {
	if n := min(s.skip, len(p)); n > 0 {
		s.skip -= n
		p = p[n:]
	}
	s.buf = append(s.buf, p...)
	for len(s.buf) >= frameHeader {
		size := int(binary.BigEndian.Uint32(s.buf[3:7]))
		whole := frameHeader + size + 1 // the frame-end octet
		if len(s.buf) < whole {
			return
		}
		body := s.buf[frameHeader : frameHeader+size]
		if s.buf[0] == frameMethod && size >= 4 && binary.BigEndian.Uint16(body) == classConnection {
			found(binary.BigEndian.Uint16(body[2:]), body[4:])
		}
		s.buf = s.buf[whole:]
	}
}
