package commands

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

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/database"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/connect"
	"github.com/rowrun/rowrun/store/storetest"
)

func asText(id int64) string { return strconv.FormatInt(id, 10) }

func TestRunListShowsTheNewestFirstAndFilters(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, variables := rowruntest.Connect(t, url), map[string]string{"DATABASE_URL": url}
	got := rowrun(t.Context(), t, variables, "run", "list", "-o", "json")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	require.Equal(t, "[]\n", got.Stdout)

	for range 3 {
		insertRun(t, conn, "NOOP", "{}", nil)
	}
	orders := "orders"
	insertRun(t, conn, "SQL", `{"sql": "SELECT 1"}`, &orders)
	rowruntest.Change(t, conn, "UPDATE rowrun.task SET name = 'third' WHERE id = 3")
	rowruntest.Change(t, conn, "UPDATE rowrun.task_run SET status = 'CANCELED', cancel_reason = E'two\nlines' WHERE id = 3")
	for _, c := range []struct {
		args []string
		want []int64
	}{
		{nil, []int64{4, 3, 2, 1}},
		{[]string{"--limit", "2"}, []int64{4, 3}},
		{[]string{"--status", "pending,available,done"}, []int64{4, 2, 1}},
		{[]string{"--status", "pending"}, []int64{4}},
		{[]string{"--status", "CANCELED"}, []int64{3}},
		{[]string{"--database", "orders"}, []int64{4}},
		{[]string{"--type", "NOOP", "--status", "AVAILABLE"}, []int64{2, 1}},
		{[]string{"--task", "third"}, []int64{3}},
		{[]string{"--task", "2"}, []int64{2}},
		{[]string{"--plan", "1"}, nil},
		{[]string{"--queue", "other"}, nil},
		{[]string{"--failed"}, nil},
	} {
		got := rowrun(t.Context(), t, variables, append([]string{"run", "list", "-o", "json"}, c.args...)...)
		require.Equal(t, cli.ExitDone, got.Code, "%v: %s", c.args, got.Stderr)
		var runs []struct {
			RunID int64 `json:"run_id"`
		}
		require.NoError(t, json.Unmarshal([]byte(got.Stdout), &runs))
		var ids []int64
		for _, run := range runs {
			ids = append(ids, run.RunID)
		}
		require.Equal(t, c.want, ids, "%v", c.args)
	}
	got = rowrun(t.Context(), t, variables, "run", "list")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	lines := strings.Split(strings.TrimSpace(got.Stdout), "\n")
	require.Len(t, lines, 5)
	require.Regexp(t, `^RUN +STATUS +TASK +TYPE`, lines[0])
	require.Regexp(t, `^3 +CANCELED +third +NOOP .*CANCELED: Task run canceled: two lines$`, lines[2])

	got = rowrun(t.Context(), t, variables, "run", "list", "--task", "nowhere")
	require.Equal(t, cli.ExitFailed, got.Code)
	require.Equal(t, "rowrun: there is no task \"nowhere\"\n", got.Stderr)
}

func TestRunRefusesWrongUse(t *testing.T) {
	t.Parallel()
	variables := map[string]string{"DATABASE_URL": rowruntest.SomeURL}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"run"}, "list, retry, show, wait, why"},
		{[]string{"run", "list", "--status", "READY"}, `--status: "READY" is not accepted; accepted: PENDING`},
		{[]string{"run", "list", "--failed", "--status", "DONE"}, "leave --status out"},
		{[]string{"run", "list", "--limit", "0"}, "accepted: 1 to 10000"},
		{[]string{"run", "show"}, "accepted: ID"},
		{[]string{"run", "why", "0"}, `"0" is not accepted; accepted: the id of a run`},
		{[]string{"run", "retry", "0"}, "accepted: the id of a run"},
		{[]string{"run", "wait", "1", "--timeout", "-1s"}, "accepted: a duration"},
	} {
		got := rowrun(t.Context(), t, variables, c.args...)
		require.Equal(t, cli.ExitUsage, got.Code, "%v: %s", c.args, got.Stderr)
		require.Contains(t, got.Stderr, c.says, "%v", c.args)
		require.Empty(t, got.Stdout)
	}
	got := rowrun(t.Context(), t, map[string]string{"DATABASE_URL": storetest.Empty(t)}, "run", "list")
	require.Equal(t, cli.ExitFailed, got.Code)
	require.Contains(t, got.Stderr, "run `rowrun migrate up`")
}

