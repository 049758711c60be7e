package scheduler_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store/storetest"
)

// gauge counts what executes at once by type, and the most that ever did.
type gauge struct {
	mu        sync.Mutex
	now, most map[string]int
}

func newGauge() *gauge { return &gauge{now: map[string]int{}, most: map[string]int{}} }

func (g *gauge) Execute(ctx context.Context, run *scheduler.Run) (scheduler.Result, error) {
	g.mu.Lock()
	g.now[run.Type]++
	g.most[run.Type] = max(g.most[run.Type], g.now[run.Type])
	g.mu.Unlock()
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(3+run.ID%7) * time.Millisecond):
	}
	g.mu.Lock()
	g.now[run.Type]--
	g.mu.Unlock()
	return scheduler.Result{}, nil
}

// Of a type that has less room than the replica has slots no more ever executes at once, however its runs become AVAILABLE: what is
// claimed is executed at once. Its room is always filled again, and the other types have the other slots.
func TestTypesHaveTheirRoomExactly(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	c := newClient(t, url)
	runs := storetest.Count(300, 5000)
	// AVAILABLE from the INSERT on, due later, gated by a plan and by versions: each way to a claim. The long ones come first.
	c.exec(`WITH k AS (INSERT INTO rowrun.task (type, priority) VALUES ('LONG', 9), ('SHORT', 0), ('OTHER', 3) RETURNING id)
		INSERT INTO rowrun.task_run (task_id, run_at) SELECT k.id, now() + CASE WHEN n % 3 = 0 THEN interval '1 s' * random() ELSE interval '0' END
		FROM k, generate_series(1, $1::int) n`, runs)
	c.exec(`WITH p AS (INSERT INTO rowrun.plan (parallel_limit) VALUES (4) RETURNING id),
		k AS (INSERT INTO rowrun.task (plan_id, type, database_id, version)
			SELECT p.id, y.type, CASE WHEN n % 2 = 0 THEN 'd' || n % 5 END, CASE WHEN n % 2 = 0 THEN n::text END
			FROM p, generate_series(1, $1::int) n, unnest('{LONG,SHORT}'::text[]) y(type) RETURNING id)
		INSERT INTO rowrun.task_run (task_id) SELECT id FROM k`, runs/10)
	g := newGauge()
	r := startReplica(t, url, nil, func(config *scheduler.Config) {
		config.Executors = map[string]scheduler.Executor{"LONG": g, "SHORT": g, "OTHER": g}
		config.Concurrency, config.SweepInterval = 12, 10*time.Minute // all of it is woken for
		config.TypeLimits = map[string]scheduler.TypeLimit{"LONG": {Concurrency: 2}}
		config.MaxPerType = 7
	})
	id := r.Status().ReplicaID
	require.JSONEq(t, `{"LONG": 2, "*": 7}`, c.text(`SELECT type_concurrency::text FROM rowrun.replica_heartbeat WHERE replica_id = $1`, id))
	poll(t, "the end of all", func() bool {
		return c.int(`SELECT count(*) FROM rowrun.task_run WHERE status IN ('PENDING', 'AVAILABLE', 'RUNNING')`) == 0
	})
	require.Zero(t, c.int(`SELECT count(*) FROM rowrun.task_run WHERE status <> 'DONE'`))
	require.Equal(t, 2, g.most["LONG"], "all of its room, and no more")
	require.Equal(t, 7, g.most["SHORT"])
	require.LessOrEqual(t, g.most["OTHER"], 7)
}

