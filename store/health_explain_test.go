package store_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/embeddedpg"
	"github.com/rowrun/rowrun/store/storetest"
)

// What monitoring asks every few seconds reads what waits and runs, and nothing of what has ended.
func TestHealthReadsNothingThatHasEnded(t *testing.T) {
	t.Parallel()
	log := &storetest.Log{}
	cluster, err := embeddedpg.Start(t.Context(), embeddedpg.Config{Ephemeral: true, Log: log})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cluster.Stop(context.WithoutCancel(t.Context()))) })
	ended := storetest.Count(30_000, 1_000_000)
	few, many := healthPages(t, log, storetest.On(t, cluster), 3_000), healthPages(t, log, storetest.On(t, cluster), ended)
	t.Logf("%d pages beside 3,000 ended runs, %d beside %d", few, many, ended)
	require.LessOrEqual(t, many, 2*few+10)
}

func healthPages(t *testing.T, log *storetest.Log, url string, ended int) int {
	t.Helper()
	fillForExplain(t, connect(t, url), ended, 300)
	e, s := explain(t, log, url), openStore(t, url)
	for range 3 { // a connection has plans to make first
		e.check(t, "health", 8_000, func() {
			_, err := s.Health(t.Context())
			require.NoError(t, err)
		})
	}
	require.Contains(t, e.names, "health_gauges")
	return e.pages["health"]
}
