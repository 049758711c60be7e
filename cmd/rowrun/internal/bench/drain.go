package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/rowrun/rowrun/cmd/rowrun/measure"
)

// drain takes the shapes in turn.
func (b *Bench) drain(ctx context.Context) ([]*Case, error) {
	var cases []*Case
	for _, shape := range b.cfg.Shapes {
		cases = append(cases, &Case{Name: shape})
	}
	for range b.cfg.Rounds {
		for _, c := range cases {
			if err := b.drainOnce(ctx, c, c.Name, b.cfg.Runs); err != nil {
				return nil, err
			}
			if err := b.clear(ctx); err != nil {
				return nil, err
			}
		}
	}
	return cases, nil
}

// drainOnce fills and has a replica of its own run it all.
func (b *Bench) drainOnce(ctx context.Context, c *Case, shape string, runs int) error {
	f, err := b.fill(ctx, shape, runs)
	if err != nil {
		return err
	}
	r, err := b.serve(ctx, b.cfg.Concurrency)
	if err != nil {
		return err
	}
	err = b.drained(ctx, c, r, f)
	return errors.Join(err, r.stop())
}

// drained waits for the end of what was filled, and takes the figures.
func (b *Bench) drained(ctx context.Context, c *Case, r *replica, f filled) error {
	took, err := b.ended(ctx, f, r.registered)
	if err != nil {
		return err
	}
	after, err := b.used(ctx, r)
	if err != nil {
		return err
	}
	c.Runs += f.runs
	c.add("rate", "runs/s", float64(f.runs)/took)
	if err := b.addWarm(ctx, c, f); err != nil {
		return err
	}
	if f.steps > 0 {
		c.add("step", "ms", 1000*took/float64(f.steps))
	}
	b.perRun(c, r.begun, after, f.runs)
	if _, peak, err := measure.Memory(r.pid()); err == nil {
		c.add("memory_peak", "MiB", peak)
	}
	return nil
}

// addWarm adds the rate of the last three quarters: by then the replica's connections have planned their statements,
// which in a short drain is much of the time.
func (b *Bench) addWarm(ctx context.Context, c *Case, f filled) error {
	const q = `-- bench_warm
SELECT extract(epoch FROM max(finished_at) - percentile_disc(0.25) WITHIN GROUP (ORDER BY finished_at))::float8
FROM rowrun.task_run WHERE id > $1 AND queue = $2`
	var took float64
	if err := b.ask(ctx, q, []any{f.after, b.name}, &took); err != nil {
		return fmt.Errorf("read the runs' ends: %w", err)
	}
	if took > 0 {
		c.add("warm_rate", "runs/s", 0.75*float64(f.runs)/took)
	}
	return nil
}
