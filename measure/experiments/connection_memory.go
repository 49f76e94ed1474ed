package experiments

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"genreport/measure"
	"genreport/measure/broker"
	"genreport/measure/load"
)

// burstParameters are the burst that each connection of connection-memory sends
// and receives.
func burstParameters() Parameters {
	return Parameters{
		{Name: "burst_messages", Unit: measure.Count, Default: always(10), Least: 1, Most: 100, Description: "messages that each connection sends and receives"},
		{Name: "burst_size_bytes", Unit: measure.Bytes, Default: always(10_000), Least: load.StampSize, Most: 100_000, Description: "body of such a message"},
	}
}

// listenerBuffer is the user-space buffer of each connection that the post says
// is ignored from 4.1 on. Bytes; RabbitMQ leaves it to Erlang by default.
const listenerBuffer = "131072"

// connectionParts are RabbitMQ's own names for what connections take of the VM.
var connectionParts = []string{"connection_readers", "connection_writers", "connection_channels", "connection_other"}

// connectionMemory asks what an AMQP connection costs the broker, idle and
// after it has been used.
func connectionMemory() Experiment { return connectionMemoryWith(nil) }

func connectionMemoryWith(set Values) Experiment {
	memory := func(text string) measure.Metric {
		return measure.Metric{Unit: measure.Bytes, Better: measure.Lower, Description: text}
	}
	return Experiment{
		Name:   "connection-memory",
		Title:  "What does a connection cost the broker, idle and once it was used?",
		Method: 1,
		Metrics: map[string]measure.Metric{
			"rss_idle":     memory("resident memory of the node's Erlang VM, more than without connections, once they are open"),
			"vm_idle":      memory("erlang:memory(total), more than without connections, once they are open"),
			"vm_idle_gc":   memory("the same, both read after all processes are garbage-collected"),
			"parts_idle":   memory("what RabbitMQ counts as connections' (readers, writers, channels, other), more than without them"),
			"rss_burst":    memory("resident memory after each connection has sent and received a burst, more than without connections"),
			"vm_burst":     memory("erlang:memory(total) after the burst, more than without connections"),
			"vm_burst_gc":  memory("the same, both read after all processes are garbage-collected"),
			"parts_burst":  memory("what RabbitMQ counts as connections' after the burst, more than without them"),
			"processes":    {Unit: measure.Count, Better: measure.Lower, Description: "Erlang processes more than without connections, once they are open"},
			"connect_rate": {Unit: measure.PerSecond, Better: measure.Higher, Description: "connections opened per second, 16 at a time"},
			"close_time":   {Unit: measure.Seconds, Better: measure.Lower, Description: "time to close all of them, 16 at a time"},
		},
		Repeats: func(p Profile) int { return p.pick(3, 3, 5) },
		Params: func(p Profile) map[string]string {
			of := burstParameters().whole(p, set)
			return map[string]string{
				"burst_messages": strconv.Itoa(of("burst_messages")), "burst_size_bytes": strconv.Itoa(of("burst_size_bytes")), "buffer": listenerBuffer,
				"settle_s": strconv.FormatFloat(settle.Seconds(), 'g', -1, 64), "node": "started anew for each measurement",
			}
		},
		Cases: func(p Profile) []Case {
			var cases []Case
			add := func(n int, buffer string, settings map[string]string) {
				cases = append(cases, Case{
					Labels:   measure.Labels{"client": "go", "connections": strconv.Itoa(n), "buffer": buffer},
					Settings: settings, Fresh: true,
					Estimate: 8*time.Second + time.Duration(n)*2400*time.Microsecond,
				})
			}
			if p == Quick { // each has a node of its own: what a slope needs
				add(500, "default", nil)
				add(1000, "default", nil)
				return cases
			}
			for _, n := range []int{500, 1000, 2000, 4000} {
				add(n, "default", nil)
			}
			add(2000, listenerBuffer, map[string]string{"tcp_listen_options.buffer": listenerBuffer})
			return cases
		},
		Measure: func(ctx context.Context, env Env, c Case) (Sample, error) {
			of := burstParameters().whole(env.Profile, set)
			return measureConnectionMemory(ctx, env, c, of("burst_messages"), of("burst_size_bytes"))
		},
		Brokers:  releases(),
		Settable: burstParameters(),
		Set:      connectionMemoryWith,
	}
}

