package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// Runs that failed together don't come back together, however long their delay has become.
func TestRetriesAreSpreadAtTheLongestDelayToo(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	for _, c := range []struct {
		delay       string
		failures    int
		least, most string
	}{
		{"10 s", 0, "8 s", "12 s"},
		{"10 s", 3, "64 s", "96 s"},
		{"50 min", 0, "40 min", "60 min"},
		{"1 h", 0, "48 min", "60 min"},
		{"10 s", 9, "48 min", "60 min"},
		{"100 years", 1000000, "48 min", "60 min"},
	} {
		task := query[int64](t, conn, `INSERT INTO rowrun.task (type, max_attempts, retry_delay) VALUES ('NOOP', 2147483647, $1::interval) RETURNING id`, c.delay)
		var runs []int64
		for range 30 {
			runs = append(runs, started(t, conn, task))
		}
		exec(t, conn, `ALTER TABLE rowrun.task_run DISABLE TRIGGER task_run_fixed`)
		exec(t, conn, `UPDATE rowrun.task_run SET failures = $2 WHERE id = ANY ($1)`, runs, c.failures)
		exec(t, conn, `ALTER TABLE rowrun.task_run ENABLE TRIGGER task_run_fixed`)
		exec(t, conn, `BEGIN`)
		ended := query[int64](t, conn, `SELECT count(*) FROM rowrun.end_runs($1::bigint[], array_fill(NULL::uuid, '{30}'), array_fill('FAILED'::text, '{30}'),
			array_fill('{"code": "ERROR", "detail": "no"}'::jsonb, '{30}'), array_fill('FAILURE'::text, '{30}'))`, runs)
		require.Equal(t, int64(30), ended)
		// Delays count from a moment in this transaction.
		require.Equal(t, "30 0", query[string](t, conn, `SELECT count(DISTINCT run_at) || ' ' || count(*) FILTER (
			WHERE run_at < now() + $2::interval OR run_at > clock_timestamp() + $3::interval) FROM rowrun.task_run WHERE retry_of = ANY ($1)`, runs, c.least, c.most),
			"%s, %d", c.delay, c.failures)
		exec(t, conn, `ROLLBACK`)
	}
}
