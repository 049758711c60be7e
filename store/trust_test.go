package store_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// inRole is a session that has a role of the contract.
func inRole(t *testing.T, url, role string) *pgx.Conn {
	t.Helper()
	conn := connect(t, url)
	exec(t, conn, `SET ROLE `+role)
	return conn
}

// denied proves that a statement fails with this SQLSTATE.
func denied(t *testing.T, conn *pgx.Conn, state, sql string, args ...any) {
	t.Helper()
	_, err := conn.Exec(t.Context(), sql, args...)
	require.Equal(t, state, store.SQLState(err), "%s: %v", sql, err)
}

// Settings are anybody's: what a client sets in its session makes none of its runs a retry, a tick or somebody else's.
func TestSettingsForgeNothing(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	owner, client := connect(t, url), inRole(t, url, "rowrun_client")
	task := query[int64](t, owner, `INSERT INTO rowrun.task (type, max_attempts) VALUES ('NOOP', 3) RETURNING id`)
	first := query[int64](t, owner, `INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id`, task)
	exec(t, owner, `UPDATE rowrun.task_run SET status = 'CANCELED' WHERE id = $1`, first)
	for _, name := range []string{"retrying", "scheduling", "ready_plans", "promoted"} {
		exec(t, client, `SELECT set_config('rowrun.`+name+`', 'on', false)`)
	}
	forged := query[int64](t, client, `INSERT INTO rowrun.task_run (task_id, retry_of, root_id, attempt, creator, failures, recoveries, tick, missed_at, round)
		VALUES ($1, $2, $2, 2147483647, 'postgres', 2147483647, 2147483647, now(), '-infinity', 7) RETURNING id`, task, first)
	require.Equal(t, fmt.Sprintf("%d 0 rowrun_client 0 0", forged), query[string](t, owner, `SELECT concat_ws(' ', root_id, attempt, creator, failures, recoveries, retry_of, tick, missed_at, round)
		FROM rowrun.task_run WHERE id = $1`, forged))

	// Nor where a role has the right to make successors, but no predecessor names this one.
	replica := inRole(t, url, "rowrun_replica")
	forged = query[int64](t, replica, `INSERT INTO rowrun.task_run (task_id, retry_of, root_id, attempt) VALUES ($1, $2, $2, 9) RETURNING id`, task, first)
	require.Equal(t, int64(0), query[int64](t, owner, `SELECT attempt + coalesce(retry_of, 0) FROM rowrun.task_run WHERE id = $1`, forged))
	// The one that a predecessor does name is a successor, whoever asked for it.
	again := query[int64](t, client, `SELECT rowrun.retry_run($1)`, first)
	require.Equal(t, fmt.Sprintf("%d 1", first), query[string](t, owner, `SELECT root_id || ' ' || attempt FROM rowrun.task_run WHERE id = $1`, again))
}

// A plan's new run has its mark, whatever the session says of marks; and one mark is enough for a transaction.
func TestNoSettingTakesThePlansMarkAway(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	owner, client := connect(t, url), inRole(t, url, "rowrun_client")
	plan := query[int64](t, client, `INSERT INTO rowrun.plan (name) VALUES ('p') RETURNING id`)
	exec(t, client, `INSERT INTO rowrun.task (plan_id, type) SELECT $1, 'NOOP' FROM generate_series(1, 100)`, plan)
	exec(t, client, `SELECT set_config('rowrun.ready_plans', ',' || $1::bigint || ',', false)`, plan)
	exec(t, client, `BEGIN; SAVEPOINT one`)
	exec(t, client, `INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task WHERE plan_id = $1 ORDER BY id LIMIT 50`, plan)
	exec(t, client, `RELEASE one`)
	exec(t, client, `INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task WHERE plan_id = $1 ORDER BY id OFFSET 50`, plan)
	exec(t, client, `COMMIT`)
	require.Equal(t, int64(1), query[int64](t, owner, `SELECT count(*) FROM rowrun.gate_mark WHERE kind = 'PLAN' AND plan_id = $1`, plan))
}