// Runs of one type that are long leave the other slots to others, and waiting says what they wait for; those that come first in the
// order come first also with room for one.
func TestLongRunsLeaveSlotsToOthers(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	c := newClient(t, url)
	release, order := make(chan struct{}), make(chan int64, 10)
	long := executorFunc(func(ctx context.Context, run *scheduler.Run) (scheduler.Result, error) {
		order <- run.ID
		select {
		case <-release:
		case <-ctx.Done():
		}
		return scheduler.Result{}, nil
	})
	quick := executorFunc(func(context.Context, *scheduler.Run) (scheduler.Result, error) { return scheduler.Result{}, nil })
	hours, none := 2*time.Hour, time.Duration(0)
	startReplica(t, url, nil, func(config *scheduler.Config) {
		config.Executors = map[string]scheduler.Executor{"LONG": long, "QUICK": quick, "ENDLESS": quick}
		config.Concurrency, config.TaskTimeout = 3, time.Hour
		config.TypeLimits = map[string]scheduler.TypeLimit{"LONG": {Concurrency: 1, Timeout: &hours}, "ENDLESS": {Timeout: &none}}
	})
	task := c.int(`INSERT INTO rowrun.task (type, priority) VALUES ('LONG', 5) RETURNING id`)
	insert := func(priority int) int64 {
		return c.int(`INSERT INTO rowrun.task_run (task_id, priority) VALUES ($1, $2) RETURNING id`, task, priority)
	}
	first := insert(1)
	require.Equal(t, first, <-order)
	low := insert(1)
	high := insert(8)
	for range 5 {
		require.Equal(t, "DONE", c.ends(c.int(`WITH k AS (INSERT INTO rowrun.task (type) VALUES ('QUICK') RETURNING id)
			INSERT INTO rowrun.task_run (task_id) SELECT id FROM k RETURNING id`)))
	}
	for _, waits := range []int64{low, high} {
		require.Equal(t, "AVAILABLE CAPACITY", c.text(`SELECT r.status || ' ' || w.cause FROM rowrun.task_run r, rowrun.waiting(r.id) w WHERE r.id = $1`, waits))
	}
	release <- struct{}{}
	require.Equal(t, high, <-order, "by priority")
	release <- struct{}{}
	require.Equal(t, low, <-order)
	close(release)
	for _, run := range []int64{first, low, high} {
		require.Equal(t, "DONE", c.ends(run))
	}
	deadline := `SELECT coalesce(date_part('epoch', deadline - started_at)::bigint, 0) FROM rowrun.task_run WHERE id = $1`
	require.EqualValues(t, 2*60*60, c.int(deadline, first))
	for kind, seconds := range map[string]int64{"QUICK": 60 * 60, "ENDLESS": 0} {
		run := c.int(`WITH k AS (INSERT INTO rowrun.task (type) VALUES ($1) RETURNING id) INSERT INTO rowrun.task_run (task_id) SELECT id FROM k RETURNING id`, kind)
		require.Equal(t, "DONE", c.ends(run))
		require.Equal(t, seconds, c.int(deadline, run), kind)
	}
	run := c.int(`WITH k AS (INSERT INTO rowrun.task (type, timeout) VALUES ('LONG', '5 min') RETURNING id) INSERT INTO rowrun.task_run (task_id) SELECT id FROM k RETURNING id`)
	require.Equal(t, "DONE", c.ends(run))
	require.EqualValues(t, 300, c.int(deadline, run), "the task's own comes first")
}

// A run that somebody's transaction holds keeps no room of its type empty.
func TestARunThatSomebodyHoldsLeavesItsRoomToTheNext(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	c, other := newClient(t, url), newClient(t, url)
	task := c.int(`INSERT INTO rowrun.task (type) VALUES ('LONG') RETURNING id`)
	held := c.int(`INSERT INTO rowrun.task_run (task_id, priority) VALUES ($1, 9) RETURNING id`, task)
	other.exec(`BEGIN`)
	other.exec(`SELECT FROM rowrun.task_run WHERE id = $1 FOR UPDATE`, held)
	next := c.int(`INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id`, task)
	startReplica(t, url, nil, func(config *scheduler.Config) {
		config.Executors = map[string]scheduler.Executor{"LONG": newGauge()}
		config.TypeLimits = map[string]scheduler.TypeLimit{"LONG": {Concurrency: 1}}
	})
	require.Equal(t, "DONE", c.ends(next))
	require.Equal(t, "AVAILABLE", c.text(`SELECT status FROM rowrun.task_run WHERE id = $1`, held))
	other.exec(`COMMIT`)
	require.Equal(t, "DONE", c.ends(held))
}
