// Package webhook sends messages to HTTP endpoints as Standard Webhooks says
// (https://www.standardwebhooks.com): the id, the time of the try, and a
// signature per secret in the headers, the body as it was frozen.
//
// It promises of each try:
//   - It takes at most 15 s in all: the name's resolution, the connection, the
//     request, and what is read of the answer.
//   - 2xx is a success. Everything else is a failure, redirects among them: none
//     is followed.
//   - Of an answer at most 64 KiB of headers and 16 KiB of the body are read, and
//     nothing is unpacked: an answer without end costs no more than a short one.
//   - Only public addresses are called, and those that the configuration allows.
//   - Nothing that it returns names the URL, the host, the secret, or an address; a reference (env:NAME, file:PATH) stands
//     in Answer.Named alone.
//
// The URL and the secret are resolved at each try, so that a changed file is
// noticed by the next one.
package webhook

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/rowrun/rowrun/notifier"
	"github.com/rowrun/rowrun/notifier/egress"
)

const (
	defaultTimeout = 15 * time.Second
	maxBody        = 16 << 10
	// The status has decided; a body that trickles in isn't waited for.
	bodyPatience = time.Second
)

// Config says what a sender may do.
type Config struct {
	// Lookup reads a variable of the environment. Required.
	Lookup func(name string) (string, bool)
	// References are the env:NAME and file:PATH that rows may name as url or secret_ref, exactly as rows spell them. Who
	// writes such a row is not who configures this process: whatever else it can read is not theirs to use.
	References []string
	// Allow are networks that may be called though they are not public.
	Allow []netip.Prefix
	// Timeout bounds a try; 0: 15 s, which is also the most.
	Timeout time.Duration
}

// Sender makes tries. It keeps nothing between them and is safe for concurrent use.
type Sender struct{ cfg Config }

// New checks a configuration.
func New(cfg Config) (*Sender, error) {
	if cfg.Lookup == nil {
		return nil, errors.New("a webhook sender needs a way to read variables")
	}
	if cfg.Timeout < 0 || cfg.Timeout > defaultTimeout {
		return nil, errors.New("a webhook sender's timeout is at most 15 s")
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = defaultTimeout
	}
	for _, reference := range cfg.References {
		if !IsReference(reference) {
			return nil, errors.New("what webhooks may refer to is env:NAME or file:PATH")
		}
	}
	for _, prefix := range cfg.Allow {
		if !prefix.IsValid() || prefix.Addr().Is4In6() {
			return nil, errors.New("an allowed network is not valid: want an IPv4 or IPv6 prefix")
		}
	}
	return &Sender{cfg}, nil
}

// Send makes one try.
func (s *Sender) Send(ctx context.Context, m notifier.Message) notifier.Answer {
	target, signers, err := s.resolve(m)
	if err != nil {
		return notifier.Answer{Unready: true, Problem: err.Error(), Named: named(err)}
	}
	client, err := egress.NewClient(egress.Config{Origin: target, MaxIdleConns: 1, PublicOnly: true, Allow: s.cfg.Allow})
	if err != nil {
		return notifier.Answer{Unready: true, Problem: "url is not an http or https URL"}
	}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target.String(), strings.NewReader(m.Body))
	if err != nil {
		return notifier.Answer{Unready: true, Problem: "url can't be requested"}
	}
	if err := sign(req.Header, m, signers, time.Now()); err != nil {
		return notifier.Answer{Unready: true, Problem: err.Error()}
	}
	req.Header.Set("Content-Type", cmp.Or(m.ContentType, "application/json"))
	req.Header.Set("User-Agent", "rowrun")
	resp, err := client.Do(req)
	if err != nil {
		return notifier.Answer{Problem: describe(ctx, err)}
	}
	defer func() { _ = resp.Body.Close() }()
	defer time.AfterFunc(bodyPatience, cancel).Stop()
	answer := notifier.Answer{Code: resp.StatusCode}
	answer.Body, _ = io.ReadAll(io.LimitReader(resp.Body, maxBody)) // what can be read of it will do
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		answer.Problem = strings.TrimSpace("answered with HTTP " + resp.Status[:min(3, len(resp.Status))] + " " + http.StatusText(resp.StatusCode))
		answer.RetryAfter = egress.RetryAfter(resp.Header.Get("Retry-After"), time.Now(), longest)
	}
	return answer
}

// sign sets the headers of Standard Webhooks. Every secret signs, so that a receiver knows one of them while they are
// being changed.
func sign(header http.Header, m notifier.Message, signers []*standardwebhooks.Webhook, at time.Time) error {
	header[http.CanonicalHeaderKey(standardwebhooks.HeaderWebhookID)] = []string{m.ID}
	header.Set(standardwebhooks.HeaderWebhookTimestamp, unix(at))
	var signatures []string
	for _, signer := range signers {
		signature, err := signer.Sign(m.ID, at, []byte(m.Body))
		if err != nil {
			return errors.New("the message can't be signed")
		}
		signatures = append(signatures, signature)
	}
	if len(signatures) > 0 {
		header.Set(standardwebhooks.HeaderWebhookSignature, strings.Join(signatures, " "))
	}
	return nil
}
