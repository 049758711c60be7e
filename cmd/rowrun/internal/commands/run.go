package commands

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/store"
)

func newRun(env cli.Environment) *cobra.Command {
	r := runCommand{newClient(env)}
	cmd := cli.Group(&cobra.Command{
		Use:   "run",
		Short: "Create runs, list them, look at one, wait for it, retry or cancel it",
	})
	r.register(cmd.PersistentFlags())
	cmd.AddCommand(r.create(), r.list(), r.show(), r.wait(), r.retry(), r.cancel(), r.why())
	return cmd
}

// runCommand is what the commands under run have in common.
type runCommand struct{ client }

// noSuchRun is said where an id leads nowhere.
func noSuchRun(id int64) error {
	return &absentError{fmt.Sprintf("there is no run %d (retention removes runs that ended long ago)", id)}
}

// last reads the last run of the chain of id.
func last(ctx context.Context, s *store.Store, id int64) (store.Run, error) {
	run, err := s.LastRun(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return run, noSuchRun(id)
	}
	return run, err
}

func (r *runCommand) retry() *cobra.Command {
	return r.about(runRow, &cobra.Command{
		Use:   "retry ID|TASK",
		Short: "Retry the last run of a chain, and print the new run's id",
		Long:  "Retry the last run of the chain that ID belongs to, if that is FAILED or CANCELED, and print the new run's id.",
	}, func(ctx context.Context, cmd *cobra.Command, s *store.Store, id int64) error {
		run, err := last(ctx, s, id)
		if err != nil {
			return err
		}
		made, err := s.RetryRun(ctx, run.ID)
		if err != nil {
			return err
		}
		return r.answer(cmd, struct {
			RunID   int64 `json:"run_id"`
			RetryOf int64 `json:"retry_of"`
		}{made, run.ID}, strconv.FormatInt(made, 10))
	})
}

func (r *runCommand) cancel() *cobra.Command {
	var reason string
	cmd := r.about(openRow, &cobra.Command{
		Use:   "cancel ID|TASK",
		Short: "Cancel the last run of a chain, and print its status after that",
		Long: "Cancel the last run of the chain that ID belongs to, and print its status after that. A run that waits is\n" +
			"CANCELED at once; one that is RUNNING is asked to stop and ends soon after: rowrun run wait ID.",
	}, func(ctx context.Context, cmd *cobra.Command, s *store.Store, id int64) error {
		run, err := last(ctx, s, id)
		if err != nil {
			return err
		}
		status, err := s.CancelRun(ctx, run.ID, reason)
		if err != nil {
			return err
		}
		return r.answer(cmd, struct {
			RunID  int64  `json:"run_id"`
			Status string `json:"status"`
		}{run.ID, status}, status)
	})
	cmd.Flags().StringVar(&reason, "reason", "", "why, for people")
	return cmd
}
