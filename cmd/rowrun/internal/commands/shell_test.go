package commands

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

// shell runs command lines against one database.
type shell struct {
	t         *testing.T
	variables map[string]string
}

func newShell(t *testing.T) (shell, string) {
	t.Helper()
	url := storetest.New(t)
	return shell{t, map[string]string{"DATABASE_URL": url}}, url
}

// does is a command that succeeds; what it printed is returned.
func (s shell) does(args ...string) (stdout, stderr string) {
	s.t.Helper()
	got := rowrun(s.t.Context(), s.t, s.variables, args...)
	require.Equal(s.t, cli.ExitDone, got.Code, "%v: %s", args, got.Stderr)
	return got.Stdout, got.Stderr
}

// fails is a command that ends with a code and says why.
func (s shell) fails(code int, says string, args ...string) {
	s.t.Helper()
	got := rowrun(s.t.Context(), s.t, s.variables, args...)
	require.Equal(s.t, code, got.Code, "%v: %s%s", args, got.Stdout, got.Stderr)
	require.Contains(s.t, got.Stderr, says, "%v", args)
}

// fed is a command with something on its standard input.
func (s shell) fed(input string, args ...string) rowruntest.Outcome {
	s.t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(s.t.Context(), args, cli.Environment{
		Stdin: strings.NewReader(input), Stdout: &stdout, Stderr: &stderr, Lookup: rowruntest.LookupIn(s.variables),
	})
	return rowruntest.Outcome{Code: code, Stdout: stdout.String(), Stderr: stderr.String()}
}

func TestTaskDefineMakesATaskAndSaysWhatItChanged(t *testing.T) {
	t.Parallel()
	s, _ := newShell(t)
	id, said := s.does("task", "define", "hello", "--type", "NOOP", "--payload", `{"sleep": "1ms"}`, "--max-attempts", "3")
	require.Equal(t, "1\n", id)
	require.Equal(t, "task 1 (hello) made\n", said)
	_, said = s.does("task", "define", "hello", "--type", "NOOP", "--payload", `{"sleep": "1ms"}`, "--max-attempts", "3")
	require.Equal(t, "task 1 (hello) as it was\n", said)
	_, said = s.does("task", "define", "hello", "--type", "NOOP", "--payload", `{"sleep": "2ms"}`, "--timeout", "0")
	require.Equal(t, "task 1 (hello) changed: max_attempts, payload, timeout_ms\n", said, "a definition says all")
	answer, said := s.does("task", "define", "hello", "--type", "NOOP", "-o", "json")
	require.Empty(t, said)
	require.JSONEq(t, `{"task_id": 1, "made": false, "changed": ["payload", "timeout_ms"]}`, answer)
	_, said = s.does("task", "define", "hello", "--type", "NOOP", "--aging", "10m")
	require.Equal(t, "task 1 (hello) changed: aging_ms\n", said)
	_, said = s.does("task", "define", "hello", "--type", "NOOP")
	require.Equal(t, "task 1 (hello) as it was\n", said, "aging stays")
	_, said = s.does("task", "define", "hello", "--type", "NOOP", "--aging", "0")
	require.Equal(t, "task 1 (hello) changed: aging_ms\n", said)
	_, said = s.does("task", "define", "hello", "--type", "NOOP", "--schedule", "@daily", "--time-zone", "Asia/Tokyo", "--misfire", "ALL", "--overlap", "QUEUE")
	require.Equal(t, "task 1 (hello) changed: misfire, overlap, schedule, time_zone\n", said)
	_, said = s.does("task", "define", "hello", "--type", "NOOP")
	require.Equal(t, "task 1 (hello) as it was\n", said, "when it recurs stays")
	shown, _ := s.does("task", "show", "hello")
	require.Regexp(t, `schedule +@daily\ntime zone +Asia/Tokyo\nmisfire +ALL\noverlap +QUEUE\n`, shown)
	_, said = s.does("task", "define", "hello", "--type", "NOOP", "--schedule", "-")
	require.Equal(t, "task 1 (hello) changed: schedule\n", said)
	s.fails(cli.ExitFailed, "aging of a task is 1 s to 1 year", "task", "define", "hello", "--type", "NOOP", "--aging", "10ms")

	file := filepath.Join(t.TempDir(), "count.sql")
	require.NoError(t, os.WriteFile(file, []byte("SELECT 'it''s'"), 0o600))
	s.does("task", "define", "count", "--sql", "@"+file, "--database", "orders", "--schedule", "30 2 * * *", "--time-zone", "Europe/Berlin")
	text, _ := s.does("task", "show", "count", "-o", "json")
	require.Contains(t, text, `"sql": "SELECT 'it''s'"`)
	require.Contains(t, text, `"type": "SQL"`)
	text, _ = s.does("schedule", "list")
	require.Regexp(t, `\d +count +30 2 \* \* \* +Europe/Berlin +`+withinADay+` `, text)
	s.does("task", "define", "count", "--sql", "@"+file, "--database", "orders", "--schedule", "-")
	text, _ = s.does("schedule", "list")
	require.Contains(t, text, "nothing to come")

	_, said = s.does("task", "define", "typo", "--type", "nop")
	require.Contains(t, said, "the type nop is a new one; did you mean NOOP?")
	got := s.fed(`{"from": "standard input"}`, "task", "define", "fed", "--type", "MINE", "--payload", "-")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)

	s.fails(cli.ExitUsage, "--type: is missing; accepted: NOOP, SQL", "task", "define", "x")
	s.fails(cli.ExitUsage, "no JSON, line 2 column 5", "task", "define", "x", "--type", "NOOP", "--payload", "{\"a\":\n    x}")
	s.fails(cli.ExitUsage, "is JSON, and no object", "task", "define", "x", "--type", "NOOP", "--payload", "[1]")
	s.fails(cli.ExitUsage, "no such file", "task", "define", "x", "--sql", "@/nowhere.sql")
	s.fails(cli.ExitUsage, "only one of them", "task", "define", "x", "--sql", "SELECT 1", "--payload", "{}")
	s.fails(cli.ExitUsage, "did you mean RETRY?", "task", "define", "x", "--type", "NOOP", "--on-stale", "RETYR")
	s.fails(cli.ExitFailed, "RR003", "task", "define", "x", "--type", "NOOP", "--schedule", "every day")
}

