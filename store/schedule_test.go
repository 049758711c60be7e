package store_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// recur makes a recurring task and moves its grid into the past, so that ticks have passed already.
func recur(t *testing.T, conn *pgx.Conn, name, misfire, overlap string) int64 {
	t.Helper()
	id := query[int64](t, conn, `INSERT INTO rowrun.task (name, type, schedule, misfire, overlap)
		VALUES ($1, 'NOOP', '@every 1h', $2, $3) RETURNING id`, name, misfire, overlap)
	exec(t, conn, `UPDATE rowrun.task SET created_at = clock_timestamp() - interval '9 hours 30 minutes',
		scheduled_at = clock_timestamp() - interval '9 hours 30 minutes' WHERE id = $1`, id)
	return id
}

// tickOf is how many hours after the task's beginning its unfinished run's tick lies.
const tickOf = `SELECT (extract(epoch FROM r.tick - k.created_at) / 3600)::int FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id
	WHERE k.id = $1 AND r.tick IS NOT NULL AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING')`

// begin makes the run of a task that was due at a tick, could start then or later, and started.
func begin(t *testing.T, conn *pgx.Conn, task int64, tick, due, started int) int64 {
	t.Helper()
	exec(t, conn, `SELECT set_config('rowrun.scheduling', 'on', false)`)
	exec(t, conn, `UPDATE rowrun.task_run r SET tick = k.created_at + make_interval(hours => $2), run_at = k.created_at + make_interval(hours => $3)
		FROM rowrun.task k WHERE k.id = r.task_id AND k.id = $1 AND r.status = 'PENDING'`, task, tick, due)
	exec(t, conn, `SELECT set_config('rowrun.scheduling', 'off', false)`)
	exec(t, conn, `UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE task_id = $1 AND status = 'PENDING'`, task)
	return query[int64](t, conn, `UPDATE rowrun.task_run r SET status = 'RUNNING', replica_id = 'r',
		started_at = k.created_at + make_interval(hours => $2) FROM rowrun.task k
		WHERE k.id = r.task_id AND k.id = $1 AND r.status = 'AVAILABLE' RETURNING r.id`, task, started)
}

func TestWhatFollowsARunThatEnded(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), open(t, url, time.Minute)
	addReplica(t, conn, "r")
	for name, c := range map[string]struct {
		misfire, overlap   string
		tick, due, started int
		want               int
	}{
		"in time, short":                          {"SKIP", "SKIP", 9, 9, 9, 10},
		"ran over four ticks, skipped":            {"SKIP", "SKIP", 5, 5, 5, 10},
		"ran over four ticks, queued":             {"SKIP", "QUEUE", 5, 5, 5, 6},
		"the queue goes on":                       {"SKIP", "QUEUE", 6, 9, 9, 7},
		"started four ticks late, one for all":    {"ONCE", "SKIP", 5, 5, 9, 10},
		"started four ticks late, each":           {"ALL", "SKIP", 5, 5, 9, 6},
		"started late, ran on, queued":            {"ONCE", "QUEUE", 3, 3, 6, 7},
		"catching up":                             {"ALL", "SKIP", 6, 9, 9, 7},
		"ran over ticks, misfire doesn't matter":  {"ALL", "SKIP", 5, 5, 5, 10},
		"skipped, started late, ran over a tick":  {"SKIP", "SKIP", 5, 5, 7, 10},
		"a queue under ALL that missed and waits": {"ALL", "QUEUE", 2, 8, 9, 3},
	} {
		id := recur(t, conn, name, c.misfire, c.overlap)
		run := begin(t, conn, id, c.tick, c.due, c.started)
		ended, _, err := s.EndRuns(t.Context(), []store.Ending{{ID: run}}, 0)
		require.NoError(t, err)
		require.Len(t, ended, 1)
		require.Equal(t, c.want, query[int](t, conn, tickOf, id), name)
		require.True(t, query[bool](t, conn, `SELECT r.run_at = greatest(r.tick, r.created_at, r.run_at) AND r.run_at >= r.tick FROM rowrun.task_run r
			WHERE r.task_id = $1 AND r.status = 'PENDING'`, id), name)
	}
}

