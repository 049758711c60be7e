package commands

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/doctor"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestFiltersAreReadAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"":                                    `{}`,
		"task=nightly":                        `{"task": ["nightly"]}`,
		"type=HTTP, type=report,queue=slow":   `{"type": ["HTTP", "report"], "queue": ["slow"]}`,
		"label=team:core,label=url:http://x/": `{"label": {"team": "core", "url": "http://x/"}}`,
		` {"task": "a,b"}`:                    `{"task": "a,b"}`,
	} {
		got, err := webhookFilter(given)
		require.NoError(t, err, given)
		require.JSONEq(t, want, string(got), given)
	}
	for given, says := range map[string]string{
		"nightly": `"nightly" is not accepted`, "task=": `"task=" is not accepted`, "tsk=a": "did you mean task?", "label=team": "label=KEY:VALUE",
		"label=a:b,label=a:c": "each key once", "{": "is a JSON object, and this isn't one",
	} {
		_, err := webhookFilter(given)
		require.ErrorContains(t, err, says, given)
	}
}

func TestWebhooksForTasksWithoutAPlan(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, variables := rowruntest.Connect(t, url), map[string]string{"DATABASE_URL": url}
	rowruntest.Change(t, conn, `SELECT rowrun.define_task('nightly', 'NOOP')`)
	got := rowrun(t.Context(), t, variables, "webhook", "create", "https://hooks.example/", "--name", "core", "--event", "run_failed,SCHEDULE_PAUSED", "--filter", "task=nightly,label=team:core")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	list := func() (shown []shownWebhook) {
		got := rowrun(t.Context(), t, variables, "webhook", "list", "-o", "json")
		require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
		require.NoError(t, json.Unmarshal([]byte(got.Stdout), &shown))
		return shown
	}
	require.Equal(t, []string{"RUN_FAILED", "SCHEDULE_PAUSED"}, list()[0].Events)
	require.JSONEq(t, `{"task": ["nightly"], "label": {"team": "core"}}`, string(list()[0].Filter))
	got = rowrun(t.Context(), t, variables, "webhook", "list", "-o", "yaml")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	require.Regexp(t, `(?s)filter:.*label:.*team: core`, got.Stdout)

	got = rowrun(t.Context(), t, variables, "webhook", "update", "core", "--filter", "type=NOOP", "--events", "PIPELINE_FAILED")
	require.Equal(t, cli.ExitFailed, got.Code)
	require.Contains(t, got.Stderr, "means nothing for PIPELINE_FAILED")
	require.Contains(t, got.Stderr, "another webhook")
	got = rowrun(t.Context(), t, variables, "webhook", "update", "core", "--filter", "typ=NOOP")
	require.Equal(t, cli.ExitUsage, got.Code)
	got = rowrun(t.Context(), t, variables, "webhook", "update", "core", "--filter", "")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	require.Contains(t, got.Stderr, "changed: filter")
	require.Equal(t, "null", string(list()[0].Filter))

	rowruntest.Change(t, conn, `SELECT rowrun.run_task('nightly'); UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE status = 'PENDING';
		UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r'; UPDATE rowrun.task_run SET status = 'FAILED'`)
	got = rowrun(t.Context(), t, variables, "webhook", "deliveries")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	require.Regexp(t, `(?m)^1 +PENDING +RUN_FAILED +run 1 `, got.Stdout)
	got = rowrun(t.Context(), t, variables, "webhook", "deliveries", "-o", "json")
	require.Contains(t, got.Stdout, `"plan_id": null`)
	require.Contains(t, got.Stdout, `"root_id": 1`)
	got = rowrun(t.Context(), t, variables, "webhook", "deliveries", "--run", "nightly", "-o", "name")
	require.Equal(t, "1\n", got.Stdout, got.Stderr)
	rowruntest.Change(t, conn, `SELECT rowrun.run_task('nightly')`)
	got = rowrun(t.Context(), t, variables, "webhook", "deliveries", "--run", "2", "-o", "name")
	require.Empty(t, got.Stdout)
}

// Who renames a task isn't told that a filter names it; doctor tells until there is one again.
func TestDoctorNamesFiltersOfTasksThatAreNotThere(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := rowruntest.Connect(t, url)
	rowruntest.Change(t, conn, `SELECT rowrun.define_task('a', 'NOOP');
		INSERT INTO rowrun.webhook (name, url, events, filter) VALUES ('core', 'https://hooks.example', '{RUN_FAILED}', '{"task": ["a", "1"]}')`)
	_, findings := diagnosis(t, url)
	require.Empty(t, of(findings, "webhooks"))
	rowruntest.Change(t, conn, `UPDATE rowrun.task SET name = 'b'`)
	_, findings = diagnosis(t, url)
	f := one(t, findings, "webhooks", doctor.Warning)
	require.Contains(t, f.Text, `the filter of webhook 1 (core) names the task "a"`)
	got := mend(t, url, f, nil)
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	got = rowrun(t.Context(), t, map[string]string{"DATABASE_URL": url}, "webhook", "update", "core", "--filter", "task=b")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	_, findings = diagnosis(t, url)
	require.Empty(t, of(findings, "webhooks"))
}

// A sample links to where people reach the dashboard, as messages do.
func TestWebhookTestLinksToTheDashboard(t *testing.T) {
	t.Parallel()
	bodies := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- string(body)
	}))
	t.Cleanup(server.Close)
	url := storetest.New(t)
	insertWebhook(t, rowruntest.Connect(t, url), server.URL, "", "discord")
	variables := map[string]string{"DATABASE_URL": url, "ROWRUN_WEBHOOK_ALLOW_CIDR": "127.0.0.0/8", "ROWRUN_PUBLIC_URL": "https://rowrun.example/jobs/"}
	got := rowrun(t.Context(), t, variables, "webhook", "test", "hook")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	require.Contains(t, <-bodies, `"url": "https://rowrun.example/jobs/"`)
	for _, wrong := range []string{"rowrun.example", "ftp://rowrun.example", "https://u:p@rowrun.example", "https://rowrun.example/?a=b", "https://rowrun.example/#x", "https://rowrun.example/<!channel>", "https://rowrun.example/a|b"} {
		variables["ROWRUN_PUBLIC_URL"] = wrong
		got = rowrun(t.Context(), t, variables, "webhook", "test", "hook")
		require.Equal(t, cli.ExitUsage, got.Code, wrong)
		require.Contains(t, got.Stderr, "--public-url")
	}
}
