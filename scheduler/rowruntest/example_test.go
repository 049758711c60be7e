package rowruntest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler/client"
	"github.com/rowrun/rowrun/scheduler/replica"
	"github.com/rowrun/rowrun/scheduler/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

// order is the code under test: an order, its receipt now, and a question in a week.
func order(ctx context.Context, tx pgx.Tx, id int64) error {
	_, err := client.EnqueueMany(ctx, tx, []client.Job{
		{Task: "send receipt", Input: map[string]any{"order": id}, IdempotencyKey: fmt.Sprintf("order %d", id)},
		{Task: "ask for review", Input: map[string]any{"order": id}, RunAt: time.Now().Add(7 * 24 * time.Hour)},
	})
	return err
}

// mails are the executors under test.
func mails(sent *[]string) map[string]replica.Executor {
	return map[string]replica.Executor{
		"MAIL": replica.ExecutorFunc(func(_ context.Context, run *replica.TaskRun) (replica.Result, error) {
			var p struct{ Order int64 }
			if err := run.Decode(&p); err != nil {
				return replica.Result{}, err
			}
			if p.Order == 0 {
				return replica.Result{}, replica.BadInput("which order?")
			}
			*sent = append(*sent, fmt.Sprintf("%s %d", run.TaskName, p.Order))
			return replica.Result{Output: map[string]int64{"order": p.Order}}, nil
		}),
	}
}

// testDatabase has the schema, and what migrations of the program would define.
func testDatabase(t *testing.T) (url string, db *pgxpool.Pool) {
	t.Helper()
	url = storetest.Empty(t) // in place of your test's database
	rowruntest.Schema(t, url)
	db, err := pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	_, err = db.Exec(t.Context(), `SELECT rowrun.define_task('send receipt', 'MAIL', max_attempts => 3), rowrun.define_task('ask for review', 'MAIL')`)
	require.NoError(t, err)
	return url, db
}

func TestOrderEnqueuesItsReceipt(t *testing.T) {
	t.Parallel()
	_, db := testDatabase(t)
	tx, err := db.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()

	require.NoError(t, order(t.Context(), tx, 17))

	jobs := rowruntest.In(t, tx)
	jobs.RequireEnqueued(rowruntest.Want{Task: "send receipt", Input: map[string]any{"order": 17}, RunAt: time.Now()})
	jobs.RequireEnqueued(rowruntest.Want{Task: "ask for review", RunAt: time.Now().Add(7 * 24 * time.Hour)})
	jobs.RequireNotEnqueued(rowruntest.Want{Input: map[string]any{"order": 18}})
}

func TestOrderIsMailed(t *testing.T) {
	t.Parallel()
	url, db := testDatabase(t)
	require.NoError(t, pgx.BeginFunc(t.Context(), db, func(tx pgx.Tx) error { return order(t.Context(), tx, 17) }))

	var sent []string
	rowruntest.Work(t, url, rowruntest.Config{Executors: mails(&sent)})
	require.Equal(t, []string{"send receipt 17"}, sent)

	rowruntest.Work(t, url, rowruntest.Config{Executors: mails(&sent), Until: time.Now().Add(30 * 24 * time.Hour)})
	require.Equal(t, []string{"send receipt 17", "ask for review 17"}, sent)
}

func TestReceiptWithoutOrderFails(t *testing.T) {
	t.Parallel()
	url, db := testDatabase(t)
	id, err := client.Enqueue(t.Context(), db, client.Job{Task: "send receipt"})
	require.NoError(t, err)

	rowruntest.Work(t, url, rowruntest.Config{Executors: mails(new([]string))})
	job := rowruntest.In(t, db).RequireEnded(id, "FAILED")
	require.Equal(t, "BAD_INPUT", job.Code)
}
