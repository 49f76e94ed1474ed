package experiments

import (
	"context"
	"fmt"
	"math"
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

// TestWatchCost measures what it costs a broker that its memory is read once a
// second: its CPU time with and without that, idle and under the load of
// quorum-memory, in alternating windows. `make watch-cost` runs it.
func TestWatchCost(t *testing.T) {
	if os.Getenv(varianceVariable) == "" {
		t.Skip("a study, not a check; `make watch-cost` does it")
	}
	const pairs = 4
	const length = 30 * time.Second // of a window
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
		// cores is what the broker takes in a window, in cores.
		cores := func(watched bool) float64 {
			var watch *memoryWatch
			if watched {
				watch = watchMemory(ctx, b)
			}
			w := openWindow(b)
			if err := sleep(ctx, length); err != nil {
				t.Fatal(err)
			}
			spent, wall := w.brokerTime(), time.Since(w.began).Seconds()
			if watched {
				for name, s := range watch.stop() {
					if n := len(numbers(s.Values)); n < int(0.9*wall) {
						t.Errorf("%s: %d readings of %s in %.0f s", label, n, name, wall)
					}
				}
			}
			if !spent.OK() {
				t.Fatal(spent.Reason())
			}
			return spent.Float64() / wall
		}
		for _, kind := range []string{"idle", "loaded"} {
			if kind == "loaded" {
				stop, err := constantLoad(ctx, environment, (2*pairs+1)*length)
				defer stop()
				if err == nil {
					err = sleep(ctx, 10*time.Second)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			var without, with, more []float64
			for i := range pairs {
				var pair [2]float64 // without and with
				for _, k := range [2]int{i % 2, 1 - i%2} {
					pair[k] = cores(k == 1)
				}
				without, with, more = append(without, pair[0]), append(with, pair[1]), append(more, pair[1]-pair[0])
			}
			slices.Sort(without)
			slices.Sort(with)
			mean, spread := meanAndDeviation(more)
			fmt.Printf("%s %s: %.2f %% of a core without (median of %d), %.2f %% with; more by %.2f, standard error %.2f; pairs %.2f\n",
				label, kind, 100*without[pairs/2], pairs, 100*with[pairs/2], 100*mean, 100*spread/math.Sqrt(pairs), percents(more))
		}
		var took []float64 // of a reading, s
		for range 20 {
			began := time.Now()
			readMemory(ctx, b)
			took = append(took, time.Since(began).Seconds())
		}
		slices.Sort(took)
		fmt.Printf("%s: a reading takes %.1f ms under the load (median of 20), %.1f ms at most\n", label, 1000*took[10], 1000*took[19])
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

func meanAndDeviation(x []float64) (mean, deviation float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		deviation += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(deviation / float64(len(x)-1))
}

func percents(x []float64) []float64 {
	var out []float64
	for _, v := range x {
		out = append(out, 100*v)
	}
	return out
}
