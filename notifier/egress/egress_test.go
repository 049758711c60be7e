package egress_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rowrun/rowrun/notifier/egress"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a server on loopback and a client for it.
func serve(t *testing.T, h http.HandlerFunc) (*httptest.Server, *http.Client) {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv, clientFor(t, srv.URL)
}

func clientFor(t *testing.T, origin string) *http.Client {
	t.Helper()
	u, err := url.Parse(origin)
	require.NoError(t, err)
	client, err := egress.NewClient(egress.Config{Origin: u})
	require.NoError(t, err)
	t.Cleanup(client.CloseIdleConnections)
	return client
}

func get(t *testing.T, client *http.Client, target string) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	require.NoError(t, err)
	return client.Do(req)
}

func TestNewClientWantsAnOrigin(t *testing.T) {
	t.Parallel()
	for _, origin := range []*url.URL{nil, {Scheme: "http"}, {Scheme: "ftp", Host: "a"}, {Host: "a"}} {
		_, err := egress.NewClient(egress.Config{Origin: origin})
		require.Error(t, err)
	}
	_, err := egress.NewClient(egress.Config{Origin: &url.URL{Scheme: "http", Host: "a"}, MaxIdleConns: -1})
	require.Error(t, err)
}

func TestOtherOriginsAreRefusedBeforeTheyAreCalled(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	t.Cleanup(other.Close)
	srv, client := serve(t, func(http.ResponseWriter, *http.Request) { calls.Add(1) })

	for _, target := range []string{other.URL, strings.Replace(srv.URL, "http:", "https:", 1), "http://localhost:1/"} {
		resp, err := get(t, client, target)
		if err == nil {
			require.NoError(t, resp.Body.Close())
		}
		require.ErrorIs(t, err, egress.ErrOtherOrigin, target)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL, strings.NewReader("x"))
	require.NoError(t, err)
	req.Host = "elsewhere.example"
	resp, err := client.Do(req)
	if err == nil {
		require.NoError(t, resp.Body.Close())
	}
	require.ErrorIs(t, err, egress.ErrOtherOrigin)
	require.Zero(t, calls.Load())
}

func TestAnEmptyPortIsNone(t *testing.T) {
	t.Parallel()
	for _, origin := range []string{"http://rowrun.invalid:", "http://rowrun.invalid:/x", "http://rowrun.invalid"} {
		client := clientFor(t, origin)
		for _, target := range []string{"http://rowrun.invalid:/x", "http://ROWRUN.invalid/x"} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
			require.NoError(t, err)
			for _, host := range []string{req.Host, req.Host + ":"} {
				req.URL.Host, req.Host = host, host
				resp, err := client.Transport.RoundTrip(req)
				if err == nil {
					require.NoError(t, resp.Body.Close())
				}
				require.Error(t, err)
				require.NotErrorIs(t, err, egress.ErrOtherOrigin, "%s of %s: the name leads nowhere, and that is why", target, origin)
			}
		}
		requireElsewhere(t, client, "http://rowrun.invalid:80/")
	}
	requireElsewhere(t, clientFor(t, "http://[::1]:"), "http://[::2]:/")
}

func requireElsewhere(t *testing.T, client *http.Client, target string) {
	t.Helper()
	resp, err := get(t, client, target)
	if err == nil {
		require.NoError(t, resp.Body.Close())
	}
	require.ErrorIs(t, err, egress.ErrOtherOrigin, target)
}

func TestRedirectsAreAnswersAndNeverFollowed(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	srv, client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		w.Header()["Location"] = []string{map[string]string{"/same": "/there", "/bad": "http://[::bad%"}[r.URL.Path]}
		w.WriteHeader(http.StatusFound)
	})
	for n, path := range []string{"/same", "/bad"} {
		resp, err := get(t, client, srv.URL+path)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusFound, resp.StatusCode)
		require.EqualValues(t, n+1, calls.Load())
	}
}

// Not parallel: the proxy of the environment is what it is about.
func TestProxyOfTheEnvironmentIsNotAsked(t *testing.T) { //nolint:paralleltest // it sets variables of the process
	var asked atomic.Bool
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Store(true) }))
	t.Cleanup(proxy.Close)
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	// A proxy is never asked for loopback: the name must be another one, and
	// the reserved one here resolves nowhere.
	client := clientFor(t, "http://rowrun.invalid")
	resp, err := get(t, client, "http://rowrun.invalid/")
	if err == nil {
		require.NoError(t, resp.Body.Close())
	}
	require.Error(t, err)
	require.False(t, asked.Load())
}

func TestCookiesAreNotKeptAndCompressionIsNotAskedFor(t *testing.T) {
	t.Parallel()
	var cookies, encodings atomic.Int32
	srv, client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		cookies.Add(int32(len(r.Cookies())))
		if r.Header.Get("Accept-Encoding") != "" {
			encodings.Add(1)
		}
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = io.WriteString(w, "not unpacked")
	})
	for range 2 {
		resp, err := get(t, client, srv.URL)
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, "not unpacked", string(body))
	}
	require.Zero(t, cookies.Load())
	require.Zero(t, encodings.Load())
}

func TestAnswerHeadersAreBounded(t *testing.T) {
	t.Parallel()
	srv, client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.URL.Query().Get("n"))
		w.Header().Set("X-Long", strings.Repeat("x", n))
	})
	resp, err := get(t, client, srv.URL+"/?n=60000")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())

	resp, err = get(t, client, srv.URL+"/?n=70000")
	if err == nil {
		require.NoError(t, resp.Body.Close())
	}
	require.Error(t, err)
}

// A server that switches protocols keeps the connection, so that nothing would end a read of it.
func TestAnAnswerThatLeavesHTTPIsAnError(t *testing.T) {
	t.Parallel()
	closed := make(chan error, 2) // one per request
	srv, client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			closed <- err
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\n"+r.URL.Query().Get("headers")+"\r\n")
		_, err = io.Copy(io.Discard, conn)
		closed <- errors.Join(err, conn.Close())
	})
	for _, headers := range []string{"Connection: Upgrade\r\nUpgrade: x\r\n", ""} {
		resp, err := get(t, client, srv.URL+"/?headers="+url.QueryEscape(headers))
		if err == nil {
			require.NoError(t, resp.Body.Close())
		}
		require.ErrorIs(t, err, egress.ErrSwitched)
		require.NoError(t, <-closed, "the client has closed the connection")
	}
}
