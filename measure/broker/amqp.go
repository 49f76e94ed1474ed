package broker

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// greet exchanges the AMQP 0-9-1 protocol header on a fresh connection and
// returns the text values of the server's properties (version, platform, …). It
// needs no credentials. It fails with errNotAMQP if something else answers.
func greet(ctx context.Context, conn net.Conn) (map[string]string, error) {
	deadline := time.Now().Add(5 * time.Second)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	conn.SetDeadline(deadline)
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Now()) })
	defer stop()
	if _, err := conn.Write([]byte("AMQP\x00\x00\x09\x01")); err != nil {
		return nil, err
	}
	var head [7]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(head[3:])
	// A method frame on channel 0; real ones have some 500 bytes.
	if head[0] != 1 || head[1] != 0 || head[2] != 0 || size < 10 || size > 1<<16 {
		return nil, errNotAMQP
	}
	payload := make([]byte, size)
	if _, err := io.ReadFull(conn, payload); err != nil {
		return nil, err
	}
	return startProperties(payload)
}

var errNotAMQP = errors.New("what answers there does not speak AMQP 0-9-1")

// startProperties reads the payload of connection.start: class 10, method 10,
// two octets of protocol version, and a table.
func startProperties(payload []byte) (map[string]string, error) {
	if len(payload) < 6 || binary.BigEndian.Uint32(payload) != 10<<16|10 {
		return nil, errNotAMQP
	}
	table, ok := longString(payload[6:])
	if !ok {
		return nil, errNotAMQP
	}
	properties := map[string]string{}
	for len(table) > 0 {
		n := 1 + int(table[0])
		if len(table) < n+2 {
			return nil, errNotAMQP
		}
		key, kind := string(table[1:n]), table[n]
		table = table[n+1:]
		switch kind {
		case 'S', 'F': // text, and a nested table that is skipped
			value, ok := longString(table)
			if !ok {
				return nil, errNotAMQP
			}
			if kind == 'S' {
				properties[key] = string(value)
			}
			table = table[4+len(value):]
		case 't':
			table = table[1:]
		default:
			// RabbitMQ sends no others at this level.
			return properties, nil
		}
	}
	return properties, nil
}

// longString reads four octets of length and as many octets.
func longString(b []byte) ([]byte, bool) {
	if len(b) < 4 {
		return nil, false
	}
	n := binary.BigEndian.Uint32(b)
	if uint64(n) > uint64(len(b)-4) {
		return nil, false
	}
	return b[4 : 4+n], true
}

// erlangOf reads the release out of a platform such as "Erlang/OTP 27.3.4".
func erlangOf(platform string) string {
	release, ok := strings.CutPrefix(platform, "Erlang/OTP ")
	if !ok {
		return ""
	}
	return release
}

// dialGreet connects to address and greets what answers.
func dialGreet(ctx context.Context, dial func(context.Context, string) (net.Conn, error), address string) (map[string]string, error) {
	conn, err := dial(ctx, address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	properties, err := greet(ctx, conn)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("%w (it closed the connection)", errNotAMQP)
	}
	return properties, err
}

func dialTCP(ctx context.Context, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: 10 * time.Second}
	return d.DialContext(ctx, "tcp", address)
}
