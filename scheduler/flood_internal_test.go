package scheduler

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Without end they are a pass every fortieth of a second; what finds something is never held up.
func TestWakeUpsInVainAreTakenTogether(t *testing.T) {
	t.Parallel()
	var v vain
	now := time.Unix(1000, 0)
	passes := 0
	for end := now.Add(10 * time.Second); now.Before(end); now = now.Add(time.Millisecond) {
		if v.pause(now) == 0 {
			v.looked(false, now)
			passes++
		}
		require.LessOrEqual(t, v.pause(now), time.Second/vainRate+time.Millisecond)
	}
	require.InDelta(t, vainBurst+10*vainRate, passes, 5)

	now = now.Add(10 * time.Second)
	for range 10000 {
		v.looked(true, now)
		require.Zero(t, v.pause(now))
	}
}
