package store_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
)

// lockRequest has a session hold the lock of a request, which pg_locks shows to everybody while the request is answered.
func lockRequest(t *testing.T, conn, holder *pgx.Conn, request string) {
	t.Helper()
	key := query[int64](t, conn, `SELECT rowrun.request_key(sha256(uuid_send($1::uuid)))`, requestID(request))
	exec(t, holder, `SELECT pg_advisory_lock($1)`, key)
}

// A stranger who holds the lock of a request holds up nobody, and has two equal ones at once be one all the same.
func TestAStrangersLockHoldsUpNoWorker(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"COMMIT", "ROLLBACK"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			first := ownRuns(t, 4)
			url := first.Config().ConnString()
			second := connect(t, url)
			other, _, _ := stranger(t, url)
			lockRequest(t, first, other, "1")
			exec(t, first, `SET lock_timeout = '10s'; BEGIN`)
			given := claimForW(t, first, "1", 2, "1 min")
			require.Len(t, given, 2)
			answer := make(chan []string, 1)
			go func() { answer <- claimForW(t, second, "1", 2, "1 min") }()
			waitsForLock(t, first, second)
			exec(t, first, end)
			again := <-answer
			require.Len(t, again, 2)
			if end == "COMMIT" {
				require.Equal(t, given, again)
			}
			require.Equal(t, 2, query[int](t, first, `SELECT count(*) FROM rowrun.task_run WHERE status = 'RUNNING'`))
			require.Equal(t, 2, query[int](t, first, `SELECT count(*) FROM rowrun.worker_claim`))
			require.Equal(t, again, claimForW(t, first, "1", 2, "1 min"))
			require.Equal(t, "1 OK", finishW(t, first, "2", `[{"run_id": 1, "claim": "`+claimsOf(again)[0]+`", "status": "DONE"}]`))
			require.Empty(t, claimForW(t, first, "3", 2, "1 min")[2:])
			require.Empty(t, claimForW(t, first, "4", 2, "1 min"))
		})
	}
}

// A stranger's lock that is given back while a request is answered behind it leaves two equal ones one.
func TestAStrangersLockThatIsGivenBackLeavesEqualRequestsOne(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"COMMIT", "ROLLBACK"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			first := ownRuns(t, 5)
			url := first.Config().ConnString()
			second := connect(t, url)
			other, _, _ := stranger(t, url)
			lockRequest(t, first, other, "1")
			exec(t, first, `BEGIN`)
			given := claimForW(t, first, "1", 2, "1 min")
			require.Len(t, given, 2)
			exec(t, other, `SELECT pg_advisory_unlock_all()`)
			answer := make(chan []string, 1)
			go func() {
				defer close(answer)
				answer <- claimForW(t, second, "1", 2, "1 min")
			}()
			waitsForLock(t, first, second)
			exec(t, first, end)
			again := <-answer
			require.Len(t, again, 2)
			if end == "COMMIT" {
				require.Equal(t, given, again)
			}
			require.Equal(t, again, claimForW(t, first, "1", 2, "1 min"))
			require.Equal(t, 2, query[int](t, first, `SELECT count(*) FROM rowrun.task_run WHERE status = 'RUNNING'`))
			require.Equal(t, 2, query[int](t, first, `SELECT count(*) FROM rowrun.worker_claim`))
			require.Len(t, claimForW(t, first, "2", 5, "1 min"), 3)
		})
	}
}

// A request whose only runs nobody can run has found nothing, and may be asked again.
func TestARequestThatFindsOnlyWhatNobodyCanRunLeavesNoTrace(t *testing.T) {
	t.Parallel()
	conn := ownRuns(t, 2)
	exec(t, conn, `UPDATE rowrun.task SET type = 'ANOTHER'`)
	require.Empty(t, claimForW(t, conn, "1", 1, "1 min"))
	require.Zero(t, query[int](t, conn, `SELECT count(*) FROM rowrun.worker_request`))
	require.Equal(t, 2, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE status = 'FAILED'`))
	exec(t, conn, `UPDATE rowrun.task SET type = 'OWN'`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES (1)`)
	require.Len(t, claimForW(t, conn, "1", 1, "1 min"), 1)
}

