package migrations_test

import (
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/migrations"
	"github.com/rowrun/rowrun/store/storetest"
)

// inMiddle finds the server process that is inside of the slow migration.
const inMiddle = `SELECT coalesce(min(pid), 0) FROM pg_stat_activity
WHERE datname = current_database() AND application_name = 'rowrun migrate' AND wait_event = 'PgSleep'`

// Sixteen at once, and the one that works loses its connection in the middle of a migration.
func TestSixteenAtOnceOneLosesItsSession(t *testing.T) {
	t.Parallel()
	for range storetest.Count(3, 20) {
		url, conn := fresh(t)
		files, err := slow()
		require.NoError(t, err)
		ended := start(t, 16, func() error {
			_, err := migrations.Up(t.Context(), migrations.Config{URL: url, FS: files})
			return err
		})
		var pid int
		eventually(t, "a migration under way", func() bool {
			pid = ask[int](t, conn, inMiddle)
			return pid != 0
		})
		require.True(t, ask[bool](t, conn, "SELECT pg_terminate_backend($1, 10000)", pid))

		failed := failures(ended())
		require.Len(t, failed, 1, "%v", failed)
		require.ErrorContains(t, failed[0], "migration 2")
		requireWhole(t, url, files)
	}
}

// Fifteen wait for a process that is killed in the middle of a migration.
func TestSixteenAtOnceOneIsKilled(t *testing.T) {
	t.Parallel()
	for range storetest.Count(3, 20) {
		url, conn := fresh(t)
		files, err := slow()
		require.NoError(t, err)
		child := exec.Command(os.Args[0]) //nolint:noctx // killed below
		child.Env = append(os.Environ(), childURL+"="+url)
		var output strings.Builder
		child.Stdout, child.Stderr = &output, &output
		require.NoError(t, child.Start())
		reap := sync.OnceValue(child.Wait)
		t.Cleanup(func() {
			_ = child.Process.Kill()
			_ = reap()
		})
		eventually(t, "a migration under way", func() bool { return ask[int](t, conn, inMiddle) != 0 })
		ended := start(t, 15, func() error {
			_, err := migrations.Up(t.Context(), migrations.Config{URL: url, FS: files})
			return err
		})
		require.NoError(t, child.Process.Kill())
		var exit *exec.ExitError
		require.ErrorAs(t, reap(), &exit)
		require.False(t, exit.Exited(), "killed, not failed: %s", output.String())
		require.True(t, ask[bool](t, conn, "SELECT dirty FROM rowrun.schema_migrations"), "it left the flag")

		require.Empty(t, failures(ended()))
		requireWhole(t, url, files)
	}
}

// start calls do n times at once; ended waits for all.
func start(t *testing.T, n int, do func() error) (ended func() []error) {
	t.Helper()
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { errs[i] = do() })
	}
	ended = sync.OnceValue(func() []error {
		all.Wait()
		return errs
	})
	t.Cleanup(func() { ended() })
	return ended
}

func failures(errs []error) []error {
	var failed []error
	for _, err := range errs {
		if err != nil {
			failed = append(failed, err)
		}
	}
	return failed
}

// requireWhole compares with a schema that nobody disturbed.
func requireWhole(t *testing.T, url string, files fs.FS) {
	t.Helper()
	config := migrations.Config{URL: url, FS: files}
	applied, err := migrations.Up(t.Context(), config)
	require.NoError(t, err)
	require.Zero(t, applied)
	requireVersion(t, config, migrations.Version())
	require.Equal(t, objects(t, connect(t, storetest.New(t))), objects(t, connect(t, url)))
}
