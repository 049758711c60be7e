package store_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

const statusesOfWaves = `SELECT string_agg(status, ' ' ORDER BY wave) FROM rowrun.plan_wave_status`

// sixTasks makes plan 1 with the tasks 1 to 6, of which 1 is in wave 1, 2 and 3 in wave 2, and 4 to 6 in wave 3, and runs them.
func sixTasks(t *testing.T, conn *pgx.Conn, soak, maxFailures int) {
	t.Helper()
	exec(t, conn, `INSERT INTO rowrun.plan (name, on_failure) VALUES ('p', 'CONTINUE')`)
	exec(t, conn, `INSERT INTO rowrun.task (plan_id, name, type) SELECT 1, 't' || n, 'NOOP' FROM generate_series(1, 6) n`)
	exec(t, conn, `SELECT rowrun.add_waves(1, jsonb_build_array(
		jsonb_build_object('name', 'canary', 'soak', $1::int, 'max_failures', $2::int, 'tasks', '[1]'::jsonb),
		jsonb_build_object('name', 'half', 'soak', $1::int, 'max_failures', $2::int, 'tasks', '[2, 3]'::jsonb),
		jsonb_build_object('name', 'rest', 'tasks', '[4, 5, 6]'::jsonb)))`, soak, maxFailures)
	exec(t, conn, `SELECT rowrun.run_plan(1)`)
}

// passes makes passes until there is nothing left for one.
func passes(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	for range 20 {
		exec(t, conn, `SELECT rowrun.promote_runs(true)`)
		if !query[bool](t, conn, `SELECT EXISTS (SELECT FROM rowrun.gate_mark)`) {
			return
		}
	}
	require.Fail(t, "passes leave marks for ever")
}

func available(t *testing.T, conn *pgx.Conn) string {
	t.Helper()
	return query[string](t, conn, `SELECT coalesce(string_agg(task_id::text, ' ' ORDER BY task_id), '') FROM rowrun.task_run WHERE status = 'AVAILABLE'`)
}

