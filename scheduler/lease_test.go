package scheduler_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store/storetest"
)

// shortLease has a replica fence itself 800 ms after its last heartbeat.
func shortLease(c *scheduler.Config) {
	c.HeartbeatInterval, c.StaleAfter, c.StaleSweepInterval = 200*time.Millisecond, 1200*time.Millisecond, 100*time.Millisecond
	c.SweepInterval = 200 * time.Millisecond
}

// outage refuses every connection to the test's database and ends those there are, until it is called off.
func outage(t *testing.T, url string) (over func()) {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	require.NoError(t, err)
	admin := newClient(t, storetest.Cluster(t).SocketURL("postgres"))
	name := pgx.Identifier{config.Database}.Sanitize()
	admin.exec(`ALTER DATABASE ` + name + ` ALLOW_CONNECTIONS false`)
	poll(t, "the end of all sessions", func() bool {
		return admin.int(`SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = $1`, config.Database) == 0
	})
	over = func() { admin.exec(`ALTER DATABASE ` + name + ` ALLOW_CONNECTIONS true`) }
	t.Cleanup(func() {
		if t.Failed() {
			over() // so that the replica can stop
		}
	})
	return over
}

// begin inserts a run and waits until its executor has begun; then another one, where the replica gave the run back unbegun, as it does where the machine
// stood still between the claim and its answer for as long as a short lease is trusted.
func begin(c client, begun <-chan int64) (run int64) {
	c.t.Helper()
	for unbegun := true; unbegun; {
		run = c.run("name", "''")
		poll(c.t, "the start", func() bool {
			select {
			case id := <-begun:
				unbegun = id != run
				return !unbegun
			default:
				return c.text(`SELECT concat_ws(' ', status, result ->> 'code') FROM rowrun.task_run WHERE id = $1`, run) == "FAILED LOST_CONTACT"
			}
		})
	}
	return run
}

// In an outage longer than two thirds of its lease a replica stops what it runs; when the database is back it settles
// those runs itself and begins anew under another id.
func TestFenceStopsAndSettlesOwnRuns(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	stopped, begun := make(chan error, 1), make(chan int64, 1)
	r := startReplica(t, url, func(ctx context.Context, run *scheduler.Run) (scheduler.Result, error) {
		if run.TaskName == "after" {
			return scheduler.Result{}, nil
		}
		begun <- run.ID
		<-ctx.Done()
		stopped <- context.Cause(ctx)
		return scheduler.Result{}, context.Cause(ctx)
	}, shortLease)
	c := newClient(t, url)
	run := begin(c, begun)
	id := r.Status().ReplicaID

	silent, began := r.Status().Silent, time.Now()
	over := outage(t, url)
	select {
	case cause := <-stopped:
		require.ErrorIs(t, cause, scheduler.ErrLostContact)
	case <-time.After(15 * time.Second):
		require.Fail(t, "it never fenced itself")
	}
	took := time.Since(began)
	over()
	require.GreaterOrEqual(t, silent+took, 800*time.Millisecond, "it gave up too early")

	c = newClient(t, url)
	require.Equal(t, "FAILED LOST_CONTACT", c.ends(run))
	poll(t, "a new incarnation", func() bool { s := r.Status().ReplicaID; return s != "" && s != id })
	require.Equal(t, "DONE", c.ends(c.run("name", "'after'")))
	require.Zero(t, c.int(`SELECT count(*) FROM rowrun.replica_heartbeat WHERE replica_id = $1`, id), "the old row is gone")
}

// Asked to end while the database is away, a replica that has fenced itself waits for no longer than a drain may take.
func TestFencedReplicaEndsWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	stopped, begun := make(chan struct{}), make(chan int64, 1)
	r := startReplica(t, url, func(ctx context.Context, run *scheduler.Run) (scheduler.Result, error) {
		begun <- run.ID
		<-ctx.Done()
		close(stopped)
		return scheduler.Result{}, context.Cause(ctx)
	}, func(c *scheduler.Config) {
		shortLease(c)
		c.DrainTimeout = time.Second
	})
	c := newClient(t, url)
	run := begin(c, begun)
	over := outage(t, url)
	<-stopped

	ended := make(chan error, 1)
	go func() { ended <- r.end() }()
	select {
	case err := <-ended:
		require.ErrorContains(t, err, "could not be recorded")
	case <-time.After(30 * time.Second):
		over() // so that it can end at all
		require.Fail(t, "it waited for the database", "%v", <-ended)
	}
	over()
	require.Equal(t, "RUNNING", newClient(t, url).text(`SELECT status FROM rowrun.task_run WHERE id = $1`, run), "the next replica's to settle")
}

// Asked to end while it records what it had when it fenced itself, a replica that could record all of it has left nothing behind.
func TestFencedReplicaThatHasRecordedAllEndsWell(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	stopped, release, begun := make(chan struct{}), make(chan struct{}), make(chan int64, 1)
	r := startReplica(t, url, func(ctx context.Context, run *scheduler.Run) (scheduler.Result, error) {
		begun <- run.ID
		<-ctx.Done()
		close(stopped)
		<-release
		return scheduler.Result{}, context.Cause(ctx)
	}, func(c *scheduler.Config) {
		shortLease(c)
		c.CancelGrace = time.Minute
	})
	c := newClient(t, url)
	run := begin(c, begun)
	over := outage(t, url)
	<-stopped
	over()

	ended := make(chan error, 1)
	go func() { ended <- r.end() }()
	select {
	case err := <-ended:
		require.Fail(t, "it left its executor behind", "%v", err)
	case <-time.After(100 * time.Millisecond):
	}
	close(release)
	require.NoError(t, <-ended)
	require.Equal(t, "FAILED LOST_CONTACT", newClient(t, url).text(`SELECT concat_ws(' ', status, result ->> 'code') FROM rowrun.task_run WHERE id = $1`, run))
}

