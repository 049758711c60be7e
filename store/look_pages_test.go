package store_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// looks are the ways in which a database on which many wait is looked at for one run: what is done first, and then the
// statement whose pages count. 900000 is a task whose run would be the last there.
func looks() map[string][2]string {
	const (
		insert = `INSERT INTO rowrun.task_run (task_id) VALUES (900000)`
		end    = `UPDATE rowrun.task_run SET status = 'DONE' WHERE status = 'RUNNING'`
		cancel = `SELECT rowrun.cancel_run(max(id)) FROM rowrun.task_run WHERE status = 'PENDING'`
		resume = `UPDATE rowrun.task SET paused = true WHERE id = 900000; ` + insert + `; UPDATE rowrun.task SET paused = false WHERE id = 900000`
		pass   = `SELECT * FROM rowrun.promote_runs()`
	)
	return map[string][2]string{
		"an INSERT":                   {`SELECT 1`, insert},
		firstLook:                     {insert, pass},
		lookAfterPause:                {resume, pass},
		"a pass after a cancel":       {cancel, pass},
		"a pass after an end":         {end, pass},
		"what an end promotes itself": {end, `SELECT * FROM rowrun.promote_next_version(ARRAY[(SELECT database_id FROM rowrun.task WHERE id = 900000)])`},
	}
}

const (
	firstLook      = "the first look at a new run"
	lookAfterPause = "the first look at a run whose task was paused"
)

// Whatever has a database looked at for one run reads as many pages beside 20,000 that wait there as beside 100: by a session
// that has its plans from beside the 100, and after an ANALYZE.
func TestALookAtADatabaseReadsFewPagesOfThoseThatWait(t *testing.T) {
	t.Parallel()
	for _, shape := range []string{"versions", "sequential", "sequential versions"} {
		for _, analyzed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, analyzed %t", shape, analyzed), func(t *testing.T) {
				t.Parallel()
				conn := connect(t, storetest.New(t))
				exec(t, conn, `ALTER TABLE rowrun.task_run SET (autovacuum_enabled = off); ALTER TABLE rowrun.task SET (autovacuum_enabled = off)`)
				few := lookPages(t, conn, shape, analyzed, 1, 100)
				many := lookPages(t, conn, shape, analyzed, 101, 20_000)
				for what, pages := range many {
					t.Logf("%s: %d pages beside 100, %d beside 20,000", what, few[what], pages)
					require.LessOrEqual(t, pages, few[what]+60, what)
				}
			})
		}
	}
}

// lookPages has runs number from to number to wait on a database behind one that is RUNNING, and looks at it in all ways.
func lookPages(t *testing.T, conn *pgx.Conn, shape string, analyzed bool, from, to int) map[string]int {
	t.Helper()
	fillWaiting(t, conn, strings.TrimPrefix(shape, "sequential "), from, to)
	exec(t, conn, `BEGIN; SET LOCAL session_replication_role = replica`)
	if shape == "sequential versions" {
		exec(t, conn, `UPDATE rowrun.task SET sequential = true WHERE NOT sequential`)
		exec(t, conn, `UPDATE rowrun.task_run SET sequential = true WHERE NOT sequential`)
	}
	exec(t, conn, `INSERT INTO rowrun.task (id, type, database_id, version, sequential)
		SELECT 900000, type, database_id, CASE WHEN version IS NOT NULL THEN '30000' END, sequential FROM rowrun.task ORDER BY id DESC LIMIT 1`)
	exec(t, conn, `COMMIT`)
	if analyzed {
		exec(t, conn, `VACUUM ANALYZE`)
	}
	promoteAll(t, conn)
	require.Equal(t, to, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE status = 'PENDING' AND cause = 'DATABASE'`))
	pages := map[string]int{}
	for what, c := range looks() {
		for round := range 3 { // the fewest, as a session reads the catalog now and then
			exec(t, conn, `BEGIN; `+c[0])
			n := pagesOfOne(t, conn, c[1])
			if strings.Contains(c[0], "'DONE'") {
				require.Equal(t, 1, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE status = 'AVAILABLE'`), what)
			}
			exec(t, conn, `ROLLBACK`)
			if round == 0 || n < pages[what] {
				pages[what] = n
			}
		}
	}
	exec(t, conn, `DELETE FROM rowrun.task WHERE id = 900000`) // the next filling would have it run
	return pages
}
