package main

import (
	"context"
	"fmt"
	"time"
)

// successor runs chains whose steps belong to two replicas in turn: queue a is served by one only, queue b by the other,
// so that whoever ends a step can't take the next, as if it were full. What is shown is started_at of a step less
// finished_at of the step before, between the two replicas.
func (b *bench) successor(ctx context.Context) error {
	s, err := b.startServer(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = s.stop() }()
	steps := b.scale(300, 2000)
	for _, chain := range []struct{ name, fill string }{
		{"a dependency", `
			WITH p AS (INSERT INTO rowrun.plan (name) VALUES ('chain') RETURNING id)
			INSERT INTO rowrun.task (plan_id, name, type, queue)
			SELECT p.id, to_char(i, 'FM000000'), 'NOOP', substr('ab', i % 2 + 1, 1) FROM p, generate_series(1, $1::int) i;
			INSERT INTO rowrun.task_dependency (task_id, depends_on_id)
			SELECT t.id, e.id FROM rowrun.task t JOIN rowrun.task e ON e.name = to_char(t.name::int - 1, 'FM000000')`},
		{"a plan limit of 1", `
			WITH p AS (INSERT INTO rowrun.plan (name, parallel_limit) VALUES ('chain', 1) RETURNING id)
			INSERT INTO rowrun.task (plan_id, name, type, queue)
			SELECT p.id, to_char(i, 'FM000000'), 'NOOP', substr('ab', i % 2 + 1, 1) FROM p, generate_series(1, $1::int) i`},
		{"the next version of a database", `
			INSERT INTO rowrun.task (name, type, queue, database_id, version)
			SELECT to_char(i, 'FM000000'), 'NOOP', substr('ab', i % 2 + 1, 1), 'target', i::text FROM generate_series(1, $1::int) i`},
	} {
		gaps, err := b.chain(ctx, s, chain.name, chain.fill, steps)
		if err != nil {
			return fmt.Errorf("%s: %w", chain.name, err)
		}
		b.table.row("end on A → start on B, "+chain.name, spread(gaps, 50, 95, 99), "p50 < 10 ms")
	}
	return nil
}

func (b *bench) chain(ctx context.Context, s *server, name, fill string, steps int) ([]float64, error) {
	d, err := b.newDatabase(ctx, s, name, true)
	if err != nil {
		return nil, err
	}
	defer d.close()
	if err := d.fill(ctx, fill, steps); err != nil {
		return nil, err
	}
	for _, queue := range []string{"a", "b"} {
		r, err := b.serve(ctx, d.url, append(rareSweeps(), "--queues", queue)...)
		if err != nil {
			return nil, err
		}
		defer func() { _ = r.stop() }()
	}
	if err := d.do(ctx, "INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task ORDER BY name"); err != nil {
		return nil, err
	}
	err = poll(ctx, time.Minute+time.Duration(steps)*50*time.Millisecond, "the end of the chain", func() (bool, error) {
		var done bool
		err := d.QueryRow(ctx, "SELECT status = 'DONE' FROM rowrun.task_run ORDER BY id DESC LIMIT 1").Scan(&done)
		return done, err
	})
	if err != nil {
		return nil, err
	}
	gaps, err := d.numbers(ctx, `SELECT extract(epoch FROM w.gap)::float8 * 1000 FROM (
			SELECT started_at - lag(finished_at) OVER o AS gap, replica_id <> lag(replica_id) OVER o AS crossed
			FROM rowrun.task_run WHERE status = 'DONE' WINDOW o AS (ORDER BY id)) w
		WHERE w.gap IS NOT NULL AND w.crossed`)
	if err == nil && len(gaps) != steps-1 {
		err = fmt.Errorf("%d of %d steps went from one replica to the other", len(gaps), steps-1)
	}
	return gaps, err
}
