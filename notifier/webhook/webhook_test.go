package webhook

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rowrun/rowrun/notifier"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	oneSecret   = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	otherSecret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
	someBody    = `{"type":"PIPELINE_FAILED"}`
)

// newSender makes one that may call loopback and sees these variables; rows may name them and these other references.
func newSender(t *testing.T, timeout time.Duration, variables map[string]string, references ...string) *Sender {
	t.Helper()
	for name := range variables {
		references = append(references, "env:"+name)
	}
	s, err := New(Config{
		Lookup: func(name string) (string, bool) {
			value, ok := variables[name]
			return value, ok
		},
		References: references,
		Allow:      []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Timeout:    timeout,
	})
	require.NoError(t, err)
	return s
}

// request is what a receiver got.
type request struct {
	header       http.Header
	method, body string
}

// receiver answers 200 and hands on what it got.
func receiver(t *testing.T) (string, <-chan request) {
	t.Helper()
	got := make(chan request, 10) // more than any test sends
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- request{r.Header, r.Method, string(body)}
	}))
	t.Cleanup(server.Close)
	return server.URL, got
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	lookup := func(string) (string, bool) { return "", false }
	for _, cfg := range []Config{
		{},
		{Lookup: lookup, Timeout: -1},
		{Lookup: lookup, Timeout: 16 * time.Second},
		{Lookup: lookup, References: []string{"env:"}},
		{Lookup: lookup, References: []string{"whsec_" + "eA=="}},
		{Lookup: lookup, Allow: []netip.Prefix{{}}},
		{Lookup: lookup, Allow: []netip.Prefix{netip.MustParsePrefix("::ffff:10.0.0.0/104")}},
	} {
		_, err := New(cfg)
		require.Error(t, err)
	}
}