// ends ends the AVAILABLE run of a task.
func ends(t *testing.T, conn *pgx.Conn, task int, status string) {
	t.Helper()
	exec(t, conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r' WHERE task_id = $1 AND status = 'AVAILABLE'`, task)
	exec(t, conn, `UPDATE rowrun.task_run SET status = $2 WHERE task_id = $1 AND status = 'RUNNING'`, task, status)
}

func TestAWaveIsOpenedWhenTheOneBeforeIsDone(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	sixTasks(t, conn, 0, 0)
	passes(t, conn)
	require.Equal(t, "1", available(t, conn))
	require.Equal(t, "DEPENDENCY: waits for wave 3 (rest): wave 2 (half) is not open yet",
		query[string](t, conn, `SELECT w.cause || ': ' || w.message FROM rowrun.task_run r CROSS JOIN LATERAL rowrun.waiting(r.id) w WHERE r.task_id = 4`))
	ends(t, conn, 1, "DONE")
	passes(t, conn)
	require.Equal(t, "2 3", available(t, conn))
	ends(t, conn, 2, "DONE")
	passes(t, conn)
	require.Equal(t, "3", available(t, conn), "a wave is open when all of the one before is DONE")
	ends(t, conn, 3, "DONE")
	passes(t, conn)
	require.Equal(t, "4 5 6", available(t, conn))
	require.Equal(t, "DONE DONE RUNNING", query[string](t, conn, statusesOfWaves))
	for task := 4; task <= 6; task++ {
		ends(t, conn, task, "DONE")
	}
	passes(t, conn)
	require.Equal(t, "DONE DONE DONE", query[string](t, conn, statusesOfWaves))
	require.Equal(t, "DONE", query[string](t, conn, `SELECT status FROM rowrun.plan_status`))
}

func TestAWaveSoaksBeforeTheNextIsOpened(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	sixTasks(t, conn, 600, 0)
	passes(t, conn)
	ends(t, conn, 1, "DONE")
	passes(t, conn)
	require.Empty(t, available(t, conn))
	require.Equal(t, "SOAKING WAITING WAITING", query[string](t, conn, statusesOfWaves))
	require.Equal(t, "10 min", query[string](t, conn, `SELECT extract(minute FROM opens_at - (SELECT done_at FROM rowrun.plan_wave WHERE wave = 1))::int || ' min' FROM rowrun.plan_wave WHERE wave = 2`))
	// What runs once more while it soaks has it begin anew.
	exec(t, conn, `SELECT rowrun.run_tasks('{1}')`)
	passes(t, conn)
	require.Equal(t, "RUNNING WAITING WAITING", query[string](t, conn, statusesOfWaves))
	ends(t, conn, 1, "DONE")
	passes(t, conn)
	exec(t, conn, `UPDATE rowrun.plan_wave SET done_at = done_at - interval '10 min', opens_at = opens_at - interval '10 min'`)
	passes(t, conn)
	require.Equal(t, "2 3", available(t, conn))
}

func TestFailuresStopAPlanBeforeTheNextWave(t *testing.T) {
	t.Parallel()
	for act, want := range map[string]struct{ available, waves string }{
		"RESUME":  {"3", "DONE RUNNING WAITING"},
		"ROLL_ON": {"4 5 6", "DONE DONE RUNNING"},
		"GIVE_UP": {"", "DONE STOPPED WAITING"},
	} {
		t.Run(act, func(t *testing.T) {
			t.Parallel()
			conn := connect(t, storetest.New(t))
			sixTasks(t, conn, 0, 0)
			passes(t, conn)
			ends(t, conn, 1, "DONE")
			passes(t, conn)
			ends(t, conn, 2, "DONE")
			ends(t, conn, 3, "FAILED")
			passes(t, conn)
			require.Empty(t, available(t, conn))
			require.Equal(t, "DONE STOPPED WAITING", query[string](t, conn, statusesOfWaves))
			require.Equal(t, "PLAN_FAILED", query[string](t, conn, `SELECT w.cause FROM rowrun.task_run r CROSS JOIN LATERAL rowrun.waiting(r.id) w WHERE r.task_id = 4`))
			exec(t, conn, `SELECT rowrun.move_waves(1, $1)`, act)
			passes(t, conn)
			require.Equal(t, want.available, available(t, conn))
			require.Equal(t, want.waves, query[string](t, conn, statusesOfWaves))
			if act == "RESUME" {
				ends(t, conn, 3, "DONE")
				passes(t, conn)
				require.Equal(t, "4 5 6", available(t, conn))
			}
		})
	}
}

// Of two who ask for the same wave at once one opens it, and nobody the one behind it, which nobody asked for.
func TestAWaveThatIsNamedIsOpenedOnce(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := connect(t, url)
	sixTasks(t, conn, 3600, 0)
	passes(t, conn)
	s := open(t, url, time.Minute)
	_, err := s.RollOn(t.Context(), 1, 3)
	require.ErrorContains(t, err, "wave 3 of plan 1 is not the next one")
	_, err = s.RollOn(t.Context(), 1, 4)
	require.ErrorContains(t, err, "plan 1 has no wave 4")

	first := connect(t, url)
	exec(t, first, `BEGIN`)
	require.EqualValues(t, 2, query[int](t, first, `SELECT rowrun.roll_on(1, 2)`))
	second := make(chan bool, 1)
	failed := make(chan error, 1)
	go func() {
		opened, err := s.RollOn(t.Context(), 1, 2)
		second <- opened
		failed <- err
	}()
	require.Eventually(t, func() bool {
		return query[bool](t, conn, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid)))`, int32(first.PgConn().PID()))
	}, 10*time.Second, 5*time.Millisecond, "the fault: they ask at once")
	exec(t, first, `COMMIT`)
	require.False(t, <-second)
	require.NoError(t, <-failed)
	passes(t, conn)
	require.Equal(t, "RUNNING RUNNING WAITING", query[string](t, conn, statusesOfWaves))
	opened, err := s.RollOn(t.Context(), 1, 3)
	require.NoError(t, err)
	require.True(t, opened)
	require.Equal(t, "RUNNING RUNNING RUNNING", query[string](t, conn, statusesOfWaves))
}

func TestAWaveBearsAsManyFailuresAsItIsTold(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	sixTasks(t, conn, 0, 1)
	passes(t, conn)
	ends(t, conn, 1, "FAILED")
	passes(t, conn)
	require.Equal(t, "2 3", available(t, conn))
	ends(t, conn, 2, "FAILED")
	ends(t, conn, 3, "FAILED")
	passes(t, conn)
	require.Empty(t, available(t, conn))
	exec(t, conn, `SELECT rowrun.skip_task(3, 'by hand')`)
	passes(t, conn)
	require.Equal(t, "4 5 6", available(t, conn), "what is skipped has not failed")
}

func TestAPlansLaterWavesComeBehindThoseThatItHas(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	sixTasks(t, conn, 0, 0)
	exec(t, conn, `INSERT INTO rowrun.task (plan_id, name, type) VALUES (1, 't7', 'NOOP')`)
	require.EqualValues(t, 4, query[int](t, conn, `SELECT rowrun.add_waves(1, '[{"tasks": [7]}]')`))
	exec(t, conn, `SELECT rowrun.run_plan(1)`)
	passes(t, conn)
	require.Equal(t, "1", available(t, conn))
	_, err := conn.Exec(t.Context(), `SELECT rowrun.add_waves(1, '[{"tasks": [1]}]')`)
	require.ErrorContains(t, err, "RR003")
}
