package scheduler_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store/storetest"
)

// A run that reports nothing from its start on is announced once, counted while its executor goes on, and ended.
func TestHungExecutorIsAnnouncedAndEnded(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	stop := make(chan struct{})
	var told atomic.Int32
	r := startReplica(t, url, func(ctx context.Context, _ *scheduler.Run) (scheduler.Result, error) {
		<-ctx.Done()
		<-stop // it takes its time
		return scheduler.Result{}, context.Cause(ctx)
	}, func(c *scheduler.Config) { c.Observer.Stalled = func(string) { told.Add(1) } })
	c := newClient(t, url)
	run := c.run("progress_timeout", "'300 ms'")
	poll(t, "the stall", func() bool { return r.Status().Stalled == 1 })
	poll(t, "the note", func() bool { return c.int(`SELECT count(*) FROM rowrun.stream_note`) == 1 })
	require.Equal(t, "RUNNING", c.text(`SELECT status FROM rowrun.task_run WHERE id = $1`, run), "its executor has not returned")
	close(stop)
	require.Equal(t, "FAILED PROGRESS_TIMEOUT", c.ends(run))
	require.EqualValues(t, 1, told.Load())
	require.Zero(t, r.Status().Stalled)
	require.EqualValues(t, 1, c.int(`SELECT count(*) FROM rowrun.stream_note WHERE event = 'task_run.stalled' AND level = 'warn'
		AND (detail ->> 'run_id')::bigint = $1 AND (detail ->> 'silent_ms')::int >= 300 AND detail ->> 'replica_id' = $2`, run, r.Status().ReplicaID))
}

// A run that the app took over and that reports nothing is announced by the sweep that ends it.
func TestHungAppIsAnnouncedAndEnded(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	startReplica(t, url, func(context.Context, *scheduler.Run) (scheduler.Result, error) {
		return scheduler.Result{HandedOver: true}, nil
	}, func(c *scheduler.Config) { c.SweepInterval = 50 * time.Millisecond })
	c := newClient(t, url)
	run := c.run("progress_timeout", "'300 ms'")
	require.Equal(t, "FAILED PROGRESS_TIMEOUT", c.ends(run))
	require.EqualValues(t, 1, c.int(`SELECT count(*) FROM rowrun.stream_note WHERE event = 'task_run.stalled' AND (detail ->> 'run_id')::bigint = $1`, run))
}

// The time before the first report counts from the start, not from the insert or the promotion.
func TestProgressTimeoutCountsFromTheStart(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	c := newClient(t, url)
	task := c.int(`INSERT INTO rowrun.task (type, progress_timeout) VALUES ($1, '1 s') RETURNING id`, workType)
	run := c.int(`INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id`, task)
	c.exec(`UPDATE rowrun.task_run SET status = 'AVAILABLE', available_at = now() - interval '1 hour' WHERE id = $1`, run)
	startReplica(t, url, untilTold, nil)
	require.Equal(t, "FAILED PROGRESS_TIMEOUT", c.ends(run))
	took := c.int(`SELECT extract(milliseconds FROM finished_at - started_at)::bigint FROM rowrun.task_run WHERE id = $1`, run)
	require.GreaterOrEqual(t, took, int64(990))
}

// A clock that was set back by an hour leaves the start ahead of it: the run is stopped all the same, and not an hour later.
func TestProgressTimeoutEndsARunBehindAClockThatWasSetBack(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	c, owner := newClient(t, url), newClient(t, url)
	startReplica(t, url, func(ctx context.Context, run *scheduler.Run) (scheduler.Result, error) {
		owner.exec(`UPDATE rowrun.task_run SET progress_at = now() + interval '1 hour' WHERE id = $1`, run.ID)
		return untilTold(ctx, run)
	}, nil)
	run := c.run("progress_timeout", "'1 s'")
	require.Equal(t, "FAILED PROGRESS_TIMEOUT", c.ends(run))
	require.GreaterOrEqual(t, c.int(`SELECT (extract(epoch FROM finished_at - started_at) * 1000)::bigint FROM rowrun.task_run WHERE id = $1`, run), int64(1990))
	require.Equal(t, "true", c.text(`SELECT (progress_at > now())::text FROM rowrun.task_run WHERE id = $1`, run))
	require.EqualValues(t, 0, c.int(`SELECT (detail ->> 'silent_ms')::int FROM rowrun.stream_note WHERE event = 'task_run.stalled'`))
}

