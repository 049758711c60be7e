package store_test

import (
	"math"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

func opened(t *testing.T, url string) (*store.Store, *pgxpool.Pool) {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{URL: url})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s, s.Pool()
}

// makeSlot makes a slot, as the writer of the stream does.
func makeSlot(t *testing.T, url, name string, limit time.Duration) error {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	require.NoError(t, err)
	made, err := events.MakeSlot(t.Context(), config, name, limit)
	if err == nil {
		made.Close()
	}
	return err
}

func TestStreamSlotIsMadeSeenAndDropped(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	s, _ := opened(t, url)
	deployment, err := s.Deployment(t.Context())
	require.NoError(t, err)
	state, err := s.StreamSlot(t.Context())
	require.NoError(t, err)
	require.Equal(t, store.StreamSlotName(deployment), state.Name)
	require.False(t, state.Exists)
	require.Equal(t, "logical", state.WALLevel)
	require.True(t, state.MayReplicate)
	require.True(t, state.Published)
	require.Empty(t, state.Unfit(true))
	require.Contains(t, state.Unfit(false), "max_slot_wal_keep_size")

	require.NoError(t, makeSlot(t, url, state.Name, storetest.SlotPatience()))
	require.Equal(t, "42710", store.SQLState(makeSlot(t, url, state.Name, storetest.SlotPatience())))
	state, err = s.StreamSlot(t.Context())
	require.NoError(t, err)
	require.True(t, state.Exists)
	require.True(t, state.Ours)
	require.False(t, state.Active)
	require.Equal(t, "reserved", state.Status)
	require.NotEmpty(t, state.Confirmed)

	dropped, err := s.DropStreamSlot(t.Context(), state.Name, true)
	require.NoError(t, err)
	require.True(t, dropped)
	dropped, err = s.DropStreamSlot(t.Context(), state.Name, true)
	require.NoError(t, err)
	require.False(t, dropped)
}

// A slot waits for every transaction that has written; ours doesn't wait for ever, and leaves nothing behind.
func TestSlotGivesUpBehindAnOpenTransaction(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	s, pool := opened(t, url)
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	_, err = tx.Exec(t.Context(), "INSERT INTO rowrun.plan DEFAULT VALUES")
	require.NoError(t, err)
	state, err := s.StreamSlot(t.Context())
	require.NoError(t, err)
	for _, limit := range []time.Duration{time.Millisecond, 200 * time.Millisecond} { // also one that is shorter than making a connection
		require.ErrorIs(t, makeSlot(t, url, state.Name, limit), events.ErrSlotTimeout)
	}
	require.NoError(t, tx.Rollback(t.Context()))
	state, err = s.StreamSlot(t.Context())
	require.NoError(t, err)
	require.False(t, state.Exists)
	require.NoError(t, makeSlot(t, url, state.Name, storetest.SlotPatience()))
}

func TestUnfitSaysWhy(t *testing.T) {
	t.Parallel()
	fit := store.SlotState{WALLevel: "logical", KeepMB: 1024, MayReplicate: true, Published: true, Exists: true, Ours: true}
	require.Empty(t, fit.Unfit(false))
	for want, change := range map[string]func(*store.SlotState){
		"wal_level is replica": func(s *store.SlotState) { s.WALLevel = "replica" },
		"no REPLICATION":       func(s *store.SlotState) { s.MayReplicate = false },
		"publication":          func(s *store.SlotState) { s.Published = false },
		"something else":       func(s *store.SlotState) { s.Ours = false },
	} {
		s := fit
		change(&s)
		require.Contains(t, s.Unfit(true), want)
	}
}

// toldSince are the transitions of each run that the rows tell since a point, in their order.
func toldSince(t *testing.T, s *store.Store, point store.StreamPoint, unseen []store.Span) map[int64][]string {
	t.Helper()
	_, history, err := s.OpenStreamAt(t.Context(), &point, unseen)
	require.NoError(t, err)
	defer history.Close(t.Context())
	past, err := history.Next(t.Context(), 100)
	require.NoError(t, err)
	told := map[int64][]string{}
	for _, p := range past {
		told[p.ID] = append(told[p.ID], p.To)
	}
	return told
}

