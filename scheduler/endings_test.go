package scheduler_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestPanicOfAnExecutorIsAFailureThatIsRetried(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	startReplica(t, url, func(_ context.Context, run *scheduler.Run) (scheduler.Result, error) {
		if run.Attempt == 0 {
			panic("on purpose")
		}
		return scheduler.Result{}, nil
	}, nil)
	c := newClient(t, url)
	require.Equal(t, []string{"FAILED PANIC", "DONE"}, c.chain(c.run("max_attempts, retry_delay", "2, '10 ms'")))
}

func TestTimeoutsEndARun(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	startReplica(t, url, untilTold, nil)
	c := newClient(t, url)
	for values, want := range map[string]string{
		"'200 ms', NULL": "FAILED TIMEOUT",
		"NULL, '200 ms'": "FAILED PROGRESS_TIMEOUT",
	} {
		run := c.run("timeout, progress_timeout", values)
		require.Equal(t, want, c.ends(run))
		require.GreaterOrEqual(t, c.int(`SELECT extract(milliseconds FROM finished_at - started_at)::bigint FROM rowrun.task_run WHERE id = $1`, run), int64(190))
	}
}

// Reports keep a run with a progress_timeout alive.
func TestProgressKeepsARunAlive(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	startReplica(t, url, func(ctx context.Context, run *scheduler.Run) (scheduler.Result, error) {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for i := range 40 { // twice the limit
			select {
			case <-ctx.Done():
				return scheduler.Result{}, context.Cause(ctx)
			case <-tick.C:
			}
			if err := run.Progress(ctx, map[string]int{"step": i}); err != nil {
				return scheduler.Result{}, err
			}
		}
		return scheduler.Result{}, nil
	}, nil)
	c := newClient(t, url)
	run := c.run("progress_timeout", "'1 s'")
	require.Equal(t, "DONE", c.ends(run))
	require.Equal(t, `{"step": 39}`, c.text(`SELECT progress::text FROM rowrun.task_run WHERE id = $1`, run))
}

// A cancel reaches a RUNNING run from the function and from a plain UPDATE, and makes no successor.
func TestCancelOfARunningRun(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	startReplica(t, url, untilTold, nil)
	c := newClient(t, url)
	for _, sql := range []string{
		`SELECT rowrun.cancel_run($1, 'enough')`,
		`UPDATE rowrun.task_run SET cancel_requested_at = now(), cancel_reason = 'enough' WHERE id = $1`,
	} {
		run := c.run("max_attempts", "3")
		poll(t, "the start", func() bool { return c.text(`SELECT status FROM rowrun.task_run WHERE id = $1`, run) == "RUNNING" })
		c.exec(sql, run)
		require.Equal(t, []string{"CANCELED CANCELED"}, c.chain(run))
		require.Equal(t, "Task run canceled: enough", c.text(`SELECT result ->> 'detail' FROM rowrun.task_run WHERE id = $1`, run))
	}
}

