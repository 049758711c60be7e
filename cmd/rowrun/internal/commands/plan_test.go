package commands

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

// aPlan makes plan 1 with the tasks 1 (a), 2 (b, depends on c) and 3 (c) of a type that nobody runs.
func aPlan(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	rowruntest.Change(t, conn, "INSERT INTO rowrun.plan (name, project, parallel_limit) VALUES ('roll out', 'shop', 2)")
	rowruntest.Change(t, conn, "INSERT INTO rowrun.task (plan_id, name, type) SELECT 1, n, 'MINE' FROM unnest('{a,b,c}'::text[]) n")
	rowruntest.Change(t, conn, "INSERT INTO rowrun.task_dependency (task_id, depends_on_id) VALUES (2, 3)")
}

// end takes the newest run of a task through the statuses to its end, by hand.
func end(t *testing.T, conn *pgx.Conn, task int64, status string) {
	t.Helper()
	const newest = "WHERE id = (SELECT max(id) FROM rowrun.task_run WHERE task_id = $1)"
	rowruntest.Change(t, conn, "UPDATE rowrun.task_run SET status = 'AVAILABLE' "+newest+" AND status = 'PENDING'", task)
	rowruntest.Change(t, conn, "UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'hand' "+newest, task)
	rowruntest.Change(t, conn, "UPDATE rowrun.task_run SET status = $2 "+newest, task, status)
}

// settle makes the promote pass that decides what was ended by hand.
func settle(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	rowruntest.Change(t, conn, "SELECT rowrun.promote_runs(true)")
}

func TestPlanCommandsFollowAPlan(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, variables := rowruntest.Connect(t, url), map[string]string{"DATABASE_URL": url}
	plan := func(args ...string) rowruntest.Outcome {
		return rowrun(t.Context(), t, variables, append([]string{"plan"}, args...)...)
	}
	does := func(want string, args ...string) {
		t.Helper()
		got := plan(args...)
		require.Equal(t, cli.ExitDone, got.Code, "%v: %s", args, got.Stderr)
		require.Equal(t, want, got.Stdout, "%v", args)
	}
	aPlan(t, conn)
	does("1\n2\n3\n", "run", "1")
	got := plan("run", "1")
	require.Equal(t, cli.ExitDone, got.Code)
	require.Empty(t, got.Stdout)
	require.Equal(t, "nothing to run in plan 1: `rowrun plan show 1` tells how its tasks stand\n", got.Stderr)
	got = plan("run", "1", "-o", "json")
	require.JSONEq(t, `{"plan_id": 1, "run_ids": []}`, got.Stdout)

	does("PENDING (paused)\n", "pause", "1")
	does(`{
  "plan_id": 1,
  "status": "PENDING",
  "paused": false
}
`, "resume", "1", "-o", "json")
	end(t, conn, 1, "FAILED")
	got = plan("wait", "1")
	require.Equal(t, cli.ExitFailed, got.Code)
	require.Regexp(t, `1 +FAILED +shop +roll out +1 +2 PENDING, 1 FAILED`, got.Stdout)
	require.Contains(t, got.Stderr, "rowrun: plan 1 is FAILED\n")

	does("4\n", "retry", "1")
	rowruntest.Change(t, conn, "UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE id = 4")
	got = plan("delete", "1")
	require.Equal(t, cli.ExitFailed, got.Code)
	require.Contains(t, got.Stderr, "(SQLSTATE RR006)\nhint: ")
	does("3\n", "cancel", "1", "--reason", "not today")
	var reasons []string
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT array_agg(DISTINCT cancel_reason) FROM rowrun.task_run WHERE status = 'CANCELED'").Scan(&reasons))
	require.Equal(t, []string{"not today"}, reasons)
	got = plan("wait", "1", "-o", "json")
	require.Equal(t, cli.ExitFailed, got.Code)
	var shown struct {
		PlanID   int64 `json:"plan_id"`
		Status   string
		Canceled int
	}
	require.NoError(t, json.Unmarshal([]byte(got.Stdout), &shown), got.Stdout)
	require.Equal(t, "CANCELED", shown.Status)
	require.Equal(t, 3, shown.Canceled)

	does("5\n6\n7\n", "retry", "1")
	for _, task := range []int64{1, 3, 2} {
		end(t, conn, task, "DONE")
	}
	got = plan("wait", "1")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	require.Contains(t, got.Stdout, "3 DONE")
	does("deleted\n", "delete", "1")
	got = plan("delete", "1")
	require.Equal(t, cli.ExitFailed, got.Code)
	require.Contains(t, got.Stderr, "there is no plan 1")
}

