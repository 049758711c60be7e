package integration_test

import (
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// TestDrainEndsTheReplicaAndReturnsBehindIt is what a preStop hook does.
func TestDrainEndsTheReplicaAndReturnsBehindIt(t *testing.T) {
	t.Parallel()
	r := serve(t, storetest.New(t))
	r.meant = true
	drain := func(pid int) (string, error) {
		out, err := exec.CommandContext(t.Context(), program.path, "drain", "--pid", strconv.Itoa(pid)).CombinedOutput()
		return string(out), err
	}
	out, err := drain(os.Getpid())
	require.Error(t, err)
	require.Contains(t, out, "is no replica: it runs another program", "nobody else is stopped")
	out, err = drain(r.cmd.Process.Pid)
	require.NoError(t, err, out)
	require.Zero(t, r.wait(t))
	out, err = drain(r.cmd.Process.Pid)
	require.Error(t, err)
	require.Contains(t, out, "can't be looked at")
}