func TestRunThatIsNotThereIsSaidSo(t *testing.T) {
	t.Parallel()
	variables := map[string]string{"DATABASE_URL": storetest.New(t)}
	for _, command := range []string{"show", "wait", "retry", "cancel", "why"} {
		got := rowrun(t.Context(), t, variables, "run", command, "7")
		require.Equal(t, cli.ExitFailed, got.Code, command)
		require.Equal(t, "rowrun: there is no run 7 (retention removes runs that ended long ago)\n", got.Stderr, command)
		require.Empty(t, got.Stdout)
	}
}

func TestRunCancelAndRetryTakeAnyRunOfAChain(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, variables := rowruntest.Connect(t, url), map[string]string{"DATABASE_URL": url}
	first := insertRun(t, conn, "MINE", "{}", nil)
	command := func(args ...string) rowruntest.Outcome {
		return rowrun(t.Context(), t, variables, append([]string{"run"}, args...)...)
	}
	got := command("retry", asText(first))
	require.Equal(t, cli.ExitFailed, got.Code)
	require.Equal(t, fmt.Sprintf("rowrun: run %d is AVAILABLE: only FAILED and CANCELED runs are retried (SQLSTATE RR004)\n"+
		"hint: To do a DONE task once more, insert another run.\n", first), got.Stderr)

	got = command("cancel", asText(first), "--reason", "a mistake")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	require.Equal(t, "CANCELED\n", got.Stdout)
	got = command("retry", asText(first))
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	second := strings.TrimSpace(got.Stdout)
	got = command("cancel", asText(first), "-o", "json") // the chain's last, though the first was named
	require.JSONEq(t, `{"run_id": `+second+`, "status": "CANCELED"}`, got.Stdout)
	got = command("retry", asText(first), "-o", "json")
	var made struct {
		RunID   int64 `json:"run_id"`
		RetryOf int64 `json:"retry_of"`
	}
	require.NoError(t, json.Unmarshal([]byte(got.Stdout), &made))
	require.Equal(t, second, asText(made.RetryOf))

	rowruntest.Change(t, conn, "UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE id = $1", made.RunID)
	rowruntest.Change(t, conn, "UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'nobody' WHERE id = $1", made.RunID)
	require.Equal(t, "RUNNING\n", command("cancel", second).Stdout, "asked for: its executor has to stop")
	var asked bool
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT cancel_requested_at IS NOT NULL FROM rowrun.task_run WHERE id = $1", made.RunID).Scan(&asked))
	require.True(t, asked)

	got = command("show", second)
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	require.Regexp(t, "(?s)attempt +1 of the chain of run "+asText(first)+".*retried by +"+asText(made.RunID)+
		".*CHAIN +STATUS.*"+asText(first)+" +CANCELED +task 1.*"+asText(made.RunID)+" +RUNNING", got.Stdout)
	require.Regexp(t, "cancel reason +a mistake", command("show", asText(first)).Stdout)
}

