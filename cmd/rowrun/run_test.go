package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// change runs one statement as the owner of the schema.
func change(t *testing.T, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	_, err := conn.Exec(t.Context(), sql, args...)
	require.NoError(t, err, sql)
}

func asText(id int64) string { return strconv.FormatInt(id, 10) }

func TestRunListShowsTheNewestFirstAndFilters(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, variables := connect(t, url), map[string]string{"DATABASE_URL": url}
	got := rowrun(t.Context(), t, variables, "run", "list", "-o", "json")
	require.Equal(t, exitDone, got.code, got.stderr)
	require.Equal(t, "[]\n", got.stdout)

	for range 3 {
		insertRun(t, conn, "NOOP", "{}", nil)
	}
	orders := "orders"
	insertRun(t, conn, "SQL", `{"sql": "SELECT 1"}`, &orders)
	change(t, conn, "UPDATE rowrun.task SET name = 'third' WHERE id = 3")
	change(t, conn, "UPDATE rowrun.task_run SET status = 'CANCELED', cancel_reason = E'two\nlines' WHERE id = 3")
	for _, c := range []struct {
		args []string
		want []int64
	}{
		{nil, []int64{4, 3, 2, 1}},
		{[]string{"--limit", "2"}, []int64{4, 3}},
		{[]string{"--status", "pending,done"}, []int64{4, 2, 1}},
		{[]string{"--status", "CANCELED"}, []int64{3}},
		{[]string{"--database", "orders"}, []int64{4}},
		{[]string{"--type", "NOOP", "--status", "PENDING"}, []int64{2, 1}},
		{[]string{"--task", "third"}, []int64{3}},
		{[]string{"--task", "2"}, []int64{2}},
		{[]string{"--plan", "1"}, nil},
		{[]string{"--queue", "other"}, nil},
		{[]string{"--failed"}, nil},
	} {
		got := rowrun(t.Context(), t, variables, append([]string{"run", "list", "-o", "json"}, c.args...)...)
		require.Equal(t, exitDone, got.code, "%v: %s", c.args, got.stderr)
		var runs []struct {
			RunID int64 `json:"run_id"`
		}
		require.NoError(t, json.Unmarshal([]byte(got.stdout), &runs))
		var ids []int64
		for _, run := range runs {
			ids = append(ids, run.RunID)
		}
		require.Equal(t, c.want, ids, "%v", c.args)
	}
	got = rowrun(t.Context(), t, variables, "run", "list")
	require.Equal(t, exitDone, got.code, got.stderr)
	lines := strings.Split(strings.TrimSpace(got.stdout), "\n")
	require.Len(t, lines, 5)
	require.Regexp(t, `^RUN +STATUS +TASK +TYPE`, lines[0])
	require.Regexp(t, `^3 +CANCELED +third +NOOP .*CANCELED: Task run canceled: two lines$`, lines[2])

	got = rowrun(t.Context(), t, variables, "run", "list", "--task", "nowhere")
	require.Equal(t, exitFailed, got.code)
	require.Equal(t, "rowrun: there is no task \"nowhere\"\n", got.stderr)
}

func TestRunRefusesWrongUse(t *testing.T) {
	t.Parallel()
	variables := map[string]string{"DATABASE_URL": someURL}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"run"}, "list, retry, show, wait, why"},
		{[]string{"run", "list", "--status", "READY"}, `--status: "READY" is not accepted; accepted: PENDING`},
		{[]string{"run", "list", "--failed", "--status", "DONE"}, "leave --status out"},
		{[]string{"run", "list", "--limit", "0"}, "accepted: 1 to 10000"},
		{[]string{"run", "list", "--plan", "x"}, "accepted: a whole number"},
		{[]string{"run", "show"}, "accepted: ID"},
		{[]string{"run", "why", "seven"}, `"seven" is not accepted; accepted: the id of a run`},
		{[]string{"run", "retry", "0"}, "accepted: the id of a run"},
		{[]string{"run", "wait", "1", "--timeout", "-1s"}, "accepted: a duration"},
	} {
		got := rowrun(t.Context(), t, variables, c.args...)
		require.Equal(t, exitUsage, got.code, "%v: %s", c.args, got.stderr)
		require.Contains(t, got.stderr, c.says, "%v", c.args)
		require.Empty(t, got.stdout)
	}
	got := rowrun(t.Context(), t, map[string]string{"DATABASE_URL": storetest.Empty(t)}, "run", "list")
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.stderr, "run `rowrun migrate up`")
}

func TestRunThatIsNotThereIsSaidSo(t *testing.T) {
	t.Parallel()
	variables := map[string]string{"DATABASE_URL": storetest.New(t)}
	for _, command := range []string{"show", "wait", "retry", "cancel", "why"} {
		got := rowrun(t.Context(), t, variables, "run", command, "7")
		require.Equal(t, exitFailed, got.code, command)
		require.Equal(t, "rowrun: there is no run 7 (retention removes runs that ended long ago)\n", got.stderr, command)
		require.Empty(t, got.stdout)
	}
}

