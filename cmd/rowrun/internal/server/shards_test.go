package server_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/auth"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/server"
)

// call asks one of the shards' addresses; token "": none is shown.
func call(t *testing.T, s *server.Shards, path, token string) (code int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Addr().String()+path, nil)
	require.NoError(t, err)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(text)
}

// Strangers see the shards' names and no more; a shard is served while it has a surface, below its name, and its checks count.
func TestShardsAreServedBelowTheirNamesToThoseWhoMayRead(t *testing.T) {
	t.Parallel()
	s, err := server.NewShards(server.ShardsConfig{
		Addr: "127.0.0.1:0", Names: []string{"eu", "us"}, Prefix: "/rowrun", Token: "secret", List: true, Log: zerolog.Nop(),
		Away:    func(context.Context, string) error { return errors.New("connection refused") },
		Metrics: http.NotFoundHandler(),
	})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	var well atomic.Bool
	surface, err := server.NewSurface(server.Config{
		Checks: []server.Check{{Name: "database", Ask: func(context.Context) error {
			if well.Load() {
				return nil
			}
			return errors.New("a standby")
		}}},
		Status: func(context.Context) server.Status { return server.Status{ReplicaName: "one"} },
		Dashboard: func(guard *auth.Guard) http.Handler {
			return guard.Protect(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "page "+r.URL.Path) }))
		},
	}, s.Guard())
	require.NoError(t, err)
	s.Serve("eu", surface)

	code, body := call(t, s, "/readyz", "")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.JSONEq(t, `{"status": "unavailable", "checks": {"eu/database": {"ok": false, "error": "a standby"}, "us/start": {"ok": false, "error": "connection refused"}}}`, body)
	code, body = call(t, s, "/rowrun/", "")
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, body, `<a href="shards/us/">us</a>`)
	require.NotContains(t, body, "not ready", "whoever may not read isn't told")
	_, body = call(t, s, "/rowrun/", "secret")
	require.Contains(t, body, "not ready<br>database: a standby")
	require.Contains(t, body, "not ready<br>start: connection refused")
	for path, want := range map[string]string{
		"/rowrun/shards/eu/runs/7": "page /runs/7", "/rowrun/shards/eu/status": `"replica_name":"one"`, "/rowrun/shards/list.css": "table", "/livez": "ok",
		"/rowrun/api/v1/shards": `"name":"us","path":"shards/us/","ready":false,"trouble":{"start":"connection refused"}`,
	} {
		code, body = call(t, s, path, "secret")
		require.Equal(t, http.StatusOK, code, path)
		require.Contains(t, body, want, path)
	}
	for _, path := range []string{"/rowrun/shards/eu/runs", "/rowrun/shards/eu/status", "/rowrun/api/v1/shards"} {
		code, _ = call(t, s, path, "")
		require.Equal(t, http.StatusUnauthorized, code, path)
	}
	code, body = call(t, s, "/rowrun/shards/us/", "secret")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Contains(t, body, "shard us is not served now")
	code, _ = call(t, s, "/rowrun/shards/asia/", "secret")
	require.Equal(t, http.StatusNotFound, code)

	well.Store(true)
	s.Serve("us", surface)
	require.Eventually(t, func() bool {
		code, body = call(t, s, "/readyz", "")
		return code == http.StatusOK && strings.Contains(body, `"us/database":{"ok":true}`)
	}, 10*time.Second, 20*time.Millisecond)
	s.Serve("us", nil)
	code, _ = call(t, s, "/readyz", "")
	require.Equal(t, http.StatusServiceUnavailable, code)
	stop()
	require.NoError(t, <-ended)
}

func TestShardsRefuseToBeginWithoutWhatTheyNeed(t *testing.T) {
	t.Parallel()
	_, err := server.NewShards(server.ShardsConfig{Addr: "127.0.0.1:0"})
	require.ErrorContains(t, err, "shards need names")
}
