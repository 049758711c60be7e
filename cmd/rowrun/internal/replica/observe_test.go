package replica

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
)

// Where nothing can be notified, a replica says so.
func TestAFullNotificationQueueIsSaid(t *testing.T) {
	t.Parallel()
	require.Empty(t, silent(scheduler.Status{NotifyQueue: 0.49}))
	require.Contains(t, silent(scheduler.Status{NotifyQueue: 0.93}), "93 % full")
}
