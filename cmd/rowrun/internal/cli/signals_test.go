package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

const signalTwice = "ROWRUN_TEST_SIGNAL_TWICE"

// maybeSignalTwice is the process of TestSecondSignalIsNeverSwallowed: it signals itself a second time in the instant in
// which the first is seen.
func maybeSignalTwice() {
	if os.Getenv(signalTwice) == "" {
		return
	}
	ctx, stop := UntilSignal(context.Background())
	_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
	<-ctx.Done()
	_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
	<-time.After(5 * time.Second)
	fmt.Println("swallowed")
	stop()
	os.Exit(0)
}

func TestSecondSignalIsNeverSwallowed(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	for range storetest.Count(50, 200) {
		cmd := exec.CommandContext(t.Context(), self)
		cmd.Env = append(os.Environ(), signalTwice+"=1")
		out, err := cmd.CombinedOutput()
		require.Error(t, err, "it ended as if nothing had come: %s", out)
		require.Empty(t, string(out))
	}
}

func TestFirstSignalEndsTheContext(t *testing.T) {
	t.Parallel()
	ctx, stop := UntilSignal(t.Context())
	require.NoError(t, ctx.Err())
	stop()
	<-ctx.Done()
}