func TestRunShowTellsItsLogAndItsDocuments(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, variables := rowruntest.Connect(t, url), map[string]string{"DATABASE_URL": url}
	id := insertRun(t, conn, "MINE", "{}", nil)
	rowruntest.Change(t, conn, "UPDATE rowrun.task_run SET input = '{\"day\": 7}' WHERE id = $1", id)
	rowruntest.Change(t, conn, "INSERT INTO rowrun.task_run_log (task_run_id, type, detail) VALUES ($1, 'output', '{\"text\": \"\\u001b[2Jhello\"}')", id)
	got := rowrun(t.Context(), t, variables, "run", "show", asText(id))
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	require.Regexp(t, `(?s)status +AVAILABLE.*input +\{"day": 7\}.*LOG +TYPE +DETAIL.*output +\{"text": .*hello"\}`, got.Stdout)
	require.NotContains(t, got.Stdout, "\x1b")
	require.NotContains(t, got.Stdout, "CHAIN")
	require.NotContains(t, got.Stdout, "-o json")

	rowruntest.Change(t, conn, "INSERT INTO rowrun.task_run_log (task_run_id, type) VALUES ($1, repeat('x', 61))", id)
	got = rowrun(t.Context(), t, variables, "run", "show", asText(id))
	require.Contains(t, got.Stdout, strings.Repeat("x", 30)+"…"+strings.Repeat("x", 29), "60 cells")
	require.Contains(t, got.Stdout, "… where a text is longer; -o json has all of it")

	got = rowrun(t.Context(), t, variables, "run", "show", asText(id), "-o", "json")
	var shown struct {
		RunID   int64 `json:"run_id"`
		Status  string
		Input   map[string]int
		Chain   []struct{ Status string }
		Log     []struct{ Type string }
		Waiting []struct{ Cause string }
	}
	require.NoError(t, json.Unmarshal([]byte(got.Stdout), &shown), got.Stdout)
	require.Equal(t, id, shown.RunID)
	require.Equal(t, map[string]int{"day": 7}, shown.Input)
	require.Len(t, shown.Chain, 1)
	require.Equal(t, "output", shown.Log[0].Type)
	require.Equal(t, "NO_REPLICA", shown.Waiting[0].Cause)
}

func TestRunWhyNamesTheCauses(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, variables := rowruntest.Connect(t, url), map[string]string{"DATABASE_URL": url}
	id := insertRun(t, conn, "MINE", "{}", nil)
	require.NoError(t, conn.QueryRow(t.Context(), `INSERT INTO rowrun.task_run (task_id, run_at) SELECT task_id, now() + interval '100 ms' FROM rowrun.task_run RETURNING id`).Scan(&id))
	why := func(run int64) rowruntest.Outcome {
		got := rowrun(t.Context(), t, variables, "run", "why", asText(run))
		require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
		return got
	}
	rowruntest.Eventually(t, "it is due", func() bool { return strings.Contains(why(id).Stdout, "no replica is live") })
	rowruntest.Change(t, conn, "INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease) VALUES ('of other types', clock_timestamp(), '1 hour')")
	require.Contains(t, why(id).Stdout, "is PENDING and nothing holds it")
	rowruntest.Change(t, conn, "UPDATE rowrun.task_run SET run_at = now() + interval '1 day' WHERE id = $1", id)
	rowruntest.Change(t, conn, "UPDATE rowrun.task SET paused = true")
	require.Regexp(t, `(?s)RUN +CAUSE +MESSAGE.*\d+ +RUN_AT +due in .*\d+ +PAUSED +task \d+ is paused`, why(id).Stdout)
	rowruntest.Change(t, conn, "UPDATE rowrun.task SET paused = false")
	rowruntest.Change(t, conn, "UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE id = $1", id)
	require.Regexp(t, `\d+ +NO_REPLICA +no live replica runs type MINE`, why(id).Stdout)
	rowruntest.Change(t, conn, "UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'somebody' WHERE id = $1", id)
	require.Contains(t, why(id).Stdout, "UTC on replica somebody")
	rowruntest.Change(t, conn, "UPDATE rowrun.task_run SET replica_id = NULL WHERE id = $1", id)
	require.Contains(t, why(id).Stdout, "the app has taken it over")
	rowruntest.Change(t, conn, "UPDATE rowrun.task_run SET status = 'FAILED' WHERE id = $1", id)
	require.Equal(t, fmt.Sprintf("run %d is FAILED: nothing to wait for\n", id), why(id).Stdout)

	next := strings.TrimSpace(rowrun(t.Context(), t, variables, "run", "retry", asText(id)).Stdout)
	got := why(id)
	require.Equal(t, fmt.Sprintf("run %d is FAILED and was retried, the last time as run %s\n", id, next), got.Stderr)
	require.Regexp(t, next+" +NO_REPLICA", got.Stdout)
	got = rowrun(t.Context(), t, variables, "run", "why", next, "-o", "json")
	require.Regexp(t, `(?s)"run_id": `+next+`,.*"status": "AVAILABLE",.*"NO_REPLICA"`, got.Stdout)
}

