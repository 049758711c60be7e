package replica

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestHeartbeatStandsStillWhenALeaseWasNeitherRenewedNorGivenUp(t *testing.T) {
	t.Parallel()
	const lease = time.Minute
	require.NoError(t, standing(scheduler.Status{ReplicaID: "a", Silent: lease}, lease), "the database is away: it will be fenced")
	require.NoError(t, standing(scheduler.Status{Silent: time.Hour}, lease), "between two incarnations it has no lease")
	require.NoError(t, standing(scheduler.Status{ReplicaID: "a", Fenced: true, Silent: time.Hour}, lease), "it has given its lease up")
	require.ErrorContains(t, standing(scheduler.Status{ReplicaID: "a", Silent: lease + 7*time.Second}, lease), "for 1m7s no heartbeat was written")
}

// A replica that had something to do when it fenced itself waits for its database as long as that takes: a watchdog that
// ended its process would lose how its runs ended.
func TestAFencedReplicaThatWaitsForItsDatabaseIsAlive(t *testing.T) {
	t.Parallel()
	const lease = 1200 * time.Millisecond
	url := storetest.New(t)
	s, err := store.Open(t.Context(), store.Config{URL: url, Lease: lease})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	begun := make(chan struct{})
	run := scheduler.ExecutorFunc(func(ctx context.Context, _ *scheduler.Run) (scheduler.Result, error) {
		close(begun)
		<-ctx.Done()
		return scheduler.Result{}, context.Cause(ctx)
	})
	replica, err := scheduler.New(scheduler.Config{
		Store: s, Executors: map[string]scheduler.Executor{"NOOP": run}, DrainTimeout: time.Second,
		HeartbeatInterval: 200 * time.Millisecond, StaleAfter: lease, SweepInterval: 50 * time.Millisecond, Log: zerolog.Nop(),
	})
	require.NoError(t, err)
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- replica.Run(ctx) }()
	t.Cleanup(func() {
		end()
		if err := <-ended; err != nil {
			t.Log(err) // it may leave its run behind
		}
	})
	conn := rowruntest.Connect(t, url)
	rowruntest.Change(t, conn, `WITH k AS (INSERT INTO rowrun.task (type) VALUES ('NOOP') RETURNING id) INSERT INTO rowrun.task_run (task_id) SELECT id FROM k`)
	<-begun

	name := pgx.Identifier{conn.Config().Database}.Sanitize()
	admin := rowruntest.Connect(t, storetest.Cluster(t).SocketURL("postgres"))
	t.Cleanup(func() {
		_, err := admin.Exec(context.WithoutCancel(t.Context()), `ALTER DATABASE `+name+` ALLOW_CONNECTIONS true`)
		require.NoError(t, err)
	})
	rowruntest.Change(t, admin, `ALTER DATABASE `+name+` ALLOW_CONNECTIONS false`)
	rowruntest.Change(t, admin, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1`, conn.Config().Database)
	rowruntest.Eventually(t, "a lease that is over for long", func() bool { return replica.Status().Silent > 2*lease })
	require.NoError(t, standing(replica.Status(), lease))
}

func TestServiceManagerReadsHowAReplicaIs(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]scheduler.Status{
		"ready: 3 of 20 running, 5 done and 1 failed since the start":    {ReplicaID: "a", Executing: 3, Completed: 5, Failed: 1},
		"paused: 0 of 20 running, 0 done and 0 failed since the start":   {ReplicaID: "a", Paused: true},
		"draining: 2 of 20 running, 0 done and 0 failed since the start": {ReplicaID: "a", Draining: true, Executing: 2, Silent: time.Hour},
		"not ready: a copy": {Elsewhere: "a copy"},
		"not ready: nothing could be claimed for 12s: no":                                               {ReplicaID: "a", Unable: 12 * time.Second, UnableWhy: "no"},
		"not ready: the database is out of reach; 0 of 20 running, 0 done and 0 failed since the start": {ReplicaID: "a", Silent: time.Minute},
	} {
		require.Equal(t, want, inWords(s, 20, time.Minute))
	}
}
