package store_test

import (
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

const (
	threeHashes = `(SELECT string_agg(sha256(uuid_send(gen_random_uuid())), '') FROM generate_series(1, 3))`
	claimOwn    = `SELECT cardinality(a.claims) FROM rowrun.claim_available(ROW('r', ` + threeHashes + `, 0, 0, '{default}', '{OWN}', '{}', '{}')::rowrun.claim_request,
		$1, $2, NULL, NULL, NULL, NULL) a`
	// pauseQuestions has the questions whether a limit may apply wait, behind their answers, for whoever holds the advisory lock 7.
	pauseQuestions = `
CREATE FUNCTION rowrun.pausing(answer boolean) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(7);
    RETURN answer;
END $$;
DO $$
DECLARE
    f regprocedure;
BEGIN
    FOR f IN SELECT p.oid::regprocedure FROM pg_proc p WHERE p.pronamespace = 'rowrun'::regnamespace AND p.proname IN ('may_limit', 'admit_available') LOOP
        EXECUTE regexp_replace(pg_get_functiondef(f), '((RETURN|may_be_held[^;]*:=) )(EXISTS[^;]*);', '\1rowrun.pausing(\3);');
        ASSERT pg_get_functiondef(f) LIKE '%rowrun.pausing(EXISTS%';
    END LOOP;
END $$`
)

// A limit that is made while a claim asks about limits, and another claim that asks that limit at once: together they take no more than it has places.
func TestALimitThatIsMadeWhileAClaimAsksHolds(t *testing.T) {
	t.Parallel()
	for name, claim := range map[string]func(*testing.T, *pgx.Conn, int){
		"claim_run":          plainClaim,
		"claim_runs":         plainClaim,
		"claim_runs_after":   plainClaim,
		"claim_runs_bounded": func(t *testing.T, conn *pgx.Conn, n int) { query[int](t, conn, claimOwn, n+1, n) },
		"a worker":           func(t *testing.T, conn *pgx.Conn, n int) { claimForW(t, conn, "1", n, "1 min") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := ownRuns(t, 3)
			claiming := connect(t, conn.Config().ConnString())
			exec(t, conn, `INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease, types, concurrency) VALUES ('r', clock_timestamp(), '1 hour', '{OWN}', 100)`)
			exec(t, conn, `INSERT INTO rowrun.concurrency_limit (name, type, max_running) VALUES ('once', 'OTHER', 1)`)
			exec(t, conn, `SELECT rowrun.delete_limit('once')`)
			exec(t, conn, pauseQuestions)
			exec(t, conn, `SELECT pg_advisory_lock(7)`)
			n := 2
			if name == "claim_run" {
				n = 1
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				claim(t, claiming, n)
			}()
			waitsForLock(t, conn, claiming)
			exec(t, conn, `INSERT INTO rowrun.concurrency_limit (name, type, max_running) VALUES ('l', 'OWN', $1)`, n)
			exec(t, conn, `SELECT rowrun.promote_runs(true)`)
			query[int](t, conn, claimOwn, n, n)
			exec(t, conn, `SELECT pg_advisory_unlock(7)`)
			<-done
			query[int](t, conn, claimOwn, n, n)
			require.Equal(t, n, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE status = 'RUNNING'`))
		})
	}
}

// plainClaim is the claim of the statement that the test is named after.
func plainClaim(t *testing.T, conn *pgx.Conn, n int) {
	t.Helper()
	name := t.Name()[len("TestALimitThatIsMadeWhileAClaimAsksHolds/"):]
	file, err := os.ReadFile("sql/" + name + ".sql")
	require.NoError(t, err)
	args := []any{"r", query[[]byte](t, conn, `SELECT `+threeHashes), 0.0, []string{"default"}, []string{"OWN"}, []string{}, []string{}}
	switch name {
	case "claim_runs":
		args = append(args, n+1, n)
	case "claim_runs_after":
		args = append(args, n+1, n, 0)
	}
	_, err = conn.Exec(t.Context(), string(file), args...)
	require.NoError(t, err)
}
