package broker

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ErrNotAvailable is wrapped by the errors of questions that a broker can't
// answer, such as Erlang processes of a broker by URL. The text says why, in
// words for a reader, and holds no address.
var ErrNotAvailable = errors.New("not available")

// ErrNotSupported is wrapped by the errors of questions about something that this
// version of RabbitMQ does not have, with the same kind of text.
var ErrNotSupported = errors.New("not supported")

// A Broker is a running broker: a node of ours (Start) or one that is
// already there (Connect). Its methods may be called from several goroutines.
type Broker struct {
	label      string
	uris       *uris
	tls        *tls.Config
	caFile     string
	management *management
	greeting   map[string]string // a broker by URL: what it said of itself
	node       *node             // nil for a broker by URL
}

// uris hold credentials. They stand behind a pointer for the same reason as
// those of Spec.
type uris struct{ plain, tls string }

// Info is what a broker says of itself. What it does not say is empty.
type Info struct {
	RabbitMQ   string            // version, such as "4.3.6"
	Erlang     string            // release, such as "29.0.1"
	Package    string            // version of Debian's package
	Plugins    []string          // sorted
	Schedulers int               // Erlang schedulers online; 0: unknown
	Settings   map[string]string // effective values, as Erlang terms
	Components map[string]string // versions of what else is part of it: Cowboy, Ra, …
}

// A Connection is a client connection as the broker sees it. Its name holds addresses.
type Connection struct {
	Name       string `json:"name"`
	Channels   int    `json:"channels"`    // open now
	ChannelMax int    `json:"channel_max"` // negotiated; 0: no limit
}

// URI returns the AMQP URI, with user and password: hand it to clients, never
// log or store it.
func (b *Broker) URI() string { return b.uris.plain }

// TLSURI returns the amqps URI, or "" where there is no TLS listener. It
// holds credentials, as URI does.
func (b *Broker) TLSURI() string { return b.uris.tls }

// MQTTURI returns the URI of MQTT over WebSocket (ws) or over plain TCP
// (mqtt), with user and password, as URI does. Only a node of ours that was
// started with the plugin WebMQTT has them.
func (b *Broker) MQTTURI(websocket bool) (string, error) {
	switch {
	case b.node == nil:
		return "", notByURL("find its MQTT listeners")
	case slices.Contains(b.node.lacking, WebMQTT):
		return "", fmt.Errorf("%w: this version has no plugin %s", ErrNotSupported, WebMQTT)
	case !b.node.mqtt:
		return "", fmt.Errorf("%w: the node was started without the plugin %s", ErrNotAvailable, WebMQTT)
	case websocket:
		return "ws://guest:guest@" + loopbackAddress(b.node.ports.webMQTT) + "/ws", nil
	}
	return "mqtt://guest:guest@" + loopbackAddress(b.node.ports.mqtt), nil
}

// TLSConfig returns the settings for TLSURI, with verification, or nil where
// there is no TLS listener.
func (b *Broker) TLSConfig() *tls.Config {
	if b.tls == nil {
		return nil
	}
	return b.tls.Clone()
}

// CAFile returns the path of the PEM file with the authority that signed the
// broker's certificate, or "" if the system's authorities are used.
func (b *Broker) CAFile() string { return b.caFile }

// Label returns what may be stored and shown.
func (b *Broker) Label() string { return b.label }

// String returns the label.
func (b *Broker) String() string { return b.label }

// Format writes the label whatever the verb is: a Broker knows credentials.
func (b *Broker) Format(f fmt.State, _ rune) { io.WriteString(f, b.label) }

// MarshalText encodes the label.
func (b *Broker) MarshalText() ([]byte, error) { return []byte(b.label), nil }

