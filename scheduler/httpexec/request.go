package httpexec

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/rowrun/rowrun/scheduler"
)

const (
	maxHeaders     = 100
	maxHeaderBytes = 16 << 10 // names and values together
)

// call is a payload that was found right.
type call struct {
	method string
	url    *url.URL
	header http.Header
	body   []byte // nil: none
}

// path is how errors name the request: the query may hold what nobody should read.
func (c *call) path() string { return c.url.EscapedPath() }

// parse reads a payload. Keys are compared exactly, and keys that are not the
// executor's own are left to the user.
func (e *Executor) parse(payload json.RawMessage) (*call, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(payload, &fields); err != nil || fields == nil {
		return nil, scheduler.BadInput("the payload must be a JSON object")
	}
	raw, ok := fields["path"]
	if !ok {
		return nil, scheduler.BadInput(`the payload has no "path"`)
	}
	path, ok := jsonString(raw)
	if !ok {
		return nil, scheduler.BadInput("path must be a string")
	}
	c := &call{method: http.MethodPost}
	var err error
	if c.url, err = e.base.resolve(path); err != nil {
		return nil, err
	}
	if raw, ok := fields["method"]; ok {
		methods := []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"}
		if c.method, ok = jsonString(raw); !ok || !slices.Contains(methods, c.method) {
			return nil, scheduler.BadInput("method must be one of %s", strings.Join(methods, ", "))
		}
	}
	if c.header, err = parseHeaders(fields["headers"]); err != nil {
		return nil, err
	}
	if raw, ok := fields["body"]; ok {
		if c.method == http.MethodGet || c.method == http.MethodHead {
			return nil, scheduler.BadInput("a %s request has no body", c.method)
		}
		var body bytes.Buffer
		if err := json.Compact(&body, raw); err != nil {
			return nil, scheduler.BadInput("body is not valid JSON")
		}
		c.body = body.Bytes()
		if c.header.Get("Content-Type") == "" {
			c.header.Set("Content-Type", "application/json")
		}
	}
	return c, nil
}

func parseHeaders(raw json.RawMessage) (http.Header, error) {
	header := http.Header{}
	if raw == nil {
		return header, nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		return nil, scheduler.BadInput("headers must be an object of strings")
	}
	if len(fields) > maxHeaders {
		return nil, scheduler.BadInput("headers: more than %d", maxHeaders)
	}
	size := 0
	for name, raw := range fields {
		value, ok := jsonString(raw)
		if !ok {
			return nil, scheduler.BadInput("header %q must be a string", name)
		}
		if !validHeaderName(name) {
			return nil, scheduler.BadInput("header %q is not a valid name", name)
		}
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return nil, scheduler.BadInput("header %q has a control character", name)
		}
		if reservedHeader(name) {
			return nil, scheduler.BadInput("header %q is set by Rowrun or belongs to the connection", name)
		}
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		if _, twice := header[canonical]; twice {
			return nil, scheduler.BadInput("header %q is given twice", canonical)
		}
		if size += len(name) + len(value); size > maxHeaderBytes {
			return nil, scheduler.BadInput("headers: more than %d bytes", maxHeaderBytes)
		}
		header[canonical] = []string{value}
	}
	return header, nil
}

func validHeaderName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		switch {
		case '0' <= r && r <= '9', 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z':
			return false
		}
		return !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

// reservedHeader is true for what a payload may not set: hop-by-hop headers,
// those that frame the message, and those that the app must be able to trust.
func reservedHeader(name string) bool {
	// CGI-like servers make the same variable of "-" and "_".
	name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
	for _, prefix := range []string{"rowrun-", "webhook-", "proxy-"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	switch name {
	case "host", "content-length", "transfer-encoding", "connection", "keep-alive", "te", "trailer", "upgrade",
		"expect", "http2-settings", "accept-encoding", "idempotency-key", "x-idempotency-key":
		return true
	}
	return false
}

// request builds what is sent for one run.
func (e *Executor) request(ctx context.Context, run *scheduler.Run, c *call) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, c.method, c.url.String(), bytes.NewReader(c.body))
	if err != nil { // everything in it was checked: only a path that net/http refuses is left
		return nil, scheduler.BadInput("path can't be requested")
	}
	req.URL = c.url // not the re-parsed text: this is what was checked
	req.Header = c.header
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", "rowrun")
	}
	req.Header.Set("Rowrun-Run-Id", strconv.FormatInt(run.ID, 10))
	req.Header.Set("Rowrun-Attempt", strconv.Itoa(run.Attempt))
	req.Header.Set("Rowrun-Claim", run.Claim)
	if state := stateHeader(run.Payload); state != "" {
		req.Header.Set(headerState, state)
	}
	// In lower case on purpose: net/http repeats a request on its own that has
	// "Idempotency-Key", also one that the app has already worked on.
	req.Header["idempotency-key"] = []string{"rowrun-" + strconv.FormatInt(run.RootID, 10)}
	return req, e.sign(req, run, c.body)
}

// sign adds the headers of Standard Webhooks. The id is the run's: each attempt
// is a run of its own.
func (e *Executor) sign(req *http.Request, run *scheduler.Run, body []byte) error {
	if len(e.signers) == 0 {
		return nil
	}
	id, now := "run_"+strconv.FormatInt(run.ID, 10), time.Now()
	var signatures []string
	for _, s := range e.signers {
		signature, err := s.Sign(id, now, body)
		if err != nil {
			return fmt.Errorf("sign the request: %w", err)
		}
		signatures = append(signatures, signature)
	}
	req.Header.Set(standardwebhooks.HeaderWebhookID, id)
	req.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	req.Header.Set(standardwebhooks.HeaderWebhookSignature, strings.Join(signatures, " "))
	return nil
}

// jsonString reads raw only where it is a string: json.Unmarshal takes null for one.
func jsonString(raw json.RawMessage) (string, bool) {
	var s *string
	if err := json.Unmarshal(raw, &s); err != nil || s == nil {
		return "", false
	}
	return *s, true
}
