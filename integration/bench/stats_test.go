package main

import (
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPercentileIsTheNearestRank(t *testing.T) {
	t.Parallel()
	values := []float64{5, 1, 4, 2, 3}
	for p, want := range map[float64]float64{0: 1, 20: 1, 21: 2, 50: 3, 99: 5, 100: 5} {
		require.InDelta(t, want, percentile(values, p), 0, "p%g", p)
	}
	require.Equal(t, []float64{5, 1, 4, 2, 3}, values, "left as they were")
	require.True(t, math.IsNaN(percentile(nil, 50)))
}

func TestMedian(t *testing.T) {
	t.Parallel()
	require.InDelta(t, 2, median([]float64{3, 1, 2}), 0)
	require.InDelta(t, 2.5, median([]float64{4, 1, 3, 2}), 0)
	require.True(t, math.IsNaN(median(nil)))
}

func TestChooseRefusesAnUnknownSection(t *testing.T) {
	t.Parallel()
	all, err := choose(ownSuite, " ")
	require.NoError(t, err)
	require.Len(t, all, len(ownSections()))
	some, err := choose(ownSuite, "idle, latency")
	require.NoError(t, err)
	require.Equal(t, []string{"idle", "latency"}, []string{some[0].name, some[1].name})
	_, err = choose(ownSuite, "idle,speed")
	require.EqualError(t, err, `-only: "speed" is not accepted; accepted: latency, successor, drain, blocked, others, stream, idle, schedules, plans`)
	_, err = choose(peersSuite, "idle")
	require.ErrorContains(t, err, `"idle" is not accepted`)
	_, err = choose("speed", "")
	require.EqualError(t, err, `-suite: "speed" is not accepted; accepted: own, peers`)
}

func TestProcessFiguresAreOfThisProcess(t *testing.T) {
	t.Parallel()
	now, peak, err := memory(os.Getpid())
	require.NoError(t, err)
	require.Positive(t, now)
	require.GreaterOrEqual(t, peak, now)
	used, err := cpuSeconds(os.Getpid())
	require.NoError(t, err)
	require.GreaterOrEqual(t, used, 0.0)
	_, err = cpuSeconds(-1)
	require.Error(t, err)
}
