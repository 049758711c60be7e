package storetest_test

import (
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rowrun/rowrun/store/storetest"
)

// leak makes the test binary one that leaves a goroutine behind.
const leak = "STORETEST_TEST_LEAK"

func TestMain(m *testing.M) {
	if os.Getenv(leak) != "" {
		go func() { select {} }()
	}
	storetest.Main(m)
}

func TestNewIsMigratedAndPrivate(t *testing.T) {
	t.Parallel()
	one, two := storetest.New(t), storetest.New(t)
	require.NotEqual(t, one, two)
	for _, url := range []string{one, two, storetest.On(t, storetest.OwnCluster(t))} {
		conn, err := pgx.Connect(t.Context(), url)
		require.NoError(t, err)
		var plans int
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM rowrun.plan").Scan(&plans))
		require.Zero(t, plans)
		_, err = conn.Exec(t.Context(), "INSERT INTO rowrun.plan DEFAULT VALUES")
		require.NoError(t, err)
		require.NoError(t, conn.Close(t.Context()))
	}
}

// What a test leaves open, slots in use among it, doesn't keep its database.
func TestDatabaseGoesWithItsTest(t *testing.T) {
	t.Parallel()
	var name string
	t.Run("user", func(t *testing.T) { //nolint:paralleltest // looked at after its end
		config, err := pgx.ParseConfig(storetest.Empty(t))
		require.NoError(t, err)
		name = config.Database
		conn, err := pgx.ConnectConfig(t.Context(), config)
		require.NoError(t, err)
		_, err = conn.Exec(t.Context(), `SELECT pg_create_logical_replication_slot('left_' || pg_backend_pid(), 'pgoutput'),
			pg_create_logical_replication_slot('used_' || pg_backend_pid(), 'pgoutput', true)`)
		require.NoError(t, err)
		var active int
		require.NoError(t, conn.QueryRow(t.Context(),
			"SELECT count(*) FROM pg_replication_slots WHERE database = current_database() AND active").Scan(&active))
		require.Equal(t, 1, active)
	})

	conn, err := pgx.Connect(t.Context(), storetest.Cluster(t).SocketURL("postgres"))
	require.NoError(t, err)
	var left int
	require.NotEmpty(t, name)
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM pg_database WHERE datname = $1)
		+ (SELECT count(*) FROM pg_replication_slots WHERE database = $1)`, name).Scan(&left))
	require.Zero(t, left)
	require.NoError(t, conn.Close(t.Context()))
}

// Parts run side by side, each with the count and the seed that are its own.
func TestCheckMakesAsManyChecksAsAreAskedFor(t *testing.T) {
	t.Parallel()
	var made, parts atomic.Int64
	var drawn sync.Map
	t.Cleanup(func() {
		distinct := 0
		drawn.Range(func(any, any) bool { distinct++; return true })
		require.EqualValues(t, 2500, made.Load())
		require.EqualValues(t, 3, parts.Load())
		require.Equal(t, 2500, distinct, "parts that begin with the same seed")
	})
	storetest.CheckWith(t, 2500, 2500, func(*testing.T) func(*rapid.T) {
		parts.Add(1)
		return func(rt *rapid.T) {
			made.Add(1)
			drawn.Store(string(rapid.SliceOfN(rapid.Byte(), 20, 20).Draw(rt, "bytes")), true)
		}
	})
}

func TestMainFindsLeaks(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$") //nolint:gosec // ourselves
	cmd.Env = append(os.Environ(), leak+"=1")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 1, exit.ExitCode())
	require.Contains(t, string(out), "found unexpected goroutines")

	cmd = exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$") //nolint:gosec // ourselves
	out, err = cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}
