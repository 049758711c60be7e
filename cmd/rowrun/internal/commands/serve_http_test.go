package commands

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

// eventReader reads lines from /events.
type eventReader struct {
	lines chan eventLine
	close func()
}

type eventLine struct {
	ID    string `json:"-"`
	Event string
	RunID int64 `json:"run_id"`
	To    string
}

// readEvents returns when the replica has let the reader in.
func readEvents(t *testing.T, base, lastID string) *eventReader {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/events", nil)
	require.NoError(t, err)
	if lastID != "" {
		req.Header.Set("Last-Event-ID", lastID)
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req) //nolint:bodyclose // r.close does
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	r := &eventReader{lines: make(chan eventLine, 1000)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer close(r.lines)
		id := ""
		for scanner := bufio.NewScanner(resp.Body); scanner.Scan(); {
			if text, ok := strings.CutPrefix(scanner.Text(), "id: "); ok {
				id = text
			}
			text, ok := strings.CutPrefix(scanner.Text(), "data: ")
			line := eventLine{ID: id}
			if ok && json.Unmarshal([]byte(text), &line) == nil {
				r.lines <- line
			}
		}
	}()
	r.close = func() {
		cancel()
		_ = resp.Body.Close()
		<-ended
	}
	t.Cleanup(r.close)
	return r
}

// of reads until a run is DONE and returns what came of it.
func (r *eventReader) of(t *testing.T, run int64) (statuses string, last eventLine) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		select {
		case line, open := <-r.lines:
			require.True(t, open, "the stream ended")
			require.NotEqual(t, "stream.gap", line.Event)
			if line.RunID != run {
				continue
			}
			statuses += line.To + " "
			if line.To == "DONE" {
				return strings.TrimSpace(statuses), line
			}
		case <-deadline:
			require.Fail(t, "events did not come in time", statuses)
		}
	}
}

const allStatuses = "PENDING AVAILABLE RUNNING DONE"

// The replica that writes the stream serves what it writes, another one what it reads for itself.
func TestEventsOfEveryReplicaTellEveryTransition(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	one, two := startServing(t, url), startServing(t, url)
	one.awaitReady(t)
	two.awaitReady(t)
	writers := func() (n int) {
		for _, s := range []*serving{one, two} {
			if s.writes(t) {
				n++
			}
		}
		return n
	}
	rowruntest.Eventually(t, "one writes the stream", func() bool { return writers() == 1 })
	conn := rowruntest.Connect(t, url)
	for _, s := range []*serving{one, two} {
		r := readEvents(t, s.base, "")
		first := insertRun(t, conn, "NOOP", "{}", nil)
		statuses, last := r.of(t, first)
		require.Equal(t, allStatuses, statuses)
		r.close()
		second := insertRun(t, conn, "NOOP", "{}", nil)
		awaitStatus(t, conn, second, "DONE")
		statuses, _ = readEvents(t, s.base, last.ID).of(t, second) // nothing was lost meanwhile
		require.Equal(t, allStatuses, statuses)
	}
	require.Equal(t, 1, writers())
}

