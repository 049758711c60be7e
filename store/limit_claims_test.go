package store_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
)

// A limit on what a replica doesn't take leaves its claims the plain ones. One that is made on what it takes holds from the next claim on,
// and one that is deleted is forgotten by the next survey.
func TestALimitOnOthersLeavesClaimsAlone(t *testing.T) {
	t.Parallel()
	conn, s, task := limitedTask(t, `INSERT INTO rowrun.concurrency_limit (name, type, queue, max_running) VALUES ('type', 'OTHER', NULL, 0), ('queue', 'NOOP', 'elsewhere', 0)`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, 30)`, task)
	exec(t, conn, `ALTER FUNCTION rowrun.claim_available RENAME TO away`) // which claims call that ask limits
	first := work(t, s, 1).Claims
	require.Len(t, first, 1)
	require.Len(t, work(t, s, 10).Claims, 10)

	exec(t, conn, `INSERT INTO rowrun.concurrency_limit (name, type, max_running) VALUES ('one', 'NOOP', 12)`)
	require.Empty(t, work(t, s, 10).Claims, "it is asked, and can't be")
	exec(t, conn, `ALTER FUNCTION rowrun.away RENAME TO claim_available`)
	require.Len(t, work(t, s, 10).Claims, 1, "eleven are RUNNING")
	endClaims(t, s, first)
	require.Len(t, append(work(t, s, 10).Claims, work(t, s, 10).Claims...), 1, "the pass of the first opens one for the second")

	exec(t, conn, `SELECT rowrun.delete_limit('one')`)
	_, err := s.Survey(t.Context(), "r", noop(), store.SurveyAll)
	require.NoError(t, err)
	work(t, s, 1) // its pass opens what the limit held back
	exec(t, conn, `ALTER FUNCTION rowrun.claim_available RENAME TO away`)
	require.NotEmpty(t, work(t, s, 1).Claims)
	require.Len(t, work(t, s, 10).Claims, 10)
}

// A run that has its place and its token is asked again at its claim, where the limit was lowered or paused since.
func TestAPromotedRunIsAskedAgainAtItsClaim(t *testing.T) {
	t.Parallel()
	for change, want := range map[string]int{
		`SELECT 1`: 4,
		`UPDATE rowrun.concurrency_limit SET max_running = 2`:                       2,
		`UPDATE rowrun.concurrency_limit SET not_before = now() + interval '1 h'`:   0,
		`UPDATE rowrun.limit_bucket SET held_until = now() + interval '1 h'`:        0,
		`UPDATE rowrun.concurrency_limit SET max_running = 0`:                       0,
		`UPDATE rowrun.concurrency_limit SET not_before = now() - interval '1 min'`: 4,
	} {
		t.Run(change, func(t *testing.T) {
			t.Parallel()
			conn, s, task := limitedTask(t, `INSERT INTO rowrun.concurrency_limit (name, type, max_running, rate, per) VALUES ('four', 'NOOP', 4, 100, '1 s')`)
			exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, 4)`, task)
			require.Equal(t, 4, work(t, s, 0).Promoted)
			exec(t, conn, change)
			require.Len(t, work(t, s, 10).Claims, want)
			require.Empty(t, work(t, s, 10).Claims)
		})
	}
}

// What somebody is just claiming, and has asked about before a limit was lowered or made, counts as RUNNING: no more start beside it.
func TestAClaimUnderWayCountsWhereALimitIsLoweredOrMade(t *testing.T) {
	t.Parallel()
	for before, change := range map[string]string{
		`INSERT INTO rowrun.concurrency_limit (name, type, max_running) VALUES ('l', 'NOOP', 4)`: `UPDATE rowrun.concurrency_limit SET max_running = 3`,
		`SELECT 1`: `INSERT INTO rowrun.concurrency_limit (name, type, max_running) VALUES ('l', 'NOOP', 3)`,
	} {
		t.Run(change, func(t *testing.T) {
			t.Parallel()
			conn, s, task := limitedTask(t, before)
			exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, 4)`, task)
			work(t, s, 0)
			require.Equal(t, map[string]int{"AVAILABLE": 4}, statusCounts(t, conn))
			other, err := pgx.ConnectConfig(t.Context(), conn.Config())
			require.NoError(t, err)
			t.Cleanup(func() { _ = other.Close(context.WithoutCancel(t.Context())) })
			exec(t, other, `BEGIN`)
			require.Equal(t, 2, query[int](t, other, `SELECT cardinality(a.claims) FROM rowrun.claim_available(ROW('r',
				(SELECT string_agg(sha256(uuid_send(gen_random_uuid())), '') FROM generate_series(1, 2)), 0, 0, '{default}', '{NOOP}', '{}', '{}')::rowrun.claim_request,
				2, 2, NULL, NULL, NULL, NULL) a`))
			exec(t, conn, change)
			require.Len(t, work(t, s, 10).Claims, 1, "two of three are being claimed")
			exec(t, other, `COMMIT`)
			require.Empty(t, work(t, s, 10).Claims)
			require.Equal(t, map[string]int{"RUNNING": 3, "AVAILABLE": 1}, statusCounts(t, conn))
		})
	}
}

// Somebody who has a run of a limit locked, by a cancel that isn't committed, holds neither passes nor claims up when that limit is lowered; and
// the limit holds where the cancel is taken back.
func TestALimitIsLoweredWhileSomebodyHoldsAPlace(t *testing.T) {
	t.Parallel()
	conn, s, task := limitedTask(t, `INSERT INTO rowrun.concurrency_limit (name, type, max_running) VALUES ('l', 'NOOP', 4)`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, 4)`, task)
	require.Equal(t, 4, work(t, s, 0).Promoted)
	other, err := pgx.ConnectConfig(t.Context(), conn.Config())
	require.NoError(t, err)
	t.Cleanup(func() { _ = other.Close(context.WithoutCancel(t.Context())) })
	exec(t, other, `BEGIN`)
	exec(t, other, `UPDATE rowrun.task_run SET status = 'CANCELED' WHERE id = (SELECT min(id) FROM rowrun.task_run)`)
	exec(t, conn, `UPDATE rowrun.concurrency_limit SET max_running = 2`)
	require.Len(t, work(t, s, 10).Claims, 2)
	exec(t, other, `ROLLBACK`)
	for range 3 {
		require.Empty(t, work(t, s, 10).Claims)
	}
	require.Equal(t, map[string]int{"RUNNING": 2, "AVAILABLE": 2}, statusCounts(t, conn))
	require.True(t, query[bool](t, conn, `SELECT adopted FROM rowrun.concurrency_limit`))
}
