package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// limitedTask is a database with a task whose runs are limited, and a replica for them.
func limitedTask(t *testing.T, limit string) (conn *pgx.Conn, s *store.Store, task int64) {
	t.Helper()
	url := storetest.New(t)
	conn, s = connect(t, url), openStore(t, url)
	addReplica(t, conn, "r")
	exec(t, conn, limit)
	_, err := s.Survey(t.Context(), "r", noop(), store.SurveyAll) // tells whether there are limits
	require.NoError(t, err)
	return conn, s, query[int64](t, conn, `INSERT INTO rowrun.task (type) VALUES ('NOOP') RETURNING id`)
}

// statusCounts counts runs by their status.
func statusCounts(t *testing.T, conn *pgx.Conn) map[string]int {
	t.Helper()
	rows, err := conn.Query(t.Context(), `SELECT status, count(*) FROM rowrun.task_run GROUP BY 1`)
	require.NoError(t, err)
	counts := map[string]int{}
	var status string
	var n int
	_, err = pgx.ForEachRow(rows, []any{&status, &n}, func() error {
		counts[status] = n
		return nil
	})
	require.NoError(t, err)
	return counts
}

func work(t *testing.T, s *store.Store, want int) store.Round {
	t.Helper()
	round, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteDue, Claim: store.ClaimAnyAndFresh, Want: want})
	require.NoError(t, err)
	return round
}

func endClaims(t *testing.T, s *store.Store, claims []store.Claim) store.Opened {
	t.Helper()
	endings := make([]store.Ending, len(claims))
	for i, c := range claims {
		endings[i] = store.Ending{ID: c.ID, Claim: c.Claim}
	}
	ended, opened, err := s.EndRuns(t.Context(), endings, 0)
	require.NoError(t, err)
	require.Len(t, ended, len(claims))
	return opened
}

// A limit of two lets two go, whatever the slots, and each end lets another one go; that it is over is no mark's to forget.
func TestALimitLetsAsManyGoAsItHasPlacesFor(t *testing.T) {
	t.Parallel()
	conn, s, task := limitedTask(t, `INSERT INTO rowrun.concurrency_limit (name, type, max_running) VALUES ('two', 'NOOP', 2)`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, 7)`, task)
	require.Equal(t, map[string]int{"PENDING": 7}, statusCounts(t, conn), "a limit may hold them")
	for left := 7; left > 0; left -= 2 {
		round := work(t, s, 10)
		require.Len(t, round.Claims, min(left, 2))
		require.Empty(t, work(t, s, 10).Claims)
		if left > 2 {
			require.Equal(t, "limit two: 2 of 2 places taken", query[string](t, conn, `SELECT w.message FROM rowrun.task_run r, rowrun.waiting(r.id) w
				WHERE r.status = 'PENDING' AND w.cause = 'LIMIT' ORDER BY r.id LIMIT 1`))
		}
		require.True(t, endClaims(t, s, round.Claims).Marked || left <= 2)
	}
	require.Equal(t, map[string]int{"DONE": 7}, statusCounts(t, conn))
	require.Zero(t, query[int](t, conn, `SELECT count(*) FROM rowrun.limit_holder`))
}

// Each value of a key has a limit of its own; what has no value has none.
func TestEachKeyHasALimitOfItsOwn(t *testing.T) {
	t.Parallel()
	conn, s, task := limitedTask(t, `INSERT INTO rowrun.concurrency_limit (name, key_path, max_running) VALUES ('tenants', '{tenant}', 1)`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id, input) SELECT $1, jsonb_build_object('tenant', n % 3) FROM generate_series(1, 9) n`, task)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id, input) VALUES ($1, '{}'), ($1, '{"tenant": null}')`, task)
	require.Equal(t, map[string]int{"PENDING": 9, "AVAILABLE": 2}, statusCounts(t, conn))
	round := work(t, s, 20)
	require.Len(t, round.Claims, 5, "three tenants, and two runs without one")
	require.Equal(t, 3, query[int](t, conn, `SELECT count(DISTINCT input ->> 'tenant') FROM rowrun.task_run WHERE status = 'RUNNING' AND input ->> 'tenant' IS NOT NULL`))
	// The key is drawn at the INSERT, whatever becomes of the input.
	exec(t, conn, `UPDATE rowrun.task_run SET input = '{"tenant": "other"}' WHERE status = 'PENDING'`)
	require.Empty(t, work(t, s, 20).Claims)
	endClaims(t, s, round.Claims)
	require.Len(t, work(t, s, 20).Claims, 3)
}

// Each limit of a run must have a place for it, and one that is held by one takes none of another.
func TestARunNeedsAPlaceOfEachOfItsLimits(t *testing.T) {
	t.Parallel()
	conn, s, task := limitedTask(t, `INSERT INTO rowrun.concurrency_limit (name, key_path, max_running) VALUES ('tenants', '{tenant}', 1), ('all', NULL, 2)`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id, input) SELECT $1, jsonb_build_object('tenant', v) FROM unnest('{a,a,a,b,c}'::text[]) v`, task)
	round := work(t, s, 20)
	for more := true; more; {
		again := work(t, s, 20)
		round.Claims, more = append(round.Claims, again.Claims...), again.More || len(again.Claims) > 0
	}
	require.Equal(t, []string{"a", "b"}, query[[]string](t, conn, `SELECT array_agg(input ->> 'tenant' ORDER BY id) FROM rowrun.task_run WHERE status = 'RUNNING'`))
	require.Equal(t, []string{"LIMIT", "LIMIT"}, query[[]string](t, conn, `SELECT array_agg(w.cause) FROM rowrun.waiting(2) w`), "all causes that hold")
	require.Equal(t, 1, query[int](t, conn, `SELECT count(*) FROM rowrun.waiting((SELECT max(id) FROM rowrun.task_run))`))
}

