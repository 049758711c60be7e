package integration_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// hearer is who is told of plans: it keeps every message, and refuses some at their first try.
type hearer struct {
	url, secretRef, config string
	key                    []byte

	mu     sync.Mutex
	bodies map[string][]string // by message id, those that were taken
	tries  map[string]int
	forged []string // ids of what wasn't signed rightly
}

func newHearer(t *testing.T) *hearer {
	t.Helper()
	h := &hearer{key: []byte("a secret of thirty-two bytes, eh"), bodies: map[string][]string{}, tries: map[string]int{}}
	file := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(file, []byte("whsec_"+base64.StdEncoding.EncodeToString(h.key)+"\n"), 0o600))
	h.secretRef, h.config = "file:"+file, filepath.Join(filepath.Dir(file), "rowrun.yaml")
	require.NoError(t, os.WriteFile(h.config, []byte("webhook_secrets: ['"+h.secretRef+"']\n"), 0o600))
	server := httptest.NewServer(http.HandlerFunc(h.serve))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	h.url = server.URL + "/hook"
	return h
}

// knows are the flags of a replica that may sign for it, and call it.
func (h *hearer) knows() []string { return append(loopback(), "--config", h.config) }

func (h *hearer) serve(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	id := req.Header.Get("webhook-id")
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tries[id]++
	if !h.signed(req.Header, body) {
		h.forged = append(h.forged, id)
	}
	if h.tries[id] == 1 && strings.HasSuffix(id, "0") { // one in sixteen: each costs the 5 s to the next try
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	h.bodies[id] = append(h.bodies[id], string(body))
	w.WriteHeader(http.StatusNoContent)
}

// signed follows the text of Standard Webhooks, not the library that the sidecar signs with.
func (h *hearer) signed(header http.Header, body []byte) bool {
	mac := hmac.New(sha256.New, h.key)
	mac.Write([]byte(header.Get("webhook-id") + "." + header.Get("webhook-timestamp") + "."))
	mac.Write(body)
	return slices.Contains(strings.Fields(header.Get("webhook-signature")), "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}

// sentRow is a row of the outbox.
type sentRow struct{ MessageID, Payload, Status string }

// requireAll waits until everything has been delivered, and holds what came against what was to come.
func (h *hearer) requireAll(t *testing.T, d *database) {
	t.Helper()
	awaitUntil(t, "every delivery", func() string {
		return d.text(t, "SELECT string_agg(id || ' ' || status || ' ' || attempts || ' ' || coalesce(last_error, ''), ', ') FROM rowrun.webhook_delivery WHERE status <> 'DELIVERED'")
	})
	rows, err := d.pool.Query(t.Context(), "SELECT message_id, payload, status FROM rowrun.webhook_delivery")
	require.NoError(t, err)
	sent, err := pgx.CollectRows(rows, pgx.RowToStructByName[sentRow])
	require.NoError(t, err)
	h.mu.Lock()
	defer h.mu.Unlock()
	require.Empty(t, h.forged, "signatures")
	require.Len(t, h.bodies, len(sent), "messages that came, and messages of the outbox")
	for _, row := range sent {
		require.NotEmpty(t, h.bodies[row.MessageID], row.MessageID)
		for _, body := range h.bodies[row.MessageID] {
			require.Equal(t, row.Payload, body, "every copy has the same bytes")
		}
	}
}
