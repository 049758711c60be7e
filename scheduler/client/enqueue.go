package client

import (
	"context"
	"fmt"
)

// Parameters are text and numbers, cast by the statement: that is the same with every driver, prepared or not.
const runTask = `-- client_enqueue
SELECT rowrun.run_task($1::text, $2::text::jsonb, coalesce($3::text::timestamptz, now()), $4::bigint::integer, $5::text)`

// Enqueue inserts a run with pgx, and returns its id.
func Enqueue[R Rows](ctx context.Context, db Pgx[R], job Job) (int64, error) {
	return one(ctx, byPgx(db), &job)
}

// EnqueueSQL is Enqueue with database/sql.
func EnqueueSQL(ctx context.Context, db SQL, job Job) (int64, error) {
	return one(ctx, bySQL(db), &job)
}

// EnqueueMany inserts runs with pgx, all or none in one statement. It returns their ids in the order of jobs; two jobs
// of a task with one key have the same id. No jobs are no error. All jobs are one parameter: give it some thousands at a time.
func EnqueueMany[R Rows](ctx context.Context, db Pgx[R], jobs []Job) ([]int64, error) {
	return many(ctx, byPgx(db), jobs)
}

// EnqueueManySQL is EnqueueMany with database/sql.
func EnqueueManySQL(ctx context.Context, db SQL, jobs []Job) ([]int64, error) {
	return many(ctx, bySQL(db), jobs)
}

func one(ctx context.Context, ask query, job *Job) (id int64, err error) {
	if err := job.check(); err != nil {
		return 0, fmt.Errorf("client: %w", err)
	}
	input, err := job.input()
	if err != nil {
		return 0, fmt.Errorf("client: %w", err)
	}
	err = ask(ctx, runTask, func(scan func(...any) error) error { return scan(&id) },
		job.Task, string(input), job.runAt(), job.priority(), orNil(job.IdempotencyKey))
	if err != nil {
		return 0, explained(job.Task, err)
	}
	return id, nil
}
