package scheduler_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store/storetest"
)

// crew runs whatever it gets until it is told to end one, and counts by task.
type crew struct {
	mu      sync.Mutex
	running map[string]int
	most    map[string]int
	release map[string]chan struct{}
}

func newCrew(names ...string) *crew {
	c := &crew{running: map[string]int{}, most: map[string]int{}, release: map[string]chan struct{}{}}
	for _, name := range names {
		c.release[name] = make(chan struct{})
	}
	return c
}

func (c *crew) execute(ctx context.Context, run *scheduler.Run) (scheduler.Result, error) {
	c.mu.Lock()
	c.running[run.TaskName]++
	c.most[run.TaskName] = max(c.most[run.TaskName], c.running[run.TaskName])
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.running[run.TaskName]--
	}()
	select {
	case <-c.release[run.TaskName]:
		return scheduler.Result{}, nil
	case <-ctx.Done():
		return scheduler.Result{}, context.Cause(ctx)
	}
}

func (c *crew) has(t *testing.T, name string, n int) {
	t.Helper()
	poll(t, name, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.running[name] == n
	})
}

// Two of five slots are for runs of at least 50, three for all. No sweep comes: what ends makes room for those that may have it.
func TestReservedSlotsAreLeftToHigherPriorities(t *testing.T) {
	t.Parallel()
	for name, gated := range map[string]bool{"free": false, "gated": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := storetest.New(t)
			client := newClient(t, url)
			work := newCrew("low", "high")
			startReplica(t, url, work.execute, func(c *scheduler.Config) {
				c.Concurrency, c.Reserve = 5, []scheduler.Reserve{{Priority: 50, Slots: 2}}
			})
			insert := func(name string, priority, n int) {
				if gated { // each with a plan, whose limit has the run judged, and promoted where there is a slot
					client.exec(`WITH p AS (INSERT INTO rowrun.plan (parallel_limit) SELECT 1 FROM generate_series(1, $1) RETURNING id),
						k AS (INSERT INTO rowrun.task (plan_id, type, name, priority) SELECT id, '`+workType+`', $2, $3 FROM p RETURNING id)
						INSERT INTO rowrun.task_run (task_id) SELECT id FROM k`, n, name, priority)
					return
				}
				client.exec(`WITH k AS (INSERT INTO rowrun.task (type, name, priority) VALUES ('`+workType+`', $2, $3)
						ON CONFLICT (name) WHERE name <> '' AND plan_id IS NULL DO UPDATE SET priority = excluded.priority RETURNING id)
					INSERT INTO rowrun.task_run (task_id) SELECT id FROM k, generate_series(1, $1)`, n, name, priority)
			}
			insert("low", 0, 1) // which the first sweep may find; what comes behind it is promoted and claimed as ever
			work.release["low"] <- struct{}{}
			poll(t, "the first", func() bool { return client.int(`SELECT count(*) FROM rowrun.task_run WHERE status = 'DONE'`) == 1 })
			insert("low", 0, 12)
			work.has(t, "low", 3)
			insert("high", 60, 4)
			work.has(t, "high", 2)
			work.release["low"] <- struct{}{} // its slot goes to a high one
			work.has(t, "high", 3)
			work.has(t, "low", 2)
			work.release["high"] <- struct{}{} // the last of these
			work.has(t, "high", 3)
			work.release["high"] <- struct{}{} // there are three high ones for two slots, and none waits
			work.has(t, "low", 3)
			for range 2 {
				work.release["high"] <- struct{}{}
			}
			work.has(t, "high", 0)
			work.has(t, "low", 3)
			for range 11 {
				work.release["low"] <- struct{}{}
			}
			poll(t, "all", func() bool { return client.int(`SELECT count(*) FROM rowrun.task_run WHERE status = 'DONE'`) == 17 })
			require.Equal(t, map[string]int{"low": 3, "high": 3}, work.most)
		})
	}
}