func TestPlanShowTellsTasksInOrderAndTheAnnouncement(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, variables := rowruntest.Connect(t, url), map[string]string{"DATABASE_URL": url}
	show := func(args ...string) string {
		t.Helper()
		got := rowrun(t.Context(), t, variables, append([]string{"plan", "show", "1"}, args...)...)
		require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
		return got.Stdout
	}
	aPlan(t, conn)
	rowruntest.Change(t, conn, "UPDATE rowrun.task SET paused = true WHERE id = 1")
	rowruntest.Change(t, conn, "SELECT rowrun.run_plan(1)")
	settle(t, conn)
	text := show()
	require.Regexp(t, `(?s)PLAN +1\nstatus +PENDING\ntasks +3 PENDING\nproject +shop\nname +roll out\nparallel limit +2\n.*announced +nothing in this round yet`, text)
	require.Regexp(t, `(?s)1 +PENDING \(paused\) +a .*PAUSED: task 1 is paused.*\n3 +PENDING +c .*\n2 +PENDING +b +MINE +3 +2 +DEPENDENCY: waits for task 3 \(c\)`, text)
	require.NotContains(t, text, "DELIVERY")
	require.Regexp(t, `(?s)\n1 +PENDING.*\n… +1 of 3 tasks: --limit, or rowrun task list --plan 1\n$`, show("--limit", "1"))

	rowruntest.Change(t, conn, "INSERT INTO rowrun.webhook (project, name, url) VALUES ('shop', 'ops', 'env:NOWHERE'), ('other', 'not me', 'env:NOWHERE')")
	end(t, conn, 3, "DONE")
	rowruntest.Change(t, conn, `UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE task_id = 2`)
	rowruntest.Change(t, conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'hand' WHERE task_id = 2`)
	rowruntest.Change(t, conn, `UPDATE rowrun.task_run SET status = 'FAILED', result = '{"code": "EXIT_1", "detail": "disk full"}' WHERE task_id = 2`)
	settle(t, conn)
	text = show()
	require.Regexp(t, `announced +PIPELINE_FAILED in round 1, 20\d\d-`, text)
	require.Regexp(t, `DELIVERY +WEBHOOK +STATUS +ATTEMPTS.*\n1 +1 ops +PENDING +0`, text)
	require.Regexp(t, `2 +FAILED +b +MINE +3 +2 +EXIT_1: disk full`, text)

	var shown struct {
		Tasks        int
		Announcement struct {
			EventType  string `json:"event_type"`
			Deliveries []struct {
				Webhook   string
				MessageID string `json:"message_id"`
			}
		}
		TaskList []struct {
			TaskID    int64 `json:"task_id"`
			DependsOn []int64
			Waiting   []struct{ Cause string }
		} `json:"task_list"`
		TasksMore bool `json:"tasks_more"`
	}
	require.NoError(t, json.Unmarshal([]byte(show("-o", "json", "--limit", "2")), &shown))
	require.Equal(t, 3, shown.Tasks)
	require.Equal(t, "PIPELINE_FAILED", shown.Announcement.EventType)
	require.Len(t, shown.Announcement.Deliveries, 1)
	require.Regexp(t, "^msg_[0-9a-f]{32}$", shown.Announcement.Deliveries[0].MessageID)
	require.Len(t, shown.TaskList, 2)
	require.True(t, shown.TasksMore)
	require.Equal(t, int64(3), shown.TaskList[1].TaskID)
	require.Equal(t, "PAUSED", shown.TaskList[0].Waiting[0].Cause)
	require.Empty(t, shown.TaskList[1].Waiting)
}

func TestPlanListFilters(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, variables := rowruntest.Connect(t, url), map[string]string{"DATABASE_URL": url}
	aPlan(t, conn)
	rowruntest.Change(t, conn, "INSERT INTO rowrun.plan (name) VALUES ('empty'), ('started')")
	rowruntest.Change(t, conn, "INSERT INTO rowrun.task (plan_id, type) VALUES (3, 'MINE')")
	rowruntest.Change(t, conn, "SELECT rowrun.run_plan(3)")
	for _, c := range []struct {
		args []string
		want []int64
	}{
		{nil, []int64{3, 2, 1}},
		{[]string{"--limit", "1"}, []int64{3}},
		{[]string{"--project", "shop"}, []int64{1}},
		{[]string{"--status", "not_started"}, []int64{2, 1}},
		{[]string{"--status", "PENDING,RUNNING"}, []int64{3}},
		{[]string{"--status", "DONE"}, nil},
	} {
		got := rowrun(t.Context(), t, variables, append([]string{"plan", "list", "-o", "json"}, c.args...)...)
		require.Equal(t, cli.ExitDone, got.Code, "%v: %s", c.args, got.Stderr)
		var plans []struct {
			PlanID int64 `json:"plan_id"`
		}
		require.NoError(t, json.Unmarshal([]byte(got.Stdout), &plans))
		var ids []int64
		for _, plan := range plans {
			ids = append(ids, plan.PlanID)
		}
		require.Equal(t, c.want, ids, "%v", c.args)
	}
	lines := strings.Split(rowrun(t.Context(), t, variables, "plan", "list").Stdout, "\n")
	require.Regexp(t, `^2 +NOT_STARTED +default +empty +1 +none +(now|\d+ s ago)`, lines[2])
	require.Equal(t, "no plan\n", rowrun(t.Context(), t, variables, "plan", "list", "--status", "DONE").Stderr, "plans are there")
}

func TestPlanWaitSaysWhereItStands(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	aPlan(t, rowruntest.Connect(t, url))
	variables := map[string]string{"DATABASE_URL": url}
	got := rowrun(t.Context(), t, variables, "plan", "wait", "1", "--timeout", "100ms")
	require.Equal(t, cli.ExitFailed, got.Code)
	require.Equal(t, "rowrun: the time to wait is over: plan 1 is NOT_STARTED; `rowrun plan show 1` may tell more\n", got.Stderr)
	require.Empty(t, got.Stdout)
}

// The sweeps are far apart here: only the end's notification can have ended the wait before the next look.
func TestPlanWaitEndsWithItsPlan(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, variables := rowruntest.Connect(t, url), map[string]string{"DATABASE_URL": url}
	startServing(t, url)
	rowruntest.Change(t, conn, "INSERT INTO rowrun.plan DEFAULT VALUES")
	rowruntest.Change(t, conn, `INSERT INTO rowrun.task (plan_id, type, payload) SELECT 1, 'NOOP', '{"sleep": "100ms"}' FROM generate_series(1, 3)`)
	rowruntest.Change(t, conn, "INSERT INTO rowrun.task_dependency (task_id, depends_on_id) VALUES (2, 1), (3, 2)")
	rowruntest.Change(t, conn, "SELECT rowrun.run_plan(1)")
	got := rowrun(t.Context(), t, variables, "plan", "wait", "1", "--timeout", "60s")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	require.Contains(t, got.Stdout, "3 DONE")
}

func TestPlanAndTaskRefuseWrongUse(t *testing.T) {
	t.Parallel()
	variables := map[string]string{"DATABASE_URL": rowruntest.SomeURL}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"plan"}, "cancel, delete, list, pause, resume, retry, run, show, wait"},
		{[]string{"plan", "list", "--status", "SKIPPED"}, `--status: "SKIPPED" is not accepted; accepted: NOT_STARTED`},
		{[]string{"plan", "list", "--limit", "0"}, "accepted: 1 to 10000"},
		{[]string{"plan", "show"}, "accepted: ID"},
		{[]string{"plan", "show", "1", "--limit", "20000"}, "accepted: 1 to 10000"},
		{[]string{"plan", "run", ""}, `"" is not accepted; accepted: the id of a plan, or its name`},
		{[]string{"plan", "wait", "1", "--timeout", "-1s"}, "accepted: a duration"},
		{[]string{"task"}, "list, pause, resume, show, skip, unskip"},
		{[]string{"task", "skip", "0"}, "accepted: the id of a task"},
		{[]string{"task", "list", "--definitions", "--plan", "1"}, "leave --plan out"},
		{[]string{"task", "list", "--status", "READY"}, "accepted: NOT_STARTED, PENDING, AVAILABLE, RUNNING, DONE, SKIPPED"},
	} {
		got := rowrun(t.Context(), t, variables, c.args...)
		require.Equal(t, cli.ExitUsage, got.Code, "%v: %s", c.args, got.Stderr)
		require.Contains(t, got.Stderr, c.says, "%v", c.args)
		require.Empty(t, got.Stdout)
	}
}

func TestPlanOrTaskThatIsNotThereIsSaidSo(t *testing.T) {
	t.Parallel()
	variables := map[string]string{"DATABASE_URL": storetest.New(t)}
	for _, command := range []string{"show", "run", "wait", "retry", "cancel", "pause", "resume", "delete"} {
		got := rowrun(t.Context(), t, variables, "plan", command, "7")
		require.Equal(t, cli.ExitFailed, got.Code, command)
		require.Equal(t, "rowrun: there is no plan 7 (retention removes plans that ended long ago)\n", got.Stderr, command)
		require.Empty(t, got.Stdout)
	}
	for _, command := range []string{"show", "skip", "unskip", "pause", "resume"} {
		got := rowrun(t.Context(), t, variables, "task", command, "7")
		require.Equal(t, cli.ExitFailed, got.Code, command)
		require.Equal(t, "rowrun: there is no task 7\n", got.Stderr, command)
		require.Empty(t, got.Stdout)
	}
}