func TestRetryKeepsTheTickAndTheLastOneMakesTheNext(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), open(t, url, time.Minute)
	addReplica(t, conn, "r")
	id := recur(t, conn, "", "SKIP", "SKIP")
	exec(t, conn, `UPDATE rowrun.task SET max_attempts = 2, retry_delay = '0' WHERE id = $1`, id)
	run := begin(t, conn, id, 9, 9, 9)
	fail := func(run int64) *int64 {
		ended, _, err := s.EndRuns(t.Context(), []store.Ending{{ID: run, Failed: true, Retry: store.RetryFailure}}, 0)
		require.NoError(t, err)
		return ended[0].RetryRunID
	}
	retry := fail(run)
	require.NotNil(t, retry)
	require.Equal(t, 9, query[int](t, conn, tickOf, id))
	require.Equal(t, 2, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE task_id = $1`, id))
	exec(t, conn, `UPDATE rowrun.task SET schedule = '@every 2h' WHERE id = $1`, id) // the retry still stands for its tick
	require.Equal(t, *retry, query[int64](t, conn, `SELECT id FROM rowrun.task_run WHERE task_id = $1 AND status = 'PENDING'`, id))
	exec(t, conn, `UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE id = $1`, *retry)
	exec(t, conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r' WHERE id = $1`, *retry)
	require.Nil(t, fail(*retry))
	require.Equal(t, 10, query[int](t, conn, tickOf, id))

	made := query[int64](t, conn, `SELECT rowrun.retry_run($1)`, *retry) // a person's retry is beside the schedule
	require.True(t, query[bool](t, conn, `SELECT tick IS NULL FROM rowrun.task_run WHERE id = $1`, made))
}

// What passed while the first run of a chain was under way passed while its job was, whatever its retry was due at.
func TestARetryIsPartOfTheRunOfItsTick(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), open(t, url, time.Minute)
	addReplica(t, conn, "r")
	id := recur(t, conn, "", "ALL", "SKIP")
	exec(t, conn, `UPDATE rowrun.task SET max_attempts = 2, retry_delay = '0' WHERE id = $1`, id)
	first := begin(t, conn, id, 5, 5, 5)
	ended, _, err := s.EndRuns(t.Context(), []store.Ending{{ID: first, Failed: true, Retry: store.RetryFailure}}, 0)
	require.NoError(t, err)
	retry := ended[0].RetryRunID
	require.NotNil(t, retry)
	exec(t, conn, `UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE id = $1`, *retry)
	exec(t, conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r' WHERE id = $1`, *retry)
	_, _, err = s.EndRuns(t.Context(), []store.Ending{{ID: *retry}}, 0)
	require.NoError(t, err)
	require.Equal(t, 10, query[int](t, conn, tickOf, id))
}

