package scheduler_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store/storetest"
)

func done(context.Context, *scheduler.Run) (scheduler.Result, error) { return scheduler.Result{}, nil }

// lost makes a task with these columns, and a run of it under a replica that never was.
func (c client) lost(columns, values string) int64 {
	c.t.Helper()
	task := c.int(`INSERT INTO rowrun.task (type, queue, ` + columns + `) VALUES ('` + workType + `', 'nobody serves it', ` + values + `) RETURNING id`)
	c.exec(`BEGIN`)
	run := c.int(`INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id`, task)
	c.exec(`UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE id = $1`, run)
	c.exec(`UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'never was' WHERE id = $1`, run)
	c.exec(`COMMIT`)
	return run
}

const recoverySchema = `CREATE SCHEMA app;
CREATE TABLE app.called (id bigint GENERATED ALWAYS AS IDENTITY, run_id bigint, status text);`

func TestOnStaleCancelEndsALostRunCanceled(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	c := newClient(t, url)
	run := c.lost("on_stale", "'CANCEL'")
	startReplica(t, url, done, func(c *scheduler.Config) { c.StaleSweepInterval = 50 * time.Millisecond })
	require.Equal(t, []string{"CANCELED STALE"}, c.chain(run))
	require.Equal(t, "Task run abandoned: owning replica stopped responding", c.text(`SELECT result ->> 'detail' FROM rowrun.task_run WHERE id = $1`, run))
}

// Whichever form of the run the function takes, it is called once, after the run was settled, and what it inserts runs.
func TestOnStaleFunctionIsCalledOnceWithTheLostRun(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	c := newClient(t, url)
	c.exec(recoverySchema)
	c.exec(`INSERT INTO rowrun.task (name, type) VALUES ('repair', '` + workType + `')`)
	forms := map[string]string{"of_row": "rowrun.task_run", "of_id": "bigint", "of_json": "jsonb"}
	runs := map[string]int64{}
	for name, form := range forms {
		id := map[string]string{"of_row": "$1.id", "of_id": "$1", "of_json": "($1 ->> 'id')::bigint"}[name]
		c.exec(fmt.Sprintf(`CREATE FUNCTION app.%s(%s) RETURNS void LANGUAGE sql AS $f$
			INSERT INTO app.called (run_id, status) SELECT r.id, r.status FROM rowrun.task_run r WHERE r.id = %s;
			SELECT rowrun.run_task('repair', jsonb_build_object('of', %s)); $f$`, name, form, id, id))
		runs[name] = c.lost("on_stale", "'FUNCTION:app."+name+"'")
	}
	for range 3 {
		startReplica(t, url, done, func(c *scheduler.Config) { c.StaleSweepInterval = 20 * time.Millisecond })
	}
	for name, run := range runs {
		require.Equal(t, []string{"FAILED STALE"}, c.chain(run), name)
	}
	poll(t, "all calls", func() bool { return c.int(`SELECT count(*) FROM rowrun.recovery_call`) == 0 })
	require.EqualValues(t, 3, c.int(`SELECT count(*) FROM app.called WHERE status = 'FAILED'`))
	require.EqualValues(t, 3, c.int(`SELECT count(DISTINCT run_id) FROM app.called`))
	poll(t, "the recoveries", func() bool {
		return c.int(`SELECT count(*) FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id WHERE k.name = 'repair' AND r.status = 'DONE'`) == 3
	})
}

// A function that fails, or takes longer than 5 s, leaves nothing but its error in the run's detail.
func TestErrorOfAnOnStaleFunctionGoesIntoTheDetail(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	c := newClient(t, url)
	c.exec(recoverySchema)
	c.exec(`CREATE FUNCTION app.fails(run bigint) RETURNS void LANGUAGE plpgsql AS $f$ BEGIN
		INSERT INTO app.called (run_id) VALUES (run); RAISE EXCEPTION 'no way out'; END $f$`)
	c.exec(`CREATE FUNCTION app.hangs(run bigint) RETURNS void LANGUAGE plpgsql AS $f$ BEGIN
		INSERT INTO app.called (run_id) VALUES (run); PERFORM pg_sleep(60); END $f$`)
	c.exec(`CREATE FUNCTION app.gone(run bigint) RETURNS void LANGUAGE sql AS ''`)
	fails, hangs, gone := c.lost("on_stale", "'FUNCTION:app.fails'"), c.lost("on_stale", "'FUNCTION:app.hangs'"), c.lost("on_stale", "'FUNCTION:app.gone'")
	c.exec(`DROP FUNCTION app.gone(bigint)`)
	startReplica(t, url, done, func(c *scheduler.Config) { c.StaleSweepInterval = 50 * time.Millisecond })
	detail := func(run int64) string {
		return c.text(`SELECT result ->> 'detail' FROM rowrun.task_run WHERE id = $1`, run)
	}
	poll(t, "all calls", func() bool {
		return c.int(`SELECT count(*) FROM rowrun.task_run WHERE status = 'FAILED'`) == 3 && c.int(`SELECT count(*) FROM rowrun.recovery_call`) == 0
	})
	const stale = "Task run abandoned: owning replica stopped responding (on_stale: "
	require.Equal(t, stale+"no way out (SQLSTATE P0001))", detail(fails))
	require.Equal(t, stale+"canceling statement due to statement timeout (SQLSTATE 57014))", detail(hangs))
	require.Equal(t, stale+"function app.gone does not exist)", detail(gone))
	require.Zero(t, c.int(`SELECT count(*) FROM app.called`), "what they wrote is rolled back")
}