// What was AVAILABLE before is asked at its claim, whether the limit was made then or has fewer places; what is RUNNING counts.
func TestALimitThatIsMadeOrLoweredLaterHoldsAtOnce(t *testing.T) {
	t.Parallel()
	conn, s, task := limitedTask(t, `SELECT 1`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, 10)`, task)
	require.Equal(t, map[string]int{"AVAILABLE": 10}, statusCounts(t, conn))
	first := work(t, s, 3)
	require.Len(t, first.Claims, 3)
	exec(t, conn, `INSERT INTO rowrun.concurrency_limit (name, type, max_running) VALUES ('four', 'NOOP', 4)`)
	second := work(t, s, 10)
	require.Len(t, second.Claims, 1, "three were RUNNING")
	require.Empty(t, work(t, s, 10).Claims)
	require.Equal(t, "LIMIT", query[string](t, conn, `SELECT w.cause FROM rowrun.task_run r, rowrun.waiting(r.id) w WHERE r.status = 'AVAILABLE' LIMIT 1`))
	exec(t, conn, `UPDATE rowrun.concurrency_limit SET max_running = 2`)
	endClaims(t, s, first.Claims[:2])
	require.Empty(t, work(t, s, 10).Claims, "two of two")
	endClaims(t, s, append(first.Claims[2:], second.Claims...))
	work(t, s, 10) // opens, and the next one claims
	work(t, s, 10)
	require.Equal(t, 2, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE status = 'RUNNING'`))
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES ($1)`, task)
	work(t, s, 10)
	require.Equal(t, map[string]int{"DONE": 4, "RUNNING": 2, "AVAILABLE": 4, "PENDING": 1}, statusCounts(t, conn), "AVAILABLE ones count")
}

// Who deletes a limit, or raises it, lets go who waits for it.
func TestALimitThatIsRaisedOrDeletedLetsGo(t *testing.T) {
	t.Parallel()
	conn, s, task := limitedTask(t, `INSERT INTO rowrun.concurrency_limit (name, queue, max_running) VALUES ('none', 'default', 0)`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, 9)`, task)
	require.Empty(t, work(t, s, 20).Claims)
	exec(t, conn, `UPDATE rowrun.concurrency_limit SET max_running = 3`)
	require.Len(t, work(t, s, 20).Claims, 3)
	require.True(t, query[bool](t, conn, `SELECT rowrun.delete_limit('none')`))
	require.Len(t, work(t, s, 20).Claims, 6)
	require.Zero(t, query[int](t, conn, `SELECT count(*) FROM rowrun.limit_holder`))
	require.False(t, query[bool](t, conn, `SELECT rowrun.delete_limit('none')`))
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES ($1)`, task)
	require.Equal(t, "AVAILABLE", query[string](t, conn, `SELECT status FROM rowrun.task_run ORDER BY id DESC LIMIT 1`))
	require.Len(t, work(t, s, 20).Claims, 1)
}

// A run with a limit becomes AVAILABLE for a replica that can take it. Without the limit it waits for none.
func TestADeletedLimitNeedsNoReplica(t *testing.T) {
	t.Parallel()
	conn, s, task := limitedTask(t, `INSERT INTO rowrun.concurrency_limit (name, type, max_running) VALUES ('one', 'NOBODY', 1)`)
	exec(t, conn, `UPDATE rowrun.task SET type = 'NOBODY' WHERE id = $1`, task)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, 3)`, task)
	require.Empty(t, work(t, s, 20).Claims)
	require.Equal(t, 1, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE status = 'PENDING' AND cause = 'NO_REPLICA'`), "the first of the key")
	exec(t, conn, `SELECT rowrun.delete_limit('one')`)
	require.Empty(t, work(t, s, 20).Claims)
	require.Equal(t, map[string]int{"AVAILABLE": 3}, statusCounts(t, conn))
}

// A heartbeat in time may be committed when the lease is over: who was judged in between is judged again.
func TestAHeartbeatThatIsCommittedLateLetsGo(t *testing.T) {
	t.Parallel()
	conn, s, task := limitedTask(t, `INSERT INTO rowrun.concurrency_limit (name, type, max_running) VALUES ('one', 'OWN', 1)`)
	exec(t, conn, `UPDATE rowrun.task SET type = 'OWN' WHERE id = $1`, task)
	exec(t, conn, `INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, name, lease, queues, types, concurrency, worker)
		VALUES ('own', clock_timestamp(), 'own', '4 s', '{}', '{OWN}', 1, true)`)
	require.Empty(t, work(t, s, 20).Claims)
	late := connect(t, conn.Config().ConnString())
	exec(t, late, `BEGIN`)
	exec(t, late, `SELECT pg_sleep(2.6)`)
	exec(t, late, `UPDATE rowrun.replica_heartbeat SET last_heartbeat = clock_timestamp() WHERE replica_id = 'own'`)
	exec(t, conn, `SELECT pg_sleep(1.6)`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES ($1)`, task)
	require.Empty(t, work(t, s, 20).Claims)
	require.Equal(t, 1, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE status = 'PENDING' AND cause = 'NO_REPLICA'`))
	exec(t, late, `COMMIT`)
	require.Empty(t, work(t, s, 20).Claims)
	require.Equal(t, map[string]int{"AVAILABLE": 1}, statusCounts(t, conn), "for the worker")
}

// A rate lets the burst go, then one for each token, and the pass says when the next one comes.
func TestARateGivesTokensByTheDatabasesClock(t *testing.T) {
	t.Parallel()
	conn, s, task := limitedTask(t, `INSERT INTO rowrun.concurrency_limit (name, rate, per, burst) VALUES ('slow', 6, '1 h', 2)`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, 6)`, task)
	first := work(t, s, 20)
	require.Len(t, first.Claims, 2)
	endClaims(t, s, first.Claims)
	next := work(t, s, 20)
	require.Empty(t, next.Claims, "places are no tokens")
	require.InDelta(t, 10*time.Minute, next.NextDue, float64(10*time.Second))
	require.Equal(t, "RATE_LIMIT", query[string](t, conn, `SELECT w.cause FROM rowrun.waiting(3) w`))
	require.InDelta(t, 600, query[float64](t, conn, `SELECT extract(epoch FROM (w.detail ->> 'next_token_at')::timestamptz - now())::float8 FROM rowrun.waiting(3) w`), 10)
	require.Equal(t, 1, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE judge_at IS NOT NULL`), "one timer, whoever waits")
	exec(t, conn, `UPDATE rowrun.limit_bucket SET counted_at = counted_at - interval '11 min'`)
	exec(t, conn, `UPDATE rowrun.task_run SET judge_at = now(), prev_status = NULL WHERE judge_at IS NOT NULL`)
	require.Len(t, work(t, s, 20).Claims, 1)
	require.InDelta(t, 9*time.Minute, work(t, s, 20).NextDue, float64(10*time.Second))
}

// A token is taken only where somebody can start the run at once.
func TestATokenNeedsAFreeSlot(t *testing.T) {
	t.Parallel()
	conn, s, task := limitedTask(t, `INSERT INTO rowrun.concurrency_limit (name, rate, per) VALUES ('fast', 100, '1 s')`)
	exec(t, conn, `UPDATE rowrun.replica_heartbeat SET concurrency = 2`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, 5)`, task)
	require.Len(t, work(t, s, 2).Claims, 2)
	work(t, s, 0)
	require.Equal(t, map[string]int{"RUNNING": 2, "PENDING": 3}, statusCounts(t, conn))
	require.Equal(t, "RATE_LIMIT", query[string](t, conn, `SELECT w.cause FROM rowrun.task_run r, rowrun.waiting(r.id) w WHERE r.status = 'PENDING' LIMIT 1`))
}

