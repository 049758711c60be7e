package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Executor does the work of one task type. It is called from many goroutines
// at once and must keep nothing of a run after Execute has returned.
type Executor interface {
	// Execute runs one claimed run to its end.
	//
	// ctx ends when the run is canceled, runs out of time, stalls, or its
	// replica loses its lease or drains; context.Cause tells which (ErrCanceled
	// and its siblings). Execute then stops what it started, everywhere, and
	// returns; what it returns is only used where it had finished anyway (a nil
	// error) or to add to the run's detail.
	//
	// A nil error ends the run DONE with Result. An error ends it FAILED: a
	// *Failure says with which code and whether it may be retried; any other
	// error is one that may be retried, code ERROR. A panic is caught, code PANIC.
	Execute(ctx context.Context, run *Run) (Result, error)
}

// ExecutorFunc is a function that is an Executor.
type ExecutorFunc func(ctx context.Context, run *Run) (Result, error)

// Execute calls f.
func (f ExecutorFunc) Execute(ctx context.Context, run *Run) (Result, error) { return f(ctx, run) }

// Run is what an executor is told of the run that it executes.
type Run struct {
	ID         int64
	RootID     int64 // first run of the chain of retries; ID where this is the first
	TaskID     int64
	TaskName   string
	PlanID     *int64
	Attempt    int // 0 for the first
	Type       string
	Queue      string
	DatabaseID string // "" where the task has none
	Version    string // "" where the task has none
	// Payload is the task's payload with the run's input laid over it. Always a JSON object.
	Payload json.RawMessage
	// Claim proves that this replica holds the run; an app may pass it to
	// report_progress, complete_run and fail_run. Never logged.
	Claim string
	// Manual is true for a first run and for a retry that a person asked for, false for an automatic attempt after a failure or
	// a recovery. What follows a run that was put off or given back has what that run had.
	Manual bool

	// Log appends a row to task_run_log. detail is marshaled as JSON, at most 1 MiB.
	Log func(ctx context.Context, kind string, detail any) error
	// Progress stores progress (at most 1 MiB of JSON) and resets progress_timeout.
	Progress func(ctx context.Context, progress any) error
}

// Decode unmarshals the payload into v, as encoding/json does: keys that v has no place for are left out. Its error is
// one of BadInput, for Execute to return as it is.
func (r *Run) Decode(v any) error {
	if err := json.Unmarshal(r.Payload, v); err != nil {
		return BadInput("the payload: %v", err)
	}
	return nil
}

// Result is what a run that ended well leaves behind.
type Result struct {
	// Output becomes task_run.result: nil or something that marshals to a JSON
	// object of at most 1 MiB; a nil map or pointer is an empty one. The key
	// "code" is shown as the run's code.
	Output any
	// HandedOver says that the work goes on elsewhere (HTTP 202): the run stays
	// RUNNING without a replica until complete_run, fail_run, a cancel or its
	// timeouts end it. Output is then ignored.
	HandedOver bool
}

// Codes of failures, as they stand in task_run.result. Executors add HTTP_<n>,
// EXIT_<n> and SQLSTATEs of their own.
const (
	CodeBadInput        = "BAD_INPUT"
	CodeTimeout         = "TIMEOUT"
	CodeProgressTimeout = "PROGRESS_TIMEOUT"
	CodeLostContact     = "LOST_CONTACT"
	CodeDrained         = "DRAINED"
	CodePanic           = "PANIC"
	CodeCanceled        = "CANCELED"
	CodeSnoozed         = "SNOOZED"
	CodeError           = "ERROR"

	codeReleased = "RELEASED" // of a worker's run that was given back
)

// IsOwnCode says whether a code of five characters, which a statement can raise as its SQLSTATE, is one by which Rowrun says what it did
// itself.
func IsOwnCode(code string) bool { return code == "STALE" || code == CodePanic }

// Why an executor's context ended: compare with context.Cause.
var (
	ErrCanceled    = errors.New("a cancel was asked for")
	ErrTimeout     = errors.New("the run's timeout is over")
	ErrStalled     = errors.New("the run reported no progress in time")
	ErrLostContact = errors.New("the replica lost contact with the database")
	ErrDrained     = errors.New("the replica is shutting down")
)

// Failure is an error with the code that task_run.result gets; without one
// that is ERROR, and so it is in place of SNOOZED and RELEASED, which are no
// failures. Detail is for the user: what went wrong and what to do; never a secret.
type Failure struct {
	Code      string
	Detail    string
	Retryable bool
	// Output, where not nil, is merged into task_run.result beside code and detail.
	Output map[string]any

	snoozed bool
}

func (f *Failure) Error() string { return f.Code + ": " + f.Detail }

// maxSnooze is the longest time for which a run is put off.
const maxSnooze = 100 * 365 * 24 * time.Hour

// Snooze is an error that asks for the run to be put off: it ends FAILED, code SNOOZED, and its successor is due after this
// long, by the database's clock. That counts neither against max_attempts nor anywhere as a failure; the successor's attempt is
// one more. A cancel that was asked for wins, and so does whatever else stopped the executor. reason stands in the run's detail.
func Snooze(after time.Duration, reason string) error {
	after = min(max(after, 0), maxSnooze)
	detail := "Task run put off for " + after.Round(time.Millisecond).String()
	if reason != "" {
		detail += ": " + reason
	}
	return &Failure{Code: CodeSnoozed, Detail: detail, Output: map[string]any{"snooze_seconds": after.Seconds()}, snoozed: true}
}

// BadInput is a failure that no retry can mend: the task or its input is wrong.
func BadInput(format string, args ...any) error {
	return &Failure{Code: CodeBadInput, Detail: fmt.Sprintf(format, args...)}
}
