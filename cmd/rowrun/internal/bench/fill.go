package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

// The shapes of drain.
const (
	plain     = "plain"
	databases = "databases"
	plans     = "plans"
	chain     = "chain"
)

// Shapes are what drain may run: runs without gates, versions on 100
// databases, 10 plans with a limit of 20, and versions on 10 databases.
func Shapes() []string { return []string{plain, databases, plans, chain} }

// filled is what fill inserted.
type filled struct {
	after int64 // the runs' ids are greater
	runs  int
	steps int // runs of each database, one after the other; 0: no databases
}

// fill inserts runs of a shape, about as many as are asked for, and brings the statistics up to date.
func (b *Bench) fill(ctx context.Context, shape string, runs int) (f filled, err error) {
	if err := b.ask(ctx, "-- bench_after\nSELECT last_value - (NOT is_called)::int FROM rowrun.task_run_id_seq", nil, &f.after); err != nil {
		return f, err
	}
	switch shape {
	case databases, chain:
		f.runs, f.steps, err = b.fillDatabases(ctx, shape, runs, 1)
	case plans:
		f.runs, err = b.fillPlans(ctx, runs)
	default:
		f.runs = runs
		err = b.exec(ctx, "-- bench_fill\nINSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, $2::int)", b.task, runs)
	}
	if err == nil {
		err = b.exec(ctx, "ANALYZE rowrun.task_run, rowrun.task")
	}
	if err != nil {
		return f, fmt.Errorf("fill: %w", err)
	}
	return f, nil
}

// fillDatabases inserts a run of each database for each version, beginning with one.
func (b *Bench) fillDatabases(ctx context.Context, shape string, runs, from int) (inserted, steps int, err error) {
	tasks := b.members[shape]
	if tasks == nil {
		n := 10
		if shape == databases {
			n = min(100, runs/10)
		}
		const q = `-- bench_databases
INSERT INTO rowrun.task (type, queue, database_id) SELECT 'NOOP', $1, $1 || '_' || $2 || '_' || i FROM generate_series(1, $3::int) i RETURNING id`
		if tasks, err = column[int64](ctx, b, q, b.name, shape, n); err != nil {
			return 0, 0, err
		}
		b.members[shape] = tasks
	}
	steps = max(1, runs/len(tasks))
	// A task without a plan hands its version on to the runs inserted after it was set: one task for all versions of a
	// database. Deleting a task has the table of runs read, so that there should be few.
	const version = `-- bench_version
UPDATE rowrun.task SET version = $2::int::text WHERE id = ANY ($1)`
	const insert = `-- bench_version_runs
INSERT INTO rowrun.task_run (task_id) SELECT unnest($1::bigint[])`
	versions := make([]int, steps)
	for i := range versions {
		versions[i] = from + i
	}
	for some := range slices.Chunk(versions, 50) {
		batch := &pgx.Batch{}
		for _, v := range some {
			batch.Queue(version, tasks, v)
			batch.Queue(insert, tasks)
		}
		if err := b.send(ctx, batch); err != nil {
			return 0, 0, err
		}
	}
	return steps * len(tasks), steps, nil
}

// send runs a batch in one transaction.
func (b *Bench) send(ctx context.Context, batch *pgx.Batch) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return b.pool.SendBatch(ctx, batch).Close()
}

// fillPlans inserts a run for each task of ten plans, which are made once.
func (b *Bench) fillPlans(ctx context.Context, runs int) (int, error) {
	tasks := b.members[plans]
	if tasks == nil {
		n, err := b.planTasks(ctx, runs)
		if err != nil {
			return 0, err
		}
		const q = `-- bench_make_plans
WITH made AS (INSERT INTO rowrun.plan (project, name, parallel_limit, on_failure)
              SELECT $1, $1, 20, 'CONTINUE' FROM generate_series(1, 10) RETURNING id)
INSERT INTO rowrun.task (plan_id, type, queue) SELECT m.id, 'NOOP', $1 FROM made m, generate_series(1, $2::int / 10) RETURNING id`
		if tasks, err = column[int64](ctx, b, q, b.name, n); err != nil {
			return 0, err
		}
		if len(tasks) == 0 {
			return 0, errors.New("no task was made")
		}
		b.members[plans] = tasks
	}
	return len(tasks), b.exec(ctx, "-- bench_plan_runs\nINSERT INTO rowrun.task_run (task_id) SELECT unnest($1::bigint[])", tasks)
}

