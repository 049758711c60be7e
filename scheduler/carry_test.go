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

// until is an executor whose runs of these names wait for a channel, or to be told to stop; others end at once.
func until(release <-chan struct{}, names ...string) executorFunc {
	wait := map[string]bool{}
	for _, name := range names {
		wait[name] = true
	}
	return func(ctx context.Context, run *scheduler.Run) (scheduler.Result, error) {
		if wait[run.TaskName] {
			select {
			case <-release:
			case <-ctx.Done():
				return scheduler.Result{}, context.Cause(ctx)
			}
		}
		return scheduler.Result{}, nil
	}
}

// versions inserts n tasks of one name, versions of one database, and a run of each.
func (c client) versions(database, name string, n int) {
	c.t.Helper()
	c.exec(`WITH made AS (
		INSERT INTO rowrun.task (type, name, database_id, version)
		SELECT $1, CASE n WHEN 1 THEN $2 ELSE '' END, $3::text, n::text FROM generate_series(1, $4::int) n RETURNING id)
		INSERT INTO rowrun.task_run (task_id) SELECT id FROM made ORDER BY id`, workType, name, database, n)
}

// A run whose end others wait for ends while a user's transaction holds its task: each step of another chain needs an
// end, a promotion and a claim meanwhile, and gets them; so does what has no gate.
func TestCarriedEndingBehindAUsersLockDelaysNobodyElse(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	release := make(chan struct{})
	r := startReplica(t, url, until(release, "held"), nil)
	c, user := newClient(t, url), newClient(t, url)
	plan := c.int(`INSERT INTO rowrun.plan DEFAULT VALUES RETURNING id`)
	task := c.int(`INSERT INTO rowrun.task (plan_id, type, name) VALUES ($1, $2, 'held') RETURNING id`, plan, workType)
	next := c.int(`INSERT INTO rowrun.task (plan_id, type, name) VALUES ($1, $2, 'next') RETURNING id`, plan, workType)
	c.exec(`INSERT INTO rowrun.task_dependency (task_id, depends_on_id) VALUES ($1, $2)`, next, task)
	held := c.int(`INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id`, task)
	last := c.int(`INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id`, next)
	poll(t, "the start", func() bool { return c.text(`SELECT status FROM rowrun.task_run WHERE id = $1`, held) == "RUNNING" })
	user.exec(`BEGIN`)
	user.exec(`SELECT FROM rowrun.task WHERE id = $1 FOR UPDATE`, task)
	close(release)
	poll(t, "the executor's end", func() bool { return r.Status().Executing == 0 })
	c.versions("db", "", 20)
	for range 5 {
		require.Equal(t, "DONE", c.ends(c.run("name", "''")))
	}
	poll(t, "the end of the other chain", func() bool {
		return c.int(`SELECT count(*) FROM rowrun.task_run WHERE database_id = 'db' AND status = 'DONE'`) == 20
	})
	require.Equal(t, "RUNNING", c.text(`SELECT status FROM rowrun.task_run WHERE id = $1`, held), "the lock holds nothing: nothing is tested")
	user.exec(`ROLLBACK`)
	require.Equal(t, "DONE", c.ends(held))
	require.Equal(t, "DONE", c.ends(last))
}

// Runs that others wait for end while there is no database: their ends are recorded when it is back, and open what
// waited for them.
func TestCarriedEndIsRecordedWhenTheDatabaseIsBack(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	release := make(chan struct{})
	r := startReplica(t, url, until(release, "first"), func(c *scheduler.Config) { c.SweepInterval = time.Second })
	c := newClient(t, url)
	c.versions("a", "first", 2)
	poll(t, "the start", func() bool { return r.Status().Executing == 1 })
	id := r.Status().ReplicaID
	over := outage(t, url)
	close(release)
	poll(t, "the executor's end", func() bool { return r.Status().Executing == 0 })
	failed := r.Status().HeartbeatFailures // by the next one the end was tried too
	poll(t, "a heartbeat that fails", func() bool { return r.Status().HeartbeatFailures > failed })
	over()
	c = newClient(t, url)
	poll(t, "all ends", func() bool { return c.int(`SELECT count(*) FROM rowrun.task_run WHERE status = 'DONE'`) == 2 })
	require.Equal(t, id, r.Status().ReplicaID, "it was declared dead: nothing is tested")
	require.Zero(t, c.int(`SELECT count(*) FROM rowrun.task_run WHERE attempt > 0`))
}

// Ends that dispatch would have carried are written by the drain, in which it doesn't run any more.
func TestDrainRecordsWhatIsCarried(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	release := make(chan struct{})
	r := startReplica(t, url, until(release, "a", "b", "c", "d", "e"), nil)
	c := newClient(t, url)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		c.versions(name, name, 2)
	}
	poll(t, "the starts", func() bool { return r.Status().Executing == 5 })
	id := r.Status().ReplicaID
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		r.stop()
	}()
	poll(t, "the drain", func() bool {
		return c.text(`SELECT state FROM rowrun.replica_heartbeat WHERE replica_id = $1`, id) == "DRAINING"
	})
	close(release)
	<-stopped
	require.EqualValues(t, 5, c.int(`SELECT count(*) FROM rowrun.task_run WHERE status = 'DONE'`))
	require.Zero(t, c.int(`SELECT count(*) FROM rowrun.task_run WHERE status = 'RUNNING'`))
}

// A replica that hears nothing knows what its own ends let start: where they are carried and where they are too many for
// that, and where two runs have one version, so that each end leaves something for a pass.
func TestChainsGoOnUnheard(t *testing.T) {
	t.Parallel()
	for name, chains := range map[string]int{"few": 3, "many": 150} {
		for runs := 1; runs <= 2; runs++ {
			t.Run(fmt.Sprintf("%s, %d of a version", name, runs), func(t *testing.T) {
				t.Parallel()
				url := storetest.New(t)
				c := newClient(t, url)
				for i := range chains {
					c.versions(fmt.Sprint("db", i), "", 4)
				}
				for range runs - 1 {
					c.exec(`INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task`)
				}
				startReplica(t, url, done, func(c *scheduler.Config) {
					c.Concurrency, c.SweepInterval = 400, 10*time.Minute
					c.Wake, c.Available, c.Ended = nil, nil, nil
				})
				poll(t, "all ends", func() bool {
					return c.int(`SELECT count(*) FROM rowrun.task_run WHERE status = 'DONE'`) == int64(4*chains*runs)
				})
			})
		}
	}
}

// One run per claim: long ones fill all slots at once, not only until half of them are taken.
func TestAllSlotsAreFilledOneByOne(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	release := make(chan struct{})
	r := startReplica(t, url, until(release, "long"), func(c *scheduler.Config) { c.MaxBatch, c.Concurrency = 1, 40 })
	c := newClient(t, url)
	task := c.int(`INSERT INTO rowrun.task (type, name) VALUES ($1, 'long') RETURNING id`, workType)
	c.exec(`INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, 60)`, task)
	poll(t, "40 starts", func() bool { return r.Status().Executing == 40 })
	close(release)
	poll(t, "all ends", func() bool { return c.int(`SELECT count(*) FROM rowrun.task_run WHERE status = 'DONE'`) == 60 })
}
