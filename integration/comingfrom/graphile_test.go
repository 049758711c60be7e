package comingfrom_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGraphileWorker(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.node("graphile-worker", "--schema-only", "--connection", d.tcp())
	d.exec(`SELECT rowrun.define_task('mail', 'MAIL', priority => 9), rowrun.define_task('call', 'HTTP', '{"path": "/call"}'),
			rowrun.define_task('serial', 'SERIAL', database_id => 'accounts', sequential => true), rowrun.define_task('report', 'COMMAND', '{"command": "report"}')`,
		`SELECT graphile_worker.add_job('mail', '{"n": 1}')`,
		`SELECT graphile_worker.add_job('mail', '{"n": 2}', priority => -5, run_at => now() + interval '1 day')`,
		`SELECT graphile_worker.add_job('mail', '{"n": 3}', job_key => 'digest of 7', run_at => now() + interval '1 hour')`,
		`SELECT graphile_worker.add_job('mail', '{"n": 4}', queue_name => 'one by one')`,
		`SELECT graphile_worker.add_job('mail', '[5]')`,
		`SELECT graphile_worker.add_job('mail', '{"n": 6, "text": "\u0000"}')`,
		`SELECT graphile_worker.add_job('mail', '{"n": 7}', job_key => 'taken')`,
		`SELECT rowrun.run_task('mail', '{"n": 70}', idempotency_key => 'taken')`,
		`SELECT graphile_worker.add_job('serial', '{"n": 8}', queue_name => 'accounts')`,
		`SELECT graphile_worker.add_job('call', '{"order": 17}')`,
		`SELECT graphile_worker.add_job('report', '{"day": "2026-11-23"}')`,
		`SELECT graphile_worker.add_job('stranger')`,
		`SELECT graphile_worker.add_job('mail', jsonb_build_object('n', 9, 'text', repeat('x', 1100000))::json)`,
		// One failed and is to be retried, one has failed for good, one is running: as workers leave them.
		`SELECT graphile_worker.add_job('mail', '{"n": 10}', run_at => now() + interval '1 hour')`,
		`UPDATE graphile_worker._private_jobs SET attempts = 3, last_error = 'no luck' WHERE payload::text = '{"n": 10}'`,
		`SELECT graphile_worker.add_job('mail', '{"n": 11}', max_attempts => 1)`,
		`UPDATE graphile_worker._private_jobs SET attempts = 1, last_error = 'no luck' WHERE payload::text = '{"n": 11}'`,
		`SELECT graphile_worker.add_job('mail', '{"n": 12}')`,
		`UPDATE graphile_worker._private_jobs SET attempts = 1, locked_at = now(), locked_by = 'worker-1' WHERE payload::text = '{"n": 12}'`)

	require.Equal(t, []string{
		"call | moved |  | 1", "mail | moved |  | 5", "mail | stays | a run of the task has its key | 1", "mail | stays | its data has more than 1 MB | 1",
		"mail | stays | its payload is no jsonb | 1", "mail | stays | its queue runs one at a time: make the task sequential, or say -v serial=ignore | 1",
		"report | moved |  | 1", "serial | moved |  | 1", "stranger | stays | no task of this name: rowrun.define_task | 1",
	}, d.moved("graphile-worker.sql"))
	require.ElementsMatch(t, []string{
		`call | AVAILABLE | {"body": {"order": 17}} | 0 | graphile-worker graphile_worker 9 | due`,
		`mail | AVAILABLE | {"n": 1} | 9 | graphile-worker graphile_worker 1 | due`,
		`mail | PENDING | {"n": 10} | 9 | graphile-worker graphile_worker 13 | soon`,
		`mail | PENDING | {"n": 2} | 5 | graphile-worker graphile_worker 2 | tomorrow`,
		`mail | PENDING | {"n": 3} | 9 | digest of 7 | soon`,
		`mail | AVAILABLE | {"n": 70} | 9 | taken | due`,
		`mail | AVAILABLE | {"data": [5]} | 9 | graphile-worker graphile_worker 5 | due`,
		`report | AVAILABLE | {"args": {"day": "2026-11-23"}} | 0 | graphile-worker graphile_worker 10 | due`,
		`serial | PENDING | {"n": 8} | 0 | graphile-worker graphile_worker 8 | due`,
	}, d.runs())
	left := `SELECT n FROM (SELECT id, substring(payload::text FROM '"n": ?([0-9]+)') AS n FROM graphile_worker._private_jobs) AS j WHERE n IS NOT NULL ORDER BY id`
	require.ElementsMatch(t, []string{"4", "6", "7", "9", "11", "12"}, d.lines(left))
	// Its key finds it here too.
	require.Equal(t, []string{"true"}, d.lines(`SELECT (rowrun.replace_run('mail', 'digest of 7', '{"n": 33}') = id)::text FROM rowrun.task_run WHERE input ->> 'n' = '3'`))

	require.Equal(t, "mail | moved |  | 1", d.move("graphile-worker.sql", "serial=ignore")[0])
	require.ElementsMatch(t, []string{"6", "7", "9", "11", "12"}, d.lines(left))
}
