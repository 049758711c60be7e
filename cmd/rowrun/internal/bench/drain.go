package bench

import (
	"context"
	"errors"
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
	took, err := b.ended(ctx, f, r.registered)
	if err == nil {
		var after usage
		if after, err = b.used(ctx, r); err == nil {
			c.Runs += f.runs
			c.add("rate", "runs/s", float64(f.runs)/took)
			if shape == chain {
				c.add("step", "ms", 1000*took/float64(f.steps))
			}
			b.perRun(c, r.begun, after, f.runs)
			if _, peak, ok := residentMiB(r.pid()); ok {
				c.add("memory_peak", "MiB", peak)
			}
		}
	}
	return errors.Join(err, r.stop())
}
