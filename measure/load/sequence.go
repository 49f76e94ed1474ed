package load

import (
	"cmp"
	"slices"
)

// Stream is what one side knows of the messages of one channel of a publisher.
type Stream struct {
	Publisher uint32 `json:"publisher"`
	Channel   uint16 `json:"channel"`
	Next      int    `json:"next"`               // one more than the highest number sent or received
	Received  int    `json:"received,omitempty"` // different messages
}

// Lost is how many numbered messages of the publishers none of the consumers
// received. Those that were returned, or are left in the queue, are among them.
// Consumers that share a queue must be of one process: two of them can't tell
// that both received the same message.
func Lost(publishers, consumers []Outcome) (lost int) {
	received := map[streamID]int{}
	for _, o := range consumers {
		for _, s := range o.Streams {
			received[streamID{s.Publisher, s.Channel}] += s.Received
		}
	}
	for _, o := range publishers {
		for _, s := range o.Streams {
			lost += max(s.Next-received[streamID{s.Publisher, s.Channel}], 0)
		}
	}
	return lost
}

// sequence follows the numbers of the messages that come in.
type sequence struct {
	consumers  int
	streams    map[streamID]*received
	duplicated int // received again
	outOfOrder int // received for the first time after a later one, by the same consumer
}

// received is a stream as its consumers see it.
type received struct {
	seen  []uint64 // a bit per number
	count int
	next  int
	after []int // by consumer: one more than the highest number it received
}

func newSequence(consumers int) *sequence {
	return &sequence{consumers: consumers, streams: map[streamID]*received{}}
}

// take notes a message and reports whether it is the first time. Order is
// judged for each consumer by itself: two of them share a stream's messages,
// and whose turn comes first says nothing of the broker.
func (s *sequence) take(consumer int, id streamID, number int) (first bool) {
	r := s.streams[id]
	if r == nil {
		r = &received{after: make([]int, s.consumers)}
		s.streams[id] = r
	}
	word, bit := number/64, uint64(1)<<(number%64)
	if more := word + 1 - len(r.seen); more > 0 {
		r.seen = append(r.seen, make([]uint64, more)...)
	}
	if r.seen[word]&bit != 0 {
		s.duplicated++
		return false
	}
	r.seen[word] |= bit
	r.count++
	r.next = max(r.next, number+1)
	if number < r.after[consumer] {
		s.outOfOrder++
	}
	r.after[consumer] = max(r.after[consumer], number+1)
	return true
}

// gaps is how many numbers are missing below the highest of each stream.
func (s *sequence) gaps() (n int) {
	for _, r := range s.streams {
		n += r.next - r.count
	}
	return n
}

// tally counts what comes in. It is used by one goroutine at a time.
type tally struct {
	consumed, redelivered, unnumbered int
	seq                               *sequence
}

func newTally(consumers int) tally { return tally{seq: newSequence(consumers)} }

// take notes a delivery. First is false for one that is known to have been there
// before: by its number or, without one, by the broker's word.
func (t *tally) take(consumer int, body []byte, redelivered bool) (s stamp, numbered, first bool) {
	if redelivered {
		t.redelivered++
	}
	s, numbered = readStamp(body)
	if !numbered {
		t.unnumbered++
	}
	if first = numbered && t.seq.take(consumer, s.streamID, s.number) || !numbered && !redelivered; first {
		t.consumed++
	}
	return s, numbered, first
}

func (t *tally) report(r *Outcome) {
	r.Consumed, r.Redelivered, r.Unnumbered = t.consumed, t.redelivered, t.unnumbered
	r.Lost, r.Duplicated, r.OutOfOrder = t.seq.gaps(), t.seq.duplicated, t.seq.outOfOrder
	r.Streams = t.seq.list()
}

func (s *sequence) list() []Stream {
	var out []Stream
	for id, r := range s.streams {
		out = append(out, Stream{id.publisher, id.channel, r.next, r.count})
	}
	slices.SortFunc(out, func(a, b Stream) int {
		return cmp.Or(cmp.Compare(a.Publisher, b.Publisher), cmp.Compare(a.Channel, b.Channel))
	})
	return out
}
