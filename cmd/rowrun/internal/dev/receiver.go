package dev

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
)

// maxWebhook is more than any message has.
const maxWebhook = 64 << 10

// receiver takes what is announced of plans as an app of a user's would: it
// believes nothing that isn't signed, and takes each message once.
type receiver struct {
	secret string
	signer *standardwebhooks.Webhook

	mu   sync.Mutex
	out  io.Writer
	seen map[string]bool
}

// newReceiver makes a secret that lives as long as this process.
func newReceiver(out io.Writer) (*receiver, error) {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	secret := "whsec_" + base64.StdEncoding.EncodeToString(key)
	signer, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		return nil, fmt.Errorf("make the sample's secret: %w", err)
	}
	return &receiver{secret: secret, signer: signer, out: out, seen: map[string]bool{}}, nil
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxWebhook))
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		http.Error(w, "the body has more than 64 KiB", http.StatusRequestEntityTooLarge)
		return
	case err != nil:
		return // the caller has gone
	case r.signer.Verify(body, req.Header) != nil:
		http.Error(w, "not signed, or not with this secret", http.StatusUnauthorized)
		return
	}
	if err := r.tell(req.Header.Get(standardwebhooks.HeaderWebhookID), body); err != nil {
		http.Error(w, "not understood", http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// tell shows a message, the first time that it comes.
func (r *receiver) tell(id string, body []byte) error {
	var event struct {
		Type string `json:"type"`
		Data struct {
			PlanID  int64  `json:"plan_id"`
			Plan    string `json:"plan"`
			Message string `json:"message"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &event); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen[id] {
		return nil
	}
	r.seen[id] = true
	_, _ = fmt.Fprintf(r.out, "rowrun dev: the sample's app received a webhook, and its signature is right:\n    %s, plan %d (%s): %s\n",
		cli.Printable(event.Type), event.Data.PlanID, cli.Printable(event.Data.Plan), cli.Printable(event.Data.Message))
	return nil
}
