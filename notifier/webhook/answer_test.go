package webhook

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/notifier"
)

func send(t *testing.T, timeout time.Duration, url string) notifier.Answer {
	t.Helper()
	return newSender(t, timeout, nil).Send(t.Context(), notifier.Message{ID: "msg_1", Body: someBody, URL: url + "/hunter2?token=hunter2"})
}

func TestStatusDecides(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	var elsewhere atomic.Int32
	other := scripted(t, func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) })
	var status atomic.Int32
	url := scripted(t, func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.Header().Set("Location", other)
		w.Header().Set("X-Secret", "hunter2")
		w.Header().Set("Retry-After", "120")
		w.WriteHeader(int(status.Load()))
	})
	statuses := []int{
		200, 201, 202, 203, 204, 205, 206, 226, 299, 300, 301, 302, 303, 304, 307, 308, 399,
		400, 401, 403, 404, 405, 408, 409, 410, 413, 422, 425, 429, 451, 500, 501, 502, 503, 504, 507, 599,
	}
	for _, code := range statuses {
		status.Store(int32(code))
		answer := send(t, 0, url)
		require.Equal(t, code, answer.Code)
		require.False(t, answer.Unready)
		if code < 300 {
			require.Empty(t, answer.Problem)
			require.Zero(t, answer.RetryAfter)
			continue
		}
		require.Equal(t, strings.TrimSpace(fmt.Sprintf("answered with HTTP %d %s", code, http.StatusText(code))), answer.Problem)
		require.Equal(t, 2*time.Minute, answer.RetryAfter)
	}
	require.EqualValues(t, len(statuses), calls.Load(), "one request per try")
	require.Zero(t, elsewhere.Load(), "no redirect is followed")
}

func TestTheLongestTimeIsLongerThanWhoeverHonoursItTakes(t *testing.T) {
	t.Parallel()
	url := scripted(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "99999999999999999999")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	require.Equal(t, longest, send(t, 0, url).RetryAfter)
}

// raw is a receiver that says exactly what its script writes.
func raw(t *testing.T, script func(net.Conn)) string {
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
	return "http://" + l.Addr().String()
}

func says(text string) func(net.Conn) {
	return func(conn net.Conn) { _, _ = io.WriteString(conn, text) }
}

// switches answers with another protocol and keeps the connection until the sender closes it.
func switches(conn net.Conn) {
	_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
	_, _ = io.Copy(io.Discard, conn)
}

// Whatever the receiver does, the text is one of ours.
func TestNoAnswerIsDescribedWithoutNames(t *testing.T) {
	t.Parallel()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // the handshakes that are meant to fail
	secure.StartTLS()
	t.Cleanup(secure.Close)
	plain := scripted(t, func(http.ResponseWriter, *http.Request) {})
	for _, c := range []struct{ what, url, want string }{
		{"refused", "http://127.0.0.1:1", "connection refused"},
		{"reset after the request", raw(t, func(conn net.Conn) { _ = conn.(*net.TCPConn).SetLinger(0) }), "the connection ended before the answer"},
		{"closed", raw(t, says("")), "the connection ended before the answer"},
		{"not HTTP", raw(t, says("SSH-2.0-x\r\n")), "no answer that is HTTP"},
		{"a flood of header", raw(t, says("HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", 200<<10))), "no answer that is HTTP"},
		{"a flood of 1xx", raw(t, says(strings.Repeat("HTTP/1.1 103 Early Hints\r\nX: "+strings.Repeat("x", 1000)+"\r\n\r\n", 200))), "no answer that is HTTP"},
		{"another protocol", raw(t, switches), "no answer that is HTTP"},
		{"certificate", secure.URL, "the host's certificate was not accepted"},
		{"no TLS", strings.Replace(plain, "http:", "https:", 1), "the host does not speak TLS there"},
		{"private", "http://10.1.2.3:81", "the address is not public, and --webhook-allow-cidr does not name it"},
		{"metadata", "http://169.254.169.254", "the address is not public, and --webhook-allow-cidr does not name it"},
	} {
		answer := send(t, 5*time.Second, c.url)
		require.Equal(t, notifier.Answer{Problem: c.want}, answer, c.what)
	}
	answer := newSender(t, 5*time.Second, nil).Send(t.Context(), notifier.Message{ID: "m", Body: someBody, URL: "http://rowrun.invalid/"})
	require.Contains(t, []string{"the host's name could not be resolved", "no answer in time"}, answer.Problem)
}

func TestATryEndsInTime(t *testing.T) {
	t.Parallel()
	const timeout = 300 * time.Millisecond
	dribble := func(first, text string) func(net.Conn) {
		return func(conn net.Conn) {
			_, _ = io.WriteString(conn, first)
			tick := time.NewTicker(10 * time.Millisecond)
			defer tick.Stop()
			for range tick.C {
				if _, err := io.WriteString(conn, text); err != nil {
					return
				}
			}
		}
	}
	for what, url := range map[string]string{
		"no answer":           scripted(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }),
		"a header at a time":  raw(t, dribble("HTTP/1.1 200 OK\r\n", "X: y\r\n")),
		"a letter at a time":  raw(t, dribble("HTTP/1.1 200 ", "x")),
		"1xx without end":     raw(t, dribble("", "HTTP/1.1 103 Early Hints\r\n\r\n")),
		"another protocol":    raw(t, switches),
		"it reads and stalls": raw(t, func(conn net.Conn) { _, _ = conn.Read(make([]byte, 1)) }),
	} {
		begun := time.Now()
		answer := send(t, timeout, url)
		require.Less(t, time.Since(begun), 5*time.Second, what)
		require.Zero(t, answer.Code, what)
		require.Contains(t, []string{"no answer in time", "no answer that is HTTP"}, answer.Problem, what)
	}
}

// The status has decided; how the body goes on costs neither time nor memory.
func TestABodyWithoutEndIsCut(t *testing.T) {
	t.Parallel()
	var zeros bytes.Buffer
	zip, err := gzip.NewWriterLevel(&zeros, gzip.BestSpeed)
	require.NoError(t, err)
	_, err = io.CopyN(zip, zeroes{}, 24<<20)
	require.NoError(t, err)
	require.NoError(t, zip.Close())
	for what, answer := range map[string]http.HandlerFunc{
		"flood": func(w http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := io.WriteString(w, strings.Repeat("x", 32<<10)); err != nil {
					return
				}
			}
		},
		"stalls": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "some")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
		"bomb": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(zeros.Bytes())
		},
		"more than it says": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(1<<40))
			_, _ = io.WriteString(w, "x")
		},
	} {
		begun := time.Now()
		got := send(t, 0, scripted(t, answer))
		require.Equal(t, 200, got.Code, what)
		require.Empty(t, got.Problem, what)
		require.LessOrEqual(t, len(got.Body), maxBody, what)
		require.Less(t, time.Since(begun), 5*time.Second, what)
		if what == "bomb" {
			require.Equal(t, zeros.Bytes()[:maxBody], got.Body, "it is not unpacked")
		}
	}
}

// zeroes is a stream of them.
type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