func TestRunCreateInsertsARun(t *testing.T) {
	t.Parallel()
	s, url := newShell(t)
	conn := rowruntest.Connect(t, url)
	s.does("task", "define", "hello", "--type", "NOOP")
	s.does("task", "define", "99", "--type", "NOOP")
	got := s.fed(`{"to": "ann"}`, "run", "create", "hello", "--input", "-", "--at", "10m", "--key", "order-17", "--priority", "5")
	require.Equal(t, "1\n", got.Stdout, got.Stderr)
	var input, key string
	var priority, minutes int
	require.NoError(t, conn.QueryRow(t.Context(),
		"SELECT input, idempotency_key, priority, round(extract(epoch FROM run_at - now()) / 60)::int FROM rowrun.task_run WHERE id = 1").Scan(&input, &key, &priority, &minutes))
	require.JSONEq(t, `{"to": "ann"}`, input)
	require.Equal(t, "order-17", key)
	require.Equal(t, 5, priority)
	require.Equal(t, 10, minutes)
	again, _ := s.does("run", "create", "hello", "--key", "order-17", "-o", "json")
	require.JSONEq(t, `{"run_id": 1}`, again)

	made, _ := s.does("run", "create", "1", "--at", "2030-01-02T03:04:05Z")
	require.Regexp(t, `^\d+\n$`, made)
	s.does("run", "create", "99")
	var tasks []int64
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT array_agg(task_id ORDER BY id) FROM rowrun.task_run").Scan(&tasks))
	require.Equal(t, []int64{1, 1, 2}, tasks, "digits are an id where no task has that name")

	s.fails(cli.ExitFailed, "there is no task named \"helo\"; did you mean hello?: `rowrun task define helo --type TYPE` makes one", "run", "create", "helo")
	s.fails(cli.ExitFailed, "task 77 does not exist", "run", "create", "77")
	s.fails(cli.ExitUsage, `--at: "tomorrow" is not accepted; accepted: 10m (from now)`, "run", "create", "hello", "--at", "tomorrow")
	s.fails(cli.ExitUsage, "--timeout: 1s is not accepted; accepted: a duration, with --wait", "run", "create", "hello", "--timeout", "1s")
	s.fails(cli.ExitFailed, "is AVAILABLE; `rowrun run why", "run", "create", "hello", "--wait", "--timeout", "50ms")
}

