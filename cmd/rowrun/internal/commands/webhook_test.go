package commands

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

const sampleSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func insertWebhook(t *testing.T, conn *pgx.Conn, url, secretRef, format string) (id int64) {
	t.Helper()
	require.NoError(t, conn.QueryRow(t.Context(), `INSERT INTO rowrun.webhook (name, url, secret_ref, format)
		VALUES ('hook', $1, nullif($2, ''), $3) RETURNING id`, url, secretRef, format).Scan(&id))
	return id
}

func insertDelivery(t *testing.T, conn *pgx.Conn, webhook int64, plan int, status string) (id int64) {
	t.Helper()
	require.NoError(t, conn.QueryRow(t.Context(), `INSERT INTO rowrun.webhook_delivery
			(webhook_id, plan_id, round, event_type, message_id, payload, status, attempts, response_code, last_error)
		VALUES ($1, $2, 1, 'PIPELINE_FAILED', format('msg_%s', $2::bigint), '{"hunter2": true}', $3, 3, 500, 'answered with HTTP 500') RETURNING id`,
		webhook, plan, status).Scan(&id))
	return id
}

func TestWebhookListShowsNoPaths(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, variables := rowruntest.Connect(t, url), map[string]string{"DATABASE_URL": url}
	one := insertWebhook(t, conn, "https://hooks.example:8443/hunter2?token=hunter2", "env:SECRET", "standard")
	insertWebhook(t, conn, "env:HOOK", "", "slack")
	rowruntest.Change(t, conn, "INSERT INTO rowrun.webhook (project, url, enabled) VALUES ('shop', 'https://shop.example', false)")
	insertDelivery(t, conn, one, 1, "PENDING")
	insertDelivery(t, conn, one, 2, "DELIVERED")

	got := rowrun(t.Context(), t, variables, "webhook", "list")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	lines := strings.Split(strings.TrimSpace(got.Stdout), "\n")
	require.Len(t, lines, 4)
	require.Regexp(t, `^WEBHOOK +PROJECT +NAME +URL`, lines[0])
	require.Regexp(t, `^1 +default +hook +https://hooks.example:8443/… +env:SECRET +PIPELINE_FAILED,PIPELINE_COMPLETED +standard +true +1$`, lines[1])
	require.Regexp(t, `^2 +default +hook +env:HOOK +PIPELINE_FAILED,PIPELINE_COMPLETED +slack +true +0$`, lines[2])
	require.NotContains(t, got.Stdout, "hunter2")

	got = rowrun(t.Context(), t, variables, "webhook", "list", "--project", "shop", "-o", "json")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	var shown []shownWebhook
	require.NoError(t, json.Unmarshal([]byte(got.Stdout), &shown))
	require.Len(t, shown, 1)
	require.Equal(t, "https://shop.example/…", *shown[0].URL)
	require.False(t, shown[0].Enabled)

	// A viewer sees that there are some, and not where they lead.
	rowruntest.Change(t, conn, "ALTER DATABASE "+conn.Config().Database+" SET role = rowrun_viewer")
	got = rowrun(t.Context(), t, variables, "webhook", "list", "-o", "json")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	require.NoError(t, json.Unmarshal([]byte(got.Stdout), &shown))
	require.Len(t, shown, 3)
	for _, w := range shown {
		require.Nil(t, w.URL)
		require.Nil(t, w.SecretRef)
	}
}

