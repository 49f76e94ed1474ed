package experiments

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"genreport/measure"
	"genreport/measure/broker"
	"genreport/measure/load"
)

// The connections of a case of websocket-throughput that only holds them, and
// the unacknowledged messages of a publisher of QoS 1 at most.
const (
	idleConnections = 500
	mqttWindow      = 100
)

// websocketThroughput asks what MQTT over WebSocket takes and gives, beside the
// same over plain TCP.
func websocketThroughput() Experiment { return websocketThroughputWith(nil) }

func websocketThroughputWith(set Values) Experiment {
	seconds := func(p Profile) float64 { return mqttParameters().of(p, set)("duration_s") }
	return Experiment{
		Name:   "websocket-throughput",
		Title:  "How fast is MQTT over WebSocket, and what does a connection take?",
		Method: 1,
		Metrics: map[string]measure.Metric{
			"rate":        {Unit: measure.PerSecond, Better: measure.Higher, Description: "messages published per second, by the slowest client's time"},
			"broker_cpu":  {Unit: measure.CPUSeconds, Better: measure.Lower, Description: "user and system time of the broker's processes for each message published"},
			"client_cpu":  {Unit: measure.CPUSeconds, Better: measure.Lower, Description: "user and system time of the clients for each message published"},
			"delivered":   {Unit: measure.Count, Better: measure.Higher, Description: "messages that reached the subscriber, as a share of those published; with QoS 0 the broker may drop some"},
			"memory":      {Unit: measure.Bytes, Better: measure.Lower, Description: "erlang:memory(total) for each idle connection, more than without them"},
			"memory_gc":   {Unit: measure.Bytes, Better: measure.Lower, Description: "the same, both read after all processes are garbage-collected"},
			"parts":       {Unit: measure.Bytes, Better: measure.Lower, Description: "what RabbitMQ counts as the memory of connections' processes, for each idle connection, more than without them"},
			"processes":   {Unit: measure.Count, Better: measure.Lower, Description: "Erlang processes for each idle connection"},
			"connect":     {Unit: measure.PerSecond, Better: measure.Higher, Description: "idle connections opened per second"},
			"connections": {Unit: measure.Count, Better: measure.Neither, Exact: true, Description: "idle connections held"},
		},
		Repeats: func(p Profile) int { return p.pick(3, 6, 10) },
		Params: func(p Profile) map[string]string {
			return map[string]string{
				"duration_s": plain(seconds(p)), "window": strconv.Itoa(mqttWindow),
				"idle_connections": strconv.Itoa(idleConnections), "settle_s": strconv.FormatFloat(settle.Seconds(), 'g', -1, 64),
				"subscribers": "one for each publisher, over the same transport",
			}
		},
		Cases: func(p Profile) []Case {
			var cases []Case
			for _, qos := range []string{"0", "1"} {
				for _, size := range []int{100, 4096, 65536} {
					for _, n := range []int{1, 4} {
						if n > 1 && size != 4096 {
							continue // what several connections change is seen with one size
						}
						if p == Quick && (n > 1 || size != 4096) {
							continue
						}
						for _, transport := range []string{"websocket", "tcp"} {
							cases = append(cases, Case{
								Labels:   measure.Labels{"client": "paho", "transport": transport, "qos": qos, "size": strconv.Itoa(size), "connections": strconv.Itoa(n)},
								Estimate: 500*time.Millisecond + time.Duration(1.4*seconds(p)*float64(time.Second)), // the broker takes longer to take them in
							})
						}
					}
				}
			}
			for _, transport := range []string{"websocket", "tcp"} {
				if p == Quick { // each takes nine seconds, and a version three minutes
					break
				}
				cases = append(cases, Case{
					Labels:   measure.Labels{"client": "paho", "transport": transport, "qos": "none", "size": "none", "connections": strconv.Itoa(idleConnections)},
					Estimate: 10500 * time.Millisecond,
				})
			}
			return cases
		},
		Warmup: func(Profile) []Case {
			return []Case{{
				Labels:   measure.Labels{"client": "paho", "transport": "websocket", "qos": "1", "size": "4096", "connections": "1"},
				Estimate: time.Second,
			}}
		},
		Measure: func(ctx context.Context, env Env, c Case) (Sample, error) {
			return measureWebsocket(ctx, env, c, seconds(env.Profile))
		},
		Brokers:  releases(),
		Plugins:  []string{broker.WebMQTT},
		Settable: mqttParameters(),
		Set:      websocketThroughputWith,
	}
}

// mqttParameters are what may be set of websocket-throughput. With QoS 0 a
// publisher may be far ahead of the broker when its time is over: what counts is
// when that has taken all in.
func mqttParameters() Parameters {
	seconds := func(p Profile) float64 {
		if p == Quick {
			return 0.25
		}
		return 0.75
	}
	return Parameters{{Name: "duration_s", Unit: measure.Seconds, Default: seconds, Least: 0.1, Most: 10, Fraction: true, Description: "how long a publisher publishes"}}
}