// One run of many, told to be wanted in each of the ways.
func TestStreamShowsWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := rowruntest.Connect(t, url)
	rowruntest.Change(t, conn, `INSERT INTO rowrun.plan (id, name) VALUES (900, 'a');
INSERT INTO rowrun.task (id, name, type, queue, plan_id, database_id) VALUES
(700, 'mine', 'MINE', 'far', 900, 'orders'), (701, 'other', 'NOOP', 'default', NULL, NULL);
INSERT INTO rowrun.task_run (id, task_id) VALUES (500, 700), (501, 701), (502, 701)`)
	for _, args := range [][]string{
		{"--plan", "900"}, {"--plan", "a"}, {"--task", "mine"}, {"--task", "700"}, {"--run", "500"}, {"--type", "MINE,SQL"}, {"--queue", "far"}, {"--database", "orders"},
	} {
		for _, format := range []string{"json", "text"} {
			reader, writer := io.Pipe()
			_, logs := start(t, url, writer, append([]string{"stream", "--since", "1h", "--format", format}, args...)...)
			line, err := bufio.NewReader(reader).ReadString('\n')
			require.NoError(t, err, logs.lines)
			require.Contains(t, line, map[string]string{"json": `"run_id":500`, "text": "run 500 "}[format], args)
			require.NoError(t, reader.Close())
		}
	}
	rowruntest.Change(t, conn, `SELECT rowrun.cancel_run(id) FROM rowrun.task_run ORDER BY id`)
	got := rowrun(t.Context(), t, map[string]string{"DATABASE_URL": url}, "stream", "--since", "1h", "--until-idle", "--status", "canceled", "--type", "NOOP")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	require.Equal(t, 2, strings.Count(got.Stdout, "\n"), got.Stdout)
	require.Equal(t, 2, strings.Count(got.Stdout, `"to":"CANCELED"`), got.Stdout)
	for _, wrong := range [][]string{{"--plan", "x", "--replica", "http://127.0.0.1:1"}, {"--run", "0"}, {"--status", "OPEN"}} {
		got = rowrun(t.Context(), t, map[string]string{"DATABASE_URL": url}, append([]string{"stream"}, wrong...)...)
		require.Equal(t, cli.ExitUsage, got.Code)
		require.Contains(t, got.Stderr, wrong[0]+": ")
	}
	got = rowrun(t.Context(), t, map[string]string{"DATABASE_URL": url}, "stream", "--plan", "x")
	require.Equal(t, cli.ExitFailed, got.Code)
	require.Contains(t, got.Stderr, `no plan named "x"`)
}

// A replica's own history answers from any of its lines on, and again after the connection was lost.
func TestStreamReadsFromAReplica(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	s := startServing(t, url)
	s.awaitReady(t)
	rowruntest.Eventually(t, "it writes the stream", func() bool { return s.writes(t) }) // where that begins is a gap
	conn := rowruntest.Connect(t, url)
	r := readEvents(t, s.base, "")
	_, last := r.of(t, insertRun(t, conn, "NOOP", "{}", nil))
	second := insertRun(t, conn, "NOOP", "{}", nil)
	awaitStatus(t, conn, second, "DONE")
	for format, want := range map[string]string{"json": `"run_id":%d,`, "text": "  run %d "} {
		reader, writer := io.Pipe()
		_, logs := start(t, url, writer, "stream", "--replica", s.base, "--from", last.ID, "--format", format)
		lines := bufio.NewReader(reader)
		for _, status := range strings.Fields(allStatuses) {
			line, err := lines.ReadString('\n')
			require.NoError(t, err, logs.lines)
			require.Contains(t, line, fmt.Sprintf(want, second))
			require.Contains(t, line, status)
		}
		require.NoError(t, reader.Close())
	}

	asked, n := make(chan string, 100), atomic.Int64{} // each connection breaks after one line
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		asked <- req.Header.Get("Last-Event-ID")
		id := n.Add(1)
		_, _ = fmt.Fprintf(w, "retry: 1000\n: a comment\n\nid: %d\ndata: {\"run_id\":%d}\n\n", id, id)
	}))
	t.Cleanup(broken.Close)
	reader, writer := io.Pipe()
	start(t, url, writer, "stream", "--replica", broken.URL, "--type", "NOOP")
	lines := bufio.NewReader(reader)
	for _, want := range []string{"{\"run_id\":1}\n", "{\"run_id\":2}\n"} {
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, want, line)
	}
	require.NoError(t, reader.Close())
	require.Empty(t, <-asked)
	require.Equal(t, "1", <-asked)

	got := rowrun(t.Context(), t, nil, "stream", "--replica", s.base, "--http-token", "env:NONE")
	require.Equal(t, cli.ExitUsage, got.Code)
	forbidden := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "set a token", http.StatusForbidden) }))
	t.Cleanup(forbidden.Close)
	got = rowrun(t.Context(), t, nil, "stream", "--replica", forbidden.URL)
	require.Equal(t, cli.ExitFailed, got.Code)
	require.Contains(t, got.Stderr, "set a token")
	for _, wrong := range [][]string{{"ftp://localhost"}, {"http://user:word@localhost"}, {"http://localhost/events"}, {"http://localhost", "--since", "1h"}} {
		got = rowrun(t.Context(), t, nil, append([]string{"stream", "--replica"}, wrong...)...)
		require.Equal(t, cli.ExitUsage, got.Code)
		require.Contains(t, got.Stderr, "--replica: ")
		require.NotContains(t, got.Stderr, "word")
	}
}

