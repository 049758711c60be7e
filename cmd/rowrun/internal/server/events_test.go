package server_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/history"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/server"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/server/servertest"
)

func kept(t *testing.T, config history.Config) *history.History {
	t.Helper()
	h, err := history.New(config)
	require.NoError(t, err)
	return h
}

// event is one of /events.
type event struct{ id, data string }

// reader reads /events.
type reader struct {
	body *bufio.Reader
	resp *http.Response
}

func request(t *testing.T, url string, header map[string]string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	for name, value := range header {
		if name == "Host" {
			req.Host = value
		}
		req.Header.Set(name, value)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	require.NoError(t, err)
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// answer is that of a request which ends.
func answer(t *testing.T, url string, header map[string]string) (code int, body string, headers http.Header) {
	t.Helper()
	resp := request(t, url, header)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(text), resp.Header
}

// open returns when the server has let the reader in.
func open(t *testing.T, url string, header map[string]string) *reader {
	t.Helper()
	resp := request(t, url, header) //nolint:bodyclose // request's cleanup does
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, "text/event-stream", resp.Header.Get("Content-Type"))
	return &reader{body: bufio.NewReader(resp.Body), resp: resp}
}

// next skips comments.
func (r *reader) next() (event, error) {
	var e event
	for {
		line, err := r.body.ReadString('\n')
		if err != nil {
			return e, err
		}
		switch text := strings.TrimSuffix(line, "\n"); {
		case text == "" && e.data != "":
			return e, nil
		case strings.HasPrefix(text, "id: "):
			e.id = text[4:]
		case strings.HasPrefix(text, "data: "):
			e.data = text[6:]
		}
	}
}

func (r *reader) expect(t *testing.T, data ...string) (last event) {
	t.Helper()
	for _, want := range data {
		var err error
		last, err = r.next()
		require.NoError(t, err)
		require.Equal(t, want, last.data)
	}
	return last
}

func TestEventsGoOnBehindTheLastEventID(t *testing.T) {
	t.Parallel()
	h := kept(t, history.Config{})
	base := servertest.Serve(t, server.Config{History: h}).URL
	r := open(t, base+"/events", nil)
	h.Append("", []byte(`{"n":1}`))
	h.Append("0/10", []byte(`{"n":2}`))
	h.Append("0/10", []byte(`{"n":3}`))
	first := r.expect(t, `{"n":1}`)
	require.Equal(t, "0/10", r.expect(t, `{"n":2}`, `{"n":3}`).id)
	require.NoError(t, r.resp.Body.Close())
	h.Append("0/20", []byte(`{"n":4}`))

	open(t, base+"/events", map[string]string{"Last-Event-ID": first.id}).expect(t, `{"n":2}`, `{"n":3}`, `{"n":4}`)
	open(t, base+"/events", map[string]string{"Last-Event-ID": "0/10"}).expect(t, `{"n":2}`, `{"n":3}`, `{"n":4}`)
	r = open(t, base+"/events", map[string]string{"Last-Event-ID": "0/F"})
	gap, err := r.next()
	require.NoError(t, err)
	require.Contains(t, gap.data, `"event":"stream.gap"`)
	require.Empty(t, gap.id)
	r.expect(t, `{"n":1}`)
}

func TestEventsAreFiltered(t *testing.T) {
	t.Parallel()
	h := kept(t, history.Config{})
	base := servertest.Serve(t, server.Config{History: h}).URL
	r := open(t, base+"/events?plan=7&status=DONE", nil)
	h.Append("", []byte(`{"plan_id":7,"to":"RUNNING"}`))
	h.Append("", []byte(`{"plan_id":8,"to":"DONE"}`))
	h.Append("", []byte(`{"plan_id":7,"to":"DONE"}`))
	r.expect(t, `{"plan_id":7,"to":"DONE"}`)
	code, _, _ := answer(t, base+"/events?colour=red", nil)
	require.Equal(t, http.StatusBadRequest, code)
}

// One who reads nothing is dropped; nobody waits for it, neither who appends nor another reader.
func TestReaderOfEventsThatStopsReadingIsDropped(t *testing.T) {
	t.Parallel()
	h := kept(t, history.Config{Lines: 64})
	base := servertest.Serve(t, server.Config{History: h}).URL
	var dialer net.Dialer
	conn, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(base, "http://"))
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	require.NoError(t, conn.(*net.TCPConn).SetReadBuffer(4096))
	_, err = io.WriteString(conn, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
	require.NoError(t, err)
	require.Eventually(t, func() bool { return h.Stats().Readers == 1 }, 10*time.Second, time.Millisecond)
	line := []byte(`{"x":"` + strings.Repeat("x", 100<<10) + `"}`)
	deadline, slow := time.Now().Add(30*time.Second), 0
	for h.Stats().Readers == 1 {
		require.True(t, time.Now().Before(deadline), "still there")
		begun := time.Now()
		h.Append("", line)
		took := time.Since(begun)
		require.Less(t, took, 5*time.Second, "half of what a reader is waited for")
		if took > time.Second {
			slow++
		}
	}
	require.LessOrEqual(t, slow, 1, "a machine may stand still once")
}

func TestTwoHundredReadersGetEveryEvent(t *testing.T) {
	t.Parallel()
	h := kept(t, history.Config{})
	base := servertest.Serve(t, server.Config{History: h}).URL
	const readers, lines = 200, 200
	errs := make(chan error, readers)
	for range readers {
		r := open(t, base+"/events", nil)
		go func() {
			errs <- func() error {
				for n := range lines {
					e, err := r.next()
					if err != nil {
						return err
					}
					if want := fmt.Sprintf(`{"n":%d}`, n); e.data != want {
						return fmt.Errorf("got %s, want %s", e.data, want)
					}
				}
				return nil
			}()
		}()
	}
	require.Equal(t, readers, h.Stats().Readers)
	for n := range lines {
		h.Append("", fmt.Appendf(nil, `{"n":%d}`, n))
	}
	for range readers {
		require.NoError(t, <-errs)
	}
	require.Zero(t, h.Stats().Slow)
}

// The limits of a request don't end the stream, a stop does, at once.
func TestEventsOutliveTheLimitsOfARequestAndEndWithTheServer(t *testing.T) {
	t.Parallel()
	h := kept(t, history.Config{})
	s := servertest.Serve(t, server.Config{History: h})
	r := open(t, s.URL+"/events", nil)
	begun := time.Now()
	require.Eventually(t, func() bool { return time.Since(begun) > 6*time.Second }, 30*time.Second, 100*time.Millisecond) // ReadTimeout is 5 s
	h.Append("", []byte(`{"n":1}`))
	r.expect(t, `{"n":1}`)
	begun = time.Now()
	s.Stop()
	require.Less(t, time.Since(begun), 2*time.Second, "it would be cut off then")
	_, err := r.next()
	require.Error(t, err)
}

func TestEventsSayThatTheyAreThereWhileNothingHappens(t *testing.T) {
	t.Parallel()
	h := kept(t, history.Config{})
	base := servertest.Serve(t, server.Config{History: h, Comment: 50 * time.Millisecond}).URL
	r := open(t, base+"/events?status=DONE", nil)
	begun := time.Now()
	for comments := 0; comments < 3; {
		h.Append("", []byte(`{"to":"RUNNING"}`)) // what is filtered out is nothing
		line, err := r.body.ReadString('\n')
		require.NoError(t, err)
		require.False(t, strings.HasPrefix(line, "data"), line)
		if line == ": still here\n" {
			comments++
		}
	}
	require.GreaterOrEqual(t, time.Since(begun), 100*time.Millisecond) // the first may have been on its way
}

func TestEventsBeginWhenLinesFlowAndSayWhoLeft(t *testing.T) {
	t.Parallel()
	h := kept(t, history.Config{})
	var following atomic.Int64
	var broken atomic.Bool
	s := servertest.Serve(t, server.Config{History: h, Follow: func(context.Context) (func(), error) {
		if broken.Load() {
			return nil, errors.New("not now")
		}
		h.Append("", []byte(`{"n":"before"}`))
		following.Add(1)
		return func() { following.Add(-1) }, nil
	}})
	r := open(t, s.URL+"/events", nil)
	require.EqualValues(t, 1, following.Load())
	h.Append("", []byte(`{"n":1}`))
	r.expect(t, `{"n":1}`)
	require.NoError(t, r.resp.Body.Close())
	require.Eventually(t, func() bool { return following.Load() == 0 }, 10*time.Second, time.Millisecond)
	broken.Store(true)
	code, _, headers := answer(t, s.URL+"/events", nil)
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Equal(t, "5", headers.Get("Retry-After"))
}

func TestStatusIsAskedOncePerMoment(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	id := "one-1"
	s := servertest.Serve(t, server.Config{Status: func(context.Context) server.Status {
		asked.Add(1)
		return server.Status{Status: "running", Role: "worker", ReplicaName: "one", ReplicaID: &id, Completed: 3, Replicas: []server.Replica{{ReplicaID: id, Role: "admin", Running: 2}}}
	}})
	status, body := get(t, s.URL+"/status")
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, `{"status":"running","role":"worker","paused":false,"replica_name":"one","replica_id":"one-1","running":0,"completed":3,"failed":0,
"heartbeat_failures":0,"stalled":0,"stuck":0,"recovery":null,"replicas":[{"replica_id":"one-1","replica_name":"","state":"","live":false,"role":"admin","paused":false,"running":2,"last_seen":"0001-01-01T00:00:00Z"}]}`, body)
	begun := time.Now()
	for range 20 {
		get(t, s.URL+"/status")
	}
	require.LessOrEqual(t, asked.Load(), 2+int64(time.Since(begun)/(250*time.Millisecond)))
}

