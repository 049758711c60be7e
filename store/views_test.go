package store_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

const ourViews = `SELECT c.relname::text FROM pg_catalog.pg_class c WHERE c.relnamespace = 'rowrun'::regnamespace AND c.relkind IN ('v', 'm') ORDER BY 1`

// A view lends nobody its owner's rights, and each role that works with Rowrun has what the views need.
func TestViewsRunWithTheirReadersRights(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	views := all[string](t, conn, ourViews)
	require.Subset(t, views, []string{"failed_run", "health", "job", "orphan_task_run", "plan_status", "replica_status", "task_status", "unmet_dependency"})
	exec(t, conn, `INSERT INTO rowrun.plan (id) OVERRIDING SYSTEM VALUE VALUES (nextval('rowrun.plan_id_seq'));
INSERT INTO rowrun.task (name, type, plan_id) SELECT 'of a plan', 'NOOP', id FROM rowrun.plan;
INSERT INTO rowrun.task (name, type) VALUES ('work', 'NOOP'), ('orphan', 'COMMAND');
INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task`)
	addReplica(t, conn, "one")
	endAs(t, conn, started(t, conn, query[int64](t, conn, `INSERT INTO rowrun.task (type) VALUES ('NOOP') RETURNING id`)), failedFor, "NONE")

	require.Empty(t, all[string](t, conn, `SELECT c.relname::text FROM pg_catalog.pg_class c
WHERE c.relnamespace = 'rowrun'::regnamespace AND c.relkind IN ('v', 'm')
  AND NOT coalesce(c.reloptions, '{}') && '{security_invoker=true,security_invoker=on}'`), "views with their owner's rights")
	for _, view := range views {
		count := query[int](t, conn, `SELECT count(*) FROM rowrun.`+view)
		for _, role := range []string{"rowrun_client", "rowrun_author", "rowrun_operator", "rowrun_viewer", "rowrun_replica"} {
			exec(t, conn, `SET ROLE `+role)
			require.Len(t, all[string](t, conn, `SELECT v::text FROM rowrun.`+view+` v`), count, "%s as %s", view, role)
			exec(t, conn, `RESET ROLE`)
		}
	}
}

// Whoever may read a view and not its tables reads nothing by it; row level security of the tables holds in it.
func TestViewsGiveNoMoreThanTheirTables(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	role := query[string](t, conn, `SELECT 'rowrun_test_' || replace(gen_random_uuid()::text, '-', '')`)
	exec(t, conn, `CREATE ROLE `+role)
	t.Cleanup(func() { // roles belong to the server
		_, err := conn.Exec(context.WithoutCancel(t.Context()), `RESET ROLE; DROP OWNED BY `+role+`; DROP ROLE `+role)
		require.NoError(t, err)
	})
	exec(t, conn, `GRANT USAGE ON SCHEMA rowrun TO `+role+`;
INSERT INTO rowrun.task (name, type) VALUES ('work', 'NOOP'); INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task`)
	for _, view := range all[string](t, conn, ourViews) {
		exec(t, conn, `GRANT SELECT ON rowrun.`+view+` TO `+role)
		exec(t, conn, `SET ROLE `+role)
		_, err := conn.Exec(t.Context(), `SELECT * FROM rowrun.`+view)
		require.Equal(t, "42501", store.SQLState(err), view)
		exec(t, conn, `RESET ROLE`)
	}
	exec(t, conn, `GRANT SELECT ON rowrun.task_run, rowrun.task TO `+role+`; ALTER TABLE rowrun.task_run ENABLE ROW LEVEL SECURITY; SET ROLE `+role)
	require.Zero(t, query[int](t, conn, `SELECT count(*) FROM rowrun.job`))
}

// Whose rights a view is read with changes nothing of how it is read: by indexes, whoever asks.
func TestViewsAreReadByIndexesWhoeverAsks(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	exec(t, conn, `INSERT INTO rowrun.task (name, type) SELECT 'task ' || n, 'NOOP' FROM generate_series(1, 200) n;
SET session_replication_role = replica;
INSERT INTO rowrun.task_run (id, task_id, root_id, status, priority, creator, type, queue, sequential, finished_at)
SELECT n, 1 + n % 200, n, CASE WHEN n % 10 = 0 THEN 'FAILED' ELSE 'DONE' END, 0, 'x', 'NOOP', 'default', false, now() FROM generate_series(1, 20000) n;
SET session_replication_role = origin; ANALYZE rowrun.task_run, rowrun.task`)
	for _, q := range []string{
		`SELECT * FROM rowrun.job WHERE root_id = 5`, `SELECT * FROM rowrun.failed_run LIMIT 20`,
		`SELECT * FROM rowrun.task_status WHERE task_id = 7`, `SELECT * FROM rowrun.replica_status`,
	} {
		own := all[string](t, conn, `EXPLAIN (COSTS off) `+q)
		require.NotContains(t, strings.Join(own, "\n"), "Seq Scan on task_run", q)
		for _, role := range []string{"rowrun_client", "rowrun_viewer", "rowrun_replica"} {
			exec(t, conn, `SET ROLE `+role)
			require.Equal(t, own, all[string](t, conn, `EXPLAIN (COSTS off) `+q), "%s as %s", q, role)
			exec(t, conn, `RESET ROLE`)
		}
	}
}
