package main

import (
	"context"
	"fmt"
	"time"

	"github.com/rowrun/rowrun/cmd/rowrun/measure"
)

// plans measures what a plan adds: to the time of its runs, to the end of one, to a look at it, and how soon its end is
// told.
func (b *bench) plans(ctx context.Context) error {
	for _, measure := range []func(*bench, context.Context) error{
		(*bench).planDrain, (*bench).planEnds, (*bench).planStatus, (*bench).planPost,
	} {
		if err := measure(b, ctx); err != nil {
			return err
		}
	}
	return nil
}

// planDrain lets two replicas with default flags do 10,000 runs of NOOP, of the tasks of a plan with a limit and of as
// many tasks without one, in turn. From the moment when all runs were committed to the last end.
func (b *bench) planDrain(ctx context.Context) error {
	s, err := b.startServer(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = s.stop() }()
	const tasks, limit = 10_000, 100
	var took [2][]float64
	for round := range b.scale(3, 5) {
		for i, fill := range []string{
			`INSERT INTO rowrun.task (type) SELECT 'NOOP' FROM generate_series(1, $1::int)`,
			`WITH p AS (INSERT INTO rowrun.plan (parallel_limit) VALUES (100) RETURNING id)
			INSERT INTO rowrun.task (plan_id, type) SELECT p.id, 'NOOP' FROM p, generate_series(1, $1::int)`,
		} {
			d, err := b.newDatabase(ctx, s, fmt.Sprintf("drain_%d_%d", round, i), true)
			if err != nil {
				return err
			}
			seconds, err := b.drainTasks(ctx, d, fill, tasks)
			d.close()
			if err != nil {
				return err
			}
			took[i] = append(took[i], seconds)
		}
	}
	b.table.row(fmt.Sprintf("%d runs without a plan, two replicas", tasks), fmt.Sprintf("median %.2f s (%.2f to %.2f), %.0f runs/s",
		measure.Median(took[0]), measure.Percentile(took[0], 0), measure.Percentile(took[0], 100), tasks/measure.Median(took[0])), "")
	b.table.row(fmt.Sprintf("the same as a plan with parallel_limit %d", limit), fmt.Sprintf("median %.2f s (%.2f to %.2f), %.2f ×; announced once",
		measure.Median(took[1]), measure.Percentile(took[1], 0), measure.Percentile(took[1], 100), measure.Median(took[1])/measure.Median(took[0])), "≤ 1.2 ×")
	return nil
}

func (b *bench) drainTasks(ctx context.Context, d *database, fill string, tasks int) (seconds float64, err error) {
	if err := d.do(ctx, "INSERT INTO rowrun.webhook (name, url) VALUES ('nowhere', 'env:ROWRUN_BENCH_NOWHERE')"); err != nil {
		return 0, err
	}
	if err := d.fill(ctx, fill, tasks); err != nil {
		return 0, err
	}
	for range 2 {
		r, err := b.serve(ctx, d.url)
		if err != nil {
			return 0, err
		}
		defer func() { _ = r.stop() }()
	}
	if _, err := d.Exec(ctx, "SELECT count(*) FROM rowrun.run_tasks(ARRAY(SELECT id FROM rowrun.task))"); err != nil {
		return 0, err
	}
	var committed time.Time
	if err := d.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&committed); err != nil {
		return 0, err
	}
	err = poll(ctx, rounds, "the end of all runs", func() (bool, error) {
		var done int
		err := d.QueryRow(ctx, "SELECT count(*) FROM rowrun.task_run WHERE status = 'DONE'").Scan(&done)
		return done == tasks, err
	})
	if err != nil {
		return 0, err
	}
	var wrong int
	err = d.QueryRow(ctx, `SELECT count(*) FROM rowrun.plan p WHERE
			(SELECT array_agg(l.event_type || ' ' || l.round) FROM rowrun.webhook_delivery_log l WHERE l.plan_id = p.id) IS DISTINCT FROM '{PIPELINE_COMPLETED 1}'
			OR (SELECT count(*) FROM rowrun.webhook_delivery m WHERE m.plan_id = p.id) <> 1`).Scan(&wrong)
	if err == nil && wrong > 0 {
		err = fmt.Errorf("%d plans were not announced once", wrong)
	}
	if err != nil {
		return 0, err
	}
	ended, err := d.numbers(ctx, "SELECT extract(epoch FROM max(finished_at) - $1)::float8 FROM rowrun.task_run", committed)
	if err != nil {
		return 0, err
	}
	return ended[0], nil
}

// planEnds measures the end of one run with its commit, as a replica sends it, in plans of 10 tasks and in one of
// 10,000. The run that ends a plan isn't among them.
func (b *bench) planEnds(ctx context.Context) error {
	const few, many = 10, 10_000
	const perPlan = few - 1
	steps := b.scale(20, 60) * perPlan
	var took [2][]float64
	for i, n := range []int{few, many} {
		s, err := b.startServer(ctx, nil)
		if err != nil {
			return err
		}
		took[i], err = b.endsIn(ctx, s, n, perPlan*max(1, n/many), steps)
		if stopErr := s.stop(); err == nil {
			err = stopErr
		}
		if err != nil {
			return fmt.Errorf("%d tasks: %w", n, err)
		}
		b.table.row(fmt.Sprintf("end of a run, %d tasks in its plan", n), spread(took[i], 50, 95), "")
	}
	b.table.row("end of a run, ratio", fmt.Sprintf("p50 %.2f ×", measure.Median(took[1])/measure.Median(took[0])), "1 ×")
	return nil
}

func (b *bench) endsIn(ctx context.Context, s *server, tasks, perPlan, steps int) ([]float64, error) {
	d, err := b.newDatabase(ctx, s, "ends", true)
	if err != nil {
		return nil, err
	}
	defer d.close()
	plans := 1
	if tasks <= steps {
		plans = steps/perPlan + 2 // the first ones warm up
	}
	if _, err := d.Exec(ctx, "INSERT INTO rowrun.plan (name) SELECT '' FROM generate_series(1, $1::int)", plans); err != nil {
		return nil, err
	}
	if err := d.fill(ctx, `INSERT INTO rowrun.task (plan_id, type) SELECT p.id, 'NOOP' FROM rowrun.plan p, generate_series(1, $1::int) ORDER BY p.id`+insertRuns, tasks); err != nil {
		return nil, err
	}
	err = d.do(ctx, "UPDATE rowrun.task_run SET status = 'AVAILABLE'", "UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'bench'",
		"VACUUM ANALYZE", "CHECKPOINT", "SET jit = off", "SET plan_cache_mode = force_generic_plan", "SET enable_seqscan = off")
	if err != nil {
		return nil, err
	}
	// All but the last task of each plan.
	ids, err := d.numbers(ctx, `SELECT r.id::float8 FROM (SELECT id, row_number() OVER (PARTITION BY plan_id ORDER BY id DESC) AS n FROM rowrun.task_run) r
		WHERE r.n > 1 ORDER BY r.id LIMIT $1`, steps+perPlan)
	if err != nil {
		return nil, err
	}
	took := make([]float64, 0, len(ids))
	for _, id := range ids {
		begun := time.Now()
		var ended int64
		err := d.QueryRow(ctx, `SELECT run_id FROM rowrun.end_runs(ARRAY[$1::bigint], '{NULL}'::uuid[], '{DONE}', '{"{}"}'::jsonb[], '{NONE}')`, int64(id)).Scan(&ended)
		if err != nil {
			return nil, fmt.Errorf("end: %w", err)
		}
		took = append(took, ms(begun))
	}
	return took[perPlan:], nil
}
