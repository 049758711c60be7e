package scheduler_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store/storetest"
)

func handsOver(context.Context, *scheduler.Run) (scheduler.Result, error) {
	return scheduler.Result{HandedOver: true}, nil
}

// A row that a user holds keeps its own hand-over waiting and nothing else, whoever holds it is named, and it is handed over in
// the end.
func TestALockedRowHoldsUpItsOwnHandOverAlone(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	begun, ends := make(chan struct{}), make(chan struct{})
	r := startReplica(t, url, func(ctx context.Context, run *scheduler.Run) (scheduler.Result, error) {
		if run.TaskName != "held" {
			return scheduler.Result{HandedOver: run.TaskName == "taken"}, nil
		}
		close(begun)
		<-ends
		return handsOver(ctx, run)
	}, func(c *scheduler.Config) { c.StaleAfter = 4 * time.Second })
	c, user := newClient(t, url), newClient(t, url)
	held := c.run("name", "'held'")
	<-begun
	pid := user.int(`SELECT pg_backend_pid()`)
	user.exec(`BEGIN`)
	user.exec(`SELECT FROM rowrun.task_run WHERE id = $1 FOR UPDATE`, held)
	close(ends)

	began := time.Now()
	for range 5 {
		require.Equal(t, "DONE", c.ends(c.run("priority", "0")))
	}
	taken := c.run("name", "'taken'")
	poll(t, "another hand-over", func() bool {
		return c.int(`SELECT count(*) FROM rowrun.task_run WHERE id = $1 AND status = 'RUNNING' AND replica_id IS NULL`, taken) == 1
	})
	require.Less(t, time.Since(began), 10*time.Second, "none waited for the time limit of a statement")
	poll(t, "whoever holds it is named", func() bool {
		all := r.Status().HoldUps
		return len(all) == 1 && all[0].PID == pid
	})
	user.exec(`ROLLBACK`)
	poll(t, "the hand-over", func() bool {
		return c.int(`SELECT count(*) FROM rowrun.task_run WHERE id = $1 AND status = 'RUNNING' AND replica_id IS NULL`, held) == 1
	})
	poll(t, "nobody is named any more", func() bool { return len(r.Status().HoldUps) == 0 })
	r.stop()
}

// The turns of a FAIR limit go on when the app takes runs over, without a sweep.
func TestHandOversLetTheNextTurnsStart(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	c := newClient(t, url)
	c.exec(`INSERT INTO rowrun.concurrency_limit (name, key_path, share) VALUES ('tenants', '{tenant}', 'FAIR')`)
	startReplica(t, url, handsOver, func(c *scheduler.Config) { c.Concurrency = 2 })
	task := c.int(`INSERT INTO rowrun.task (type) VALUES ('` + workType + `') RETURNING id`)
	c.exec(`INSERT INTO rowrun.task_run (task_id, input) SELECT $1, jsonb_build_object('tenant', i % 3) FROM generate_series(1, 9) i`, task)
	poll(t, "all hand-overs", func() bool {
		return c.int(`SELECT count(*) FROM rowrun.task_run WHERE status = 'RUNNING' AND replica_id IS NULL`) == 9
	})
}
