package store_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// One of a worker's requests, by a number.
func requestID(n string) string { return n + "0000000-0000-4000-8000-000000000000" }

// claimForW is what claim_runs hands to worker w for a request: "run claim", each.
func claimForW(t *testing.T, conn *pgx.Conn, request string, most int, lease string) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), `SELECT run_id || ' ' || claim FROM rowrun.claim_runs($1, 'w', '{OWN}', $2, $3::interval)`, requestID(request), most, lease)
	require.NoError(t, err)
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return list
}

func claimsOf(claimed []string) (claims []string) {
	for _, c := range claimed {
		claims = append(claims, strings.Fields(c)[1])
	}
	return claims
}

func verdicts(t *testing.T, conn *pgx.Conn, call string, claims []string) string {
	t.Helper()
	return query[string](t, conn, `SELECT coalesce(string_agg(verdict, ' '), '') FROM rowrun.`+call, claims)
}

const heartbeatW = `heartbeat_worker('w', $1::uuid[])`

// ownRuns makes a database with this many AVAILABLE runs of a type that workers run.
func ownRuns(t *testing.T, runs int) *pgx.Conn {
	t.Helper()
	conn := connect(t, storetest.New(t))
	exec(t, conn, `INSERT INTO rowrun.task (id, type, payload) VALUES (1, 'OWN', '{"a": 1, "b": 1}')`)
	for range runs {
		exec(t, conn, `INSERT INTO rowrun.task_run (task_id, input) VALUES (1, '{"b": 2}')`)
	}
	return conn
}

// A request that is sent again is given what it was given, as far as it is still held, and no more.
func TestAWorkersClaimIsIdempotent(t *testing.T) {
	t.Parallel()
	conn := ownRuns(t, 4)
	require.Equal(t, `{"a": 1, "b": 2} OWN 0`, query[string](t, conn,
		`SELECT concat_ws(' ', payload, type, attempt) FROM rowrun.claim_runs($1, 'w', '{OWN}', 1)`, requestID("1")))
	one, two := claimForW(t, conn, "1", 3, "1 min"), claimForW(t, conn, "2", 2, "1 min")
	require.Len(t, one, 1)
	require.Len(t, two, 2)
	require.Equal(t, one, claimForW(t, conn, "1", 3, "1 min"))
	require.Equal(t, two, claimForW(t, conn, "2", 2, "1 min"))
	require.Equal(t, "OK", verdicts(t, conn, `end_worker_runs($1::uuid[], NULL, '{DONE}', '{"{}"}'::jsonb[], '{NONE}')`, claimsOf(two[:1])))
	require.Equal(t, two[1:], claimForW(t, conn, "2", 2, "1 min"), "what has ended is not held")
	require.Equal(t, 2, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE status = 'RUNNING'`))
	require.Zero(t, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run r, rowrun.worker_claim c WHERE strpos(r::text || c::text, $1) > 0`, claimsOf(one)[0]), "in the clear")
	require.Len(t, claimForW(t, conn, "3", 5, "1 min"), 1)
	require.Empty(t, claimForW(t, conn, "4", 5, "1 min"))
	require.Equal(t, 3, query[int](t, conn, `SELECT count(*) FROM rowrun.worker_request`), "one that found nothing leaves no trace")
	require.Equal(t, "w {OWN} {}", query[string](t, conn, `SELECT concat_ws(' ', name, types, queues) FROM rowrun.replica_status`))
}

// Two equal requests at once: the second waits for the first, and is given the same, or, where the first fails, what is there.
func TestEqualRequestsOfWorkersWaitForEachOther(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"COMMIT", "ROLLBACK"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			first := ownRuns(t, 2)
			second := connect(t, first.Config().ConnString())
			exec(t, first, `BEGIN`)
			given := claimForW(t, first, "1", 1, "1 min")
			answer := make(chan []string, 1)
			go func() { answer <- claimForW(t, second, "1", 1, "1 min") }()
			waitsForLock(t, first, second)
			exec(t, first, end)
			again := <-answer
			require.Len(t, again, 1)
			if end == "COMMIT" {
				require.Equal(t, given, again)
			}
			require.Equal(t, 1, query[int](t, first, `SELECT count(*) FROM rowrun.task_run WHERE status = 'RUNNING'`))
		})
	}
}