// Before its time nothing of a limit starts, AVAILABLE or not; then all of it does.
func TestALimitPausesUntilATime(t *testing.T) {
	t.Parallel()
	conn, s, task := limitedTask(t, `SELECT 1`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES ($1)`, task)
	exec(t, conn, `INSERT INTO rowrun.concurrency_limit (name, queue, not_before) VALUES ('later', 'default', now() + interval '1 h')`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES ($1)`, task)
	round := work(t, s, 5)
	require.Empty(t, round.Claims)
	require.InDelta(t, time.Hour, round.NextDue, float64(time.Minute))
	require.Equal(t, []string{"LIMIT", "LIMIT"}, query[[]string](t, conn, `SELECT array_agg(w.cause) FROM rowrun.waiting() w`))
	exec(t, conn, `UPDATE rowrun.concurrency_limit SET not_before = NULL`)
	claims := work(t, s, 5).Claims
	require.Len(t, append(claims, work(t, s, 5).Claims...), 2)
}

// A target that asks to be left alone is left alone by all runs of its limit and key.
func TestRetryAfterHoldsALimitBackForAll(t *testing.T) {
	t.Parallel()
	conn, s, _ := limitedTask(t, `INSERT INTO rowrun.concurrency_limit (name, type, key_path, rate, per) VALUES ('api', 'HTTP', '{host}', 100, '1 s')`)
	task := query[int64](t, conn, `INSERT INTO rowrun.task (type, payload) VALUES ('HTTP', '{"path": "/"}') RETURNING id`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id, input) VALUES ($1, '{"host": "a"}')`, task)
	trip := store.Trip{Replica: "r", Capabilities: store.Capabilities{Queues: []string{"default"}, Types: []string{"HTTP"}}, Promote: store.PromoteDue, Want: 9}
	round, err := s.Work(t.Context(), trip)
	require.NoError(t, err)
	require.Len(t, round.Claims, 1)
	_, _, err = s.EndRuns(t.Context(), []store.Ending{{
		ID: round.Claims[0].ID, Claim: round.Claims[0].Claim, Failed: true, Result: []byte(`{"code": "HTTP_429", "detail": "", "retry_after_s": 600}`),
	}}, 0)
	require.NoError(t, err)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id, input) VALUES ($1, '{"host": "a"}'), ($1, '{"host": "b"}')`, task)
	round, err = s.Work(t.Context(), trip)
	require.NoError(t, err)
	require.Len(t, round.Claims, 1, "b answers")
	require.InDelta(t, 10*time.Minute, round.NextDue, float64(time.Minute))
	require.Equal(t, "RATE_LIMIT", query[string](t, conn, `SELECT w.cause FROM rowrun.task_run r, rowrun.waiting(r.id) w WHERE r.status = 'PENDING'`))
}

