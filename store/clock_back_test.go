package store_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// setBack has the database's clock an hour behind what all rows say of their last edges.
func setBack(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	exec(t, conn, `BEGIN; SET LOCAL session_replication_role = replica; UPDATE rowrun.task_run SET updated_at = greatest(updated_at, now()) + interval '1 hour'; COMMIT`)
}

// Behind a clock that was set back a claim and an end of a replica or a worker stay theirs: they don't count as written by hand,
// which would announce them twice, and give the run of a schedule its next tick besides the retry.
func TestEdgesStayTheirWritersBehindAClockThatWasSetBack(t *testing.T) {
	t.Parallel()
	const byHand = `SELECT count(*) FROM rowrun.task_run WHERE status = ANY ($1) AND (edited_directly OR updated_at < now() + interval '50 minutes')`
	// live takes what waits through a claim and an end.
	live := func(t *testing.T, conn *pgx.Conn, s *store.Store, runs int, w store.Capabilities, failed bool) {
		t.Helper()
		setBack(t, conn)
		round, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: w, Promote: store.PromoteDue, Claim: store.ClaimAny, Want: runs})
		require.NoError(t, err)
		require.Len(t, round.Claims, runs)
		require.Zero(t, query[int](t, conn, byHand, []string{"RUNNING"}))
		setBack(t, conn)
		var endings []store.Ending
		for _, c := range round.Claims {
			ending := endingOf(c)
			if failed {
				ending.Failed, ending.Retry, ending.Result = true, store.RetryFailure, []byte(`{"code": "ERROR"}`)
			}
			endings = append(endings, ending)
		}
		done, _, err := s.EndRuns(t.Context(), endings, time.Second)
		require.NoError(t, err)
		require.Len(t, done, runs)
	}
	replica := func(runs int, with func(*store.Capabilities), failed bool, statements ...string) func(*testing.T, *pgx.Conn, *store.Store) {
		return func(t *testing.T, conn *pgx.Conn, s *store.Store) {
			t.Helper()
			for _, statement := range statements {
				exec(t, conn, statement)
			}
			if query[int](t, conn, `SELECT count(*) FROM rowrun.task_run`) == 0 {
				exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT 1 FROM generate_series(1, $1)`, runs)
			}
			w := noop()
			if with != nil {
				with(&w)
			}
			live(t, conn, s, runs, w, failed)
		}
	}
	for name, work := range map[string]func(*testing.T, *pgx.Conn, *store.Store){
		"one":     replica(1, nil, false),
		"several": replica(3, nil, false),
		"after another": replica(3, func(w *store.Capabilities) { w.Cursor = store.SlowCursor(1, time.Now(), time.Hour) }, false,
			`INSERT INTO rowrun.task_run (task_id) SELECT 1 FROM generate_series(1, 4)`),
		"failed":  replica(3, nil, true),
		"limited": replica(3, nil, false, `INSERT INTO rowrun.concurrency_limit (name, type, max_running) VALUES ('many', 'NOOP', 100)`),
		"of a schedule, with a retry": func(t *testing.T, conn *pgx.Conn, s *store.Store) {
			t.Helper()
			replica(1, nil, true, `UPDATE rowrun.task SET schedule = '@every 1h', max_attempts = 3 WHERE id = 1`,
				`UPDATE rowrun.task_run SET run_at = now() - interval '1 second'`)(t, conn, s)
			require.Equal(t, 1, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run r JOIN rowrun.task_run n ON n.id = r.retry_run_id AND n.attempt = 1`))
			require.Equal(t, 2, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run`))
		},
		"a worker's": func(t *testing.T, conn *pgx.Conn, _ *store.Store) {
			t.Helper()
			exec(t, conn, `INSERT INTO rowrun.task (id, type) VALUES (2, 'OWN')`)
			exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES (2)`)
			setBack(t, conn)
			claim := query[string](t, conn, `SELECT claim::text FROM rowrun.claim_runs(gen_random_uuid(), 'w', '{OWN}', 1)`)
			require.Zero(t, query[int](t, conn, byHand, []string{"RUNNING"}))
			setBack(t, conn)
			exec(t, conn, `SELECT rowrun.finish_runs(gen_random_uuid(), 'w', jsonb_build_array(jsonb_build_object('claim', $1::text, 'status', 'DONE')))`, claim)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := storetest.New(t)
			conn, s := connect(t, url), openStore(t, url)
			addReplica(t, conn, "r")
			exec(t, conn, `INSERT INTO rowrun.task (id, type) VALUES (1, 'NOOP')`)
			work(t, conn, s)
			require.Zero(t, query[int](t, conn, byHand, []string{"DONE", "FAILED"}))
			require.Positive(t, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE status IN ('DONE', 'FAILED')`))
		})
	}
}
