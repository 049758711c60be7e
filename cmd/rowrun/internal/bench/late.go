package bench

import (
	"context"
	"errors"
	"fmt"
)

// late has runs become due at the rate; with default flags, so that sweeps come in between.
func (b *Bench) late(ctx context.Context) ([]*Case, error) {
	c := &Case{Name: "1 replica"}
	for range b.cfg.Rounds {
		if err := b.lateOnce(ctx, c); err != nil {
			return nil, err
		}
		if err := b.clear(ctx); err != nil {
			return nil, err
		}
	}
	return []*Case{c}, nil
}

func (b *Bench) lateOnce(ctx context.Context, c *Case) (err error) {
	_, stop, err := b.serveSome(ctx, 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	f, err := b.fill(ctx, plain, 0)
	if err != nil {
		return err
	}
	f.runs = max(1, int(float64(b.cfg.Rate)*b.cfg.Duration.Seconds()))
	// The first is due when all are surely inserted.
	const insert = `-- bench_due
INSERT INTO rowrun.task_run (task_id, run_at)
SELECT $1, now() + interval '500 ms' + $2::int * interval '200 us' + i * interval '1 s' / $3::int FROM generate_series(0, $2::int - 1) i`
	if err := b.exec(ctx, insert, b.task, f.runs, b.cfg.Rate); err != nil {
		return fmt.Errorf("insert: %w", err)
	}
	if err := wait(ctx, b.cfg.Duration); err != nil {
		return err
	}
	if _, err := b.ended(ctx, f, 0); err != nil {
		return err
	}
	values, err := column[float64](ctx, b, `-- bench_lateness
SELECT (extract(epoch FROM started_at - run_at) * 1000)::float8 FROM rowrun.task_run WHERE id > $1 AND queue = $2`, f.after, b.name)
	if err != nil {
		return fmt.Errorf("read the delays: %w", err)
	}
	c.Runs += f.runs
	c.spread("late", values)
	return nil
}
