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

	"genreport/measure"
	"genreport/measure/broker"
	"genreport/measure/debian"
	"genreport/measure/load"
)

const varianceVariable = "GENREPORT_VARIANCE"

// TestVariance measures a throughput over several starts of a node, queues
// within each and windows on each queue, and prints which of the some the
// noise comes from: that is where repeats are worth their time. It also prints
// the noise of the control load. `make variance` runs it.
func TestVariance(t *testing.T) {
	if os.Getenv(varianceVariable) == "" {
		t.Skip("a study, not a check; `make variance` does it")
	}
	ctx := context.Background()
	root, err := (debian.Debian{}).Ensure(ctx, broker.Image(), "forky")
	if err != nil {
		t.Fatal(err)
	}
	environment := Env{Profile: Standard, Client: func(ctx context.Context, _ string) (*exec.Cmd, error) {
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Env = append(os.Environ(), workerVariable+"=1")
		return cmd, nil
	}}
	c := Case{Labels: measure.Labels{"client": "go", "channels": "1"}}
	const starts, queues, windows, messages = 3, 3, 3, 100_000
	const controls = 4
	var rates [starts][queues][windows]float64
	var control []float64 // medians, relative to the first of their node
	disturbed := 0
	// measured is the rate, and whether something else than the load ran.
	measured := func(s Sample, err error) (rate float64, alone bool) {
		if err == nil {
			err = s.Integrity.Check()
		}
		if err != nil {
			t.Fatal(err)
		}
		c := s.CPU
		total := c.Wall * float64(c.Cores)
		others := 1 - (c.Idle.Float64()+c.Clients.Float64()+c.Broker.Float64())/total
		if alone = others < 0.1; !alone {
			disturbed++
		}
		return s.Values["rate"].Float64(), alone
	}
	load1 := func() string {
		b, _ := os.ReadFile("/proc/loadavg")
		text, _, _ := strings.Cut(string(b), " ")
		return text
	}
	fmt.Printf("load average %s at the begin\n", load1())
	for i := range starts {
		b, err := broker.Start(ctx, root, broker.Config{}, broker.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Stop()
		environment.Broker = b
		if _, err := measureThroughput(ctx, environment, c, 1, 1, messages); err != nil { // warm-up
			t.Fatal(err)
		}
		for j := range queues {
			if err := load.DeclareEmpty(ctx, b.URI(), "", throughputQueue, load.Classic); err != nil {
				t.Fatal(err)
			}
			for k := range windows {
				rates[i][j][k], _ = measured(publishWindow(ctx, environment, c, 1, 1, messages, k*messages))
			}
			fmt.Printf("start %d, queue %d: %.0f\n", i+1, j+1, rates[i][j])
		}
		if err := load.Delete(ctx, b.URI(), "", throughputQueue); err != nil {
			t.Fatal(err)
		}
		e, cc := Control(Standard)
		first := 0.0
		for range controls {
			var some []float64
			quiet := true
			for range ControlRepeats {
				rate, alone := measured(e.Measure(ctx, environment, cc))
				some = append(some, rate)
				quiet = quiet && alone
			}
			slices.Sort(some)
			fmt.Printf("control on start %d: %.0f, undisturbed %v\n", i+1, some, quiet)
			switch median := some[len(some)/2]; {
			case !quiet:
			case first == 0:
				first = median
			default:
				control = append(control, 100*(median/first-1))
			}
		}
		if err := b.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	fmt.Printf("load average %s at the end\n", load1())
	mean, start, queue, window := components(rates)
	fmt.Printf("mean %.0f/s; standard deviation as a share of it: start %.1f %%, queue %.1f %%, window %.1f %%\n",
		mean, 100*math.Sqrt(start)/mean, 100*math.Sqrt(queue)/mean, 100*math.Sqrt(window)/mean)
	fmt.Printf("control: undisturbed medians of %d differ from the first of their node by %.1f %%\n", ControlRepeats, control)
	fmt.Printf("%d of %d measurements were disturbed by something else that ran: repeat this on a quiet machine unless there are few\n",
		disturbed, starts*(queues*windows+controls*ControlRepeats))
}

// components splits the variance of windows within queues within starts; an
// estimate below zero is zero.
func components[A [3][3][3]float64](x A) (mean, start, queue, window float64) {
	const a, b, n = 3, 3, 3
	var startMeans [a]float64
	var withinQueue, betweenQueues, betweenStarts float64
	for i, queues := range x {
		var means [b]float64
		for j, windows := range queues {
			for _, v := range windows {
				means[j] += v / n
			}
			for _, v := range windows {
				withinQueue += (v - means[j]) * (v - means[j])
			}
			startMeans[i] += means[j] / b
		}
		for _, m := range means {
			betweenQueues += n * (m - startMeans[i]) * (m - startMeans[i])
		}
		mean += startMeans[i] / a
	}
	for _, m := range startMeans {
		betweenStarts += b * n * (m - mean) * (m - mean)
	}
	window = withinQueue / (a * b * (n - 1))
	ofQueues, ofStarts := betweenQueues/(a*(b-1)), betweenStarts/(a-1)
	return mean, max(0, (ofStarts-ofQueues)/(b*n)), max(0, (ofQueues-window)/n), window
}

func TestComponents(t *testing.T) {
	var x [3][3][3]float64
	fill := func(f func(i, j, k int) float64) {
		for i := range 3 {
			for j := range 3 {
				for k := range 3 {
					x[i][j][k] = f(i, j, k)
				}
			}
		}
	}
	near := func(got, want float64) bool { return math.Abs(got-want) < 1e-9 }
	// 0, 10 and 20 have a variance of 100: on one level at a time.
	fill(func(_, _, k int) float64 { return 100 + 10*float64(k) })
	if mean, start, queue, window := components(x); !near(mean, 110) || start != 0 || queue != 0 || !near(window, 100) {
		t.Error(mean, start, queue, window)
	}
	fill(func(_, j, _ int) float64 { return 100 + 10*float64(j) })
	if _, start, queue, window := components(x); start != 0 || !near(queue, 100) || window != 0 {
		t.Error(start, queue, window)
	}
	fill(func(i, _, _ int) float64 { return 100 + 10*float64(i) })
	if _, start, queue, window := components(x); !near(start, 100) || queue != 0 || window != 0 {
		t.Error(start, queue, window)
	}
}
