package commands

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/store"
)

// creating is what `run create` is told.
type creating struct {
	input, at, key string
	priority       int
	after          []int64
	wait           bool
	timeout        time.Duration
}

func (r *runCommand) create() *cobra.Command {
	var c creating
	cmd := &cobra.Command{
		Use:   "create TASK",
		Short: "Run a task: insert a run of it, and print the run's id",
		Long: "Insert a run of the task of this name (one without a plan) or id, and print the run's id. A word of digits is a\n" +
			"name where a task has it, otherwise an id. The input is laid over the task's payload, top-level keys win.\n\n" +
			"With --wait it waits for the end of the job, retries included, and prints its last run. Exit code 0 if that is DONE.",
		Example: "  rowrun run create hello\n" +
			"  rowrun run create report --input '{\"day\": \"2026-11-23\"}' --key 2026-11-23 --wait\n" +
			"  jq -c . order.json | rowrun run create ship --input - --at 10m\n" +
			"  rowrun run create publish --after 41 --after 42",
		Args: cli.Arguments("TASK"),
		RunE: func(cmd *cobra.Command, args []string) error { return r.creates(cmd, args[0], &c) },
	}
	flags := cmd.Flags()
	flags.StringVar(&c.input, "input", "", "`JSON` object, @FILE, or - for standard input")
	flags.StringVar(&c.at, "at", "", "not before this `moment`: 10m (from now), \"2026-11-23 18:00\" (this machine's zone) or 2026-11-23T18:00:00Z")
	flags.StringVar(&c.key, "key", "", "idempotency `key`: where the task has a run with it, that run's id is printed, and none is made")
	flags.IntVar(&c.priority, "priority", 0, "higher is run first; not given: the task's")
	flags.Int64SliceVar(&c.after, "after", nil, "not before the jobs of these `runs` are DONE, each by the id of any of its runs; repeatable")
	flags.Lookup("after").DefValue = "" // not []
	flags.BoolVar(&c.wait, "wait", false, "wait until the job has ended")
	flags.DurationVar(&c.timeout, "timeout", 0, "how long --wait waits; 0: for ever")
	return cmd
}

func (r *runCommand) creates(cmd *cobra.Command, task string, c *creating) error {
	if c.timeout < 0 || c.timeout > 0 && !c.wait {
		return cli.Usagef("--timeout: %s is not accepted; accepted: a duration, with --wait", c.timeout)
	}
	run, err := c.run(cmd)
	if err != nil {
		return err
	}
	s, err := r.open(cmd)
	if err != nil {
		return err
	}
	defer s.Close()
	var id int64
	err = asking(cmd.Context(), func(ctx context.Context) error {
		if run.TaskID, err = taskToRun(ctx, cmd, s, task); err != nil {
			return err
		}
		id, err = s.CreateRun(ctx, run)
		return err
	})
	if err != nil {
		return err
	}
	if !c.wait {
		return r.answer(cmd, struct {
			RunID int64 `json:"run_id"`
		}{id}, strconv.FormatInt(id, 10))
	}
	_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "run %d\n", id)
	return r.listening(cmd, s, c.timeout, func(ctx context.Context, w *watching) error { return r.awaitEnd(ctx, cmd, w, id) })
}

// run is what the flags say of the run.
func (c *creating) run(cmd *cobra.Command) (store.NewRun, error) {
	var run store.NewRun
	var err error
	if run.Input, err = readDocument(cmd, "--input", c.input); err != nil {
		return run, err
	}
	if run.At, run.Delay, err = parseAt("--at", c.at); err != nil {
		return run, err
	}
	if cmd.Flags().Changed("priority") {
		run.Priority = &c.priority
	}
	for _, id := range c.after {
		if id < 1 {
			return run, cli.Usagef("--after: %d is not accepted; accepted: ids of runs", id)
		}
	}
	run.After = c.after
	if c.key != "" {
		run.Key = &c.key
	}
	return run, nil
}

// taskToRun is the task without a plan of that name, or else the task of that id.
func taskToRun(ctx context.Context, cmd *cobra.Command, s *store.Store, text string) (int64, error) {
	found, err := s.TasksNamed(ctx, text, 1)
	if err != nil {
		return 0, err
	}
	if len(found) == 1 && found[0].PlanID == nil {
		return found[0].ID, nil
	}
	id, err := resolve(ctx, cmd, s, taskRow, text)
	var absent *absentError
	if errors.As(err, &absent) && len(found) == 0 {
		return 0, &absentError{absent.text + ": `rowrun task define " + cli.ShellWord(text) + " --type TYPE` makes one"}
	}
	return id, err
}
