package broker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
)

// RSS returns the resident memory of the node's Erlang VM, in bytes, as the
// kernel has it. It costs the node nothing.
func (b *Broker) RSS() (int64, error) {
	if b.node == nil {
		return 0, notByURL("read its resident memory")
	}
	list, err := b.node.processes()
	if err != nil {
		return 0, err
	}
	for _, p := range list {
		if p.Name != vm {
			continue
		}
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.PID))
		if err != nil {
			return 0, fmt.Errorf("read the node's resident memory: %w", err)
		}
		pages, err := parseStatm(data)
		return pages * int64(os.Getpagesize()), err
	}
	return 0, errors.New("read the node's resident memory: it has no Erlang VM")
}

// parseStatm returns the resident pages: the second number of /proc/PID/statm.
func parseStatm(data []byte) (int64, error) {
	fields := bytes.Fields(data)
	if len(fields) < 2 {
		return 0, fmt.Errorf("process memory: %q", data)
	}
	n, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("process memory: %w", err)
	}
	return n, nil
}

// MemoryTotal is the sum of all but RSS: erlang:memory(total).
const MemoryTotal = "total"

// Memory returns how the node splits its VM's memory, in bytes, under
// RabbitMQ's own names (quorum_queue_procs, quorum_ets, binary, …) and
// MemoryTotal. The management plugin asks the node for it at once: unlike the
// API's other figures it does not lag.
func (b *Broker) Memory(ctx context.Context) (map[string]int64, error) {
	if b.management == nil {
		return nil, fmt.Errorf("%w: the memory of a broker given by URL is known only with ?management=URL", ErrNotAvailable)
	}
	name := ""
	if b.node != nil {
		name = b.node.name
	} else {
		var o overview
		if err := b.management.get(ctx, "/api/overview", &o); err != nil {
			return nil, err
		}
		name = o.Node
	}
	var answer struct {
		Memory json.RawMessage `json:"memory"`
	}
	if err := b.management.get(ctx, "/api/nodes/"+url.PathEscape(name)+"/memory", &answer); err != nil {
		return nil, err
	}
	return parseMemory(answer.Memory)
}

func parseMemory(data []byte) (map[string]int64, error) {
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(data, &parts); err != nil {
		return nil, errors.New("the node does not tell its memory") // "not_available" while it starts
	}
	var total struct {
		Erlang int64 `json:"erlang"`
	}
	if err := json.Unmarshal(parts["total"], &total); err != nil || total.Erlang <= 0 {
		return nil, errors.New("the node does not tell the total of its memory")
	}
	out := map[string]int64{MemoryTotal: total.Erlang}
	for name, raw := range parts {
		var n int64
		if name != "total" && json.Unmarshal(raw, &n) == nil { // "strategy" is a word
			out[name] = n
		}
	}
	return out, nil
}
