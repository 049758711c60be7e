package rowruntest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler/client"
	"github.com/rowrun/rowrun/scheduler/replica"
	"github.com/rowrun/rowrun/scheduler/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestWorkRunsWhatIsDueInOrderAndNothingElse(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := connect(t, url)
	exec(t, conn, `SELECT rowrun.define_task('mail', 'MAIL', '{"from": "us"}', queue => 'post')`, `SELECT rowrun.define_task('print', 'PRINT')`)
	var ran []string
	made := false
	config := rowruntest.Config{Executors: map[string]replica.Executor{"MAIL": each(func(run *replica.TaskRun) error {
		ran = append(ran, string(run.Payload))
		if len(ran) == 1 && !made {
			made = true
			_, err := conn.Exec(t.Context(), `SELECT rowrun.run_task('mail', '{"n": 9}')`) // work that makes work
			return err
		}
		return nil
	})}}
	soon := time.Now().Add(time.Hour)
	ids := enqueue(t, conn,
		client.Job{Task: "mail", Input: map[string]int{"n": 2}},
		client.Job{Task: "mail", Input: map[string]int{"n": 1}, Priority: new(int32(5))},
		client.Job{Task: "mail", Input: map[string]int{"n": 4}, RunAt: soon.Add(2 * time.Hour), Priority: new(int32(7))},
		client.Job{Task: "mail", Input: map[string]int{"n": 3}, RunAt: soon},
		client.Job{Task: "mail", Input: map[string]int{"n": 5}, RunAt: soon.Add(48 * time.Hour)},
		client.Job{Task: "print"})
	ended := rowruntest.Work(t, url, config)
	require.Equal(t, []string{`{"from":"us","n":1}`, `{"from":"us","n":2}`, `{"from":"us","n":9}`}, ran)
	require.Len(t, ended, 3)
	require.Equal(t, []int64{ids[1], ids[0]}, []int64{ended[0].ID, ended[1].ID})
	jobs := rowruntest.In(t, conn)
	jobs.RequireEnded(ids[0], "DONE")
	require.Contains(t, failure(t, func(t testing.TB) { rowruntest.In(t, conn).RequireEnded(ids[5], "DONE") }), "NO_REPLICA")

	ran, config.Until = nil, soon.Add(24*time.Hour)
	require.Len(t, rowruntest.Work(t, url, config), 2)
	require.Equal(t, []string{`{"from":"us","n":3}`, `{"from":"us","n":4}`}, ran, "in the order of time")
	jobs.RequireEnded(ids[4], "PENDING")
	require.Empty(t, rowruntest.Work(t, url, rowruntest.Config{Executors: config.Executors}))
}

func TestRetriesWaitForNoClock(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := connect(t, url)
	exec(t, conn, `SELECT rowrun.define_task('mail', 'MAIL', max_attempts => 3, retry_delay => '1 h')`)
	ids := enqueue(t, conn, client.Job{Task: "mail", Input: map[string]int{"until": 2}}, client.Job{Task: "mail", Input: map[string]int{"until": 9}})
	ended := rowruntest.Work(t, url, rowruntest.Config{Executors: map[string]replica.Executor{"MAIL": replica.ExecutorFunc(
		func(_ context.Context, run *replica.TaskRun) (replica.Result, error) {
			var p struct{ Until int }
			if err := run.Decode(&p); err != nil {
				return replica.Result{}, err
			}
			if run.Attempt < p.Until {
				return replica.Result{}, errors.New("no luck")
			}
			return replica.Result{Output: map[string]int{"luck": run.Attempt}}, nil
		})}})
	require.Len(t, ended, 2)
	jobs := rowruntest.In(t, conn)
	good, bad := jobs.RequireEnded(ids[0], "DONE"), jobs.RequireEnded(ids[1], "FAILED")
	require.Equal(t, []any{3, 3, "ERROR", "no luck"}, []any{good.Attempts, bad.Attempts, bad.Code, bad.Detail})
	require.JSONEq(t, `{"luck": 2}`, string(good.Result))
	require.Contains(t, failure(t, func(t testing.TB) { rowruntest.In(t, conn).RequireEnded(ids[1], "DONE") }), "FAILED after 3 attempt(s), ERROR: no luck")
}

// A plan with versions, dependencies, a limit and types of the sidecar runs through, each with a stand-in.
func TestPlansAndBuiltInTypesRunWithStandIns(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := connect(t, url)
	exec(t, conn, `SELECT rowrun.run_plan(rowrun.create_plan('release', '[
		{"name": "index", "type": "DATABASE_MIGRATE", "database_id": "shop", "version": "2", "payload": {"sql": "SELECT 2"}},
		{"name": "table", "type": "DATABASE_MIGRATE", "database_id": "shop", "version": "1", "payload": {"sql": "SELECT 1"}},
		{"name": "fill", "type": "SQL", "database_id": "shop", "payload": {"sql": "SELECT 3"}, "depends_on": ["index"]},
		{"name": "tell", "type": "HTTP", "payload": {"path": "/tell"}, "depends_on": ["fill"]},
		{"name": "report", "type": "COMMAND", "payload": {"command": "report"}, "depends_on": ["tell"]},
		{"name": "rest", "type": "NOOP", "depends_on": ["report"]}]', parallel_limit => 1))`)
	var ran []string
	standIn := each(func(run *replica.TaskRun) error {
		ran = append(ran, run.TaskName)
		return nil
	})
	executors := map[string]replica.Executor{}
	for _, name := range []string{"DATABASE_MIGRATE", "SQL", "HTTP", "COMMAND", "NOOP"} {
		executors[name] = standIn
	}
	require.Len(t, rowruntest.Work(t, url, rowruntest.Config{Executors: executors}), 6)
	require.Equal(t, []string{"table", "index", "fill", "tell", "report", "rest"}, ran)
}

