package session_test

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/embeddedpg"
	"github.com/rowrun/rowrun/store/session"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// successor copies a server while it stands still, and starts the copy as a standby once the origin goes on.
func successor(t *testing.T, origin *embeddedpg.Cluster) *embeddedpg.Cluster {
	t.Helper()
	require.NoError(t, origin.Halt(t.Context()))
	dir, err := os.MkdirTemp(filepath.Dir(origin.Dir()), "rowrun-successor-") //nolint:usetesting // where the server's user can go
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	out, err := exec.CommandContext(t.Context(), "cp", "-a", origin.Dir()+"/.", dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NoError(t, origin.Restart(t.Context()))                                            // first, as its port is free for others until then
	require.NoError(t, os.WriteFile(filepath.Join(dir, "data", "standby.signal"), nil, 0o644)) //nolint:gosec // empty
	bin, err := embeddedpg.Find(t.Context())
	require.NoError(t, err)
	copied, err := embeddedpg.Start(t.Context(), embeddedpg.Config{Dir: dir, BinDir: bin, Settings: map[string]string{
		"max_connections": "300", "max_replication_slots": "64", "max_wal_senders": "64", "fsync": "off",
	}})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, copied.Stop(ctx))
	})
	return copied
}

func connectBy(t *testing.T, h *session.History, address string) (*pgx.Conn, error) {
	t.Helper()
	config, err := pgx.ParseConfig(address)
	require.NoError(t, err)
	h.Guard(config)
	session.Pin(config)
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err == nil {
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
	}
	return conn, err
}

func TestWhoHasSeenThePromotionRefusesTheOldPrimary(t *testing.T) {
	t.Parallel()
	old := storetest.OwnCluster(t)
	promoted := successor(t, old)

	var h session.History
	var told []error
	h.Tell(func(err error) { told = append(told, err) })
	before, err := connectBy(t, &h, old.URL("postgres"))
	require.NoError(t, err)
	standby, err := connectBy(t, &h, promoted.URL("postgres"))
	require.NoError(t, err, "a standby is on no side")
	_, err = standby.Exec(t.Context(), "SELECT pg_promote()")
	require.NoError(t, err)
	require.NoError(t, before.Ping(t.Context()), "nobody knows of the promotion yet")

	_, err = connectBy(t, &h, promoted.URL("postgres"))
	require.NoError(t, err)
	require.Error(t, before.Ping(t.Context()), "what leads to the old primary is closed")
	require.NoError(t, standby.Ping(t.Context()))
	_, err = connectBy(t, &h, old.URL("postgres"))
	require.ErrorIs(t, err, session.ErrOldPrimary)
	require.ErrorContains(t, err, "timeline is 1, and this process has seen 2")

	both, err := url.Parse(old.URL("postgres"))
	require.NoError(t, err)
	other, err := url.Parse(promoted.URL("postgres"))
	require.NoError(t, err)
	both.Host += "," + other.Host
	conn, err := connectBy(t, &h, both.String())
	require.NoError(t, err)
	require.Equal(t, other.Port(), portOf(t, conn), "the next host is taken")
	require.Len(t, told, 1, "what repeats is told once")
	require.ErrorIs(t, told[0], session.ErrOldPrimary)

	var stranger session.History
	_, err = connectBy(t, &stranger, old.URL("postgres"))
	require.NoError(t, err, "whoever has seen nothing can't know")
}

func portOf(t *testing.T, conn *pgx.Conn) (port string) {
	t.Helper()
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT current_setting('port')").Scan(&port))
	return port
}
