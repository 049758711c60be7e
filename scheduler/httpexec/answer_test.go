package httpexec

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
)

func withCause(t *testing.T) (context.Context, context.CancelCauseFunc) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	t.Cleanup(func() { cancel(nil) })
	return ctx, cancel
}

func TestStatusDecides(t *testing.T) {
	t.Parallel()
	a := newApp(t, "", "", func(w http.ResponseWriter, r *http.Request) {
		status, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		w.Header().Set("X-Secret", "hunter2")
		w.Header().Set("Location", "/200")
		w.WriteHeader(status)
		if status != http.StatusNoContent && status != http.StatusNotModified {
			_, _ = io.WriteString(w, strings.Repeat("why ", 1000))
		}
	})
	retry := map[int]bool{408: true, 425: true, 429: true}
	for _, status := range []int{
		200, 201, 202, 203, 204, 206, 300, 301, 302, 303, 304, 307, 308,
		400, 401, 403, 404, 405, 408, 409, 410, 422, 423, 425, 429, 451, 500, 501, 502, 503, 504, 507, 599,
	} {
		res, err := a.Execute(t.Context(), a.run(fmt.Sprintf(`{"path":"/%d?token=hunter2"}`, status)))
		switch {
		case status == 202:
			require.NoError(t, err)
			require.Equal(t, scheduler.Result{HandedOver: true}, res)
		case status < 300:
			require.NoError(t, err)
			require.False(t, res.HandedOver)
			require.Equal(t, status, res.Output.(map[string]any)["status"])
		default:
			f := failure(t, err)
			require.Equal(t, fmt.Sprintf("HTTP_%d", status), f.Code)
			require.Equal(t, status >= 500 || retry[status], f.Retryable, "%d", status)
			require.Contains(t, f.Detail, fmt.Sprintf("POST /%d: %d", status, status))
			require.NotContains(t, f.Detail, "hunter2")
			require.Less(t, len(f.Detail), 600)
			if status != http.StatusNotModified {
				require.Contains(t, f.Detail, "why why")
			}
		}
	}
}

func TestAnswersAreLoggedWithTheBeginningOfTheirBody(t *testing.T) {
	t.Parallel()
	a := newApp(t, "", "", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Secret", "hunter2")
		_, _ = io.WriteString(w, strings.Repeat("x", 10000))
	})
	_, err := a.Execute(t.Context(), a.run(`{"path":"/"}`))
	require.NoError(t, err)
	rows := a.logged()
	require.Len(t, rows, 1)
	require.GreaterOrEqual(t, rows[0]["duration_ms"], 0.0)
	delete(rows[0], "duration_ms")
	require.Equal(t, map[string]any{"kind": "response", "status": 200.0, "body": strings.Repeat("x", 4096)}, rows[0])
}

func TestBodyIsKeptAsJSONOrText(t *testing.T) {
	t.Parallel()
	type reply struct{ contentType, body string }
	var next reply
	a := newApp(t, "", "", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", next.contentType)
		_, _ = io.WriteString(w, next.body)
	})
	deep := func(arrays int) string { return strings.Repeat("[", arrays) + "7" + strings.Repeat("]", arrays) }
	for _, c := range []struct{ contentType, body, want string }{
		{"application/json", `{"a":[1.50,"x",null,true]}`, `{"status":200,"body":{"a":[1.50,"x",null,true]}}`},
		{"application/problem+json; charset=utf-8", ` 7 `, `{"status":200,"body":7}`},
		{"application/json", `{"a":`, `{"status":200,"body":"{\"a\":"}`},
		{"application/json", `{} {}`, `{"status":200,"body":"{} {}"}`},
		{"application/json", `["\u0000","\ud800",{"k\u0000":"v"}]`, `{"status":200,"body":["\ufffd","\ufffd",{"k\ufffd":"v"}]}`},
		{"application/json", `[1e300,-1.5E-300]`, `{"status":200,"body":[1e300,-1.5E-300]}`},
		{"application/json", `1e999999`, `{"status":200,"body":"1e999999"}`},
		{"application/json", `[1e-99999999999999999999]`, `{"status":200,"body":"[1e-99999999999999999999]"}`},
		{"application/json", deep(998), `{"status":200,"body":` + deep(998) + `}`}, // 1,000 levels with the result and the 7
		{"application/json", deep(999), `{"status":200,"body":"` + deep(999) + `"}`},
		{"text/plain", `{"a":1}`, `{"status":200,"body":"{\"a\":1}"}`},
		{"text/html", "\x00a\xffü", `{"status":200,"body":"\ufffda\ufffdü"}`},
		{"application/json", "", `{"status":200}`},
		{"/;;", "x", `{"status":200,"body":"x"}`},
	} {
		next = reply{c.contentType, c.body}
		res, err := a.Execute(t.Context(), a.run(`{"path":"/"}`))
		require.NoError(t, err)
		got, err := json.Marshal(res.Output)
		require.NoError(t, err)
		require.JSONEq(t, c.want, string(got))
	}
}

