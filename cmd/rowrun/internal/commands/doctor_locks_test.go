package commands

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/doctor"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

// A session that keeps INSERTs from notifying is named by doctor and by a replica's readiness, which it doesn't change.
func TestSessionsThatHoldUpAreNamed(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	s := startServing(t, url, "--types", "NOOP", "--sweep-interval", "100ms", "--wake", "notify", "--stream-source", "off")
	s.awaitReady(t)
	_, findings := diagnosis(t, url)
	require.Empty(t, of(findings, "locks"))
	holder := rowruntest.Connect(t, url)
	var pid int64
	require.NoError(t, holder.QueryRow(t.Context(), `SELECT pg_backend_pid()`).Scan(&pid))
	rowruntest.Change(t, holder, `SELECT pg_advisory_lock(1920298607, 3)`)
	found := one(t, func() []doctor.Finding { _, f := diagnosis(t, url); return f }(), "locks", doctor.Warning)
	require.Equal(t, fmt.Sprintf("SELECT pg_terminate_backend(%d);", pid), found.Fix)
	rowruntest.Eventually(t, "the probe names it", func() bool {
		code, body := s.status(t, "/readyz")
		return code == 200 && strings.Contains(body, fmt.Sprintf("SELECT pg_terminate_backend(%d)", pid))
	})
}
