package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// The history may take minutes. Where a reader begins is known at once, or there is no answer: what waits for it can ask another
// connection.
func TestWhereAStreamBeginsIsKnownSoonOrNotAtAll(t *testing.T) {
	t.Parallel()
	s, pool := opened(t, storetest.New(t))
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	_, err = tx.Exec(t.Context(), "LOCK TABLE rowrun.task_run IN ACCESS EXCLUSIVE MODE")
	require.NoError(t, err)
	began := time.Now()
	_, _, err = s.OpenStreamAt(t.Context(), &store.StreamPoint{At: began}, nil)
	require.ErrorContains(t, err, "open stream: no answer within 10 s")
	require.NoError(t, tx.Rollback(t.Context()))
	_, history, err := s.OpenStreamAt(t.Context(), &store.StreamPoint{At: began}, nil)
	require.NoError(t, err)
	history.Close(t.Context())
}

// What INSERTs make AVAILABLE is most of what a writer reads that begins beside a backlog: one row tells both transitions.
func TestAnInsertTellsWhatItHasMadeOfItsRun(t *testing.T) {
	t.Parallel()
	s, pool := opened(t, storetest.New(t))
	began, err := s.StreamMoment(t.Context())
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), `INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.define_task('free', 'NOBODY') AS id`)
	require.NoError(t, err)
	for _, point := range []store.StreamPoint{began.Point, {At: began.Point.At}} {
		_, history, err := s.OpenStreamAt(t.Context(), &point, nil)
		require.NoError(t, err)
		past, err := history.Next(t.Context(), 10)
		history.Close(t.Context())
		require.NoError(t, err)
		require.Len(t, past, 1)
		require.Equal(t, "PENDING of AVAILABLE", past[0].To+" of "+past[0].Status)
	}
}
