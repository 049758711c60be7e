package httpexec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/rowrun/rowrun/notifier/egress"
	"github.com/rowrun/rowrun/scheduler"
)

const (
	maxBody       = 64 << 10 // of an answer that ends the run DONE
	maxLogBody    = 4 << 10  // of any answer, in task_run_log
	maxDetailBody = 500      // of an answer that ends the run FAILED, in its detail

	// The status alone decides what becomes of the run where it isn't a plain
	// success, so a body that trickles in isn't waited for.
	errorPatience    = 5 * time.Second
	acceptedPatience = time.Second

	logTimeout = 5 * time.Second
)

// answer is what the app said.
type answer struct {
	status    int
	mediaType string
	body      []byte
	truncated bool
	state     any // what the next run of a recurring task is to be handed; nil: nothing was said
	// retryAfter is for how long the app wants no request, of a 429; 0: it didn't say.
	retryAfter time.Duration
}

// readAnswer reads as much of the body as the status calls for. An error means
// that the answer to a success broke off.
func readAnswer(resp *http.Response, abort func()) (*answer, error) {
	a := &answer{status: resp.StatusCode}
	a.mediaType, _, _ = mime.ParseMediaType(resp.Header.Get("Content-Type")) // malformed: no JSON
	if state, ok := safeJSON([]byte(resp.Header.Get(headerState))); ok {
		a.state = state
	}
	if a.status == http.StatusTooManyRequests {
		a.retryAfter = egress.RetryAfter(resp.Header.Get("Retry-After"), time.Now(), maxRetryAfter)
	}
	limit, patience := maxLogBody, errorPatience
	switch {
	case a.status == http.StatusAccepted:
		patience = acceptedPatience
	case a.success():
		limit, patience = maxBody, 0
	}
	if patience > 0 {
		defer time.AfterFunc(patience, abort).Stop()
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(limit)+1))
	if len(body) > limit {
		body, a.truncated, err = body[:limit], true, nil
	}
	a.body = body
	if patience > 0 {
		return a, nil // what could be read of it will do
	}
	return a, err
}

func (a *answer) success() bool { return a.status >= 200 && a.status < 300 }

// judge turns the answer into what becomes of the run.
func (a *answer) judge(c *call) (scheduler.Result, error) {
	if a.status == http.StatusAccepted {
		return scheduler.Result{HandedOver: true}, nil
	}
	if a.success() {
		return scheduler.Result{Output: a.output()}, nil
	}
	detail := fmt.Sprintf("%s %s: %s", c.method, c.path(), strings.TrimSpace(strconv.Itoa(a.status)+" "+http.StatusText(a.status)))
	if text := safeText(head(a.body, maxDetailBody)); text != "" {
		detail += ": " + text
	}
	failure := &scheduler.Failure{Code: "HTTP_" + strconv.Itoa(a.status), Detail: detail, Retryable: retryable(a.status)}
	if a.retryAfter > 0 { // the end of the run holds back the limits that it has a rate of
		failure.Output = map[string]any{"retry_after_s": a.retryAfter.Seconds()}
	}
	return scheduler.Result{}, failure
}

// maxRetryAfter bounds what an app may ask for.
const maxRetryAfter = 24 * time.Hour

func retryable(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return status >= 500
}

// output is what task_run.result keeps: status, body where there is one, and
// truncated where it was cut.
func (a *answer) output() map[string]any {
	out := map[string]any{"status": a.status}
	if len(a.body) > 0 {
		out["body"] = a.content()
	}
	if a.truncated {
		out["truncated"] = true
	}
	if a.state != nil {
		out["state"] = a.state
	}
	return out
}

func (a *answer) content() any {
	isJSON := a.mediaType == "application/json" || strings.HasSuffix(a.mediaType, "+json")
	if isJSON && !a.truncated {
		if v, ok := safeJSON(a.body); ok {
			return v
		}
	}
	return safeText(a.body)
}

// noAnswer is the error of a request that got none, or only part of one.
func noAnswer(ctx context.Context, run *scheduler.Run, c *call, start time.Time, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if sent := (*url.Error)(nil); errors.As(err, &sent) { // it quotes the URL, with the query
		err = sent.Err
	}
	reason := scheduler.WithoutPlaces(err) // of the app's address
	reason = safeText(head([]byte(reason), maxDetailBody))
	logResponse(ctx, run, start, map[string]any{"error": reason})
	return &scheduler.Failure{
		Code: scheduler.CodeError, Retryable: true,
		Detail: fmt.Sprintf("%s %s: no answer: %s", c.method, c.path(), reason),
	}
}

// logResponse writes what happened to task_run_log. It can't change what became
// of the run, so an error of it is dropped: the run's end will meet the same
// database.
func logResponse(ctx context.Context, run *scheduler.Run, start time.Time, detail map[string]any) {
	detail["duration_ms"] = float64(time.Since(start).Microseconds()) / 1000
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), logTimeout)
	defer cancel()
	_ = run.Log(ctx, "response", detail)
}
