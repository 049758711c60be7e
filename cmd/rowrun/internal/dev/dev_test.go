package dev

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
)

// What is printed is to be pasted as it is, whatever the directory is called.
func TestConnectionLineIsQuoted(t *testing.T) {
	t.Parallel()
	const odd = `/tmp/it's a \ dir`
	config, err := pgx.ParseConfig("host=" + conninfo("/tmp/plain") + " user=postgres dbname=rowrun options=-csearch_path=rowrun,public")
	require.NoError(t, err)
	require.Equal(t, "/tmp/plain", config.Host)
	require.Equal(t, "-csearch_path=rowrun,public", config.RuntimeParams["options"])
	require.Equal(t, `/tmp/it\'s\ a\ \\\ dir`, conninfo(odd))
	require.Equal(t, `'it'\''s'`, cli.Quoted("it's"))
}

// A message is believed only as it was signed, and told once.
func TestReceiverBelievesOnlyWhatIsSigned(t *testing.T) {
	t.Parallel()
	const body = `{"type": "PIPELINE_FAILED", "data": {"plan_id": 7, "plan": "roll\u001b[2Jout", "message": "Pipeline failed - Task a failed"}}`
	var told strings.Builder
	r, err := newReceiver(&told)
	require.NoError(t, err)
	other, err := newReceiver(io.Discard)
	require.NoError(t, err)
	post := func(signer *receiver, sent, signed string, at time.Time) int {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/webhook", strings.NewReader(sent))
		signature, err := signer.signer.Sign("msg_1", at, []byte(signed))
		require.NoError(t, err)
		request.Header.Set("webhook-id", "msg_1")
		request.Header.Set("webhook-timestamp", strconv.FormatInt(at.Unix(), 10))
		request.Header.Set("webhook-signature", signature)
		answer := httptest.NewRecorder()
		r.ServeHTTP(answer, request)
		return answer.Code
	}
	now := time.Now()
	require.Equal(t, http.StatusUnauthorized, post(other, body, body, now), "another secret")
	require.Equal(t, http.StatusUnauthorized, post(r, body+" ", body, now), "other bytes")
	require.Equal(t, http.StatusUnauthorized, post(r, body, body, now.Add(-time.Hour)), "an old one, sent again")
	require.Equal(t, http.StatusRequestEntityTooLarge, post(r, strings.Repeat(" ", maxWebhook+1), body, now))
	require.Equal(t, http.StatusBadRequest, post(r, "{", "{", now))
	require.Empty(t, told.String())
	require.Equal(t, http.StatusNoContent, post(r, body, body, now))
	require.Equal(t, http.StatusNoContent, post(r, body, body, now), "the same once more")
	require.Equal(t, "rowrun dev: the sample's app received a webhook, and its signature is right:\n"+
		"    PIPELINE_FAILED, plan 7 (roll\uFFFD[2Jout): Pipeline failed - Task a failed\n", told.String())
}

func TestEchoAppKeepsTheClaimToItself(t *testing.T) {
	t.Parallel()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/echo", strings.NewReader(`{"a": 1}`))
	request.Header.Set("Rowrun-Attempt", "1")
	request.Header.Set("Rowrun-Claim", "secret")
	answer := httptest.NewRecorder()
	echo(answer, request)
	require.Equal(t, http.StatusOK, answer.Code)
	require.JSONEq(t, `{"method": "POST", "path": "/echo", "rowrun-attempt": "1", "body": {"a": 1}}`, answer.Body.String())
}
