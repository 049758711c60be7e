package api_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// told writes a run's timeline in a line: each phase with its cause and the run it waited for, or with the causes that may have been.
func (b *board) told(run int64) string {
	b.t.Helper()
	var all []string
	for i := range at(b.t, b.get(fmt.Sprintf("runs/%d", run)), "timeline").([]any) {
		of := func(name string) any { return at(b.t, b.get(fmt.Sprintf("runs/%d", run)), "timeline", i, name) }
		one := fmt.Sprint(of("phase"))
		if cause := of("cause"); cause != nil {
			one += " " + fmt.Sprint(cause)
		}
		if id := of("run_id"); id != nil {
			one += " #" + fmt.Sprint(id)
		}
		if maybe := of("maybe").([]any); len(maybe) > 0 {
			one += " maybe " + strings.Trim(fmt.Sprint(maybe), "[]")
		}
		all = append(all, one)
	}
	return strings.Join(all, ", ")
}

// times sets when something happened to the run of a task, in seconds of one hour; below 0: not yet.
func (b *board) times(task string, created, available, started, ended int) {
	b.t.Helper()
	at := func(second int) *time.Time {
		if second < 0 {
			return nil
		}
		moment := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC).Add(time.Duration(second) * time.Second)
		return &moment
	}
	change(b.t, b.conn, `SET session_replication_role = replica`) // what is written is what was
	change(b.t, b.conn, `UPDATE rowrun.task_run r SET created_at = $2, run_at = least(run_at, $2), available_at = $3, started_at = $4, finished_at = $5,
		status = CASE WHEN $5::timestamptz IS NOT NULL THEN 'DONE' WHEN $4::timestamptz IS NOT NULL THEN 'RUNNING' ELSE 'AVAILABLE' END
		FROM rowrun.task k WHERE k.id = r.task_id AND k.name = $1`, task, at(created), at(available), at(started), at(ended))
	change(b.t, b.conn, `SET session_replication_role = origin`)
}

func (b *board) runOf(task string) int64 {
	b.t.Helper()
	return query[int64](b.t, b.conn, `SELECT max(r.id) FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id WHERE k.name = $1`, task)
}

// What the rows of others tell of a past wait is told with the run that it was for; the rest is said to be unknown.
func TestATimelineTellsForWhatARunWaited(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	change(t, b.conn, `SELECT rowrun.create_plan('p', '[
		{"name": "a 1", "type": "NOOP", "database_id": "a", "version": "1"}, {"name": "a 2", "type": "NOOP", "database_id": "a", "version": "2", "depends_on": ["b 1"]},
		{"name": "b 1", "type": "NOOP", "database_id": "b", "version": "1"}, {"name": "b 2", "type": "NOOP", "database_id": "b", "sequential": true}]', parallel_limit => 5)`)
	change(t, b.conn, `SELECT rowrun.run_plan(1)`)
	b.times("a 1", 0, 0, 1, 10)
	b.times("b 1", 0, 5, 6, 30)
	b.times("b 2", 20, 31, 31, 40)
	b.times("a 2", 0, 50, 60, -1)
	first, dependency := b.runOf("a 1"), b.runOf("b 1")
	unknown := "maybe DATABASE_BUSY VERSION PLAN_LIMIT DEPENDENCY PAUSED PLAN_FAILED NO_REPLICA"
	require.Equal(t, fmt.Sprintf("PENDING DEPENDENCY #%d, PENDING %s, AVAILABLE maybe CAPACITY NO_REPLICA PAUSED, RUNNING", dependency, unknown), b.told(b.runOf("a 2")),
		"what held it longest is told, and what left no trace is said to be unknown")
	require.Equal(t, fmt.Sprintf("PENDING DATABASE_BUSY #%d, PENDING maybe DATABASE_BUSY PLAN_LIMIT PAUSED PLAN_FAILED NO_REPLICA, AVAILABLE, RUNNING", dependency), b.told(b.runOf("b 2")))
	require.Equal(t, "PENDING, AVAILABLE maybe CAPACITY NO_REPLICA PAUSED, RUNNING", b.told(first), "it waited for nothing")
	b.times("b 1", 0, 5, 6, 8)
	require.Equal(t, fmt.Sprintf("PENDING VERSION #%d, PENDING %s, AVAILABLE maybe CAPACITY NO_REPLICA PAUSED, RUNNING", first, unknown), b.told(b.runOf("a 2")))
}

func TestATimelineTellsOfTimeAndJobs(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	change(t, b.conn, `SELECT rowrun.define_task('before', 'NOOP'), rowrun.define_task('after', 'NOOP'), rowrun.define_task('later', 'NOOP')`)
	change(t, b.conn, `SELECT rowrun.run_task('before')`)
	before := b.runOf("before")
	change(t, b.conn, `SELECT rowrun.run_task('after', after => ARRAY[$1::bigint])`, before)
	change(t, b.conn, `SELECT rowrun.run_task('later', run_at => '2026-11-25T12:00:07Z')`)
	b.times("before", 0, 0, 0, 20)
	b.times("after", 0, 20, 20, 21)
	b.times("later", 30, 40, 40, 41)
	change(t, b.conn, `SET session_replication_role = replica`)
	change(t, b.conn, `UPDATE rowrun.task_run SET run_at = '2026-11-25T12:00:40Z' WHERE id = $1`, b.runOf("later"))
	change(t, b.conn, `SET session_replication_role = origin`)
	require.Equal(t, fmt.Sprintf("PENDING DEPENDENCY #%d, AVAILABLE, RUNNING", before), b.told(b.runOf("after")))
	require.Equal(t, "PENDING RUN_AT, AVAILABLE, RUNNING", b.told(b.runOf("later")))
}

func TestATimelineTellsOfAWave(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	b.inWaves()
	change(t, b.conn, `UPDATE rowrun.plan_wave SET opened_at = opened_at + interval '1 s' WHERE wave = 2`)
	change(t, b.conn, `SET session_replication_role = replica`)
	change(t, b.conn, `UPDATE rowrun.task_run SET available_at = (SELECT opened_at FROM rowrun.plan_wave WHERE wave = 2) WHERE plan_id IS NOT NULL AND status = 'DONE'`)
	change(t, b.conn, `SET session_replication_role = origin`)
	require.True(t, strings.HasPrefix(b.told(b.runOf("t3")), "PENDING DEPENDENCY"), b.told(b.runOf("t3")))
}
