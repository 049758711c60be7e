package store_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// What a plan has room for is counted by the index of its runs, also where the statement was planned while nothing was
// AVAILABLE: otherwise each look at a plan would read all that is AVAILABLE anywhere.
func TestRoomOfAPlanIsCountedByItsIndex(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	exec(t, conn, `INSERT INTO rowrun.plan (id, parallel_limit) SELECT n, 20 FROM generate_series(1, 100) n`)
	exec(t, conn, `INSERT INTO rowrun.task (plan_id, type) SELECT 1 + n % 100, 'NOOP' FROM generate_series(1, 5000) n`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task ORDER BY id`)
	exec(t, conn, `VACUUM ANALYZE rowrun.task_run`)
	exec(t, conn, `SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_bitmapscan = off`)
	exec(t, conn, `PREPARE room AS SELECT r.slots, r.open, r.slots > 0 FROM unnest($1::bigint[]) p(id) CROSS JOIN LATERAL rowrun.plan_room(p.id) r WHERE r.slots > 0`)
	exec(t, conn, `EXECUTE room('{1, 2}')`)
	exec(t, conn, `INSERT INTO rowrun.task (id, type) VALUES (10000, 'EMAIL')`)
	exec(t, conn, `BEGIN; SET LOCAL session_replication_role = replica`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id, root_id, status, priority, creator, type, queue, sequential, available_at)
		SELECT 10000, n, 'AVAILABLE', 0, 'x', 'EMAIL', 'default', false, now() FROM generate_series(1, 2000) n`)
	exec(t, conn, `COMMIT`)

	rows, err := conn.Query(t.Context(), `EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) EXECUTE room('{1, 2}')`)
	require.NoError(t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	plan := strings.Join(lines, "\n")
	require.Contains(t, plan, "task_run_plan_unfinished")
	require.NotRegexp(t, `Rows Removed by (Filter|Join Filter|Index Recheck): \d{3}`, plan)
	require.Equal(t, 1, strings.Count(plan, "task_run_plan_unfinished"), "it is counted once, whatever is asked of it:\n%s", plan)
}

// An AVAILABLE run that keeps a slot, and that no replica takes any more, is named to those that wait for the slot, whatever the plan does
// when a task fails.
func TestARunThatKeepsASlotIsNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		onFailure string
		fails     bool
		want      string
	}{
		"goes on":                      {onFailure: "CONTINUE", want: "NO_REPLICA PLAN_LIMIT"},
		"goes on behind a failure":     {onFailure: "CONTINUE", fails: true, want: "NO_REPLICA PLAN_LIMIT"},
		"would stop":                   {onFailure: "STOP", want: "NO_REPLICA PLAN_LIMIT"},
		"has stopped":                  {onFailure: "STOP", fails: true, want: "NO_REPLICA PLAN_FAILED PLAN_LIMIT"},
		"would stop a database's runs": {onFailure: "STOP_DATABASE", want: "NO_REPLICA PLAN_LIMIT"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := editedWorld(t)
			exec(t, conn, `INSERT INTO rowrun.plan (id, parallel_limit, on_failure) VALUES (1, 1, $1)`, c.onFailure)
			exec(t, conn, `INSERT INTO rowrun.task (id, plan_id, type) VALUES (1, 1, 'OWN'), (2, 1, 'NOOP'), (3, 1, 'NOOP')`)
			stuck, run := newRun(t, conn, 1), newRun(t, conn, 2)
			promoteAll(t, conn)
			if c.fails {
				exec(t, conn, `UPDATE rowrun.task SET outcome = 'FAILED' WHERE id = 3`)
			}
			exec(t, conn, `UPDATE rowrun.replica_heartbeat SET types = '{NOOP}'`)
			require.Equal(t, "AVAILABLE", statusOf(t, conn, stuck))
			require.Contains(t, query[[]string](t, conn, `SELECT array_agg(message) FROM rowrun.waiting($1)`, run),
				"run 1 keeps a slot of plan 1, and no live replica can take it")
			require.Equal(t, c.want, waitsFor(t, conn, run))
		})
	}
}
