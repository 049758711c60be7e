package events_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestTheProbePassesOnTheServerItself(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	require.NoError(t, events.ProbeListen(t.Context(), connConfig(t, url)))
	p, config := through(t, connConfig(t, url), false)
	require.NoError(t, events.ProbeListen(t.Context(), config))
	require.Zero(t, p.notifications.Load())

	// It leaves no session behind.
	conn := session(t, url)
	require.Eventually(t, func() bool {
		var n int
		return conn.QueryRow(t.Context(), `select count(*) from pg_stat_activity
			where datname = current_database() and pid <> pg_backend_pid()`).Scan(&n) == nil && n == 0
	}, patience, 5*time.Millisecond)
}

func TestTheProbeTellsAPoolerThatWithholdsNotifications(t *testing.T) {
	t.Parallel()
	p, config := through(t, connConfig(t, storetest.Empty(t)), true)
	require.ErrorIs(t, events.ProbeListen(t.Context(), config), events.ErrNoNotify)
	require.EqualValues(t, 1, p.notifications.Load(), "the fault took hold")
}

func TestTheProbeTellsOtherErrorsFromAPooler(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := events.ProbeListen(ctx, connConfig(t, url))
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, events.ErrNoNotify)

	// Canceled while it waits.
	p, config := through(t, connConfig(t, url), true)
	ctx, cancel = context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- events.ProbeListen(ctx, config) }()
	require.Eventually(t, func() bool { return p.notifications.Load() == 1 }, patience, time.Millisecond)
	cancel()
	err = <-ended
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, events.ErrNoNotify)

	// Nobody there, and nobody of that name.
	config = connConfig(t, url)
	refused := errors.New("refused")
	config.DialFunc = func(context.Context, string, string) (net.Conn, error) { return nil, refused }
	require.ErrorIs(t, events.ProbeListen(t.Context(), config), refused)

	config = connConfig(t, url)
	config.Database, config.Password = "nowhere", "hunter2"
	err = events.ProbeListen(t.Context(), config)
	var pgErr *pgconn.PgError
	require.ErrorAs(t, err, &pgErr)
	require.Equal(t, "3D000", pgErr.Code)
	require.NotContains(t, err.Error(), "hunter2")
}
