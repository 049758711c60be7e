package replica

import (
	"time"

	"github.com/rowrun/rowrun/scheduler"
)

// Executor does the work of one task type.
type Executor = scheduler.Executor

// ExecutorFunc is a function that is an Executor.
type ExecutorFunc = scheduler.ExecutorFunc

// TaskRun is the run that an executor executes: its payload, and where progress and log lines go.
type TaskRun = scheduler.Run

// Result is what a run that ended well leaves behind.
type Result = scheduler.Result

// Failure is an error with the code that the run's result gets, and whether it may be retried. Any other error may be, and
// has the code ERROR.
type Failure = scheduler.Failure

// BadInput is a Failure that no retry can mend: the task or its input is wrong.
func BadInput(format string, args ...any) error { return scheduler.BadInput(format, args...) }

// Snooze is an error that asks for the run to be put off for this long: it ends FAILED, code SNOOZED, and a successor that counts
// as no attempt is due then.
func Snooze(after time.Duration, reason string) error { return scheduler.Snooze(after, reason) }

// Why an executor's context ended: compare with context.Cause. There are more causes (a timeout, no progress, a lost
// lease); whatever it is, an executor stops and returns.
var (
	// ErrCanceled: somebody asked for the run's cancel.
	ErrCanceled = scheduler.ErrCanceled
	// ErrDrained: Run was told to stop, and DrainTimeout is nearly over.
	ErrDrained = scheduler.ErrDrained
)

// ErrStuck is in Run's error where it drained by itself: too many executors ignore their cancel, and only a new process
// gives their slots back.
var ErrStuck = scheduler.ErrStuck
