package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/store"
)

func newPlan(env cli.Environment) *cobra.Command {
	p := planCommand{newClient(env)}
	cmd := cli.Group(&cobra.Command{
		Use:   "plan",
		Short: "Apply plans from files, list them, look at one, run, retry, pause, cancel or delete it, wait for its end",
	})
	p.register(cmd.PersistentFlags())
	cmd.AddCommand(p.apply(), p.list(), p.show(), p.run(), p.wait(), p.retry(), p.cancel(), p.pause(), p.resume(), p.remove(), p.wave())
	return cmd
}

// planCommand is what the commands under plan have in common.
type planCommand struct{ client }

// findPlan reads a plan, and says in words where there is none.
func findPlan(ctx context.Context, s *store.Store, id int64) (store.Plan, error) {
	plan, err := s.FindPlan(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return plan, noSuchPlan(id)
	}
	return plan, err
}

func noSuchPlan(id int64) error {
	return &absentError{fmt.Sprintf("there is no plan %d (retention removes plans that ended long ago)", id)}
}

func (p *planCommand) run() *cobra.Command {
	return p.making(&cobra.Command{
		Use:   "run ID|NAME",
		Short: "Make a run for each task that has none yet, and print the runs' ids",
		Long: "Make a run for each task of the plan that is NOT_STARTED, and print the runs' ids. Called twice it makes\n" +
			"one set of runs.",
	}, (*store.Store).RunPlan)
}

func (p *planCommand) retry() *cobra.Command {
	return p.making(&cobra.Command{
		Use:   "retry ID|NAME",
		Short: "Retry each task that is FAILED or CANCELED, and print the runs' ids",
	}, (*store.Store).RetryPlan)
}

// making completes a command that makes runs of a plan. None to make is no failure: they may be there already.
func (p *planCommand) making(cmd *cobra.Command, do func(*store.Store, context.Context, int64) ([]int64, error)) *cobra.Command {
	return p.about(planRow, cmd, func(ctx context.Context, cmd *cobra.Command, s *store.Store, id int64) error {
		if _, err := findPlan(ctx, s, id); err != nil {
			return err
		}
		made, err := do(s, ctx, id)
		if err != nil {
			return err
		}
		ids := make([]string, len(made))
		for i, run := range made {
			ids[i] = strconv.FormatInt(run, 10)
		}
		if len(made) == 0 && p.out.ForPeople() {
			_, err := fmt.Fprintf(cmd.ErrOrStderr(), "nothing to %s in plan %d: `rowrun plan show %d` tells how its tasks stand\n", cmd.Name(), id, id)
			return err
		}
		return p.answer(cmd, struct {
			PlanID int64   `json:"plan_id"`
			RunIDs []int64 `json:"run_ids"`
		}{id, made}, strings.Join(ids, "\n"))
	})
}

func (p *planCommand) cancel() *cobra.Command {
	var reason string
	cmd := p.about(planRow, &cobra.Command{
		Use:   "cancel ID|NAME",
		Short: "Cancel all runs that have not ended, and print how many",
		Long: "Cancel all runs of the plan that have not ended, and print how many. Those that wait are CANCELED at once;\n" +
			"those that are RUNNING are asked to stop and end soon after: rowrun plan wait ID. Nothing is announced.",
	}, func(ctx context.Context, cmd *cobra.Command, s *store.Store, id int64) error {
		if _, err := findPlan(ctx, s, id); err != nil {
			return err
		}
		n, err := s.CancelPlan(ctx, id, reason)
		if err != nil {
			return err
		}
		return p.answer(cmd, struct {
			PlanID   int64 `json:"plan_id"`
			Canceled int64 `json:"canceled"`
		}{id, n}, strconv.FormatInt(n, 10))
	})
	cmd.Flags().StringVar(&reason, "reason", "", "why, for people")
	return cmd
}

func (p *planCommand) pause() *cobra.Command {
	return p.pausing(true, &cobra.Command{
		Use:   "pause ID|NAME",
		Short: "Start no further run of a plan; those that are RUNNING go on",
	})
}

func (p *planCommand) resume() *cobra.Command {
	return p.pausing(false, &cobra.Command{Use: "resume ID|NAME", Short: "Let a paused plan go on"})
}

func (p *planCommand) pausing(paused bool, cmd *cobra.Command) *cobra.Command {
	return p.about(planRow, cmd, func(ctx context.Context, cmd *cobra.Command, s *store.Store, id int64) error {
		err := s.PausePlan(ctx, id, paused)
		if errors.Is(err, store.ErrNotFound) {
			return noSuchPlan(id)
		}
		if err != nil {
			return err
		}
		return p.answerStatus(ctx, cmd, s, id)
	})
}

// answerStatus prints how a plan stands after a change.
func (p *planCommand) answerStatus(ctx context.Context, cmd *cobra.Command, s *store.Store, id int64) error {
	plan, err := findPlan(ctx, s, id)
	if err != nil {
		return err
	}
	return p.answer(cmd, struct {
		PlanID int64  `json:"plan_id"`
		Status string `json:"status"`
		Paused bool   `json:"paused"`
	}{id, plan.Status, plan.Paused}, standing(plan.Status, plan.Paused))
}

// standing is a status for people.
func standing(status string, paused bool) string {
	if paused {
		return status + " (paused)"
	}
	return status
}

func (p *planCommand) remove() *cobra.Command {
	return p.about(planRow, &cobra.Command{
		Use:   "delete ID|NAME",
		Short: "Remove a plan with its tasks, runs and deliveries",
		Long: "Remove a plan with its tasks, runs and deliveries. Refused while a run of it is AVAILABLE or RUNNING:\n" +
			"rowrun plan cancel ID, then rowrun plan wait ID.",
	}, func(ctx context.Context, cmd *cobra.Command, s *store.Store, id int64) error {
		err := s.DeletePlan(ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			return noSuchPlan(id)
		}
		if err != nil {
			return err
		}
		return p.answer(cmd, struct {
			PlanID  int64 `json:"plan_id"`
			Deleted bool  `json:"deleted"`
		}{id, true}, "deleted")
	})
}

// checkStatuses puts the words of --status into capitals, and refuses those that are none.
func checkStatuses(statuses, accepted []string) error {
	for i, status := range statuses {
		statuses[i] = strings.ToUpper(status)
		if !slices.Contains(accepted, statuses[i]) {
			return cli.Usagef("--status: %q is not accepted; accepted: %s%s", status, strings.Join(accepted, ", "), cli.DidYouMean(status, accepted))
		}
	}
	return nil
}

// checkLimit holds --limit to what one command keeps in memory.
func checkLimit(limit int) error {
	if limit < 1 || limit > maxListed {
		return cli.Usagef("--limit: %d is not accepted; accepted: 1 to %d", limit, maxListed)
	}
	return nil
}