// waitsForLock waits until the session waits for a lock. conn may be in a transaction.
func waitsForLock(t *testing.T, conn, waiting *pgx.Conn) {
	t.Helper()
	require.Eventually(t, func() bool {
		return query[bool](t, conn, `SELECT cardinality(pg_blocking_pids($1)) > 0`, int32(waiting.PgConn().PID()))
	}, 20*time.Second, 5*time.Millisecond)
}

// A heartbeat prolongs the claims that it names, each by its own lease. A sweep ends the others.
func TestAWorkersClaimLastsAsLongAsItsLease(t *testing.T) {
	t.Parallel()
	conn := ownRuns(t, 2)
	s := open(t, conn.Config().ConnString(), time.Minute)
	short, long := claimForW(t, conn, "1", 1, "1 s"), claimForW(t, conn, "2", 1, "1 h")
	both := claimsOf(append(short, long...))
	exec(t, conn, `UPDATE rowrun.worker_claim SET until = clock_timestamp() - interval '1 ms'`)
	require.Equal(t, "OK", verdicts(t, conn, heartbeatW, both[:1]))
	ended, err := s.EndOverdue(t.Context(), store.Contact{For: time.Hour})
	require.NoError(t, err)
	require.Len(t, ended, 1)
	require.Equal(t, "RUNNING/, FAILED/LOST_CONTACT", query[string](t, conn, `SELECT string_agg(status || '/' || coalesce(result ->> 'code', ''), ', ' ORDER BY id) FROM rowrun.task_run`))
	require.Equal(t, "OK LOST", verdicts(t, conn, heartbeatW, both))
	require.True(t, query[bool](t, conn, `SELECT until < clock_timestamp() + interval '2 s' FROM rowrun.worker_claim`), "its own lease")
	dead, err := s.DeadReplicas(t.Context(), time.Hour)
	require.NoError(t, err)
	require.Empty(t, dead, "a worker is no replica whose runs are settled together")
}

// A heartbeat that is just written, and a sweep: whichever locks the claim first decides.
func TestASweepPassesByAClaimThatIsJustProlonged(t *testing.T) {
	t.Parallel()
	conn := ownRuns(t, 1)
	other, s := connect(t, conn.Config().ConnString()), open(t, conn.Config().ConnString(), time.Minute)
	claims := claimsOf(claimForW(t, conn, "1", 1, "1 h"))
	exec(t, conn, `UPDATE rowrun.worker_claim SET until = clock_timestamp() - interval '1 ms'`)
	exec(t, other, `BEGIN`)
	require.Equal(t, "OK", verdicts(t, other, heartbeatW, claims))
	ended, err := s.EndOverdue(t.Context(), store.Contact{For: time.Hour})
	require.NoError(t, err)
	require.Empty(t, ended)
	exec(t, other, `COMMIT`)
	ended, err = s.EndOverdue(t.Context(), store.Contact{For: time.Hour})
	require.NoError(t, err)
	require.Empty(t, ended)
	require.Equal(t, "OK", verdicts(t, conn, heartbeatW, claims))
}

func TestAWorkerIsToldWhenToStop(t *testing.T) {
	t.Parallel()
	conn := ownRuns(t, 4)
	held := claimForW(t, conn, "1", 3, "1 min")
	claims := claimsOf(held)
	id := func(i int) string { return strings.Fields(held[i])[0] }
	exec(t, conn, `SELECT rowrun.cancel_run(`+id(1)+`)`)
	exec(t, conn, `SELECT rowrun.abandon_run(`+id(2)+`, 'no')`)
	require.Equal(t, "OK CANCELED LOST", verdicts(t, conn, heartbeatW, claims))
	exec(t, conn, `SELECT rowrun.pause_replica('w')`)
	require.Equal(t, "DRAIN CANCELED LOST", verdicts(t, conn, heartbeatW, claims))
	require.Empty(t, claimForW(t, conn, "2", 1, "1 min"), "paused")
	exec(t, conn, `SELECT rowrun.resume_replica('w')`)
	require.Equal(t, "OK CANCELED LOST", verdicts(t, conn, "release_runs($1::uuid[])", append(claims[:1:1], claims[1], claims[2])))
	require.Equal(t, "LOST LOST LOST", verdicts(t, conn, heartbeatW, claims))
	require.Equal(t, "0 FAILED RELEASED, 0 CANCELED CANCELED, 0 FAILED ABANDONED, 0 AVAILABLE , 1 AVAILABLE ", query[string](t, conn,
		`SELECT string_agg(concat_ws(' ', attempt, status, coalesce(result ->> 'code', '')), ', ' ORDER BY id) FROM rowrun.task_run`))
	require.Equal(t, "0 0", query[string](t, conn, `SELECT concat_ws(' ', failures, recoveries) FROM rowrun.task_run WHERE attempt = 1`), "it counts against nothing")
}

