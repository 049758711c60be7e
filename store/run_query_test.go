package store_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

func openStore(t *testing.T, url string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{URL: url, MaxConns: 2})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// fill makes runs of every kind in every status that they can have here, judged
// and not yet judged.
func fill(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	exec(t, conn, `
INSERT INTO rowrun.plan (name, parallel_limit) VALUES ('a', 2), ('b', NULL);
INSERT INTO rowrun.task (plan_id, name, type, queue, database_id, version, paused)
SELECT p.id, CASE WHEN n % 7 = 0 THEN '' ELSE 'task ' || n || coalesce('-' || d, '') END,
       CASE n % 3 WHEN 0 THEN 'NOOP' WHEN 1 THEN 'HTTP' ELSE 'MINE' END,
       CASE n % 4 WHEN 0 THEN 'slow' ELSE 'default' END, d, CASE WHEN d IS NULL THEN NULL ELSE n::text END, n % 5 = 0
FROM generate_series(1, 14) n, (SELECT id FROM rowrun.plan UNION ALL SELECT NULL) p, (VALUES (NULL), ('orders')) v(d)
ORDER BY 1;
INSERT INTO rowrun.task_run (task_id, run_at)
SELECT k.id, CASE WHEN k.id % 6 = 0 THEN now() + interval '1 day' ELSE now() END FROM rowrun.task k
CROSS JOIN LATERAL generate_series(1, CASE WHEN k.plan_id IS NULL THEN 3 ELSE 1 END);
SELECT rowrun.promote_runs(true)`)
	for _, edge := range []string{
		"UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'nobody' WHERE status = 'AVAILABLE' AND id % 4 <> 0",
		"UPDATE rowrun.task_run SET status = 'FAILED' WHERE status = 'RUNNING' AND id % 3 = 0",
		"UPDATE rowrun.task_run SET status = 'DONE' WHERE status = 'RUNNING' AND id % 3 = 1",
		"UPDATE rowrun.task_run SET status = 'CANCELED' WHERE status = 'PENDING' AND id % 5 = 0",
		"SELECT rowrun.retry_run(id) FROM rowrun.task_run WHERE status IN ('FAILED', 'CANCELED') AND id % 2 = 0",
		// Not judged yet.
		"INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task WHERE plan_id IS NULL",
	} {
		exec(t, conn, edge)
	}
}

// Whatever is asked for, the answer is that of a plain look at all rows.
func TestListRunsAgreesWithALookAtAllRows(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), openStore(t, url)
	fill(t, conn)
	all, err := s.ListRuns(t.Context(), store.RunFilter{Limit: 10000})
	require.NoError(t, err)
	var rows, statuses int
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*), count(DISTINCT status) FROM rowrun.task_run").Scan(&rows, &statuses))
	require.Len(t, all, rows)
	require.Equal(t, 6, statuses)

	random := rand.New(rand.NewPCG(uint64(storetest.Seed(t)), 0)) //nolint:gosec // not a secret
	pick := func(values ...string) string { return values[random.IntN(len(values))] }
	found := 0
	for range storetest.Count(300, 5000) {
		f := store.RunFilter{Limit: 1 + random.IntN(100)}
		if random.IntN(4) == 0 {
			f.FailedForGood = true
		} else {
			for range random.IntN(4) {
				f.Statuses = append(f.Statuses, pick("PENDING", "AVAILABLE", "RUNNING", "DONE", "FAILED", "CANCELED"))
			}
		}
		f.Type = pick("", "", "NOOP", "HTTP", "MINE")
		f.Queue = pick("", "", "slow", "default")
		f.DatabaseID = pick("", "", "orders")
		f.Task = pick("", "", "", "task 1", "task 2-orders", "5", "40", "60")
		if plan := int64(random.IntN(6)); plan < 3 {
			f.PlanID = &plan
		}
		var want []int64
		for _, run := range all {
			if holds(f, run) {
				want = append(want, run.ID)
			}
		}
		if f.FailedForGood {
			slices.Reverse(want) // all of these have failed in one statement: compared as a set below
		}
		runs, err := s.ListRuns(t.Context(), f)
		require.NoError(t, err, "%+v", f)
		got := []int64{}
		for _, run := range runs {
			got = append(got, run.ID)
		}
		require.Len(t, got, min(len(want), f.Limit), "%+v", f)
		if f.FailedForGood {
			require.Subset(t, want, got, "%+v", f)
		} else {
			require.Equal(t, want[:len(got)], append([]int64(nil), got...), "%+v", f)
		}
		found += len(got)
	}
	require.Positive(t, found)
}

func holds(f store.RunFilter, run store.Run) bool {
	is := func(want string, got *string) bool { return want == "" || (got != nil && *got == want) }
	return (len(f.Statuses) == 0 || slices.Contains(f.Statuses, run.Status)) &&
		(!f.FailedForGood || (run.Status == "FAILED" && run.RetryRunID == nil)) &&
		is(f.Type, &run.Type) && is(f.Queue, &run.Queue) && is(f.DatabaseID, run.DatabaseID) &&
		(f.PlanID == nil || (run.PlanID != nil && *run.PlanID == *f.PlanID)) &&
		(f.Task == "" || run.TaskName == f.Task || strconv.FormatInt(run.TaskID, 10) == f.Task)
}

func TestListRunsNamesTheTaskThatIsNotThere(t *testing.T) {
	t.Parallel()
	s := openStore(t, storetest.New(t))
	for _, task := range []string{"none", "7"} {
		_, err := s.ListRuns(t.Context(), store.RunFilter{Task: task, Limit: 1})
		require.ErrorIs(t, err, store.ErrNoTask)
	}
}

func TestFailedRunsAreListedByWhenTheyFailed(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), openStore(t, url)
	exec(t, conn, `INSERT INTO rowrun.task (type) VALUES ('NOOP');
INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task, generate_series(1, 3);
UPDATE rowrun.task_run SET status = 'AVAILABLE';
UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'nobody'`)
	for _, id := range []int64{2, 3, 1} {
		exec(t, conn, "UPDATE rowrun.task_run SET status = 'FAILED' WHERE id = $1", id)
	}
	runs, err := s.ListRuns(t.Context(), store.RunFilter{FailedForGood: true, Limit: 2})
	require.NoError(t, err)
	require.Len(t, runs, 2)
	require.Equal(t, []int64{1, 3}, []int64{runs[0].ID, runs[1].ID})
}
