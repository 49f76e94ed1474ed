package experiments

import (
	"context"
	"errors"
	"fmt"

	"genreport/measure/load"
)

// crew is load clients that work side by side.
type crew []*load.Client

// add starts one more, which waits for its start.
func (g *crew) add(ctx context.Context, env Env, c Case, job load.Job) error {
	client, err := connect(ctx, env, c, job)
	if err == nil {
		*g = append(*g, client)
	}
	return err
}

func (g crew) start() error {
	for _, client := range g {
		if err := client.Go(); err != nil {
			return fmt.Errorf("starting a client: %w", err)
		}
	}
	return nil
}

// stop ends them all, and their work where that goes on.
func (g crew) stop() error {
	var errs []error
	for _, client := range g {
		errs = append(errs, client.Stop())
	}
	return errors.Join(errs...)
}

// wait returns what each has done.
func (g crew) wait(ctx context.Context) ([]load.Outcome, error) {
	var outcomes []load.Outcome
	for _, client := range g {
		r, err := client.Wait(ctx)
		if err != nil {
			return outcomes, err
		}
		outcomes = append(outcomes, r)
	}
	return outcomes, nil
}

func cpuOf(outcomes ...load.Outcome) (seconds float64) {
	for _, r := range outcomes {
		seconds += r.CPU
	}
	return seconds
}