// An executor that ignores its cancel keeps its slot and is counted until it returns.
func TestExecutorThatIgnoresItsCancelKeepsItsSlot(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	release := make(chan struct{})
	r := startReplica(t, url, func(_ context.Context, run *scheduler.Run) (scheduler.Result, error) {
		if run.TaskName == "deaf" {
			<-release
		}
		return scheduler.Result{}, nil
	}, func(c *scheduler.Config) { c.CancelGrace, c.Concurrency = 100*time.Millisecond, 2 })
	c := newClient(t, url)
	run := c.run("name, timeout", "'deaf', '200 ms'")
	require.Equal(t, "FAILED TIMEOUT", c.ends(run), "its run is recorded without it")
	poll(t, "the count", func() bool { return r.Status().Stuck == 1 })
	require.Equal(t, 1, r.Status().Executing, "its slot is taken")
	require.Equal(t, "DONE", c.ends(c.run("name", "'other'")), "the other slot goes on")
	close(release)
	poll(t, "its return", func() bool { return r.Status().Stuck == 0 && r.Status().Executing == 0 })
}

// With more of them than the limit allows, or none of its slots left, a replica drains by itself and says why: what
// else runs may finish.
func TestTooManyStuckExecutorsEndTheReplica(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]struct{ concurrency, limit, deaf int }{
		"more than the limit": {5, 1, 2},
		"no slot left":        {1, 5, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := storetest.New(t)
			release, finish := make(chan struct{}), make(chan struct{})
			s, err := scheduler.New(scheduler.Config{
				Store: openStore(t, url, time.Minute), Concurrency: config.concurrency, StuckLimit: config.limit,
				CancelGrace: 100 * time.Millisecond, SweepInterval: 50 * time.Millisecond, DrainTimeout: 3 * time.Second,
				Executors: map[string]scheduler.Executor{workType: executorFunc(func(_ context.Context, run *scheduler.Run) (scheduler.Result, error) {
					if run.TaskName == "good" {
						<-finish
						return scheduler.Result{}, nil
					}
					<-release
					return scheduler.Result{}, errors.New("late")
				})},
			})
			require.NoError(t, err)
			ended := make(chan error, 1)
			go func() { ended <- s.Run(context.WithoutCancel(t.Context())) }()
			c := newClient(t, url)
			good := int64(0)
			if config.concurrency > config.deaf {
				good = c.run("name", "'good'")
				poll(t, "its start", func() bool { return s.Status().Executing == 1 })
			}
			for range config.deaf {
				c.run("timeout", "'100 ms'")
			}
			poll(t, "the drain", func() bool { return s.Status().Draining })
			close(finish)
			require.ErrorIs(t, <-ended, scheduler.ErrStuck)
			if good != 0 {
				require.Equal(t, "DONE", c.ends(good))
			}
			require.Zero(t, c.int(`SELECT count(*) FROM rowrun.replica_heartbeat`))
			close(release)
			poll(t, "the return of the executors", func() bool { return s.Status().Executing == 0 })
		})
	}
}

// Heartbeats that could not be written are counted.
func TestFailedHeartbeatsAreCounted(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	r := startReplica(t, url, done, shortLease)
	require.Zero(t, r.Status().HeartbeatFailures)
	over := outage(t, url)
	poll(t, "a failure", func() bool { return r.Status().HeartbeatFailures > 0 })
	over()
	c := newClient(t, url)
	require.Equal(t, "DONE", c.ends(c.run("name", "''")))
}
