package scheduler

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// crowd is the most of these moments within a window of that length.
func crowd(moments []time.Duration, window time.Duration) int {
	slices.Sort(moments)
	most, first := 0, 0
	for i, m := range moments {
		for moments[first] <= m-window {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

func TestReplicasThatBeginAtOnceDontSweepAtOnce(t *testing.T) {
	t.Parallel()
	const replicas, every = 100, 5 * time.Second
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same each time
	var all []time.Duration
	for range replicas {
		r := rounds{pace: random.Float64}
		last := time.Duration(0)
		for round := range 20 {
			wait := r.wait(every)
			require.LessOrEqual(t, wait, every, "never later than without")
			if round > 0 {
				require.GreaterOrEqual(t, wait, every*9/10)
			}
			require.GreaterOrEqual(t, wait, every/2)
			last += wait
			all = append(all, last)
		}
	}
	require.LessOrEqual(t, crowd(all, 100*time.Millisecond), 15, "of 100 replicas in a tenth of a second; four on the average")
}

// A database that was away for all comes back for all at one moment.
func TestReplicasThatFailAtOnceDontTryAgainAtOnce(t *testing.T) {
	t.Parallel()
	const replicas = 100
	random := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // the same each time
	var tries, beats []time.Duration
	for range replicas {
		r := rounds{pace: random.Float64, begun: true}
		at := time.Duration(0)
		for range 10 {
			wait := r.pace.again(time.Second)
			require.GreaterOrEqual(t, wait, time.Second/2)
			require.LessOrEqual(t, wait, time.Second)
			at += wait
			tries = append(tries, at)
		}
		r.lost()
		beats = append(beats, r.wait(10*time.Second))
	}
	require.LessOrEqual(t, crowd(tries, 50*time.Millisecond), 25, "ten on the average at first, seven then")
	require.LessOrEqual(t, crowd(beats, 500*time.Millisecond), 25, "ten on the average")
	require.Less(t, crowd(beats, time.Second), replicas)
}
