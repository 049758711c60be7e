package scheduler_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store/storetest"
)

// The replica that ends a job starts what waited for it, with no sweep to help.
func TestARunAfterAJobStartsWhenThatEnds(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	c := newClient(t, url)
	release := make(chan struct{})
	startReplica(t, url, func(ctx context.Context, run *scheduler.Run) (scheduler.Result, error) {
		if run.TaskName == "slow" {
			select {
			case <-release:
			case <-ctx.Done():
				return scheduler.Result{}, context.Cause(ctx)
			}
		}
		return scheduler.Result{}, nil
	}, nil)
	job := c.run("name", "'slow'")
	poll(t, "the start", func() bool { return c.text(`SELECT status FROM rowrun.task_run WHERE id = $1`, job) == "RUNNING" })
	task := c.int(`INSERT INTO rowrun.task (type) VALUES ('` + workType + `') RETURNING id`)
	first := c.int(`SELECT rowrun.run_task($1::bigint, after => ARRAY[$2::bigint])`, task, job)
	second := c.int(`SELECT rowrun.run_task($1::bigint, after => ARRAY[$2::bigint])`, task, first)
	poll(t, "its first look", func() bool { return c.int(`SELECT count(*) FROM rowrun.run_after WHERE NOT watched`) == 0 })
	require.Equal(t, "PENDING PENDING", c.text(`SELECT string_agg(status, ' ') FROM rowrun.task_run WHERE id IN ($1, $2)`, first, second))
	close(release)
	require.Equal(t, "DONE", c.ends(second))
	require.Less(t, c.int(`SELECT extract(milliseconds FROM max(s.started_at) - min(j.finished_at))::bigint FROM rowrun.task_run s, rowrun.task_run j
		WHERE s.id = $1 AND j.id = $2`, second, job), int64(20_000))
}

// An executor puts its run off as often as it likes: it fails nothing, and is called again when it said.
func TestAnExecutorPutsItsRunOff(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	c := newClient(t, url)
	startReplica(t, url, func(_ context.Context, run *scheduler.Run) (scheduler.Result, error) {
		if run.Attempt < 7 {
			return scheduler.Result{}, scheduler.Snooze(time.Duration(run.Attempt)*20*time.Millisecond, "not yet")
		}
		return scheduler.Result{}, nil
	}, nil)
	handler := c.int(`INSERT INTO rowrun.task (name, type) VALUES ('handler', 'NOBODY') RETURNING id`)
	run := c.run("max_attempts, on_stale, on_failure_task", "1, 'CANCEL', 'handler'")
	require.Equal(t, []string{
		"FAILED SNOOZED", "FAILED SNOOZED", "FAILED SNOOZED", "FAILED SNOOZED", "FAILED SNOOZED", "FAILED SNOOZED", "FAILED SNOOZED", "DONE",
	}, c.chain(run))
	require.Equal(t, `{"code": "SNOOZED", "detail": "Task run put off for 120ms: not yet", "snooze_seconds": 0.12}`,
		c.text(`SELECT result::text FROM rowrun.task_run WHERE root_id = $1 AND attempt = 6`, run))
	require.Zero(t, c.int(`SELECT count(*) FROM rowrun.task_run n JOIN rowrun.task_run p ON p.id = n.retry_of
		WHERE n.run_at <> p.finished_at + make_interval(secs => (p.result ->> 'snooze_seconds')::float8)`))
	require.Zero(t, c.int(`SELECT count(*) FROM rowrun.task_run WHERE task_id = $1`, handler))
	require.Zero(t, c.int(`SELECT max(failures) + max(recoveries) FROM rowrun.task_run`))
}

// A cancel that was asked for wins over a snooze.
func TestACanceledRunIsNotPutOff(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	c := newClient(t, url)
	startReplica(t, url, func(ctx context.Context, _ *scheduler.Run) (scheduler.Result, error) {
		<-ctx.Done()
		return scheduler.Result{}, scheduler.Snooze(time.Hour, "")
	}, nil)
	run := c.run("max_attempts", "3")
	poll(t, "the start", func() bool { return c.text(`SELECT status FROM rowrun.task_run WHERE id = $1`, run) == "RUNNING" })
	c.exec(`SELECT rowrun.cancel_run($1)`, run)
	require.Equal(t, []string{"CANCELED CANCELED"}, c.chain(run))
}
