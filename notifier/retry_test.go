package notifier

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
)

func TestTriesFollowTheScheduleAndEnd(t *testing.T) {
	t.Parallel()
	failed := Answer{Code: 503, Problem: "no"}
	for n, pause := range []time.Duration{
		5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
	} {
		least, most := 48*time.Hour, time.Duration(0)
		for range 1000 {
			try := judge(n+1, failed)
			require.Equal(t, "PENDING", try.Status)
			least, most = min(least, try.RetryIn), max(most, try.RetryIn)
		}
		require.GreaterOrEqual(t, least, pause*9/10)
		require.LessOrEqual(t, most, pause*11/10)
		require.Greater(t, most-least, pause/10, "jitter")
	}
	require.Equal(t, store.Try{Status: "EXHAUSTED", Code: 503, Problem: "no"}, judge(10, failed))
	require.Equal(t, store.Try{Status: "DELIVERED", Code: 200}, judge(1, Answer{Code: 200}))
	require.Equal(t, store.Try{Status: "DELIVERED", Code: 200}, judge(10, Answer{Code: 200}))
}

func TestRetryAfterPutsATryOffUpToADay(t *testing.T) {
	t.Parallel()
	in := func(attempt int, asked time.Duration) time.Duration {
		return judge(attempt, Answer{Code: 429, Problem: "no", RetryAfter: asked}).RetryIn
	}
	require.InDelta(t, time.Hour, in(1, time.Hour), float64(2*time.Minute))
	require.GreaterOrEqual(t, in(1, time.Hour), time.Hour, "never before")
	require.InDelta(t, 24*time.Hour, in(1, 300*24*time.Hour), float64(time.Hour))
	require.Greater(t, in(2, time.Second), 4*time.Minute, "a wish for less doesn't use the tries up")
	require.Equal(t, "EXHAUSTED", judge(10, Answer{Problem: "no", RetryAfter: time.Hour}).Status)
}
