package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// The versions behind a failure never start: a wave that bears the failure does not wait for them.
func TestAFailureThatIsBorneHoldsNoWaveOpen(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	exec(t, conn, `INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease, types, concurrency, databases)
		VALUES ('r', clock_timestamp(), '1 hour', '{DATABASE_MIGRATE}', 100, '{a,b,c}')`)
	exec(t, conn, `INSERT INTO rowrun.plan (name) VALUES ('p')`)
	exec(t, conn, `INSERT INTO rowrun.task (plan_id, name, type, database_id, version)
		SELECT 1, d || v, 'DATABASE_MIGRATE', d, v FROM unnest('{a,b,c}'::text[]) WITH ORDINALITY d(d, n), unnest('{1,2,3}'::text[]) v ORDER BY n, v`)
	exec(t, conn, `SELECT rowrun.add_waves(1, '[{"max_failures": 2, "tasks": [1, 2, 3, 4, 5, 6]}, {"tasks": [7, 8, 9]}]'); SELECT rowrun.run_plan(1)`)
	passes(t, conn)
	require.Equal(t, "1 4", available(t, conn))
	ends(t, conn, 1, "FAILED")
	for task := 4; task <= 5; task++ {
		ends(t, conn, task, "DONE")
		passes(t, conn)
	}
	require.Equal(t, "6", available(t, conn))
	require.Equal(t, "RUNNING WAITING", query[string](t, conn, statusesOfWaves), "what goes on is waited for")
	// A failure that runs again may end well, and have those behind it go on.
	exec(t, conn, `SELECT rowrun.run_tasks('{1}')`)
	ends(t, conn, 6, "DONE")
	passes(t, conn)
	require.Equal(t, "1", available(t, conn))
	require.Equal(t, "RUNNING WAITING", query[string](t, conn, statusesOfWaves))
	ends(t, conn, 1, "FAILED")
	passes(t, conn)
	require.Equal(t, "7", available(t, conn))
	require.Equal(t, "DONE RUNNING", query[string](t, conn, statusesOfWaves))
	// Mended later they go on.
	exec(t, conn, `SELECT rowrun.run_tasks('{1}')`)
	passes(t, conn)
	ends(t, conn, 1, "DONE")
	passes(t, conn)
	require.Equal(t, "2 7", available(t, conn))
}

// A failure of an earlier wave holds those behind it back as well, until it runs again.
func TestAFailureOfAnEarlierWaveHoldsNoWaveOpen(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	exec(t, conn, `INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease, types, concurrency, databases)
		VALUES ('r', clock_timestamp(), '1 hour', '{DATABASE_MIGRATE}', 100, '{a,b}')`)
	exec(t, conn, `INSERT INTO rowrun.plan (name) VALUES ('p')`)
	exec(t, conn, `INSERT INTO rowrun.task (plan_id, name, type, database_id, version)
		SELECT 1, d || v, 'DATABASE_MIGRATE', d, v FROM unnest('{a,b}'::text[]) d, unnest('{1,2,3}'::text[]) v ORDER BY v, d`)
	exec(t, conn, `SELECT rowrun.add_waves(1, '[{"max_failures": 1, "tasks": [1, 2]}, {"tasks": [3, 4]}, {"tasks": [5, 6]}]'); SELECT rowrun.run_plan(1)`)
	passes(t, conn)
	ends(t, conn, 1, "FAILED")
	ends(t, conn, 2, "DONE")
	passes(t, conn)
	require.Equal(t, "4", available(t, conn))
	exec(t, conn, `SELECT rowrun.run_tasks('{1}')`)
	ends(t, conn, 4, "DONE")
	passes(t, conn)
	require.Equal(t, "RUNNING RUNNING WAITING", query[string](t, conn, statusesOfWaves))
	require.Equal(t, "1", available(t, conn))
	ends(t, conn, 1, "FAILED")
	passes(t, conn)
	require.Equal(t, "6", available(t, conn))
}

// Runs whose wave is closed, that wait for jobs or for their time have the cause of those that a dependency held: they come before no
// other.
func TestDependentsOfClosedWavesHoldNoneOfAnOpenWaveUp(t *testing.T) {
	t.Parallel()
	for what, gate := range map[string]string{
		"wave":  `SELECT rowrun.add_waves(1, '[{"tasks": [1, 4, 5]}, {"tasks": [2, 3]}]'); SELECT rowrun.run_plan(1)`,
		"after": `INSERT INTO rowrun.task (id, type) VALUES (6, 'NOOP'); SELECT rowrun.run_tasks('{6}'); SELECT rowrun.run_task(id, after => ARRAY[1]) FROM rowrun.task WHERE id IN (2, 3); SELECT rowrun.run_plan(1)`,
		"time":  `INSERT INTO rowrun.task_run (task_id, run_at) VALUES (2, now() + interval '1 hour'), (3, now() + interval '1 hour'); SELECT rowrun.run_plan(1)`,
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			conn := connect(t, storetest.New(t))
			exec(t, conn, `INSERT INTO rowrun.plan (on_failure) VALUES ('CONTINUE')`)
			exec(t, conn, `INSERT INTO rowrun.task (plan_id, type) SELECT 1, 'NOOP' FROM generate_series(1, 5)`)
			exec(t, conn, gate)
			exec(t, conn, `INSERT INTO rowrun.task_dependency VALUES (2, 1), (3, 1), (4, 1)`)
			passes(t, conn)
			ends(t, conn, 1, "DONE")
			var more bool
			for range 10 {
				more = query[bool](t, conn, `SELECT more FROM rowrun.promote_runs(false, true, 1)`)
			}
			require.Contains(t, available(t, conn), "4")
			require.False(t, more, "passes go on for ever")
			require.False(t, query[bool](t, conn, `SELECT EXISTS (SELECT FROM rowrun.gate_mark)`))
			switch what {
			case "wave":
				ends(t, conn, 4, "DONE")
				ends(t, conn, 5, "DONE")
			case "after":
				ends(t, conn, 6, "DONE")
			default:
				return
			}
			passes(t, conn)
			require.Contains(t, available(t, conn), "2 3")
		})
	}
}
