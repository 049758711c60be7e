//go:build linux

package cmdexec

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
)

// What survived its killing is told whatever the run was stopped for.
func TestWhatCouldNotBeEndedIsSaidAlsoOfARunThatWasStopped(t *testing.T) {
	t.Parallel()
	stopped, cancel := context.WithCancelCause(t.Context())
	cancel(scheduler.ErrCanceled)
	end := report{Ended: true, Stopped: true, Left: 2}
	for _, ctx := range []context.Context{stopped, t.Context()} {
		_, err := outcome(ctx, "c", end, end.problem(), newOutput(nil))
		f := failure(t, err)
		require.Equal(t, scheduler.Failure{Code: scheduler.CodeError, Detail: "command c: 2 of its processes could not be ended", Retryable: true}, *f)
	}
	_, err := outcome(stopped, "c", report{Stopped: true}, (&report{Stopped: true}).problem(), newOutput(nil))
	require.Contains(t, failure(t, err).Detail, "its supervisor was killed")

	clean := report{Ended: true, Stopped: true}
	require.NoError(t, clean.problem())
	_, err = outcome(stopped, "c", clean, nil, newOutput(nil))
	require.ErrorIs(t, err, scheduler.ErrCanceled)
	var f *scheduler.Failure
	require.False(t, errors.As(err, &f))
	_, err = outcome(stopped, "c", report{Ended: true}, nil, newOutput(nil))
	require.NoError(t, err, "it had ended by itself")
}
