package load

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func TestPlainURI(t *testing.T) {
	for _, tt := range []struct {
		in, want string
		secure   bool
	}{
		{"amqp://guest:guest@localhost:9500/", "amqp://guest:guest@localhost:9500/", false},
		{"amqp://h", "amqp://h", false}, // the library knows 5672
		{"amqps://u:p%40ss@h/v%2Fh", "amqp://u:p%40ss@h:5671/v%2Fh", true},
		{"amqps://u:p@127.0.0.1:9501/", "amqp://u:p@127.0.0.1:9501/", true},
		{"amqps://[::1]/", "amqp://[::1]:5671/", true},
	} {
		got, secure, err := plainURI(tt.in)
		if err != nil || got != tt.want || secure != tt.secure {
			t.Errorf("%s: %s, %v, %v", tt.in, got, secure, err)
		}
	}
	for _, bad := range []string{"http://u:s3cret@h/", "amqp://u:s3cret@h:port/", "amqp://u:s3cret%zz@h/", "", "h:5672"} {
		if _, _, err := plainURI(bad); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestRedactText(t *testing.T) {
	for _, tt := range []struct{ uri, text, want string }{
		{"amqp://u:s3cret@h/", "dial amqp://u:s3cret@h/: no", "dial (the broker's URI): no"},
		{"amqp://u:s3cret@h/", "no access for u with s3cret", "no access for *** with ***"},
		// The same password, as it is, as a URI's user info, a path and a query have it.
		{"amqp://u:p%40;%20x@h/", "p@; x|p%40;%20x|p@%3B%20x|p%40%3B+x", "***|***|***|***"},
		// Escaped more than need be.
		{"amqp://u:%73ecret@h/", "%73ecret secret", "*** ***"},
		// As plainURI rewrites it.
		{"amqps://u:a%2Fb@h/", "amqp://u:a%2Fb@h:5671/", "amqp://***:***@(the broker's host):5671/"},
		{"amqp://u:p@q@h/", "p and p@q", "p and ***"},
		{"amqp://guest:guest@h/", "guest is refused", "guest is refused"},
		{"amqp://u@h/", "u is refused", "*** is refused"},
		{"amqp://u:@h/", "user 'u' at h:5672 refused", "user '***' at (the broker's host):5672 refused"},
		{"amqp://guest:guest@127.0.0.1:9500/", "dial tcp 127.0.0.1:9500 or [::1]:9500 as guest 1.4.4", "dial tcp (an address) or (an address) as guest 1.4.4"},
		{"amqp://alice:hush@mq.example.org/", "lookup mq.example.org: no such host", "lookup (the broker's host): no such host"},
		{"", "text", "text"},
		{"amqp://u:%zz@h/", "dial amqp://u:%zz@h/", "dial (the broker's URI)"},
	} {
		if got := redactText(tt.text, tt.uri); got != tt.want {
			t.Errorf("%s: %q became %q, want %q", tt.uri, tt.text, got, tt.want)
		}
	}
	plain := errors.New("nothing secret")
	if redact(plain, "amqp://u:s3cret@h/") != plain || redact(nil, "x") != nil {
		t.Error("an error without secrets is not kept as it is")
	}
}

func TestJobValidate(t *testing.T) {
	good := Job{Role: Publish, Channels: 1, Queue: "q", Messages: 1, Size: 0, Limit: 1}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	most := Job{Role: Publish, Channels: 1e6, Queue: "q", Messages: 1e9, Size: 128 << 20, Limit: 1800, ChannelMax: 65535}
	if err := most.Validate(); err != nil {
		t.Error(err)
	}
	for _, j := range []Job{
		{Role: Publish, Channels: 2, Queue: "q", Duration: 1800, Rate: 1e5, Confirms: true, Window: 1e5, Mandatory: true, Numbered: true, Size: 42, Limit: 1},
		{Role: Publish, Channels: 1, Queue: "q", Duration: 10, Limit: 1}, // as fast as possible
		{Role: Publish, Channels: 1, Queue: "q", Messages: 1, Rate: 0.001, Limit: 1},
		{Role: Consume, Channels: 1, Queue: "q", Limit: 1},
		{Role: Consume, Channels: 3, Queue: "q", Prefetch: 65535, AckEvery: 65535, Messages: 1e9, Duration: 1, Limit: 1},
	} {
		if err := j.Validate(); err != nil {
			t.Errorf("%+v: %v", j, err)
		}
	}
	for want, edit := range map[string]func(*Job){
		"unknown role":                                func(j *Job) { j.Role = "drain" },
		"needs a queue":                               func(j *Job) { j.Queue = "" },
		"messages is 0":                               func(j *Job) { j.Messages = 0 },
		"messages is 1000000001":                      func(j *Job) { j.Messages = 1e9 + 1 },
		"size_bytes is -1":                            func(j *Job) { j.Size = -1 },
		"size_bytes is 134217729":                     func(j *Job) { j.Size = 128<<20 + 1 },
		"channels is 0":                               func(j *Job) { j.Channels = 0 },
		"channels is 1000001":                         func(j *Job) { j.Channels = 1e6 + 1 },
		"channel_max is 65536":                        func(j *Job) { j.ChannelMax = 65536 },
		"channel_max is -1":                           func(j *Job) { j.ChannelMax = -1 },
		"limit_s is 0":                                func(j *Job) { j.Limit = 0 },
		"limit_s is -1":                               func(j *Job) { j.Limit = -1 },
		"limit_s is 1801":                             func(j *Job) { j.Limit = 1801 },
		"limit_s is NaN":                              func(j *Job) { j.Limit = math.NaN() },
		"limit_s is +Inf":                             func(j *Job) { j.Limit = math.Inf(1) },
		"duration_s is -1":                            func(j *Job) { j.Duration = -1 },
		"duration_s is 1801":                          func(j *Job) { j.Duration = 1801 },
		"duration_s is NaN":                           func(j *Job) { j.Duration = math.NaN() },
		"rate_per_s is -1":                            func(j *Job) { j.Rate = -1 },
		"rate_per_s is 1.000001e":                     func(j *Job) { j.Rate = 1e6 + 1 },
		"rate_per_s is NaN":                           func(j *Job) { j.Rate = math.NaN() },
		"the last message would be sent after 9990 s": func(j *Job) { j.Rate, j.Messages = 0.1, 1000 },
		"window is 0":                                 func(j *Job) { j.Confirms = true },
		"window is 100001":                            func(j *Job) { j.Confirms, j.Window = true, 1e5+1 },
		"window, mandatory and phases need confirms":  func(j *Job) { j.Mandatory = true },
		"the number of a message takes 42":            func(j *Job) { j.Numbered, j.Size = true, 41 },
		"not in 1…65535 for numbered":                 func(j *Job) { j.Numbered, j.Size, j.Channels = true, 42, 65536 },
		"a consume job needs a queue":                 func(j *Job) { j.Role, j.Queue = Consume, "" },
		"messages is -1":                              func(j *Job) { j.Role, j.Messages = Consume, -1 },
		"messages is 1000000002":                      func(j *Job) { j.Role, j.Messages = Consume, 1e9+2 },
		"duration_s is -2":                            func(j *Job) { j.Role, j.Duration = Consume, -2 },
		"prefetch is 65536":                           func(j *Job) { j.Role, j.Prefetch = Consume, 65536 },
		"ack_every is 11, not in 0…10":                func(j *Job) { j.Role, j.Prefetch, j.AckEvery = Consume, 10, 11 },
		"ack_every is -1":                             func(j *Job) { j.Role, j.AckEvery = Consume, -1 },
		"messages is -2, not in 0…1e9":                func(j *Job) { j.Duration, j.Messages = 1, -2 },
		"mandatory and phases need confirms":          func(j *Job) { j.Phases = []string{"before"} },
		"connections is 0, not in 1…20000":            func(j *Job) { j.Role = Connect },
		"connections is 20001":                        func(j *Job) { j.Role, j.Connections = Connect, 20_001 },
		"messages is 1001, not in 0…1000":             func(j *Job) { j.Role, j.Connections, j.Messages = Connect, 1, 1001 },
		"connections is 5, not in 0…0":                func(j *Job) { j.Role, j.Duration, j.Connections, j.Messages = MQTT, 1, 5, 0 },
		"qos is 2, not 0 or 1":                        func(j *Job) { j.Role, j.Duration, j.QoS, j.Messages = MQTT, 1, 2, 0 },
		"window is 0, not in 1…1000":                  func(j *Job) { j.Role, j.Duration, j.QoS, j.Messages = MQTT, 1, 1, 0 },
		"duration_s is 601":                           func(j *Job) { j.Role, j.Duration, j.Messages = MQTT, 601, 0 },
		"need a queue or topic":                       func(j *Job) { j.Role, j.Duration, j.Messages, j.Queue = MQTT, 1, 0, "" },
	} {
		j := good
		edit(&j)
		if err := j.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
