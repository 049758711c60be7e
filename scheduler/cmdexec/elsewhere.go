//go:build !linux

package cmdexec

import (
	"context"
	"errors"

	"github.com/rowrun/rowrun/scheduler"
)

// errElsewhere: what ends a command's processes for certain (a subreaper, the signal of a parent's death, /proc) is Linux's.
var errElsewhere = errors.New("commands are run on Linux only: take them out of the file of --config, or run this replica on Linux")

// Executor runs nothing on this system.
type Executor struct{}

var _ scheduler.Executor = (*Executor)(nil)

// New refuses every command.
func New(cfg Config) (*Executor, error) {
	if len(cfg.Commands) > 0 {
		return nil, errElsewhere
	}
	return &Executor{}, nil
}

// Names returns no name.
func (e *Executor) Names() []string { return nil }

// Execute refuses the run.
func (e *Executor) Execute(context.Context, *scheduler.Run) (scheduler.Result, error) {
	return scheduler.Result{}, errElsewhere
}

// MaybeSupervise returns: there is nothing to supervise.
func MaybeSupervise() {}
