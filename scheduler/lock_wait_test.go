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
