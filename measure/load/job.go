package load

import (
	"errors"
	"fmt"
	"time"
)

// Role is what a client process does once it is started.
type Role string

const (
	// OpenChannels opens channels one after another until the job's number is
	// reached or one fails, and keeps them.
	OpenChannels Role = "open-channels"
	// Publish publishes to the job's queue through the default exchange,
	// without confirms, taking the channels in turn, and ends with a passive
	// declare on every channel.
	Publish Role = "publish"
)

// Job tells a client process what to do.
type Job struct {
	Role Role   `json:"role"`
	URI  string `json:"uri"`              // with credentials: goes over standard input only
	CA   string `json:"ca_pem,omitempty"` // trusted for amqps instead of the system's
	// Batched gathers the Go client's writes; other clients ignore it.
	Batched bool `json:"batched,omitempty"`
	// ChannelMax is asked for in Connection.TuneOk; 0 leaves the library's default.
	ChannelMax int    `json:"channel_max,omitempty"`
	Channels   int    `json:"channels"`
	Queue      string `json:"queue,omitempty"`
	Messages   int    `json:"messages,omitempty"`
	Size       int    `json:"size_bytes,omitempty"`
	// Limit bounds the whole job, in seconds from the moment it is read.
	Limit float64 `json:"limit_s"`
}

// MaxLimit bounds what a job may ask for.
const MaxLimit = 30 * time.Minute

// Validate refuses jobs that are not bounded in count, size and time.
func (j Job) Validate() error {
	switch j.Role {
	case OpenChannels:
	case Publish:
		if j.Queue == "" {
			return errors.New("a publish job needs a queue")
		}
		if j.Messages < 1 || j.Messages > 1e9 {
			return fmt.Errorf("messages is %d, not in 1…1e9", j.Messages)
		}
		if j.Size < 0 || j.Size > 128<<20 {
			return fmt.Errorf("size_bytes is %d, not in 0…128 MiB", j.Size)
		}
	default:
		return fmt.Errorf("unknown role %q", j.Role)
	}
	if j.Channels < 1 || j.Channels > 1e6 {
		return fmt.Errorf("channels is %d, not in 1…1e6", j.Channels)
	}
	if j.ChannelMax < 0 || j.ChannelMax > 65535 {
		return fmt.Errorf("channel_max is %d, not in 0…65535", j.ChannelMax)
	}
	if !(j.Limit > 0 && j.Limit <= MaxLimit.Seconds()) {
		return fmt.Errorf("limit_s is %v, not in 0…%v", j.Limit, MaxLimit.Seconds())
	}
	return nil
}

// MessageType says which fields of a Message mean something.
type MessageType string

const (
	TypeReady    MessageType = "ready"
	TypeProgress MessageType = "progress"
	TypeResult   MessageType = "result"
	TypeError    MessageType = "error" // the job could not be done; the process ends
)

// Message is one line of a client process's standard output.
type Message struct {
	Type   MessageType `json:"type"`
	Ready  *Ready      `json:"ready,omitempty"`
	Done   int         `json:"done,omitempty"` // progress: messages or channels so far
	Result *Outcome    `json:"result,omitempty"`
	Error  string      `json:"error,omitempty"`
}

// Ready describes the client and the connection it has opened.
type Ready struct {
	Library string `json:"library"`
	Version string `json:"version"`
	Runtime string `json:"runtime"`
	Tune    Tune   `json:"tune"`
}

// Tune is what the two sides said about channel_max when connecting, as it was
// on the wire. 0 means "no limit" in AMQP.
type Tune struct {
	Offered int `json:"offered"` // Connection.Tune, from the server
	Own     int `json:"own"`     // what the client would have asked for had the server set no limit
	Agreed  int `json:"agreed"`  // Connection.TuneOk, from the client
}

// Outcome is what a job did.
type Outcome struct {
	Opened  int     `json:"opened"`          // channels
	Sent    int     `json:"sent"`            // messages
	Depth   int     `json:"depth"`           // messages ready in the queue, from the last passive declare; others may be on their way
	Elapsed float64 `json:"elapsed_s"`       // monotonic clock, around the work alone
	CPU     float64 `json:"cpu_s"`           // user and system time of the process over the same window
	Began   int64   `json:"began_unix_ns"`   // wall clock when the work began; compare on one machine only
	Error   string  `json:"error,omitempty"` // OpenChannels: what ended it before the job's number was reached
}
