package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// devDir is a directory that the server's user can reach, also where that isn't ours.
func devDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{filepath.Dir(dir), dir} {
		require.NoError(t, os.Chmod(d, 0o755)) //nolint:gosec // see above
	}
	return filepath.Join(dir, "cluster")
}

// found waits for a line that a command wrote to its standard error, and returns the first group.
func found(t *testing.T, logs *streamed, pattern string) string {
	t.Helper()
	var match []string
	eventually(t, pattern, func() bool {
		logs.mu.Lock()
		defer logs.mu.Unlock()
		match = regexp.MustCompile("(?m)" + pattern).FindStringSubmatch(strings.Join(logs.lines, "\n"))
		return match != nil
	})
	return match[1]
}

func TestDevRunsItsSampleOnceAndGoesOnWithItsData(t *testing.T) {
	t.Parallel()
	dir := devDir(t)
	args := []string{"dev", "--sample", "--dir", dir, "--http-addr", "off", "--drain-timeout", "5s"}
	// What leads elsewhere in the environment is not for dev.
	const elsewhere = "postgres://nobody@127.0.0.1:1/elsewhere"

	var out streamed
	stop, logs := start(t, elsewhere, &out, args...)
	line := found(t, logs, `^psql '(.*)'$`)
	for _, run := range []struct {
		id   int64
		want string
	}{
		{1, lifeOfARun},
		{2, lifeOfARun},
		{3, lifeOfARun},
		{5, lifeOfARun},
		{4, "pending available running failed"},
		{6, lifeOfARun},
	} {
		eventually(t, "the whole sample in the stream", func() bool { return out.events(t, run.id) == run.want })
	}
	require.Equal(t, "Pipeline completed successfully",
		found(t, logs, `^PIPELINE_COMPLETED, plan 1 \(sample\): (.*)$`), "a webhook that was received and verified")
	conn := connect(t, line)
	var path, plan string
	require.NoError(t, conn.QueryRow(t.Context(), "SHOW search_path").Scan(&path))
	require.Equal(t, "rowrun,public", path)
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT status FROM plan_status WHERE name = 'sample' AND project = 'default'").Scan(&plan))
	require.Equal(t, "DONE", plan)
	demo := connect(t, strings.Replace(line, "dbname=rowrun", "dbname=demo", 1))
	var customers int
	require.NoError(t, demo.QueryRow(t.Context(), "SELECT count(city) FROM public.customer").Scan(&customers))
	require.Equal(t, 2, customers)

	got := rowrun(t.Context(), t, nil, "dev", "--dir", dir, "--http-addr", "off")
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.stderr, "another `rowrun dev` has "+dir)

	got = rowrun(t.Context(), t, map[string]string{"DATABASE_URL": found(t, logs, `^export DATABASE_URL='(.*)'$`)}, "run", "list", "--plan", "1", "-o", "json")
	require.Equal(t, exitDone, got.code, got.stderr)
	closeConn(t.Context(), conn)
	closeConn(t.Context(), demo)
	require.Equal(t, exitDone, stop())
	_, err := pgx.Connect(t.Context(), line)
	require.Error(t, err, "no server is left behind")
	require.FileExists(t, filepath.Join(dir, "data", "PG_VERSION"))

	var again streamed
	stop, logs = start(t, elsewhere, &again, args...)
	require.Equal(t, line, found(t, logs, `^psql '(.*)'$`), "the same port")
	eventually(t, "one run to look at", func() bool { return again.events(t, 7) == lifeOfARun })
	require.Equal(t, "Pipeline completed successfully on retry", found(t, logs, `^PIPELINE_COMPLETED, plan 1 \(sample\): (.*)$`),
		"with the address and the secret of this start")
	conn = connect(t, line)
	var plans, runs int
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT (SELECT count(*) FROM plan) * (SELECT count(*) FROM webhook), (SELECT count(*) FROM task_run)").Scan(&plans, &runs))
	require.Equal(t, 1, plans)
	require.Equal(t, 7, runs)

	closeConn(t.Context(), conn)

	// A server that ends on its own is started again.
	text, err := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.SplitN(string(text), "\n", 2)[0])
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	eventually(t, "another server", func() bool {
		text, err := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
		return err == nil && !strings.HasPrefix(string(text), strconv.Itoa(pid)+"\n") && tryDatabase(t.Context(), line) == nil
	})
	conn = connect(t, line)
	id := insertRun(t, conn, "NOOP", "{}", nil)
	eventually(t, "it serves again", func() bool { return strings.HasSuffix(again.events(t, id), "running done") })
	closeConn(t.Context(), conn)
	require.Equal(t, exitDone, stop(), "%v", logs.lines)
}

