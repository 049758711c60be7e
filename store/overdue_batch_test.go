package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
)

// Overdue runs whose ends take longer than a statement may are ended in smaller parts, and what is reported as ended has ended.
func TestOverdueRunsThatTakeTooLongAreEndedInSmallerParts(t *testing.T) {
	t.Parallel()
	const runs = 200
	conn := ownRuns(t, runs)
	require.Len(t, claimForW(t, conn, "1", runs, "1 min"), runs)
	exec(t, conn, `UPDATE rowrun.worker_claim SET until = clock_timestamp() - interval '1 h'`)
	// All of them take 4 s, and a statement may take 0.9 s.
	exec(t, conn, `CREATE FUNCTION public.slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.02); RETURN NEW; END $$`)
	exec(t, conn, `CREATE TRIGGER a_slow BEFORE UPDATE ON rowrun.task_run FOR EACH ROW EXECUTE FUNCTION public.slow()`)
	s := open(t, conn.Config().ConnString(), 3*time.Second)
	failed, ended := 0, 0
	for ended < runs {
		some, err := s.EndOverdue(t.Context(), store.Contact{For: time.Hour})
		ended += len(some)
		require.Equal(t, ended, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE status = 'FAILED'`))
		if store.TookTooLong(err) {
			failed++
			require.Less(t, failed, 20, "it goes on with as many as before")
			continue
		}
		require.NoError(t, err)
	}
	require.NotZero(t, failed, "it is too quick for this test")
}