func TestWhatTellsOfRunsIsGuarded(t *testing.T) {
	t.Parallel()
	config := server.Config{
		History: kept(t, history.Config{}),
		Status:  func(context.Context) server.Status { return server.Status{} },
		Metrics: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
	}
	guarded := func(base string, header map[string]string) (codes [2]int) {
		for i, path := range []string{"/status", "/events"} {
			resp := request(t, base+path, header)
			codes[i] = resp.StatusCode
			require.NoError(t, resp.Body.Close())
		}
		return codes
	}
	local := servertest.Serve(t, config).URL
	require.Equal(t, [2]int{200, 200}, guarded(local, nil))
	require.Equal(t, [2]int{200, 200}, guarded(local, map[string]string{"Host": "localhost:8484"}))
	require.Equal(t, [2]int{403, 403}, guarded(local, map[string]string{"Host": "evil.example"}), "a page under another name")

	wide := servertest.ServeAt(t, "0.0.0.0:0", config).URL
	require.Equal(t, [2]int{403, 403}, guarded(wide, nil))
	_, body, _ := answer(t, wide+"/status", nil)
	require.Contains(t, body, "--http-token")

	config.Token = "s3cret"
	with := servertest.ServeAt(t, "0.0.0.0:0", config).URL
	require.Equal(t, [2]int{200, 200}, guarded(with, map[string]string{"Authorization": "Bearer s3cret", "Host": "app.example"}))
	for _, wrong := range []string{"", "Bearer", "Bearer s3cre", "Basic s3cret", "s3cret"} {
		require.Equal(t, [2]int{401, 401}, guarded(with, map[string]string{"Authorization": wrong}), wrong)
	}
	for _, base := range []string{local, wide, with} {
		for _, path := range []string{"/livez", "/readyz", "/metrics"} {
			code, _, _ := answer(t, base+path, nil)
			require.Equal(t, http.StatusOK, code, path)
		}
	}
}

