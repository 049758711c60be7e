package replica

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/auth"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

// answered is where an address is printed: whoever reads it there is answered at once, even while it is being printed.
type answered struct {
	t  *testing.T
	to io.Writer
}

func (a answered) Write(line []byte) (int, error) {
	address, _, _ := strings.Cut(strings.TrimSpace(string(line)), "#")
	r, err := http.NewRequestWithContext(a.t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	if err := resp.Body.Close(); err != nil {
		return 0, err
	}
	if resp.StatusCode != http.StatusOK {
		return 0, errors.New("the printed address answers with " + resp.Status)
	}
	return a.to.Write(line)
}

// A process that shows the dashboard prints where, with a token of its own, runs nothing, and leaves nothing behind.
func TestUIShowsTheDashboardAndRunsNothing(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := rowruntest.Connect(t, url)
	rowruntest.Change(t, conn, `INSERT INTO rowrun.task (type, name) VALUES ('NOOP', 'a')`)
	rowruntest.Change(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES (1)`)
	c := &UIConfig{Version: "v0", HTTPAddr: "127.0.0.1:0"}
	c.Database.URL = url
	c.Dashboard.Prefix = "/rowrun/"
	require.NoError(t, c.Validate(rowruntest.LookupIn(nil)))
	ctx, stop := context.WithCancel(t.Context())
	read, write := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := ServeUI(ctx, c, answered{t, write}, zerolog.Nop())
		ended <- err
		_ = write.CloseWithError(err)
	}()
	line, err := bufio.NewReader(read).ReadString('\n')
	require.NoError(t, err)
	base, token, found := strings.Cut(strings.TrimSpace(line), "/#token=")
	require.True(t, found, line)
	require.True(t, strings.HasSuffix(base, "/rowrun"), line)

	ask := func(method, path, body string, with ...string) (int, []byte) {
		r, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
		require.NoError(t, err)
		for _, one := range with {
			r.Header.Set("Authorization", "Bearer "+one)
		}
		r.Header.Set("Content-Type", "application/json")
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
		require.NoError(t, err)
		defer func() { _ = resp.Body.Close() }()
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, text
	}
	status, text := ask(http.MethodGet, "/api/v1/session", "", token)
	require.Equal(t, http.StatusOK, status)
	var session struct {
		As   string
		Acts bool
	}
	require.NoError(t, json.Unmarshal(text, &session))
	require.True(t, session.Acts)
	require.Equal(t, "postgres", session.As, "who acts is told by the role")
	status, _ = ask(http.MethodGet, "/", "")
	require.Equal(t, http.StatusOK, status)
	act := `{"request_id": "0d9a4a4e-6f39-4a34-8d43-3a6b7a3a4b10", "act": "cancel", "on": {"kind": "run", "ids": ["1"]}}`
	status, _ = ask(http.MethodPost, "/api/v1/acts", act)
	require.Equal(t, http.StatusUnauthorized, status, "who was not shown the address doesn't act")
	status, text = ask(http.MethodPost, "/api/v1/acts", act, token)
	require.Equal(t, http.StatusOK, status, string(text))
	require.True(t, bytes.Contains(text, []byte(`"by":"postgres"`)), string(text))

	var replicas, canceled int
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM rowrun.replica_heartbeat), (SELECT count(*) FROM rowrun.task_run WHERE status = 'CANCELED')`).Scan(&replicas, &canceled))
	require.Zero(t, replicas, "it is no replica")
	require.Equal(t, 1, canceled)
	stop()
	require.NoError(t, <-ended)
}

// A token is one thing: who reads or acts claims no runs with it, and workers neither read nor act.
func TestTheTokenOfWorkersIsNobodyElses(t *testing.T) {
	t.Parallel()
	tokens := map[string]string{"W": "one", "R": "two", "A": "three", "SAME": "one"}
	with := func(reads, acts string) error {
		_, err := parse(tokens, "--database-url", rowruntest.SomeURL, "--http-worker-token", "env:W", "--http-token", "env:"+reads, "--http-operator-token", "alice=env:"+acts)
		return err
	}
	require.NoError(t, with("R", "A"))
	require.EqualError(t, with("SAME", "A"), "--http-worker-token: is also the token of --http-token or of an operator: give each a token of its own")
	require.EqualError(t, with("R", "SAME"), "--http-worker-token: is also the token of --http-token or of an operator: give each a token of its own")
}

func TestOperatorsAreNamedOnceAndGivenInNoClearText(t *testing.T) {
	t.Parallel()
	lookup := rowruntest.LookupIn(map[string]string{"A": "of-a", "B": "of-b", "READ": "reads"})
	c, err := parse(map[string]string{"A": "of-a", "B": "of-b"}, "--database-url", rowruntest.SomeURL, "--http-operator-token", "alice=env:A", "--http-operator-token", "bob the second=env:B")
	require.NoError(t, err)
	require.Equal(t, []auth.Operator{{Name: "alice", Token: "of-a"}, {Name: "bob the second", Token: "of-b"}}, c.Dashboard.Operators)
	c, err = parse(map[string]string{"A": "of-a", "B": "of-b", "ROWRUN_HTTP_OPERATOR_TOKEN": "alice=env:A, bob=env:B"}, "--database-url", rowruntest.SomeURL)
	require.NoError(t, err)
	require.Len(t, c.Dashboard.Operators, 2)
	for _, wrong := range [][]string{
		{"alice"},
		{"=env:A"},
		{"alice="},
		{"alice=secret"},
		{"alice=env:NONE"},
		{"alice=env:A", "alice=env:B"},
		{"alice=env:A", "bob=env:A"},
		{"alice=env:READ"},
		{"ali\nce=env:A"},
		{"alice=file:/nowhere"},
	} {
		err := (&Dashboard{operators: wrong}).Validate(lookup, "reads")
		require.Error(t, err, wrong)
		require.NotContains(t, err.Error(), "secret")
		require.NotContains(t, err.Error(), "of-a")
	}
	for prefix, want := range map[string]string{"/": "", "": "", "/rowrun/": "/rowrun", "/a/b-c_d.e": "/a/b-c_d.e"} {
		d := &Dashboard{Prefix: prefix}
		require.NoError(t, d.Validate(lookup, ""))
		require.Equal(t, want, d.Prefix)
	}
	for _, wrong := range []string{"rowrun", "/a b", "/{id}", "/a//b", "/../b", "/ä"} {
		require.Error(t, (&Dashboard{Prefix: wrong}).Validate(lookup, ""), wrong)
	}
}
