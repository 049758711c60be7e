package httpexec

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rowrun/rowrun/scheduler"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// app is a server on loopback with an executor that calls it.
type app struct {
	*Executor
	url string

	mu   sync.Mutex
	logs []map[string]any
}

func newApp(t *testing.T, basePath, secret string, h http.HandlerFunc) *app {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	e, err := New(Config{BaseURL: srv.URL + basePath, Secret: secret})
	require.NoError(t, err)
	t.Cleanup(e.Close)
	return &app{Executor: e, url: srv.URL}
}

func (a *app) run(payload string) *scheduler.Run {
	return &scheduler.Run{
		ID: 7, RootID: 5, Attempt: 2, Claim: "7d1f3f0e-6b8c-4a53-9f65-0d7b6f1f2a11", Payload: json.RawMessage(payload),
		Log: func(_ context.Context, kind string, detail any) error {
			b, err := json.Marshal(detail)
			if err != nil {
				return err
			}
			row := map[string]any{}
			if err := json.Unmarshal(b, &row); err != nil {
				return err
			}
			row["kind"] = kind
			a.mu.Lock()
			defer a.mu.Unlock()
			a.logs = append(a.logs, row)
			return nil
		},
	}
}

func (a *app) logged() []map[string]any {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]map[string]any(nil), a.logs...)
}

func failure(t *testing.T, err error) *scheduler.Failure {
	t.Helper()
	var f *scheduler.Failure
	require.ErrorAs(t, err, &f)
	return f
}
