package store_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// judged is what the judgement says of all PENDING runs together, by task: "OPEN" or what holds the run. It asserts that
// nothing was written.
func judged(t *testing.T, conn *pgx.Conn, at string) map[int64]string {
	t.Helper()
	const all = `SELECT coalesce(string_agg(x, ' '), '') FROM (
		SELECT r::text || r.xmin AS x FROM rowrun.task_run r UNION ALL SELECT m::text FROM rowrun.gate_mark m ORDER BY 1) x`
	before := query[string](t, conn, all)
	rows, err := conn.Query(t.Context(), `SELECT r.task_id, coalesce(j.cause, 'OPEN')
		FROM rowrun.judge((SELECT array_agg(id) FROM rowrun.task_run WHERE status = 'PENDING'),
			(SELECT array_agg(DISTINCT plan_id) FILTER (WHERE plan_id IS NOT NULL) FROM rowrun.task_run WHERE status = 'PENDING'),
			clock_timestamp() + $1::interval, 0) j
		JOIN rowrun.task_run r ON r.id = j.id`, at)
	require.NoError(t, err)
	verdicts := map[int64]string{}
	var task int64
	var cause string
	_, err = pgx.ForEachRow(rows, []any{&task, &cause}, func() error {
		verdicts[task] = cause
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, before, query[string](t, conn, all), "a judgement writes nothing")
	return verdicts
}

// The judgement is asked of runs as they are, a case for each gate and for the order of those that are closed at once.
func TestJudgementSaysWhatHoldsARun(t *testing.T) {
	t.Parallel()
	const (
		task    = `INSERT INTO rowrun.task (id, type, database_id, version, sequential) VALUES `
		ofPlan  = `INSERT INTO rowrun.task (id, plan_id, type, database_id, version, sequential) VALUES `
		runs    = `INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task ORDER BY id`
		runOf   = `INSERT INTO rowrun.task_run (task_id) VALUES `
		start   = `SELECT rowrun.promote_runs(); UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r' WHERE status = 'AVAILABLE'`
		fail    = `UPDATE rowrun.task_run SET status = 'FAILED' WHERE status = 'RUNNING'`
		missed  = `SET session_replication_role = replica; UPDATE rowrun.task_run SET tick = run_at, missed_at = run_at; RESET session_replication_role`
		later   = `UPDATE rowrun.task_run SET run_at = now() + interval '10 min'`
		elapsed = "30 min"
		// the second task's run, after the first's
		afterFirst = `INSERT INTO rowrun.task_run (task_id, after) SELECT 2, ARRAY[id] FROM rowrun.task_run WHERE task_id = 1`
	)
	for name, c := range map[string]struct {
		given string
		at    string // from now on
		want  map[int64]string
	}{
		"waves that are not open": {
			given: `INSERT INTO rowrun.plan (name) VALUES ('p'); ` + ofPlan + `(1, 1, 'NOOP', NULL, NULL, false), (2, 1, 'NOOP', 'a', '1', false), (3, 1, 'NOOP', NULL, NULL, false);
				SELECT rowrun.add_waves(1, '[{"tasks": [1]}, {"tasks": [2]}]'); UPDATE rowrun.plan_wave SET opened_at = now() WHERE wave = 1; ` + runs,
			want: map[int64]string{1: "OPEN", 2: "DEPENDENCY", 3: "OPEN"},
		},
		"nothing":                    {given: task + `(1, 'NOOP', 'a', '1', false); ` + runs, want: map[int64]string{1: "OPEN"}},
		"RUN_AT":                     {given: task + `(1, 'NOOP', 'a', '1', false); ` + runs + `; ` + later, want: map[int64]string{1: "RUN_AT"}},
		"time has come":              {given: task + `(1, 'NOOP', 'a', '1', false); ` + runs + `; ` + later, at: elapsed, want: map[int64]string{1: "OPEN"}},
		"PAUSED":                     {given: task + `(1, 'NOOP', 'a', '1', false); ` + runs + `; UPDATE rowrun.task SET paused = true`, want: map[int64]string{1: "PAUSED"}},
		"RUN_AT before PAUSED":       {given: task + `(1, 'NOOP', 'a', '1', false); ` + runs + `; UPDATE rowrun.task SET paused = true; ` + later, want: map[int64]string{1: "RUN_AT"}},
		"MISSED":                     {given: task + `(1, 'NOOP', 'a', '1', false); ` + runs + `; ` + missed, at: elapsed, want: map[int64]string{1: "MISSED"}},
		"PAUSED before MISSED":       {given: task + `(1, 'NOOP', 'a', '1', false); ` + runs + `; ` + missed + `; UPDATE rowrun.task SET paused = true`, at: elapsed, want: map[int64]string{1: "PAUSED"}},
		"SKIPPED before PAUSED":      {given: task + `(1, 'NOOP', 'a', '1', false); UPDATE rowrun.task SET skipped = true, paused = true; ` + runs, want: map[int64]string{1: "SKIPPED"}},
		"PAUSED before NO_REPLICA":   {given: task + `(1, 'OWN', 'a', '1', false); ` + runs + `; UPDATE rowrun.task SET paused = true`, want: map[int64]string{1: "PAUSED"}},
		"NO_REPLICA":                 {given: task + `(1, 'OWN', 'a', '1', false); ` + runs, want: map[int64]string{1: "NO_REPLICA"}},
		"NO_REPLICA, of a limit":     {given: `INSERT INTO rowrun.plan (id, parallel_limit) VALUES (1, 1); ` + ofPlan + `(1, 1, 'OWN', NULL, NULL, false); ` + runs, want: map[int64]string{1: "NO_REPLICA"}},
		"no limit, no NO_REPLICA":    {given: `INSERT INTO rowrun.plan (id) VALUES (1); ` + ofPlan + `(1, 1, 'OWN', NULL, NULL, false); ` + runs, want: map[int64]string{1: "OPEN"}},
		"DATABASE, a version":        {given: task + `(1, 'NOOP', 'a', '1.10', false), (2, 'NOOP', 'a', '1.9', false), (3, 'NOOP', 'b', '2', false); ` + runs, want: map[int64]string{1: "DATABASE", 2: "OPEN", 3: "OPEN"}},
		"DATABASE, RUNNING":          {given: task + `(1, 'NOOP', 'a', '1', false); ` + runs + `; ` + start + `; ` + task + `(2, 'NOOP', 'a', '2', false), (3, 'NOOP', 'a', '1', false); ` + runOf + `(2), (3)`, want: map[int64]string{2: "DATABASE", 3: "OPEN"}},
		"DATABASE before NO_REPLICA": {given: task + `(1, 'NOOP', 'a', '1', false), (2, 'OWN', 'a', '2', false); ` + runs, want: map[int64]string{1: "OPEN", 2: "DATABASE"}},
		"held by one that is held": {
			given: task + `(1, 'OWN', 'a', '1', false), (2, 'NOOP', 'a', '2', false); ` + runs,
			want:  map[int64]string{1: "NO_REPLICA", 2: "DATABASE"},
		},
		"sequential, behind one that is active":   {given: task + `(1, 'NOOP', 'a', NULL, false); ` + runs + `; ` + start + `; ` + task + `(2, 'NOOP', 'a', NULL, true), (3, 'NOOP', 'b', NULL, true); ` + runOf + `(2), (3)`, want: map[int64]string{2: "DATABASE", 3: "OPEN"}},
		"others, behind an active sequential one": {given: task + `(1, 'NOOP', 'a', NULL, true); ` + runs + `; ` + start + `; ` + task + `(2, 'NOOP', 'a', NULL, false); ` + runOf + `(2)`, want: map[int64]string{2: "DATABASE"}},
		"sequential, the first of two":            {given: task + `(1, 'NOOP', 'a', NULL, true), (2, 'NOOP', 'a', NULL, true); ` + runs, want: map[int64]string{1: "OPEN", 2: "DATABASE"}},
		"sequential, by priority":                 {given: task + `(1, 'NOOP', 'a', NULL, true), (2, 'NOOP', 'a', NULL, true); ` + runs + `; UPDATE rowrun.task_run SET priority = task_id`, want: map[int64]string{1: "DATABASE", 2: "OPEN"}},
		"sequential, between others":              {given: task + `(1, 'NOOP', 'a', NULL, false), (2, 'NOOP', 'a', NULL, true), (3, 'NOOP', 'a', NULL, false); ` + runs, want: map[int64]string{1: "OPEN", 2: "DATABASE", 3: "DATABASE"}},
		"sequential and paused, nobody waits":     {given: task + `(1, 'NOOP', 'a', NULL, true), (2, 'NOOP', 'a', NULL, false); ` + runs + `; UPDATE rowrun.task SET paused = true WHERE id = 1`, want: map[int64]string{1: "PAUSED", 2: "OPEN"}},
		"DEPENDENCY": {given: `INSERT INTO rowrun.plan (id) VALUES (1); ` + ofPlan + `(1, 1, 'NOOP', NULL, NULL, false), (2, 1, 'NOOP', NULL, NULL, false);
			INSERT INTO rowrun.task_dependency VALUES (2, 1); ` + runs, want: map[int64]string{1: "OPEN", 2: "DEPENDENCY"}},
		"DEPENDENCY before DATABASE": {given: `INSERT INTO rowrun.plan (id) VALUES (1); ` + ofPlan + `(1, 1, 'NOOP', 'a', '1', false), (2, 1, 'NOOP', 'a', '2', false);
			INSERT INTO rowrun.task_dependency VALUES (2, 1); ` + runs, want: map[int64]string{1: "OPEN", 2: "DEPENDENCY"}},
		"DEPENDENCY, another job": {
			given: task + `(1, 'NOOP', NULL, NULL, false), (2, 'NOOP', 'a', NULL, false); ` + runOf + `(1); ` + afterFirst,
			want:  map[int64]string{2: "DEPENDENCY"},
		},
		"DEPENDENCY, another job, before RUN_AT": {
			given: task + `(1, 'NOOP', NULL, NULL, false), (2, 'NOOP', 'a', NULL, false); ` + runOf + `(1); ` + afterFirst + `; ` + later + ` WHERE task_id = 2`,
			want:  map[int64]string{2: "DEPENDENCY"},
		},
		"a job that is DONE is met": {
			given: task + `(1, 'NOOP', NULL, NULL, false), (2, 'NOOP', 'a', NULL, false); ` + runOf + `(1); ` + afterFirst + `; ` +
				`UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r' WHERE task_id = 1; UPDATE rowrun.task_run SET status = 'DONE' WHERE task_id = 1`,
			want: map[int64]string{2: "OPEN"},
		},
		"a skipped dependency is met": {given: `INSERT INTO rowrun.plan (id) VALUES (1); ` + ofPlan + `(1, 1, 'NOOP', NULL, NULL, false), (2, 1, 'NOOP', NULL, NULL, false);
			INSERT INTO rowrun.task_dependency VALUES (2, 1); UPDATE rowrun.task SET skipped = true WHERE id = 1; ` + runOf + `(2)`, want: map[int64]string{2: "OPEN"}},
		"PLAN_FAILED of a version": {given: `INSERT INTO rowrun.plan (id) VALUES (1); ` + ofPlan + `(1, 1, 'NOOP', 'a', '1', false); ` + runs + `; ` + start + `; ` + fail + `; ` +
			ofPlan + `(2, 1, 'NOOP', 'a', '2', false), (3, 1, 'NOOP', 'b', '2', false); ` + runOf + `(2), (3)`, want: map[int64]string{2: "PLAN_FAILED", 3: "OPEN"}},
		"DATABASE before PLAN_FAILED": {given: `INSERT INTO rowrun.plan (id) VALUES (1); ` + ofPlan + `(1, 1, 'NOOP', 'a', '1', false); ` + runs + `; ` + start + `; ` + fail + `; ` +
			ofPlan + `(2, 1, 'NOOP', 'a', '2', false), (3, 1, 'NOOP', 'a', '3', false); ` + runOf + `(2), (3)`, want: map[int64]string{2: "PLAN_FAILED", 3: "DATABASE"}},
		"PLAN, a plan is paused": {given: `INSERT INTO rowrun.plan (id, paused) VALUES (1, true); ` + ofPlan + `(1, 1, 'NOOP', NULL, NULL, false); ` + runs, want: map[int64]string{1: "PLAN"}},
		"PLAN, a plan stops": {given: `INSERT INTO rowrun.plan (id, on_failure) VALUES (1, 'STOP'); ` + ofPlan + `(1, 1, 'NOOP', NULL, NULL, false); ` + runs + `; ` + start + `; ` + fail + `; ` +
			ofPlan + `(2, 1, 'NOOP', NULL, NULL, false); ` + runOf + `(2)`, want: map[int64]string{2: "PLAN"}},
		"PLAN, the limit among those judged": {given: `INSERT INTO rowrun.plan (id, parallel_limit) VALUES (1, 2); ` + ofPlan + `(1, 1, 'NOOP', NULL, NULL, false), (2, 1, 'NOOP', NULL, NULL, false), (3, 1, 'NOOP', NULL, NULL, false); ` + runs +
			`; UPDATE rowrun.task_run SET priority = task_id`, want: map[int64]string{1: "PLAN", 2: "OPEN", 3: "OPEN"}},
		"PLAN, the limit is reached": {given: `INSERT INTO rowrun.plan (id, parallel_limit) VALUES (1, 1); ` + ofPlan + `(1, 1, 'NOOP', NULL, NULL, false); ` + runs + `; ` + start + `; ` +
			ofPlan + `(2, 1, 'NOOP', NULL, NULL, false); ` + runOf + `(2)`, want: map[int64]string{2: "PLAN"}},
		"a run that waits for a database takes no slot": {given: `INSERT INTO rowrun.plan (id, parallel_limit) VALUES (1, 1); ` + task + `(1, 'NOOP', 'a', NULL, false); ` + runs + `; ` + start + `; ` +
			ofPlan + `(2, 1, 'NOOP', 'a', NULL, true), (3, 1, 'NOOP', NULL, NULL, false); ` + runOf + `(2), (3); UPDATE rowrun.task_run SET priority = 9 WHERE task_id = 2`, want: map[int64]string{2: "DATABASE", 3: "OPEN"}},
		"PLAN before mutual exclusion": {given: `INSERT INTO rowrun.plan (id, paused) VALUES (1, true); ` + ofPlan + `(1, 1, 'NOOP', 'a', NULL, true); ` + task + `(2, 'NOOP', 'a', NULL, false); ` + runs, want: map[int64]string{1: "PLAN", 2: "OPEN"}},
		"PAUSED before PLAN":           {given: `INSERT INTO rowrun.plan (id, paused) VALUES (1, true); ` + ofPlan + `(1, 1, 'NOOP', NULL, NULL, false); ` + runs + `; UPDATE rowrun.task SET paused = true`, want: map[int64]string{1: "PAUSED"}},
		"NO_REPLICA before PLAN":       {given: `INSERT INTO rowrun.plan (id, paused, parallel_limit) VALUES (1, true, 1); ` + ofPlan + `(1, 1, 'OWN', NULL, NULL, false); ` + runs, want: map[int64]string{1: "NO_REPLICA"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := connect(t, storetest.New(t))
			addReplica(t, conn, "r")
			for step := range strings.SplitSeq(c.given, "; ") {
				exec(t, conn, step)
			}
			at := c.at
			if at == "" {
				at = "0"
			}
			require.Equal(t, c.want, judged(t, conn, at), fmt.Sprintf("after %s", c.given))
		})
	}
}

// What held a run is written when it is judged. Where a mark says that it has changed since, the run may have come free, and
// those behind it wait for it before the pass has come to it.
func TestARunBehindASequentialOneThatHasJustComeFreeWaits(t *testing.T) {
	t.Parallel()
	const first = `INSERT INTO rowrun.task_run (id, task_id) VALUES (1, 1)`
	const limited = `UPDATE rowrun.replica_heartbeat SET types = '{NOOP,OWN}'; INSERT INTO rowrun.task (id, type, database_id, sequential) VALUES (1, 'OWN', 'a', true), (3, 'OWN', NULL, false);
		INSERT INTO rowrun.task_run (id, task_id) VALUES (3, 3); SELECT rowrun.promote_runs(true); ` + first
	for cause, c := range map[string]struct{ given, lifted string }{
		"PAUSED": {
			given:  `INSERT INTO rowrun.task (id, type, database_id, sequential, paused) VALUES (1, 'NOOP', 'a', true, true); ` + first,
			lifted: `UPDATE rowrun.task SET paused = false WHERE id = 1`,
		},
		"DEPENDENCY": {
			given: `INSERT INTO rowrun.plan (id) VALUES (1); INSERT INTO rowrun.task (id, plan_id, type, database_id, sequential) VALUES (1, 1, 'NOOP', 'a', true), (3, 1, 'NOOP', NULL, false);
				INSERT INTO rowrun.task_dependency VALUES (1, 3); ` + first,
			lifted: `UPDATE rowrun.task SET skipped = true WHERE id = 3`,
		},
		"PLAN_FAILED": {
			given: `INSERT INTO rowrun.plan (id) VALUES (1); INSERT INTO rowrun.task (id, plan_id, type, database_id, version, sequential) VALUES (3, 1, 'NOOP', 'a', '1', false), (1, 1, 'NOOP', 'a', '2', true);
				INSERT INTO rowrun.task_run (id, task_id) VALUES (3, 3); SELECT rowrun.promote_runs(true); UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r';
				UPDATE rowrun.task_run SET status = 'FAILED'; ` + first,
			lifted: `UPDATE rowrun.task SET skipped = true WHERE id = 3`,
		},
		"NO_REPLICA": {
			given:  `INSERT INTO rowrun.task (id, type, database_id, sequential) VALUES (1, 'OWN', 'a', true); ` + first,
			lifted: `UPDATE rowrun.replica_heartbeat SET types = '{NOOP,OWN}'`,
		},
		"LIMIT": {
			given:  `INSERT INTO rowrun.concurrency_limit (name, type, max_running) VALUES ('l', 'OWN', 1); ` + limited,
			lifted: `UPDATE rowrun.task_run SET status = 'CANCELED' WHERE id = 3`,
		},
		"LIMIT, until its time": {
			given:  `INSERT INTO rowrun.concurrency_limit (name, type, rate, per) VALUES ('l', 'OWN', 1, '1 h'); ` + limited,
			lifted: `BEGIN; SET LOCAL session_replication_role = replica; UPDATE rowrun.limit_bucket SET tokens = 1; UPDATE rowrun.task_run SET judge_at = now() WHERE id = 1; COMMIT`,
		},
	} {
		t.Run(cause, func(t *testing.T) {
			t.Parallel()
			conn := connect(t, storetest.New(t))
			exec(t, conn, `SELECT setval('rowrun.task_run_id_seq', 10)`)
			addReplica(t, conn, "r")
			for step := range strings.SplitSeq(c.given+`; SELECT rowrun.promote_runs(true); SELECT rowrun.promote_runs(true)`, "; ") {
				exec(t, conn, step)
			}
			cause, _, _ = strings.Cut(cause, ",")
			require.Equal(t, cause, query[string](t, conn, `SELECT cause FROM rowrun.task_run WHERE id = 1`))
			const judge = `SELECT coalesce(cause, 'OPEN') FROM rowrun.judge('{2}', NULL, clock_timestamp(), 0)`
			exec(t, conn, `INSERT INTO rowrun.task (id, type, database_id, sequential) VALUES (2, 'NOOP', 'a', false)`)
			exec(t, conn, `INSERT INTO rowrun.task_run (id, task_id) VALUES (2, 2)`)
			exec(t, conn, `DELETE FROM rowrun.gate_mark`)
			require.Equal(t, "OPEN", query[string](t, conn, judge))
			exec(t, conn, c.lifted)
			require.Equal(t, "DATABASE", query[string](t, conn, judge))
		})
	}
}
