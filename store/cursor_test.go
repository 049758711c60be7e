package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// A search that reads little is followed by one from the first run, whatever it took. After one that read much for what it
// found the next begin after that, until one from the first run follows, ten times as long as it took after it.
func TestASlowSearchIsGoneOnFrom(t *testing.T) {
	t.Parallel()
	cursor := &store.Cursor{}
	from, found := cursor.After, cursor.Found
	now := time.Now()
	after := func(ms int) time.Time { return now.Add(time.Duration(ms) * time.Millisecond) }
	const took, much = 20 * time.Millisecond, 15_000
	require.Zero(t, from(now))
	require.Zero(t, found(0, time.Minute, 10_000, 10, 10, 7, now))
	require.Zero(t, from(now), "it read little")
	require.Zero(t, found(0, took, much, 1000, 1000, 7, now))
	require.Zero(t, from(now), "it read little for what it found")
	require.Zero(t, found(0, took, much, 10, 10, 7, now))
	require.Equal(t, int64(7), from(after(199)))
	require.Zero(t, found(7, took, 10, 10, 10, 9, after(50)), "there is more to find before it is time to look back")
	require.Equal(t, int64(9), from(after(100)))
	require.Equal(t, 100*time.Millisecond, found(9, took, 10, 0, 10, 0, after(100)))
	require.Equal(t, int64(9), from(after(100)))
	require.Zero(t, from(after(200)), "time to look back")

	cursor.Invalidate()
	require.Equal(t, 30*time.Millisecond, found(9, took, 10, 0, 10, 0, after(10)))
	require.Equal(t, int64(9), from(after(39)))
	require.Zero(t, from(after(40)), "there may be something before")
	require.Zero(t, found(0, 30*time.Millisecond, much, 0, 10, 0, now))
	require.Equal(t, int64(9), from(after(299)), "it found nothing, and was not invalidated since")
	require.Zero(t, found(0, took, 10, 0, 10, 0, now))
	require.Zero(t, from(now), "the snapshot is gone")
}

// After a run are all that come later in the order, those of a lower priority, and those of a higher one; what is before
// it is found by the next search from the first run.
func TestSearchesAfterARun(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), open(t, url, time.Minute)
	addReplica(t, conn, "r")
	exec(t, conn, `INSERT INTO rowrun.task (id, type) VALUES (1, 'NOOP')`)
	exec(t, conn, `INSERT INTO rowrun.task_run (id, task_id, priority, run_at)
		SELECT id, 1, p, now() - ago * interval '1 minute' FROM (VALUES (1, 0, 9), (2, 0, 8), (3, 0, 8), (4, 0, 7), (5, 1, 1), (6, -1, 20)) v(id, p, ago)`)
	w := noop()
	exec(t, conn, `INSERT INTO rowrun.task_run (id, task_id, priority, run_at) VALUES (7, 1, -2, now())`)
	w.Cursor = store.SlowCursor(2, time.Now(), time.Hour)
	pass, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: w, Want: 3})
	require.NoError(t, err)
	require.Equal(t, []int64{5, 3, 4}, claimedIDs(pass.Claims))
	require.Zero(t, pass.Rescan, "there may be more")
	pass, err = s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: w, Want: 3})
	require.NoError(t, err)
	require.Equal(t, []int64{6, 7}, claimedIDs(pass.Claims))
	require.InDelta(t, 10*time.Hour, pass.Rescan, float64(time.Minute))
	// The run after which it would search may have been deleted.
	w.Cursor = store.SlowCursor(99, time.Now(), time.Hour)
	pass, err = s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: w, Want: 1})
	require.NoError(t, err)
	require.Equal(t, []int64{1}, claimedIDs(pass.Claims))
	w.Cursor = store.SlowCursor(6, time.Now().Add(-time.Hour), time.Minute)
	pass, err = s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: w, Want: 3})
	require.NoError(t, err)
	require.Equal(t, []int64{2}, claimedIDs(pass.Claims), "it is time to look back")
	require.Zero(t, pass.Rescan)
}