// A client that keeps quiet about its own inserts can't silence what it does to others' runs.
func TestQuietSessionsSilenceOnlyTheirOwnInserts(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	owner, client := connect(t, url), inRole(t, url, "rowrun_client")
	task := query[int64](t, owner, `INSERT INTO rowrun.task (type) VALUES ('NOOP') RETURNING id`)
	theirs := query[int64](t, owner, `INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id`, task)
	l := newListener(t, url)
	exec(t, client, `SET rowrun.notify = off`)
	exec(t, client, `INSERT INTO rowrun.task_run (task_id) VALUES ($1)`, task)
	require.Empty(t, l.heard(t), "its own insert")
	require.Equal(t, "CANCELED", query[string](t, client, `SELECT rowrun.cancel_run($1)`, theirs))
	payloads := l.heard(t)
	require.Len(t, payloads, 1)
	require.Contains(t, payloads[0], fmt.Sprintf(`"run_id":%d,`, theirs))
}

// The end of a schedule's run makes the next, whatever the session of who ended it says.
func TestNoSettingEndsASchedule(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	owner, client := connect(t, url), inRole(t, url, "rowrun_client")
	task := query[int64](t, owner, `INSERT INTO rowrun.task (type, schedule) VALUES ('NOOP', '@every 1h') RETURNING id`)
	waiting := `SELECT id FROM rowrun.task_run WHERE task_id = $1 AND status = 'PENDING'`
	first := query[int64](t, owner, waiting, task)
	exec(t, client, `SET rowrun.scheduling = on`)
	denied(t, client, "42501", `UPDATE rowrun.task_run SET tick = now() WHERE id = $1`, first)
	exec(t, client, `UPDATE rowrun.task_run SET cancel_requested_at = now() WHERE id = $1`, first)
	require.NotEqual(t, first, query[int64](t, owner, waiting, task), "the run that follows")
	// A schedule that is changed replaces its run, and tells of it.
	l := newListener(t, url)
	exec(t, client, `UPDATE rowrun.task SET schedule = NULL WHERE id = $1`, task)
	require.Contains(t, strings.Join(l.heard(t), " "), `"from":"PENDING","to":"CANCELED"`)
	require.Equal(t, "Task run canceled: its schedule ended", query[string](t, owner,
		`SELECT result ->> 'detail' FROM rowrun.task_run WHERE task_id = $1 ORDER BY id DESC LIMIT 1`, task))
}

// Ids are drawn by the database: one that wasn't would fail somebody's INSERT later, a negative one whoever counts.
func TestIdsAreDrawn(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	owner, client, author := connect(t, url), inRole(t, url, "rowrun_client"), inRole(t, url, "rowrun_author")
	task := query[int64](t, client, `INSERT INTO rowrun.task (type) VALUES ('NOOP') RETURNING id`)
	for _, id := range []string{"-1", "0", "-9223372036854775808", "9223372036854775807", "2", "1000"} {
		denied(t, client, "RR003", `INSERT INTO rowrun.task_run (id, task_id) VALUES (`+id+`, $1)`, task)
		denied(t, client, "RR003", `INSERT INTO rowrun.plan (id) VALUES (`+id+`)`)
		denied(t, client, "RR003", `INSERT INTO rowrun.task (id, type) VALUES (`+id+`, 'NOOP')`)
		denied(t, author, "RR003", `INSERT INTO rowrun.webhook (id, url) VALUES (`+id+`, 'http://localhost/')`)
	}
	drawn := query[int64](t, client, `SELECT nextval('rowrun.task_run_id_seq')`)
	first := query[int64](t, client, `INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id`, task)
	require.Equal(t, drawn, query[int64](t, client, `INSERT INTO rowrun.task_run (id, task_id) VALUES ($1, $2) RETURNING id`, drawn, task), "drawn and free")
	denied(t, client, "23505", `INSERT INTO rowrun.task_run (id, task_id) VALUES ($1, $2)`, drawn, task)
	require.Greater(t, query[int64](t, client, `INSERT INTO rowrun.task_run (id, task_id) VALUES (NULL, $1) RETURNING id`, task), first)

	// Of a chain whose first run is gone nobody takes the name.
	exec(t, owner, `UPDATE rowrun.task_run SET status = 'CANCELED' WHERE id = $1`, first)
	exec(t, client, `SELECT rowrun.retry_run($1)`, first)
	exec(t, owner, `DELETE FROM rowrun.task_run WHERE id = $1`, first)
	denied(t, client, "RR003", `INSERT INTO rowrun.task_run (id, task_id) VALUES ($1, $2)`, first, task)
	exec(t, owner, `INSERT INTO rowrun.task_run (id, task_id) VALUES (1000, $1)`, task) // a restore
}

