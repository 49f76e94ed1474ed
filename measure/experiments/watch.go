package experiments

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"genreport/measure"
	"genreport/measure/broker"
)

// The parts of a node's memory that are recorded as series, and RabbitMQ's own
// names for them.
var memoryParts = map[string]string{
	"vm":           broker.MemoryTotal,
	"quorum_procs": "quorum_queue_procs",
	"quorum_ets":   "quorum_ets",
	"binary":       "binary",
}

// memoryWatch reads a node's memory once a second while a load runs.
type memoryWatch struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
	series map[string]measure.Series
}

// watchMemory begins with a first reading now.
func watchMemory(ctx context.Context, b *broker.Broker) *memoryWatch {
	return watch(ctx, func(ctx context.Context) (measure.Value, map[string]measure.Value) { return readMemory(ctx, b) })
}

// watch reads at each whole second from now. The seconds that pass while a reading
// lasts are left out: what is read later belongs to its own second.
func watch(ctx context.Context, read func(context.Context) (rss measure.Value, parts map[string]measure.Value)) *memoryWatch {
	ctx, cancel := context.WithCancel(ctx)
	w := &memoryWatch{cancel: cancel, series: map[string]measure.Series{}}
	began := time.Now()
	w.done.Go(func() {
		for second := 0; ; second = max(second+1, int(math.Ceil(time.Since(began).Seconds()))) {
			if sleep(ctx, time.Until(began.Add(time.Duration(second)*time.Second))) != nil {
				return
			}
			rss, parts := read(ctx)
			if ctx.Err() != nil {
				return
			}
			w.add(second, "rss", rss)
			for name, v := range parts {
				w.add(second, name, v)
			}
		}
	})
	return w
}

// add records the value of a second. The seconds left out before it are missing.
func (w *memoryWatch) add(second int, name string, v measure.Value) {
	s, ok := w.series[name]
	if !ok {
		s = measure.Series{Unit: measure.Bytes, Step: 1, Values: []measure.Value{}}
	}
	for len(s.Values) < second {
		s.Values = append(s.Values, measure.Missing("the reading before it took longer"))
	}
	s.Values = append(s.Values, v)
	w.series[name] = s
}

// stop ends the readings and returns them, a second apart.
func (w *memoryWatch) stop() map[string]measure.Series {
	w.cancel()
	w.done.Wait()
	return w.series
}

// readMemory reads the node's resident memory and the parts of its VM's, bytes.
func readMemory(ctx context.Context, b *broker.Broker) (rss measure.Value, parts map[string]measure.Value) {
	n, err := b.RSS()
	if err != nil {
		rss = unavailable(err)
	} else {
		rss = measure.Int(n)
	}
	parts = map[string]measure.Value{}
	split, err := b.Memory(ctx)
	for name, theirs := range memoryParts {
		v, ok := split[theirs]
		switch {
		case err != nil:
			parts[name] = unavailable(err)
		case !ok:
			parts[name] = unavailable(fmt.Errorf("%w: this version does not tell it", broker.ErrNotSupported))
		default:
			parts[name] = measure.Int(v)
		}
	}
	return rss, parts
}
