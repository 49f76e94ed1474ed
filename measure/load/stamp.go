package load

import (
	"encoding/binary"
	"time"
)

// StampSize is how many bytes at the beginning of a numbered message's body say
// which one it is and when it was to be sent, big-endian:
//
//	 0  4  "GRM1"
//	 4  4  publisher, from its job
//	 8  2  channel of the publisher, from 0
//	10  8  number of the message on that channel, from 0
//	18  8  intended send: Unix time in nanoseconds
//	26  8  intended send: CLOCK_MONOTONIC in nanoseconds
//	34  8  the machine that this clock belongs to: first half of Linux's boot id
//
// Two processes on one machine compare the monotonic times, which nobody sets.
const StampSize = 42

const (
	stampMagic = "GRM1"
	// mostMessages bounds a job, and so the numbers that a message can have.
	mostMessages = 1e9
)

// streamID names messages that AMQP keeps in order: those of one channel.
type streamID struct {
	publisher uint32
	channel   uint16
}

type stamp struct {
	streamID
	number int
	unix   int64
	mono   time.Duration
	boot   uint64
}

// put writes the stamp; body has at least StampSize bytes.
func (s *stamp) put(body []byte) {
	_ = body[StampSize-1]
	copy(body, stampMagic)
	binary.BigEndian.PutUint32(body[4:], s.publisher)
	binary.BigEndian.PutUint16(body[8:], s.channel)
	binary.BigEndian.PutUint64(body[10:], uint64(s.number))
	binary.BigEndian.PutUint64(body[18:], uint64(s.unix))
	binary.BigEndian.PutUint64(body[26:], uint64(s.mono))
	binary.BigEndian.PutUint64(body[34:], s.boot)
}

// readStamp reads what put wrote; not ok for anything else.
func readStamp(body []byte) (s stamp, ok bool) {
	if len(body) < StampSize || string(body[:4]) != stampMagic {
		return s, false
	}
	number := binary.BigEndian.Uint64(body[10:])
	if number >= mostMessages {
		return s, false
	}
	return stamp{
		streamID: streamID{binary.BigEndian.Uint32(body[4:]), binary.BigEndian.Uint16(body[8:])},
		number:   int(number),
		unix:     int64(binary.BigEndian.Uint64(body[18:])),
		mono:     time.Duration(binary.BigEndian.Uint64(body[26:])),
		boot:     binary.BigEndian.Uint64(body[34:]),
	}, true
}
