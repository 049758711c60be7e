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
		looked      int // at how many the mark has a pass look meanwhile
		opened      int // how many may go when the first run ends
	}{
		"sequential runs":            {"false, NULL", "true, NULL", 5, 1},
		"behind a sequential run":    {"true, NULL", "false, NULL", 0, 1000},
		"behind a smaller version":   {"false, '1'", "false, '2'", 0, 1000},
		"sequential ones of version": {"false, '1'", "true, '2'", 0, 1},
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
			require.Equal(t, 999, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE cause = 'DATABASE'`))
			require.Equal(t, 1, query[int](t, conn, `SELECT count(*) FROM rowrun.gate_mark`))
			require.Equal(t, c.looked, query[int](t, conn, `SELECT count(*) FROM rowrun.waiting_on_databases('{a}')`))
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
	require.Equal(t, 999, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE cause = 'DATABASE'`))
	promoteAll(t, conn)
	require.Equal(t, 1000, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE status = 'AVAILABLE'`))
}

// What something else than its database may hold has a look of its own, though the first of its transaction waits.
func TestABurstThatMoreThanItsDatabaseMayHoldIsLookedAtOneByOne(t *testing.T) {
	t.Parallel()
	for name, given := range map[string]string{
		"of a plan":                   `UPDATE rowrun.task SET plan_id = 1 WHERE id > 2`,
		"of tasks that are paused":    `UPDATE rowrun.task SET paused = true WHERE id > 1`,
		"of tasks that are skipped":   `UPDATE rowrun.task SET skipped = true WHERE id > 1`,
		"of a type that nobody takes": `UPDATE rowrun.task SET type = 'OWN' WHERE id > 1`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := connect(t, storetest.New(t))
			addReplica(t, conn, "r")
			exec(t, conn, `INSERT INTO rowrun.plan (id) VALUES (1)`)
			exec(t, conn, `INSERT INTO rowrun.task (id, type, database_id, sequential) SELECT n, 'NOOP', 'a', true FROM generate_series(1, 20) n`)
			exec(t, conn, given)
			exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES (1)`)
			promoteAll(t, conn)
			exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT n FROM generate_series(2, 20) n`)
			require.Equal(t, 19, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE status = 'PENDING' AND cause IS NULL AND judge_at IS NOT NULL`))
			require.Zero(t, query[int](t, conn, `SELECT count(*) FROM rowrun.gate_mark WHERE kind = 'DATABASE'`))
		})
	}
}

// What another transaction's run waits for may have ended, and that mark been taken, before a run behind it can be seen.
func TestABurstBehindAnotherTransactionsIsLookedAt(t *testing.T) {
	t.Parallel()
	for name, version := range map[string]string{"without a version": "NULL, NULL", "of a version": "'1', '2'"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := storetest.New(t)
			conn, other := connect(t, url), connect(t, url)
			addReplica(t, conn, "r")
			exec(t, conn, `INSERT INTO rowrun.task (id, type, database_id, sequential, version)
				SELECT n, 'NOOP', 'a', n = 1, (ARRAY[`+version+`])[n] FROM generate_series(1, 2) n`)
			exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES (1)`)
			promoteAll(t, conn)
			exec(t, conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r' WHERE status = 'AVAILABLE'`)
			exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES (2)`)
			promoteAll(t, conn)
			require.Equal(t, "DATABASE", query[string](t, conn, `SELECT cause FROM rowrun.task_run WHERE status = 'PENDING'`))
			exec(t, other, `BEGIN`)
			exec(t, other, `INSERT INTO rowrun.task_run (task_id) VALUES (2)`)
			exec(t, conn, `UPDATE rowrun.task_run SET status = 'DONE' WHERE status = 'RUNNING'`)
			promoteAll(t, conn)
			exec(t, other, `COMMIT`)
			promoteAll(t, conn)
			require.Equal(t, 2, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE status = 'AVAILABLE'`))
		})
	}
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

// Of more databases than have their turn in a pass each has one in the second, however many others have waited for longer; and
// a pass that can't take on all that have a turn takes some of each.
func TestFirstLooksGoRoundAllDatabases(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	addReplica(t, conn, "r")
	exec(t, conn, `INSERT INTO rowrun.task (id, type, database_id) SELECT n, 'NOOP', to_char(n, 'FM000') FROM generate_series(1, 600) n`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id, run_at) SELECT k.id, now() - interval '1 day' + make_interval(mins => k.id::int)
		FROM rowrun.task k, generate_series(1, 10)`)
	looked := func() int {
		require.True(t, query[bool](t, conn, `SELECT more FROM rowrun.promote_runs()`))
		return query[int](t, conn, `SELECT count(DISTINCT database_id) FROM rowrun.task_run WHERE status = 'AVAILABLE'`)
	}
	require.Equal(t, 500, looked())
	require.Equal(t, 600, looked())
}

// Whom a pass looks at first is found in as many pages beside 30,000 that are due on one database as beside 3,000.
func TestFirstLooksReadFewPagesOfACrowd(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	exec(t, conn, `INSERT INTO rowrun.task (id, type, database_id) SELECT n, 'NOOP', 'db' || n FROM generate_series(1, 10) n`)
	var pages []int
	for _, n := range []int{3000, 27_000} {
		// The crowd is of the sixth, so that others stand before and behind it.
		exec(t, conn, `BEGIN; SET LOCAL session_replication_role = replica`)
		exec(t, conn, `INSERT INTO rowrun.task_run (task_id, root_id, status, priority, creator, type, queue, database_id, sequential, judge_at)
			SELECT k.id, k.id, 'PENDING', 0, 'x', k.type, k.queue, k.database_id, false, now() - interval '1 hour'
			FROM rowrun.task k CROSS JOIN LATERAL generate_series(1, CASE k.id WHEN 6 THEN $1 ELSE 30 END) m`, n)
		exec(t, conn, `COMMIT`)
		exec(t, conn, `VACUUM ANALYZE rowrun.task_run`)
		require.Equal(t, 10, query[int](t, conn, `SELECT count(DISTINCT r.task_id) FROM unnest(rowrun.first_looks('{}', clock_timestamp(), 1000)) l(id) JOIN rowrun.task_run r ON r.id = l.id`))
		pages = append(pages, pagesOf(t, conn, `SELECT rowrun.first_looks('{}', clock_timestamp(), 1000)`))
	}
	t.Logf("pages beside 3,000 and 30,000: %d", pages)
	require.LessOrEqual(t, pages[1], pages[0]+30)
}

// promoteAll passes until nothing more is to be done, as a replica does.
func promoteAll(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	for query[bool](t, conn, `SELECT p.more OR EXISTS (SELECT FROM rowrun.gate_mark) FROM rowrun.promote_runs() p`) {
		continue
	}
}
