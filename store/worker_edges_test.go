package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
)

// finishW is finish_runs of worker w: what became of the results.
func finishW(t *testing.T, conn *pgx.Conn, request, results string) string {
	t.Helper()
	return query[string](t, conn, `SELECT coalesce(string_agg(concat_ws(' ', e ->> 'run_id', e ->> 'verdict'), ', ' ORDER BY n), '')
		FROM jsonb_array_elements(rowrun.finish_runs($1, 'w', $2::jsonb) -> 'ended') WITH ORDINALITY x(e, n)`, requestID(request), results)
}

// refusedW asserts that a statement fails with this SQLSTATE and text.
func refusedW(t *testing.T, conn *pgx.Conn, state, text, sql string, args ...any) {
	t.Helper()
	_, err := conn.Exec(t.Context(), sql, args...)
	var refused *pgconn.PgError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, state, refused.Code, refused.Message)
	require.Contains(t, refused.Message, text)
}

// A worker that uses one id for two things would be told that all is well, and its results would be lost.
func TestARequestOfAWorkerIsOneThing(t *testing.T) {
	t.Parallel()
	conn := ownRuns(t, 2)
	claims := claimsOf(claimForW(t, conn, "1", 2, "1 min"))
	result := func(claim string) string { return `[{"claim": "` + claim + `", "status": "DONE"}]` }
	finish := `SELECT rowrun.finish_runs($1, 'w', $2::jsonb)`
	refusedW(t, conn, "RR003", "sent before, without results", finish, requestID("1"), result(claims[0]))
	require.Equal(t, "1 OK", finishW(t, conn, "2", result(claims[0])))
	refusedW(t, conn, "RR003", "sent before, with other results", finish, requestID("2"), result(claims[1]))
	require.Equal(t, "1 OK", finishW(t, conn, "2", result(claims[0])))
	refusedW(t, conn, "RR003", "results name a claim twice", finish, requestID("3"), `[{"claim": "`+claims[1]+`", "status": "DONE"}, {"claim": "`+strings.ToUpper(claims[1])+`", "status": "FAILED"}]`)
	refusedW(t, conn, "RR003", "entry 1 of results: run_id is no id", finish, requestID("3"), `[{"run_id": {}, "claim": "`+claims[1]+`", "status": "DONE"}]`)
	refusedW(t, conn, "RR003", "entry 1 of results: result is larger than 1 MiB", finish, requestID("3"),
		`[{"claim": "`+claims[1]+`", "status": "DONE", "result": {"x": "`+strings.Repeat("x", 1<<20)+`"}}]`)
	refusedW(t, conn, "RR003", "a request has an id", `SELECT rowrun.claim_runs('00000000-0000-0000-0000-000000000000', 'w', '{OWN}')`)
	require.Equal(t, "2 OK", finishW(t, conn, "3", result(claims[1])))
	exec(t, conn, `UPDATE rowrun.worker_request SET made_at = made_at - interval '31 s'`)
	refusedW(t, conn, "RR003", "sent before, with results", `SELECT rowrun.claim_runs($1, 'w', '{OWN}')`, requestID("3"))
}

func TestAWorkersResultIsOfTheRunThatItNames(t *testing.T) {
	t.Parallel()
	conn := ownRuns(t, 3)
	claims := claimsOf(claimForW(t, conn, "1", 3, "1 min"))
	entry := func(run, claim, more string) string {
		return `{"run_id": ` + run + `, "claim": "` + claim + `", "status": "FAILED"` + more + `}`
	}
	require.Equal(t, "2 LOST, 2 OK, 3 OK", finishW(t, conn, "2", "["+entry("2", claims[0], "")+","+
		entry(`"2"`, claims[1], `, "result": {"code": "STALE", "x": 1}, "detail": "no"`)+","+entry("3", claims[2], `, "result": {"code": "E42", "detail": "why"}`)+"]"))
	require.Equal(t, `1 RUNNING {}; 2 FAILED {"x": 1, "code": "ERROR", "detail": "no"}; 3 FAILED {"code": "E42", "detail": "why"}`,
		query[string](t, conn, `SELECT string_agg(concat_ws(' ', id, status, result), '; ' ORDER BY id) FROM rowrun.task_run`),
		"a code by which the database says what it did itself is not for workers")
}