// A job that was deleted without being DONE holds back who waits for it, whoever would like to be that job.
func TestNobodyTakesTheIDOfADeletedJobThatRunsWaitFor(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	owner, client := connect(t, url), inRole(t, url, "rowrun_client")
	addReplica(t, owner, "r")
	gone, other := plainTask(t, client, "gone"), plainTask(t, client, "other")
	job := query[int64](t, client, `SELECT rowrun.run_task($1::bigint, run_at => now() + interval '1 hour')`, gone)
	run := runAfter(t, client, other, job)
	exec(t, client, `SELECT rowrun.cancel_run($1)`, job)
	exec(t, client, `SELECT rowrun.delete_task($1)`, gone)
	refusedW(t, client, "RR003", "is that of a job whose first run is gone", `INSERT INTO rowrun.task_run (id, task_id) VALUES ($1, $2)`, job, other)
	exec(t, owner, `SELECT setval('rowrun.task_run_id_seq', $1, false)`, job)
	require.Greater(t, query[int64](t, owner, `SELECT rowrun.next_run_id()`), run, "a run that the sidecar makes doesn't fail by it")
	exec(t, owner, `SELECT rowrun.promote_runs(true)`)
	require.Equal(t, "PENDING", statusOf(t, client, run))
}

// An id that is given again, and has a row: whether that has a successor is nothing to an INSERT that does nothing.
func TestAnIDThatIsGivenAgainIsNoChainsOfItsOwn(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	owner, client := connect(t, url), inRole(t, url, "rowrun_client")
	task := plainTask(t, client, "")
	id := newRun(t, client, task)
	exec(t, owner, `UPDATE rowrun.task_run SET status = 'CANCELED' WHERE id = $1`, id)
	exec(t, client, `SELECT rowrun.retry_run($1)`, id)
	exec(t, client, `INSERT INTO rowrun.task_run (id, task_id) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING`, id, task)
	denied(t, client, "23505", `INSERT INTO rowrun.task_run (id, task_id) VALUES ($1, $2)`, id, task)
}

// Cancels of runs that ended, or that were asked for, are history.
func TestCancelsAreNeitherForgedNorWithdrawn(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	owner, client := connect(t, url), inRole(t, url, "rowrun_client")
	task := query[int64](t, owner, `INSERT INTO rowrun.task (type) VALUES ('NOOP') RETURNING id`)
	run := func(statuses ...string) int64 {
		id := query[int64](t, owner, `INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id`, task)
		for _, s := range statuses {
			exec(t, owner, `UPDATE rowrun.task_run SET status = $2, replica_id = 'r' WHERE id = $1`, id, s)
		}
		return id
	}
	for _, end := range []string{"DONE", "FAILED", "CANCELED"} {
		id := run("AVAILABLE", "RUNNING", end)
		denied(t, client, "RR004", `UPDATE rowrun.task_run SET cancel_requested_at = now() WHERE id = $1`, id)
		denied(t, client, "RR004", `UPDATE rowrun.task_run SET cancel_reason = 'me' WHERE id = $1`, id)
	}
	asked := run("AVAILABLE", "RUNNING")
	denied(t, client, "23514", `UPDATE rowrun.task_run SET cancel_requested_at = 'infinity' WHERE id = $1`, asked)
	exec(t, client, `UPDATE rowrun.task_run SET cancel_requested_at = '1999-01-01', cancel_reason = 'no' WHERE id = $1`, asked)
	require.True(t, query[bool](t, owner, `SELECT cancel_requested_at BETWEEN now() - interval '1 minute' AND clock_timestamp() FROM rowrun.task_run WHERE id = $1`, asked))
	denied(t, client, "RR003", `UPDATE rowrun.task_run SET cancel_requested_at = NULL WHERE id = $1`, asked)
	denied(t, client, "RR003", `UPDATE rowrun.task_run SET cancel_reason = 'somebody else' WHERE id = $1`, asked)
	require.Equal(t, "RUNNING", query[string](t, client, `SELECT rowrun.cancel_run($1, 'again')`, asked))
}

