package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/server"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/server/servertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type report struct {
	Status string
	Checks map[string]struct {
		OK    bool
		Error string
	}
}

// start serves checks for the test's length and returns the base URL.
func start(t *testing.T, checks ...server.Check) string {
	t.Helper()
	return servertest.Serve(t, server.Config{Checks: checks}).URL
}

// fetch may be called from any goroutine, unlike require.
func fetch(ctx context.Context, url string) (int, string, error) {
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	status, body, err := fetch(t.Context(), url)
	require.NoError(t, err)
	return status, body
}

func ready(t *testing.T, base string) (int, report) {
	t.Helper()
	status, body := get(t, base+"/readyz")
	var r report
	require.NoError(t, json.Unmarshal([]byte(body), &r), body)
	return status, r
}

type reply struct {
	status int
	body   string
	err    error
}

// probe asks /readyz from a goroutine of its own.
func probe(ctx context.Context, base string, replies chan<- reply) {
	go func() {
		status, body, err := fetch(ctx, base+"/readyz")
		replies <- reply{status, body, err}
	}()
}

func TestReadyzNamesEachCheck(t *testing.T) {
	t.Parallel()
	base := start(t,
		server.Check{Name: "database", Ask: func(context.Context) error { return nil }},
		server.Check{Name: "heartbeat", Ask: func(context.Context) error { return errors.New("last written 40 s ago") }},
	)
	status, r := ready(t, base)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, "unavailable", r.Status)
	require.True(t, r.Checks["database"].OK)
	require.False(t, r.Checks["heartbeat"].OK)
	require.Equal(t, "last written 40 s ago", r.Checks["heartbeat"].Error)
}

func TestReadyzFollowsItsChecks(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	base := start(t, server.Check{Name: "database", Ask: func(context.Context) error {
		if broken.Load() {
			return errors.New("gone")
		}
		return nil
	}})
	status, r := ready(t, base)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "ok", r.Status)
	broken.Store(true)
	deadline := time.Now().Add(5 * time.Second)
	for status == http.StatusOK {
		require.True(t, time.Now().Before(deadline), "still ready")
		status, _ = ready(t, base)
	}
	require.Equal(t, http.StatusServiceUnavailable, status)
}

func TestLivezNeverAsksAndReadyzHasADeadline(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	base := start(t,
		server.Check{Name: "database", Ask: func(ctx context.Context) error {
			close(asked)
			<-ctx.Done()
			return ctx.Err()
		}},
		server.Check{Name: "schema", Ask: func(context.Context) error { return nil }},
	)
	replies := make(chan reply, 1)
	probe(t.Context(), base, replies)
	<-asked // /readyz hangs now
	status, body := get(t, base+"/livez")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "ok\n", body)
	select {
	case <-replies:
		require.Fail(t, "the check did not hang")
	default:
	}
	got := <-replies // the client's own timeout is longer than the deadline
	require.NoError(t, got.err)
	require.Equal(t, http.StatusServiceUnavailable, got.status)
	require.Contains(t, got.body, `"database":{"ok":false,"error":"no answer within 2s"}`)
	require.Contains(t, got.body, `"schema":{"ok":false`)
}

// A prober that hangs up must not fail the others, who share its answer.
func TestAnAnswerOutlivesWhoAskedForIt(t *testing.T) {
	t.Parallel()
	asked, release := make(chan struct{}), make(chan struct{})
	var first sync.Once
	base := start(t, server.Check{Name: "database", Ask: func(ctx context.Context) error {
		first.Do(func() { close(asked) })
		select {
		case <-release:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}})
	hasty, hangUp := context.WithCancel(t.Context())
	replies := make(chan reply, 1)
	probe(hasty, base, replies)
	<-asked
	hangUp()
	require.Error(t, (<-replies).err)
	probe(t.Context(), base, replies)
	close(release)
	got := <-replies
	require.NoError(t, got.err)
	require.Equal(t, http.StatusOK, got.status, got.body)
}

func TestProbesInAFloodShareOneQuestion(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	release := make(chan struct{})
	base := start(t, server.Check{Name: "database", Ask: func(context.Context) error {
		asked.Add(1)
		<-release
		return nil
	}})
	const probes = 20
	replies := make(chan reply, probes)
	for range probes {
		probe(t.Context(), base, replies)
	}
	require.Eventually(t, func() bool { return asked.Load() == 1 }, 30*time.Second, time.Millisecond)
	close(release)
	for range probes {
		got := <-replies
		require.NoError(t, got.err)
		require.Equal(t, http.StatusOK, got.status, got.body)
	}
	require.Less(t, asked.Load(), int64(probes/2))
}

func TestOtherPathsAndMethodsAreRefused(t *testing.T) {
	t.Parallel()
	base := start(t)
	for _, path := range []string{"/", "/livez/", "/metrics", "/status", "/events", "/debug/pprof/"} {
		status, _ := get(t, base+path)
		require.Equal(t, http.StatusNotFound, status, path)
	}
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/livez", strings.NewReader("x"))
	require.NoError(t, err)
	resp, err := client.Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusMethodNotAllowed, resp.StatusCode)
}

func TestOversizedHeadersAreRefused(t *testing.T) {
	t.Parallel()
	base := start(t)
	var dialer net.Dialer
	conn, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(base, "http://"))
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	require.NoError(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
	// Slightly over the limit and its slack, so that all of it fits into the socket.
	_, err = io.WriteString(conn, "GET /livez HTTP/1.1\r\nHost: x\r\nX-Long: "+strings.Repeat("a", 24<<10)+"\r\n\r\n")
	require.NoError(t, err)
	line, err := bufio.NewReader(conn).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "431")
}

func TestTakenAddressAndBadChecksAreErrors(t *testing.T) {
	t.Parallel()
	first, err := servertest.NewFront(servertest.Anywhere)
	require.NoError(t, err)
	_, err = servertest.NewFront(first.Addr().String())
	require.ErrorContains(t, err, "address already in use")
	require.NoError(t, first.Close())

	nothing := func(context.Context) error { return nil }
	_, err = server.NewSurface(server.Config{Checks: []server.Check{{Name: "a"}}}, nil)
	require.Error(t, err)
	_, err = server.NewSurface(server.Config{Checks: []server.Check{{Name: "a", Ask: nothing}, {Name: "a", Ask: nothing}}}, nil)
	require.ErrorContains(t, err, "twice")
}

func TestStopBeforeServeLeavesNothing(t *testing.T) {
	t.Parallel()
	front, err := servertest.NewFront(servertest.Anywhere)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	require.NoError(t, front.Run(ctx))
	again, err := servertest.NewFront(front.Addr().String())
	require.NoError(t, err, "the address is free again")
	require.NoError(t, again.Close())
}