// A request that comes late takes nothing; but one that is asked again and again must not wait for ever.
func TestARequestOfAWorkerWhoseRunsAreGoneIsNewAfterAWhile(t *testing.T) {
	t.Parallel()
	conn := ownRuns(t, 3)
	require.Len(t, claimForW(t, conn, "1", 1, "1 min"), 1)
	exec(t, conn, `SELECT rowrun.abandon_run(1, 'no')`)
	require.Empty(t, claimForW(t, conn, "1", 1, "1 min"))
	exec(t, conn, `UPDATE rowrun.worker_request SET made_at = made_at - interval '31 s'`)
	again := claimForW(t, conn, "1", 1, "1 min")
	require.Len(t, again, 1)
	exec(t, conn, `UPDATE rowrun.worker_request SET made_at = made_at - interval '31 s'`)
	require.Equal(t, again, claimForW(t, conn, "1", 1, "1 min"), "what is held is held")
}

// A worker that polls writes nothing, and its transaction stays as durable as it was.
func TestAClaimThatFindsNothingWritesNothing(t *testing.T) {
	t.Parallel()
	conn := ownRuns(t, 0)
	require.Empty(t, claimForW(t, conn, "1", 1, "1 min"))
	exec(t, conn, `BEGIN`)
	require.Empty(t, claimForW(t, conn, "1", 1, "1 min"))
	require.Equal(t, "on, no transaction id", query[string](t, conn,
		`SELECT current_setting('synchronous_commit') || ', ' || coalesce(pg_current_xact_id_if_assigned()::text, 'no transaction id')`))
	exec(t, conn, `COMMIT; INSERT INTO rowrun.task_run (task_id) VALUES (1)`)
	require.Len(t, claimForW(t, conn, "1", 1, "1 min"), 1, "one that found nothing may be asked again under its id")
}

// What is left of a claim stands in nobody's way: neither of the survey nor of the next run with that id.
func TestWhatIsLeftOfAWorkersClaim(t *testing.T) {
	t.Parallel()
	conn := ownRuns(t, 3)
	s := open(t, conn.Config().ConnString(), time.Minute)
	claims := claimsOf(claimForW(t, conn, "1", 3, "1 min"))
	require.Equal(t, "DONE", query[string](t, conn, `SELECT rowrun.complete_run(1, $1)`, claims[0]))
	require.Equal(t, "FAILED", query[string](t, conn, `SELECT rowrun.fail_run(2, $1, 'no')`, claims[1]))
	require.Equal(t, []int64{3}, query[[]int64](t, conn, `SELECT array_agg(run_id) FROM rowrun.worker_claim`))
	exec(t, conn, `SELECT rowrun.abandon_run(3, 'no'); DELETE FROM rowrun.task_run WHERE id = 3; INSERT INTO rowrun.task_run (id, task_id) VALUES (3, 1)`)
	require.Len(t, claimForW(t, conn, "2", 1, "1 min"), 1)
	require.Equal(t, "LOST", verdicts(t, conn, heartbeatW, claims[2:]), "the claim of the run that was deleted")

	exec(t, conn, `SELECT rowrun.abandon_run(3, 'no'); UPDATE rowrun.worker_claim SET until = now() - interval '1 s';
		UPDATE rowrun.worker_request SET made_at = now() - interval '25 h' WHERE request_hash = sha256(uuid_send($$`+requestID("1")+`$$))`)
	require.NoError(t, s.RemoveOldWorkerRequests(t.Context()))
	require.Equal(t, "0 1", query[string](t, conn, `SELECT (SELECT count(*) FROM rowrun.worker_claim) || ' ' || (SELECT count(*) FROM rowrun.worker_request)`))
}

