package replica_test

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler/replica"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestTypeOfOnesOwnIsExecuted(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	u := connect(t, url)
	start(t, url, func(ctx context.Context, run *replica.TaskRun) (replica.Result, error) {
		var p struct{ Name string }
		if err := run.Decode(&p); err != nil {
			return replica.Result{}, err
		}
		if err := run.Progress(ctx, map[string]int{"percent": 50}); err != nil {
			return replica.Result{}, err
		}
		return replica.Result{Output: map[string]string{"hello": p.Name}}, nil
	}, func(c *replica.Config) { c.Queues = []string{"default", "other"} })
	u.becomes("1", `SELECT count(*) FROM rowrun.replica_status WHERE live`)
	u.becomes("notify", `SELECT coalesce(wake_source, '') FROM rowrun.replica_status`)
	require.Equal(t, "test {default,other} {MINE}", u.ask(`SELECT concat_ws(' ', name, queues, types) FROM rowrun.replica_heartbeat`))

	begun := time.Now()
	u.run("payload, queue", `'{"name": "world"}', 'other'`, 1)
	u.becomes(`1 DONE`, ends)
	require.Less(t, time.Since(begun), time.Minute, "no sweep, but a notification brought it")
	require.Equal(t, `{"hello": "world"} {"percent": 50}`, u.ask(`SELECT concat_ws(' ', result, progress) FROM rowrun.task_run`))
}

// An address that an application has in common with a replica may name a way to send statements, as some do for a pooler's sake.
func TestAnAddressMayNameAWayToSendStatements(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"simple_protocol", "exec", "describe_exec", "cache_describe"} {
		url := storetest.New(t) + "&default_query_exec_mode=" + mode
		u := connect(t, url)
		start(t, url, func(_ context.Context, run *replica.TaskRun) (replica.Result, error) {
			return replica.Result{Output: map[string]any{"of": run.Payload}}, nil
		}, nil)
		u.run("payload", `'{"a": 1}'`, 1)
		u.becomes(`1 DONE`, ends)
		require.JSONEq(t, `{"of": {"a": 1}}`, u.ask(`SELECT result::text FROM rowrun.task_run`), mode)
	}
}

func TestCancelReachesTheExecutor(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	u := connect(t, url)
	began, cause := make(chan struct{}), make(chan error, 1)
	start(t, url, func(ctx context.Context, _ *replica.TaskRun) (replica.Result, error) {
		close(began)
		<-ctx.Done()
		cause <- context.Cause(ctx)
		return replica.Result{}, context.Cause(ctx)
	}, nil)
	u.run("name", "'one'", 1)
	within(t, began)
	u.exec(`SELECT rowrun.cancel_run(id) FROM rowrun.task_run`)
	require.ErrorIs(t, within(t, cause), replica.ErrCanceled)
	u.becomes("1 CANCELED CANCELED", ends)
}

func TestFailureHasItsCodeAndIsTriedAgainWhereItMayBe(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	u := connect(t, url)
	start(t, url, func(_ context.Context, run *replica.TaskRun) (replica.Result, error) {
		switch run.TaskName {
		case "may be":
			return replica.Result{}, &replica.Failure{Code: "NO_PAPER", Detail: "fill it up", Retryable: true}
		case "may not be":
			return replica.Result{}, &replica.Failure{Code: "NO_PRINTER", Detail: "buy one"}
		case "input":
			return replica.Result{}, replica.BadInput("no page %d", 7)
		case "panic":
			panic("on purpose")
		}
		return replica.Result{}, errors.New("something")
	}, nil)
	for _, name := range []string{"may be", "may not be", "input", "panic", "plain"} {
		u.run("name, max_attempts, retry_delay", "'"+name+"', 2, '10 ms'", 1)
	}
	u.becomes("1 FAILED BAD_INPUT, 2 FAILED ERROR, 2 FAILED NO_PAPER, 1 FAILED NO_PRINTER, 2 FAILED PANIC", ends)
	require.Equal(t, "buy one", u.ask(`SELECT result ->> 'detail' FROM rowrun.task_run WHERE result ->> 'code' = 'NO_PRINTER'`))
}

func TestDrainLetsWorkFinish(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	u := connect(t, url)
	began, finish := make(chan struct{}), make(chan struct{})
	p := start(t, url, func(ctx context.Context, _ *replica.TaskRun) (replica.Result, error) {
		close(began)
		select {
		case <-finish:
			return replica.Result{}, nil
		case <-ctx.Done():
			return replica.Result{}, context.Cause(ctx)
		}
	}, func(c *replica.Config) { c.Concurrency = 1 })
	u.run("name", "'one'", 2)
	within(t, began)
	p.stop()
	u.becomes("DRAINING", `SELECT state FROM rowrun.replica_heartbeat`)
	close(finish)
	require.NoError(t, p.drain())
	require.Equal(t, "1 AVAILABLE, 1 DONE", u.ask(ends))
	require.Equal(t, "0", u.ask(`SELECT count(*) FROM rowrun.replica_heartbeat`), "it has left")
}

