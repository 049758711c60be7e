package commands

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/database"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/statuses"
	"github.com/rowrun/rowrun/store"
)

func (p *planCommand) list() *cobra.Command {
	var filter store.PlanFilter
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List plans, the newest first",
		Long: "List plans, the newest first. Filters narrow it down; all of them hold.\n\n" +
			"A status that few of very many plans have may take reading all of them: it gives up after " + database.AnswerPatience.String() + ".",
		Args: cli.Arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkStatuses(filter.Statuses, statuses.OfPlans()); err != nil {
				return err
			}
			if err := checkLimit(filter.Limit); err != nil {
				return err
			}
			return p.ask(cmd, func(ctx context.Context, s *store.Store) error {
				plans, err := s.ListPlans(ctx, filter)
				if err != nil {
					return err
				}
				table := planTable(plans, time.Now())
				if filter.Project != "" || len(filter.Statuses) > 0 {
					table.None = "no plan"
				}
				return p.out.Write(cmd, plans, table)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&filter.Project, "project", "", "`name` of a project")
	cli.List(flags, &filter.Statuses, "status", nil, "statuses, separated by commas: "+strings.Join(statuses.OfPlans(), ", "))
	flags.IntVar(&filter.Limit, "limit", 50, "most plans to list")
	return p.watched(cmd)
}

func planTable(plans []store.Plan, now time.Time) cli.Table {
	t := cli.Table{
		Columns: []cli.Column{
			cli.Whole("PLAN"), cli.Status(), cli.Free("PROJECT"), cli.Free("NAME"), cli.Whole("ROUND").Spare(), cli.Free("TASKS"), cli.Whole("CREATED"), cli.Whole("AT").Wide(),
		},
		None: "no plan: `rowrun plan apply DIR` makes one",
	}
	for _, plan := range plans {
		t.Rows = append(t.Rows, []string{
			strconv.FormatInt(plan.ID, 10), standing(plan.Status, plan.Paused), plan.Project, plan.Name,
			strconv.Itoa(plan.Round), counts(plan), cli.Age(now, &plan.CreatedAt), cli.Moment(&plan.CreatedAt),
		})
	}
	return t
}

// counts says how many of a plan's tasks have which status, in the order in which statuses are shown everywhere.
func counts(plan store.Plan) string {
	if plan.Tasks == 0 {
		return "none"
	}
	var parts []string
	for _, c := range []struct {
		n      int64
		status string
	}{
		{plan.NotStarted, "NOT_STARTED"},
		{plan.Pending, "PENDING"},
		{plan.Available, "AVAILABLE"},
		{plan.Running, "RUNNING"},
		{plan.Done, "DONE"},
		{plan.Skipped, "SKIPPED"},
		{plan.Failed, "FAILED"},
		{plan.Canceled, "CANCELED"},
	} {
		if c.n > 0 {
			parts = append(parts, strconv.FormatInt(c.n, 10)+" "+c.status)
		}
	}
	return strings.Join(parts, ", ")
}