// A paused worker and a type that drains are withdrawn as replicas withdraw theirs, so that gates and drain need to know nothing.
func TestAWorkerWithdrawsWhatItMayNotClaim(t *testing.T) {
	t.Parallel()
	conn := ownRuns(t, 1)
	types := func() string {
		return query[string](t, conn, `SELECT types::text FROM rowrun.replica_heartbeat WHERE worker`)
	}
	both := func(n string) int {
		return query[int](t, conn, `SELECT count(*) FROM rowrun.claim_runs($1, 'w', '{OWN,OTHER}')`, requestID(n))
	}
	require.Equal(t, 1, both("1"))
	require.Equal(t, "{OTHER,OWN}", types())
	exec(t, conn, `INSERT INTO rowrun.task_type (type, draining) VALUES ('OWN', true); INSERT INTO rowrun.task_run (task_id) VALUES (1)`)
	require.Zero(t, both("2"))
	require.Equal(t, "{OTHER}", types())
	exec(t, conn, `UPDATE rowrun.task_type SET draining = false; SELECT rowrun.pause_replica('w')`)
	require.Zero(t, both("2"))
	require.Equal(t, "{}", types())
	exec(t, conn, `SELECT rowrun.resume_replica('w')`)
	require.Equal(t, 1, both("2"))
	require.Equal(t, "{OTHER,OWN}", types())
	exec(t, conn, `INSERT INTO rowrun.task_type (type, draining) VALUES ('OTHER', true); UPDATE rowrun.replica_heartbeat SET last_heartbeat = last_heartbeat - interval '30 s'`)
	require.Empty(t, verdicts(t, conn, heartbeatW, nil))
	require.Equal(t, "{OWN}", types(), "also by its heartbeats")
}

// A worker's transaction that stays open, against all advice, holds up neither claims nor heartbeats under its name.
func TestAWorkersOpenTransactionHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	conn := ownRuns(t, 3)
	other := connect(t, conn.Config().ConnString())
	claims := claimsOf(claimForW(t, conn, "1", 1, "1 min"))
	for _, silent := range []string{"30 s", "2 min"} { // its row is to be written again; it is gone, and comes back
		exec(t, conn, `UPDATE rowrun.replica_heartbeat SET last_heartbeat = clock_timestamp() - $1::interval WHERE worker AND state <> 'DEAD'`, silent)
		exec(t, conn, `BEGIN`)
		exec(t, conn, `SELECT FROM rowrun.replica_heartbeat WHERE worker AND state <> 'DEAD' FOR UPDATE`)
		exec(t, other, `SET lock_timeout = '1s'`)
		require.Len(t, claimForW(t, other, map[string]string{"30 s": "2", "2 min": "3"}[silent], 1, "1 min"), 1)
		require.Equal(t, "OK", verdicts(t, other, heartbeatW, claims))
		exec(t, conn, `COMMIT`)
	}
}

// After an outage each lease is over, and the workers live: who was not in contact himself judges none.
func TestLeasesOfWorkersAreJudgedByWhoWasInContact(t *testing.T) {
	t.Parallel()
	conn := ownRuns(t, 2)
	s := open(t, conn.Config().ConnString(), time.Minute)
	claimForW(t, conn, "1", 1, "1 min")
	claimForW(t, conn, "2", 1, "1 day")
	exec(t, conn, `UPDATE rowrun.worker_claim SET until = clock_timestamp() - interval '1 h'`)
	for _, look := range []struct {
		contact time.Duration
		ended   int
	}{{59 * time.Second, 0}, {61 * time.Second, 1}, {4 * time.Minute, 0}, {6 * time.Minute, 1}} {
		ended, err := s.EndOverdue(t.Context(), store.Contact{For: look.contact})
		require.NoError(t, err)
		require.Len(t, ended, look.ended, "after %s of contact", look.contact)
	}
}

