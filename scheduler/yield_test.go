package scheduler_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// Nineteen others are alive by their rows, and do nothing: what they would be quicker at is done all the same, without a sweep.
func TestARunStartsThoughTheOthersDoNothing(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	c := newClient(t, url)
	c.exec(`INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease, types, wake_source, concurrency)
		SELECT 'other ' || n, now(), '1 day', ARRAY[$1], 'notify', 100 FROM generate_series(1, 19) n`, workType)
	r := startReplica(t, url, func(ctx context.Context, run *scheduler.Run) (scheduler.Result, error) {
		if run.TaskName == "first" {
			return untilTold(ctx, run)
		}
		return scheduler.Result{}, nil
	}, nil)
	seen, err := openStore(t, url, 0).Survey(t.Context(), r.Status().ReplicaID, store.Capabilities{Queues: []string{"default"}, Types: []string{workType}}, store.SurveyWork)
	require.NoError(t, err)
	require.GreaterOrEqual(t, seen.Peers, 19, "the fault: it leaves looks to others")

	for range 20 {
		require.Equal(t, "DONE", c.ends(c.run("name", "''")))
	}
	for range 5 {
		c.exec(`UPDATE rowrun.task SET name = '' WHERE name = 'first'`)
		first := c.run("name, database_id, sequential", "'first', 'a', true")
		poll(t, "the start", func() bool { return c.text(`SELECT status FROM rowrun.task_run WHERE id = $1`, first) == "RUNNING" })
		second := c.run("database_id, sequential", "'a', true")
		c.exec(`SELECT rowrun.abandon_run($1)`, first)
		require.Equal(t, "DONE", c.ends(second))
	}
}