func measureWebsocket(ctx context.Context, env Env, c Case, seconds float64) (Sample, error) {
	uri, err := env.Broker.MQTTURI(c.Labels["transport"] == "websocket")
	if cannot(err) {
		return Sample{Missing: err.Error()}, nil
	}
	if err != nil {
		return Sample{}, err
	}
	n, err := number(c.Labels, "connections")
	if err != nil {
		return Sample{}, err
	}
	if c.Labels["qos"] == "none" {
		return measureIdle(ctx, env, c, uri, n)
	}
	return measureMQTT(ctx, env, c, uri, n, seconds)
}

// measureMQTT lets n publishers publish side by side for so many seconds, each
// with a subscriber.
func measureMQTT(ctx context.Context, env Env, c Case, uri string, n int, seconds float64) (s Sample, err error) {
	qos, err := number(c.Labels, "qos")
	if err != nil {
		return s, err
	}
	size, err := number(c.Labels, "size")
	if err != nil {
		return s, err
	}
	var group crew
	defer func() { err = errors.Join(err, group.stop()) }()
	for i := range n {
		job := load.Job{URI: uri, Role: load.MQTT, Channels: 1, Queue: fmt.Sprintf("genreport/%d/%s", i, strings.TrimPrefix(env.Suffix, ".")),
			Size: size, Duration: seconds, QoS: qos, Numbered: true, Publisher: uint32(i), Limit: 60}
		if qos == 1 {
			job.Window = mqttWindow
		}
		if err := group.add(ctx, env, c, job); err != nil {
			return s, err
		}
	}
	window := openWindow(env.Broker)
	if err := group.start(); err != nil {
		return s, err
	}
	outcomes, err := group.wait(ctx)
	if err != nil {
		return s, err
	}
	var sent, received int
	var slowest float64
	for _, r := range outcomes {
		sent += r.Sent
		received += r.Consumed
		slowest = max(slowest, r.Elapsed)
	}
	if sent == 0 {
		return s, errors.New("no message was published")
	}
	s.CPU = window.close(n, cpuOf(outcomes...))
	s.Integrity = mqttIntegrity(outcomes, qos)
	s.Clients = []measure.Client{describe(c, group[0].Ready)}
	idle := measure.Missing("a case that publishes tells nothing of idle connections")
	s.Values = map[string]measure.Value{
		"rate":       measure.Float(float64(sent) / slowest),
		"broker_cpu": share(s.CPU.Broker, measure.Int(int64(sent))),
		"client_cpu": share(s.CPU.Clients, measure.Int(int64(sent))),
		"delivered":  measure.Float(float64(received) / float64(sent)),
		"memory":     idle, "memory_gc": idle, "parts": idle, "processes": idle, "connect": idle, "connections": idle,
	}
	return s, nil
}

// measureIdle opens n connections and reads what the broker takes for them,
// twice, as channel-cost does. What an earlier case left can be 10 MB of messages.
func measureIdle(ctx context.Context, env Env, c Case, uri string, n int) (Sample, error) {
	idle := measure.Missing("a case of idle connections publishes nothing")
	s := Sample{Values: map[string]measure.Value{"rate": idle, "broker_cpu": idle, "client_cpu": idle, "delivered": idle}}
	for _, pass := range []struct {
		suffix string
		read   func(context.Context, *broker.Broker) (reading, error)
	}{{"", readNode}, {"_gc", readCollected}} {
		if err := sleep(ctx, settle); err != nil {
			return Sample{}, err
		}
		before, err := pass.read(ctx, env.Broker)
		if err != nil {
			return Sample{}, err
		}
		partsBefore := readParts(ctx, env.Broker)
		client, err := connect(ctx, env, c, load.Job{URI: uri, Role: load.MQTT, Channels: 1, Queue: "genreport/idle", Connections: n, Limit: 120})
		if err != nil {
			return Sample{}, err
		}
		err = func() error {
			defer client.Stop()
			opened, err := openChannels(ctx, env.Broker, client)
			if err == nil {
				err = sleep(ctx, settle)
			}
			if err != nil {
				return err
			}
			after, err := pass.read(ctx, env.Broker)
			if err != nil {
				return err
			}
			processes, memory := after.minus(before)
			parts := minus(readParts(ctx, env.Broker), partsBefore)
			of := measure.Int(int64(n))
			s.Values["memory"+pass.suffix] = share(memory, of)
			s.Values["parts"] = share(parts, of)
			s.Values["processes"] = share(processes, of)
			s.Values["connect"] = measure.Float(float64(opened.Opened) / opened.Elapsed)
			s.Values["connections"] = measure.Int(int64(opened.Opened))
			s.CPU, s.Clients = opened.cpu, []measure.Client{describe(c, opened.ready)}
			return client.Stop()
		}()
		if err != nil {
			return Sample{}, err
		}
	}
	return s, nil
}