func TestDevRefusesWrongUse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--database-url", someURL}, "unknown flag: --database-url"},
		{[]string{"--migrate"}, "unknown flag: --migrate"},
		{[]string{"--sample", "--app-url", "http://127.0.0.1:1"}, "leave --app-url out"},
		{[]string{"--stale-after", "1s"}, "--stale-after"},
		{[]string{"now"}, "no arguments"},
	} {
		dir := filepath.Join(t.TempDir(), "none")
		got := rowrun(t.Context(), t, nil, append([]string{"dev", "--dir", dir}, c.args...)...)
		require.Equal(t, exitUsage, got.code, "%v: %s", c.args, got.stderr)
		require.Contains(t, got.stderr, c.says)
		require.NoDirExists(t, dir, "refused before anything was made")
	}
}

// What is printed is to be pasted as it is, whatever the directory is called.
func TestConnectionLineIsQuoted(t *testing.T) {
	t.Parallel()
	const odd = `/tmp/it's a \ dir`
	config, err := pgx.ParseConfig("host=" + conninfo("/tmp/plain") + " user=postgres dbname=rowrun options=-csearch_path=rowrun,public")
	require.NoError(t, err)
	require.Equal(t, "/tmp/plain", config.Host)
	require.Equal(t, "-csearch_path=rowrun,public", config.RuntimeParams["options"])
	require.Equal(t, `/tmp/it\'s\ a\ \\\ dir`, conninfo(odd))
	require.Equal(t, `'it'\''s'`, quoted("it's"))
}

// A message is believed only as it was signed, and told once.
func TestReceiverBelievesOnlyWhatIsSigned(t *testing.T) {
	t.Parallel()
	const body = `{"type": "PIPELINE_FAILED", "data": {"plan_id": 7, "plan": "roll\u001b[2Jout", "message": "Pipeline failed - Task a failed"}}`
	var told strings.Builder
	r, err := newReceiver(&told)
	require.NoError(t, err)
	other, err := newReceiver(io.Discard)
	require.NoError(t, err)
	post := func(signer *receiver, sent, signed string, at time.Time) int {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/webhook", strings.NewReader(sent))
		signature, err := signer.signer.Sign("msg_1", at, []byte(signed))
		require.NoError(t, err)
		request.Header.Set("webhook-id", "msg_1")
		request.Header.Set("webhook-timestamp", strconv.FormatInt(at.Unix(), 10))
		request.Header.Set("webhook-signature", signature)
		answer := httptest.NewRecorder()
		r.ServeHTTP(answer, request)
		return answer.Code
	}
	now := time.Now()
	require.Equal(t, http.StatusUnauthorized, post(other, body, body, now), "another secret")
	require.Equal(t, http.StatusUnauthorized, post(r, body+" ", body, now), "other bytes")
	require.Equal(t, http.StatusUnauthorized, post(r, body, body, now.Add(-time.Hour)), "an old one, sent again")
	require.Equal(t, http.StatusRequestEntityTooLarge, post(r, strings.Repeat(" ", maxWebhook+1), body, now))
	require.Equal(t, http.StatusBadRequest, post(r, "{", "{", now))
	require.Empty(t, told.String())
	require.Equal(t, http.StatusNoContent, post(r, body, body, now))
	require.Equal(t, http.StatusNoContent, post(r, body, body, now), "the same once more")
	require.Equal(t, "rowrun dev: the sample's app received a webhook, and its signature is right:\n"+
		"    PIPELINE_FAILED, plan 7 (roll\uFFFD[2Jout): Pipeline failed - Task a failed\n", told.String())
}

func TestEchoAppKeepsTheClaimToItself(t *testing.T) {
	t.Parallel()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/echo", strings.NewReader(`{"a": 1}`))
	request.Header.Set("Rowrun-Attempt", "1")
	request.Header.Set("Rowrun-Claim", "secret")
	answer := httptest.NewRecorder()
	echo(answer, request)
	require.Equal(t, http.StatusOK, answer.Code)
	require.JSONEq(t, `{"method": "POST", "path": "/echo", "rowrun-attempt": "1", "body": {"a": 1}}`, answer.Body.String())
}
