package bench

import (
	"context"
	"errors"
	"fmt"
)

const burstRuns, burstSlots = 500, 10

// burst inserts many runs at once for a replica with few slots.
func (b *Bench) burst(ctx context.Context) ([]*Case, error) {
	c := &Case{Name: fmt.Sprintf("%d runs", burstRuns)}
	for range b.cfg.Rounds {
		if err := b.burstOnce(ctx, c); err != nil {
			return nil, err
		}
		if err := b.clear(ctx); err != nil {
			return nil, err
		}
	}
	return []*Case{c}, nil
}

func (b *Bench) burstOnce(ctx context.Context, c *Case) (err error) {
	r, err := b.serve(ctx, burstSlots)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.stop()) }()
	if _, err := b.awake(ctx, r, "notify", "wal"); err != nil {
		return err
	}
	f, err := b.fill(ctx, plain, 0)
	if err != nil {
		return err
	}
	f.runs = burstRuns
	before, err := b.used(ctx, r)
	if err != nil {
		return err
	}
	const insert = `-- bench_burst
WITH made AS (INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, $2::int) RETURNING created_at)
SELECT extract(epoch FROM min(created_at))::float8 FROM made`
	var since float64
	if err := b.ask(ctx, insert, []any{b.task, burstRuns}, &since); err != nil {
		return fmt.Errorf("insert: %w", err)
	}
	took, err := b.ended(ctx, f, since)
	if err != nil {
		return err
	}
	after, err := b.used(ctx, r)
	if err != nil {
		return err
	}
	c.Runs += burstRuns
	c.add("rate", "runs/s", burstRuns/took)
	b.perRun(c, before, after, burstRuns)
	return nil
}