func TestStateGoesFromRunToRun(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), open(t, url, time.Minute)
	addReplica(t, conn, "r")
	id := recur(t, conn, "", "SKIP", "SKIP")
	plain := query[int64](t, conn, `INSERT INTO rowrun.task (type) VALUES ('NOOP') RETURNING id`)
	claim := func(task int64) store.Claim {
		exec(t, conn, `UPDATE rowrun.task_run SET run_at = clock_timestamp() WHERE task_id = $1 AND status = 'PENDING'`, task)
		pass, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteSweep, Want: 10})
		require.NoError(t, err)
		require.Len(t, pass.Claims, 1)
		return pass.Claims[0]
	}
	end := func(c store.Claim, failed bool, result string) {
		ended, _, err := s.EndRuns(t.Context(), []store.Ending{{ID: c.ID, Claim: c.Claim, Failed: failed, Result: []byte(result)}}, 0)
		require.NoError(t, err)
		require.Len(t, ended, 1)
	}
	c := claim(id)
	require.JSONEq(t, `{}`, string(c.Payload))
	end(c, false, `{"state": {"page": 7}}`)
	c = claim(id)
	require.JSONEq(t, `{"state": {"page": 7}}`, string(c.Payload))
	end(c, true, `{"state": {"page": 8}, "code": "ERROR"}`)
	c = claim(id)
	require.JSONEq(t, `{"state": {"page": 7}}`, string(c.Payload), "a run that failed leaves it as it was")
	end(c, false, `{}`)
	require.JSONEq(t, `{"page": 7}`, query[string](t, conn, `SELECT state::text FROM rowrun.task WHERE id = $1`, id))

	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES ($1)`, plain)
	end(claim(plain), false, `{"state": "ok"}`)
	require.True(t, query[bool](t, conn, `SELECT state IS NULL FROM rowrun.task WHERE id = $1`, plain))
}

func TestChangeOfATaskMovesItsRun(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	id := query[int64](t, conn, `INSERT INTO rowrun.task (type, schedule, starts_at) VALUES ('NOOP', '@every 10m', '2100-01-01') RETURNING id`)
	pending := func() string {
		return query[string](t, conn, `SELECT coalesce(string_agg(id || ' ' || queue || ' ' || to_char(run_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI'), ','), '')
			FROM rowrun.task_run WHERE task_id = $1 AND status = 'PENDING' AND tick IS NOT NULL`, id)
	}
	change := func(sql string) { exec(t, conn, `UPDATE rowrun.task SET `+sql+` WHERE id = $1`, id) }
	require.Equal(t, "1 default 2100-01-01 00:00", pending())
	change(`schedule = '15 4 * * *'`)
	require.Equal(t, "1 default 2100-01-01 04:15", pending())
	change(`time_zone = 'America/New_York'`)
	require.Equal(t, "1 default 2100-01-01 09:15", pending())
	change(`ends_at = '2100-01-01 09:00'`)
	require.Empty(t, pending())
	change(`ends_at = NULL`)
	require.Equal(t, "2 default 2100-01-01 09:15", pending())
	change(`queue = 'slow'`)
	require.Equal(t, "3 slow 2100-01-01 09:15", pending())
	change(`schedule = '-'`)
	require.Empty(t, pending())
	change(`schedule = '15 4 * * *'`)
	require.Equal(t, "4 slow 2100-01-01 09:15", pending())
	change(`skipped = true`)
	require.Empty(t, pending())
	change(`skipped = false`)
	require.Equal(t, "5 slow 2100-01-01 09:15", pending())
	exec(t, conn, `SELECT rowrun.cancel_run(5, 'not this time')`)
	require.Equal(t, "6 slow 2100-01-02 09:15", pending(), "a tick that a person cancels is left out")
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id, tick) VALUES ($1, now())`, id)
	require.True(t, query[bool](t, conn, `SELECT tick IS NULL FROM rowrun.task_run WHERE id = 7`), "a run asked for is beside the schedule")
	change(`schedule = NULL`)
	require.Empty(t, pending())
	require.Equal(t, "AVAILABLE", query[string](t, conn, `SELECT status FROM rowrun.task_run WHERE id = 7`))
	exec(t, conn, `SELECT rowrun.cancel_run(7)`)
	exec(t, conn, `DELETE FROM rowrun.task`)
}

func TestMissedTickIsSkippedBeforeItStarts(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]string{"free": "NULL", "gated": "'orders'"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := storetest.New(t)
			conn, s := connect(t, url), open(t, url, time.Minute)
			addReplica(t, conn, "r")
			ids := map[string]int64{}
			for _, misfire := range []string{"SKIP", "ONCE", "ALL"} {
				ids[misfire] = recur(t, conn, misfire, misfire, "SKIP")
				exec(t, conn, `UPDATE rowrun.task SET database_id = `+more+` WHERE id = $1`, ids[misfire])
				exec(t, conn, `UPDATE rowrun.task_run SET run_at = clock_timestamp() - interval '1 hour' WHERE task_id = $1 AND status = 'PENDING'`, ids[misfire])
			}
			pass, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteSweep, Want: 10})
			require.NoError(t, err)
			require.Len(t, pass.Claims, 2)
			for _, c := range pass.Claims {
				require.NotEqual(t, ids["SKIP"], c.TaskID)
			}
			require.Equal(t, 10, query[int](t, conn, tickOf, ids["SKIP"]))
			require.True(t, query[bool](t, conn, `SELECT run_at > clock_timestamp() FROM rowrun.task_run WHERE task_id = $1 AND status = 'PENDING'`, ids["SKIP"]))
		})
	}
}

