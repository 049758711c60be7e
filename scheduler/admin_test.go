package scheduler_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// Who claims nothing has nothing to execute, and who claims has.
func TestAdminHasNoExecutors(t *testing.T) {
	t.Parallel()
	require.NoError(t, (&scheduler.Config{Admin: true}).Check())
	require.Error(t, (&scheduler.Config{}).Check())
	require.Error(t, (&scheduler.Config{Admin: true, Executors: map[string]scheduler.Executor{"NOOP": scheduler.Noop{}}}).Check())
}

// An admin promotes what has come to its time, and neither a resume nor an alias of a type makes it claim.
func TestAdminPromotesAndNeverClaims(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	s := openStore(t, url, time.Minute)
	admin, err := scheduler.New(scheduler.Config{Store: s, Admin: true, Name: "admin", SweepInterval: 50 * time.Millisecond})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- admin.Run(ctx) }()
	c := newClient(t, url)
	poll(t, "its row", func() bool {
		return c.text(`SELECT coalesce(max(concat_ws(' ', role, types, queues, concurrency, state, live)), '') FROM rowrun.replica_status`) == "admin {} {} 0 ACTIVE t"
	})
	require.Equal(t, store.RoleAdmin, admin.Status().Role)
	require.Zero(t, c.int(`SELECT live_replicas FROM rowrun.health`))
	require.EqualValues(t, 1, c.int(`SELECT live_admins FROM rowrun.health`))
	id := admin.Status().ReplicaID
	for _, pause := range []bool{true, false} {
		_, err = s.PauseReplica(t.Context(), id, pause)
		require.NoError(t, err)
	}
	run := c.int(`WITH k AS (INSERT INTO rowrun.task (type) VALUES ('NOOP') RETURNING id)
		INSERT INTO rowrun.task_run (task_id, run_at) SELECT id, clock_timestamp() + interval '300 ms' FROM k RETURNING id`)
	require.Equal(t, "PENDING", c.text(`SELECT status FROM rowrun.task_run WHERE id = $1`, run))
	poll(t, "the promotion", func() bool { return c.text(`SELECT status FROM rowrun.task_run WHERE id = $1`, run) == "AVAILABLE" })
	seen := c.text(`SELECT last_heartbeat::text FROM rowrun.replica_status`)
	require.NotEmpty(t, seen)
	<-time.After(500 * time.Millisecond) // ten of its sweeps
	require.Equal(t, "AVAILABLE NO_REPLICA", c.text(`SELECT r.status || ' ' || w.cause FROM rowrun.task_run r, rowrun.waiting(r.id) w WHERE r.id = $1`, run))
	stop()
	require.NoError(t, <-ended)
	require.Zero(t, admin.Status().Completed+admin.Status().Failed)
}
