package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/store"
)

func (r *runCommand) wait() *cobra.Command {
	return r.awaiting(runRow, &cobra.Command{
		Use:   "wait ID|TASK",
		Short: "Wait until the job of a run has ended, retries included; exit 0 if it is DONE",
		Long: "Wait until the chain that ID belongs to has ended: its last run is DONE, CANCELED, or FAILED for good.\n" +
			"Prints that run. Exit code 0 if it is DONE, otherwise 1, also where --timeout is over first.",
	}, r.awaitEnd)
}

func (r *runCommand) awaitEnd(ctx context.Context, cmd *cobra.Command, w *watching, id int64) error {
	var run store.Run
	err := w.until(ctx, func(ctx context.Context, s *store.Store) (bool, error) {
		now, err := last(ctx, s, id)
		if err == nil {
			run = now
			w.shown.Show(-1, runProgress(ctx, s, run))
		}
		return run.Ended() && run.RetryRunID == nil, err
	})
	switch {
	case !errors.Is(err, errOver):
	case run.ID == 0:
		return fmt.Errorf("%w: run %d could not be looked at", err, id)
	default:
		return fmt.Errorf("%w: run %d is %s; `rowrun run why %d` may tell more", err, run.ID, run.Status, run.ID)
	}
	if err != nil {
		return err
	}
	if err := r.out.Write(cmd, run, runTable([]store.Run{run}, time.Now())); err != nil {
		return err
	}
	if run.Status != "DONE" {
		return fmt.Errorf("run %d ended %s", run.ID, run.Status)
	}
	return nil
}

// runProgress is how a run stands, with what its executor says of its progress.
func runProgress(ctx context.Context, s *store.Store, run store.Run) string {
	said := fmt.Sprintf("run %d (%s) is %s", run.ID, taskOf(run), run.Status)
	if run.Attempt > 0 {
		said += fmt.Sprintf(", attempt %d", run.Attempt)
	}
	if run.Status != "RUNNING" {
		return said
	}
	details, err := s.FindRun(ctx, run.ID)
	if err == nil && cli.Document(details.Progress) != "" {
		said += " " + cli.Document(details.Progress)
	}
	return said
}
