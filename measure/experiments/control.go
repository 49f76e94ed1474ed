package experiments

import (
	"context"
	"time"

	"genreport/measure"
)

// ControlRepeats is how often the control load is measured each time; its value
// is their median. Undisturbed on the reference machine (two cores, forky),
// single values have a standard deviation of about 5 %: 24 in a row lay between
// 47,000 and 58,000 messages/s. The median of 15 such values has 1.6 %, so that
// two of them on a steady machine are seldom 5 % apart; medians of 3 were up to
// 11 % apart. `make variance` measures it again.
const ControlRepeats = 15

// Control is the small load that is the same in every run of a profile, on
// every broker: measured again and again, it tells how steady the machine was.
// It is no experiment of its own, since its rate answers no question.
func Control(p Profile) (Experiment, Case) {
	n := p.pick(20_000, 60_000, 60_000)
	e := Experiment{
		Name:    "control",
		Metrics: throughputMetrics(),
		Measure: func(ctx context.Context, env Env, c Case) (Sample, error) {
			return measureThroughput(ctx, env, c, 1, 1, n)
		},
	}
	return e, Case{
		Labels:   measure.Labels{"client": "go", "channels": "1"},
		Estimate: 200*time.Millisecond + time.Duration(n)*time.Second/30_000,
	}
}