// What jsonb can't hold doesn't keep a run from ending.
func TestAwkwardResultsAreRecorded(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	outputs := map[string]any{
		"nul":       map[string]string{"a\x00b": "c\x00d"},
		"surrogate": json.RawMessage(`{"a": "\ud800", "b": "\udc00x"}`),
		"invalid":   map[string]string{"a": "\xff\xfe"},
		"huge":      map[string]string{"a": strings.Repeat("x", 2<<20)},
		"large":     map[string]string{"a": strings.Repeat("x", 1<<20-9)},
		"markup":    map[string]string{"a": strings.Repeat("<b>&", 1<<18-3)},
		"nil map":   map[string]any(nil),
		"nil":       (*struct{ A int })(nil),
		"array":     []int{1},
		"func":      map[string]any{"f": func() {}},
		"deep":      json.RawMessage(`{"a": ` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`), // only the database counts levels
	}
	startReplica(t, url, func(_ context.Context, run *scheduler.Run) (scheduler.Result, error) {
		out := outputs[strings.TrimPrefix(run.TaskName, "fails with ")]
		if run.DatabaseID == "fails" {
			return scheduler.Result{}, &scheduler.Failure{Code: "C\x00", Detail: strings.Repeat("é\x00", 1<<20), Output: map[string]any{"more": out}}
		}
		return scheduler.Result{Output: out}, nil
	}, nil)
	c := newClient(t, url)
	for name := range outputs {
		run := c.run("name", "'"+name+"'")
		require.Equal(t, "DONE", c.ends(run), name)
		detail := c.text(`SELECT coalesce(result ->> 'detail', '') FROM rowrun.task_run WHERE id = $1`, run)
		switch name {
		case "huge", "array", "func", "deep":
			require.Contains(t, detail, "could not be stored", name)
		default:
			require.Empty(t, detail, name)
		}
		run = c.run("database_id, name", "'fails', 'fails with "+name+"'")
		require.Equal(t, "FAILED C\uFFFD", c.ends(run), name)
		require.LessOrEqual(t, c.int(`SELECT octet_length(result::text) FROM rowrun.task_run WHERE id = $1`, run), int64(1<<20))
	}
}

// Attempts follow each other, later each time, until max_attempts.
func TestRetriesBackOffAndEnd(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	startReplica(t, url, func(_ context.Context, _ *scheduler.Run) (scheduler.Result, error) {
		return scheduler.Result{}, &scheduler.Failure{Code: "NO", Detail: "no", Retryable: true}
	}, nil)
	c := newClient(t, url)
	root := c.run("max_attempts, retry_delay", "4, '50 ms'")
	require.Equal(t, []string{"FAILED NO", "FAILED NO", "FAILED NO", "FAILED NO"}, c.chain(root))
	require.Zero(t, c.int(`SELECT count(*) FROM rowrun.task_run n JOIN rowrun.task_run r ON r.id = n.retry_of
		CROSS JOIN LATERAL (SELECT interval '50 ms' * power(2, r.attempt) AS delay) d
		WHERE NOT n.run_at - r.finished_at BETWEEN d.delay * 0.79 AND d.delay * 1.21 OR n.started_at < n.run_at`))

	// What a person asks for begins the count anew.
	last := c.int(`SELECT last_run_id FROM rowrun.job WHERE root_id = $1`, root)
	c.exec(`SELECT rowrun.retry_run($1)`, last)
	require.Len(t, c.chain(root), 8)
}

// A failure that no retry can mend gets none.
func TestBadInputIsNotRetried(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	startReplica(t, url, func(_ context.Context, _ *scheduler.Run) (scheduler.Result, error) {
		return scheduler.Result{}, scheduler.BadInput("no")
	}, nil)
	c := newClient(t, url)
	require.Equal(t, []string{"FAILED BAD_INPUT"}, c.chain(c.run("max_attempts", "5")))
}

// A user's transaction that holds a plan's task delays the endings of that plan and of nobody else.
func TestEndingBehindAUsersLockDelaysNobodyElse(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	release := make(chan struct{})
	startReplica(t, url, func(ctx context.Context, run *scheduler.Run) (scheduler.Result, error) {
		if run.PlanID != nil {
			select {
			case <-release:
			case <-ctx.Done():
			}
		}
		return scheduler.Result{}, nil
	}, nil)
	c, user := newClient(t, url), newClient(t, url)
	plan := c.int(`INSERT INTO rowrun.plan DEFAULT VALUES RETURNING id`)
	task := c.int(`INSERT INTO rowrun.task (plan_id, type) VALUES ($1, $2) RETURNING id`, plan, workType)
	held := c.int(`INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id`, task)
	poll(t, "the start", func() bool { return c.text(`SELECT status FROM rowrun.task_run WHERE id = $1`, held) == "RUNNING" })
	user.exec(`BEGIN`)
	user.exec(`SELECT FROM rowrun.task WHERE id = $1 FOR UPDATE`, task)
	close(release)
	for range 20 {
		require.Equal(t, "DONE", c.ends(c.run("name", "''")))
	}
	require.Equal(t, "RUNNING", c.text(`SELECT status FROM rowrun.task_run WHERE id = $1`, held), "the lock holds nothing: nothing is tested")
	user.exec(`ROLLBACK`)
	require.Equal(t, "DONE", c.ends(held))
}
