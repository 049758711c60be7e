package scheduler

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
)

// Two runs of one id, as a failover may give it twice, have an ending each: that of one settles nothing of the other's.
func TestEndingsOfOneIDAreThoseOfTheirClaims(t *testing.T) {
	t.Parallel()
	r := newRecorder(&Scheduler{cfg: Config{MaxBatch: 10}})
	for _, claim := range []string{"first", "second"} {
		r.add(ending{store: store.Ending{ID: 1, Claim: claim}, replica: claim})
	}
	r.settle("first")
	require.False(t, r.knows("first"))
	require.True(t, r.knows("second"))
	require.Equal(t, map[int64]bool{1: true}, r.unsettled())
	some, _, _ := r.left("first")
	require.False(t, some)
	some, _, _ = r.left("second")
	require.True(t, some)
	r.settle("second")
	require.Zero(t, r.waiting())
}
