package commands

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestWebhookIsMadeChangedAndDeleted(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, variables := rowruntest.Connect(t, url), map[string]string{"DATABASE_URL": url}
	row := func() (text string) {
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT concat_ws(' ', project, name, url, coalesce(secret_ref, 'unsigned'), events::text, format, enabled)
			FROM rowrun.webhook WHERE id = 1`).Scan(&text))
		return text
	}
	// An author needs no more.
	rowruntest.Change(t, conn, "ALTER DATABASE "+conn.Config().Database+" SET role = rowrun_author")

	got := rowrun(t.Context(), t, variables, "webhook", "create", "env:HOOK", "--name", "on-call", "--secret-ref", "env:SECRET")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	require.Equal(t, "1\n", got.Stdout)
	require.Equal(t, "default on-call env:HOOK env:SECRET {PIPELINE_FAILED,PIPELINE_COMPLETED} standard t", row())

	got = rowrun(t.Context(), t, variables, "webhook", "update", "on-call", "--format", "slack", "--events", "pipeline_failed", "--secret-ref", "", "--enabled=false")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	require.Equal(t, "webhook 1 changed: secret_ref, events, format, enabled\n", got.Stderr)
	require.Equal(t, "default on-call env:HOOK unsigned {PIPELINE_FAILED} slack f", row())
	got = rowrun(t.Context(), t, variables, "webhook", "update", "1", "--format", "slack", "-o", "json")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	require.JSONEq(t, `{"webhook_id": 1, "changed": []}`, got.Stdout)

	got = rowrun(t.Context(), t, variables, "webhook", "update", "1", "--url", "https://ann:hunter2@hooks.example/")
	require.Equal(t, cli.ExitFailed, got.Code)
	require.Contains(t, got.Stderr, "url of a webhook has no user and password in it")
	require.NotContains(t, got.Stderr, "hunter2")
	got = rowrun(t.Context(), t, variables, "webhook", "update", "9", "--format", "slack")
	require.Equal(t, cli.ExitFailed, got.Code)
	require.Contains(t, got.Stderr, "there is no webhook 9")

	insertDelivery(t, conn, 1, 7, "PENDING")
	got = rowrun(t.Context(), t, variables, "webhook", "delete", "on-call")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	require.Equal(t, "deleted\n", got.Stdout)
	require.Contains(t, got.Stderr, "1 deliveries that were still to be made")
	got = rowrun(t.Context(), t, variables, "webhook", "delete", "1")
	require.Equal(t, cli.ExitFailed, got.Code)
	require.Contains(t, got.Stderr, "there is no webhook 1")
}

// What the commands offer is what the database takes.
func TestWebhookFlagsNameWhatTheDatabaseTakes(t *testing.T) {
	t.Parallel()
	conn := rowruntest.Connect(t, storetest.New(t))
	for _, format := range webhookFormats() {
		rowruntest.Change(t, conn, "INSERT INTO rowrun.webhook (url, format, events) VALUES ('https://hooks.example', $1, $2)", format, webhookEvents())
	}
	for column, named := range map[string][]string{"format": webhookFormats(), "events": webhookEvents()} {
		value := any("other")
		if column == "events" {
			value = []string{"other"}
		}
		_, err := conn.Exec(t.Context(), "UPDATE rowrun.webhook SET "+column+" = $1", value)
		require.Error(t, err)
		for _, word := range named {
			require.Regexp(t, `\b`+word+`\b`, err.Error())
		}
	}
}

// spoken collects what a command writes, and can be read meanwhile.
type spoken struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *spoken) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *spoken) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func TestWebhookListenVerifiesAndPrints(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := rowruntest.Connect(t, url)
	variables := map[string]string{
		"DATABASE_URL": url, "SECRET": sampleSecret, "OTHER": "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
		"ROWRUN_WEBHOOK_ALLOW_CIDR": "127.0.0.0/8", "ROWRUN_CONFIG": rowruntest.ConfigFile(t, "webhook_secrets: [env:SECRET, env:OTHER]\n"),
	}
	out, errout, ended := &spoken{}, &spoken{}, make(chan int, 1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go func() {
		ended <- run(ctx, []string{"webhook", "listen", "--listen-addr", "127.0.0.1:0", "--secret-ref", "env:SECRET", "--count", "4"},
			cli.Environment{Lookup: rowruntest.LookupIn(variables), Stdout: out, Stderr: errout, Version: "dev"})
	}()
	var address string
	rowruntest.Eventually(t, "it listens", func() bool {
		if found := regexp.MustCompile(`http://127\.0\.0\.1:\d+/`).FindString(errout.String()); found != "" {
			address = found
		}
		return address != ""
	})
	fits, differs := insertWebhook(t, conn, address, "env:SECRET", "standard"), insertWebhook(t, conn, address, "env:OTHER", "standard")
	bare := insertWebhook(t, conn, address, "", "slack")
	require.Equal(t, cli.ExitDone, rowrun(t.Context(), t, variables, "webhook", "test", asText(fits)).Code)
	for _, id := range []int64{differs, bare} {
		got := rowrun(t.Context(), t, variables, "webhook", "test", asText(id))
		require.Equal(t, cli.ExitFailed, got.Code)
		require.Contains(t, got.Stderr, "answered with HTTP 401")
	}
	// What isn't signed and isn't JSON obeys no terminal either.
	hostile, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, bytes.NewReader([]byte("\x1b[2J\n\x1b]0;x\a")))
	require.NoError(t, err)
	hostile.Close = true
	answer, err := http.DefaultClient.Do(hostile)
	require.NoError(t, err)
	_, _ = io.Copy(io.Discard, answer.Body)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, cli.ExitDone, <-ended, errout.String())
	text := out.String()
	require.Regexp(t, `(?m)^\d\d:\d\d:\d\d msg_\w+ VERIFIED, answered 204\n  \{\n    "type": "TEST",$`, text)
	require.Regexp(t, `(?m)^\S+ msg_\w+ REFUSED: no signature fits, answered 401$`, text)
	require.Regexp(t, `(?m)^\S+ msg_\w+ REFUSED: it is not signed, answered 401\n  \{\n    "text": "Test message from Rowrun",?$`, text)
	require.NotContains(t, text, "\x1b")
	require.NotContains(t, text, "\a")
}

