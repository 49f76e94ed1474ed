package load

import (
	"errors"
	"fmt"
	"time"

	"genreport/measure"
)

// Role is what a client process does once it is started.
type Role string

const (
	// OpenChannels opens channels one after another until the job's number is
	// reached or one fails, and keeps them.
	OpenChannels Role = "open-channels"
	// Publish publishes to the job's queue through the default exchange, taking
	// the channels in turn. It ends once all publisher confirms are in or,
	// without confirms, with a passive declare on every channel.
	Publish Role = "publish"
	// Consume receives from the job's queue, with one consumer on each channel
	// and manual acknowledgement, and closes the channels.
	Consume Role = "consume"
	// Connect opens connections, as many as the job says. Each further start
	// is a stage with an outcome of its own: a burst of messages out and in on
	// each of them, then closing them all.
	Connect Role = "connect"
	// MQTT publishes over MQTT to a topic of its own and receives from it over a
	// second connection. Without a duration it opens idle connections.
	MQTT Role = "mqtt"
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
	// Messages are published, or are received before a consumer ends; 0 leaves
	// the end to Duration or, for a consumer, to Stop.
	Messages int `json:"messages,omitempty"`
	Size     int `json:"size_bytes,omitempty"`
	// Duration ends the work, in seconds from its start. With a rate, what is
	// to be sent within it is sent, however late.
	Duration float64 `json:"duration_s,omitempty"`

	// Rate is that of an open loop, in messages per second: latencies count
	// from when a message was to be sent. 0 publishes as fast as possible.
	Rate float64 `json:"rate_per_s,omitempty"`
	// Confirms waits for publisher confirms, with at most Window messages of
	// all channels outstanding; a full window delays sends.
	Confirms bool `json:"confirms,omitempty"`
	Window   int  `json:"window,omitempty"`
	// Mandatory has messages returned that no queue takes. It needs Confirms,
	// which say when all returns are in.
	Mandatory bool `json:"mandatory,omitempty"`
	// Numbered begins each body with who sent it, which one it is, and when it
	// was to be sent; StampSize bytes of it.
	Numbered  bool   `json:"numbered,omitempty"`
	Publisher uint32 `json:"publisher,omitempty"` // tells the numbers of one job from those of another

	// Phases name the parts of the work for which confirm latencies are kept apart
	// too; the line "next" begins the second, and so on. A message belongs to the
	// phase in which it was to be sent. They need Confirms.
	Phases []string `json:"phases,omitempty"`

	// Prefetch is basic.qos for each consumer; 0 sets no limit.
	Prefetch int `json:"prefetch,omitempty"`
	// AckEvery acknowledges so many messages at once; 0 is 1.
	AckEvery int `json:"ack_every,omitempty"`

	// Connections are opened by Connect and by an idle MQTT job.
	Connections int `json:"connections,omitempty"`
	QoS         int `json:"qos,omitempty"` // MQTT: 0 or 1

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
		if err := j.validatePublish(); err != nil {
			return err
		}
	case Consume:
		if err := j.validateConsume(); err != nil {
			return err
		}
	case Connect, MQTT:
		if err := j.validateConnections(); err != nil {
			return err
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

func (j Job) validatePublish() error {
	if j.Queue == "" {
		return errors.New("a publish job needs a queue")
	}
	least := 1
	if j.Duration != 0 {
		least = 0
	}
	if j.Messages < least || j.Messages > mostMessages {
		return fmt.Errorf("messages is %d, not in %d…1e9", j.Messages, least)
	}
	if j.Size < 0 || j.Size > 128<<20 {
		return fmt.Errorf("size_bytes is %d, not in 0…128 MiB", j.Size)
	}
	if !(j.Duration >= 0 && j.Duration <= MaxLimit.Seconds()) {
		return fmt.Errorf("duration_s is %v, not in 0…%v", j.Duration, MaxLimit.Seconds())
	}
	if !(j.Rate >= 0 && j.Rate <= 1e6) {
		return fmt.Errorf("rate_per_s is %v, not in 0…1e6", j.Rate)
	}
	if j.Rate > 0 {
		if long := float64(j.schedule(0).sends()-1) / j.Rate; long > MaxLimit.Seconds() {
			return fmt.Errorf("the last message would be sent after %.0f s, the limit is %v", long, MaxLimit.Seconds())
		}
	}
	if j.Confirms && (j.Window < 1 || j.Window > 1e5) {
		return fmt.Errorf("window is %d, not in 1…1e5", j.Window)
	}
	if !j.Confirms && (j.Window != 0 || j.Mandatory || len(j.Phases) > 0) {
		return errors.New("window, mandatory and phases need confirms")
	}
	if j.Numbered && j.Size < StampSize {
		return fmt.Errorf("size_bytes is %d, and the number of a message takes %d", j.Size, StampSize)
	}
	if j.Numbered && j.Channels > 65535 {
		return fmt.Errorf("channels is %d, not in 1…65535 for numbered messages", j.Channels)
	}
	return nil
}

func (j Job) validateConnections() error {
	most, least := 20_000, 1
	if j.Role == MQTT && j.Duration > 0 {
		least, most = 0, 0
	}
	switch {
	case j.Connections < least || j.Connections > most:
		return fmt.Errorf("connections is %d, not in %d…%d", j.Connections, least, most)
	case j.Queue == "":
		return errors.New("connections need a queue or topic")
	case j.Size < 0 || j.Size > 1<<20:
		return fmt.Errorf("size_bytes is %d, not in 0…1 MiB", j.Size)
	case j.Messages < 0 || j.Messages > 1000:
		return fmt.Errorf("messages is %d, not in 0…1000 a connection", j.Messages)
	case !(j.Duration >= 0 && j.Duration <= 600):
		return fmt.Errorf("duration_s is %v, not in 0…600", j.Duration)
	case j.QoS != 0 && j.QoS != 1:
		return fmt.Errorf("qos is %d, not 0 or 1", j.QoS)
	case j.Numbered && j.Size < StampSize:
		return fmt.Errorf("size_bytes is %d, and the number of a message takes %d", j.Size, StampSize)
	case j.QoS == 1 && (j.Window < 1 || j.Window > 1000):
		return fmt.Errorf("window is %d, not in 1…1000", j.Window)
	}
	return nil
}

func (j Job) validateConsume() error {
	if j.Queue == "" {
		return errors.New("a consume job needs a queue")
	}
	if j.Messages < 0 || j.Messages > mostMessages {
		return fmt.Errorf("messages is %d, not in 0…1e9", j.Messages)
	}
	if !(j.Duration >= 0 && j.Duration <= MaxLimit.Seconds()) {
		return fmt.Errorf("duration_s is %v, not in 0…%v", j.Duration, MaxLimit.Seconds())
	}
	if j.Prefetch < 0 || j.Prefetch > 65535 {
		return fmt.Errorf("prefetch is %d, not in 0…65535", j.Prefetch)
	}
	most := j.Prefetch
	if most == 0 {
		most = 65535
	}
	if j.AckEvery < 0 || j.AckEvery > most { // it would wait for messages that the broker holds back
		return fmt.Errorf("ack_every is %d, not in 0…%d", j.AckEvery, most)
	}
	return nil
}

// recorded reports whether a publish job asks for more than throughput: what
// that costs per message stays out of the others.
func (j Job) recorded() bool {
	return j.Rate > 0 || j.Duration > 0 || j.Confirms || j.Numbered
}

func (j Job) schedule(start time.Duration) schedule {
	count := j.Messages
	if count == 0 {
		count = mostMessages
	}
	return schedule{start: start, rate: j.Rate, count: count, length: seconds(j.Duration)}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// MessageType says which fields of a Message mean something.
type MessageType string

const (
	TypeReady    MessageType = "ready"
	TypeProgress MessageType = "progress"
	TypeResult   MessageType = "result"
	// TypeError says that the job could not be done; the process ends. Result
	// is what was done of it, where that is known.
	TypeError MessageType = "error"
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
	Sent    int     `json:"sent"`            // messages; handed to the library, where the job failed
	Depth   int     `json:"depth"`           // messages ready in the queue, from the last passive declare; others may be on their way
	Elapsed float64 `json:"elapsed_s"`       // monotonic clock, around the work alone
	CPU     float64 `json:"cpu_s"`           // user and system time of the process over the same window
	Began   int64   `json:"began_unix_ns"`   // wall clock when the work began; compare on one machine only
	Error   string  `json:"error,omitempty"` // OpenChannels: what ended it before the job's number was reached

	// Publish with a rate.
	Scheduled int `json:"scheduled,omitempty"` // messages that were to be sent
	Late      int `json:"late,omitempty"`      // of those sent, more than LateAfter after their time

	// Publish with confirms: the first three make Sent.
	Acked       int `json:"acked,omitempty"`
	Nacked      int `json:"nacked,omitempty"`
	Unconfirmed int `json:"unconfirmed,omitempty"`
	Returned    int `json:"returned,omitempty"` // unroutable; these are acked too

	// Consume.
	Consumed    int `json:"consumed,omitempty"`     // different messages; those without a number, unless redelivered
	Redelivered int `json:"redelivered,omitempty"`  // deliveries that the broker marked so, whether or not we saw the first
	Lost        int `json:"lost,omitempty"`         // numbers missing below the highest of their stream; for what is missing after it see Lost
	Duplicated  int `json:"duplicated,omitempty"`   // deliveries of a message that was there before
	OutOfOrder  int `json:"out_of_order,omitempty"` // messages received after a later one of their stream by the same consumer
	Unnumbered  int `json:"unnumbered,omitempty"`   // deliveries without a number: in none of the three above

	Streams []Stream                     `json:"streams,omitempty"` // of numbered messages
	Latency map[string]measure.Histogram `json:"latency,omitempty"`
	Series  map[string]measure.Series    `json:"series,omitempty"` // events in each second since the work began; the last is not a whole one
}
