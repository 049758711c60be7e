package integration_test

import (
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// systemd ends a process that its watchdog finds hanging by SIGABRT, which Go takes as it takes a panic. Neither may look
// like wrong use, after which the unit starts nothing again.
func TestProcessThatTheWatchdogAbortsEndsByASignal(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sh", "-c", `ulimit -c 0; exec "$0" serve --http-addr off`, program.path) //nolint:noctx // killed by cleanup
	cmd.Env = append(environment(), "DATABASE_URL="+storetest.New(t))
	r := spawn(t, cmd)
	r.log.await(t, 1, logStarted)
	r.signal(t, syscall.SIGABRT)
	r.wait(t)
	status, ok := r.cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, ok && status.Signaled() && status.Signal() == syscall.SIGABRT, r.cmd.ProcessState)
}
