package webhook

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/notifier"
)

// block is the one code block of a language in docs/webhooks.md that says something.
func block(t *testing.T, language, says string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "webhooks.md"))
	require.NoError(t, err)
	var found []string
	for i, part := range strings.Split(string(text), "\n```") {
		if body, ok := strings.CutPrefix(part, language+"\n"); ok && i%2 == 1 && strings.Contains(body, says) {
			found = append(found, body+"\n")
		}
	}
	require.Len(t, found, 1, "blocks of %s", language)
	return found[0]
}

// The receivers of the documentation take what the sidecar signs, and nothing else. An interpreter that this machine
// doesn't have leaves its own text unproven, and the others proven.
func TestTheDocumentedReceiversVerify(t *testing.T) {
	t.Parallel()
	const body = "{\"type\":\"PIPELINE_FAILED\",\"text\":\"ü\\n\"}"
	header, old := http.Header{}, http.Header{}
	signers, err := parseSecrets(otherSecret + " " + oneSecret)
	require.NoError(t, err)
	m := notifier.Message{ID: "msg_1", Body: body}
	require.NoError(t, sign(header, m, signers, time.Now()))
	require.NoError(t, sign(old, m, signers, time.Now().Add(-6*time.Minute)))

	proven := 0
	for language, program := range map[string][]string{"python": {"python3", "-c"}, "sh": {"sh", "-c"}} {
		text := block(t, language, map[string]string{"python": "hmac", "sh": "HMAC"}[language])
		needs := program[0]
		args := []string{"-c", text}
		if language == "sh" {
			needs, args = "openssl", append(args, "verify")
		}
		if _, err := exec.LookPath(needs); err != nil {
			require.ErrorIs(t, err, exec.ErrNotFound)
			continue
		}
		proven++
		verify := func(header http.Header, secret, body string) bool {
			cmd := exec.CommandContext(t.Context(), program[0], append(args, secret, header.Get("webhook-id"),
				header.Get("webhook-timestamp"), header.Get("webhook-signature"))...)
			cmd.Stdin = strings.NewReader(body)
			var said bytes.Buffer
			cmd.Stderr = &said
			err := cmd.Run()
			require.Empty(t, said.String(), language)
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				require.Equal(t, 1, exit.ExitCode(), language)
				return false
			}
			require.NoError(t, err, language)
			return true
		}
		require.True(t, verify(header, oneSecret, body), language)
		require.True(t, verify(header, otherSecret, body), language)
		require.False(t, verify(header, oneSecret, body+"\n"), "%s: another body", language)
		require.False(t, verify(header, "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", body), "%s: another secret", language)
		require.False(t, verify(old, oneSecret, body), "%s: six minutes old", language)
		forged := header.Clone()
		forged.Set("webhook-id", "msg_2")
		require.False(t, verify(forged, oneSecret, body), "%s: another id", language)
	}
	t.Logf("receivers proven: %d", proven)
	require.Contains(t, block(t, "go", "verifier.Verify"), "verifier.Verify(body, r.Header)")
}
