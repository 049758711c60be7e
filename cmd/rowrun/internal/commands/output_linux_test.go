package commands

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

// Whoever is told to stop does, though its reader takes nothing more.
func TestAStreamThatNobodyReadsStops(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := rowruntest.Connect(t, url)
	task := insertRun(t, conn, "NOOP", "{}", nil)
	_, err := conn.Exec(t.Context(), `INSERT INTO rowrun.task_run (task_id) SELECT task_id FROM rowrun.task_run, generate_series(1, 500) WHERE id = $1`, task)
	require.NoError(t, err)
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _ = errors.Join(reader.Close(), writer.Close()) })
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"stream", "--since", "1h"}, cli.Environment{
			Stdin: strings.NewReader(""), Stdout: writer, Stderr: io.Discard, Lookup: rowruntest.LookupIn(map[string]string{"DATABASE_URL": url}),
		})
	}()
	rowruntest.Eventually(t, "a full pipe", func() bool {
		held, err := unix.IoctlGetInt(int(reader.Fd()), unix.TIOCINQ)
		require.NoError(t, err)
		return held > 60<<10
	})
	stop()
	select {
	case got := <-code:
		require.Equal(t, cli.ExitDone, got)
	case <-time.After(20 * time.Second):
		require.Fail(t, "it waits for its reader")
	}
}

// A disk that is full is no database that is away.
func TestAFullOutputIsNamed(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	insertRun(t, rowruntest.Connect(t, url), "NOOP", "{}", nil)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = full.Close() })
	var said strings.Builder
	code := run(t.Context(), []string{"run", "list"}, cli.Environment{
		Stdin: strings.NewReader(""), Stdout: full, Stderr: &said, Lookup: rowruntest.LookupIn(map[string]string{"DATABASE_URL": url}),
	})
	require.Equal(t, cli.ExitFailed, code)
	require.Contains(t, said.String(), "no space left on device")
	require.NotContains(t, said.String(), "database")
}