// footprint is what a node takes at a moment.
type footprint struct {
	rss, vm, parts       measure.Value
	processes, collected measure.Value // processes, and the VM's memory after a collection of all
}

// readParts is what RabbitMQ counts as the memory of connections' processes, in
// bytes. Buffers that they have with the kernel are not in it.
func readParts(ctx context.Context, b *broker.Broker) measure.Value {
	split, err := b.Memory(ctx)
	if err != nil {
		return unavailable(err)
	}
	var sum int64
	for _, name := range connectionParts {
		sum += split[name]
	}
	return measure.Int(sum)
}

func readFootprint(ctx context.Context, env Env) (f footprint, err error) {
	if n, err := env.Broker.RSS(); err != nil {
		f.rss = unavailable(err)
	} else {
		f.rss = measure.Int(n)
	}
	f.parts = readParts(ctx, env.Broker)
	plain, err := readNode(ctx, env.Broker)
	if err != nil {
		return f, err
	}
	collected, err := readCollected(ctx, env.Broker)
	if err != nil {
		return f, err
	}
	f.processes, f.vm = plain.minus(reading{})
	_, f.collected = collected.minus(reading{})
	return f, nil
}

// measureConnectionMemory lets each connection send and receive so many messages
// of size bytes.
func measureConnectionMemory(ctx context.Context, env Env, c Case, messages, size int) (s Sample, err error) {
	n, err := number(c.Labels, "connections")
	if err != nil {
		return s, err
	}
	uri, queue := env.Broker.URI(), "genreport.connections"+env.Suffix
	if err := load.DeclareEmpty(ctx, uri, env.CA, queue, load.Classic); err != nil {
		return s, err
	}
	client, err := connect(ctx, env, c, load.Job{Role: load.Connect, Channels: 1, Connections: n, Queue: queue, Messages: messages, Size: size, Numbered: true, Limit: 300})
	if err != nil {
		return s, err
	}
	defer func() {
		err = errors.Join(err, client.Stop())
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpLimit)
		defer cancel()
		err = errors.Join(err, load.Delete(ctx, uri, env.CA, queue))
	}()
	// A node that has just become ready is still busy with itself.
	if err := sleep(ctx, settle); err != nil {
		return s, err
	}
	none, err := readFootprint(ctx, env)
	if err != nil {
		return s, err
	}
	opened, err := openChannels(ctx, env.Broker, client)
	if err != nil {
		return s, err
	}
	if opened.Opened != n {
		return s, fmt.Errorf("opened %d connections, want %d", opened.Opened, n)
	}
	if err := sleep(ctx, settle); err != nil {
		return s, err
	}
	idle, err := readFootprint(ctx, env)
	if err != nil {
		return s, err
	}
	moved, err := client.Run(ctx)
	if err != nil {
		return s, err
	}
	left, err := load.Depth(ctx, uri, env.CA, queue)
	if err != nil {
		return s, err
	}
	s.Integrity = burstIntegrity(moved, left)
	if err := sleep(ctx, settle); err != nil {
		return s, err
	}
	used, err := readFootprint(ctx, env)
	if err != nil {
		return s, err
	}
	closed, err := client.Run(ctx)
	if err != nil {
		return s, err
	}
	s.CPU, s.Clients = opened.cpu, []measure.Client{describe(c, opened.ready)}
	s.Values = map[string]measure.Value{
		"rss_idle": minus(idle.rss, none.rss), "vm_idle": minus(idle.vm, none.vm), "vm_idle_gc": minus(idle.collected, none.collected),
		"parts_idle": minus(idle.parts, none.parts), "processes": minus(idle.processes, none.processes),
		"rss_burst": minus(used.rss, none.rss), "vm_burst": minus(used.vm, none.vm), "vm_burst_gc": minus(used.collected, none.collected),
		"parts_burst":  minus(used.parts, none.parts),
		"connect_rate": measure.Float(float64(opened.Opened) / opened.Elapsed),
		"close_time":   measure.Float(closed.Elapsed),
	}
	return s, nil
}

// minus is a difference of whole numbers, or why it can't be told.
func minus(a, b measure.Value) measure.Value {
	x, ok := a.Int64()
	if !ok {
		return a
	}
	y, ok := b.Int64()
	if !ok {
		return b
	}
	return measure.Int(x - y)
}
