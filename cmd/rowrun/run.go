package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/store"
)

func newRun(env environment) *cobra.Command {
	r := runCommand{client{lookup: env.lookup}}
	cmd := group(&cobra.Command{
		Use:   "run",
		Short: "List runs, look at one, wait for it, retry or cancel it",
	})
	r.register(cmd.PersistentFlags())
	cmd.AddCommand(r.list(), r.show(), r.wait(), r.retry(), r.cancel(), r.why())
	return cmd
}

// runCommand is what the commands under run have in common.
type runCommand struct{ client }

// runID reads the ID that each of them but list takes.
func runID(cmd *cobra.Command, text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return 0, usagef("%s: %q is not accepted; accepted: the id of a run, a whole number", cmd.CommandPath(), text)
	}
	return id, nil
}

// noSuchRun is said where an id leads nowhere.
func noSuchRun(id int64) error {
	return fmt.Errorf("there is no run %d (retention removes runs that ended long ago)", id)
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
	return &cobra.Command{
		Use:   "retry ID",
		Short: "Retry the last run of a chain, and print the new run's id",
		Long:  "Retry the last run of the chain that ID belongs to, if that is FAILED or CANCELED, and print the new run's id.",
		Args:  arguments("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := runID(cmd, args[0])
			if err != nil {
				return err
			}
			return r.ask(cmd, func(ctx context.Context, s *store.Store) error {
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
		},
	}
}

func (r *runCommand) cancel() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "cancel ID",
		Short: "Cancel the last run of a chain, and print its status after that",
		Long: "Cancel the last run of the chain that ID belongs to, and print its status after that. A run that waits is\n" +
			"CANCELED at once; one that is RUNNING is asked to stop and ends soon after: rowrun run wait ID.",
		Args: arguments("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := runID(cmd, args[0])
			if err != nil {
				return err
			}
			return r.ask(cmd, func(ctx context.Context, s *store.Store) error {
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
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for people")
	return cmd
}

// answer prints one short line, or value as JSON.
func (r *runCommand) answer(cmd *cobra.Command, value any, line string) error {
	if r.out.format == "json" {
		return r.out.write(cmd.OutOrStdout(), value, table{})
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), line)
	return err
}
