package comingfrom_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The table as db-scheduler's documentation has its users make it: first that of its earliest versions, then what was added.
const (
	scheduledTasks = `CREATE TABLE scheduled_tasks (
		task_name text NOT NULL, task_instance text NOT NULL, task_data bytea, execution_time timestamptz NOT NULL, picked boolean NOT NULL,
		picked_by text, last_success timestamptz, last_failure timestamptz, consecutive_failures integer, last_heartbeat timestamptz,
		version bigint NOT NULL, PRIMARY KEY (task_name, task_instance))`
	addedColumns = `ALTER TABLE scheduled_tasks ADD COLUMN priority smallint, ADD COLUMN state text, ALTER COLUMN execution_time DROP NOT NULL`
	fill         = `INSERT INTO scheduled_tasks (task_name, task_instance, task_data, execution_time, picked, version) VALUES `
)

func TestDBScheduler(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.exec(`SELECT rowrun.define_task('mail', 'MAIL', priority => 9), rowrun.define_task('call', 'HTTP', '{"path": "/call"}'), rowrun.define_task('nightly', 'MAIL')`,
		scheduledTasks, fill+`('mail', 'order-1', '{"n": 1}', now() - interval '1 minute', false, 1),
			('mail', 'order-2', NULL, now() + interval '1 day', false, 1),
			('mail', 'order-3', '\xaced00057372', now(), false, 1),
			('mail', 'order-4', '[4]', now(), false, 1),
			('mail', 'order-5', NULL, now(), true, 2),
			('mail', 'taken', NULL, now(), false, 1),
			('mail', 'locked', NULL, now(), false, 1),
			('mail', '', NULL, now(), false, 1),
			('mail', repeat('x', 501), NULL, now(), false, 1),
			('mail', 'never', NULL, 'infinity', false, 1),
			('call', 'a "quoted" one', '"text"', now(), false, 1),
			('nightly', 'recurring', NULL, now() + interval '1 day', false, 8),
			('stranger', 'order-1', NULL, now(), false, 1)`,
		`UPDATE scheduled_tasks SET last_failure = now(), consecutive_failures = 2, execution_time = now() + interval '1 hour' WHERE task_instance = 'order-4'`,
		`SELECT rowrun.run_task('mail', '{"n": 70}', idempotency_key => 'taken')`)

	// Somebody is picking one.
	other := newSession(d)
	other.exec(`BEGIN`, `UPDATE scheduled_tasks SET picked = true, version = version + 1 WHERE task_instance = 'locked'`)
	require.Equal(t, []string{
		"call | moved |  | 1", "mail | moved |  | 4", "mail | stays | a run of the task has its key | 1", "mail | stays | its instance has no name | 1",
		"mail | stays | its key has more than 500 bytes | 1", "mail | stays | its time is beyond 1900 to 9999 | 1",
		"nightly | stays | it recurs: give the task a schedule, and delete the row | 1", "stranger | stays | no task of this name: rowrun.define_task | 1",
	}, d.moved("db-scheduler.sql"))
	other.exec(`COMMIT`)
	require.ElementsMatch(t, []string{
		`call | AVAILABLE | {"body": {"data": "text", "instance": "a \"quoted\" one"}} | 0 | a "quoted" one | due`,
		`mail | AVAILABLE | {"n": 70} | 9 | taken | due`,
		`mail | AVAILABLE | {"data": {"n": 1}, "instance": "order-1"} | 9 | order-1 | due`,
		`mail | AVAILABLE | {"instance": "order-3", "data_base64": "rO0ABXNy"} | 9 | order-3 | due`,
		`mail | PENDING | {"data": [4], "instance": "order-4"} | 9 | order-4 | soon`,
		`mail | PENDING | {"instance": "order-2"} | 9 | order-2 | tomorrow`,
	}, d.runs())
	require.Equal(t, []string{"", "locked", "never", "order-1", "order-5", "recurring", "taken", "x"}, d.lines(`SELECT CASE WHEN length(task_instance) > 500 THEN 'x' ELSE task_instance END FROM scheduled_tasks ORDER BY 1`))

	// As a role that may what its page says, and no more.
	d.exec(`CREATE ROLE mover IN ROLE rowrun_client`)
	t.Cleanup(func() { d.exec(`DROP OWNED BY mover`, `DROP ROLE mover`) })
	d.role = "mover"
	// Today's table, with priorities and executions that are deactivated; by another name.
	d.exec(addedColumns, `CREATE SCHEMA jobs`, `ALTER TABLE scheduled_tasks SET SCHEMA jobs`, `ALTER TABLE jobs.scheduled_tasks RENAME TO "the tasks"`,
		`DELETE FROM jobs."the tasks"`, `INSERT INTO jobs."the tasks" (task_name, task_instance, execution_time, picked, version, priority, state) VALUES
			('mail', 'order-6', now(), false, 1, 100, NULL), ('mail', 'order-7', NULL, false, 1, 0, 'FAILED')`)
	d.exec(`GRANT USAGE ON SCHEMA jobs TO mover`, `GRANT SELECT, UPDATE, DELETE ON jobs."the tasks" TO mover`)
	require.Equal(t, []string{"mail | moved |  | 1"}, d.moved("db-scheduler.sql", "schema=jobs", "table=the tasks"))
	require.Contains(t, d.runs(), `mail | AVAILABLE | {"instance": "order-6"} | 100 | order-6 | due`)
	require.Equal(t, []string{"order-7"}, d.lines(`SELECT task_instance FROM jobs."the tasks"`))
}
