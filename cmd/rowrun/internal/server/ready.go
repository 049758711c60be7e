package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

const (
	// readyTimeout is the deadline of all checks of one request together.
	readyTimeout = 2 * time.Second
	// An answer this young is given again: probes from many sides, or a flood
	// of them, cost the database one question.
	reuse = 250 * time.Millisecond
)

// Check is one condition of readiness.
type Check struct {
	// Name stands in the answer. Required, and unique.
	Name string
	// Ask returns nil if the condition holds. Required. The error's text is
	// shown to whoever asks: no secret belongs into it. It must return soon
	// after ctx ends.
	Ask func(ctx context.Context) error
	// Tell, where not nil, is shown beside an answer: it must return at once.
	Tell func() string
}

type readiness struct {
	checks []Check
	// latest holds the last answer; taking it is the right to ask anew, so the
	// checks never run twice at once.
	latest chan answer
}

type answer struct {
	Status string            `json:"status"` // ok or unavailable
	Checks map[string]result `json:"checks"`
	at     time.Time
}

type result struct {
	OK     bool   `json:"ok"`
	Error  string `json:"error,omitempty"`
	Detail string `json:"detail,omitempty"`
}

func newReadiness(checks []Check) (*readiness, error) {
	seen := map[string]bool{}
	for _, check := range checks {
		if check.Name == "" || check.Ask == nil {
			return nil, errors.New("a readiness check needs a name and a question")
		}
		if seen[check.Name] {
			return nil, fmt.Errorf("readiness check %s is there twice", check.Name)
		}
		seen[check.Name] = true
	}
	r := &readiness{checks: checks, latest: make(chan answer, 1)}
	r.latest <- answer{}
	return r, nil
}

func (r *readiness) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	// The answer is shared, so it must not depend on who hangs up.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(req.Context()), readyTimeout)
	defer cancel()
	tellReady(w, r.now(ctx))
}

// now is the answer of this moment, or of a moment ago.
func (r *readiness) now(ctx context.Context) answer {
	select {
	case last := <-r.latest:
		now := r.refresh(ctx, last)
		r.latest <- now
		return now
	case <-ctx.Done():
		return answer{Status: "unavailable", Checks: map[string]result{}}
	}
}

func tellReady(w http.ResponseWriter, now answer) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if now.Status != "ok" {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(now) // whoever asked has gone
}

func (r *readiness) refresh(ctx context.Context, last answer) answer {
	if !last.at.IsZero() && time.Since(last.at) < reuse {
		return last
	}
	now := answer{Status: "ok", Checks: make(map[string]result, len(r.checks))}
	for _, check := range r.checks {
		if err := ask(ctx, check); err != nil {
			now.Status = "unavailable"
			now.Checks[check.Name] = result{Error: err.Error(), Detail: check.tell()}
			continue
		}
		now.Checks[check.Name] = result{OK: true, Detail: check.tell()}
	}
	now.at = time.Now()
	return now
}

func (c *Check) tell() string {
	if c.Tell == nil {
		return ""
	}
	return c.Tell()
}

func ask(ctx context.Context, check Check) error {
	if ctx.Err() != nil {
		return errors.New("not asked: an earlier check took all the time")
	}
	err := check.Ask(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %s", readyTimeout)
	}
	return err
}