func TestDrainStopsWhatDoesNotFinish(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	u := connect(t, url)
	began, cause := make(chan struct{}), make(chan error, 1)
	p := start(t, url, func(ctx context.Context, _ *replica.TaskRun) (replica.Result, error) {
		close(began)
		<-ctx.Done()
		cause <- context.Cause(ctx)
		return replica.Result{}, context.Cause(ctx)
	}, func(c *replica.Config) { c.DrainTimeout = 20 * time.Second }) // a fifth is left for what is written
	u.run("name", "'one'", 1)
	within(t, began)
	require.NoError(t, p.drain())
	require.ErrorIs(t, within(t, cause), replica.ErrDrained)
	require.Equal(t, "1 FAILED DRAINED", u.ask(ends))
}

// The cancel of a run that a drain waits for still arrives.
func TestCancelDuringADrain(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	u := connect(t, url)
	began := make(chan struct{})
	p := start(t, url, func(ctx context.Context, _ *replica.TaskRun) (replica.Result, error) {
		close(began)
		<-ctx.Done()
		return replica.Result{}, context.Cause(ctx)
	}, func(c *replica.Config) { c.DrainTimeout = time.Minute })
	u.run("name", "'one'", 1)
	within(t, began)
	p.stop()
	u.becomes("DRAINING", `SELECT state FROM rowrun.replica_heartbeat`)
	asked := time.Now()
	u.exec(`SELECT rowrun.cancel_run(id) FROM rowrun.task_run`)
	require.NoError(t, p.drain())
	require.Less(t, time.Since(asked), 20*time.Second, "it was heard of")
	require.Equal(t, "1 CANCELED CANCELED", u.ask(ends))
}

// Two of three slots are for runs of at least 50, so that a low one leaves the others waiting, and a high one starts all the same.
func TestReservedSlotsAreKept(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	u := connect(t, url)
	high := make(chan struct{})
	start(t, url, func(ctx context.Context, run *replica.TaskRun) (replica.Result, error) {
		if run.TaskName == "high" {
			close(high)
			return replica.Result{}, nil
		}
		<-ctx.Done()
		return replica.Result{}, context.Cause(ctx)
	}, func(c *replica.Config) { c.Concurrency, c.Reserve = 3, map[int]int{50: 1, 100: 1} })
	u.run("name", "'low'", 3)
	u.becomes("1", `SELECT count(*) FROM rowrun.task_run WHERE status = 'RUNNING'`)
	u.run("name, priority", "'high', 50", 1)
	within(t, high)
	u.becomes("1 AVAILABLE 1 DONE 1 RUNNING", `SELECT string_agg(concat_ws(' ', least(n, 1), status), ' ' ORDER BY status)
		FROM (SELECT status, count(*) AS n FROM rowrun.task_run GROUP BY 1) x`)
	require.Equal(t, "1", u.ask(`SELECT count(*) FROM rowrun.task_run WHERE status = 'RUNNING'`))
	require.Contains(t, u.ask(`SELECT reserve::text FROM rowrun.replica_status`), "100")
}

func TestTwoReplicasShareTheWork(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	u := connect(t, url)
	var both sync.WaitGroup
	both.Add(2)
	var count [2]atomic.Int64
	var programs []*program
	for i := range count {
		var once sync.Once
		programs = append(programs, start(t, url, func(ctx context.Context, _ *replica.TaskRun) (replica.Result, error) {
			count[i].Add(1)
			once.Do(both.Done)
			both.Wait() // neither can end a run before the other has one
			return replica.Result{}, ctx.Err()
		}, func(c *replica.Config) { c.Concurrency = 3 }))
	}
	u.becomes("2", `SELECT count(*) FROM rowrun.replica_status WHERE live`)
	u.run("name", "'one'", 40)
	u.becomes("40 DONE", ends)
	require.Equal(t, int64(40), count[0].Load()+count[1].Load(), "each run once")
	require.NoError(t, programs[0].drain())

	u.run("name", "'two'", 5)
	u.becomes("45 DONE", ends)
	require.NoError(t, programs[1].drain())
}

func TestStuckExecutorsEndTheReplica(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	u := connect(t, url)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	p := start(t, url, func(context.Context, *replica.TaskRun) (replica.Result, error) {
		<-release
		return replica.Result{}, nil
	}, func(c *replica.Config) { c.Concurrency, c.DrainTimeout = 1, time.Second })
	u.run("name, timeout", "'one', '100 ms'", 1)
	u.becomes("1 FAILED TIMEOUT", ends)
	within(t, p.done)
	require.ErrorIs(t, p.err, replica.ErrStuck)
}

