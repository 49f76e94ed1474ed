package experiments

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"genreport/measure"
	"genreport/measure/broker"
	"genreport/measure/debian"
	"genreport/measure/load"
)

// TestWatchCost measures what it costs a broker that its memory is read: its CPU
// time with and without that, idle and under the load of quorum-memory, in
// alternating windows. It is read more often than experiments do, so that the
// cost stands out from the noise, and told for one reading. `make watch-cost`
// runs it.
func TestWatchCost(t *testing.T) {
	if os.Getenv(varianceVariable) == "" {
		t.Skip("a study, not a check; `make watch-cost` does it")
	}
	const pairs = 6
	const length = 10 * time.Second         // of a window
	const interval = 200 * time.Millisecond // of readings
	ctx := context.Background()
	environment := Env{Profile: Standard, Suffix: ".cost", Client: func(ctx context.Context, _ string) (*exec.Cmd, error) {
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Env = append(os.Environ(), workerVariable+"=1")
		return cmd, nil
	}}
	for _, label := range releases() {
		root, err := (debian.Debian{}).Ensure(ctx, broker.Image(), strings.TrimPrefix(label, "debian:"))
		if err != nil {
			t.Fatal(err)
		}
		b, err := broker.Start(ctx, root, broker.Config{}, broker.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Stop()
		environment.Broker = b
		if err := sleep(ctx, 15*time.Second); err != nil { // a node that has just become ready is busy with itself
			t.Fatal(err)
		}
		// spent is the broker's CPU seconds in a window, and how long the readings took.
		spent := func(read bool) (cpu float64, took []float64) {
			w := openWindow(b)
			for n := 0; time.Since(w.began) < length; n++ {
				if read {
					began := time.Now()
					if _, parts := readMemory(ctx, b); !parts["vm"].OK() {
						t.Fatal(parts["vm"].Reason())
					}
					took = append(took, time.Since(began).Seconds())
				}
				if err := sleep(ctx, time.Until(w.began.Add(time.Duration(n+1)*interval))); err != nil {
					t.Fatal(err)
				}
			}
			v, wall := w.brokerTime(), time.Since(w.began).Seconds()
			if !v.OK() {
				t.Fatal(v.Reason())
			}
			return v.Float64() / wall * length.Seconds(), took
		}
		for _, kind := range []string{"idle", "loaded"} {
			if kind == "loaded" {
				stop, err := constantLoad(ctx, environment, 2*(2*pairs+1)*length)
				defer stop()
				if err == nil {
					err = sleep(ctx, 10*time.Second)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			var without, each, times []float64 // CPU s of a window without readings, of a reading, and wall s of one
			for i := range pairs {
				var pair [2]float64
				readings := 0
				for _, k := range [2]int{i % 2, 1 - i%2} {
					cpu, took := spent(k == 1)
					pair[k], times = cpu, append(times, took...)
					readings += len(took)
				}
				without, each = append(without, pair[0]/length.Seconds()), append(each, (pair[1]-pair[0])/float64(readings))
			}
			slices.Sort(without)
			slices.Sort(each)
			slices.Sort(times)
			fmt.Printf("%s %s: %.2f %% of a core without readings (median of %d); a reading costs %.1f ms of CPU (median; all %.1f) and takes %.1f ms (median of %d)\n",
				label, kind, 100*without[pairs/2], pairs, 1000*(each[pairs/2-1]+each[pairs/2])/2, thousandths(each), 1000*times[len(times)/2], len(times))
		}
		if err := b.Stop(); err != nil {
			t.Fatal(err)
		}
	}
}

// constantLoad is that of quorum-memory, for at most so long. Its end is not
// waited for: the node ends with it.
func constantLoad(ctx context.Context, env Env, most time.Duration) (stop func(), err error) {
	plan := memoryPlanOf(Standard, nil)
	c := Case{Labels: measure.Labels{"client": "go-batched"}}
	var group crew
	stop = func() { group.stop() }
	for i := range plan.queues {
		queue := fmt.Sprintf("genreport.cost.%d%s", i, env.Suffix)
		if err := load.DeclareEmpty(ctx, env.Broker.URI(), env.CA, queue, load.Quorum); err != nil {
			return stop, err
		}
		if err := group.add(ctx, env, c, load.Job{Role: load.Consume, Channels: 1, Queue: queue, Prefetch: plan.window, Limit: most.Seconds() + 60}); err != nil {
			return stop, err
		}
		if err := group.add(ctx, env, c, load.Job{Role: load.Publish, Channels: 1, Queue: queue, Size: plan.size, Rate: float64(plan.rate), Duration: most.Seconds(),
			Confirms: true, Window: plan.window, Limit: most.Seconds() + 60}); err != nil {
			return stop, err
		}
	}
	return stop, group.start()
}

func thousandths(x []float64) []float64 {
	var out []float64
	for _, v := range x {
		out = append(out, 1000*v)
	}
	return out
}
