package health

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func answering(t *testing.T, code int, body string) (port string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == Ready {
			w.WriteHeader(code)
			_, _ = w.Write([]byte(body))
		}
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()[len("127.0.0.1"):]
}

func TestEveryAddressOfThisMachineIsAskedByLoopback(t *testing.T) {
	t.Parallel()
	port := answering(t, http.StatusOK, "")
	for _, host := range []string{"", "0.0.0.0", "127.0.0.1", "localhost"} {
		require.NoError(t, Ask(t.Context(), host+port, Ready))
	}
}

func TestWhatIsWrongIsSaid(t *testing.T) {
	t.Parallel()
	port := answering(t, http.StatusServiceUnavailable, `{"status":"unavailable","checks":{"schema":{"ok":true},"heartbeat":{"ok":false,"error":"none yet"},"database":{"ok":false,"error":"away"}}}`)
	require.ErrorContains(t, Ask(t.Context(), port, Ready), "503 Service Unavailable: database: away; heartbeat: none yet")
	require.NoError(t, Ask(t.Context(), port, Live), "the process lives all the same")
	require.ErrorContains(t, Ask(t.Context(), answering(t, http.StatusBadGateway, "somebody else"), Ready), "somebody else")
	require.ErrorContains(t, Ask(t.Context(), "127.0.0.1:1", Ready), "refused")
	require.ErrorContains(t, Ask(t.Context(), "off", Ready), "no host:port")
}

func TestSilenceIsNoHealth(t *testing.T) {
	t.Parallel()
	mute := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-mute }))
	defer server.Close()
	defer close(mute)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorContains(t, Ask(ctx, server.Listener.Addr().String(), Live), "no answer in time")
}
