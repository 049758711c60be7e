package session_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/session"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

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
	promoted := storetest.Successor(t, old)

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

	conn, err := connectBy(t, &h, storetest.Both(t, old.URL("postgres"), promoted.URL("postgres")))
	require.NoError(t, err)
	require.Equal(t, strconv.Itoa(promoted.Port()), portOf(t, conn), "the next host is taken")
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
