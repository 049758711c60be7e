package measure

import (
	"bytes"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPercentileIsTheNearestRank(t *testing.T) {
	t.Parallel()
	values := []float64{5, 1, 4, 2, 3}
	for p, want := range map[float64]float64{0: 1, 20: 1, 21: 2, 50: 3, 99: 5, 100: 5} {
		require.InDelta(t, want, Percentile(values, p), 0, "p%g", p)
	}
	require.Equal(t, []float64{5, 1, 4, 2, 3}, values, "left as they were")
	require.True(t, math.IsNaN(Percentile(nil, 50)))
}

func TestMedian(t *testing.T) {
	t.Parallel()
	require.InDelta(t, 2, Median([]float64{3, 1, 2}), 0)
	require.InDelta(t, 2.5, Median([]float64{4, 1, 3, 2}), 0)
	require.True(t, math.IsNaN(Median(nil)))
}

func TestProcessFiguresAreOfThisProcess(t *testing.T) {
	t.Parallel()
	now, peak, err := Memory(os.Getpid())
	require.NoError(t, err)
	require.Positive(t, now)
	require.GreaterOrEqual(t, peak, now)
	used, err := CPUSeconds(os.Getpid())
	require.NoError(t, err)
	require.GreaterOrEqual(t, used, 0.0)
	_, err = CPUSeconds(-1)
	require.Error(t, err)
}

func TestLogKeepsItsEnd(t *testing.T) {
	t.Parallel()
	var log Tail
	for range 100 {
		n, err := log.Write(bytes.Repeat([]byte("x"), 99))
		require.NoError(t, err)
		require.Equal(t, 99, n)
	}
	_, err := log.Write([]byte("the end"))
	require.NoError(t, err)
	require.Len(t, log.String(), kept)
	require.Equal(t, strings.Repeat("x", 1993)+"the end", log.String())
}