// Without the connection that listens: through DirectURL, and then not at all.
func TestSweepsFindWhatNoNotificationBrings(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	u := connect(t, url)
	direct, cut := through(t, url)
	p := start(t, url, func(context.Context, *replica.TaskRun) (replica.Result, error) {
		return replica.Result{}, nil
	}, func(c *replica.Config) {
		c.SweepInterval, c.DirectURL, c.Log = 100*time.Millisecond, direct, zerolog.Nop()
	})
	u.becomes("notify", `SELECT coalesce(max(wake_source), '') FROM rowrun.replica_heartbeat`)
	cut()
	u.becomes("poll", `SELECT wake_source FROM rowrun.replica_heartbeat`)
	u.run("name", "'one'", 3)
	u.becomes("3 DONE", ends)
	require.NoError(t, p.drain())
}

// idle executes what never comes.
func idle(context.Context, *replica.TaskRun) (replica.Result, error) { return replica.Result{}, nil }

func TestDatabaseThatCanNotBeWorkedWithIsAnError(t *testing.T) {
	t.Parallel()
	executors := map[string]replica.Executor{mine: replica.ExecutorFunc(idle)}
	empty := storetest.Empty(t)
	err := replica.Run(t.Context(), empty, replica.Config{Executors: executors})
	require.ErrorContains(t, err, "replica: the database has no schema of Rowrun's: run `rowrun migrate up`")

	url := storetest.RefusingServer(t, "127.0.0.1:0", "28P01")
	err = replica.Run(t.Context(), url, replica.Config{Executors: executors})
	require.ErrorContains(t, err, "(the url of Run): wrong user or password")
	require.NotContains(t, err.Error(), "hunter2")
}

// A stop before there is a database is a stop like others.
func TestStopWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	url := storetest.RefusingServer(t, "127.0.0.1:0", "57P03")
	said := make(chan string, 16)
	p := start(t, url, nil, func(c *replica.Config) {
		c.Executors, c.Log = map[string]replica.Executor{mine: replica.ExecutorFunc(idle)}, zerolog.New(storetest.Lines(said))
	})
	require.Contains(t, within(t, said), "database not reachable yet, waiting for it")
	require.NoError(t, p.drain())
}

// An outage ends nothing: the replica goes on when the database is back.
func TestOutageOfTheDatabaseIsOutlived(t *testing.T) {
	t.Parallel()
	cluster := storetest.OwnCluster(t)
	url := storetest.On(t, cluster)
	var executed atomic.Int64
	p := start(t, url, func(context.Context, *replica.TaskRun) (replica.Result, error) {
		executed.Add(1)
		return replica.Result{}, nil
	}, func(c *replica.Config) { c.StaleAfter, c.SweepInterval = 2*time.Second, 100*time.Millisecond })
	u := connect(t, url)
	u.run("name", "'one'", 1)
	u.becomes("1 DONE", ends)
	require.NoError(t, cluster.Halt(t.Context()))
	select {
	case <-p.done:
		require.Fail(t, "it ended", "%v", p.err)
	case <-time.After(3 * time.Second): // longer than its lease
	}
	require.NoError(t, cluster.Restart(t.Context()))
	u = connect(t, url)
	u.run("name", "'two'", 1)
	u.becomes("2 DONE", ends)
	require.Equal(t, int64(2), executed.Load())
	require.NoError(t, p.drain())
}

// The role of the page, and no more.
func TestRoleOfReplicasIsEnough(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	u := connect(t, url)
	config, err := pgx.ParseConfig(url)
	require.NoError(t, err)
	role := "program_" + config.Database
	u.exec(`CREATE ROLE ` + pgx.Identifier{role}.Sanitize() + ` LOGIN IN ROLE rowrun_replica`)
	t.Cleanup(func() {
		c, err := pgx.Connect(context.WithoutCancel(t.Context()), url)
		require.NoError(t, err)
		_, err = c.Exec(context.WithoutCancel(t.Context()), `DROP ROLE `+pgx.Identifier{role}.Sanitize())
		require.NoError(t, err)
		require.NoError(t, c.Close(context.WithoutCancel(t.Context())))
	})
	var log bytes.Buffer
	p := start(t, "host="+config.Host+" port="+u.ask(`SHOW port`)+" dbname="+config.Database+" user="+role,
		func(context.Context, *replica.TaskRun) (replica.Result, error) { return replica.Result{}, nil },
		func(c *replica.Config) { c.Log = zerolog.New(&log).Level(zerolog.WarnLevel) })
	u.run("name", "'one'", 3)
	u.becomes("3 DONE", ends)
	require.NoError(t, p.drain())
	require.Empty(t, log.String())
}
