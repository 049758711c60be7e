package scheduler_test

import (
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// What one replica does for the second time comes sooner than the interval, by chance: sweeps and heartbeats.
func TestSecondSweepsAndHeartbeatsComeByChance(t *testing.T) {
	t.Parallel()
	const replicas, every = 12, time.Second
	url := storetest.New(t)
	conn := newClient(t, url).conn
	var mu sync.Mutex
	swept := map[int][]time.Time{}
	for i := range replicas {
		startReplica(t, url, untilTold, func(c *scheduler.Config) {
			c.Log = zerolog.Nop()
			c.SweepInterval, c.HeartbeatInterval, c.StaleAfter = every, every, 5*every
			c.Surveyed = func(store.Survey) {
				mu.Lock()
				defer mu.Unlock()
				swept[i] = append(swept[i], time.Now())
			}
		})
	}
	beats := map[string]time.Duration{}
	poll(t, "second sweeps and heartbeats", func() bool {
		rows, err := conn.Query(t.Context(), `SELECT replica_id, extract(epoch FROM last_heartbeat - started_at)::float8 FROM rowrun.replica_heartbeat`)
		require.NoError(t, err)
		for rows.Next() {
			var id string
			var after float64
			require.NoError(t, rows.Scan(&id, &after))
			if _, known := beats[id]; !known && after > 0.1 {
				beats[id] = time.Duration(after * float64(time.Second))
			}
		}
		require.NoError(t, rows.Err())
		mu.Lock()
		defer mu.Unlock()
		for i := range replicas {
			if len(swept[i]) < 2 {
				return false
			}
		}
		return len(beats) == replicas
	})
	early := func(waits []time.Duration) (n int) {
		for _, w := range waits {
			if w > every/10 && w < every*9/10 {
				n++
			}
		}
		return n
	}
	var toSweep, toBeat []time.Duration
	mu.Lock()
	for i := range replicas {
		toSweep = append(toSweep, swept[i][1].Sub(swept[i][0]))
	}
	mu.Unlock()
	for _, after := range beats {
		toBeat = append(toBeat, after)
	}
	// Each is with four fifths: none of twelve with one to 200,000,000.
	require.Positive(t, early(toSweep), "%v", toSweep)
	// Further heartbeats follow at whole intervals, and one of them is seen first where the machine stood still.
	for i := range toBeat {
		toBeat[i] %= every
	}
	require.Positive(t, early(toBeat), "%v", toBeat)
}