// Info asks the broker for its versions and settings. For a node of ours that
// costs an Erlang VM for about a second; not for inside a measurement.
func (b *Broker) Info(ctx context.Context) (Info, error) {
	if b.node != nil {
		return b.node.info(ctx)
	}
	info := Info{RabbitMQ: b.greeting["version"], Erlang: erlangOf(b.greeting["platform"])}
	if b.management == nil {
		return info, nil
	}
	var o overview
	if err := b.management.get(ctx, "/api/overview", &o); err != nil {
		return Info{}, err
	}
	info.RabbitMQ, info.Erlang = o.RabbitMQ, o.Erlang
	info.Plugins = b.management.plugins(ctx)
	return info, nil
}

// Eval evaluates an Erlang expression in the node and returns what it prints
// and its value, trimmed. It costs an Erlang VM and about 1.1 s: never inside
// a timed window. The final full stop may be left out.
func (b *Broker) Eval(ctx context.Context, expr string) (string, error) {
	if expr = strings.TrimSpace(expr); !strings.HasSuffix(expr, ".") {
		expr += "."
	}
	return b.Ctl(ctx, "eval", expr)
}

// Ctl runs rabbitmqctl with args and returns its output, trimmed.
func (b *Broker) Ctl(ctx context.Context, args ...string) (string, error) {
	if b.node == nil {
		return "", notByURL("run rabbitmqctl")
	}
	return b.node.ctl(ctx, args...)
}

// Connections lists the client connections. A broker by URL needs a
// management URL for that, and 11 to 20 s, since the API's figures lag.
func (b *Broker) Connections(ctx context.Context) ([]Connection, error) {
	if b.node == nil {
		if b.management == nil {
			return nil, fmt.Errorf("%w: connections of a broker given by URL can be listed only with ?management=URL", ErrNotAvailable)
		}
		return b.management.connections(ctx)
	}
	out, err := b.node.ctl(ctx, "--silent", "list_connections", "name", "channels", "channel_max", "--formatter", "json")
	if err != nil {
		return nil, err
	}
	var list []Connection
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		return nil, fmt.Errorf("list connections: rabbitmqctl answered something else than JSON: %w", err)
	}
	return list, nil
}

// Alarms names the resources, memory and disk, whose alarm keeps the broker
// from taking messages now. A broker by URL needs a management URL for that.
func (b *Broker) Alarms(ctx context.Context) ([]string, error) {
	if b.management == nil {
		return nil, fmt.Errorf("%w: alarms of a broker given by URL are known only with ?management=URL", ErrNotAvailable)
	}
	return b.management.alarms(ctx)
}

// QueueDepth returns how many messages the management API sees in a queue of the
// virtual host of URI, ready and unacknowledged. Its figures lag by up to 5 s.
func (b *Broker) QueueDepth(ctx context.Context, queue string) (int, error) {
	if b.management == nil {
		return 0, fmt.Errorf("%w: the depth of a queue of a broker given by URL is known only with ?management=URL", ErrNotAvailable)
	}
	u, err := url.Parse(b.URI())
	if err != nil {
		return 0, errURL
	}
	vhost := cmp.Or(strings.TrimPrefix(u.Path, "/"), "/") // as clients take it
	return b.management.queueDepth(ctx, vhost, queue)
}

// CPU returns the user and system CPU time, in steps of 10 ms, of all
// processes that the node has had since it was started last: Restart begins at 0.
func (b *Broker) CPU() (time.Duration, error) {
	if b.node == nil {
		return 0, notByURL("read its CPU time")
	}
	return b.node.cpu()
}

// Pause stops all the node's processes (SIGSTOP) and returns once they stand still.
func (b *Broker) Pause() error {
	if b.node == nil {
		return notByURL("pause it")
	}
	return b.node.pause()
}

// Resume lets the processes stopped by Pause go on.
func (b *Broker) Resume() error {
	if b.node == nil {
		return notByURL("resume it")
	}
	return b.node.resume()
}

