package httpexec

import (
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
)

// seen is what the app got.
type seen struct {
	method, uri, body string
	header            http.Header
}

// recording returns an app that answers 200 and a channel of what it got.
func recording(t *testing.T, basePath, secret string) (*app, <-chan seen) {
	t.Helper()
	got := make(chan seen, 10) // more than any test sends
	a := newApp(t, basePath, secret, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- seen{method: r.Method, uri: r.RequestURI, body: string(body), header: r.Header}
	})
	return a, got
}

func TestRequestCarriesTheRunAndTheBody(t *testing.T) {
	t.Parallel()
	a, got := recording(t, "/api", "")
	_, err := a.Execute(t.Context(), a.run(
		`{"path":"/jobs?x=1","method":"PUT","headers":{"x-tenant":"a b","Accept":"text/html"},"body":{"n": [1, null]},"other":1}`))
	require.NoError(t, err)
	r := <-got
	require.Equal(t, "PUT", r.method)
	require.Equal(t, "/api/jobs?x=1", r.uri)
	require.Equal(t, `{"n":[1,null]}`, r.body)
	for name, want := range map[string]string{
		"Content-Type": "application/json", "X-Tenant": "a b", "Accept": "text/html", "User-Agent": "rowrun",
		"Rowrun-Run-Id": "7", "Rowrun-Attempt": "2", "Rowrun-Claim": "7d1f3f0e-6b8c-4a53-9f65-0d7b6f1f2a11",
		"Idempotency-Key": "rowrun-5", "Webhook-Signature": "", "Accept-Encoding": "", "Content-Length": "14",
	} {
		require.Equal(t, want, r.header.Get(name), name)
	}
}

func TestMethodIsPOSTAndBodyEmptyUnlessSaid(t *testing.T) {
	t.Parallel()
	a, got := recording(t, "", "")
	_, err := a.Execute(t.Context(), a.run(`{"path":"/"}`))
	require.NoError(t, err)
	r := <-got
	require.Equal(t, seen{method: "POST", uri: "/"}, seen{method: r.method, uri: r.uri, body: r.body})
	require.Empty(t, r.header.Get("Content-Type"))

	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"} {
		_, err := a.Execute(t.Context(), a.run(`{"path":"/m","method":"`+method+`"}`))
		require.NoError(t, err)
		require.Equal(t, method, (<-got).method)
	}
	_, err = a.Execute(t.Context(), a.run(`{"path":"/","body":"text","headers":{"Content-Type":"application/x+json"}}`))
	require.NoError(t, err)
	r = <-got
	require.Equal(t, `"text"`, r.body)
	require.Equal(t, []string{"application/x+json"}, r.header["Content-Type"])
}

func TestEachSecretSigns(t *testing.T) {
	t.Parallel()
	old := "whsec_" + base64.StdEncoding.EncodeToString([]byte("the old key of twenty-four bytes"))
	current := "whsec_" + base64.StdEncoding.EncodeToString([]byte("the new key of twenty-four bytes"))
	a, got := recording(t, "", old+" "+current)
	for _, payload := range []string{`{"path":"/","body":{"a":1}}`, `{"path":"/","method":"GET"}`} {
		_, err := a.Execute(t.Context(), a.run(payload))
		require.NoError(t, err)
		r := <-got
		require.Equal(t, "run_7", r.header.Get("webhook-id"))
		require.Len(t, strings.Fields(r.header.Get("webhook-signature")), 2)
		for _, secret := range []string{old, current} {
			verifier, err := standardwebhooks.NewWebhook(secret)
			require.NoError(t, err)
			require.NoError(t, verifier.Verify([]byte(r.body), r.header))
			require.Error(t, verifier.Verify([]byte(r.body+" "), r.header))
		}
	}
}

func TestSecretsAreCheckedAndNeverQuoted(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{"c2VjcmV0", "whsec_", "whsec_c2Vj*mV0", "whsec_c2VjcmV0 c2VjcmV0"} {
		_, err := New(Config{BaseURL: "http://app", Secret: secret})
		require.Error(t, err)
		require.NotContains(t, err.Error(), "c2Vj")
	}
}

