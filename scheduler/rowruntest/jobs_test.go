package rowruntest_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler/client"
	"github.com/rowrun/rowrun/scheduler/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestJobsOfATransactionAreSeenByItAndNobodyElse(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := connect(t, url)
	exec(t, conn, `SELECT rowrun.define_task('mail', 'MAIL')`)
	tx, err := connect(t, url).Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) })
	id, err := client.Enqueue(t.Context(), tx, client.Job{Task: "mail"})
	require.NoError(t, err)
	require.Equal(t, id, rowruntest.In(t, tx).RequireEnqueued(rowruntest.Want{Task: "mail"}).ID)
	rowruntest.In(t, conn).RequireNotEnqueued(rowruntest.Want{})

	db := stdlib.OpenDB(*conn.Config())
	t.Cleanup(func() { _ = db.Close() })
	begun, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = begun.Rollback() })
	id, err = client.EnqueueSQL(t.Context(), begun, client.Job{Task: "mail", Input: map[string]int{"n": 1}})
	require.NoError(t, err)
	require.Equal(t, id, rowruntest.InSQL(t, begun).RequireEnqueued(rowruntest.Want{Input: map[string]int{"n": 1}}).ID)
	rowruntest.InSQL(t, db).RequireNotEnqueued(rowruntest.Want{})
}

func TestWhatIsWantedIsFoundAndNothingElse(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	exec(t, conn, `SELECT rowrun.define_task('mail', 'MAIL', '{"from": "us"}', queue => 'post')`, `SELECT rowrun.define_task('print', 'PRINT')`)
	at := time.Date(2199, 5, 6, 7, 8, 9, 500_000_000, time.UTC)
	ids := enqueue(t, conn, client.Job{Task: "mail", Input: map[string]any{"to": "a", "n": 1}, RunAt: at, Priority: new(int32(0)), IdempotencyKey: "k"},
		client.Job{Task: "mail", Input: map[string]any{"to": "b", "n": 1}, RunAt: at.Add(2 * time.Second)}, client.Job{Task: "print", Priority: new(int32(7))})
	jobs := rowruntest.In(t, conn)
	for _, c := range []struct {
		want rowruntest.Want
		ids  []int64
	}{
		{rowruntest.Want{}, ids},
		{rowruntest.Want{Task: "mail"}, ids[:2]},
		{rowruntest.Want{Input: map[string]any{"n": 1}}, ids[:2]},
		{rowruntest.Want{Input: map[string]any{"n": 1, "to": "b"}}, ids[1:2]},
		{rowruntest.Want{RunAt: at.Add(-900 * time.Millisecond)}, ids[:1]},
		{rowruntest.Want{RunAt: at.Add(3100 * time.Millisecond)}, nil},
		{rowruntest.Want{Priority: new(int32(0))}, ids[:2]},
		{rowruntest.Want{Priority: new(int32(7))}, ids[2:]},
		{rowruntest.Want{IdempotencyKey: "k"}, ids[:1]},
		{rowruntest.Want{Status: "AVAILABLE"}, ids[2:]},
		{rowruntest.Want{Task: "mail", Status: "AVAILABLE"}, nil},
	} {
		var found []int64
		for _, job := range jobs.All(c.want) {
			found = append(found, job.ID)
		}
		require.Equal(t, c.ids, found, "%+v", c.want)
	}
	got := jobs.RequireEnqueued(rowruntest.Want{IdempotencyKey: "k"})
	require.JSONEq(t, `{"to": "a", "n": 1}`, string(got.Input))
	require.True(t, at.Equal(got.RunAt))
	require.Equal(t, []any{"mail", "MAIL", "post", "PENDING", 1}, []any{got.Task, got.Type, got.Queue, got.Status, got.Attempts})
}

func TestFailuresSayWhatThereIs(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	exec(t, conn, `SELECT rowrun.define_task('mail', 'MAIL')`)
	in := func(t testing.TB) *rowruntest.Jobs { return rowruntest.In(t, conn) }
	anything := rowruntest.Want{Task: "mail", Input: map[string]int{"n": 2}, IdempotencyKey: "k", Priority: new(int32(1)), Status: "DONE", RunAt: time.Unix(0, 0)}
	require.Equal(t, `rowruntest: no job was enqueued with task "mail", key "k", status "DONE", input {"n":2}, run_at 1970-01-01T00:00:00Z, priority 1; there are: none`,
		failure(t, func(t testing.TB) { in(t).RequireEnqueued(anything) }))

	ids := enqueue(t, conn, client.Job{Task: "mail", Input: map[string]int{"n": 1}, IdempotencyKey: "order 17"})
	said := failure(t, func(t testing.TB) { in(t).RequireEnqueued(rowruntest.Want{Task: "post"}) })
	require.Contains(t, said, `no job was enqueued with task "post"; there are:`)
	require.Contains(t, said, `task "mail", input {"n": 1}, run_at `)
	require.Contains(t, said, `key "order 17": AVAILABLE after 1 attempt(s)`)
	require.Contains(t, failure(t, func(t testing.TB) { in(t).RequireNotEnqueued(rowruntest.Want{}) }), "there should be no job with anything:\n\tjob ")
	require.Contains(t, failure(t, func(t testing.TB) { in(t).RequireEnded(999, "DONE") }), "there is no job 999")

	// A transaction that is broken is no place to look.
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT 1/0")
	require.Error(t, err)
	require.Contains(t, failure(t, func(t testing.TB) { rowruntest.In(t, tx).All(rowruntest.Want{}) }), "look at the jobs: ")
	require.NoError(t, tx.Rollback(t.Context()))

	enqueue(t, conn, client.Job{Task: "mail"})
	require.Contains(t, failure(t, func(t testing.TB) { in(t).RequireEnqueued(rowruntest.Want{Task: "mail"}) }), `2 jobs were enqueued with task "mail":`)
	said = failure(t, func(t testing.TB) { in(t).RequireEnded(ids[0], "DONE") })
	require.Contains(t, said, " is AVAILABLE, not DONE:")
	require.Contains(t, said, "it waits: NO_REPLICA, ")
}
