package broker

import (
	"context"
	"errors"
	"net"
	"testing"
)

func TestStartProperties(t *testing.T) {
	table := "\x0ccapabilitiesF\x00\x00\x00\x05\x02abt\x01" + "\x07versionS\x00\x00\x00\x054.3.6" + "\x01bt\x01" +
		"\x08platformS\x00\x00\x00\x0fErlang/OTP 29.1"
	payload := "\x00\x0a\x00\x0a\x00\x09" + string([]byte{0, 0, 0, byte(len(table))}) + table
	got, err := startProperties([]byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	if got["version"] != "4.3.6" || erlangOf(got["platform"]) != "29.1" || len(got) != 2 {
		t.Errorf("got %v", got)
	}
	// Whatever is cut off must not panic, nor be taken for complete.
	for n := range payload {
		if _, err := startProperties([]byte(payload[:n])); err == nil {
			t.Errorf("accepted the first %d octets", n)
		}
	}
}

func TestGreetRefusesOthers(t *testing.T) {
	for _, answer := range []string{"HTTP/1.1 400 Bad Request\r\n\r\n", "AMQP\x00\x01\x00\x00", "\x01\x00\x00\xff\xff\xff\xff", ""} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Read(make([]byte, 8))
			conn.Write([]byte(answer))
			conn.Close()
		}()
		if _, err := dialGreet(context.Background(), dialTCP, l.Addr().String()); !errors.Is(err, errNotAMQP) {
			t.Errorf("%q: %v", answer, err)
		}
		l.Close()
	}
}