// A request that counts as new again does so once, also where a stranger's lock has equal ones not wait for each other.
func TestAnOldRequestIsNewOnceBesideAStrangersLock(t *testing.T) {
	t.Parallel()
	first := ownRuns(t, 3)
	second := connect(t, first.Config().ConnString())
	other, _, _ := stranger(t, first.Config().ConnString())
	require.Len(t, claimForW(t, first, "1", 1, "1 min"), 1)
	exec(t, first, `SELECT rowrun.abandon_run(1, 'no'); UPDATE rowrun.worker_request SET made_at = made_at - interval '31 s'`)
	lockRequest(t, first, other, "1")
	exec(t, first, `BEGIN`)
	given := claimForW(t, first, "1", 1, "1 min")
	answer := make(chan []string, 1)
	go func() { answer <- claimForW(t, second, "1", 1, "1 min") }()
	waitsForLock(t, first, second)
	exec(t, first, `COMMIT`)
	require.Len(t, given, 1)
	require.Equal(t, given, <-answer)
	require.Equal(t, 1, query[int](t, first, `SELECT count(*) FROM rowrun.task_run WHERE status = 'RUNNING'`))
}

// A worker who keeps an equal request waiting does so for a while: then it is told to send it again.
func TestAnEqualRequestWaitsForAWhile(t *testing.T) {
	t.Parallel()
	first := ownRuns(t, 1)
	second := connect(t, first.Config().ConnString())
	exec(t, first, `ALTER FUNCTION rowrun.await_equal_request(bytea) SET lock_timeout = '50ms'`)
	exec(t, first, `BEGIN`)
	require.Len(t, claimForW(t, first, "1", 1, "1 min"), 1)
	refusedW(t, second, "40001", "an equal request is still being answered", `SELECT rowrun.claim_runs($1, 'w', '{OWN}')`, requestID("1"))
	exec(t, first, `COMMIT`)
	require.Len(t, claimForW(t, second, "1", 1, "1 min"), 1)
}

// Two equal finishes at once are one, whoever holds which lock.
func TestEqualFinishesOfWorkersAreOne(t *testing.T) {
	t.Parallel()
	first := ownRuns(t, 3)
	second := connect(t, first.Config().ConnString())
	other, _, _ := stranger(t, first.Config().ConnString())
	claim := claimsOf(claimForW(t, first, "1", 1, "1 min"))[0]
	lockRequest(t, first, other, "2")
	finish := func(conn *pgx.Conn) string {
		return query[string](t, conn, `SELECT rowrun.finish_runs($1, 'w', $2::jsonb, '{OWN}', 1)::text`, requestID("2"), `[{"claim": "`+claim+`", "status": "DONE"}]`)
	}
	exec(t, first, `BEGIN`)
	given := finish(first)
	answer := make(chan string, 1)
	go func() { answer <- finish(second) }()
	waitsForLock(t, first, second)
	exec(t, first, `COMMIT`)
	require.Equal(t, given, <-answer)
	require.Contains(t, given, `"verdict": "OK"`)
	require.Equal(t, "DONE RUNNING AVAILABLE", query[string](t, first, `SELECT string_agg(status, ' ' ORDER BY id) FROM rowrun.task_run`))
}

