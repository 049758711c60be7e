package migrations_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/migrations"
)

func TestUpWaitsForALongTransaction(t *testing.T) {
	t.Parallel()
	url, conn := fresh(t)
	log := &buffer{}
	config := migrations.Config{URL: url, FS: small(), Log: logTo(log)}
	_, err := migrations.UpTo(t.Context(), config, 2)
	require.NoError(t, err)
	run(t, conn, "BEGIN; LOCK TABLE rowrun.b")

	ended := start(t, 1, func() error {
		_, err := migrations.Up(t.Context(), config)
		return err
	})
	eventually(t, "a refused lock", func() bool { return log.has(`"sqlstate":"55P03"`) })
	run(t, conn, "COMMIT")
	require.Empty(t, failures(ended()))
	requireVersion(t, config, 3)
}

func TestLockWaitIsBounded(t *testing.T) {
	t.Parallel()
	url, conn := fresh(t)
	run(t, conn, "SELECT pg_advisory_lock(x'726f7772756e6d67'::bigint)")
	log := &buffer{}
	config := migrations.Config{URL: url, FS: small(), Log: logTo(log), LockWait: 200 * time.Millisecond}
	_, err := migrations.Up(t.Context(), config)
	require.ErrorContains(t, err, "another process has been migrating for more than 200ms")
	require.True(t, log.has("waiting for it"))

	config.LockWait, config.Timeout = time.Hour, 300*time.Millisecond
	_, err = migrations.Up(t.Context(), config)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "not done within 300ms")
	requireVersion(t, config, 0)
}

// A canceled call ends its statement at the server and settles what it began.
func TestCancelEndsTheStatement(t *testing.T) {
	t.Parallel()
	url, conn := fresh(t)
	files := withFile(small(), "tables/0002_b.up.sql",
		text("CREATE TABLE rowrun.b (); SELECT pg_sleep(600);"))
	config := migrations.Config{URL: url, FS: files}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	ended := start(t, 1, func() error {
		_, err := migrations.Up(ctx, config)
		return err
	})
	eventually(t, "a migration under way", func() bool { return ask[int](t, conn, inMiddle) != 0 })
	stopped := errors.New("stopped by the test")
	cancel(stopped)
	failed := failures(ended())
	require.Len(t, failed, 1)
	require.ErrorIs(t, failed[0], stopped)
	require.Zero(t, ask[int](t, conn, inMiddle))
	requireVersion(t, config, 1)

	config.FS = small()
	applied, err := migrations.Up(t.Context(), config)
	require.NoError(t, err)
	require.Equal(t, 2, applied)
}
