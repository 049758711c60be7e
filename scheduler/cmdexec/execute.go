//go:build linux

package cmdexec

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rowrun/rowrun/scheduler"
)

// Executor runs the configured commands. It is safe for concurrent use.
type Executor struct {
	commands map[string]*command
	grace    time.Duration
}

var _ scheduler.Executor = (*Executor)(nil)

// New checks every command: an error names the command and what would be accepted.
func New(cfg Config) (*Executor, error) {
	commands, err := cfg.validate()
	if err != nil {
		return nil, err
	}
	e := &Executor{commands: commands, grace: cfg.Grace}
	if e.grace == 0 {
		e.grace = defaultGrace
	}
	return e, nil
}

// Names returns the commands' names, sorted: what the replica announces.
func (e *Executor) Names() []string { return slices.Sorted(maps.Keys(e.commands)) }

// Execute runs the command of the payload to its end.
func (e *Executor) Execute(ctx context.Context, run *scheduler.Run) (scheduler.Result, error) {
	name, s, err := e.spec(run)
	if err != nil {
		return scheduler.Result{}, err
	}
	if ctx.Err() != nil {
		return scheduler.Result{}, context.Cause(ctx)
	}
	out := newOutput(run.Log)
	out.progress.report = run.Progress
	end, err := supervise(ctx, s, out)
	return outcome(ctx, name, end, err, out)
}

// outcome is what became of the run. What could not be ended is said also where the run was stopped: its user believes it gone.
func outcome(ctx context.Context, name string, end report, err error, out *output) (scheduler.Result, error) {
	switch {
	case err != nil:
		return scheduler.Result{}, &scheduler.Failure{Code: scheduler.CodeError, Detail: fmt.Sprintf("command %s: %v", name, err), Retryable: true}
	case end.Stopped && ctx.Err() != nil:
		return scheduler.Result{}, context.Cause(ctx)
	}
	return judge(name, end, out)
}

// spec turns the payload into what the supervisor starts.
func (e *Executor) spec(run *scheduler.Run) (string, spec, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(run.Payload, &fields); err != nil || fields == nil {
		return "", spec{}, scheduler.BadInput("the payload must be a JSON object")
	}
	raw, ok := fields["command"]
	if !ok {
		return "", spec{}, scheduler.BadInput(`the payload has no "command"`)
	}
	name, ok := jsonString(raw)
	if !ok {
		return "", spec{}, scheduler.BadInput("command must be a string")
	}
	c, ok := e.commands[name]
	if !ok {
		return "", spec{}, scheduler.BadInput("command %q is not configured", name)
	}
	argv, err := c.argv(fields["args"])
	if err != nil {
		return "", spec{}, err
	}
	env := append(slices.Clone(c.env),
		"ROWRUN_RUN_ID="+strconv.FormatInt(run.ID, 10),
		"ROWRUN_ROOT_ID="+strconv.FormatInt(run.RootID, 10),
		"ROWRUN_ATTEMPT="+strconv.Itoa(run.Attempt))
	return name, spec{Path: c.path, Argv: argv, Env: env, Dir: c.dir, GraceMS: e.grace.Milliseconds()}, nil
}

// judge turns how the command ended into what becomes of the run.
func judge(name string, end report, out *output) (scheduler.Result, error) {
	if end.StartError != 0 {
		return scheduler.Result{}, startFailure(name, end.StartError)
	}
	code, how := end.Exit, fmt.Sprintf("exit code %d", end.Exit)
	if end.Signal != 0 {
		code, how = 128+int(end.Signal), "signal "+cmp.Or(unix.SignalName(end.Signal), strconv.Itoa(int(end.Signal)))
	}
	if code == 0 {
		return scheduler.Result{Output: map[string]any{"exit_code": 0}}, nil
	}
	detail := fmt.Sprintf("command %s ended with %s", name, how)
	if tail := strings.TrimSpace(out.lastText()); tail != "" {
		detail += ": " + tail
	}
	return scheduler.Result{}, &scheduler.Failure{
		Code: "EXIT_" + strconv.Itoa(code), Detail: detail, Retryable: true, Output: map[string]any{"exit_code": code},
	}
}

func startFailure(name string, errno syscall.Errno) error {
	if errors.Is(errno, syscall.E2BIG) {
		return scheduler.BadInput("command %s: the arguments are too long for this system", name)
	}
	return fmt.Errorf("command %s could not be started: %w", name, errno)
}
