package replica

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
)

func TestHeartbeatStandsStillWhenALeaseWasNeitherRenewedNorGivenUp(t *testing.T) {
	t.Parallel()
	const lease = time.Minute
	require.NoError(t, standing(scheduler.Status{ReplicaID: "a", Silent: lease}, lease), "the database is away: it will be fenced")
	require.NoError(t, standing(scheduler.Status{Silent: time.Hour}, lease), "between two incarnations it has no lease")
	require.ErrorContains(t, standing(scheduler.Status{ReplicaID: "a", Silent: lease + 7*time.Second}, lease), "for 1m7s no heartbeat was written")
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