func TestScheduleThatCannotBeFollowedIsPausedAndNobodyElseSuffers(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), open(t, url, time.Minute)
	addReplica(t, conn, "r")
	bad, good := recur(t, conn, "bad", "SKIP", "SKIP"), recur(t, conn, "good", "SKIP", "SKIP")
	endings := []store.Ending{{ID: begin(t, conn, bad, 9, 9, 9)}, {ID: begin(t, conn, good, 9, 9, 9)}}
	// As an upgrade leaves it that takes a zone away.
	exec(t, conn, `ALTER TABLE rowrun.task DISABLE TRIGGER task_schedule_refill`)
	exec(t, conn, `UPDATE rowrun.task SET schedule = '@daily', schedule_parts = rowrun.parse_schedule('@daily'), time_zone = 'Mars/Olympus' WHERE id = $1`, bad)
	exec(t, conn, `ALTER TABLE rowrun.task ENABLE TRIGGER task_schedule_refill`)
	ended, _, err := s.EndRuns(t.Context(), endings, 0)
	require.NoError(t, err)
	require.Len(t, ended, 2)
	require.Equal(t, 10, query[int](t, conn, tickOf, good))
	require.Contains(t, query[string](t, conn, `SELECT schedule_error FROM rowrun.task WHERE paused AND id = $1`, bad), "Mars/Olympus")
	notes, err := s.UnprintedNotes(t.Context())
	require.NoError(t, err)
	require.Len(t, notes, 1)
	require.Equal(t, "task.schedule_paused", notes[0].Event)

	_, err = conn.Exec(t.Context(), `UPDATE rowrun.task SET paused = false WHERE id = $1`, bad)
	require.ErrorContains(t, err, "RR003")
	exec(t, conn, `UPDATE rowrun.task SET paused = false, time_zone = 'UTC' WHERE id = $1`, bad)
	require.True(t, query[bool](t, conn, `SELECT schedule_error IS NULL FROM rowrun.task WHERE id = $1`, bad))
	require.Equal(t, 1, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE task_id = $1 AND status = 'PENDING'`, bad))
}

func TestSweepMakesRunsThatWereDeleted(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), open(t, url, time.Minute)
	exec(t, conn, `INSERT INTO rowrun.task (type, schedule) SELECT 'NOOP', CASE WHEN n % 5 = 0 THEN '-' ELSE '@every 1h' END FROM generate_series(1, 25) n`)
	exec(t, conn, `DELETE FROM rowrun.task_run WHERE task_id % 2 = 0`)
	made, windows := 0, 0
	for after := int64(0); windows == 0 || after != 0; windows++ {
		last, n, err := s.SweepSchedules(t.Context(), after, 10)
		require.NoError(t, err)
		after, made = last, made+n
	}
	require.Equal(t, 3, windows)
	require.Equal(t, 10, made)
	require.Equal(t, 20, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE status = 'PENDING'`))
	_, again, err := s.SweepSchedules(t.Context(), 0, 100)
	require.NoError(t, err)
	require.Zero(t, again)
}

// What the server lacks for a moment is no fault of the schedule: the end is recorded, and a sweep makes the next run.
func TestAFailureOfTheServerPausesNoSchedule(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), open(t, url, time.Minute)
	exec(t, conn, `INSERT INTO rowrun.task (id, type, schedule) VALUES (1, 'NOOP', '@every 1h')`)
	text := query[string](t, conn, `SELECT pg_get_functiondef('rowrun.spread_of(rowrun.task)'::regprocedure)`)
	exec(t, conn, `CREATE OR REPLACE FUNCTION rowrun.spread_of(k rowrun.task) RETURNS interval LANGUAGE plpgsql STABLE AS
		$$BEGIN RAISE 'out of shared memory' USING ERRCODE = '53200'; END$$`)
	run := query[int64](t, conn, `SELECT id FROM rowrun.task_run`)
	finish(t, conn, run, "DONE")
	_, made, err := s.SweepSchedules(t.Context(), 0, 10)
	require.NoError(t, err)
	require.Zero(t, made, "the fault")
	require.False(t, query[bool](t, conn, `SELECT paused FROM rowrun.task`))
	exec(t, conn, text)
	_, made, err = s.SweepSchedules(t.Context(), 0, 10)
	require.NoError(t, err)
	require.Equal(t, 1, made)
}