// An outage shorter than that stops nothing.
func TestShortOutageStopsNothing(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	release := make(chan struct{})
	r := startReplica(t, url, func(ctx context.Context, _ *scheduler.Run) (scheduler.Result, error) {
		select {
		case <-ctx.Done():
			return scheduler.Result{}, context.Cause(ctx)
		case <-release:
			return scheduler.Result{}, nil
		}
	}, nil) // a lease of a minute
	c := newClient(t, url)
	run := c.run("name", "''")
	poll(t, "the start", func() bool { return c.text(`SELECT status FROM rowrun.task_run WHERE id = $1`, run) == "RUNNING" })
	id := r.Status().ReplicaID
	over := outage(t, url)
	close(release) // it ends while nothing can be recorded
	poll(t, "the executor's end", func() bool { return r.Status().Executing == 0 })
	over()
	c = newClient(t, url)
	require.Equal(t, "DONE", c.ends(run))
	require.Equal(t, id, r.Status().ReplicaID)
}

// Who was declared dead stops its runs, what it writes late is refused, and it comes back under a new id.
func TestDeclaredDeadReplicaBeginsAnew(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	var calls atomic.Int32
	r := startReplica(t, url, func(ctx context.Context, _ *scheduler.Run) (scheduler.Result, error) {
		if calls.Add(1) > 1 {
			return scheduler.Result{}, nil
		}
		<-ctx.Done()
		return scheduler.Result{}, nil // it says that it finished, too late
	}, func(c *scheduler.Config) {
		shortLease(c)
		c.StaleSweepInterval = 10 * time.Minute
	})
	c := newClient(t, url)
	run := c.run("on_stale", "'RETRY'")
	poll(t, "the start", func() bool { return c.text(`SELECT status FROM rowrun.task_run WHERE id = $1`, run) == "RUNNING" })
	id := r.Status().ReplicaID
	c.exec(`BEGIN`)
	c.exec(`UPDATE rowrun.replica_heartbeat SET state = 'DEAD' WHERE replica_id = $1`, id)
	c.exec(`SELECT count(*) FROM rowrun.end_runs(ARRAY[$1::bigint], ARRAY[NULL::uuid], ARRAY['FAILED'], ARRAY['{"code": "STALE"}'::jsonb], ARRAY['STALE'])`, run)
	c.exec(`COMMIT`)
	require.Equal(t, []string{"FAILED STALE", "DONE"}, c.chain(run))
	require.NotEqual(t, id, r.Status().ReplicaID)
}

// Two replicas in one process: one falls silent, the other declares it dead and runs the successor.
func TestSilentReplicaIsDeclaredDead(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	startReplica(t, url, func(context.Context, *scheduler.Run) (scheduler.Result, error) {
		return scheduler.Result{}, nil
	}, shortLease)
	c := newClient(t, url)
	// What a replica that froze leaves: a row that grows old, and a RUNNING run.
	c.exec(`INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease) VALUES ('frozen', clock_timestamp(), '1 s')`)
	task := c.int(`INSERT INTO rowrun.task (type, queue, on_stale) VALUES ($1, 'frozen', 'RETRY') RETURNING id`, workType)
	run := c.int(`INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id`, task)
	poll(t, "promotion", func() bool { return c.text(`SELECT status FROM rowrun.task_run WHERE id = $1`, run) == "AVAILABLE" })
	c.exec(`UPDATE rowrun.task SET queue = 'default' WHERE id = $1`, task)
	c.exec(`UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'frozen' WHERE id = $1`, run)
	require.Equal(t, []string{"FAILED STALE", "DONE"}, c.chain(run))
	require.Zero(t, c.int(`SELECT count(*) FROM rowrun.task_run r JOIN rowrun.replica_heartbeat h USING (replica_id)
		WHERE r.id = $1 AND r.finished_at < h.last_heartbeat + h.lease`, run), "ended before its lease was over")
	require.Equal(t, "DEAD", c.text(`SELECT state FROM rowrun.replica_heartbeat WHERE replica_id = 'frozen'`))
}

// A drain claims nothing new, lets work finish, stops what doesn't, and removes its row.
func TestDrain(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	release := make(chan struct{})
	r := startReplica(t, url, func(ctx context.Context, run *scheduler.Run) (scheduler.Result, error) {
		if run.TaskName == "endless" {
			<-ctx.Done()
			return scheduler.Result{}, errors.New("told to stop")
		}
		<-release
		return scheduler.Result{}, nil
	}, func(c *scheduler.Config) { c.DrainTimeout = 20 * time.Second })
	c := newClient(t, url)
	quick, endless := c.run("name", "'quick'"), c.run("name", "'endless'")
	poll(t, "the starts", func() bool { return c.int(`SELECT count(*) FROM rowrun.task_run WHERE status = 'RUNNING'`) == 2 })
	id := r.Status().ReplicaID

	stopped := make(chan struct{})
	go func() {
		r.stop()
		close(stopped)
	}()
	poll(t, "the drain", func() bool {
		return c.text(`SELECT state FROM rowrun.replica_heartbeat WHERE replica_id = $1`, id) == "DRAINING"
	})
	late := c.run("name", "'late'")
	close(release)
	<-stopped
	require.Equal(t, "DONE", c.ends(quick))
	require.Equal(t, "FAILED DRAINED", c.ends(endless))
	require.NotEqual(t, "RUNNING", c.text(`SELECT status FROM rowrun.task_run WHERE id = $1`, late))
	require.Zero(t, c.int(`SELECT count(*) FROM rowrun.replica_heartbeat`))
}
