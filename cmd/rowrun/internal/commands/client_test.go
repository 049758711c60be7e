package commands

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
)

// A person's command is one connection: each costs the server a process, and the person its start. That is enough to see
// that the server is a standby.
func TestACommandMakesOneConnection(t *testing.T) {
	t.Parallel()
	cluster := ownServer(t, nil)
	variables := map[string]string{"DATABASE_URL": cluster.SocketURL("postgres")}
	require.Equal(t, cli.ExitDone, rowrun(t.Context(), t, variables, "migrate", "up").Code)
	aside := rowruntest.Connect(t, cluster.SocketURL("template1"))
	sessions := func() (n int) { // when all are over, which is when the server has counted them
		for over := false; !over; <-time.After(10 * time.Millisecond) {
			require.NoError(t, aside.QueryRow(t.Context(), `SELECT sessions, numbackends = 0 FROM pg_stat_database WHERE datname = 'postgres'`).Scan(&n, &over))
		}
		return n
	}
	before := sessions()
	require.Equal(t, cli.ExitDone, rowrun(t.Context(), t, variables, "run", "list").Code)
	require.Equal(t, before+1, sessions())

	require.NoError(t, aside.Close(t.Context()))
	require.NoError(t, cluster.Halt(t.Context()))
	data, err := filepath.Glob(filepath.Join(cluster.Dir(), "*", "PG_VERSION"))
	require.NoError(t, err)
	require.Len(t, data, 1)
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(data[0]), "standby.signal"), nil, 0o644))
	require.NoError(t, cluster.Restart(t.Context()))
	got := rowrun(t.Context(), t, variables, "run", "list")
	require.Equal(t, cli.ExitFailed, got.Code)
	require.Contains(t, got.Stderr, "is a standby")
}
