package scheduler_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store/storetest"
)

// Where a pass takes long, all other replicas leave the processor to it.
func TestWhoWaitsForTheGatesAsksSeldom(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	c, holder := newClient(t, url), newClient(t, url)
	r := startReplica(t, url, func(context.Context, *scheduler.Run) (scheduler.Result, error) { return scheduler.Result{}, nil }, func(*scheduler.Config) {})
	require.Equal(t, "DONE", c.ends(c.run("name, database_id", "'before', 'gated'")))
	holder.exec(`BEGIN`)
	require.EqualValues(t, 1, holder.int(`SELECT id FROM rowrun.promotion_lock FOR UPDATE`))
	began := time.Now()
	run := c.run("name, database_id", "'behind the lock', 'gated'")
	<-time.After(4 * time.Second)
	require.Equal(t, "PENDING", c.text(`SELECT status FROM rowrun.task_run WHERE id = $1`, run), "nobody may judge it meanwhile")
	holder.exec(`ROLLBACK`)
	require.Equal(t, "DONE", c.ends(run))
	took := time.Since(began).Seconds()
	r.stop() // a session tells its counts at its end
	require.Less(t, float64(c.int("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()")), 60*took+300)
}

// Nor does a run that somebody has locked have replicas ask without end, whatever is to become of it.
func TestALockedRunIsAskedForSeldom(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ columns, values, status, in string }{
		"to be claimed":                  {"name", "'locked'", "AVAILABLE", "0 s"},
		"to be promoted":                 {"name", "'locked'", "PENDING", "1 s"},
		"to be promoted on its database": {"name, database_id", "'locked', 'gated'", "PENDING", "1 s"},
		"to be promoted in its order":    {"name, database_id, version", "'locked', 'gated', '1.1'", "PENDING", "1 s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := storetest.New(t)
			c, holder := newClient(t, url), newClient(t, url)
			task := c.int(`INSERT INTO rowrun.task (type, ` + test.columns + `) VALUES ('` + workType + `', ` + test.values + `) RETURNING id`)
			run := c.int(`INSERT INTO rowrun.task_run (task_id, run_at) VALUES ($1, now() + $2::text::interval) RETURNING id`, task, test.in)
			holder.exec(`BEGIN`)
			require.Equal(t, run, holder.int(`SELECT id FROM rowrun.task_run WHERE id = $1 FOR UPDATE`, run))
			began := time.Now()
			r := startReplica(t, url, func(context.Context, *scheduler.Run) (scheduler.Result, error) { return scheduler.Result{}, nil }, func(*scheduler.Config) {})
			<-time.After(4 * time.Second)
			require.Equal(t, "DONE", c.ends(c.run("name", "'another'")))
			require.Equal(t, test.status, c.text(`SELECT status FROM rowrun.task_run WHERE id = $1`, run), "nobody may change it meanwhile")
			holder.exec(`ROLLBACK`)
			require.Equal(t, "DONE", c.ends(run))
			took := time.Since(began).Seconds()
			r.stop() // a session tells its counts at its end
			asked := c.int("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()")
			t.Log(asked, "in", took)
			require.Less(t, float64(asked), 60*took+300)
		})
	}
}