// A run with a limit is promoted only where somebody can run it.
func TestARunWithALimitWaitsForAReplica(t *testing.T) {
	t.Parallel()
	conn, s, _ := limitedTask(t, `INSERT INTO rowrun.concurrency_limit (name, max_running) VALUES ('one', 1)`)
	exec(t, conn, `INSERT INTO rowrun.task (id, type) VALUES (50, 'OWN')`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES (50)`)
	require.Zero(t, work(t, s, 5).Promoted)
	require.Equal(t, "NO_REPLICA", query[string](t, conn, `SELECT cause FROM rowrun.task_run`))
	require.Equal(t, "NO_REPLICA", query[string](t, conn, `SELECT string_agg(w.cause, ' ') FROM rowrun.waiting() w`))
	exec(t, conn, `UPDATE rowrun.replica_heartbeat SET types = '{NOOP,OWN}'`)
	require.Equal(t, 1, work(t, s, 5).Promoted)
}

// However a run ends, its places come free: failed, canceled, by hand, and by a statement that knows no limits, which a sweep sees.
func TestPlacesComeFreeHoweverARunEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]string{
		"FAILED":           `SELECT count(*) FROM rowrun.end_runs(ARRAY[1::bigint], ARRAY[NULL::uuid], '{FAILED}', '{"{}"}', '{NONE}')`,
		"by hand":          `UPDATE rowrun.task_run SET status = 'DONE' WHERE id = 1`,
		"of another claim": `UPDATE rowrun.task_run SET status = 'DONE', prev_status = 'RUNNING', finished_at = clock_timestamp(), updated_at = clock_timestamp() + interval '1 s', claim_hash = NULL WHERE id = 1`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, s, task := limitedTask(t, `INSERT INTO rowrun.concurrency_limit (name, max_running) VALUES ('one', 1)`)
			exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES ($1), ($1)`, task)
			require.Len(t, work(t, s, 5).Claims, 1)
			exec(t, conn, end)
			if name == "of another claim" {
				require.Empty(t, work(t, s, 5).Claims, "nobody tells")
				exec(t, conn, `INSERT INTO rowrun.gate_mark (kind, limit_key) SELECT 'LIMIT', limit_key FROM rowrun.limit_holder`)
				require.Len(t, work(t, s, 5).Claims, 1)
				exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES ($1)`, task)
				exec(t, conn, strings.ReplaceAll(end, "id = 1", "id = 2"))
				round, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteSweep, Want: 5})
				require.NoError(t, err)
				require.Equal(t, 1, round.Promoted, "a sweep sees it")
				require.Equal(t, 1, query[int](t, conn, `SELECT count(*) FROM rowrun.limit_holder`))
				return
			}
			require.Len(t, work(t, s, 5).Claims, 1)
		})
	}
}

// Claims of the first release leave runs with a key alone, and no limit is made beside a replica of it.
func TestTheFirstReleaseBreaksNoLimit(t *testing.T) {
	t.Parallel()
	conn, s, task := limitedTask(t, `INSERT INTO rowrun.concurrency_limit (name, max_running) VALUES ('one', 1)`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES ($1)`, task)
	require.Equal(t, 1, work(t, s, 0).Promoted)
	require.False(t, query[bool](t, conn, `SELECT rowrun.may_take(r, k, '{}', '{}') FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id`))
	require.Len(t, work(t, s, 5).Claims, 1)
	exec(t, conn, `INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, version) VALUES ('old', now(), 'v0.1.0')`)
	for _, sql := range []string{`INSERT INTO rowrun.concurrency_limit (name) VALUES ('x')`, `UPDATE rowrun.concurrency_limit SET max_running = 2`} {
		_, err := conn.Exec(t.Context(), sql)
		require.Equal(t, "RR005", store.SQLState(err))
	}
	exec(t, conn, `UPDATE rowrun.replica_heartbeat SET release = 2`)
	exec(t, conn, `UPDATE rowrun.concurrency_limit SET max_running = 2`)
}