func TestRunCreateInsertsARunAfterOthers(t *testing.T) {
	t.Parallel()
	s, _ := newShell(t)
	s.does("task", "define", "hello", "--type", "NOOP")
	s.does("run", "create", "hello", "--at", "1h")
	s.does("run", "create", "hello", "--at", "1h")
	made, _ := s.does("run", "create", "hello", "--after", "1", "--after", "2")
	require.Equal(t, "3\n", made)
	why, _ := s.does("run", "why", "3")
	require.Contains(t, why, "waits for 2 runs, first of them run 1 (hello), which is PENDING")
	s.fails(cli.ExitFailed, "run 77 of after does not exist", "run", "create", "hello", "--after", "77")
	s.fails(cli.ExitUsage, "--after: 0 is not accepted; accepted: ids of runs", "run", "create", "hello", "--after", "0")
}

func TestRunCreateWaitsForTheEnd(t *testing.T) {
	t.Parallel()
	s, url := newShell(t)
	startServing(t, url)
	s.does("task", "define", "hello", "--type", "NOOP")
	s.does("task", "define", "bad", "--type", "NOOP", "--payload", `{"fail": "no luck"}`)
	text, said := s.does("run", "create", "hello", "--wait", "--timeout", "60s")
	require.Regexp(t, `\n1 +DONE +hello`, text)
	require.Equal(t, "run 1\n", said)
	s.fails(cli.ExitFailed, "run 2 ended FAILED", "run", "create", "bad", "--wait", "--timeout", "60s")
}

func TestNamesStandForIds(t *testing.T) {
	t.Parallel()
	s, url := newShell(t)
	conn := rowruntest.Connect(t, url)
	aPlan(t, conn)
	rowruntest.Change(t, conn, "INSERT INTO rowrun.plan (name) VALUES ('twice'), ('twice'), ('other')")
	rowruntest.Change(t, conn, "INSERT INTO rowrun.task (plan_id, name, type) VALUES (2, 'a', 'MINE')")
	rowruntest.Change(t, conn, "INSERT INTO rowrun.webhook (name, url) VALUES ('ops', 'https://example.com')")
	s.does("task", "define", "hello", "--type", "MINE")

	text, _ := s.does("plan", "show", "roll out", "-o", "name")
	require.Equal(t, "1\n", text)
	s.does("plan", "run", "roll out")
	text, _ = s.does("run", "list", "--plan", "roll out", "-o", "name")
	require.Equal(t, "3\n2\n1\n", text)
	text, _ = s.does("task", "list", "--plan", "roll out", "-o", "name")
	require.Equal(t, "3\n2\n1\n", text)
	s.fails(cli.ExitFailed, `several plans are named "twice", the newest first: 3, 2; give the id of one`, "plan", "delete", "twice")
	s.fails(cli.ExitFailed, `there is no plan named "rol out"; did you mean roll out?`, "plan", "cancel", "rol out")
	s.fails(cli.ExitFailed, `several tasks are named "a", the newest first: 4 (of plan 2), 1 (of plan 1); give the id of one`, "task", "pause", "a")
	s.does("task", "pause", "b")
	s.does("webhook", "deliveries", "--webhook", "ops")
	s.fails(cli.ExitFailed, `there is no webhook named "opps"; did you mean ops?`, "webhook", "deliveries", "--webhook", "opps")

	s.fails(cli.ExitFailed, "task 5 (hello) has no run", "run", "show", "hello")
	for range 2 {
		s.does("run", "create", "hello")
	}
	text, said := s.does("run", "show", "hello", "-o", "json")
	var shown struct {
		RunID int64 `json:"run_id"`
	}
	require.NoError(t, json.Unmarshal([]byte(text), &shown))
	require.Equal(t, int64(5), shown.RunID)
	require.Equal(t, "run 5 is the newest of task 5 (hello)\n", said)
	s.fails(cli.ExitFailed, "has several runs that haven't ended: `rowrun run list --task 5` shows them", "run", "cancel", "hello")
	s.does("run", "cancel", "5")
	text, said = s.does("run", "cancel", "hello")
	require.Equal(t, "CANCELED\n", text)
	require.Equal(t, "run 4 is the one of task 5 (hello)\n", said)
	_, said = s.does("run", "list", "--type", "MIN")
	require.Equal(t, "no run; did you mean MINE?\n", said)
	s.fails(cli.ExitUsage, "accepted: the id of a delivery, a whole number", "webhook", "redeliver", "ops")
}