// planTasks is how many tasks plans may have. A plan's task has one unfinished run at a time, so that it takes as many
// tasks as runs; and deleting a task has the table of runs read.
func (b *Bench) planTasks(ctx context.Context, runs int) (int, error) {
	var pages int
	const q = `-- bench_pages
SELECT (pg_relation_size('rowrun.task_run') / current_setting('block_size')::int)::int`
	if err := b.ask(ctx, q, nil, &pages); err != nil {
		return 0, err
	}
	most := max(100, 3_000_000/max(pages, 1))
	if runs > most {
		b.note("plans: " + strconv.Itoa(most) + " tasks only, since removing each reads all of rowrun.task_run")
	}
	return min(runs, most), nil
}

// ended waits until all that was filled has ended, and returns how long that was after a moment, in seconds.
func (b *Bench) ended(ctx context.Context, f filled, since float64) (float64, error) {
	const newest = `-- bench_newest
SELECT coalesce(max(id), 0) FROM rowrun.task_run WHERE id > $1 AND queue = $2`
	const look = `-- bench_look
SELECT status IN ('DONE', 'FAILED', 'CANCELED') FROM rowrun.task_run WHERE id = $1`
	const count = `-- bench_count
SELECT count(*) FILTER (WHERE status = 'DONE'), count(*) FILTER (WHERE status IN ('FAILED', 'CANCELED')),
       coalesce(extract(epoch FROM max(finished_at)), 0)::float8
FROM rowrun.task_run WHERE id > $1 AND queue = $2`
	var last int64
	if err := b.ask(ctx, newest, []any{f.after, b.name}, &last); err != nil {
		return 0, fmt.Errorf("wait for the runs' end: %w", err)
	}
	var at float64
	within := time.Minute + time.Duration(f.runs)*10*time.Millisecond // slower than any server
	over := last == 0                                                 // none was due in that time
	err := poll(ctx, 20*time.Millisecond, within, strconv.Itoa(f.runs)+" runs end", func() (bool, error) {
		// Counting reads all of them: not before one of the last has ended.
		if !over {
			if err := b.ask(ctx, look, []any{last}, &over); err != nil || !over {
				return false, err
			}
		}
		var done, failed int
		if err := b.ask(ctx, count, []any{f.after, b.name}, &done, &failed, &at); err != nil {
			return false, err
		}
		if failed > 0 {
			return false, b.failure(ctx, f, done, failed)
		}
		if done > f.runs {
			return false, fmt.Errorf("of %d runs %d are DONE", f.runs, done)
		}
		return done == f.runs, nil
	})
	return at - since, err
}

// failure is the error of runs that failed, with what the first of them says.
func (b *Bench) failure(ctx context.Context, f filled, done, failed int) error {
	const first = `-- bench_failure
SELECT concat_ws(' ', 'run', id, status, 'with', result ->> 'code', 'of', replica_id, 'started', started_at, 'finished', finished_at, ':', left(result ->> 'detail', 1000))
FROM rowrun.task_run WHERE id > $1 AND queue = $2 AND status IN ('FAILED', 'CANCELED') ORDER BY id LIMIT 1`
	text := ""
	if err := b.ask(ctx, first, []any{f.after, b.name}, &text); err != nil {
		return err
	}
	return fmt.Errorf("of %d runs %d are DONE and %d failed; the first: %s", f.runs, done, failed, text)
}
