package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

const (
	signalTwice  = "ROWRUN_TEST_SIGNAL_TWICE"
	hangUp       = "ROWRUN_TEST_HANG_UP"
	hangUpIgnore = "ignored"
)

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

// maybeHangUp is the process of TestAClosedTerminalDrains: its terminal is closed, which is told more than once.
func maybeHangUp() {
	wanted := os.Getenv(hangUp)
	if wanted == "" {
		return
	}
	if wanted == hangUpIgnore {
		signal.Ignore(syscall.SIGHUP)
	} else { // the tests themselves may be run behind nohup
		caught := make(chan os.Signal, 1)
		signal.Notify(caught, syscall.SIGHUP)
		signal.Stop(caught)
	}
	ctx, stop := UntilSignal(context.Background())
	_ = syscall.Kill(os.Getpid(), syscall.SIGHUP)
	told := "not told"
	select {
	case <-ctx.Done():
		told = "told"
	case <-time.After(500 * time.Millisecond):
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGHUP)
	<-time.After(200 * time.Millisecond)
	fmt.Print(told)
	stop()
	os.Exit(0)
}

// A terminal that is closed has the process end as a stop does; behind nohup nothing does.
func TestAClosedTerminalDrains(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	for wanted, says := range map[string]string{"as usual": "told", hangUpIgnore: "not told"} {
		cmd := exec.CommandContext(t.Context(), self)
		cmd.Env = append(os.Environ(), hangUp+"="+wanted)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, wanted)
		require.Equal(t, says, string(out), wanted)
	}
}

func TestFirstSignalEndsTheContext(t *testing.T) {
	t.Parallel()
	ctx, stop := UntilSignal(t.Context())
	require.NoError(t, ctx.Err())
	stop()
	<-ctx.Done()
}
