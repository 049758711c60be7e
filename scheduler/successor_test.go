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

// A successor that is due when it is inserted is AVAILABLE from its INSERT on. Whoever inserts it, a replica starts it at
// once: no sweep comes to help here.
func TestASuccessorThatIsDueAtOnceIsStartedAtOnce(t *testing.T) {
	t.Parallel()
	fails := func() executorFunc { // the first time
		var calls atomic.Int64
		return func(context.Context, *scheduler.Run) (scheduler.Result, error) {
			if calls.Add(1) == 1 {
				<-time.After(200 * time.Millisecond) // the looks that its INSERT asked for are over
				return scheduler.Result{}, errors.New("not yet")
			}
			return scheduler.Result{}, nil
		}
	}
	t.Run("by the replica that ended its predecessor", func(t *testing.T) {
		t.Parallel()
		url := storetest.New(t)
		c := newClient(t, url)
		startReplica(t, url, fails(), nil)
		require.Equal(t, []string{"FAILED ERROR", "DONE"}, c.chain(c.run("max_attempts, retry_delay", "2, '0 s'")))
	})
	t.Run("by a replica that drains", func(t *testing.T) {
		t.Parallel()
		url := storetest.New(t)
		c := newClient(t, url)
		first := startReplica(t, url, untilTold, func(c *scheduler.Config) { c.DrainTimeout = 20 * time.Second })
		run := c.run("on_stale", "'RETRY'")
		poll(t, "the start", func() bool { return c.text(`SELECT status FROM rowrun.task_run WHERE id = $1`, run) == "RUNNING" })
		startReplica(t, url, done, nil)
		first.stop()
		require.Equal(t, []string{"FAILED DRAINED", "DONE"}, c.chain(run))
	})
	t.Run("by a sweep that settles the runs of another", func(t *testing.T) {
		t.Parallel()
		url := storetest.New(t)
		c := newClient(t, url)
		run := c.lost("on_stale", "'RETRY'")
		startReplica(t, url, done, func(c *scheduler.Config) { c.Queues = []string{"nobody serves it"} })
		require.Equal(t, []string{"FAILED STALE", "DONE"}, c.chain(run))
	})
	t.Run("by the app that ended its predecessor", func(t *testing.T) {
		t.Parallel()
		url := storetest.New(t)
		c := newClient(t, url)
		run := c.run("max_attempts, retry_delay", "2, '0 s'")
		c.exec(`BEGIN`)
		c.exec(`UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r' WHERE id = $1`, run)
		c.exec(`ALTER TABLE rowrun.task_run DISABLE TRIGGER task_run_guard`)
		c.exec(`UPDATE rowrun.task_run SET replica_id = NULL, claim_hash = sha256(uuid_send('00000000-0000-4000-8000-000000000001')) WHERE id = $1`, run)
		c.exec(`ALTER TABLE rowrun.task_run ENABLE TRIGGER task_run_guard`)
		c.exec(`COMMIT`)
		startReplica(t, url, done, nil)
		require.Equal(t, "DONE", c.ends(c.run("name", "'its first look is over'")))
		c.exec(`SELECT rowrun.fail_run($1, '00000000-0000-4000-8000-000000000001', 'no')`, run)
		require.Equal(t, []string{"FAILED ERROR", "DONE"}, c.chain(run))
	})
}
