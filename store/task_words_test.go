package store_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// noticing connects, and keeps what the server has to say.
func noticing(t *testing.T, url string) (conn *pgx.Conn, heard func() string) {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	require.NoError(t, err)
	said := ""
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { said += n.Message }
	conn, err = pgx.ConnectConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	return conn, func() string {
		text := said
		said = ""
		return text
	}
}

// A task that exists is brought up to date, and what it had is said. A call that changes nothing draws no id, and says nothing.
func TestDefineTaskSaysWhatItReplaced(t *testing.T) {
	t.Parallel()
	conn, heard := noticing(t, storetest.New(t))
	const row = `SELECT concat_ws(' ', id, type, payload, queue, max_attempts, retry_delay, on_stale, labels) FROM rowrun.task`
	exec(t, conn, `SELECT rowrun.define_task('a', 'NOOP')`)
	before := query[string](t, conn, `SELECT last_value::text FROM rowrun.task_id_seq`)
	exec(t, conn, `SELECT rowrun.define_task('a', 'NOOP', '{}', 'default', retry_delay => '10 s')`)
	require.Equal(t, before, query[string](t, conn, `SELECT last_value::text FROM rowrun.task_id_seq`))
	require.Empty(t, heard())
	exec(t, conn, `SELECT rowrun.define_task('a', 'HTTP', '{"path": "/"}', 'slow', max_attempts => 3, retry_delay => '1 s', on_stale => 'RETRY', labels => '{"x": 1}')`)
	require.Equal(t, `define_task: task "a" (id 1) is brought up to date; it had another: type NOOP, payload, queue default, max_attempts 1, retry_delay 00:00:10, on_stale FAIL, labels`, heard())
	require.Equal(t, `1 HTTP {"path": "/"} slow 3 00:00:01 RETRY {"x": 1}`, query[string](t, conn, row))
	exec(t, conn, `SELECT rowrun.define_task('a', 'NOOP')`)
	require.Equal(t, `1 NOOP {} default 1 00:00:10 FAIL {}`, query[string](t, conn, row), "what a call leaves out has its default")
}

// What people mistype is taken, with a word about what they may have meant, or refused with what to do.
func TestWordsOfTasks(t *testing.T) {
	t.Parallel()
	conn, heard := noticing(t, storetest.New(t))
	addReplica(t, conn, "r")
	exec(t, conn, `UPDATE rowrun.replica_heartbeat SET types = '{NOOP,Report}'`)
	exec(t, conn, `SET ROLE rowrun_client`)
	for kind, meant := range map[string]string{"noop": "NOOP", "database-migrate": "DATABASE_MIGRATE", " SQL": "SQL", "REPORT": "Report", "Report": "", "OTHER": "", "NOOP": ""} {
		exec(t, conn, `INSERT INTO rowrun.task (type) VALUES ($1)`, kind)
		said := heard()
		if meant == "" {
			require.Empty(t, said, kind)
		} else {
			require.Contains(t, said, "did you mean "+meant+"?")
		}
	}
	for columns, c := range map[string]struct{ constraint, message, hint string }{
		`(type, version, database_id) VALUES ('NOOP', 'v1', 'a')`: {"task_version_numbers_and_dots", `version "v1" of a task is not numbers and dots`, "Such as 1.10"},
		`(type, version) VALUES ('NOOP', '1')`:                    {"task_order_needs_database", "the task needs database_id", "only a name to order by"},
		`(type, on_stale) VALUES ('NOOP', 'retry')`:               {"task_on_stale_fail_retry_or_cancel", "none of FAIL, RETRY, CANCEL", "RETRY"},
		`(type, max_attempts) VALUES ('NOOP', 0)`:                 {"task_max_attempts_from_1", "at least 1, not 0", "no retry"},
	} {
		_, err := conn.Exec(t.Context(), `INSERT INTO rowrun.task `+columns)
		var refused *pgconn.PgError
		require.ErrorAs(t, err, &refused, columns)
		require.Equal(t, "23514", refused.Code)
		require.Equal(t, c.constraint, refused.ConstraintName)
		require.Contains(t, refused.Message, c.message)
		require.Contains(t, refused.Hint, c.hint)
	}
	exec(t, conn, `RESET ROLE`)
	constraints := query[[]string](t, conn, `SELECT array_agg(conname::text) FROM pg_constraint WHERE contype = 'c' AND connamespace = 'rowrun'::regnamespace`)
	for _, named := range []string{"task_version_numbers_and_dots", "task_order_needs_database", "task_on_stale_fail_retry_or_cancel", "task_max_attempts_from_1", "task_migrate_needs_target", "plan_on_failure_stop_database_stop_or_continue"} {
		require.Contains(t, constraints, named, "the trigger names the CHECK that refuses the same")
	}
}

// A task's id may come as text, where no task has that name.
func TestRunTaskTakesAnIDAsText(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	exec(t, conn, `INSERT INTO rowrun.task (id, name, type) VALUES (1, '2', 'NOOP'), (2, 'two', 'NOOP')`)
	for name, task := range map[string]int64{"1": 1, "2": 1, "two": 2} {
		run := query[int64](t, conn, `SELECT rowrun.run_task($1::text)`, name)
		require.Equal(t, task, query[int64](t, conn, `SELECT task_id FROM rowrun.task_run WHERE id = $1`, run), name)
	}
	_, err := conn.Exec(t.Context(), `SELECT rowrun.run_task('TWO')`)
	require.ErrorContains(t, err, `there is no task named "TWO"`)
	_, err = conn.Exec(t.Context(), `SELECT rowrun.run_task('99999999999999999999')`)
	require.ErrorContains(t, err, "there is no task named")
}

// The upserts of ORMs name the columns of the key alone, and set them too.
func TestUpsertsByKey(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	exec(t, conn, `INSERT INTO rowrun.task (id, type, paused) VALUES (1, 'NOOP', true), (2, 'NOOP', true); SET ROLE rowrun_client`)
	upsert := func(input string) error {
		_, err := conn.Exec(t.Context(), `INSERT INTO rowrun.task_run (task_id, idempotency_key, input) VALUES (1, 'k', $1) ON CONFLICT (task_id, idempotency_key)
			DO UPDATE SET task_id = excluded.task_id, idempotency_key = excluded.idempotency_key, input = excluded.input`, input)
		return err
	}
	require.NoError(t, upsert(`{"a": 1}`))
	require.NoError(t, upsert(`{"a": 2}`))
	require.Equal(t, `{"a": 2}`, query[string](t, conn, `SELECT input::text FROM rowrun.task_run`))
	exec(t, conn, `SELECT rowrun.cancel_run(id) FROM rowrun.task_run`)
	require.NoError(t, upsert(`{"a": 2}`), "it changes nothing")
	require.ErrorContains(t, upsert(`{"a": 3}`), "RR003")
	for _, set := range []string{"task_id = 2", "idempotency_key = 'other'"} {
		_, err := conn.Exec(t.Context(), `UPDATE rowrun.task_run SET `+set)
		require.ErrorContains(t, err, "RR003")
	}
}