// Kill ends all the node's processes at once (SIGKILL), which is a crash, and
// returns once they are gone. Restart brings the node back.
func (b *Broker) Kill(ctx context.Context) error {
	if b.node == nil {
		return notByURL("kill it")
	}
	return b.node.crash(ctx)
}

// Restart starts a node that was killed, or has ended, again with the same name,
// data directory, ports and configuration, and returns once it answers; one that
// runs is killed first. If it fails, the node is down and may be restarted again.
func (b *Broker) Restart(ctx context.Context) error {
	if b.node == nil {
		return notByURL("restart it")
	}
	return b.node.restart(ctx)
}

// LogTail returns the last lines of the node's log; "" for a broker by URL.
func (b *Broker) LogTail(lines int) string {
	if b.node == nil {
		return ""
	}
	return b.node.logTail(lines)
}

// Done is closed when the node's processes have ended. It is nil for a broker
// by URL. After Restart it returns the channel of the new processes.
func (b *Broker) Done() <-chan struct{} {
	if b.node == nil {
		return nil
	}
	return b.node.running().Done()
}

// Stop ends the node in order, after 3 s by force, and removes its data
// directory. It does nothing to a broker by URL, and nothing the second time.
func (b *Broker) Stop() error {
	if b.node == nil {
		return nil
	}
	return b.node.stop()
}

func notByURL(what string) error {
	return fmt.Errorf("%w: the broker was given by URL, and genreport can %s only where it started the node itself", ErrNotAvailable, what)
}

// infoExpression prints lines of key, tab, value.
func infoExpression() string {
	keys := []string{
		"channel_max", "frame_max", "heartbeat", "max_message_size", "consumer_timeout",
		"disk_free_limit", "vm_memory_high_watermark", "collect_statistics_interval", "default_consumer_prefetch",
		"credit_flow_default_credit", "quorum_commands_soft_limit", "quorum_tick_interval", "classic_queue_default_version",
		"classic_queue_index_embed_msgs_below",
	}
	// Libraries of the node whose versions come with RabbitMQ's or Debian's.
	components := []string{"cowboy", "ranch", "ra", "aten", "osiris", "khepri"}
	return `{ok, V} = application:get_key(rabbit, vsn),
		io:format("rabbitmq\t~s~nerlang\t~s~nschedulers\t~b~n", [V, rabbit_misc:otp_release(), erlang:system_info(schedulers_online)]),
		[io:format("plugin\t~s~n", [P]) || P <- lists:sort(rabbit_plugins:active())],
		[case application:get_env(rabbit, K) of {ok, X} -> io:format("~s\t~0p~n", [K, X]); _ -> ok end || K <- [` + strings.Join(keys, ",") + `]],
		[case application:get_key(A, vsn) of {ok, X} -> io:format("component ~s\t~s~n", [A, X]); _ -> ok end || A <- [` + strings.Join(components, ",") + `]],
		io:format("file_descriptors\t~b~n", [hd([N || {max_fds, N} <- lists:flatten(erlang:system_info(check_io))])]).`
}

func parseInfo(text string) (Info, error) {
	info := Info{Settings: map[string]string{}, Components: map[string]string{}}
	for _, line := range strings.Split(text, "\n") {
		key, value, ok := strings.Cut(line, "\t")
		if !ok {
			continue
		}
		if name, ok := strings.CutPrefix(key, "component "); ok {
			info.Components[name] = value
			continue
		}
		switch key {
		case "rabbitmq":
			info.RabbitMQ = value
		case "erlang":
			info.Erlang = value
		case "plugin":
			info.Plugins = append(info.Plugins, value)
		case "schedulers":
			n, err := strconv.Atoi(value)
			if err != nil {
				return Info{}, fmt.Errorf("schedulers: %w", err)
			}
			info.Schedulers = n
		default:
			info.Settings[key] = value
		}
	}
	if info.RabbitMQ == "" || info.Erlang == "" {
		return Info{}, errors.New("its answer has no versions")
	}
	return info, nil
}
