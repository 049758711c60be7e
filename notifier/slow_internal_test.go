package notifier

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Slow webhooks, and second tries, share a third of the places; the rest is kept for first tries of others.
func TestSlowWebhooksShareAThird(t *testing.T) {
	t.Parallel()
	n := &Notifier{cfg: Config{Workers: 12, PerWebhook: 2}, busy: map[int64]int{}, slow: map[int64]time.Time{}}
	require.Equal(t, 8, n.wants().Kept)
	n.took(1, slowTry)
	n.took(2, slowTry-1)
	n.took(3, slowTry)
	n.slow[3] = time.Now().Add(-slowFor - 1)
	w := n.wants()
	require.Equal(t, []int64{1}, w.Slow, "one is quick, and of one it was long ago")
	require.Len(t, n.slow, 1, "what was long ago is forgotten")

	n.busy, n.underWay = map[int64]int{1: 2, 2: 2, 4: 1}, 5
	w = n.wants()
	require.Equal(t, 7, w.Most)
	require.Equal(t, 6, w.Kept, "three of four shared places are taken")
	n.busy[1], n.busy[5], n.underWay = 3, 2, 8
	w = n.wants()
	require.Equal(t, w.Most, w.Kept, "all shared places are taken, and more")

	n.took(1, 0)
	require.Empty(t, n.wants().Slow, "it answered at once")
	n.cfg.Workers = 1
	n.busy, n.underWay = map[int64]int{}, 0
	require.Zero(t, n.wants().Kept, "one worker is for all")
}