// Where there has never been a limit, nothing on a run's way reads their tables.
func TestARunWithoutALimitMeetsNone(t *testing.T) {
	t.Parallel()
	conn, s, task := limitedTask(t, `SELECT 1`)
	exec(t, conn, `INSERT INTO rowrun.task (id, type, database_id, version) VALUES (50, 'NOOP', 'a', '1'), (51, 'NOOP', 'a', '2')`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT unnest(ARRAY[$1, $1, 50, 51])`, task)
	for range 2 {
		endClaims(t, s, work(t, s, 9).Claims)
	}
	require.Equal(t, map[string]int{"DONE": 4}, statusCounts(t, conn))
	s.Close()
	require.Eventually(t, func() bool {
		return query[int](t, conn, `SELECT n_tup_upd FROM pg_stat_user_tables WHERE relname = 'task_run' AND schemaname = 'rowrun'`) > 0
	}, 30*time.Second, 50*time.Millisecond)
	require.Zero(t, query[int](t, conn, `SELECT sum(coalesce(seq_scan, 0) + coalesce(idx_scan, 0))::int FROM pg_stat_user_tables
		WHERE schemaname = 'rowrun' AND relname IN ('concurrency_limit', 'limit_holder', 'limit_bucket')`))
	require.True(t, query[bool](t, conn, `SELECT bool_and(limit_keys IS NULL AND limit_wait IS NULL) FROM rowrun.task_run`))
}

// What a limit can't be is refused by name.
func TestALimitIsWhatItSays(t *testing.T) {
	t.Parallel()
	conn, _, _ := limitedTask(t, `INSERT INTO rowrun.concurrency_limit (name, rate, per) VALUES ('x', 1, '1 s')`)
	for values, constraint := range map[string]string{
		`(name, share) VALUES ('a', 'FAIR')`:                          "concurrency_limit_fair_with_key_path",
		`(name, rate) VALUES ('a', 1)`:                                "concurrency_limit_rate_with_per",
		`(name, burst) VALUES ('a', 1)`:                               "concurrency_limit_burst_with_rate",
		`(name, max_running) VALUES ('a', -1)`:                        "concurrency_limit_max_running_from_0",
		`(name, key_path) VALUES ('a', '{}')`:                         "concurrency_limit_key_path_1_to_20_names",
		`(name, weights) VALUES ('a', '{"x": 0}')`:                    "concurrency_limit_weights_from_1_to_1000",
		`(name, weights) VALUES ('a', '{"x": [3]}')`:                  "concurrency_limit_weights_from_1_to_1000",
		`(name, weights) VALUES ('a', '{"x": []}')`:                   "concurrency_limit_weights_from_1_to_1000",
		`(name, rate, per) VALUES ('a', 1, '0')`:                      "concurrency_limit_per_1_ms_to_1_year",
		`(name, not_before) VALUES ('a', '0001-01-01')`:               "concurrency_limit_not_before_1900_to_9998",
		`(name, type, queue, key_path) VALUES ('', NULL, NULL, NULL)`: "concurrency_limit_name_1_to_200_bytes_no_control",
	} {
		_, err := conn.Exec(t.Context(), `INSERT INTO rowrun.concurrency_limit `+values)
		require.Equal(t, constraint, constraintOf(err), values)
	}
	_, err := conn.Exec(t.Context(), `UPDATE rowrun.concurrency_limit SET name = 'y'`)
	require.Equal(t, "RR003", store.SQLState(err))
}

// What an end promotes by itself, of a database or of a plan, is nothing that a limit applies to.
func TestAnEndPromotesNothingPastALimit(t *testing.T) {
	t.Parallel()
	for name, tasks := range map[string]string{
		"a version": `INSERT INTO rowrun.task (id, type, database_id, version) VALUES (50, 'NOOP', 'a', '1'), (51, 'NOOP', 'a', '2')`,
		"a plan":    `INSERT INTO rowrun.plan (id, parallel_limit) VALUES (1, 1); INSERT INTO rowrun.task (id, plan_id, type) VALUES (50, 1, 'NOOP'), (51, 1, 'NOOP')`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, s, task := limitedTask(t, `INSERT INTO rowrun.concurrency_limit (name, max_running) VALUES ('one', 1)`)
			exec(t, conn, tasks)
			exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES (50), (51)`)
			first := work(t, s, 5)
			require.Len(t, first.Claims, 1)
			exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES ($1)`, task)
			round, err := s.Work(t.Context(), store.Trip{
				Replica: "r", Capabilities: noop(), Claim: store.ClaimFresh, Want: 5,
				Endings: []store.Ending{{ID: first.Claims[0].ID, Claim: first.Claims[0].Claim, Database: first.Claims[0].DatabaseID, PlanTask: planTask(first.Claims[0])}},
			})
			require.NoError(t, err)
			if len(round.Left) > 0 {
				_, _, err = s.EndRuns(t.Context(), round.Left, 0)
				require.NoError(t, err)
			}
			work(t, s, 5)
			work(t, s, 5)
			require.Equal(t, 1, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE status IN ('AVAILABLE', 'RUNNING')`))
		})
	}
}

func planTask(c store.Claim) int64 {
	if c.PlanID == nil {
		return 0
	}
	return c.TaskID
}