// Priority and input belong to who asked for a run until it is claimed, its time until it is AVAILABLE.
func TestRunsAreEditedUntilTheyAreClaimed(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	owner, client := connect(t, url), inRole(t, url, "rowrun_client")
	task := query[int64](t, owner, `INSERT INTO rowrun.task (type) VALUES ('NOOP') RETURNING id`)
	id := query[int64](t, client, `INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id`, task)
	exec(t, client, `UPDATE rowrun.task_run SET priority = 7, input = '{"a": 1}' WHERE id = $1`, id)
	require.Equal(t, `AVAILABLE 7 {"a": 1} UNTOLD`, query[string](t, owner, `SELECT concat_ws(' ', status, priority, input, cause, judge_at) FROM rowrun.task_run WHERE id = $1`, id))
	denied(t, client, "RR003", `UPDATE rowrun.task_run SET run_at = now() + interval '1 hour' WHERE id = $1`, id)
	denied(t, client, "23514", `UPDATE rowrun.task_run SET input = '[]' WHERE id = $1`, id)
	exec(t, owner, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r' WHERE id = $1`, id)
	denied(t, client, "RR003", `UPDATE rowrun.task_run SET priority = 8 WHERE id = $1`, id)
	denied(t, client, "RR003", `UPDATE rowrun.task_run SET input = '{}' WHERE id = $1`, id)
	exec(t, client, `UPDATE rowrun.task_run SET input = input, priority = priority, run_at = run_at WHERE id = $1`, id)
}

// A table-wide UPDATE or DELETE permits LOCK TABLE, by which one session stops everything.
func TestOnlyOwnerAndReplicasLockTables(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	owner := connect(t, url)
	tables := all[string](t, owner, `SELECT c.oid::regclass::text FROM pg_class c WHERE c.relnamespace = 'rowrun'::regnamespace AND c.relkind = 'r' ORDER BY 1`)
	require.Greater(t, len(tables), 15)
	for _, role := range []string{"rowrun_client", "rowrun_author", "rowrun_operator", "rowrun_viewer"} {
		conn := inRole(t, url, role)
		for _, table := range tables {
			for _, mode := range []string{"SHARE", "SHARE UPDATE EXCLUSIVE", "SHARE ROW EXCLUSIVE", "EXCLUSIVE", "ACCESS EXCLUSIVE"} {
				denied(t, conn, "42501", `BEGIN; LOCK TABLE `+table+` IN `+mode+` MODE`)
				exec(t, conn, `ROLLBACK`)
			}
			denied(t, conn, "42501", `DELETE FROM `+table)
		}
	}
}

// Of tasks that authors write clients change nothing, delete nothing, and say nothing of what they wait for.
func TestAuthorsTasksAreAuthors(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	owner, client, author := connect(t, url), inRole(t, url, "rowrun_client"), inRole(t, url, "rowrun_author")
	plan := query[int64](t, client, `INSERT INTO rowrun.plan (name) VALUES ('p') RETURNING id`)
	theirs := query[int64](t, author, `INSERT INTO rowrun.task (plan_id, type, database_id) VALUES ($1, 'SQL', 'a') RETURNING id`, plan)
	job := query[int64](t, author, `INSERT INTO rowrun.task (name, type, database_id) VALUES ('job', 'COMMAND', 'a') RETURNING id`)
	mine := query[int64](t, client, `INSERT INTO rowrun.task (plan_id, type) VALUES ($1, 'NOOP') RETURNING id`, plan)

	columns := all[string](t, owner, `SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = 'rowrun.task'::regclass AND a.attnum > 0
		AND NOT a.attisdropped AND has_column_privilege('rowrun_client', 'rowrun.task', a.attname, 'UPDATE') ORDER BY 1`)
	require.Greater(t, len(columns), 15)
	for _, column := range columns {
		denied(t, client, "42501", fmt.Sprintf(`UPDATE rowrun.task SET %[1]s = %[1]s WHERE id = $1`, column), job)
		exec(t, author, fmt.Sprintf(`UPDATE rowrun.task SET %[1]s = %[1]s WHERE id = $1`, column), job)
		exec(t, client, fmt.Sprintf(`UPDATE rowrun.task SET %[1]s = %[1]s WHERE id = $1`, column), mine)
	}
	denied(t, client, "42501", `UPDATE rowrun.task SET type = 'SQL' WHERE id = $1`, mine)
	denied(t, client, "42501", `INSERT INTO rowrun.task_dependency VALUES ($1, $2)`, theirs, mine)
	exec(t, client, `INSERT INTO rowrun.task_dependency VALUES ($1, $2)`, mine, theirs)
	exec(t, client, `SELECT rowrun.delete_dependency($1, $2)`, mine, theirs)
	denied(t, client, "P0002", `SELECT rowrun.delete_dependency($1, $2)`, mine, theirs)
	exec(t, author, `INSERT INTO rowrun.task_dependency VALUES ($1, $2)`, theirs, mine)
	denied(t, client, "42501", `SELECT rowrun.delete_dependency($1, $2)`, theirs, mine)
	require.False(t, query[bool](t, client, `SELECT rowrun.remove_dependency($1, $2)`, theirs, mine), "nor by what delete_dependency calls")
	refusedW(t, client, "42501", fmt.Sprintf("may say what task %d waits for", theirs), `SELECT rowrun.delete_task($1)`, mine)
	require.False(t, query[bool](t, client, `SELECT rowrun.remove_task($1)`, mine), "nor by what delete_task calls")
	denied(t, client, "42501", `SELECT rowrun.remove_any_dependency($1, $2)`, theirs, mine)

	for _, task := range []int64{theirs, job} {
		denied(t, client, "42501", `SELECT rowrun.delete_task($1)`, task)
		denied(t, client, "42501", `SELECT rowrun.remove_any_task($1)`, task)
		require.False(t, query[bool](t, client, `SELECT rowrun.remove_task($1)`, task))
	}
	denied(t, client, "42501", `SELECT rowrun.delete_plan($1)`, plan)
	denied(t, client, "42501", `SELECT rowrun.remove_any_plan($1)`, plan)
	require.False(t, query[bool](t, client, `SELECT rowrun.remove_plan($1)`, plan))
	other := query[int64](t, client, `INSERT INTO rowrun.task (plan_id, type) VALUES ($1, 'NOOP') RETURNING id`, plan)
	exec(t, author, `INSERT INTO rowrun.task_dependency VALUES ($1, $2)`, theirs, other)
	exec(t, author, `SELECT rowrun.delete_task($1)`, other)
	exec(t, author, `SELECT rowrun.delete_dependency($1, $2)`, theirs, mine)
	exec(t, client, `SELECT rowrun.delete_task($1)`, mine)
	denied(t, client, "P0002", `SELECT rowrun.delete_task($1)`, mine)
	exec(t, author, `SELECT rowrun.delete_task($1)`, job)
	exec(t, author, `SELECT rowrun.delete_plan($1)`, plan)
	denied(t, client, "P0002", `SELECT rowrun.delete_plan($1)`, plan)
	require.Zero(t, query[int](t, owner, `SELECT count(*) FROM rowrun.task`))

	hook := query[int64](t, author, `INSERT INTO rowrun.webhook (url) VALUES ('http://localhost/') RETURNING id`)
	denied(t, client, "42501", `SELECT rowrun.delete_webhook($1)`, hook)
	exec(t, author, `UPDATE rowrun.webhook SET enabled = false WHERE id = $1`, hook)
	exec(t, author, `SELECT rowrun.delete_webhook($1)`, hook)

	// A run that is under way keeps its task and its plan.
	plan = query[int64](t, client, `INSERT INTO rowrun.plan (name) VALUES ('q') RETURNING id`)
	mine = query[int64](t, client, `INSERT INTO rowrun.task (plan_id, type) VALUES ($1, 'NOOP') RETURNING id`, plan)
	exec(t, client, `INSERT INTO rowrun.task_run (task_id) VALUES ($1)`, mine)
	exec(t, owner, `UPDATE rowrun.task_run SET status = 'AVAILABLE'`)
	denied(t, client, "RR006", `SELECT rowrun.delete_task($1)`, mine)
	denied(t, client, "RR006", `SELECT rowrun.delete_plan($1)`, plan)
}