func TestAnAnswerWithoutEndIsCutAtItsLimit(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{}, 3) // one per request
	a := newApp(t, "", "", func(w http.ResponseWriter, r *http.Request) {
		defer func() { ended <- struct{}{} }()
		w.Header().Set("Content-Type", "application/json")
		status, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		w.WriteHeader(status)
		for {
			if _, err := io.WriteString(w, strings.Repeat(`"ü"`, 1000)); err != nil {
				return
			}
		}
	})
	res, err := a.Execute(t.Context(), a.run(`{"path":"/200"}`))
	require.NoError(t, err)
	out := res.Output.(map[string]any)
	require.Equal(t, true, out["truncated"])
	require.InDelta(t, maxBody, len(out["body"].(string)), 3)
	require.True(t, utf8.ValidString(out["body"].(string)))

	res, err = a.Execute(t.Context(), a.run(`{"path":"/202"}`))
	require.NoError(t, err)
	require.True(t, res.HandedOver)

	_, err = a.Execute(t.Context(), a.run(`{"path":"/500"}`))
	require.Equal(t, "HTTP_500", failure(t, err).Code)
	for range 3 {
		<-ended
	}
}

func TestABodyThatStallsAfterA202HandsOver(t *testing.T) {
	t.Parallel()
	a := newApp(t, "", "", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	res, err := a.Execute(t.Context(), a.run(`{"path":"/"}`))
	require.NoError(t, err)
	require.True(t, res.HandedOver)
}

// raw is an executor whose app says exactly these bytes and closes.
func raw(t *testing.T, says string) *app {
	t.Helper()
	return scripted(t, func(conn net.Conn) { _, _ = io.WriteString(conn, says) })
}

// switches answers with another protocol and keeps the connection until the executor closes it.
func switches(conn net.Conn) {
	_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
	_, _ = io.Copy(io.Discard, conn)
}

// scripted is an executor whose app does this with a connection and closes it.
func scripted(t *testing.T, script func(net.Conn)) *app {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 64<<10))
			script(conn)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	e, err := New(Config{BaseURL: "http://" + l.Addr().String()})
	require.NoError(t, err)
	t.Cleanup(e.Close)
	return &app{Executor: e}
}

func TestNoAnswerMayBeRetried(t *testing.T) {
	t.Parallel()
	closed, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	nobody, err := New(Config{BaseURL: "http://" + closed.Addr().String()})
	require.NoError(t, err)
	require.NoError(t, closed.Close())

	for name, a := range map[string]*app{
		"refused":           {Executor: nobody},
		"closed":            raw(t, ""),
		"not HTTP":          raw(t, "SSH-2.0-x\r\n"),
		"broken off":        raw(t, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"),
		"another protocol":  scripted(t, switches),
		"a flood of header": raw(t, "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", 200<<10)),
		"a flood of 1xx":    raw(t, strings.Repeat("HTTP/1.1 103 Early Hints\r\nX: "+strings.Repeat("x", 1000)+"\r\n\r\n", 200)),
	} {
		_, err := a.Execute(t.Context(), a.run(`{"path":"/x?token=hunter2"}`))
		f := failure(t, err)
		require.Equal(t, scheduler.CodeError, f.Code, name)
		require.True(t, f.Retryable, name)
		require.Contains(t, f.Detail, "POST /x: no answer: ", name)
		require.NotContains(t, f.Detail, "hunter2", name)
		require.NotContains(t, f.Detail, "127.0.0.1", "where the app is stands in the configuration")
		rows := a.logged()
		require.Len(t, rows, 1, name)
		require.NotEmpty(t, rows[0]["error"], name)
		require.NotContains(t, rows[0]["error"], "127.0.0.1", name)
	}
}

func FuzzOutputFitsJSONB(f *testing.F) {
	for _, s := range []string{`{"a\u0000":"\ud800"}`, "\x00\xff", `[1e99, 1]`, `"` + strings.Repeat("<", 100) + `"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		a := &answer{status: 200, mediaType: "application/json", body: head(body, maxBody)}
		text, err := json.Marshal(a.output())
		require.NoError(t, err)
		require.Less(t, len(text), 1<<20)
		require.True(t, utf8.Valid(text))
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		var v any
		require.NoError(t, dec.Decode(&v))
		require.NotContains(t, fmt.Sprint(v), "\x00")
	})
}

// A 429 says for how long the app wants no request, in seconds or as a moment; nothing else says that.
func TestRetryAfterIsKeptForTheLimit(t *testing.T) {
	t.Parallel()
	a := newApp(t, "", "", func(w http.ResponseWriter, r *http.Request) {
		status, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		w.Header().Set("Retry-After", r.URL.Query().Get("after"))
		w.WriteHeader(status)
	})
	for header, want := range map[string]any{
		"7": 7.0, "86400": 86400.0, "2000000000": 86400.0, "2147483648": 86400.0, "99999999999999999999": 86400.0,
		"Fri,+31+Dec+9999+23:59:59+GMT": 86400.0, "": nil, "0": nil, "-1": nil, "soon": nil,
	} {
		_, err := a.Execute(t.Context(), a.run(`{"path":"/429?after=`+header+`"}`))
		require.Equal(t, want, failure(t, err).Output["retry_after_s"], "%q", header)
	}
	_, err := a.Execute(t.Context(), a.run(`{"path":"/503?after=7"}`))
	require.Nil(t, failure(t, err).Output)
}