// A failure that would not fit with what the database adds to it is refused by its number, not the results beside it.
func TestALargeFailureOfAWorkerIsNamed(t *testing.T) {
	t.Parallel()
	conn := ownRuns(t, 2)
	claims := claimsOf(claimForW(t, conn, "1", 2, "1 min"))
	results := func(result, detail int) string {
		return `[{"claim": "` + claims[0] + `", "status": "DONE"}, {"claim": "` + claims[1] + `", "status": "FAILED", "result": {"x": "` +
			strings.Repeat("x", result) + `"}, "detail": "` + strings.Repeat("y", detail) + `"}]`
	}
	refusedW(t, conn, "RR003", "entry 2 of results: result and detail of a failure are larger than 960 KiB together", `SELECT rowrun.finish_runs($1, 'w', $2::jsonb)`,
		requestID("2"), results(1_040_000, 90_000))
	exec(t, conn, `UPDATE rowrun.task_run SET cancel_requested_at = now(), cancel_reason = repeat(E'\u0001', 10000) WHERE id = 2`)
	require.Equal(t, "1 OK, 2 CANCELED", finishW(t, conn, "2", results(880_000, 100_000)), "the largest that is accepted has room for a cancel's reason")
}

// A request that is sent again after its runs have ended is given nothing, which says nothing of what there is.
func TestAKnownRequestSpeaksForNoOther(t *testing.T) {
	t.Parallel()
	conn := ownRuns(t, 2)
	s := open(t, conn.Config().ConnString(), time.Minute)
	claim := func(request string) (string, bool) {
		answer, rests, err := s.ClaimForWorker(t.Context(), store.WorkerClaim{RequestID: requestID(request), Worker: "w", Types: []string{"OWN"}, Max: 1})
		require.NoError(t, err)
		return string(answer), rests
	}
	answer, _ := claim("1")
	require.NotEqual(t, "[]", answer)
	exec(t, conn, `SELECT rowrun.abandon_run(1, 'no')`)
	answer, rests := claim("1")
	require.Equal(t, "[]", answer)
	require.True(t, rests, "there is a run that it isn't given")
	answer, rests = claim("2")
	require.NotEqual(t, "[]", answer)
	require.False(t, rests)
	answer, rests = claim("3")
	require.Equal(t, "[]", answer)
	require.False(t, rests, "there is none")
	exec(t, conn, `UPDATE rowrun.worker_request SET made_at = made_at - interval '1 min'`)
	exec(t, conn, `SELECT rowrun.abandon_run(2, 'no')`)
	answer, rests = claim("1")
	require.Equal(t, "[]", answer)
	require.False(t, rests, "it counts as new, and has looked")
}

// Runs that are more at once than PostgreSQL can hold in one answer are claimed in parts.
func TestWorkersClaimNoMoreThanAnAnswerHolds(t *testing.T) {
	t.Parallel()
	conn := ownRuns(t, 1)
	exec(t, conn, `UPDATE rowrun.task SET payload = jsonb_build_object('x', repeat('x', 1048000))`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT task_id FROM rowrun.task_run, generate_series(1, 257)`)
	s := open(t, conn.Config().ConnString(), 10*time.Minute) // a statement has three tenths of that
	next := store.WorkerClaim{RequestID: requestID("2"), Worker: "w", Types: []string{"OWN"}, Max: 258}
	claims := func(answer json.RawMessage) (first string, n int) { // parsing them takes longer than claiming them
		const key = `"claim": "`
		_, rest, _ := bytes.Cut(answer, []byte(key))
		return string(rest[:min(len(rest), len(uuid.UUID{}.String()))]), bytes.Count(answer, []byte(key))
	}
	answer, _, err := s.ClaimForWorker(t.Context(), next)
	require.NoError(t, err)
	first, n := claims(answer)
	require.Equal(t, 250, n, "the fault: all of them are more than 256 MiB")

	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT task_id FROM rowrun.task_run LIMIT 250`)
	next.RequestID = requestID("3")
	answer, err = s.FinishForWorker(t.Context(), json.RawMessage(`[{"claim": "`+first+`", "status": "DONE"}]`), next)
	require.NoError(t, err)
	_, n = claims(answer)
	require.Equal(t, 250, n)
	require.Contains(t, string(answer[len(answer)-200:])+string(answer[:200]), `"verdict": "OK"`)
}