func TestAWorkerClaimsNothingInACopy(t *testing.T) {
	t.Parallel()
	conn := ownRuns(t, 1)
	exec(t, conn, `UPDATE rowrun.deployment SET system_identifier = 1, database_oid = 1`)
	refusedW(t, conn, "55000", "a copy of another deployment's", `SELECT rowrun.claim_runs($1, 'w', '{OWN}')`, requestID("1"))
}

// What a login that is nothing but a worker can plant or set changes nothing of what it is given, and gives it nothing more.
func TestAWorkerAmongItsOwnTemporaryObjects(t *testing.T) {
	t.Parallel()
	conn := ownRuns(t, 2)
	exec(t, conn, `SET ROLE rowrun_worker`)
	exec(t, conn, `CREATE TEMP TABLE task_run (id bigint, status text); CREATE TEMP TABLE worker_claim (run_id bigint); CREATE TEMP TABLE worker_request (request_hash bytea)`)
	exec(t, conn, `CREATE FUNCTION pg_temp.sha256(bytea) RETURNS bytea LANGUAGE sql AS 'SELECT $1'`)
	exec(t, conn, `CREATE FUNCTION pg_temp.announce(text[]) RETURNS boolean LANGUAGE plpgsql AS $$BEGIN RAISE 'planted'; END$$`)
	for _, setting := range []string{
		`search_path = pg_temp, public`, `"rowrun.claimed" = '7'`, `transform_null_equals = on`, `DateStyle = 'German'`,
		`IntervalStyle = 'sql_standard'`, `bytea_output = 'escape'`, `standard_conforming_strings = off`, `escape_string_warning = off`, `enable_indexscan = off`,
	} {
		exec(t, conn, `SET `+setting)
	}
	held := claimForW(t, conn, "1", 2, "1 min")
	require.Len(t, held, 2)
	require.Equal(t, held, claimForW(t, conn, "1", 2, "1 min"))
	claims := claimsOf(held)
	require.Equal(t, "OK OK", verdicts(t, conn, heartbeatW, claims))
	require.Equal(t, "1 OK", finishW(t, conn, "2", `[{"claim": "`+claims[0]+`", "status": "DONE"}]`))
	require.Equal(t, "OK", verdicts(t, conn, "release_runs($1::uuid[])", claims[1:]))
	for _, forbidden := range []string{
		`UPDATE rowrun.replica_heartbeat SET worker = false`, `DELETE FROM rowrun.worker_request`, `SELECT rowrun.worker_claim_of(gen_random_uuid(), 1)`,
		`SELECT rowrun.register_worker('x', '{Y}', 1, '1 s')`, `SELECT rowrun.end_runs('{1}', NULL, '{DONE}', NULL, NULL)`, `SELECT * FROM rowrun.replica_status`,
		`SELECT rowrun.pause_replica('w')`, `SELECT rowrun.cancel_run(1)`,
	} {
		refusedW(t, conn, "42501", "permission denied", forbidden)
	}
	refusedW(t, conn, "RR003", "more than 500 types", `SELECT rowrun.claim_runs(gen_random_uuid(), 'many', ARRAY(SELECT 't' || 100 * i + j FROM generate_series(1, 100) j)) FROM generate_series(1, 7) i`)
}

// A claim that is given nothing says so, and ends what nobody can run, in whichever order a plan reads the parts of its statement: the planner's
// search for a plan is anybody's to set.
func TestAWorkersClaimOfNothingIsHeardWhateverThePlan(t *testing.T) {
	t.Parallel()
	conn := ownRuns(t, 1)
	exec(t, conn, `UPDATE rowrun.task SET type = 'ANOTHER'`)
	for _, seed := range []string{"0", "0.3", "0.7", "1"} {
		exec(t, conn, `SET geqo_threshold = 2; SET geqo_seed = `+seed+`; DISCARD PLANS`)
		require.Empty(t, claimForW(t, conn, seed[len(seed)-1:], 2, "1 min"))
	}
	require.Equal(t, "FAILED BAD_INPUT", query[string](t, conn, `SELECT status || ' ' || (result ->> 'code') FROM rowrun.task_run`))
}
