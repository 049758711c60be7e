package events_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store/storetest"
)

// slot makes a table that is published, and a slot.
func slot(t *testing.T) (url string, conn *pgx.Conn, config events.ReplicateConfig) {
	t.Helper()
	url = storetest.Empty(t)
	conn = session(t, url)
	var name string
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT 'replicate_' || pg_backend_pid()").Scan(&name))
	for _, statement := range []string{
		"CREATE TABLE thing (id int PRIMARY KEY, name text)",
		"CREATE PUBLICATION things FOR TABLE thing (id, name) WITH (publish = 'insert, update')",
		"SELECT pg_create_logical_replication_slot('" + name + "', 'pgoutput')",
	} {
		_, err := conn.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	return url, conn, events.ReplicateConfig{ConnConfig: connConfig(t, url), Slot: name, Publication: "things"}
}

// reading opens and runs; stop ends both.
func reading(t *testing.T, config events.ReplicateConfig) (r *events.Replication, stop func() error) {
	t.Helper()
	require.Eventually(t, func() bool { // the server may not have freed it yet of who read before
		var err error
		r, err = events.OpenReplication(t.Context(), config)
		if err != nil {
			require.ErrorIs(t, err, events.ErrSlotInUse)
		}
		return err == nil
	}, patience, 20*time.Millisecond)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	stopped := false
	stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		err := <-ended
		r.Close()
		return err
	}
	t.Cleanup(func() { _ = stop() })
	return r, stop
}

// next is the rows of n transactions, as id and name.
func next(t *testing.T, r *events.Replication, n int) (names []string, last events.Tx) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for n > 0 {
		txs, err := r.Next(ctx)
		require.NoError(t, err)
		for i := range txs {
			last = txs[i]
			for _, row := range txs[i].Rows {
				names = append(names, string(row.Values[1].Data))
			}
			if last.End != 0 {
				n--
			}
		}
	}
	return names, last
}

func TestReplicationGoesOnWhereItWasConfirmed(t *testing.T) {
	t.Parallel()
	_, conn, config := slot(t)
	insert := func(id int, name string) {
		_, err := conn.Exec(t.Context(), "INSERT INTO thing VALUES ($1, $2)", id, name)
		require.NoError(t, err)
	}
	insert(1, "a")
	insert(2, "b")
	r, stop := reading(t, config)
	require.NotEmpty(t, r.System().ID)
	require.Equal(t, 1, r.System().Timeline)
	names, _ := next(t, r, 2)
	require.Equal(t, []string{"a", "b"}, names)
	require.NoError(t, stop())

	// Nothing was confirmed: all comes again.
	r, stop = reading(t, config)
	names, last := next(t, r, 2)
	require.Equal(t, []string{"a", "b"}, names)
	r.Confirm(last.End)
	insert(3, "c")
	names, _ = next(t, r, 1)
	require.Equal(t, []string{"c"}, names)
	require.NoError(t, stop())
	r, stop = reading(t, config)
	names, _ = next(t, r, 1)
	require.Equal(t, []string{"c"}, names)
	require.NoError(t, stop())
	_, err := r.Next(t.Context())
	require.ErrorIs(t, err, events.ErrClosed)
}

func TestSlotHasOneReader(t *testing.T) {
	t.Parallel()
	_, conn, config := slot(t)
	_, stop := reading(t, config)
	_, err := events.OpenReplication(t.Context(), config)
	require.ErrorIs(t, err, events.ErrSlotInUse)
	require.NoError(t, stop())
	other := config
	other.Slot = "no_such_slot"
	_, err = events.OpenReplication(t.Context(), other)
	require.ErrorIs(t, err, events.ErrNoSlot)

	// A connection that is ended is an error, for Run and for Next.
	r, stop := reading(t, config)
	_, err = conn.Exec(t.Context(), "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = $1", config.Slot)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err = r.Next(ctx)
	require.Error(t, err)
	require.NotErrorIs(t, err, events.ErrClosed)
	require.Error(t, stop())
}

// While nobody takes what was read, the server still hears that somebody is there, and keeps what was not confirmed.
func TestSlowReaderKeepsItsSlot(t *testing.T) {
	t.Parallel()
	_, conn, config := slot(t)
	config.SenderTimeout = time.Second
	config.Buffer = 10
	r, stop := reading(t, config)
	_, err := conn.Exec(t.Context(), "INSERT INTO thing SELECT n, repeat('x', 1000) FROM generate_series(1, 5000) n")
	require.NoError(t, err)
	deadline := time.After(patience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	var began time.Time
	for time.Since(began) < 3*time.Second || began.IsZero() { // three times as long as the server waits
		select {
		case <-tick.C:
		case <-deadline:
			require.Fail(t, "never stalled")
		}
		if began.IsZero() && r.Stalled() {
			began = time.Now()
		}
	}
	var active bool
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT active FROM pg_replication_slots WHERE slot_name = $1", config.Slot).Scan(&active))
	require.True(t, active)
	names, last := next(t, r, 1) // in pieces
	require.Len(t, names, 5000)
	require.NotZero(t, last.End)
	require.NoError(t, stop())
}

// Log that concerns nobody here is confirmed by itself, but never past what was read and not confirmed.
func TestIdleSlotMovesOn(t *testing.T) {
	t.Parallel()
	_, conn, config := slot(t)
	config.SenderTimeout = 2 * time.Second
	r, stop := reading(t, config)
	_, err := conn.Exec(t.Context(), "INSERT INTO thing VALUES (1, 'a')")
	require.NoError(t, err)
	_, last := next(t, r, 1)
	write := func() events.LSN {
		_, err := conn.Exec(t.Context(), "CREATE TABLE IF NOT EXISTS other (n int); INSERT INTO other SELECT generate_series(1, 1000)")
		require.NoError(t, err)
		var text string
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT pg_current_wal_lsn()::text").Scan(&text))
		end, err := events.ParseLSN(text)
		require.NoError(t, err)
		return end
	}
	end := write()
	require.Eventually(t, func() bool { received, _ := r.Position(); return received >= end }, patience, 5*time.Millisecond)
	_, confirmed := r.Position()
	require.Less(t, confirmed, last.End)
	r.Confirm(last.End)
	require.Eventually(t, func() bool { _, confirmed := r.Position(); return confirmed >= end }, patience, 5*time.Millisecond)
	require.Eventually(t, func() bool {
		var there bool
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT confirmed_flush_lsn >= $1::text::pg_lsn FROM pg_replication_slots WHERE slot_name = $2",
			end.String(), config.Slot).Scan(&there))
		return there
	}, patience, 5*time.Millisecond)
	require.NoError(t, stop())
}
