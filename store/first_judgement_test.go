package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// Versions that one transaction inserts in their order need one judgement, that of the first; the end of each has the
// next looked at. Whatever else may stand before a run, or depend on its being looked at, has it judged by itself.
func TestVersionsOfOneTransactionAreJudgedOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before string // in a transaction of its own
		insert string
		judged []int64 // tasks whose runs are to be judged by themselves
	}{
		"in their order": {"", `INSERT INTO rowrun.task_run (task_id) VALUES (1), (2), (3)`, []int64{1}},
		"downwards":      {"", `INSERT INTO rowrun.task_run (task_id) VALUES (3), (2), (1)`, []int64{1, 2, 3}},
		"behind what is committed": {
			`INSERT INTO rowrun.task_run (task_id) VALUES (1)`, `INSERT INTO rowrun.task_run (task_id) VALUES (2), (3)`, []int64{1, 2},
		},
		"behind what is committed and was changed": {
			`INSERT INTO rowrun.task_run (task_id) VALUES (1)`,
			`UPDATE rowrun.task_run SET input = '{"a": 1}'; INSERT INTO rowrun.task_run (task_id) VALUES (2)`,
			[]int64{1, 2},
		},
		"the first for later": {
			"", `INSERT INTO rowrun.task_run (task_id, run_at) VALUES (1, now() + interval '1 day'); INSERT INTO rowrun.task_run (task_id) VALUES (2), (3)`, []int64{1, 2},
		},
		"the last for later": {
			"", `INSERT INTO rowrun.task_run (task_id, run_at) VALUES (1, now()), (2, now() + interval '1 day')`, []int64{1, 2},
		},
		"behind a savepoint, whose transaction is another": {
			"", `SAVEPOINT s; INSERT INTO rowrun.task_run (task_id) VALUES (1); RELEASE s; INSERT INTO rowrun.task_run (task_id) VALUES (2)`, []int64{1, 2},
		},
		"of another plan":     {"", `INSERT INTO rowrun.task_run (task_id) VALUES (1), (4), (5)`, []int64{1, 4}},
		"of another database": {"", `INSERT INTO rowrun.task_run (task_id) VALUES (1), (6)`, []int64{1, 6}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := connect(t, storetest.New(t))
			exec(t, conn, `INSERT INTO rowrun.plan (id) VALUES (1)`)
			exec(t, conn, `INSERT INTO rowrun.task (id, plan_id, type, database_id, version) VALUES
				(1, NULL, 'NOOP', 'a', '1'), (2, NULL, 'NOOP', 'a', '2'), (3, NULL, 'NOOP', 'a', '3'),
				(4, 1, 'NOOP', 'a', '4'), (5, 1, 'NOOP', 'a', '5'), (6, NULL, 'NOOP', 'b', '2')`)
			if c.before != "" {
				exec(t, conn, c.before)
			}
			exec(t, conn, `BEGIN; `+c.insert+`; COMMIT`)
			require.Equal(t, c.judged, query[[]int64](t, conn, `SELECT array_agg(task_id ORDER BY task_id) FROM rowrun.task_run WHERE judge_at IS NOT NULL`))

			addReplica(t, conn, "r")
			exec(t, conn, `UPDATE rowrun.task_run SET run_at = now() WHERE run_at > now()`)
			for n := query[int](t, conn, `SELECT count(*) FROM rowrun.task_run`); n > 0; n-- {
				promoted := 0
				for range 3 { // a pass leaves marks for the next
					promoted += query[int](t, conn, `SELECT promoted FROM rowrun.promote_runs()`)
				}
				if promoted == 0 {
					require.Zero(t, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE status = 'PENDING'`), "runs were forgotten")
				}
				exec(t, conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r' WHERE status = 'AVAILABLE'`)
				exec(t, conn, `UPDATE rowrun.task_run SET status = 'DONE' WHERE status = 'RUNNING'`)
			}
			require.Zero(t, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE status <> 'DONE'`))
		})
	}
}

// Plans are made at a session's first row; many rows after it must not have the table read from end to end for each.
func TestAnInsertOfManyVersionsReadsNoTable(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	exec(t, conn, `INSERT INTO rowrun.task (type, database_id, version) SELECT 'NOOP', 'db' || n % 3, n::text FROM generate_series(1, 300) n`)
	exec(t, conn, `VACUUM ANALYZE rowrun.task_run`) // says that it is empty
	exec(t, conn, `BEGIN`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task ORDER BY id`)
	require.Zero(t, query[int](t, conn, `SELECT seq_scan FROM pg_stat_xact_user_tables WHERE relid = 'rowrun.task_run'::regclass`))
	exec(t, conn, `COMMIT`)
	require.Equal(t, 3, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE judge_at IS NOT NULL`))
}
