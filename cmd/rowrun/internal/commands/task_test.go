package commands

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestTaskCommandsChangeATask(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, variables := rowruntest.Connect(t, url), map[string]string{"DATABASE_URL": url}
	task := func(args ...string) rowruntest.Outcome {
		return rowrun(t.Context(), t, variables, append([]string{"task"}, args...)...)
	}
	does := func(want string, args ...string) {
		t.Helper()
		got := task(args...)
		require.Equal(t, cli.ExitDone, got.Code, "%v: %s", args, got.Stderr)
		require.Equal(t, want, got.Stdout, "%v", args)
	}
	aPlan(t, conn)
	rowruntest.Change(t, conn, "SELECT rowrun.run_plan(1)")
	does("PENDING (paused)\n", "pause", "1")
	does("PENDING\n", "resume", "1")
	does("SKIPPED\n", "skip", "3", "--reason", "done by hand")
	got := task("list", "--plan", "1", "--status", "skipped")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	require.Regexp(t, `\n3 +SKIPPED +c +MINE +1 +3 +\S.* +done by hand\n$`, got.Stdout)
	does("CANCELED\n", "unskip", "3")

	rowruntest.Change(t, conn, "UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE task_id = 1")
	got = task("skip", "1")
	require.Equal(t, cli.ExitFailed, got.Code)
	require.Equal(t, "rowrun: task 1 has a run that is AVAILABLE or RUNNING: it can't be skipped (SQLSTATE RR004)\n"+
		"hint: Cancel the run first.\n", got.Stderr)
	got = task("skip", "2", "-o", "json")
	require.JSONEq(t, `{"task_id": 2, "status": "SKIPPED", "paused": false}`, got.Stdout)
}

func TestTaskShowTellsAllOfATask(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, variables := rowruntest.Connect(t, url), map[string]string{"DATABASE_URL": url}
	show := func(args ...string) string {
		t.Helper()
		got := rowrun(t.Context(), t, variables, append([]string{"task", "show"}, args...)...)
		require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
		return got.Stdout
	}
	aPlan(t, conn)
	rowruntest.Change(t, conn, `UPDATE rowrun.task SET timeout = '90 s', max_attempts = 3, payload = '{"day": 7}', database_id = 'orders', version = '1.10' WHERE id = 2`)
	require.Regexp(t, `(?s)TASK +2\nstatus +NOT_STARTED\nname +b\nplan +1\n.*database +orders\nversion +1.10\ndepends on +3\n`+
		`.*timeout +1m30s\nattempts +at most 3, the first retry after 10s\non stale +FAIL\n.*payload +\{"day": 7\}\n`, show("2"))
	require.Regexp(t, `needed by +2\n`, show("3"))
	rowruntest.Change(t, conn, "SELECT rowrun.run_plan(1)")
	settle(t, conn)
	require.Regexp(t, `(?s)last run +2\n.*\n\nWAITS FOR *\nDEPENDENCY +waits for task 3 \(c\)`, show("2"))

	var shown struct {
		TaskID    int64    `json:"task_id"`
		TimeoutMS *float64 `json:"timeout_ms"`
		DependsOn []int64  `json:"depends_on"`
		Payload   map[string]int
		Waiting   []struct{ Cause string }
	}
	require.NoError(t, json.Unmarshal([]byte(show("2", "-o", "json")), &shown))
	require.Equal(t, int64(2), shown.TaskID)
	require.InDelta(t, 90000, *shown.TimeoutMS, 0.1)
	require.Equal(t, []int64{3}, shown.DependsOn)
	require.Equal(t, map[string]int{"day": 7}, shown.Payload)
	require.Equal(t, "DEPENDENCY", shown.Waiting[0].Cause)
}

func TestTaskListFilters(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, variables := rowruntest.Connect(t, url), map[string]string{"DATABASE_URL": url}
	aPlan(t, conn)
	rowruntest.Change(t, conn, "SELECT rowrun.define_task('report', 'NOOP')")
	rowruntest.Change(t, conn, "SELECT rowrun.run_task('report')")
	for _, c := range []struct {
		args []string
		want []int64
	}{
		{nil, []int64{4, 3, 2, 1}},
		{[]string{"--limit", "2"}, []int64{4, 3}},
		{[]string{"--plan", "1"}, []int64{3, 2, 1}},
		{[]string{"--plan", "1", "--name", "b"}, []int64{2}},
		{[]string{"--definitions"}, []int64{4}},
		{[]string{"--type", "NOOP"}, []int64{4}},
		{[]string{"--status", "available"}, []int64{4}},
		{[]string{"--status", "pending"}, nil},
		{[]string{"--status", "NOT_STARTED,DONE", "--type", "MINE"}, []int64{3, 2, 1}},
		{[]string{"--plan", "2"}, nil},
	} {
		got := rowrun(t.Context(), t, variables, append([]string{"task", "list", "-o", "json"}, c.args...)...)
		require.Equal(t, cli.ExitDone, got.Code, "%v: %s", c.args, got.Stderr)
		var tasks []struct {
			TaskID int64 `json:"task_id"`
		}
		require.NoError(t, json.Unmarshal([]byte(got.Stdout), &tasks))
		var ids []int64
		for _, task := range tasks {
			ids = append(ids, task.TaskID)
		}
		require.Equal(t, c.want, ids, "%v", c.args)
	}
}
