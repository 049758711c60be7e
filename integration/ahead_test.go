package integration_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// gone leaves a run behind as a replica does that died: RUNNING, under the name of nobody.
func (d *database) gone(t *testing.T, task int64) int64 {
	t.Helper()
	id := d.run(t, task)
	d.exec(t, `UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE id = $1 AND status = 'PENDING'`, id)
	d.exec(t, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'gone' WHERE id = $1`, id)
	return id
}

// ahead restores rows as its owner does, 1,000 ids on from the sequence, without moving that.
func (d *database) ahead(t *testing.T, table, columns, values string, args ...any) {
	t.Helper()
	last := ask[int64](t, d, `SELECT nextval('rowrun.`+table+`_id_seq')`)
	d.exec(t, `INSERT INTO rowrun.`+table+` (id, `+columns+`) SELECT `+values+` FROM generate_series($1::bigint + 1, $1::bigint + 1000) i`, append([]any{last}, args...)...)
	d.refused(t, "23505", `INSERT INTO rowrun.`+table+` (id, `+columns+`) SELECT nextval('rowrun.`+table+`_id_seq'), `+values[len("i, "):]+` FROM (SELECT $1::bigint AS i) x`, append([]any{int64(-1)}, args...)...)
}

// asReplica is the database as a sidecar reaches it that has the rights of its role and no more.
func asReplica(t *testing.T, d *database) string {
	t.Helper()
	as, err := url.Parse(d.url)
	require.NoError(t, err)
	query := as.Query()
	query.Set("options", "-c role=rowrun_replica")
	as.RawQuery = strings.ReplaceAll(query.Encode(), "+", "%20")
	return as.String()
}

// Rows that were restored ahead of a sequence hold up nothing that the sidecar makes.
func TestRowsAheadOfASequenceHoldUpNothingOfTheSidecars(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	noop := d.task(t, "NOOP", `{}`, columns{"name": "noop"})
	failing := d.task(t, "NOOP", `{"fail": "once more"}`, columns{"max_attempts": 3, "retry_delay": "0 s", "on_failure_task": "noop"})
	plan := ask[int64](t, d, `INSERT INTO rowrun.plan (name) VALUES ('restored') RETURNING id`)
	step := d.task(t, "NOOP", `{"fail": "in a plan"}`, columns{"plan_id": plan})
	d.exec(t, `INSERT INTO rowrun.webhook (url) VALUES ('http://127.0.0.1:9/'), ('http://127.0.0.1:9/2')`)
	lost := d.gone(t, d.task(t, "NOOP", `{}`, columns{"on_stale": "RETRY"}))
	byHand := d.gone(t, noop)
	d.exec(t, `UPDATE rowrun.task_run SET status = 'FAILED' WHERE id = $1`, byHand)
	chain, ofPlan, logged := d.run(t, failing), d.run(t, step), d.job(t, "COMMAND", `{"command": "talks"}`, nil)

	d.ahead(t, "task_run", "task_id, run_at", "i, $2, now() + interval '1 day'", noop)
	d.ahead(t, "task_run_log", "task_run_id, type", "i, $2, 'restored'", chain)
	d.ahead(t, "webhook_delivery", "webhook_id, plan_id, round, event_type, message_id, payload, status", "i, $2, i, 1, 'PIPELINE_FAILED', 'm' || i, '', 'DELIVERED'", int64(1))

	every := d.task(t, "NOOP", `{}`, columns{"schedule": "@every 1s"})
	serve(t, asReplica(t, d), quickLease(), configFile(t, `commands: {talks: {path: /bin/echo, args: [hello]}}`))

	require.NotNil(t, d.await(t, lost, "FAILED").RetryRunID, "a lost run's recovery")
	d.await(t, logged, "DONE")
	require.NotEmpty(t, list[int64](t, d, `SELECT id FROM rowrun.task_run_log WHERE task_run_id = $1`, logged))
	again := ask[int64](t, d, `SELECT rowrun.retry_run($1)`, byHand)
	require.Greater(t, again, byHand+1000)
	d.await(t, again, "DONE")
	eventually(t, patience, "the automatic retries and their handler", func() bool {
		return ask[int](t, d, `SELECT count(*) FROM rowrun.task_run WHERE root_id = $1 AND status = 'FAILED'`, chain) == 3 &&
			ask[int](t, d, `SELECT count(*) FROM rowrun.task_run WHERE task_id = $1 AND input ? 'failed_run' AND status = 'DONE'`, noop) == 1
	})
	eventually(t, patience, "three ticks of a schedule", func() bool {
		return ask[int](t, d, `SELECT count(*) FROM rowrun.task_run WHERE task_id = $1 AND status = 'DONE'`, every) >= 3
	})
	d.await(t, ofPlan, "FAILED")
	require.Equal(t, 2, ask[int](t, d, `SELECT count(*) FROM rowrun.webhook_delivery WHERE plan_id = $1 AND message_id LIKE 'msg%'`, plan))
	require.Len(t, list[int64](t, d, `SELECT rowrun.retry_plan($1)`, plan), 1)
}

// Counters end at their ends: what they count goes on.
func TestCountersThatAreFullStopNothing(t *testing.T) {
	t.Parallel()
	const full = 2147483647
	d := newDatabase(t)
	set := func(run int64, columns string) {
		tx, err := d.pool.Begin(t.Context())
		require.NoError(t, err)
		defer func() { _ = tx.Rollback(t.Context()) }()
		_, err = tx.Exec(t.Context(), `SET LOCAL session_replication_role = replica`)
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), `UPDATE rowrun.task_run SET `+columns+` WHERE id = $1`, run)
		require.NoError(t, err)
		require.NoError(t, tx.Commit(t.Context()))
	}
	lost := d.gone(t, d.task(t, "NOOP", `{}`, columns{"on_stale": "RETRY", "max_attempts": full}))
	set(lost, `attempt = 2147483647, failures = 2147483647`)
	beside := d.gone(t, d.task(t, "NOOP", `{}`, nil))
	failing := d.job(t, "NOOP", `{"fail": "no"}`, columns{"max_attempts": full, "retry_delay": "0 s"})
	set(failing, `attempt = 2147483647, failures = 2147483645`)
	over := d.job(t, "NOOP", `{"fail": "no"}`, columns{"max_attempts": full, "retry_delay": "0 s"})
	set(over, `attempt = 5, failures = 2147483647, recoveries = 2147483647`)

	plan := ask[int64](t, d, `INSERT INTO rowrun.plan (name) VALUES ('old') RETURNING id`)
	step, skipped := d.task(t, "NOOP", `{"fail": "no"}`, columns{"plan_id": plan}), d.task(t, "NOOP", `{}`, columns{"plan_id": plan})
	d.exec(t, `UPDATE rowrun.plan SET round = 2147483647, announced_round = 2147483647, retry_count = 2147483647 WHERE id = $1`, plan)
	first := d.run(t, step)
	d.exec(t, `INSERT INTO rowrun.webhook (url) VALUES ('http://127.0.0.1:9/')`)
	d.exec(t, `INSERT INTO rowrun.webhook_delivery (webhook_id, plan_id, round, event_type, message_id, payload, attempts)
		SELECT w.id, $1, 1, 'PIPELINE_FAILED', 'full', '{}', 2147483647 FROM rowrun.webhook w`, plan)

	serve(t, d.url, quickLease(), []string{"--webhook-allow-cidr", "127.0.0.0/8"})
	successor := d.await(t, lost, "FAILED").RetryRunID
	require.NotNil(t, successor)
	require.Equal(t, full, d.await(t, *successor, "DONE").Attempt)
	d.await(t, beside, "FAILED")
	next := d.await(t, failing, "FAILED").RetryRunID
	require.NotNil(t, next)
	require.Equal(t, full, d.await(t, *next, "FAILED").Attempt)
	require.Nil(t, d.look(t, *next).RetryRunID)
	require.Nil(t, d.await(t, over, "FAILED").RetryRunID)
	require.Equal(t, full, d.look(t, ask[int64](t, d, `SELECT rowrun.retry_run($1)`, *next)).Attempt)
	require.NotEmpty(t, list[int64](t, d, `SELECT attempts FROM rowrun.job WHERE root_id = $1`, failing))

	d.await(t, first, "FAILED")
	require.Len(t, list[int64](t, d, `SELECT rowrun.retry_plan($1)`, plan), 1)
	d.exec(t, `SELECT rowrun.skip_task($1)`, skipped)
	require.Equal(t, full, ask[int](t, d, `SELECT round FROM rowrun.plan WHERE id = $1`, plan))
	eventually(t, patience, "a delivery whose tries are used up", func() bool {
		return ask[string](t, d, `SELECT status FROM rowrun.webhook_delivery WHERE message_id = 'full'`) == "EXHAUSTED"
	})
}

// A run whose end the database refuses (here by a trigger of its owner's) holds no other up: neither where a replica
// records the end of its runs, nor in the sweeps that end those of others. It ends as soon as it may.
func TestRunThatMayNotEndHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	noop := d.task(t, "NOOP", `{}`, nil)
	d.exec(t, `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'run % may not end', OLD.id; END $$`)
	d.exec(t, `CREATE TRIGGER refuse BEFORE UPDATE ON rowrun.task_run FOR EACH ROW
		WHEN (OLD.status = 'RUNNING' AND NEW.status <> 'RUNNING' AND OLD.input ? 'refused') EXECUTE FUNCTION refuse()`)
	refused := func(run int64) int64 {
		d.exec(t, `UPDATE rowrun.task_run SET input = '{"refused": true}' WHERE id = $1`, run)
		return run
	}
	var lost, overdue, own []int64
	asked := func() int64 {
		return ask[int64](t, d, `INSERT INTO rowrun.task_run (task_id, run_at) VALUES ($1, now() + interval '1 day') RETURNING id`, noop)
	}
	for i := range 4 {
		run := asked()
		if i == 0 {
			refused(run)
		}
		lost = append(lost, run)
		run = asked()
		if i == 0 {
			refused(run)
		}
		overdue = append(overdue, run)
	}
	d.exec(t, `UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE status = 'PENDING'`)
	d.exec(t, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'gone' WHERE status = 'AVAILABLE'`)
	d.exec(t, `UPDATE rowrun.task_run SET replica_id = NULL, deadline = now() - interval '1 s' WHERE id = ANY ($1)`, overdue)
	serve(t, d.url, quickLease(), []string{"--sweep-interval", "500ms"})
	for i := range 20 {
		own = append(own, ask[int64](t, d, `INSERT INTO rowrun.task_run (task_id, input) VALUES ($1, $2) RETURNING id`, noop,
			map[bool]string{true: `{"refused": true}`, false: `{}`}[i == 0]))
	}
	for _, run := range own[1:] {
		d.await(t, run, "DONE")
	}
	for _, run := range append(lost[1:len(lost):len(lost)], overdue[1:]...) {
		d.await(t, run, "FAILED")
	}
	for _, run := range []int64{own[0], lost[0], overdue[0]} {
		require.Equal(t, "RUNNING", d.look(t, run).Status)
	}
	d.exec(t, `DROP TRIGGER refuse ON rowrun.task_run`)
	d.await(t, own[0], "DONE")
	d.await(t, lost[0], "FAILED")
	d.await(t, overdue[0], "FAILED")
}
