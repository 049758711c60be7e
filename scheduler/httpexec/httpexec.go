// Package httpexec runs tasks of type HTTP: it calls the app beside the sidecar.
//
// It promises:
//   - The base URL can't be left: whatever a payload holds, the request goes to
//     the same scheme and host, below the base path, and redirects aren't followed.
//   - One execution sends one request. Where an answer doesn't come, the request
//     is not repeated here, but for a GET or HEAD on a kept connection that broke;
//     the next attempt is a run of its own, with the same Idempotency-Key.
//   - At most 64 KiB of an answer are read, and what is kept fits into jsonb.
//   - When its context ends, the request is aborted and the cause returned.
//   - Neither secrets nor headers nor the query stand in an error or in the run's log, nor the app's address.
//
// An answer of 202 hands the run over: the app ends it by complete_run or
// fail_run with the claim it was sent. A replica that dies between receiving the
// 202 and recording it leaves the run to the stale sweep.
package httpexec

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/rowrun/rowrun/notifier/egress"
	"github.com/rowrun/rowrun/scheduler"
)

// Config says which app is called.
type Config struct {
	// BaseURL is required: http or https, a host, and perhaps a path that every
	// request stays below. No user, query or fragment.
	BaseURL string
	// Secret signs the requests as webhooks are signed: whsec_ and base64, or
	// several separated by spaces, each of which signs. "": unsigned.
	Secret string
	// MaxIdleConns is how many connections are kept for the next run; 0: 16.
	MaxIdleConns int
}

// Executor calls the app. It is safe for concurrent use.
type Executor struct {
	base    base
	signers []*standardwebhooks.Webhook
	client  *http.Client //nolint:forbidigo // made by egress
}

var _ scheduler.Executor = (*Executor)(nil)

// New checks cfg; its errors never hold a secret or a password.
func New(cfg Config) (*Executor, error) {
	b, err := parseBase(cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	signers, err := parseSecret(cfg.Secret)
	if err != nil {
		return nil, err
	}
	client, err := egress.NewClient(egress.Config{
		Origin:       &url.URL{Scheme: b.scheme, Host: b.host},
		MaxIdleConns: cfg.MaxIdleConns,
	})
	if err != nil {
		return nil, fmt.Errorf("client of the app: %w", err)
	}
	return &Executor{base: b, signers: signers, client: client}, nil
}

// Close closes the idle connections. Call it when no Execute is under way.
func (e *Executor) Close() { e.client.CloseIdleConnections() }

// Execute sends the run's request and judges the answer.
func (e *Executor) Execute(ctx context.Context, run *scheduler.Run) (scheduler.Result, error) {
	c, err := e.parse(run.Payload)
	if err != nil {
		return scheduler.Result{}, err
	}
	reqCtx, abort := context.WithCancel(ctx)
	defer abort()
	req, err := e.request(reqCtx, run, c)
	if err != nil {
		return scheduler.Result{}, err
	}

	start := time.Now()
	resp, err := e.client.Do(req)
	if err != nil {
		return scheduler.Result{}, noAnswer(ctx, run, c, start, err)
	}
	defer func() { _ = resp.Body.Close() }() // nothing left to learn from it

	a, err := readAnswer(resp, abort)
	if err != nil {
		return scheduler.Result{}, noAnswer(ctx, run, c, start, err)
	}
	logResponse(ctx, run, start, map[string]any{
		"status": a.status, "body": safeText(head(a.body, maxLogBody)),
	})
	return a.judge(c)
}

// parseSecret reads the secrets of --app-secret.
func parseSecret(secret string) ([]*standardwebhooks.Webhook, error) {
	var signers []*standardwebhooks.Webhook
	for n, s := range strings.Fields(secret) {
		key, found := strings.CutPrefix(s, "whsec_")
		signer, err := standardwebhooks.NewWebhook(key)
		if !found || key == "" || err != nil {
			// The library's error isn't wrapped: nothing of the secret may show.
			return nil, fmt.Errorf("app secret %d: want whsec_ followed by base64", n+1)
		}
		signers = append(signers, signer)
	}
	return signers, nil
}
