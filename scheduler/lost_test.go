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

func TestOnStaleCancelEndsALostRunCanceled(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	c := newClient(t, url)
	run := c.lost("on_stale", "'CANCEL'")
	startReplica(t, url, done, func(c *scheduler.Config) { c.StaleSweepInterval = 50 * time.Millisecond })
	require.Equal(t, []string{"CANCELED STALE"}, c.chain(run))
	require.Equal(t, "Task run abandoned: owning replica stopped responding", c.text(`SELECT result ->> 'detail' FROM rowrun.task_run WHERE id = $1`, run))
}

// The task that on_failure_task names runs once, with the lost run as its input, however the run was lost: its replica
// fell silent, its claim's answer never came, its replica was shut down. Where a successor follows, or on_stale is CANCEL,
// there is no failure to handle.
func TestHandlerRunsAfterALostRun(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	c := newClient(t, url)
	c.exec(`INSERT INTO rowrun.task (name, type, payload) VALUES ('handler', 'NOOP', '{}')`)
	lost := func(on string) int64 {
		return c.lost("name, max_attempts, on_stale, on_failure_task", "'"+on+" stale', 3, '"+on+"', 'handler'")
	}
	stale, again, canceled := lost("FAIL"), lost("RETRY"), lost("CANCEL")
	quick := func(c *scheduler.Config) {
		c.StaleSweepInterval, c.SweepInterval, c.DrainTimeout = 50*time.Millisecond, 50*time.Millisecond, 20*time.Second
		c.Executors["NOOP"] = executorFunc(done)
	}
	r := startReplica(t, url, func(ctx context.Context, _ *scheduler.Run) (scheduler.Result, error) {
		<-ctx.Done()
		return scheduler.Result{}, ctx.Err()
	}, quick)
	require.Equal(t, "FAILED STALE", c.ends(stale))
	require.Equal(t, "FAILED STALE", c.ends(again))
	require.Equal(t, "CANCELED STALE", c.ends(canceled))

	stray := c.int(`INSERT INTO rowrun.task (type, queue, on_failure_task) VALUES ('` + workType + `', 'nobody serves it', 'handler') RETURNING id`)
	stray = c.int(`INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id`, stray)
	poll(t, "the stray's promotion", func() bool { return c.text(`SELECT status FROM rowrun.task_run WHERE id = $1`, stray) == "AVAILABLE" })
	c.exec(`UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = $2 WHERE id = $1`, stray, r.Status().ReplicaID)
	require.Equal(t, "FAILED LOST_CONTACT", c.ends(stray))

	drained := c.run("on_failure_task", "'handler'")
	poll(t, "the start", func() bool { return c.text(`SELECT status FROM rowrun.task_run WHERE id = $1`, drained) == "RUNNING" })
	r.stop()
	require.Equal(t, "FAILED DRAINED", c.ends(drained))

	startReplica(t, url, done, quick)
	handled := `SELECT string_agg(concat_ws(' ', input -> 'failed_run' ->> 'run_id', input -> 'failed_run' ->> 'code', status), ', ' ORDER BY id)
		FROM rowrun.task_run WHERE task_id = (SELECT id FROM rowrun.task WHERE name = 'handler')`
	poll(t, "the handlers' ends", func() bool {
		return c.int(`SELECT count(*) FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id WHERE k.name = 'handler' AND r.status = 'DONE'`) >= 3
	})
	require.Equal(t, fmt.Sprintf("%d STALE DONE, %d LOST_CONTACT DONE, %d DRAINED DONE", stale, stray, drained), c.text(handled))
	require.EqualValues(t, 1, c.int(`SELECT count(*) FROM rowrun.task_run WHERE retry_of = $1`, again))
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
	ended, err := s.EndDeadReplica(t.Context(), "gone")
	require.NoError(t, err, "who waits for the lock gives up after a second")
	require.Empty(t, ended)
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
		c.Concurrency, c.StaleAfter = 50, 3*time.Second
	})
	startReplica(t, url, done, shortLease) // who would declare it dead
	c := newClient(t, url)
	task := c.int(`INSERT INTO rowrun.task (type, name) VALUES ($1, 'many') RETURNING id`, workType)
	c.exec(`INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, 200)`, task)
	poll(t, "50 starts", func() bool { return r.Status().Executing == 50 })
	before := c.text(`SELECT max(xmin::text::bigint)::text FROM rowrun.task_run WHERE replica_id = $1 AND status = 'RUNNING'`, r.Status().ReplicaID)
	first := c.text(`SELECT last_heartbeat::text FROM rowrun.replica_heartbeat WHERE replica_id = $1`, r.Status().ReplicaID)
	poll(t, "two leases of heartbeats", func() bool {
		return c.int(`SELECT count(*) FROM rowrun.replica_heartbeat WHERE replica_id = $1 AND last_heartbeat > $2::timestamptz + interval '6 s'`, r.Status().ReplicaID, first) == 1
	})
	require.EqualValues(t, 50, c.int(`SELECT count(*) FROM rowrun.task_run WHERE status = 'RUNNING' AND replica_id = $1`, r.Status().ReplicaID))
	require.Equal(t, before, c.text(`SELECT max(xmin::text::bigint)::text FROM rowrun.task_run WHERE replica_id = $1 AND status = 'RUNNING'`, r.Status().ReplicaID), "no run's row was touched")
	require.Zero(t, c.int(`SELECT count(*) FROM rowrun.task_run WHERE status = 'FAILED' AND replica_id = $1`, r.Status().ReplicaID), "the other one may be fenced, on a busy machine")
	close(release)
}
