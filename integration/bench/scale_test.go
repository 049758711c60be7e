package main

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/measure"
)

// The simulation is held against what is known: all tenants are placed, a shard that is used to ρ by single runs has them wait as in an M/D/1 queue, and
// what is behind after an outage is worked off by what is left of the cores.
func TestTheSimulatedFleet(t *testing.T) {
	t.Parallel()
	f := newFleet(200e-6, 100_000, 10_000, 1)
	for name, place := range map[string]func(int) []float64{"hash": f.byHash, "table": f.byTable} {
		rates := place(20)
		sum := 0.0
		for _, rate := range rates {
			sum += rate
		}
		require.InDelta(t, 100_000, sum, 1, name)
	}
	require.Less(t, f.byTable(20)[19], f.byHash(20)[19], "a table spreads them better")
	require.InDelta(t, 5000, f.byTable(20)[19], 50)
	require.InDelta(t, 0.5, f.used(5000), 1e-9)

	// M/D/1: the mean time is service × (1 + ρ / (2 (1 - ρ))).
	const service = 200e-6 / 2 * 1000 // ms
	for _, used := range []float64{0.3, 0.6, 0.9} {
		waits := f.waits(used*10_000, 5*time.Minute)
		mean := 0.0
		for _, w := range waits {
			mean += w / float64(len(waits))
		}
		require.InEpsilon(t, service*(1+used/(2*(1-used))), mean, 0.1, "used to %g", used)
		require.GreaterOrEqual(t, measure.Percentile(waits, 0), service-1e-9)
	}

	require.Equal(t, 90*time.Second, f.caughtUp(6000, time.Minute).Round(time.Millisecond))
	require.Equal(t, time.Duration(math.MaxInt64), f.caughtUp(10_000, time.Minute))
	require.LessOrEqual(t, f.used(f.byHash(f.enough(0.6, f.byHash))[f.enough(0.6, f.byHash)-1]), 0.6)
	require.Equal(t, f.byHash(7), f.byHash(7), "the same each time")
}
