package replica

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store/storetest"
)

// With --drain-timeout 0 a stop waits for nothing that runs.
func TestADrainTimeoutOfZeroStopsAtOnce(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := rowruntest.Connect(t, url)
	rowruntest.Change(t, conn, `WITH k AS (INSERT INTO rowrun.task (type, payload) VALUES ('COMMAND', '{"command": "deaf"}') RETURNING id)
		INSERT INTO rowrun.task_run (task_id) SELECT id FROM k`)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var log bytes.Buffer
	replica := exec.CommandContext(ctx, os.Args[0], "--http-addr", "off", "--drain-timeout", "0")
	replica.Env = []string{"HOME=/", "HOSTNAME=test", "DATABASE_URL=" + url, serveDeafly + "=on"}
	replica.Stderr = &log
	require.NoError(t, replica.Start())
	rowruntest.Eventually(t, "the start of the run", func() (running bool) {
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT status = 'RUNNING' FROM rowrun.task_run`).Scan(&running))
		return running
	})
	require.NoError(t, replica.Process.Signal(syscall.SIGTERM))
	stopped := time.Now()
	var exit *exec.ExitError
	require.ErrorAs(t, replica.Wait(), &exit, "it leaves a run behind")
	require.NoError(t, ctx.Err(), log.String())
	require.Equal(t, cli.ExitFailed, exit.ExitCode(), log.String())
	require.Less(t, time.Since(stopped), 20*time.Second, "less than the default of 30 s")
}

// However long a drain is, executors that it stops have time to return, and commands are killed within that.
func TestEveryDrainLeavesExecutorsTimeToStop(t *testing.T) {
	t.Parallel()
	for _, drain := range []time.Duration{time.Second, 10 * time.Second, 25 * time.Second, 30 * time.Second, 100 * time.Second, time.Hour} {
		stop, grace := scheduler.StopTime(drain), commandGrace(drain)
		require.Positive(t, stop, drain)
		require.Less(t, stop, drain/5, drain)
		require.Positive(t, grace, drain)
		require.Less(t, grace, stop, drain)
	}
	require.Equal(t, 2800*time.Millisecond, commandGrace(30*time.Second), "what the docs say")
	require.Zero(t, commandGrace(time.Millisecond), "the executor's default")
}