// The vector of the reference implementations.
func TestSignatureIsTheReferences(t *testing.T) {
	t.Parallel()
	signers, err := parseSecrets(oneSecret)
	require.NoError(t, err)
	header := http.Header{}
	m := notifier.Message{ID: "msg_p5jXN8AQM9LWM0D4loKWxJek", Body: `{"test": 2432232314}`}
	require.NoError(t, sign(header, m, signers, time.Unix(1614265330, 0)))
	require.Equal(t, "msg_p5jXN8AQM9LWM0D4loKWxJek", header.Get("webhook-id"))
	require.Equal(t, "1614265330", header.Get("webhook-timestamp"))
	require.Equal(t, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", header.Get("webhook-signature"))
}

func TestEverySecretSigns(t *testing.T) {
	t.Parallel()
	url, got := receiver(t)
	s := newSender(t, 0, map[string]string{"SECRETS": oneSecret + "  " + otherSecret + "\n", "HOOK": url + "/path?token=1"})
	answer := s.Send(t.Context(), notifier.Message{ID: "msg_1", Body: someBody, URL: "env:HOOK", SecretRef: "env:SECRETS"})
	require.Equal(t, notifier.Answer{Code: 200, Body: []byte{}}, answer)
	r := <-got
	require.Equal(t, http.MethodPost, r.method)
	require.Equal(t, someBody, r.body)
	require.Equal(t, "msg_1", r.header.Get("webhook-id"))
	require.Equal(t, "application/json", r.header.Get("Content-Type"))
	for _, secret := range []string{oneSecret, otherSecret} {
		verifier, err := standardwebhooks.NewWebhook(secret)
		require.NoError(t, err)
		require.NoError(t, verifier.Verify([]byte(r.body), r.header))
		require.Error(t, verifier.Verify([]byte(r.body+" "), r.header), "another body")
	}
}

func TestWithoutASecretNothingIsSigned(t *testing.T) {
	t.Parallel()
	url, got := receiver(t)
	require.Empty(t, newSender(t, 0, nil).Send(t.Context(), notifier.Message{ID: "msg_1", Body: someBody, URL: url}).Problem)
	r := <-got
	require.Equal(t, "msg_1", r.header.Get("webhook-id"))
	require.NotEmpty(t, r.header.Get("webhook-timestamp"))
	require.NotContains(t, r.header, "Webhook-Signature")
}

func TestFilesAreReadAtEachTry(t *testing.T) {
	t.Parallel()
	url, got := receiver(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "secret")
	s := newSender(t, 0, nil, "file:"+path)
	m := notifier.Message{ID: "msg_1", Body: someBody, URL: url, SecretRef: "file:" + path}
	for _, secret := range []string{oneSecret, otherSecret} {
		require.NoError(t, os.WriteFile(path, []byte(secret+"\n"), 0o600))
		require.Empty(t, s.Send(t.Context(), m).Problem)
		r := <-got
		verifier, err := standardwebhooks.NewWebhook(secret)
		require.NoError(t, err)
		require.NoError(t, verifier.Verify([]byte(r.body), r.header))
	}
}

// What can't be resolved is no try; the text says which reference, and nothing of what it holds.
func TestWhatDoesNotResolveIsNotSent(t *testing.T) {
	t.Parallel()
	url, got := receiver(t)
	dir := t.TempDir()
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "empty"), []byte("\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "big"), []byte(strings.Repeat("x", maxReference+1)), 0o600))
	s := newSender(t, 0, map[string]string{
		"EMPTY": "", "HOOK": "ftp://hunter2.example/", "USER": "https://me:hunter2@a.example/", "NOHOST": "http://:80/hunter2",
		"BAD": "http://a.example/%zz hunter2\x7f", "PLAIN": "hunter2", "NOKEY": "whsec_", "NOBASE": "whsec_hunter2!", "SECOND": oneSecret + " hunter2",
	}, "env:NOWHERE", "file:"+dir, "file:"+dir+"/none", "file:"+dir+"/pipe", "file:"+dir+"/empty", "file:"+dir+"/big")
	for _, c := range []struct{ url, secret, says string }{
		{"env:NOWHERE", "", "url: env:NOWHERE is not set in this replica"},
		{"env:EMPTY", "", "url: env:EMPTY is not set in this replica"},
		{"file:" + dir + "/none", "", "can't be read by this replica"},
		{"env:HOOK", "", "url is not an http or https URL"},
		{"env:NOHOST", "", "url is not an http or https URL"},
		{"env:BAD", "", "url is not an http or https URL"},
		{"env:USER", "", "url has credentials in it"},
		{url, "env:NOWHERE", "secret_ref: env:NOWHERE is not set in this replica"},
		{url, "file:" + dir + "/none", "can't be read by this replica"},
		{url, "file:" + dir, "can't be read by this replica"},
		{url, "file:" + dir + "/pipe", "can't be read by this replica"},
		{url, "file:" + dir + "/empty", "can't be read by this replica"},
		{url, "file:" + dir + "/big", "can't be read by this replica"},
		{url, "env:PLAIN", "secret_ref: secret 1 is not whsec_ followed by base64"},
		{url, "env:NOKEY", "secret_ref: secret 1 is not whsec_ followed by base64"},
		{url, "env:NOBASE", "secret_ref: secret 1 is not whsec_ followed by base64"},
		{url, "env:SECOND", "secret_ref: secret 2 is not whsec_ followed by base64"},
	} {
		answer := s.Send(t.Context(), notifier.Message{ID: "msg_1", Body: someBody, URL: c.url, SecretRef: c.secret})
		require.True(t, answer.Unready, "%s %s", c.url, c.secret)
		require.Contains(t, answer.Named, c.says)
		require.NotEmpty(t, answer.Problem)
		require.NotContains(t, answer.Named+answer.Problem, "hunter2")
		require.NotContains(t, answer.Named+answer.Problem, url)
		for _, named := range []string{"env:", "file:", dir, "NOWHERE", "EMPTY"} {
			require.NotContains(t, answer.Problem, named, "who may read deliveries may not read references")
		}
		require.Zero(t, answer.Code)
	}
	require.Empty(t, got)
}

// Who may write a webhook's row may not thereby use, or learn of, whatever else the process can read.
func TestOnlyListedReferencesAreRead(t *testing.T) {
	t.Parallel()
	url, got := receiver(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "secret")
	require.NoError(t, os.WriteFile(file, []byte(oneSecret), 0o600))
	asked := ""
	s, err := New(Config{
		Lookup:     func(name string) (string, bool) { asked += name; return oneSecret, true },
		References: []string{"env:HOOK_SECRET", "file:" + dir + "/other"},
		Allow:      []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	})
	require.NoError(t, err)
	for _, reference := range []string{
		"env:DATABASE_URL", "env:HOOK_SECRET ", "env:", "file:" + file, "file:" + dir + "/none", "file:" + dir + "/./other", "file:",
	} {
		for column, m := range map[string]notifier.Message{
			"secret_ref": {URL: url, SecretRef: reference},
			"url":        {URL: reference},
		} {
			answer := s.Send(t.Context(), m)
			require.True(t, answer.Unready, reference)
			require.Equal(t, column+": its reference is not among the webhook_secrets of this replica's --config: add it there", answer.Problem)
			require.Equal(t, column+": "+reference+" is not among the webhook_secrets of this replica's --config: add it there", answer.Named)
		}
	}
	require.Empty(t, asked, "it isn't even looked at")
	require.Empty(t, got)
	require.Empty(t, s.Send(t.Context(), notifier.Message{ID: "msg_1", Body: someBody, URL: url, SecretRef: "env:HOOK_SECRET"}).Problem)
}

func TestATryThatIsBrokenOffSaysSo(t *testing.T) {
	t.Parallel()
	url := scripted(t, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	answer := newSender(t, 0, nil).Send(ctx, notifier.Message{ID: "msg_1", Body: someBody, URL: url})
	require.Equal(t, "the try was broken off", answer.Problem)
	require.False(t, answer.Unready)
}

// scripted is a receiver that has read the request before it answers.
func scripted(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the server looks for an abort only behind the body
		answer(w, r)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}