func TestRunCancelAndRetryTakeAnyRunOfAChain(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, variables := connect(t, url), map[string]string{"DATABASE_URL": url}
	first := insertRun(t, conn, "MINE", "{}", nil)
	command := func(args ...string) outcome {
		return rowrun(t.Context(), t, variables, append([]string{"run"}, args...)...)
	}
	got := command("retry", asText(first))
	require.Equal(t, exitFailed, got.code)
	require.Equal(t, fmt.Sprintf("rowrun: run %d is PENDING: only FAILED and CANCELED runs are retried (SQLSTATE RR004)\n"+
		"hint: To do a DONE task once more, insert another run.\n", first), got.stderr)

	got = command("cancel", asText(first), "--reason", "a mistake")
	require.Equal(t, exitDone, got.code, got.stderr)
	require.Equal(t, "CANCELED\n", got.stdout)
	got = command("retry", asText(first))
	require.Equal(t, exitDone, got.code, got.stderr)
	second := strings.TrimSpace(got.stdout)
	got = command("cancel", asText(first), "-o", "json") // the chain's last, though the first was named
	require.JSONEq(t, `{"run_id": `+second+`, "status": "CANCELED"}`, got.stdout)
	got = command("retry", asText(first), "-o", "json")
	var made struct {
		RunID   int64 `json:"run_id"`
		RetryOf int64 `json:"retry_of"`
	}
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &made))
	require.Equal(t, second, asText(made.RetryOf))

	change(t, conn, "UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE id = $1", made.RunID)
	change(t, conn, "UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'nobody' WHERE id = $1", made.RunID)
	require.Equal(t, "RUNNING\n", command("cancel", second).stdout, "asked for: its executor has to stop")
	var asked bool
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT cancel_requested_at IS NOT NULL FROM rowrun.task_run WHERE id = $1", made.RunID).Scan(&asked))
	require.True(t, asked)

	got = command("show", second)
	require.Equal(t, exitDone, got.code, got.stderr)
	require.Regexp(t, "(?s)attempt +1 of the chain of run "+asText(first)+".*retried by +"+asText(made.RunID)+
		".*CHAIN +STATUS.*"+asText(first)+" +CANCELED +task 1.*"+asText(made.RunID)+" +RUNNING", got.stdout)
	require.Regexp(t, "cancel reason +a mistake", command("show", asText(first)).stdout)
}

func TestRunShowTellsItsLogAndItsDocuments(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, variables := connect(t, url), map[string]string{"DATABASE_URL": url}
	id := insertRun(t, conn, "MINE", "{}", nil)
	change(t, conn, "UPDATE rowrun.task_run SET input = '{\"day\": 7}' WHERE id = $1", id)
	change(t, conn, "INSERT INTO rowrun.task_run_log (task_run_id, type, detail) VALUES ($1, 'output', '{\"text\": \"\\u001b[2Jhello\"}')", id)
	got := rowrun(t.Context(), t, variables, "run", "show", asText(id))
	require.Equal(t, exitDone, got.code, got.stderr)
	require.Regexp(t, `(?s)status +PENDING.*input +\{"day": 7\}.*LOG +TYPE +DETAIL.*output +\{"text": .*hello"\}`, got.stdout)
	require.NotContains(t, got.stdout, "\x1b")
	require.NotContains(t, got.stdout, "CHAIN")

	change(t, conn, "UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE id = $1", id)
	got = rowrun(t.Context(), t, variables, "run", "show", asText(id), "-o", "json")
	var shown struct {
		RunID   int64 `json:"run_id"`
		Status  string
		Input   map[string]int
		Chain   []struct{ Status string }
		Log     []struct{ Type string }
		Waiting []struct{ Cause string }
	}
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &shown), got.stdout)
	require.Equal(t, id, shown.RunID)
	require.Equal(t, map[string]int{"day": 7}, shown.Input)
	require.Len(t, shown.Chain, 1)
	require.Equal(t, "output", shown.Log[0].Type)
	require.Equal(t, "NO_REPLICA", shown.Waiting[0].Cause)
}