func TestStatusAndMetricsTellOfTheReplica(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	s := startServing(t, url, "--replica-name", "one")
	s.awaitReady(t)
	conn := rowruntest.Connect(t, url)
	awaitStatus(t, conn, insertRun(t, conn, "NOOP", "{}", nil), "DONE")
	awaitStatus(t, conn, insertRun(t, conn, "NOOP", `{"fail": "as asked"}`, nil), "FAILED")
	gated := "d"
	awaitStatus(t, conn, insertRun(t, conn, "NOOP", `{"sleep": "1h"}`, &gated), "RUNNING")

	var status struct {
		Status      string
		ReplicaName string `json:"replica_name"`
		ReplicaID   string `json:"replica_id"`
		Completed   int
		Failed      int
		Replicas    []struct {
			ReplicaID string `json:"replica_id"`
			Running   int
			LastSeen  time.Time `json:"last_seen"`
		}
	}
	rowruntest.Eventually(t, "status", func() bool {
		code, body := s.status(t, "/status")
		require.Equal(t, http.StatusOK, code)
		require.NoError(t, json.Unmarshal([]byte(body), &status), body)
		return status.Completed == 1 && status.Failed == 1 && status.Replicas[0].Running == 1
	})
	require.Equal(t, "running", status.Status)
	require.Equal(t, "one", status.ReplicaName)
	require.Len(t, status.Replicas, 1)
	require.Equal(t, status.ReplicaID, status.Replicas[0].ReplicaID)
	require.WithinDuration(t, time.Now(), status.Replicas[0].LastSeen, time.Minute)

	var text string
	rowruntest.Eventually(t, "the sample of starts", func() bool {
		text = s.metrics(t)
		return strings.Contains(text, "rowrun_scheduler_insert_to_start_seconds_count 3")
	})
	for _, want := range []string{
		`rowrun_scheduler_runs_total{status="RUNNING",type="NOOP"} 3`,
		`rowrun_scheduler_runs_total{status="DONE",type="NOOP"} 1`,
		`rowrun_scheduler_runs_total{status="FAILED",type="NOOP"} 1`,
		`rowrun_scheduler_run_duration_seconds_count{type="NOOP"} 2`,
		`rowrun_scheduler_promoted_runs_total 1`,
		`rowrun_scheduler_slots_used 1`,
		`rowrun_scheduler_lost_wakeups_total 0`,
		`rowrun_events_wake_source{source="notify"} 1`,
		`rowrun_store_live_replicas 1`,
	} {
		require.Contains(t, text, want)
	}
	_, whole := s.status(t, "/metrics")
	var deployment string
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT left(id::text, 8) FROM rowrun.deployment`).Scan(&deployment))
	require.Contains(t, whole, `rowrun_store_live_replicas{deployment="`+deployment+`"} 1`)
	_, body := s.status(t, "/readyz")
	for _, check := range []string{"database", "schema", "heartbeat", "draining", "wake"} {
		require.Contains(t, body, `"`+check+`":{"ok":true`)
	}
	require.Contains(t, body, `"detail":"notify"`)
}

func TestAttemptsOfWebhooksAreCounted(t *testing.T) {
	t.Parallel()
	app := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(app.Close)
	url := storetest.New(t)
	s := startServing(t, url, "--webhook-allow-cidr", "127.0.0.0/8")
	s.awaitReady(t)
	conn := rowruntest.Connect(t, url)
	_, err := conn.Exec(t.Context(), `INSERT INTO rowrun.webhook (url) VALUES ($1)`, app.URL)
	require.NoError(t, err)
	rowruntest.Change(t, conn, `INSERT INTO rowrun.plan (id) VALUES (900); INSERT INTO rowrun.task (plan_id, name, type) VALUES (900, 'a', 'NOOP'); SELECT rowrun.run_plan(900)`)
	rowruntest.Eventually(t, "the delivery is counted", func() bool {
		text := s.metrics(t)
		return strings.Contains(text, `rowrun_notifier_webhook_attempts_total{result="delivered"} 1`)
	})
}

// The trigger that announces inserts is gone: only the sweep can find them.
func TestWorkThatOnlyASweepFindsIsALostWakeUp(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	s := startServing(t, url, "--sweep-interval", "500ms", "--stream-source", "off")
	s.awaitReady(t)
	rowruntest.Eventually(t, "it listens, and the wake-ups of the start are over", func() bool {
		text := s.metrics(t)
		return strings.Contains(text, "\nrowrun_events_connected 1\n") && regexp.MustCompile(`sweeps_total{sweep="work"} ([4-9]|\d\d)`).MatchString(text)
	})
	conn := rowruntest.Connect(t, url)
	rowruntest.Change(t, conn, "ALTER TABLE rowrun.task_run DISABLE TRIGGER task_run_inserted")
	rowruntest.Eventually(t, "a lost wake-up is counted", func() bool { // unless another wake-up came beside that sweep
		awaitStatus(t, conn, insertRun(t, conn, "NOOP", "{}", nil), "DONE")
		return regexp.MustCompile(`\nrowrun_scheduler_lost_wakeups_total [1-9]`).MatchString(s.metrics(t))
	})
}

func TestReadyzSaysThatTheDatabaseTakesNoWrites(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	s := startServing(t, url)
	s.awaitReady(t)
	conn := rowruntest.Connect(t, url)
	rowruntest.Change(t, conn, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$`)
	rowruntest.Change(t, conn, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	rowruntest.Eventually(t, "not ready", func() bool {
		code, body := s.status(t, "/readyz")
		return code == http.StatusServiceUnavailable && strings.Contains(body, "takes no writes")
	})
	rowruntest.Change(t, conn, `SET default_transaction_read_only = off; DO $$ BEGIN EXECUTE format('ALTER DATABASE %I RESET default_transaction_read_only', current_database()); END $$`)
	rowruntest.Change(t, conn, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	s.awaitReady(t)
}

func TestTokenOfHTTPIsNeverGivenInTheClear(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(path, []byte("s3cret\n"), 0o600))
	lookup := rowruntest.LookupIn(map[string]string{"TOKEN": "from-env", "SPACED": "a b"})
	for given, want := range map[string]string{"": "", "env:TOKEN": "from-env", "file:" + path: "s3cret"} {
		token, err := cli.ResolveToken("--http-token", given, lookup)
		require.NoError(t, err, given)
		require.Equal(t, want, token)
	}
	for _, wrong := range []string{"s3cret", "env:NOWHERE", "file:" + path + "x", "env:SPACED"} {
		_, err := cli.ResolveToken("--http-token", wrong, lookup)
		var usage *cli.UsageError
		require.ErrorAs(t, err, &usage, wrong)
		require.NotContains(t, err.Error(), "a b")
	}
	s := startServing(t, storetest.New(t), "--http-addr", "0.0.0.0:0", "--http-token", "file:"+path)
	s.base = strings.Replace(s.base, "[::]", "127.0.0.1", 1)
	code, _ := s.status(t, "/status")
	require.Equal(t, http.StatusUnauthorized, code)
	code, _ = s.status(t, "/livez")
	require.Equal(t, http.StatusOK, code)
}
