package integration_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/integration/history"
)

// recordPlans begins to record.
func recordPlans(t *testing.T, d *database) *history.History {
	t.Helper()
	h, err := history.Begin(t.Context(), d.url)
	require.NoError(t, err)
	return h
}

// checkPlans replays everything and requires that nothing was wrong.
func checkPlans(t *testing.T, h *history.History) {
	t.Helper()
	require.NoError(t, h.Replay(t.Context()))
	if len(h.Violations) > 0 {
		t.Log(h.Trail())
	}
	require.Empty(t, h.Violations)
	require.NotZero(t, h.Promotions)
	require.NotZero(t, h.Events())
	t.Logf("%d commits, %d promotions, %d events", len(h.Commits), h.Promotions, h.Events())
}
