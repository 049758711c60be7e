package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestABatchIsHalvedAndGrows(t *testing.T) {
	t.Parallel()
	var b store.Batch
	late := &pgconn.PgError{Code: "57014"}
	require.Equal(t, 1000, b.Most(1000))
	require.False(t, b.Done(1000, errors.New("something else")))
	require.Equal(t, 1000, b.Most(1000))
	for _, want := range []int{500, 250, 125, 62, 31, 15, 7, 3, 1} {
		require.True(t, b.Done(b.Most(1000), late))
		require.Equal(t, want, b.Most(1000))
	}
	require.False(t, b.Hopeless())
	require.False(t, b.Done(1, context.DeadlineExceeded), "one is the least")
	require.True(t, b.Hopeless())
	require.False(t, b.Hopeless(), "it is said once")
	for range 1000 {
		b.Done(b.Most(1000), nil)
	}
	require.Equal(t, 1000, b.Most(1000))
}

// A pass over many that takes longer than a statement may is followed by smaller ones, until it gets on.
func TestAPassThatTakesTooLongIsFollowedByASmallerOne(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := connect(t, url)
	addReplica(t, conn, "r")
	exec(t, conn, `INSERT INTO rowrun.task (type, database_id) VALUES ('NOOP', 'db')`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT 1 FROM generate_series(1, 400)`)
	// 400 take 4 s, and a statement may take 0.9 s.
	exec(t, conn, `CREATE FUNCTION public.slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.01); RETURN NEW; END $$`)
	exec(t, conn, `CREATE TRIGGER a_slow BEFORE UPDATE ON rowrun.task_run FOR EACH ROW EXECUTE FUNCTION public.slow()`)
	s := open(t, url, 3*time.Second)
	failed, promoted := 0, 0
	for promoted < 400 {
		pass, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteSweep})
		if store.TookTooLong(err) {
			failed++
			require.Less(t, failed, 20, "it goes on with as many as before")
			continue
		}
		require.NoError(t, err)
		promoted += pass.Promoted
	}
	require.NotZero(t, failed, "it is too quick for this test")
}