// A call whose connection dies is made again, and one that always takes it along is given up.
func TestOnStaleFunctionThatKillsItsConnectionIsGivenUp(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	c := newClient(t, url)
	c.exec(recoverySchema)
	c.exec(`CREATE FUNCTION app.kills(run bigint) RETURNS void LANGUAGE plpgsql AS $f$ BEGIN
		PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(1); END $f$`)
	run := c.lost("on_stale", "'FUNCTION:app.kills'")
	startReplica(t, url, done, func(c *scheduler.Config) { c.StaleSweepInterval = 20 * time.Millisecond })
	poll(t, "the end of the calls", func() bool {
		c.exec(`UPDATE rowrun.recovery_call SET not_before = clock_timestamp() WHERE not_before > clock_timestamp()`) // instead of waiting half a minute
		return c.int(`SELECT count(*) FROM rowrun.task_run WHERE id = $1 AND result ->> 'detail' LIKE '%given up after 5 calls%'`, run) == 1
	})
	require.Zero(t, c.int(`SELECT count(*) FROM rowrun.recovery_call`))
}

// Eight sweep the same dead replica with 200 runs: each run is settled once, with one successor, and nobody waits for
// whoever settles it.
func TestDeadReplicaIsSettledByOneOfManySweeps(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	c := newClient(t, url)
	c.exec(`INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease) VALUES ('gone', clock_timestamp() - interval '1 hour', '1 s')`)
	c.exec(`INSERT INTO rowrun.task (id, type, queue, on_stale) VALUES (1000, $1, 'nobody serves it', 'RETRY')`, workType)
	c.exec(`BEGIN`)
	c.exec(`INSERT INTO rowrun.task_run (task_id) SELECT 1000 FROM generate_series(1, 200)`)
	c.exec(`UPDATE rowrun.task_run SET status = 'AVAILABLE'`)
	c.exec(`UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'gone'`)
	c.exec(`COMMIT`)
	s := openStore(t, url, time.Minute)
	start := make(chan struct{})
	results := make(chan [2]any, 8)
	for range 8 {
		go func() {
			<-start
			ended, err := s.EndDeadReplica(context.WithoutCancel(t.Context()), "gone")
			results <- [2]any{len(ended), err}
		}()
	}
	close(start)
	settled := 0
	for range 8 {
		r := <-results
		require.Nil(t, r[1])
		settled += r[0].(int) //nolint:errcheck,forcetypeassert // it was put there
	}
	require.Equal(t, 200, settled)
	require.EqualValues(t, 200, c.int(`SELECT count(*) FROM rowrun.task_run WHERE status = 'FAILED' AND result ->> 'code' = 'STALE'`))
	require.EqualValues(t, 200, c.int(`SELECT count(*) FROM rowrun.task_run WHERE retry_of IS NOT NULL`))
}

// While somebody settles a dead replica the others pass by at once.
func TestSweepDoesNotWaitForAnother(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	c, other := newClient(t, url), newClient(t, url)
	c.exec(`INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease) VALUES ('gone', clock_timestamp() - interval '1 hour', '1 s')`)
	other.exec(`BEGIN`)
	other.exec(`SELECT FROM rowrun.replica_heartbeat WHERE replica_id = 'gone' FOR UPDATE`)
	s := openStore(t, url, time.Minute)
	began := time.Now()
	ended, err := s.EndDeadReplica(t.Context(), "gone")
	require.NoError(t, err)
	require.Empty(t, ended)
	require.Less(t, time.Since(began), 900*time.Millisecond, "it waited for the lock")
	other.exec(`ROLLBACK`)
	_, err = s.EndDeadReplica(t.Context(), "gone")
	require.NoError(t, err)
	require.Equal(t, "DEAD", c.text(`SELECT state FROM rowrun.replica_heartbeat`))
}

// One statement vouches for all runs of a replica, however many.
func TestOneHeartbeatVouchesForAllRuns(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	release := make(chan struct{})
	r := startReplica(t, url, func(ctx context.Context, _ *scheduler.Run) (scheduler.Result, error) {
		select {
		case <-release:
			return scheduler.Result{}, nil
		case <-ctx.Done():
			return scheduler.Result{}, context.Cause(ctx)
		}
	}, func(c *scheduler.Config) {
		shortLease(c)
		c.Concurrency = 50
	})
	startReplica(t, url, done, shortLease) // who would declare it dead
	c := newClient(t, url)
	task := c.int(`INSERT INTO rowrun.task (type, name) VALUES ($1, 'many') RETURNING id`, workType)
	c.exec(`INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, 200)`, task)
	poll(t, "50 starts", func() bool { return r.Status().Executing == 50 })
	before := c.text(`SELECT max(xmin::text::bigint)::text FROM rowrun.task_run WHERE replica_id = $1 AND status = 'RUNNING'`, r.Status().ReplicaID)
	first := c.text(`SELECT last_heartbeat::text FROM rowrun.replica_heartbeat WHERE replica_id = $1`, r.Status().ReplicaID)
	poll(t, "two leases of heartbeats", func() bool {
		return c.int(`SELECT count(*) FROM rowrun.replica_heartbeat WHERE replica_id = $1 AND last_heartbeat > $2::timestamptz + interval '2.4 s'`, r.Status().ReplicaID, first) == 1
	})
	require.EqualValues(t, 50, c.int(`SELECT count(*) FROM rowrun.task_run WHERE status = 'RUNNING' AND replica_id = $1`, r.Status().ReplicaID))
	require.Equal(t, before, c.text(`SELECT max(xmin::text::bigint)::text FROM rowrun.task_run WHERE replica_id = $1 AND status = 'RUNNING'`, r.Status().ReplicaID), "no run's row was touched")
	require.Zero(t, c.int(`SELECT count(*) FROM rowrun.task_run WHERE status = 'FAILED'`))
	close(release)
}
