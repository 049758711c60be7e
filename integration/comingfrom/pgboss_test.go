package comingfrom_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPgBoss(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.node("pg-boss", "create", "--schema", "boss", "--connection-string", d.tcp())
	// Rows as pg-boss's documentation has them inserted by others than its own library.
	d.exec(`SELECT rowrun.define_task('mail', 'MAIL', priority => 9), rowrun.define_task('call', 'HTTP', '{"path": "/call"}')`,
		`SELECT boss.create_queue('mail', '{"policy": "standard", "retry_limit": 2}'), boss.create_queue('call', '{"policy": "standard", "partition": true}'),
			boss.create_queue('stranger', '{"policy": "standard"}')`,
		`INSERT INTO boss.job (name, data) VALUES ('mail', '{"n": 1}'), ('mail', NULL), ('mail', '"text"'), ('stranger', '{}'), ('call', '{"order": 17}')`,
		`INSERT INTO boss.job (name, data, priority, start_after) VALUES ('mail', '{"n": 2}', 7, now() + interval '1 day')`,
		`INSERT INTO boss.job (name, data, singleton_key) VALUES ('mail', '{"n": 3}', 'one'), ('mail', '{"n": 4}', 'one')`,
		`INSERT INTO boss.job (name, data, state, retry_count, start_after) VALUES ('mail', '{"n": 5}', 'retry', 1, now() + interval '1 hour')`,
		`INSERT INTO boss.job (name, data, state, started_on) VALUES ('mail', '{"n": 6}', 'active', now())`,
		`INSERT INTO boss.job (name, data, state, completed_on) VALUES ('mail', '{"n": 7}', 'completed', now()), ('mail', '{"n": 8}', 'failed', now())`,
		`INSERT INTO boss.job (name, data, blocked, pending_dependencies) VALUES ('mail', '{"n": 9}', true, 1)`)

	require.Equal(t, []string{
		"call | moved |  | 1", "mail | moved |  | 7", "mail | stays | it waits for other jobs, or they for it | 1",
		"stranger | stays | no task of this name: rowrun.define_task | 1",
	}, d.moved("pg-boss.sql", "schema=boss"))
	d.exec(`UPDATE rowrun.task_run SET run_at = run_at`) // a run that was moved is like any other
	require.ElementsMatch(t, []string{
		`call | AVAILABLE | {"body": {"order": 17}} | 0 | due`,
		`mail | AVAILABLE | {"n": 1} | 9 | due`,
		`mail | PENDING | {"n": 2} | 7 | tomorrow`,
		`mail | AVAILABLE | {"n": 3} | 9 | due`,
		`mail | AVAILABLE | {"n": 4} | 9 | due`,
		`mail | PENDING | {"n": 5} | 9 | soon`,
		`mail | AVAILABLE | {"data": "text"} | 9 | due`,
		`mail | AVAILABLE | {} | 9 | due`,
	}, d.lines(`SELECT concat_ws(' | ', k.name, r.status, r.input, r.priority,
			CASE WHEN r.run_at > now() + interval '20 hours' THEN 'tomorrow' WHEN r.run_at > now() THEN 'soon' ELSE 'due' END)
		FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id ORDER BY k.name, r.input ->> 'n', r.input::text`))
	require.Equal(t, []string{"6 active", "7 completed", "8 failed", "9 created"}, d.lines(
		`SELECT (data ->> 'n') || ' ' || state::text FROM boss.job WHERE name = 'mail' AND state <> 'cancelled' ORDER BY 1`))
	require.Equal(t, []string{"8"}, d.lines(`SELECT count(*)::text FROM boss.job j JOIN rowrun.task_run r ON r.id = (j.output ->> 'rowrun_run_id')::bigint
		AND r.idempotency_key = 'pg-boss boss ' || j.id WHERE j.state = 'cancelled' AND j.completed_on IS NOT NULL`))
}
