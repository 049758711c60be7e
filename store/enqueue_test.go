package store_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

func all[T any](t *testing.T, conn *pgx.Conn, sql string, args ...any) []T {
	t.Helper()
	rows, err := conn.Query(t.Context(), sql, args...)
	require.NoError(t, err, sql)
	list, err := pgx.CollectRows(rows, pgx.RowTo[T])
	require.NoError(t, err, sql)
	return list
}

func TestEnqueueManyTakesATaskByIdOrNameAndInputsInEachForm(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	task := query[int64](t, conn, `SELECT rowrun.define_task('many', 'NOOP')`)
	for _, call := range []string{
		`'many', '[{"n": 1}, {"n": 2}]'`,
		`'many', '[{"n": 1}, {"n": 2}]'::jsonb`,
		`'many', ARRAY['{"n": 1}', '{"n": 2}']::jsonb[]`,
		`(SELECT id FROM rowrun.task), '[{"n": 1}, {"n": 2}]'`,
		`(SELECT id FROM rowrun.task), ARRAY['{"n": 1}'::jsonb, '{"n": 2}']`,
	} {
		ids := all[int64](t, conn, `SELECT * FROM rowrun.enqueue_many(`+call+`, run_at => '2100-01-01', priority => 7)`)
		require.Len(t, ids, 2, call)
		require.Equal(t, []string{"1 7", "2 7"}, all[string](t, conn, `SELECT concat_ws(' ', input ->> 'n', priority) FROM rowrun.task_run
			WHERE id = ANY ($1) AND task_id = $2 AND run_at = '2100-01-01' ORDER BY id`, ids, task), call)
	}
	require.Empty(t, all[int64](t, conn, `SELECT * FROM rowrun.enqueue_many('many', '[]')`))
	require.Len(t, all[int64](t, conn, `SELECT * FROM rowrun.enqueue_many($1, $2)`, "many", `[{"n": 3}]`), 1, "as drivers send it")
}

// A batch with one key that exists, or twice in it: nothing of it, or all but that.
func TestEnqueueManyIsAllOrNothingOrSkipsKeysThatExist(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	exec(t, conn, `SELECT rowrun.define_task('many', 'NOOP'); SELECT rowrun.run_task('many', idempotency_key => 'b')`)
	for _, keys := range []string{"{a,b,c}", "{a,d,d}"} {
		_, err := conn.Exec(t.Context(), `SELECT rowrun.enqueue_many('many', '[{}, {}, {}]', $1)`, keys)
		require.Equal(t, "23505", store.SQLState(err))
		require.Equal(t, 1, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run`), "all or nothing")
	}
	require.Len(t, all[int64](t, conn, `SELECT * FROM rowrun.enqueue_many('many', '[{}, {}, {}]', '{a,b,c}', 'SKIP')`), 2)
	require.Len(t, all[int64](t, conn, `SELECT * FROM rowrun.enqueue_many('many', '[{}, {}, {}]', '{d,d,NULL}', on_conflict => 'SKIP')`), 2)
	require.Equal(t, []string{"b", "a", "c", "d", "-"}, all[string](t, conn, `SELECT coalesce(idempotency_key, '-') FROM rowrun.task_run ORDER BY id`))
}

func TestEnqueueManyRefusesWhatIsWrong(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	exec(t, conn, `SELECT rowrun.define_task('many', 'NOOP')`)
	for call, code := range map[string]string{
		`'many', '{}'`:                             "RR003",
		`'many', NULL::jsonb`:                      "RR003",
		`'many', '[{}]', '{a,b}'`:                  "RR003",
		`'many', '[{}]', on_conflict => 'PERHAPS'`: "RR003",
		`'many', '[{}, 7]'`:                        "23514",
		`'none', '[{}]'`:                           "P0002",
		`77, '[{}]'::jsonb`:                        "23503",
	} {
		_, err := conn.Exec(t.Context(), `SELECT rowrun.enqueue_many(`+call+`)`)
		require.Equal(t, code, store.SQLState(err), "%s: %v", call, err)
	}
	require.Zero(t, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run`))
}

func TestReplaceRunReplacesARunUntilItIsClaimed(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	addReplica(t, conn, "r")
	exec(t, conn, `SELECT rowrun.define_task('index', 'NOOP')`)
	first := query[int64](t, conn, `SELECT rowrun.replace_run('index', 'doc 5', '{"v": 1}', '2100-01-01')`)
	again := query[int64](t, conn, `SELECT rowrun.replace_run('index', 'doc 5', '{"v": 2}', '2090-01-01', 9)`)
	require.Equal(t, first, again)
	require.Equal(t, "2 2090 9", query[string](t, conn, `SELECT concat_ws(' ', input ->> 'v', extract(year FROM run_at AT TIME ZONE 'UTC'), priority) FROM rowrun.task_run WHERE id = $1`, first))
	require.NotEqual(t, first, query[int64](t, conn, `SELECT rowrun.replace_run((SELECT id FROM rowrun.task), 'doc 6')`))

	exec(t, conn, `UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE id = $1`, first)
	require.Equal(t, first, query[int64](t, conn, `SELECT rowrun.replace_run('index', 'doc 5', '{"v": 3}', priority => 4)`))
	require.Equal(t, "3 2090 4", query[string](t, conn, `SELECT concat_ws(' ', input ->> 'v', extract(year FROM run_at AT TIME ZONE 'UTC'), priority) FROM rowrun.task_run WHERE id = $1`, first),
		"an AVAILABLE run keeps its run_at, which was due")
	_, err := conn.Exec(t.Context(), `SELECT rowrun.replace_run('index', 'doc 5', '{}', '2100-01-01')`)
	require.Equal(t, "RR004", store.SQLState(err), "it can't be put off")
	exec(t, conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r' WHERE id = $1`, first)
	_, err = conn.Exec(t.Context(), `SELECT rowrun.replace_run('index', 'doc 5')`)
	require.Equal(t, "RR004", store.SQLState(err))
	_, err = conn.Exec(t.Context(), `SELECT rowrun.replace_run('index', NULL)`)
	require.Equal(t, "RR003", store.SQLState(err))
}

// Two that replace at once: one run, with the input of one of them.
func TestReplaceRunAtOnceMakesOneRun(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, other := connect(t, url), connect(t, url)
	exec(t, conn, `SELECT rowrun.define_task('index', 'NOOP')`)
	exec(t, conn, `BEGIN`)
	first := query[int64](t, conn, `SELECT rowrun.replace_run('index', 'k', '{"v": 1}', '2100-01-01')`)
	done := make(chan error, 1)
	var second int64
	go func() {
		done <- other.QueryRow(t.Context(), `SELECT rowrun.replace_run('index', 'k', '{"v": 2}', '2100-01-01')`).Scan(&second)
	}()
	require.Eventually(t, func() bool {
		return query[bool](t, conn, `SELECT EXISTS (SELECT FROM pg_locks WHERE pid = $1 AND NOT granted)`, other.PgConn().PID())
	}, 10*time.Second, time.Millisecond, "the other one waits")
	exec(t, conn, `COMMIT`)
	require.NoError(t, <-done)
	require.Equal(t, first, second)
	require.Equal(t, []string{`{"v": 2}`}, all[string](t, conn, `SELECT input::text FROM rowrun.task_run`))
}