func TestWrongPayloadsAreBadInputAndSendNothing(t *testing.T) {
	t.Parallel()
	a, got := recording(t, "", "")
	many := `"a":""`
	for i := range maxHeaders {
		many += `,"x` + strings.Repeat("y", i) + `":""`
	}
	for _, payload := range []string{
		`[]`, `null`, `"x"`, `{`, `{}`, `{"Path":"/"}`, `{"path":null}`, `{"path":1}`, `{"path":["/"]}`, `{"path":"jobs"}`, `{"path":"//evil"}`,
		`{"path":"/","method":"get"}`, `{"path":"/","method":"TRACE"}`, `{"path":"/","method":null}`, `{"path":"/","method":1}`,
		`{"path":"/","method":"GET","body":{}}`, `{"path":"/","method":"HEAD","body":null}`,
		`{"path":"/","headers":null}`, `{"path":"/","headers":[]}`, `{"path":"/","headers":{"a":1}}`, `{"path":"/","headers":{"a":null}}`,
		`{"path":"/","headers":{"":"x"}}`, `{"path":"/","headers":{"a b":"x"}}`, `{"path":"/","headers":{"a:":"x"}}`, `{"path":"/","headers":{"ü":"x"}}`,
		`{"path":"/","headers":{"a":"x\r\nb: y"}}`, `{"path":"/","headers":{"a":"\u0000"}}`, `{"path":"/","headers":{"a":"1","A":"2"}}`,
		`{"path":"/","headers":{"Host":"evil"}}`, `{"path":"/","headers":{"content-length":"1"}}`, `{"path":"/","headers":{"Transfer-Encoding":"chunked"}}`,
		`{"path":"/","headers":{"connection":"close"}}`, `{"path":"/","headers":{"Upgrade":"h2c"}}`, `{"path":"/","headers":{"Proxy-Authorization":"x"}}`,
		`{"path":"/","headers":{"rowrun-run-id":"1"}}`, `{"path":"/","headers":{"Rowrun_Claim":"1"}}`, `{"path":"/","headers":{"webhook-id":"1"}}`,
		`{"path":"/","headers":{"IDEMPOTENCY-KEY":"1"}}`, `{"path":"/","headers":{"X-Idempotency-Key":"1"}}`, `{"path":"/","headers":{"accept-encoding":"gzip"}}`,
		`{"path":"/","headers":{` + many + `}}`, `{"path":"/","headers":{"a":"` + strings.Repeat("x", maxHeaderBytes) + `"}}`,
	} {
		_, err := a.Execute(t.Context(), a.run(payload))
		f := failure(t, err)
		require.Equal(t, scheduler.CodeBadInput, f.Code, payload)
		require.False(t, f.Retryable)
	}
	require.Empty(t, got)
}

// A kept connection that breaks after the request was sent: net/http would send
// it again because of its Idempotency-Key.
func TestARequestIsSentOnceWhereItsConnectionBreaks(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	a := newApp(t, "", "", func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			return
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = conn.Close()
		}
	})
	_, err := a.Execute(t.Context(), a.run(`{"path":"/","body":1}`))
	require.NoError(t, err)
	for n, payload := range []string{`{"path":"/","body":1}`, `{"path":"/"}`} {
		_, err = a.Execute(t.Context(), a.run(payload))
		f := failure(t, err)
		require.Equal(t, scheduler.CodeError, f.Code)
		require.True(t, f.Retryable)
		require.EqualValues(t, n+2, calls.Load())
	}
}

func TestEndOfTheContextAbortsTheRequest(t *testing.T) {
	t.Parallel()
	for _, headersFirst := range []bool{false, true} {
		arrived, gone := make(chan struct{}), make(chan struct{})
		a := newApp(t, "", "", func(w http.ResponseWriter, r *http.Request) {
			if headersFirst {
				_, _ = io.WriteString(w, "begun")
				_ = http.NewResponseController(w).Flush()
			}
			close(arrived)
			<-r.Context().Done() // the client has closed the connection
			close(gone)
		})
		ctx, cancel := withCause(t)
		go func() {
			<-arrived
			cancel(scheduler.ErrCanceled)
		}()
		_, err := a.Execute(ctx, a.run(`{"path":"/","method":"GET"}`))
		require.ErrorIs(t, err, scheduler.ErrCanceled)
		select {
		case <-gone:
		case <-time.After(10 * time.Second):
			require.Fail(t, "the request goes on")
		}
	}
}
