package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestChainIsFoundFromEachOfItsRuns(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), openStore(t, url)
	exec(t, conn, `INSERT INTO rowrun.task (type) VALUES ('NOOP');
INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task, generate_series(1, 2)`)
	ids := []int64{1}
	for range 3 {
		status, err := s.CancelRun(t.Context(), 1, "not now")
		require.NoError(t, err)
		require.Equal(t, "CANCELED", status)
		next, err := s.RetryRun(t.Context(), ids[len(ids)-1])
		require.NoError(t, err)
		ids = append(ids, next)
	}
	look := func(from int64, want []int64) {
		chain, err := s.Chain(t.Context(), from)
		require.NoError(t, err)
		var got []int64
		for _, run := range chain {
			got = append(got, run.ID)
		}
		require.Equal(t, want, got)
		last, err := s.LastRun(t.Context(), from)
		require.NoError(t, err)
		require.Equal(t, want[len(want)-1], last.ID)
		require.False(t, last.Ended())
	}
	for _, id := range ids {
		look(id, ids)
	}
	look(2, []int64{2}) // another job of the same task

	exec(t, conn, "DELETE FROM rowrun.task_run WHERE id = 1") // as retention does with a plan's
	look(ids[2], ids[1:])
	_, err := s.LastRun(t.Context(), 1)
	require.ErrorIs(t, err, store.ErrNotFound)
	_, err = s.FindRun(t.Context(), 1)
	require.ErrorIs(t, err, store.ErrNotFound)
}

func TestFindRunReadsAllThatCanBeNull(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), openStore(t, url)
	exec(t, conn, `INSERT INTO rowrun.task (type, name) VALUES ('NOOP', 'nap');
INSERT INTO rowrun.task_run (task_id, input, idempotency_key) SELECT id, '{"sleep": "1s"}', 'once' FROM rowrun.task`)
	run, err := s.FindRun(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, "nap", run.TaskName)
	require.JSONEq(t, `{"sleep": "1s"}`, string(run.Input))
	require.Equal(t, "once", *run.IdempotencyKey)
	require.Nil(t, run.Progress)
	require.Nil(t, run.StartedAt)
	require.Nil(t, run.Code)

	exec(t, conn, `UPDATE rowrun.task_run SET status = 'AVAILABLE';
UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'nobody', progress = '[1]';
UPDATE rowrun.task_run SET status = 'FAILED', result = '{"code": "EXIT_3", "detail": "no"}'`)
	run, err = s.FindRun(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, "EXIT_3", *run.Code)
	require.Equal(t, "no", *run.Detail)
	require.JSONEq(t, "[1]", string(run.Progress))
	require.NotNil(t, run.StartedAt)
	require.True(t, run.Ended())
}

func TestRunLogSaysWhetherThereIsMore(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), openStore(t, url)
	exec(t, conn, `INSERT INTO rowrun.task (type) VALUES ('NOOP');
INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task;
INSERT INTO rowrun.task_run_log (task_run_id, type, detail) SELECT 1, 'output', jsonb_build_object('n', n) FROM generate_series(1, 3) n`)
	entries, more, err := s.RunLog(t.Context(), 1, 2, 0)
	require.NoError(t, err)
	require.True(t, more)
	require.Len(t, entries, 2)
	require.JSONEq(t, `{"n": 1}`, string(entries[0].Detail))
	_, more, err = s.RunLog(t.Context(), 1, 3, 0)
	require.NoError(t, err)
	require.False(t, more)
	// Nobody is sent the middle of a text who shows its ends.
	exec(t, conn, `INSERT INTO rowrun.task_run_log (task_run_id, type, detail) VALUES (1, 'output', jsonb_build_object('n', repeat('ä', 100000)))`)
	entries, _, err = s.RunLog(t.Context(), 1, 10, 5)
	require.NoError(t, err)
	require.Equal(t, `{"n": 3}`, string(entries[2].Detail))
	require.Nil(t, entries[2].EndOfCut)
	require.Equal(t, `{"n":`, string(entries[3].Detail))
	require.Equal(t, `äää"}`, *entries[3].EndOfCut)
}

func TestPlanIsStartedOnce(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), openStore(t, url)
	plan := store.NewPlan{Project: "default", Name: "p", Tasks: []store.NewTask{
		{Name: "first", Type: "NOOP", Payload: []byte(`{}`)},
		{Name: "then", Type: "NOOP", Payload: []byte(`{}`), MaxAttempts: 3, DependsOn: []string{"first"}},
	}}
	made, err := s.StartPlanOnce(t.Context(), plan)
	require.NoError(t, err)
	require.True(t, made)
	made, err = s.StartPlanOnce(t.Context(), plan)
	require.NoError(t, err)
	require.False(t, made)
	var plans, runs, dependencies, attempts int
	var delay bool
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM rowrun.plan), (SELECT count(*) FROM rowrun.task_run),
		(SELECT count(*) FROM rowrun.task_dependency), max(max_attempts), every(retry_delay = '10 s') FROM rowrun.task`).
		Scan(&plans, &runs, &dependencies, &attempts, &delay))
	require.Equal(t, []int{1, 2, 1, 3}, []int{plans, runs, dependencies, attempts})
	require.True(t, delay)

	n, err := s.RunTaskOfPlan(t.Context(), "default", "p", "first")
	require.NoError(t, err)
	require.Zero(t, n, "a run of it is unfinished")
	_, err = s.CancelRun(t.Context(), 1, "")
	require.NoError(t, err)
	n, err = s.RunTaskOfPlan(t.Context(), "default", "p", "first")
	require.NoError(t, err)
	require.Equal(t, 1, n)

	plan.Name, plan.Tasks[1].DependsOn = "broken", []string{"nowhere"}
	_, err = s.StartPlanOnce(t.Context(), plan)
	require.ErrorContains(t, err, `task "then"`)
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM rowrun.plan").Scan(&plans))
	require.Equal(t, 1, plans, "all or nothing")
}