func TestRunWaitEndsWithTheChain(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, variables := rowruntest.Connect(t, url), map[string]string{"DATABASE_URL": url}
	startServing(t, url)
	wait := func(run int64, args ...string) rowruntest.Outcome {
		return rowrun(t.Context(), t, variables, append([]string{"run", "wait", asText(run), "--timeout", "60s"}, args...)...)
	}
	got := wait(insertRun(t, conn, "NOOP", `{"sleep": "200ms"}`, nil))
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	require.Regexp(t, `\d+ +DONE +task \d+ +NOOP`, got.Stdout)

	// The first run named, the second's end waited for.
	failing := insertRun(t, conn, "NOOP", `{"fail": "no"}`, nil)
	got = wait(failing)
	require.Equal(t, cli.ExitFailed, got.Code)
	require.Contains(t, got.Stderr, "ended FAILED")
	rowruntest.Change(t, conn, "INSERT INTO rowrun.task (name, type, payload, max_attempts, retry_delay) VALUES ('twice', 'NOOP', '{\"fail\": \"no\"}', 2, '100 ms')")
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT rowrun.run_task('twice')").Scan(&failing))
	got = wait(failing, "-o", "json")
	require.Equal(t, cli.ExitFailed, got.Code)
	var end struct {
		RunID  int64 `json:"run_id"`
		RootID int64 `json:"root_id"`
		Status string
		Detail string
	}
	require.NoError(t, json.Unmarshal([]byte(got.Stdout), &end), got.Stdout)
	require.Equal(t, failing, end.RootID)
	require.NotEqual(t, failing, end.RunID)
	require.Equal(t, "FAILED", end.Status)
	require.Equal(t, "no", end.Detail)
	require.Contains(t, got.Stderr, "ended FAILED")

	stuck := insertRun(t, conn, "MINE", "{}", nil)
	got = wait(stuck, "--timeout", "100ms")
	require.Equal(t, cli.ExitFailed, got.Code)
	require.Contains(t, got.Stderr, "the time to wait is over: run "+asText(stuck)+" is ")
	require.Empty(t, got.Stdout)
}

// The end of this run is announced to nobody.
func TestRunWaitNeedsNoNotification(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := rowruntest.Connect(t, url)
	id := insertRun(t, conn, "MINE", "{}", nil)
	watched := rowruntest.Connect(t, url)
	out, code := io.Discard, make(chan int, 1)
	go func() {
		code <- run(t.Context(), []string{"run", "wait", asText(id)}, cli.Environment{
			Stdin: strings.NewReader(""), Stdout: out, Stderr: out, Lookup: rowruntest.LookupIn(map[string]string{"DATABASE_URL": url}),
		})
	}()
	rowruntest.Eventually(t, "it listens", func() bool {
		var listening bool
		require.NoError(t, watched.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = 'rowrun listen')`).Scan(&listening))
		return listening
	})
	rowruntest.Change(t, conn, "SET rowrun.notify = off")
	rowruntest.Change(t, conn, "UPDATE rowrun.task_run SET status = 'CANCELED' WHERE id = $1", id)
	require.Equal(t, cli.ExitFailed, <-code)
}

func TestServersRefusalIsShownInWords(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := rowruntest.Connect(t, url)
	id := insertRun(t, conn, "MINE", "{}", nil)
	role := fmt.Sprintf("looks_%d", id) + "_" + conn.Config().Database
	rowruntest.Change(t, conn, "CREATE ROLE "+pgx.Identifier{role}.Sanitize()+" LOGIN IN ROLE rowrun_viewer")
	t.Cleanup(func() { dropRole(t, url, role) })
	viewer := strings.Replace(url, "postgres@", role+"@", 1)
	require.NotEqual(t, url, viewer)
	variables := map[string]string{"DATABASE_URL": viewer}
	got := rowrun(t.Context(), t, variables, "run", "list", "-o", "json")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	got = rowrun(t.Context(), t, variables, "run", "cancel", asText(id))
	require.Equal(t, cli.ExitFailed, got.Code)
	require.Contains(t, got.Stderr, "rowrun: the role may not do this: permission denied for function cancel_run")
}

func dropRole(t *testing.T, url, role string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), database.AnswerPatience)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	require.NoError(t, err)
	defer connect.Close(ctx, conn)
	_, err = conn.Exec(ctx, "DROP ROLE "+pgx.Identifier{role}.Sanitize())
	require.NoError(t, err)
}
