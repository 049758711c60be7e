package store_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

func TestAPlanIsMadeInOneCall(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	exec(t, conn, `SET ROLE rowrun_client`)
	plan := query[int64](t, conn, `SELECT rowrun.create_plan('release', '[
		{"name": "ship", "type": "NOOP", "depends_on": ["build", "build"], "database_id": "a", "version": "1.2", "priority": 3, "labels": {"a": 1}},
		{"name": "build", "type": "NOOP", "timeout": "5 min", "depends_on": null}, {"type": "NOOP", "timeout": 30}]',
		project => 'shop', parallel_limit => 2, on_failure => 'STOP')`)
	require.Equal(t, "release shop 2 STOP", query[string](t, conn, `SELECT concat_ws(' ', name, project, parallel_limit, on_failure) FROM rowrun.plan WHERE id = $1`, plan))
	require.Equal(t, `ship NOOP default a 1.2 3 {"a": 1}; build NOOP default 0 00:05:00 {}; NOOP default 0 00:00:30 {}`, query[string](t, conn,
		`SELECT string_agg(concat_ws(' ', nullif(name, ''), type, queue, database_id, version, priority, timeout, labels), '; ' ORDER BY id) FROM rowrun.task WHERE plan_id = $1`, plan))
	require.Equal(t, "ship build", query[string](t, conn,
		`SELECT string_agg(k.name || ' ' || o.name, ', ') FROM rowrun.task_dependency d JOIN rowrun.task k ON k.id = d.task_id JOIN rowrun.task o ON o.id = d.depends_on_id`))
	require.Equal(t, 3, query[int](t, conn, `SELECT count(*) FROM rowrun.run_plan($1)`, plan))
}

// A plan that can't be made as a whole isn't made.
func TestAPlanThatIsWrongIsRefusedAsAWhole(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	exec(t, conn, `SET ROLE rowrun_client`)
	for tasks, says := range map[string]string{
		`{}`:  "tasks is no array",
		`[1]`: "task 1: it is no object",
		`[{"name": "a", "type": "NOOP"}, {"name": "b", "type": "NOOP", "colour": 1}]`:                                          "task 2: colour is none of its members",
		`[{"name": "a", "type": "NOOP", "depends_on": "b"}]`:                                                                   "task 1: depends_on is no array of names",
		`[{"name": "a", "type": "NOOP", "depends_on": ["b"]}]`:                                                                 "task 'a' depends on 'b', which is none of this plan",
		`[{"type": "NOOP", "depends_on": ["b"]}, {"name": "b", "type": "NOOP"}]`:                                               "task without a name depends on 'b'",
		`[{"name": "a", "type": "NOOP", "depends_on": ["b"]}, {"name": "b", "type": "NOOP", "depends_on": ["a"]}]`:             "dependencies in a circle",
		`[{"name": "a", "type": "NOOP"}, {"name": "a", "type": "NOOP"}]`:                                                       "task_plan_name",
		`[{"name": "a", "type": "NOOP"}, {"name": "b", "type": "SQL", "payload": {"sql": "SELECT 1"}, "database_id": "demo"}]`: "only members of rowrun_author",
	} {
		_, err := conn.Exec(t.Context(), `SELECT rowrun.create_plan('p', $1::jsonb)`, tasks)
		require.ErrorContains(t, err, says)
	}
	for member, code := range map[string]string{
		`"priority": "high"`: "22P02", `"priority": 1.5`: "22P02", `"max_attempts": 3000000000`: "22003", `"paused": "maybe"`: "22P02",
		`"timeout": "long"`: "22007", `"retention": true`: "22007", `"retention": [1]`: "RR003", `"timeout": [1]`: "RR003", `"name": {"a": 1}`: "RR003",
	} {
		_, err := conn.Exec(t.Context(), `SELECT rowrun.create_plan('p', $1::jsonb)`, `[{"type": "NOOP"}, {"type": "NOOP", `+member+`}]`)
		var refused *pgconn.PgError
		require.ErrorAs(t, err, &refused, member)
		require.Equal(t, code, refused.Code, member)
		require.Contains(t, refused.Message, "create_plan: task 2: ", member)
		require.NotEmpty(t, refused.Hint, member)
	}
	require.Zero(t, query[int](t, conn, `SELECT count(*) FROM rowrun.plan`))
}
