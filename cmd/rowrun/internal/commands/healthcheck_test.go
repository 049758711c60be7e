package commands

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestHealthcheckExitsAsTheReplicaIs(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := rowruntest.Connect(t, url)
	_, as := sidecar(t, conn, url)
	replica := startServing(t, as)
	replica.awaitReady(t)
	beside := map[string]string{"ROWRUN_HTTP_ADDR": strings.TrimPrefix(replica.base, "http://")}
	got := rowrun(t.Context(), t, beside, "healthcheck")
	require.Equal(t, rowruntest.Outcome{Code: cli.ExitDone, Stdout: "ok\n"}, got)

	// A replica that can't work lives.
	rowruntest.Change(t, conn, `ALTER TABLE rowrun.task_run ENABLE ROW LEVEL SECURITY`)
	rowruntest.Eventually(t, "not healthy", func() bool {
		got := rowrun(t.Context(), t, beside, "healthcheck")
		return got.Code == cli.ExitFailed && strings.Contains(got.Stderr, "not healthy: ") && strings.Contains(got.Stderr, "row level security hides rows")
	})
	require.Equal(t, cli.ExitDone, rowrun(t.Context(), t, beside, "healthcheck", "--live").Code)

	replica.end()
	require.Equal(t, cli.ExitFailed, rowrun(t.Context(), t, beside, "healthcheck", "--live").Code, "nobody is there")
	for _, args := range [][]string{{"--http-addr", "off"}, {"--timeout", "0s"}, {"extra"}} {
		require.Equal(t, cli.ExitUsage, rowrun(t.Context(), t, nil, append([]string{"healthcheck"}, args...)...).Code)
	}
}