func TestWebhookListenTellsCopiesApart(t *testing.T) {
	t.Parallel()
	var shown []received
	r := receiver{code: http.StatusNoContent, seen: map[string]struct{}{}, show: func(m received) error {
		shown = append(shown, m)
		return nil
	}}
	for range 2 {
		m := r.judge(http.Header{"Webhook-Id": {"msg_1"}, "Webhook-Signature": {"v1,x"}}, []byte(`{"a": 1}`))
		require.Equal(t, notChecked, m.Verdict)
		require.JSONEq(t, `{"a": 1}`, string(m.Body))
	}
	require.JSONEq(t, `"no json"`, string(r.judge(http.Header{}, []byte("no json")).Body))
	require.Equal(t, unsigned, r.judge(http.Header{}, nil).Verdict)
	for range 2 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader([]byte("{}")))
		require.NoError(t, err)
		req.Header.Set("webhook-id", "msg_2")
		r.ServeHTTP(&discarding{}, req)
	}
	require.Len(t, shown, 2)
	require.False(t, shown[0].Again)
	require.True(t, shown[1].Again)
	_, err := json.Marshal(shown)
	require.NoError(t, err)
}

// discarding is an answer that nobody reads.
type discarding struct{ header http.Header }

func (d *discarding) Header() http.Header {
	if d.header == nil {
		d.header = http.Header{}
	}
	return d.header
}
func (d *discarding) Write(p []byte) (int, error) { return len(p), nil }
func (d *discarding) WriteHeader(int)             {}

// A sample is made as events are: in the webhook's format, and with the header that belongs to it.
func TestWebhookTestIsInTheFormat(t *testing.T) {
	t.Parallel()
	type sent struct {
		kind string
		body []byte
	}
	got := make(chan sent, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- sent{r.Header.Get("Content-Type"), body}
	}))
	t.Cleanup(server.Close)
	url := storetest.New(t)
	conn, variables := rowruntest.Connect(t, url), map[string]string{"DATABASE_URL": url, "ROWRUN_WEBHOOK_ALLOW_CIDR": "127.0.0.0/8"}
	for format, key := range map[string]string{"standard": "data", "slack": "blocks", "teams": "attachments", "discord": "embeds", "cloudevents": "specversion"} {
		out := rowrun(t.Context(), t, variables, "webhook", "test", asText(insertWebhook(t, conn, server.URL, "", format)))
		require.Equal(t, cli.ExitDone, out.Code, out.Stderr)
		r := <-got
		want := "application/json"
		if format == "cloudevents" {
			want = "application/cloudevents+json; charset=utf-8"
		}
		require.Equal(t, want, r.kind)
		var body map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(r.body, &body))
		require.Contains(t, body, key)
		require.Contains(t, string(r.body), "Test message from Rowrun")
	}
}
