package scheduler_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store/storetest"
)

// What a person ends opens gates at once, also where it ran on the only replica there is.
func TestEndingByHandOpensTheGateBehindIt(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	startReplica(t, url, func(ctx context.Context, run *scheduler.Run) (scheduler.Result, error) {
		if run.TaskName == "first" {
			return untilTold(ctx, run)
		}
		return scheduler.Result{}, nil
	}, nil)
	c := newClient(t, url)
	for _, sql := range []string{
		`SELECT rowrun.abandon_run($1)`,
		`UPDATE rowrun.task_run SET status = 'CANCELED' WHERE id = $1`,
	} {
		c.exec(`UPDATE rowrun.task SET name = '' WHERE name = 'first'`)
		first := c.run("name, database_id, sequential", "'first', 'a', true")
		poll(t, "the start", func() bool { return c.text(`SELECT status FROM rowrun.task_run WHERE id = $1`, first) == "RUNNING" })
		second := c.run("database_id, sequential", "'a', true")
		c.exec(sql, first)
		require.Equal(t, "DONE", c.ends(second))
	}
}

// A row given by hand to a live replica that doesn't run it is ended by that replica.
func TestRowGivenByHandIsLostContact(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	r := startReplica(t, url, untilTold, func(c *scheduler.Config) { c.SweepInterval = 100 * time.Millisecond })
	c := newClient(t, url)
	other := c.int(`INSERT INTO rowrun.task (type) VALUES ('OTHER') RETURNING id`)
	run := c.int(`INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id`, other)
	poll(t, "promotion", func() bool { return c.text(`SELECT status FROM rowrun.task_run WHERE id = $1`, run) == "AVAILABLE" })
	mine := c.run("name", "''")
	poll(t, "the start", func() bool { return c.text(`SELECT status FROM rowrun.task_run WHERE id = $1`, mine) == "RUNNING" })
	c.exec(`UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = $2 WHERE id = $1`, run, r.Status().ReplicaID)
	require.Equal(t, "FAILED LOST_CONTACT", c.ends(run))
	require.Equal(t, "RUNNING", c.text(`SELECT status FROM rowrun.task_run WHERE id = $1`, mine), "what it does run goes on")
	c.exec(`SELECT rowrun.cancel_run($1)`, mine)
	require.Equal(t, "CANCELED CANCELED", c.ends(mine))
}

// A row given to a replica that doesn't exist is ended by the stale sweep.
func TestRowOfNobodyIsStale(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	startReplica(t, url, untilTold, func(c *scheduler.Config) { c.StaleSweepInterval = 100 * time.Millisecond })
	c := newClient(t, url)
	task := c.int(`INSERT INTO rowrun.task (type, on_stale) VALUES ('OTHER', 'RETRY') RETURNING id`)
	run := c.int(`INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id`, task)
	for attempt := range 6 { // five successors in a row
		last := c.int(`SELECT last_run_id FROM rowrun.job WHERE root_id = $1`, run)
		poll(t, "promotion", func() bool { return c.text(`SELECT status FROM rowrun.task_run WHERE id = $1`, last) == "AVAILABLE" })
		c.exec(`UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'nobody' WHERE id = $1`, last)
		require.Equal(t, "FAILED STALE", c.ends(last), "attempt %d", attempt)
	}
	require.Equal(t, int64(6), c.int(`SELECT count(*) FROM rowrun.task_run WHERE root_id = $1`, run))
}