// What no test can wait for ends it: what is paused, depends on a failure, recurs, or was handed over to an app.
func TestWhatCanNotRunIsLeft(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := connect(t, url)
	exec(t, conn, `SELECT rowrun.define_task('paused', 'MAIL'), rowrun.define_task('nightly', 'MAIL'), rowrun.define_task('handed over', 'HAND')`,
		`UPDATE rowrun.task SET paused = true WHERE name = 'paused'`, `UPDATE rowrun.task SET schedule = '@after 1h' WHERE name = 'nightly'`,
		`SELECT rowrun.run_plan(rowrun.create_plan('p', '[{"name": "a", "type": "FAIL"}, {"name": "b", "type": "MAIL", "depends_on": ["a"]}]'))`)
	enqueue(t, conn, client.Job{Task: "paused"}, client.Job{Task: "handed over"})
	executors := map[string]replica.Executor{
		"MAIL": each(func(*replica.TaskRun) error { return nil }),
		"FAIL": each(func(*replica.TaskRun) error { return replica.BadInput("no luck") }),
		"HAND": replica.ExecutorFunc(func(context.Context, *replica.TaskRun) (replica.Result, error) {
			return replica.Result{HandedOver: true}, nil
		}),
	}
	rowruntest.Work(t, url, rowruntest.Config{Executors: executors, Until: time.Now().Add(1000 * time.Hour), Patience: 10 * time.Second})
	stand := map[string]string{}
	for _, job := range rowruntest.In(t, conn).All(rowruntest.Want{}) {
		stand[job.Task] = job.Status
	}
	require.Equal(t, map[string]string{"paused": "PENDING", "nightly": "PENDING", "handed over": "RUNNING", "a": "FAILED", "b": "PENDING"}, stand)
}

func TestWorkSaysWhatDoesNotEnd(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := connect(t, url)
	exec(t, conn, `SELECT rowrun.define_task('mail', 'MAIL')`)
	enqueue(t, conn, client.Job{Task: "mail", IdempotencyKey: "endless"})
	var stopped atomic.Bool
	said := failure(t, func(t testing.TB) {
		rowruntest.Work(t, url, rowruntest.Config{Patience: 3 * time.Second, Executors: map[string]replica.Executor{
			"MAIL": replica.ExecutorFunc(func(ctx context.Context, _ *replica.TaskRun) (replica.Result, error) {
				<-ctx.Done()
				stopped.Store(true)
				return replica.Result{}, context.Cause(ctx)
			}),
		}})
	})
	require.Contains(t, said, "after 3s it has not come to rest: left are")
	require.Contains(t, said, `key "endless"`)
	require.True(t, stopped.Load(), "the executor was left behind")

	require.Contains(t, failure(t, func(t testing.TB) { rowruntest.Work(t, url, rowruntest.Config{}) }), "at least one executor is required")
	require.Contains(t, failure(t, func(t testing.TB) {
		rowruntest.Work(t, storetest.Empty(t), rowruntest.Config{Executors: map[string]replica.Executor{"MAIL": nil}})
	}), "rowruntest.Schema makes it")
}

// In a copy of a template nothing runs until it is told that it is a copy.
func TestSchemaIsMadeOnceAndItsCopiesWork(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	config, err := pgx.ParseConfig(url)
	require.NoError(t, err)
	rowruntest.Schema(t, url)
	rowruntest.Schema(t, url)
	admin := connect(t, storetest.Cluster(t).SocketURL("postgres"))
	copied := config.Database + "_copy"
	exec(t, admin, `CREATE DATABASE `+copied+` TEMPLATE `+config.Database)
	t.Cleanup(func() {
		_, err := admin.Exec(context.WithoutCancel(t.Context()), `DROP DATABASE `+copied+` WITH (FORCE)`)
		require.NoError(t, err)
	})
	copiedURL := storetest.Cluster(t).SocketURL(copied)
	rowruntest.Schema(t, copiedURL)
	conn := connect(t, copiedURL)
	exec(t, conn, `SELECT rowrun.define_task('mail', 'MAIL')`)
	ids := enqueue(t, conn, client.Job{Task: "mail"})
	rowruntest.Work(t, copiedURL, rowruntest.Config{Executors: map[string]replica.Executor{"MAIL": each(func(*replica.TaskRun) error { return nil })}})
	rowruntest.In(t, conn).RequireEnded(ids[0], "DONE")
}

// What a test makes in parallel is run at once where it says so.
func TestConcurrencyIsTheTests(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := connect(t, url)
	exec(t, conn, `SELECT rowrun.define_task('meet', 'MEET')`)
	enqueue(t, conn, make3(client.Job{Task: "meet"})...)
	met := make(chan struct{}, 3)
	executors := map[string]replica.Executor{"MEET": each(func(*replica.TaskRun) error {
		met <- struct{}{}
		for deadline := time.After(20 * time.Second); len(met) < 3; {
			select {
			case <-time.After(time.Millisecond):
			case <-deadline:
				return errors.New("nobody came")
			}
		}
		return nil
	})}
	for _, job := range rowruntest.Work(t, url, rowruntest.Config{Executors: executors, Concurrency: 3}) {
		require.Equal(t, "DONE", job.Status, job.Detail)
	}
}

func make3(job client.Job) (jobs []client.Job) {
	for n := range 3 {
		job.Input = json.RawMessage(fmt.Sprintf(`{"n": %d}`, n))
		jobs = append(jobs, job)
	}
	return jobs
}
