package commands

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

// serving is a replica in this process.
type serving struct {
	base string // of its HTTP
	stop context.CancelFunc
	code chan int
}

// startServing runs `rowrun serve` until the test ends or stop is called.
func startServing(t *testing.T, url string, args ...string) *serving {
	t.Helper()
	return startServingWith(t, url, nil, args...)
}

// startServingWith is startServing with these variables in its environment.
func startServingWith(t *testing.T, url string, variables map[string]string, args ...string) *serving {
	t.Helper()
	return startCommand(t, url, variables, append([]string{"serve", "--http-addr", "127.0.0.1:0", "--sweep-interval", "10m"}, args...)...)
}

// startCommand runs a command that serves HTTP until the test ends or stop is called.
func startCommand(t *testing.T, url string, variables map[string]string, args ...string) *serving {
	t.Helper()
	env := map[string]string{"DATABASE_URL": url}
	maps.Copy(env, variables)
	ctx, stop := context.WithCancel(context.Background())
	s := &serving{stop: stop, code: make(chan int, 1)}
	logs, stderr := io.Pipe()
	addr, drained := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(drained)
		for lines := bufio.NewReader(logs); ; { // no Scanner: it ends at a long line, and who writes the next would wait for ever
			text, err := lines.ReadBytes('\n')
			var line struct{ Message, Addr string }
			if json.Unmarshal(text, &line) == nil && line.Message == "HTTP server started" {
				addr <- line.Addr
			}
			if err != nil {
				return
			}
		}
	}()
	go func() {
		code := run(ctx, args, cli.Environment{
			Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: stderr,
			Lookup: rowruntest.LookupIn(env),
		})
		_ = stderr.Close()
		s.code <- code
	}()
	t.Cleanup(func() {
		stop()
		<-drained
	})
	select {
	case a := <-addr:
		s.base = "http://" + a
	case code := <-s.code:
		require.Fail(t, "serve ended", "code %d", code)
	}
	return s
}

func (s *serving) status(t *testing.T, path string) (int, string) {
	t.Helper()
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.base+path, nil)
	require.NoError(t, err)
	resp, err := client.Do(req)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(body)
}

// metrics is what a scrape gets, without the deployment that stands on each series.
func (s *serving) metrics(t *testing.T) string {
	t.Helper()
	code, text := s.status(t, "/metrics")
	require.Equal(t, http.StatusOK, code)
	var bare strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			require.Regexp(t, `[{,]deployment="[0-9a-f]{8}"[,}]`, line)
		}
		bare.WriteString(line)
	}
	return strings.ReplaceAll(regexp.MustCompile(`deployment="[0-9a-f]{8}",?`).ReplaceAllString(bare.String(), ""), "{} ", " ")
}

// writes says that the replica writes the stream.
func (s *serving) writes(t *testing.T) bool {
	t.Helper()
	return strings.Contains(s.metrics(t), "\nrowrun_stream_writing 1\n")
}

func (s *serving) awaitReady(t *testing.T) {
	t.Helper()
	rowruntest.Eventually(t, "ready", func() bool {
		code, _ := s.status(t, "/readyz")
		return code == http.StatusOK
	})
}

// insertRun makes a task and one run of it.
func insertRun(t *testing.T, conn *pgx.Conn, kind, payload string, databaseID *string) int64 {
	t.Helper()
	var id int64
	require.NoError(t, conn.QueryRow(t.Context(), `
WITH made AS (INSERT INTO rowrun.task (type, payload, database_id) VALUES ($1, $2, $3) RETURNING id)
SELECT id FROM made`, kind, payload, databaseID).Scan(&id))
	require.NoError(t, conn.QueryRow(t.Context(), "INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id", id).Scan(&id))
	return id
}

func awaitStatus(t *testing.T, conn *pgx.Conn, id int64, want string) {
	t.Helper()
	var got, result string
	rowruntest.Eventually(t, want, func() bool {
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT status, result::text FROM rowrun.task_run WHERE id = $1", id).Scan(&got, &result))
		require.False(t, got != want && (got == "DONE" || got == "FAILED"), "run %d ended %s: %s", id, got, result)
		return got == want
	})
}