// The answer of finish_runs, which is the same when the request is sent again, though what it claims is gone by then.
func TestAWorkersResultsAreRecordedOnce(t *testing.T) {
	t.Parallel()
	conn := ownRuns(t, 4)
	exec(t, conn, `UPDATE rowrun.task SET max_attempts = 2, retry_delay = '0 s'`)
	held := claimForW(t, conn, "1", 3, "1 min")
	claims := claimsOf(held)
	exec(t, conn, `SELECT rowrun.cancel_run(`+strings.Fields(held[2])[0]+`)`)
	results := `[{"run_id": 1, "claim": "` + claims[0] + `", "status": "DONE", "result": {"x": 1}}, {"claim": "` + claims[1] + `", "status": "FAILED", "detail": "no"},
		{"claim": "` + claims[2] + `", "status": "FAILED"}, {"run_id": 77, "claim": "` + requestID("9") + `", "status": "DONE"}]`
	finish := func() (answer struct {
		Ended   []map[string]any
		Claimed []map[string]any
	},
	) {
		require.NoError(t, json.Unmarshal([]byte(query[string](t, conn, `SELECT rowrun.finish_runs($1, 'w', $2::jsonb, '{OWN}', 1)::text`, requestID("2"), results)), &answer))
		return answer
	}
	first := finish()
	require.Equal(t, []map[string]any{
		{"run_id": 1.0, "verdict": "OK"}, {"run_id": 2.0, "verdict": "OK"}, {"run_id": 3.0, "verdict": "CANCELED"}, {"run_id": 77.0, "verdict": "LOST"},
	}, first.Ended)
	require.Len(t, first.Claimed, 1)
	require.Equal(t, first, finish())
	require.Equal(t, `DONE {"x": 1}; FAILED {"code": "ERROR", "detail": "no"}`, query[string](t, conn,
		`SELECT string_agg(status || ' ' || result::text, '; ' ORDER BY id) FROM rowrun.task_run WHERE id <= 2`))
	require.Equal(t, 1, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE retry_of = 2`))
	require.Equal(t, 1, query[int](t, conn, `SELECT count(*) FROM rowrun.worker_claim`))
}

// A run that is put off ends FAILED, and its successor is due when the worker said, whatever the attempts before were; a cancel that
// was asked for wins.
func TestAWorkerPutsARunOff(t *testing.T) {
	t.Parallel()
	conn := ownRuns(t, 2)
	exec(t, conn, `INSERT INTO rowrun.task (id, name, type) VALUES (2, 'handler', 'NOOP')`)
	exec(t, conn, `UPDATE rowrun.task SET on_failure_task = 'handler' WHERE id = 1`)
	exec(t, conn, `INSERT INTO rowrun.webhook (url, events) VALUES ('https://example.com', '{RUN_FAILED}')`)
	claims := claimsOf(claimForW(t, conn, "1", 2, "1 min"))
	exec(t, conn, `SELECT rowrun.cancel_run(2)`)
	results := `[{"claim": "` + claims[0] + `", "status": "SNOOZED", "delay": 90.5, "detail": "not yet", "result": {"seen": 1}}, {"claim": "` + claims[1] + `", "status": "SNOOZED", "delay": 0}]`
	require.Equal(t, "OK CANCELED", query[string](t, conn, `SELECT string_agg(e ->> 'verdict', ' ' ORDER BY e ->> 'run_id')
		FROM jsonb_array_elements(rowrun.finish_runs($1, 'w', $2::jsonb) -> 'ended') e`, requestID("2"), results))
	require.Equal(t, `FAILED {"code": "SNOOZED", "seen": 1, "detail": "Task run put off for 90.5 s: not yet", "snooze_seconds": 90.5}`,
		query[string](t, conn, `SELECT status || ' ' || result::text FROM rowrun.task_run WHERE id = 1`))
	require.Equal(t, "1 PENDING 0 0 00:01:30.5", query[string](t, conn, `SELECT concat_ws(' ', n.attempt, n.status, n.failures, n.recoveries, n.run_at - p.finished_at)
		FROM rowrun.task_run n JOIN rowrun.task_run p ON p.id = n.retry_of`))
	require.Equal(t, "CANCELED CANCELED", query[string](t, conn, `SELECT status || ' ' || (result ->> 'code') FROM rowrun.task_run WHERE id = 2`))
	require.Zero(t, query[int](t, conn, `SELECT (SELECT count(*) FROM rowrun.webhook_delivery) + (SELECT count(*) FROM rowrun.task_run WHERE handles IS NOT NULL)`))
}

// What only a worker runs is promoted while the worker is there, whatever its queue.
func TestWorkersCountAsReplicasForGates(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	exec(t, conn, `INSERT INTO rowrun.task (id, type, queue, database_id) VALUES (1, 'OWN', 'far away', 'db'); INSERT INTO rowrun.task_run (task_id) VALUES (1)`)
	exec(t, conn, `SELECT rowrun.promote_runs(true)`)
	require.Equal(t, "NO_REPLICA", query[string](t, conn, `SELECT cause FROM rowrun.waiting()`))
	require.Empty(t, claimForW(t, conn, "1", 1, "1 min"))
	exec(t, conn, `SELECT rowrun.promote_runs(false)`)
	require.Len(t, claimForW(t, conn, "1", 1, "1 min"), 1)
}

func TestWhatAWorkerMayNotAskFor(t *testing.T) {
	t.Parallel()
	conn := ownRuns(t, 1)
	for call, message := range map[string]string{
		`claim_runs(NULL, 'w', '{OWN}', 1)`:                                                                                 "a request has an id",
		`claim_runs(gen_random_uuid(), '', '{OWN}', 1)`:                                                                     "a worker has a name of 1 to 200 bytes",
		`claim_runs(gen_random_uuid(), 'w', '{}', 1)`:                                                                       "a worker claims 1 to 100 types, none of them NULL",
		`claim_runs(gen_random_uuid(), 'w', '{OWN,SQL}', 1)`:                                                                "COMMAND are run by the sidecar, not by workers",
		`claim_runs(gen_random_uuid(), 'w', '{OWN}', 0)`:                                                                    "a worker claims 1 to 1000 runs at once, not 0",
		`claim_runs(gen_random_uuid(), 'w', '{OWN}', 1, '0 s')`:                                                             "a lease lasts 1 s to 1 day, not 00:00:00",
		`finish_runs(gen_random_uuid(), 'w', '{}')`:                                                                         "results is an array of at most 1000 objects",
		`finish_runs(gen_random_uuid(), 'w', '[{}]')`:                                                                       "entry 1 of results: claim is no uuid",
		`finish_runs(gen_random_uuid(), 'w', '[{"claim": "` + requestID("1") + `"}]')`:                                      "entry 1 of results: status is none of DONE, FAILED and SNOOZED",
		`finish_runs(gen_random_uuid(), 'w', '[{"status": "SNOOZED", "delay": "1 h", "claim": "` + requestID("1") + `"}]')`: "entry 1 of results: delay is no number of seconds",
		`finish_runs(gen_random_uuid(), 'w', '[{"status": "SNOOZED", "delay": -1, "claim": "` + requestID("1") + `"}]')`:    "entry 1 of results: delay is no number of seconds",
		`finish_runs(gen_random_uuid(), 'w', '[{"status": "SNOOZED", "claim": "` + requestID("1") + `"}]')`:                 "entry 1 of results: delay is no number of seconds",
		`finish_runs(gen_random_uuid(), 'w', '[1]')`:                                                                        "entry 1 of results: it is no object",
	} {
		_, err := conn.Exec(t.Context(), `SELECT rowrun.`+call)
		require.ErrorContains(t, err, message)
		require.ErrorContains(t, err, "RR003")
	}
	exec(t, conn, `SET ROLE rowrun_worker`)
	require.Len(t, claimForW(t, conn, "1", 1, "1 min"), 1)
	for _, forbidden := range []string{`SELECT id FROM rowrun.task_run`, `SELECT * FROM rowrun.worker_claim`, `SELECT rowrun.run_task('x')`, `SELECT rowrun.end_worker_runs(NULL, NULL, NULL, NULL, NULL)`} {
		_, err := conn.Exec(t.Context(), forbidden)
		require.ErrorContains(t, err, "42501")
	}
}
