package store_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// Of a burst on a database that is busy, one transaction's first run is looked at, and its second has the database looked
// at. All the others are held by the database from their INSERT on, in whatever way that is, and none is forgotten.
func TestABurstBehindABusyDatabaseIsLookedAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first, task string
		opened      int // how many may go when the first run ends
	}{
		"sequential runs":            {"false, NULL", "true, NULL", 1},
		"behind a sequential run":    {"true, NULL", "false, NULL", 1000},
		"behind a smaller version":   {"false, '1'", "false, '2'", 1000},
		"sequential ones of version": {"false, '1'", "true, '2'", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := connect(t, storetest.New(t))
			addReplica(t, conn, "r")
			exec(t, conn, `INSERT INTO rowrun.task (id, type, database_id, sequential, version) VALUES (1, 'NOOP', 'a', `+c.first+`), (2, 'NOOP', 'a', `+c.task+`)`)
			exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES (1)`)
			promoteAll(t, conn)
			exec(t, conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r' WHERE status = 'AVAILABLE'`)
			promoteAll(t, conn)
			exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT 2 FROM generate_series(1, 1000)`)
			require.Equal(t, 1, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE judge_at IS NOT NULL`))
			require.Equal(t, 999, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE hold = 'DATABASE'`))
			require.Equal(t, 1, query[int](t, conn, `SELECT count(*) FROM rowrun.gate_mark`))
			promoteAll(t, conn)
			require.Zero(t, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE status = 'AVAILABLE'`))

			exec(t, conn, `UPDATE rowrun.task_run SET status = 'DONE' WHERE status = 'RUNNING'`)
			promoteAll(t, conn)
			require.Equal(t, c.opened, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE status = 'AVAILABLE'`))
		})
	}
}

// The first of a transaction may go at once where what was before it has ended by its look: then the others are looked at too.
func TestABurstIsLookedAtWhereItsDatabaseHasJustComeFree(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := connect(t, url)
	addReplica(t, conn, "r")
	exec(t, conn, `INSERT INTO rowrun.task (id, type, database_id, sequential) VALUES (1, 'NOOP', 'a', true), (2, 'NOOP', 'a', false)`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES (1)`)
	promoteAll(t, conn)
	exec(t, conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r' WHERE status = 'AVAILABLE'`)
	other := connect(t, url)
	exec(t, other, `BEGIN`)
	exec(t, other, `INSERT INTO rowrun.task_run (task_id) SELECT 2 FROM generate_series(1, 1000)`)
	exec(t, conn, `UPDATE rowrun.task_run SET status = 'DONE' WHERE status = 'RUNNING'`)
	promoteAll(t, conn)
	require.Zero(t, query[int](t, conn, `SELECT count(*) FROM rowrun.gate_mark`), "the end's mark is taken before the burst can be seen")
	exec(t, other, `COMMIT`)
	require.Equal(t, 999, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE hold = 'DATABASE'`))
	promoteAll(t, conn)
	require.Equal(t, 1000, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE status = 'AVAILABLE'`))
}

// Where more is due than a pass takes on, each database and each plan has its turn in the next one.
func TestFirstLooksTakeTurns(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	addReplica(t, conn, "r")
	exec(t, conn, `INSERT INTO rowrun.plan (id) VALUES (1)`)
	exec(t, conn, `INSERT INTO rowrun.task (id, plan_id, type, database_id) VALUES (1, NULL, 'NOOP', 'crowd'), (2, NULL, 'NOOP', 'before'), (3, NULL, 'NOOP', 'other'), (4, 1, 'NOOP', 'crowd')`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT 1 FROM generate_series(1, 5000)`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES (2), (3), (4)`)
	require.Equal(t, 5003, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE judge_at IS NOT NULL`), "nothing is known to hold them")
	require.True(t, query[bool](t, conn, `SELECT more FROM rowrun.promote_runs()`))
	require.Equal(t, []int64{1, 2, 3, 4}, query[[]int64](t, conn, `SELECT array_agg(DISTINCT task_id ORDER BY task_id) FROM rowrun.task_run WHERE status = 'AVAILABLE'`))
	require.Less(t, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE status = 'AVAILABLE'`), 300, "who waits beside a crowd waits for a short pass")
	promoteAll(t, conn)
	require.Equal(t, 5003, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE status = 'AVAILABLE'`))
}

// promoteAll passes until nothing more is to be done, as a replica does.
func promoteAll(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	for query[bool](t, conn, `SELECT p.more OR EXISTS (SELECT FROM rowrun.gate_mark) FROM rowrun.promote_runs() p`) {
		continue
	}
}