func TestRunWhyNamesTheCauses(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, variables := connect(t, url), map[string]string{"DATABASE_URL": url}
	id := insertRun(t, conn, "MINE", "{}", nil)
	why := func(run int64) outcome {
		got := rowrun(t.Context(), t, variables, "run", "why", asText(run))
		require.Equal(t, exitDone, got.code, got.stderr)
		return got
	}
	require.Contains(t, why(id).stdout, "is PENDING and nothing holds it")
	change(t, conn, "UPDATE rowrun.task_run SET run_at = now() + interval '1 day' WHERE id = $1", id)
	change(t, conn, "UPDATE rowrun.task SET paused = true")
	require.Regexp(t, `(?s)RUN +CAUSE +MESSAGE.*\d+ +RUN_AT +due in .*\d+ +PAUSED +task \d+ is paused`, why(id).stdout)
	change(t, conn, "UPDATE rowrun.task SET paused = false")
	change(t, conn, "UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE id = $1", id)
	require.Regexp(t, `\d+ +NO_REPLICA +no live replica runs type MINE`, why(id).stdout)
	change(t, conn, "UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'somebody' WHERE id = $1", id)
	require.Contains(t, why(id).stdout, "UTC on replica somebody")
	change(t, conn, "UPDATE rowrun.task_run SET replica_id = NULL WHERE id = $1", id)
	require.Contains(t, why(id).stdout, "the app has taken it over")
	change(t, conn, "UPDATE rowrun.task_run SET status = 'FAILED' WHERE id = $1", id)
	require.Equal(t, fmt.Sprintf("run %d is FAILED: nothing to wait for\n", id), why(id).stdout)

	next := strings.TrimSpace(rowrun(t.Context(), t, variables, "run", "retry", asText(id)).stdout)
	got := why(id)
	require.Equal(t, fmt.Sprintf("run %d is FAILED and was retried, the last time as run %s\n", id, next), got.stderr)
	require.Contains(t, got.stdout, "run "+next+" is PENDING")
	got = rowrun(t.Context(), t, variables, "run", "why", next, "-o", "json")
	require.JSONEq(t, `{"run_id": `+next+`, "status": "PENDING", "causes": []}`, got.stdout)
}

func TestRunWaitEndsWithTheChain(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, variables := connect(t, url), map[string]string{"DATABASE_URL": url}
	startServing(t, url)
	wait := func(run int64, args ...string) outcome {
		return rowrun(t.Context(), t, variables, append([]string{"run", "wait", asText(run), "--timeout", "60s"}, args...)...)
	}
	got := wait(insertRun(t, conn, "NOOP", `{"sleep": "200ms"}`, nil))
	require.Equal(t, exitDone, got.code, got.stderr)
	require.Regexp(t, `\d+ +DONE +task \d+ +NOOP`, got.stdout)

	// The first run named, the second's end waited for.
	failing := insertRun(t, conn, "NOOP", `{"fail": "no"}`, nil)
	got = wait(failing)
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.stderr, "ended FAILED")
	change(t, conn, "INSERT INTO rowrun.task (name, type, payload, max_attempts, retry_delay) VALUES ('twice', 'NOOP', '{\"fail\": \"no\"}', 2, '100 ms')")
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT rowrun.run_task('twice')").Scan(&failing))
	got = wait(failing, "-o", "json")
	require.Equal(t, exitFailed, got.code)
	var end struct {
		RunID  int64 `json:"run_id"`
		RootID int64 `json:"root_id"`
		Status string
		Detail string
	}
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &end), got.stdout)
	require.Equal(t, failing, end.RootID)
	require.NotEqual(t, failing, end.RunID)
	require.Equal(t, "FAILED", end.Status)
	require.Equal(t, "no", end.Detail)
	require.Contains(t, got.stderr, "ended FAILED")

	stuck := insertRun(t, conn, "MINE", "{}", nil)
	got = wait(stuck, "--timeout", "100ms")
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.stderr, "the time to wait is over: run "+asText(stuck)+" is ")
	require.Empty(t, got.stdout)
}

// The end of this run is announced to nobody.
func TestRunWaitNeedsNoNotification(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := connect(t, url)
	id := insertRun(t, conn, "MINE", "{}", nil)
	watched := connect(t, url)
	out, code := io.Discard, make(chan int, 1)
	go func() {
		code <- run(t.Context(), []string{"run", "wait", asText(id)}, environment{
			stdin: strings.NewReader(""), stdout: out, stderr: out, lookup: lookupIn(map[string]string{"DATABASE_URL": url}),
		})
	}()
	eventually(t, "it listens", func() bool {
		var listening bool
		require.NoError(t, watched.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = 'rowrun listen')`).Scan(&listening))
		return listening
	})
	change(t, conn, "SET rowrun.notify = off")
	change(t, conn, "UPDATE rowrun.task_run SET status = 'CANCELED' WHERE id = $1", id)
	require.Equal(t, exitFailed, <-code)
}

func TestServersRefusalIsShownInWords(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := connect(t, url)
	id := insertRun(t, conn, "MINE", "{}", nil)
	role := fmt.Sprintf("looks_%d", id) + "_" + conn.Config().Database
	change(t, conn, "CREATE ROLE "+pgx.Identifier{role}.Sanitize()+" LOGIN IN ROLE rowrun_viewer")
	t.Cleanup(func() { dropRole(t, url, role) })
	viewer := strings.Replace(url, "postgres@", role+"@", 1)
	require.NotEqual(t, url, viewer)
	variables := map[string]string{"DATABASE_URL": viewer}
	got := rowrun(t.Context(), t, variables, "run", "list", "-o", "json")
	require.Equal(t, exitDone, got.code, got.stderr)
	got = rowrun(t.Context(), t, variables, "run", "cancel", asText(id))
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.stderr, "rowrun: the role may not do this: permission denied for function cancel_run")
}

func dropRole(t *testing.T, url, role string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), answerPatience)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	require.NoError(t, err)
	defer closeConn(ctx, conn)
	_, err = conn.Exec(ctx, "DROP ROLE "+pgx.Identifier{role}.Sanitize())
	require.NoError(t, err)
}