func TestWebhookDeliveriesAreListedAndDeliveredAgain(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, variables := rowruntest.Connect(t, url), map[string]string{"DATABASE_URL": url}
	hook := insertWebhook(t, conn, "https://hooks.example/", "", "standard")
	pending, gone := insertDelivery(t, conn, hook, 7, "PENDING"), insertDelivery(t, conn, hook, 8, "EXHAUSTED")
	list := func(args ...string) (ids []int64) {
		got := rowrun(t.Context(), t, variables, append([]string{"webhook", "deliveries", "-o", "json"}, args...)...)
		require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
		require.NotContains(t, got.Stdout, "hunter2", "the body is not shown")
		var all []struct {
			ID int64 `json:"id"`
		}
		require.NoError(t, json.Unmarshal([]byte(got.Stdout), &all))
		for _, d := range all {
			ids = append(ids, d.ID)
		}
		return ids
	}
	require.Equal(t, []int64{gone, pending}, list())
	require.Equal(t, []int64{gone}, list("--status", "exhausted,disabled"))
	require.Equal(t, []int64{pending}, list("--plan", "7", "--webhook", asText(hook)))
	require.Empty(t, list("--webhook", "99"))

	got := rowrun(t.Context(), t, variables, "webhook", "deliveries", "--limit", "1", "-o", "wide")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	require.Regexp(t, `(?m)^2 +EXHAUSTED +PIPELINE_FAILED +plan 8 +1 +1 +3 +500 +answered with HTTP 500 +\S.* msg_8$`, got.Stdout)

	got = rowrun(t.Context(), t, variables, "webhook", "redeliver", asText(pending))
	require.Equal(t, cli.ExitFailed, got.Code)
	require.Contains(t, got.Stderr, "delivery 1 is PENDING already")
	rowruntest.Change(t, conn, "UPDATE rowrun.webhook SET enabled = false")
	got = rowrun(t.Context(), t, variables, "webhook", "redeliver", asText(gone))
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	require.Equal(t, "PENDING\n", got.Stdout)
	require.Contains(t, got.Stderr, "webhook 1 is disabled: the delivery waits")
	var state string
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT concat_ws(' ', status, attempts, next_attempt_at <= now(), message_id, payload)
		FROM rowrun.webhook_delivery WHERE id = $1`, gone).Scan(&state))
	require.Equal(t, `PENDING 0 t msg_8 {"hunter2": true}`, state)

	got = rowrun(t.Context(), t, variables, "webhook", "redeliver", "99")
	require.Equal(t, cli.ExitFailed, got.Code)
	require.Contains(t, got.Stderr, "there is no delivery 99")
}

func TestWebhookTestSendsASignedSample(t *testing.T) {
	t.Parallel()
	type sent struct {
		header http.Header
		body   string
	}
	got, status := make(chan sent, 1), http.StatusAccepted
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- sent{r.Header, string(body)}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "thank you\x1b[2J")
	}))
	t.Cleanup(server.Close)
	url := storetest.New(t)
	conn := rowruntest.Connect(t, url)
	variables := map[string]string{"DATABASE_URL": url, "SECRET": sampleSecret, "HOOK": server.URL + "/hunter2"}
	signed, slack := insertWebhook(t, conn, "env:HOOK", "env:SECRET", "standard"), insertWebhook(t, conn, server.URL+"/hunter2", "", "slack")

	out := rowrun(t.Context(), t, variables, "webhook", "test", asText(signed))
	require.Equal(t, cli.ExitFailed, out.Code)
	require.Equal(t, "rowrun: nothing was sent to webhook 1: url: env:HOOK is not among the webhook_secrets of this environment's --config: add it there\n", out.Stderr)
	config := filepath.Join(t.TempDir(), "rowrun.yaml")
	require.NoError(t, os.WriteFile(config, []byte("webhook_secrets: [env:HOOK, env:SECRET]\n"), 0o600))
	variables["ROWRUN_CONFIG"] = config
	out = rowrun(t.Context(), t, variables, "webhook", "test", asText(signed))
	require.Equal(t, cli.ExitFailed, out.Code)
	require.Equal(t, "rowrun: webhook 1: the address is not public, and --webhook-allow-cidr does not name it\n", out.Stderr)
	variables["ROWRUN_WEBHOOK_ALLOW_CIDR"] = "127.0.0.0/8"
	out = rowrun(t.Context(), t, variables, "webhook", "test", asText(signed))
	require.Equal(t, cli.ExitDone, out.Code, out.Stderr)
	require.Regexp(t, `(?m)^status +202$`, out.Stdout)
	require.Regexp(t, `(?m)^body +thank you\x{FFFD}\[2J$`, out.Stdout)
	r := <-got
	verifier, err := standardwebhooks.NewWebhook(sampleSecret)
	require.NoError(t, err)
	require.NoError(t, verifier.Verify([]byte(r.body), r.header))
	require.Regexp(t, `^{"type":"TEST","timestamp":"[0-9TZ:.-]+","data":{"project":"default","message":"Test message from Rowrun"}}$`, r.body)

	status = http.StatusTeapot
	out = rowrun(t.Context(), t, variables, "webhook", "test", asText(slack), "-o", "json")
	require.Equal(t, cli.ExitFailed, out.Code)
	require.Equal(t, "rowrun: webhook 2 answered with HTTP 418 I'm a teapot\n", out.Stderr)
	require.Contains(t, (<-got).body, `"text": "Test message from Rowrun"`)
	var shown struct {
		Signed bool `json:"signed"`
		Status int  `json:"status"`
	}
	require.NoError(t, json.Unmarshal([]byte(out.Stdout), &shown))
	require.False(t, shown.Signed)
	require.Equal(t, 418, shown.Status)

	delete(variables, "SECRET")
	out = rowrun(t.Context(), t, variables, "webhook", "test", asText(signed))
	require.Equal(t, cli.ExitFailed, out.Code)
	require.Equal(t, "rowrun: nothing was sent to webhook 1: secret_ref: env:SECRET is not set in this environment\n", out.Stderr)
	require.Empty(t, got)
	out = rowrun(t.Context(), t, variables, "webhook", "test", "99")
	require.Equal(t, cli.ExitFailed, out.Code)
	require.Contains(t, out.Stderr, "there is no webhook 99")
}

func TestWebhookRefusesWrongUse(t *testing.T) {
	t.Parallel()
	variables := map[string]string{"DATABASE_URL": rowruntest.SomeURL}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"webhook"}, "create, delete, deliveries, list, listen, redeliver, test, update"},
		{[]string{"webhook", "create", ""}, "accepted: https://"},
		{[]string{"webhook", "create", "https://hooks.example", "--format", "slak"}, "did you mean slack?"},
		{[]string{"webhook", "create", "https://hooks.example", "--events", "PIPELINE_FAILD"}, "did you mean PIPELINE_FAILED?"},
		{[]string{"webhook", "create", "https://hooks.example", "--events", ""}, "for silence --enabled=false"},
		{[]string{"webhook", "update", "1"}, "nothing to change"},
		{[]string{"webhook", "delete", "0"}, "accepted: the id of a webhook, or its name"},
		{[]string{"webhook", "listen", "--listen-addr", "0.0.0.0:8486"}, "accepted: host:port of loopback"},
		{[]string{"webhook", "listen", "--listen-addr", "hooks.example:8486"}, "accepted: host:port of loopback"},
		{[]string{"webhook", "listen", "--secret-ref", "whsec_hunter2"}, "it is env:NAME or file:PATH"},
		{[]string{"webhook", "listen", "--secret-ref", "env:NOWHERE"}, "env:NOWHERE is not set in this environment"},
		{[]string{"webhook", "listen", "--answer", "100"}, "200 to 599"},
		{[]string{"webhook", "deliveries", "--status", "SENT"}, `--status: "SENT" is not accepted; accepted: PENDING`},
		{[]string{"webhook", "deliveries", "--limit", "0"}, "accepted: 1 to 10000"},
		{[]string{"webhook", "test"}, "accepted: ID"},
		{[]string{"webhook", "test", "0"}, "accepted: the id of a webhook"},
		{[]string{"webhook", "test", "1", "--webhook-allow-cidr", "10.0.0.1"}, "--webhook-allow-cidr: \"10.0.0.1\" is not accepted; accepted: networks such as 10.0.0.0/8"},
		{[]string{"webhook", "redeliver", "0"}, "accepted: the id of a delivery"},
		{[]string{"serve", "--webhook-allow-cidr", "10.0.0.0/8,::ffff:10.0.0.0/104"}, "--webhook-allow-cidr: \"::ffff:10.0.0.0/104\" is not accepted"},
	} {
		got := rowrun(t.Context(), t, variables, c.args...)
		require.Equal(t, cli.ExitUsage, got.Code, "%v: %s", c.args, got.Stderr)
		require.Contains(t, got.Stderr, c.says, "%v", c.args)
	}
}
