package bench

import (
	"context"
	"errors"
	"fmt"
)

// steady inserts at the rate while one replica waits for runs, and as many as --replicas.
func (b *Bench) steady(ctx context.Context) ([]*Case, error) {
	counts := []int{1}
	if b.cfg.Replicas > 1 {
		counts = append(counts, b.cfg.Replicas)
	}
	var cases []*Case
	for _, n := range counts {
		name := "1 replica"
		if n > 1 {
			name = fmt.Sprintf("%d replicas", n)
		}
		cases = append(cases, &Case{Name: name})
	}
	for range b.cfg.Rounds {
		for i, n := range counts {
			if err := b.steadyOnce(ctx, cases[i], n); err != nil {
				return nil, err
			}
			if err := b.clear(ctx); err != nil {
				return nil, err
			}
		}
	}
	return cases, nil
}

// serveSome starts replicas that are awake, and returns how to stop them.
func (b *Bench) serveSome(ctx context.Context, n int) (replicas []*replica, stop func() error, err error) {
	stop = func() (err error) {
		for _, r := range replicas {
			err = errors.Join(err, r.stop())
		}
		return err
	}
	for range n {
		r, err := b.serve(ctx, b.cfg.Concurrency)
		if err != nil {
			return nil, nil, errors.Join(err, stop())
		}
		replicas = append(replicas, r)
	}
	for _, r := range replicas {
		source, err := b.awake(ctx, r, "notify", "wal")
		if err != nil {
			return nil, nil, errors.Join(err, stop())
		}
		b.note("at first woken by: " + source)
	}
	return replicas, stop, nil
}

func (b *Bench) steadyOnce(ctx context.Context, c *Case, replicas int) (err error) {
	served, stop, err := b.serveSome(ctx, replicas)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	f, err := b.fill(ctx, plain, 0)
	if err != nil {
		return err
	}
	// A quarter of the time warms up: plans, caches, connections.
	counted := max(1, int(float64(b.cfg.Rate)*b.cfg.Duration.Seconds()))
	warm := max(1, counted/4)
	before, err := b.used(ctx, served[0])
	if err != nil {
		return err
	}
	inserted, seconds, err := b.feed(ctx, nil, warm+counted, func() {})
	if err != nil {
		return err
	}
	f.runs = inserted
	if _, err := b.ended(ctx, f, 0); err != nil {
		return err
	}
	after, err := b.used(ctx, served[0])
	if err != nil {
		return err
	}
	for _, of := range []struct{ name, column string }{{"start", "started_at"}, {"end", "finished_at"}} {
		values, err := column[float64](ctx, b, `-- bench_delays
SELECT (extract(epoch FROM `+of.column+` - created_at) * 1000)::float8 FROM rowrun.task_run
WHERE id > $1 AND queue = $2 ORDER BY id OFFSET $3`, f.after, b.name, warm)
		if err != nil {
			return fmt.Errorf("read the delays: %w", err)
		}
		c.spread(of.name, values)
	}
	c.Runs += inserted
	c.add("inserted", "runs/s", float64(inserted)/seconds)
	if replicas == 1 { // of several, the process of one tells little
		b.perRun(c, before, after, inserted)
	}
	return nil
}
