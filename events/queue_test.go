package events_test

import (
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store/storetest"
)

// LISTEN reads a queue that somebody holds from its beginning, and goes on when its client has left: a session that
// tries again and again would fill the server with readers.
func TestNobodyBeginsToListenToAFullQueue(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	holds, fills := session(t, url), session(t, url)
	_, err := holds.Exec(t.Context(), `LISTEN held`)
	require.NoError(t, err)
	_, err = holds.Exec(t.Context(), `BEGIN; SELECT 1`)
	require.NoError(t, err)
	var queued float64
	require.NoError(t, fills.QueryRow(t.Context(), `SELECT pg_notification_queue_usage() FROM
		(SELECT count(pg_notify('held', repeat('x', 7000) || i)) FROM generate_series(1, 2000) i) n`).Scan(&queued))
	require.NoError(t, fills.QueryRow(t.Context(), `SELECT pg_notification_queue_usage()`).Scan(&queued))
	require.Greater(t, queued, 0.001, "the queue is held")

	h := start(t, connConfig(t, url), func(c *events.ListenConfig) {
		c.Probe = true
		c.PingInterval = 100 * time.Millisecond
		c.AppName = "the listener"
	}, func(l *events.Listener) { events.SetMostQueued(l, 0.0005) })
	require.Eventually(t, func() bool { return h.log.count(events.ErrQueueFull.Error()) > 0 }, patience, 10*time.Millisecond)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 20 { // four times as long as it waits between two tries
		<-tick.C
		var listens int
		require.NoError(t, fills.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = 'the listener' AND query ILIKE 'listen%'`).Scan(&listens))
		require.Zero(t, listens, "it begins to listen")
	}
	require.False(t, h.Connected())

	_, err = holds.Exec(t.Context(), `COMMIT`)
	require.NoError(t, err)
	require.True(t, h.next(t).Look, "a connected listener says look")
	require.True(t, h.Connected())
}

// A queue without room is no reason to give up a connection that listens.
func TestAFullQueueIsAnAnswer(t *testing.T) {
	t.Parallel()
	require.NoError(t, events.AnswerToEcho(nil))
	require.NoError(t, events.AnswerToEcho(&pgconn.PgError{Code: "54000"}))
	require.Error(t, events.AnswerToEcho(&pgconn.PgError{Code: "57P01"}))
	require.Error(t, events.AnswerToEcho(errors.New("closed")))
}
