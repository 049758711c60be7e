package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store/storetest"
)

// rude is an error, a panic's value and a result, each of whose methods panics.
type rude struct{ name string }

func (r *rude) Error() string { return r.name }

// MarshalJSON panics for whoever marshals it.
func (*rude) MarshalJSON() ([]byte, error) { panic("in MarshalJSON") }

// leaves ends the goroutine of whoever marshals it.
type leaves struct{}

func (leaves) MarshalJSON() ([]byte, error) {
	runtime.Goexit()
	return nil, nil
}

// twice panics when it is printed, with itself.
type twice struct{}

func (t twice) Error() string { panic(t) }

// What an executor hands back is asked where its panics are caught: whatever it is, the run ends, and the process and its slots
// stay.
func TestNothingThatAnExecutorReturnsEndsTheProcess(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	var noFailure *scheduler.Failure
	var noError *rude
	answers := map[string]func() (scheduler.Result, error){
		"a nil Failure":         func() (scheduler.Result, error) { return scheduler.Result{}, noFailure },
		"a nil Failure, within": func() (scheduler.Result, error) { return scheduler.Result{}, fmt.Errorf("x: %w", noFailure) },
		"a nil error":           func() (scheduler.Result, error) { return scheduler.Result{}, noError },
		"a rude error":          func() (scheduler.Result, error) { return scheduler.Result{}, twice{} },
		"a rude panic":          func() (scheduler.Result, error) { panic(&rude{"rude"}) },
		"a panic that panics":   func() (scheduler.Result, error) { panic(twice{}) },
		"a rude result":         func() (scheduler.Result, error) { return scheduler.Result{Output: &rude{}}, nil },
		"a result that leaves": func() (scheduler.Result, error) {
			return scheduler.Result{Output: map[string]any{"a": leaves{}}}, nil
		},
		"a failure that leaves": func() (scheduler.Result, error) {
			return scheduler.Result{}, &scheduler.Failure{Code: "OWN", Detail: "its own", Output: map[string]any{"a": leaves{}}}
		},
		"no answer": func() (scheduler.Result, error) {
			runtime.Goexit()
			return scheduler.Result{}, nil
		},
		"an error around a failure": func() (scheduler.Result, error) {
			return scheduler.Result{}, errors.Join(errors.New("x"), &scheduler.Failure{Code: "OWN", Detail: "its own"})
		},
		"a failure without a code": func() (scheduler.Result, error) { return scheduler.Result{}, &scheduler.Failure{Detail: "its own"} },
		"a failure as if put off": func() (scheduler.Result, error) {
			return scheduler.Result{}, &scheduler.Failure{Code: scheduler.CodeSnoozed, Detail: "its own"}
		},
		"an error": func() (scheduler.Result, error) { return scheduler.Result{}, errors.New("plain") },
	}
	r := startReplica(t, url, func(_ context.Context, run *scheduler.Run) (scheduler.Result, error) {
		if answer := answers[run.TaskName]; answer != nil {
			return answer()
		}
		return scheduler.Result{}, nil
	}, func(c *scheduler.Config) { c.Concurrency = 1 })
	c := newClient(t, url)
	for name, want := range map[string]struct{ status, detail string }{
		"a nil Failure":             {"FAILED ERROR", "nil *Failure"},
		"a nil Failure, within":     {"FAILED ERROR", "nil *Failure"},
		"a nil error":               {"FAILED PANIC", "nil pointer"},
		"a rude error":              {"FAILED PANIC", "can't be printed"},
		"a rude panic":              {"FAILED PANIC", "panicked: rude"},
		"a panic that panics":       {"FAILED PANIC", "can't be printed"},
		"a rude result":             {"DONE", "in MarshalJSON"},
		"a result that leaves":      {"DONE", "ended its goroutine"},
		"a failure that leaves":     {"FAILED OWN", "its own"},
		"no answer":                 {"FAILED PANIC", "runtime.Goexit"},
		"an error around a failure": {"FAILED OWN", "its own"},
		"a failure without a code":  {"FAILED ERROR", "its own"},
		"a failure as if put off":   {"FAILED ERROR", "its own"},
		"an error":                  {"FAILED ERROR", "plain"},
	} {
		run := c.run("name", "'"+name+"'")
		require.Equal(t, want.status, c.ends(run), name)
		require.Contains(t, c.text(`SELECT result ->> 'detail' FROM rowrun.task_run WHERE id = $1`, run), want.detail, name)
	}
	require.Equal(t, "DONE", c.ends(c.run("name", "'the one slot'")))
	poll(t, "that it executes nothing", func() bool { return r.Status().Executing == 0 })
}

// What an executor says of a run that was stopped, such as that its statement may go on, stands behind the reason for the stop.
func TestWhatAnExecutorSaysOfAStopIsKept(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	r := startReplica(t, url, func(ctx context.Context, _ *scheduler.Run) (scheduler.Result, error) {
		<-ctx.Done()
		return scheduler.Result{}, fmt.Errorf("stopped: %w", &scheduler.Failure{Code: "OWN", Detail: "the statement may go on"})
	}, func(c *scheduler.Config) { c.DrainTimeout = 8 * time.Second }) // of which executors have StopTime to say something
	c := newClient(t, url)
	detail := func(run int64) string {
		return c.text(`SELECT result ->> 'detail' FROM rowrun.task_run WHERE id = $1`, run)
	}
	running := func() int64 {
		run := c.run("name", "''")
		poll(t, "that it is RUNNING", func() bool { return c.text(`SELECT status FROM rowrun.task_run WHERE id = $1`, run) == "RUNNING" })
		return run
	}
	canceled := running()
	c.exec(`SELECT rowrun.cancel_run($1, 'enough')`, canceled)
	require.Equal(t, "CANCELED CANCELED", c.ends(canceled))
	require.Equal(t, "Task run canceled: enough (the statement may go on)", detail(canceled))
	late := c.run("timeout", "'200 ms'")
	require.Equal(t, "FAILED TIMEOUT", c.ends(late))
	require.Equal(t, "Task run timed out after 200ms (the statement may go on)", detail(late))
	drained := running()
	r.stop()
	require.Equal(t, "FAILED DRAINED", c.ends(drained))
	require.Equal(t, "Task run stopped: replica shut down (the statement may go on)", detail(drained))
}
