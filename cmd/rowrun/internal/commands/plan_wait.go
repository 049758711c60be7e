package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/store"
)

func (p *planCommand) wait() *cobra.Command {
	return p.awaiting(planRow, &cobra.Command{
		Use:   "wait ID|NAME",
		Short: "Wait until a plan is DONE, FAILED or CANCELED; exit 0 if it is DONE",
		Long: "Wait until the plan is DONE, FAILED (a task failed for good: others may still run) or CANCELED. Prints it.\n" +
			"Exit code 0 if it is DONE, otherwise 1, also where --timeout is over first.",
	}, p.awaitEnd)
}

func (p *planCommand) awaitEnd(ctx context.Context, cmd *cobra.Command, w *watching, id int64) error {
	var plan store.Plan
	err := w.until(ctx, func(ctx context.Context, s *store.Store) (bool, error) {
		now, err := findPlan(ctx, s, id)
		if err == nil {
			plan = now
			done := 0.0
			if plan.Tasks > 0 {
				done = float64(plan.Done+plan.Skipped) / float64(plan.Tasks)
			}
			w.shown.Show(done, fmt.Sprintf("plan %d: %s", plan.ID, counts(plan)))
		}
		return plan.Ended(), err
	})
	switch {
	case !errors.Is(err, errOver):
	case plan.ID == 0:
		return fmt.Errorf("%w: plan %d could not be looked at", err, id)
	default:
		return fmt.Errorf("%w: plan %d is %s; `rowrun plan show %d` may tell more", err, id, standing(plan.Status, plan.Paused), id)
	}
	if err != nil {
		return err
	}
	if err := p.out.Write(cmd, plan, planTable([]store.Plan{plan}, time.Now())); err != nil {
		return err
	}
	if plan.Status != "DONE" {
		return fmt.Errorf("plan %d is %s", id, plan.Status)
	}
	return nil
}
