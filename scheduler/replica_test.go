package scheduler_test

import (
	"context"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store/storetest"
)

// executorFunc is an executor that a test writes where it needs one.
type executorFunc = scheduler.ExecutorFunc

// replica is one scheduler that runs. Several of them in one process are several replicas.
type replica struct {
	*scheduler.Scheduler
	end  func() error // asks for a drain, waits for its end and tells how it went; once
	stop func()       // the same, where it has to go well
	done chan error
}

// startReplica runs a scheduler, woken by notifications, its sweeps at 10 min where the test says nothing else.
func startReplica(t *testing.T, url string, run executorFunc, change func(*scheduler.Config)) *replica {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var listening sync.WaitGroup
	h := listen(ctx, t, url, &listening)
	config := scheduler.Config{
		Executors: map[string]scheduler.Executor{workType: run}, Name: "test", Concurrency: 5, MaxBatch: maxBatch(t, 0), TwoSteps: storetest.TwoSteps(t, false),
		HeartbeatInterval: time.Second, StaleAfter: time.Minute, SweepInterval: 10 * time.Minute, StaleSweepInterval: 10 * time.Minute,
		DrainTimeout: 10 * time.Second, Wake: h.wake, Available: h.available, Ended: h.ended,
		Log: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.ErrorLevel),
	}
	if change != nil {
		change(&config)
	}
	if config.Store == nil {
		config.Store = openStore(t, url, config.StaleAfter)
	}
	s, err := scheduler.New(config)
	require.NoError(t, err)
	h.of.Store(s)
	r := &replica{Scheduler: s, done: make(chan error, 1)}
	go func() { r.done <- s.Run(ctx) }()
	var once sync.Once
	r.end = func() (err error) {
		once.Do(func() {
			cancel()
			err = <-r.done
			listening.Wait()
		})
		return err
	}
	r.stop = func() { require.NoError(t, r.end()) }
	t.Cleanup(r.stop)
	poll(t, "the first heartbeat", func() bool { return s.Status().ReplicaID != "" })
	return r
}

// maxBatch is a test's own choice, or what make test-unbatched sets for all.
func maxBatch(t *testing.T, own int) int {
	t.Helper()
	set := os.Getenv("ROWRUN_MAX_BATCH")
	if set == "" {
		return own
	}
	n, err := strconv.Atoi(set)
	require.NoError(t, err)
	return n
}

// poll waits until something is true, for a minute; with the full counts for five.
func poll(t *testing.T, what string, is func() bool) {
	t.Helper()
	deadline, tick := time.NewTimer(time.Duration(storetest.Count(1, 5))*time.Minute), time.NewTicker(5*time.Millisecond)
	defer deadline.Stop()
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-deadline.C:
			require.Fail(t, "never happened: "+what)
		}
	}
}

// client is a user with psql.
type client struct {
	t    *testing.T
	conn *pgx.Conn
}

func newClient(t *testing.T, url string) client {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return client{t, conn}
}

func (c client) exec(sql string, args ...any) {
	c.t.Helper()
	_, err := c.conn.Exec(context.WithoutCancel(c.t.Context()), sql, args...)
	require.NoError(c.t, err, sql)
}

func (c client) int(sql string, args ...any) (n int64) {
	c.t.Helper()
	require.NoError(c.t, c.conn.QueryRow(c.t.Context(), sql, args...).Scan(&n), sql)
	return n
}

func (c client) text(sql string, args ...any) (s string) {
	c.t.Helper()
	require.NoError(c.t, c.conn.QueryRow(c.t.Context(), sql, args...).Scan(&s), sql)
	return s
}

// run inserts a task with these columns, and a run of it.
func (c client) run(columns, values string) int64 {
	c.t.Helper()
	task := c.int(`INSERT INTO rowrun.task (type, ` + columns + `) VALUES ('` + workType + `', ` + values + `) RETURNING id`)
	return c.int(`INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id`, task)
}

// ends waits for a run's end: "STATUS code".
func (c client) ends(run int64) string {
	c.t.Helper()
	poll(c.t, "the end of a run", func() bool {
		return c.int(`SELECT count(*) FROM rowrun.task_run WHERE id = $1 AND status IN ('DONE', 'FAILED', 'CANCELED')`, run) == 1
	})
	return c.text(`SELECT concat_ws(' ', status, result ->> 'code') FROM rowrun.task_run WHERE id = $1`, run)
}

// chain waits until a chain has ended for good: its runs in order.
func (c client) chain(root int64) []string {
	c.t.Helper()
	poll(c.t, "the end of a chain", func() bool {
		return c.int(`SELECT count(*) FROM rowrun.task_run WHERE root_id = $1 AND status IN ('PENDING', 'AVAILABLE', 'RUNNING')`, root) == 0
	})
	rows, err := c.conn.Query(c.t.Context(), `SELECT concat_ws(' ', status, result ->> 'code') FROM rowrun.task_run WHERE root_id = $1 ORDER BY attempt`, root)
	require.NoError(c.t, err)
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(c.t, err)
	return list
}

// untilTold is an executor that runs until it is told to stop.
func untilTold(ctx context.Context, _ *scheduler.Run) (scheduler.Result, error) {
	<-ctx.Done()
	return scheduler.Result{}, context.Cause(ctx)
}