func TestReadyzTellsMoreBesideACheck(t *testing.T) {
	t.Parallel()
	s := servertest.Serve(t, server.Config{Checks: []server.Check{{
		Name: "wake", Ask: func(context.Context) error { return nil }, Tell: func() string { return "notify" },
	}}})
	_, body := get(t, s.URL+"/readyz")
	require.JSONEq(t, `{"status":"ok","checks":{"wake":{"ok":true,"detail":"notify"}}}`, body)
}

// place reads up to the next id that stands alone, and past other lines.
func (r *reader) place(t *testing.T) string {
	t.Helper()
	for id, data := "", false; ; {
		line, err := r.body.ReadString('\n')
		require.NoError(t, err)
		switch text := strings.TrimSuffix(line, "\n"); {
		case text == "" && id != "" && !data:
			return id
		case text == "":
			id, data = "", false
		case strings.HasPrefix(text, "id: "):
			id = text[4:]
		case strings.HasPrefix(text, "data: "):
			data = true
		}
	}
}

// A reader that got no line, or none lately as its filter left them out, goes on where it was all the same.
func TestEventsTellWhereAReaderStandsBesideTheLines(t *testing.T) {
	t.Parallel()
	h := kept(t, history.Config{Lines: 4})
	base := servertest.Serve(t, server.Config{History: h, Comment: 20 * time.Millisecond}).URL
	r := open(t, base+"/events", nil)
	began := r.place(t)
	require.NoError(t, r.resp.Body.Close())
	h.Append("0/10", []byte(`{"to":"DONE"}`))
	r = open(t, base+"/events", map[string]string{"Last-Event-ID": began})
	r.expect(t, `{"to":"DONE"}`)

	r = open(t, base+"/events?status=FAILED", map[string]string{"Last-Event-ID": began})
	last := r.place(t)
	for range 10 { // more than is kept
		h.Append("0/20", []byte(`{"to":"DONE"}`))
		for before := last; last == before; { // until the reader has passed it over
			last = r.place(t)
		}
	}
	require.NoError(t, r.resp.Body.Close())
	h.Append("0/30", []byte(`{"to":"FAILED"}`))
	open(t, base+"/events?status=FAILED", map[string]string{"Last-Event-ID": last}).expect(t, `{"to":"FAILED"}`)

	// Whoever is told of a gap has got it when it comes back.
	r = open(t, base+"/events", map[string]string{"Last-Event-ID": "0/F"})
	gap, err := r.next()
	require.NoError(t, err)
	require.Contains(t, gap.data, `"event":"stream.gap"`)
	open(t, base+"/events", map[string]string{"Last-Event-ID": r.place(t)}).expect(t, `{"to":"DONE"}`)
}
