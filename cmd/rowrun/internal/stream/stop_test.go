package stream_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// A stop waits for a history no longer than it takes to leave the stream: reading all runs may take minutes.
func TestAStopWaitsForNoHistory(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	p := pool(t, url)
	first := standByLog(t, url, "a", true)
	first.awaitSource(t, "wal")
	run := walk(t, p, task(t, p, "before", "NOBODY"), "DONE")
	eventually(t, "its end", func() bool { return len(first.of(t, run)) == 4 })
	first.stop()
	first.hangUp()
	exec(t, p, `INSERT INTO rowrun.stream_position (second, system_id, timeline, lsn, at, snapshot)
		VALUES (date_trunc('second', now() + interval '1 minute'), '1', 1, '0/5', now() - interval '1 minute', pg_current_snapshot())`) // of another server

	holder, err := p.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = holder.Rollback(context.WithoutCancel(t.Context())) }()
	_, err = holder.Exec(t.Context(), "LOCK TABLE rowrun.task IN ACCESS EXCLUSIVE MODE")
	require.NoError(t, err)
	second := standByLog(t, url, "b", true)
	eventually(t, "it waits for what the rows know of the gap", func() (waits bool) {
		require.NoError(t, p.QueryRow(t.Context(), `SELECT count(*) > 0 FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%rowrun_stream_history%'`).Scan(&waits))
		return waits
	})
	begun := time.Now()
	second.stop()
	require.Less(t, time.Since(begun), 10*time.Second)
}
