package commands

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

// workerAnswer is what a worker is answered.
type workerAnswer struct {
	status      int
	retry, body string
}

// held is a run as a worker is given it.
type held struct {
	RunID   int64 `json:"run_id"`
	Claim   string
	Type    string
	Payload map[string]any
	Attempt int
	RootID  int64 `json:"root_id"`
}

// ask is one request of a worker.
func (s *serving) ask(ctx context.Context, name, body string) (a workerAnswer, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.base+"/api/v1/worker/"+name, strings.NewReader(body))
	if err != nil {
		return a, err
	}
	req.Header.Set("Authorization", "Bearer secret")
	resp, err := (&http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return a, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	return workerAnswer{resp.StatusCode, resp.Header.Get("Retry-After"), string(text)}, err
}

// told is what one request, which is well, is answered.
func told[T any](t *testing.T, s *serving, name, body string) (answer T) {
	t.Helper()
	a, err := s.ask(t.Context(), name, body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, a.status, a.body)
	require.NoError(t, json.Unmarshal([]byte(a.body), &answer), a.body)
	return answer
}

func claimBody(n, wait string) string {
	return `{"request_id": "` + n + `0000000-0000-4000-8000-000000000000", "worker": "w", "types": ["OWN"], "max": 2, "lease": 30, "wait": ` + wait + `}`
}

// The whole life of runs over HTTP, by a sidecar that has only the rights of one.
func TestWorkersOverHTTP(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	s := startServingWith(t, url, map[string]string{"TOKEN": "secret"}, "--http-worker-token", "env:TOKEN")
	s.awaitReady(t)
	conn := rowruntest.Connect(t, url)
	rowruntest.Change(t, conn, `INSERT INTO rowrun.task (id, type, payload) VALUES (700, 'OWN', '{"a": 1}')`)
	insert := func() {
		rowruntest.Change(t, conn, `INSERT INTO rowrun.task_run (task_id, input) VALUES (700, '{"b": 2}')`)
	}

	require.Empty(t, told[[]held](t, s, "claim", claimBody("1", "0")))
	waiting := make(chan workerAnswer, 1)
	go func() {
		a, _ := s.ask(context.Background(), "claim", claimBody("1", "20"))
		waiting <- a
	}()
	select {
	case a := <-waiting:
		require.Fail(t, "it didn't wait", a.body)
	case <-time.After(200 * time.Millisecond):
	}
	began := time.Now()
	insert()
	var first []held
	require.NoError(t, json.Unmarshal([]byte((<-waiting).body), &first))
	require.Less(t, time.Since(began), 10*time.Second, "it would wait for 20 s, and sweeps are 10 min apart")
	t.Logf("from the INSERT to the answer: %s", time.Since(began))
	require.Len(t, first, 1)
	require.Equal(t, map[string]any{"a": 1.0, "b": 2.0}, first[0].Payload)
	require.Equal(t, first, told[[]held](t, s, "claim", claimBody("1", "20")), "the answer that was lost, at once")

	insert()
	type verdict struct{ Claim, Verdict string }
	require.Equal(t, []verdict{{first[0].Claim, "OK"}}, told[[]verdict](t, s, "heartbeat", `{"worker": "w", "claims": ["`+first[0].Claim+`"]}`))
	type finished struct {
		Ended []struct {
			RunID   int64 `json:"run_id"`
			Verdict string
		}
		Claimed []held
	}
	body := `{"request_id": "20000000-0000-4000-8000-000000000000", "worker": "w", "types": ["OWN"], "claim_next": 5, "lease": "1 min",
		"results": [{"claim": "` + first[0].Claim + `", "status": "DONE", "result": {"x": 1}}]}`
	done := told[finished](t, s, "finish", body)
	require.Equal(t, "OK", done.Ended[0].Verdict)
	require.Equal(t, first[0].RunID, done.Ended[0].RunID)
	require.Len(t, done.Claimed, 1)
	require.Equal(t, done, told[finished](t, s, "finish", body))
	require.Equal(t, []verdict{{done.Claimed[0].Claim, "OK"}}, told[[]verdict](t, s, "release", `{"claims": ["`+done.Claimed[0].Claim+`"]}`))
	again := told[[]held](t, s, "claim", claimBody("3", "20"))
	require.Equal(t, done.Claimed[0].RunID, again[0].RootID)
	require.Equal(t, 1, again[0].Attempt, "released, it comes back at once")
	require.Empty(t, told[[]verdict](t, s, "heartbeat", `{"worker": "w"}`))
	require.Empty(t, told[[]verdict](t, s, "release", `{}`))

	for name, wrong := range map[string]string{
		"claim": `{"request_id": "30000000-0000-4000-8000-000000000000", "worker": "w", "types": ["SQL"]}`, "finish": `{}`,
	} {
		a, err := s.ask(t.Context(), name, wrong)
		require.NoError(t, err)
		require.Equal(t, http.StatusBadRequest, a.status, a.body)
		require.Contains(t, a.body, `"code":"RR003"`)
		require.Contains(t, a.body, `"hint":"`)
	}

	var before time.Time
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT clock_timestamp()`).Scan(&before))
	last := make(chan workerAnswer, 1)
	go func() {
		a, _ := s.ask(context.Background(), "claim", claimBody("4", "20"))
		last <- a
	}()
	rowruntest.Eventually(t, "it waits", func() bool {
		var asks bool
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '-- worker\_claim%'
			AND query_start > $1 AND state = 'idle')`, before).Scan(&asks))
		return asks
	})
	s.stop()
	a := <-last
	require.Equal(t, http.StatusServiceUnavailable, a.status, a.body)
	require.Equal(t, "1", a.retry)
	require.Equal(t, cli.ExitDone, <-s.code)
}

func TestWorkersAreNotServedWithoutAToken(t *testing.T) {
	t.Parallel()
	s := startServing(t, storetest.New(t))
	a, err := s.ask(t.Context(), "claim", claimBody("1", "0"))
	require.NoError(t, err)
	require.Equal(t, http.StatusForbidden, a.status)
	require.Contains(t, a.body, "--http-worker-token")
}