// The sweeps are far apart here: only the notification can have woken the replica.
func TestServeRunsWhatIsInsertedAndStopsCleanly(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	s := startServing(t, url)
	s.awaitReady(t)
	conn := rowruntest.Connect(t, url)
	awaitStatus(t, conn, insertRun(t, conn, "NOOP", "{}", nil), "DONE")
	awaitStatus(t, conn, insertRun(t, conn, "NOOP", `{"fail": "as asked"}`, nil), "FAILED")
	s.stop()
	require.Equal(t, cli.ExitDone, <-s.code)
	var rows int
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM rowrun.replica_heartbeat").Scan(&rows))
	require.Zero(t, rows, "a clean stop removes its heartbeat")
}

func TestServeRunsEachTypeThatIsConfigured(t *testing.T) {
	t.Parallel()
	app := http.Server{ReadHeaderTimeout: 5 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Rowrun-Seen", r.Header.Get("Rowrun-Run-Id"))
	})}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = app.Serve(listener)
	}()
	t.Cleanup(func() {
		_ = app.Close()
		<-served
	})
	url, target := storetest.New(t), storetest.Empty(t)
	path := rowruntest.ConfigFile(t, "databases: {orders: {url: '"+target+"', lock_timeout: 5s}}\ncommands: {nothing: {path: /bin/true}}\n")
	s := startServing(t, url, "--config", path, "--app-url", "http://"+listener.Addr().String())
	s.awaitReady(t)

	conn, orders := rowruntest.Connect(t, url), "orders"
	runs := []int64{
		insertRun(t, conn, "SQL", `{"sql": "CREATE TABLE made (id int)"}`, &orders),
		insertRun(t, conn, "HTTP", `{"path": "/work"}`, nil),
		insertRun(t, conn, "COMMAND", `{"command": "nothing"}`, nil),
	}
	for _, id := range runs {
		awaitStatus(t, conn, id, "DONE")
	}
	var made bool
	require.NoError(t, rowruntest.Connect(t, target).QueryRow(t.Context(), "SELECT to_regclass('made') IS NOT NULL").Scan(&made))
	require.True(t, made)
}

func TestServeSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	variables := map[string]string{"DATABASE_URL": storetest.Empty(t)}
	got := rowrun(t.Context(), t, variables, "serve", "--http-addr", "off")
	require.Equal(t, cli.ExitFailed, got.Code)
	require.Contains(t, got.Stderr, "run `rowrun migrate up`, or serve with --migrate")

	got = rowrun(t.Context(), t, variables, "serve", "--app-url", "ftp://x")
	require.Equal(t, cli.ExitUsage, got.Code)
	got = rowrun(t.Context(), t, variables, "serve", "--config", rowruntest.ConfigFile(t, "commands: {a: {path: /not/there}}"))
	require.Equal(t, cli.ExitUsage, got.Code)
	require.Contains(t, got.Stderr, "/not/there")
}

func TestServeMigratesFirstWhereAsked(t *testing.T) {
	t.Parallel()
	s := startServing(t, storetest.Empty(t), "--migrate")
	s.awaitReady(t)
}

func TestServeIsNotReadyWithoutItsDatabase(t *testing.T) {
	t.Parallel()
	cluster := storetest.OwnCluster(t)
	s := startServing(t, storetest.On(t, cluster), "--drain-timeout", "1s")
	s.awaitReady(t)
	cluster.Kill()
	rowruntest.Eventually(t, "not ready", func() bool {
		code, body := s.status(t, "/readyz")
		return code == http.StatusServiceUnavailable && strings.Contains(body, `"database":{"ok":false`)
	})
	code, _ := s.status(t, "/livez")
	require.Equal(t, http.StatusOK, code)
	require.NoError(t, cluster.Restart(t.Context()))
	s.awaitReady(t)
}
