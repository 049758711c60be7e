package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// No run is due in the year 9999 or later. A start that its spread puts there is refused at once, and not at the end of
// the run that is under way.
func TestAStartThatItsSpreadPutsBeyondAllRunsIsRefused(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	addReplica(t, conn, "r")
	const far = `schedule = '@after 87600h', starts_at = '9998-12-31 23:59:00+00', spread = '1 year'`
	for _, status := range []string{"PENDING", "AVAILABLE", "RUNNING"} {
		id := recur(t, conn, "", "SKIP", "SKIP")
		if status != "PENDING" {
			exec(t, conn, `UPDATE rowrun.task_run SET status = 'AVAILABLE', run_at = now() WHERE task_id = $1`, id)
		}
		if status == "RUNNING" {
			exec(t, conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r' WHERE task_id = $1`, id)
		}
		require.Equal(t, status, query[string](t, conn, `SELECT status FROM rowrun.task_run WHERE task_id = $1`, id))
		refusedW(t, conn, "RR003", "spread: starts_at and 1 year lie beyond the year 9998", `UPDATE rowrun.task SET `+far+` WHERE id = $1`, id)
		exec(t, conn, `UPDATE rowrun.task SET schedule = '@after 87600h', starts_at = '9997-12-31 23:59:00+00' WHERE id = $1`, id)
		exec(t, conn, `UPDATE rowrun.task SET spread = '1 year' WHERE id = $1`, id)
		refusedW(t, conn, "RR003", "spread: starts_at and 1 year", `UPDATE rowrun.task SET starts_at = '9998-12-31' WHERE id = $1`, id)
	}
}

// An end never fails because of what follows it: the next tick is within all runs, and what puts its run off beyond them.
func TestAnEndBehindWhichNoRunFitsIsRecorded(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := connect(t, url)
	addReplica(t, conn, "r")
	last := func(status string) (run int64) {
		id := query[int64](t, conn, `INSERT INTO rowrun.task (type, schedule, starts_at, spread, max_attempts)
			VALUES ('NOOP', '@every 8760h', '9997-12-31 23:00+00', '360 days', 1) RETURNING id`)
		require.True(t, query[bool](t, conn, `SELECT rowrun.spread_of(k) > interval '1 day' FROM rowrun.task k WHERE id = $1`, id))
		run = query[int64](t, conn, `UPDATE rowrun.task_run SET run_at = now(), status = 'AVAILABLE' WHERE task_id = $1 RETURNING id`, id)
		if status == "RUNNING" {
			exec(t, conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r' WHERE id = $1`, run)
		}
		return run
	}
	over := func(run int64, status string) {
		t.Helper()
		require.Equal(t, status, query[string](t, conn, `SELECT status FROM rowrun.task_run WHERE id = $1`, run))
		require.Zero(t, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run r WHERE r.task_id = (SELECT x.task_id FROM rowrun.task_run x WHERE x.id = $1)
			AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING')`, run))
	}

	for _, status := range []string{"DONE", "FAILED"} {
		run := last("RUNNING")
		end(t, conn, run, status)
		over(run, status)
	}
	run := last("RUNNING")
	exec(t, conn, `SELECT rowrun.abandon_run($1, 'gone')`, run)
	over(run, "FAILED")
	run = last("RUNNING")
	exec(t, conn, `UPDATE rowrun.task_run SET status = 'DONE' WHERE id = $1`, run)
	over(run, "DONE")
	run = last("AVAILABLE")
	exec(t, conn, `SELECT rowrun.cancel_run($1, 'no more')`, run)
	over(run, "CANCELED")
	run = last("AVAILABLE")
	exec(t, conn, `SELECT FROM rowrun.purge_type('NOOP')`)
	over(run, "CANCELED")
}

// A start of an earlier release's, which refused it only where no run was under way.
func TestAMissedTickBehindWhichNoRunFitsIsCanceled(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), open(t, url, time.Minute)
	addReplica(t, conn, "r")
	id := recur(t, conn, "", "SKIP", "SKIP")
	exec(t, conn, `UPDATE rowrun.task_run SET run_at = clock_timestamp() - interval '1 hour' WHERE task_id = $1`, id)
	exec(t, conn, `ALTER TABLE rowrun.task DISABLE TRIGGER USER`)
	exec(t, conn, `UPDATE rowrun.task SET starts_at = '9998-12-31 23:59:00+00', spread = '1 year', schedule = '@after 87600h', schedule_parts = rowrun.parse_schedule('@after 87600h') WHERE id = $1`, id)
	exec(t, conn, `ALTER TABLE rowrun.task ENABLE TRIGGER USER`)
	_, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteSweep, Want: 10})
	require.NoError(t, err)
	require.Equal(t, "CANCELED: its tick was missed, and no other comes",
		query[string](t, conn, `SELECT status || ': ' || cancel_reason FROM rowrun.task_run WHERE task_id = $1`, id))
}