// The rows tell what a point doesn't show, also of a transaction that had been open for long.
func TestHistoryFindsLateCommits(t *testing.T) {
	t.Parallel()
	s, pool := opened(t, storetest.New(t))
	var task, early, late int64
	require.NoError(t, pool.QueryRow(t.Context(), "INSERT INTO rowrun.task (type) VALUES ('NOBODY') RETURNING id").Scan(&task))
	require.NoError(t, pool.QueryRow(t.Context(), "INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id", task).Scan(&early))
	<-time.After(600 * time.Millisecond) // half a second is told again
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	require.NoError(t, tx.QueryRow(t.Context(), "INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id", task).Scan(&late))
	moment, err := s.StreamMoment(t.Context())
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context()))
	_, err = pool.Exec(t.Context(), "UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r' WHERE id = $1", early)
	require.NoError(t, err)

	require.Equal(t, map[int64][]string{early: {"RUNNING"}, late: {"PENDING", "AVAILABLE"}}, toldSince(t, s, moment.Point, nil))
}

// What is behind a savepoint has a number of its own, and no snapshot says of that one that it was open.
func TestHistoryFindsLateCommitsBehindASavepoint(t *testing.T) {
	t.Parallel()
	s, pool := opened(t, storetest.New(t))
	var task, late, early int64
	const insert = "INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id"
	require.NoError(t, pool.QueryRow(t.Context(), "INSERT INTO rowrun.task (type) VALUES ('NOBODY') RETURNING id").Scan(&task))
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	_, err = tx.Exec(t.Context(), "SAVEPOINT inner_part")
	require.NoError(t, err)
	require.NoError(t, tx.QueryRow(t.Context(), insert, task).Scan(&late))
	require.NoError(t, pool.QueryRow(t.Context(), insert, task).Scan(&early)) // with a higher number
	<-time.After(600 * time.Millisecond)                                      // half a second is told again
	_, err = tx.Exec(t.Context(), "UPDATE rowrun.task_run SET status = 'CANCELED' WHERE id = $1", early)
	require.NoError(t, err)
	moment, err := s.StreamMoment(t.Context())
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context()))

	unseen := []store.Span{{Low: late, High: late}, {Low: early + 1, High: math.MaxInt64}}
	require.Equal(t, map[int64][]string{late: {"PENDING", "AVAILABLE"}, early: {"CANCELED"}}, toldSince(t, s, moment.Point, unseen))
}

func TestPositionsAreKeptBySecondAndThinnedToMinutes(t *testing.T) {
	t.Parallel()
	s, _ := opened(t, storetest.New(t))
	last, err := s.LastStreamPosition(t.Context())
	require.NoError(t, err)
	require.Nil(t, last)
	moment, err := s.StreamMoment(t.Context())
	require.NoError(t, err)
	at := moment.Point.At.Truncate(time.Minute)
	put := func(ago time.Duration, lsn string) {
		require.NoError(t, s.RecordStreamPosition(t.Context(), store.StreamPosition{
			SystemID: "s", Timeline: 1, LSN: lsn, Point: store.StreamPoint{At: at.Add(-ago), Snapshot: moment.Point.Snapshot},
		}))
	}
	put(8*24*time.Hour, "0/1")
	put(2*time.Minute, "0/10")
	put(time.Minute, "0/20")
	put(time.Minute-time.Second, "0/30")
	put(time.Hour+3*time.Minute-time.Second, "0/5")
	put(time.Hour+3*time.Minute-2*time.Second, "0/6")
	put(0, "")
	require.NoError(t, s.ThinStreamPositions(t.Context()))
	last, err = s.LastStreamPosition(t.Context())
	require.NoError(t, err)
	require.Empty(t, last.LSN)
	for lsn, want := range map[string]string{"0/2F": "0/20", "0/1F": "0/10", "0/30": "0/30", "1/0": "0/30", "0/F": "0/6"} {
		found, err := s.StreamPositionAt(t.Context(), lsn)
		require.NoError(t, err)
		require.Equal(t, want, found.LSN, lsn)
	}
	found, err := s.StreamPositionAt(t.Context(), "0/5")
	require.NoError(t, err)
	require.Nil(t, found, "older than a week, and not the newest of its minute")
}
