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

func (t *taskCommand) list() *cobra.Command {
	var filter store.TaskFilter
	var plan planFlag
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List tasks, the newest first",
		Long: "List tasks, the newest first. Filters narrow it down; all of them hold.\n\n" +
			"A status that few of very many tasks have may take reading all of them: it gives up after " + database.AnswerPatience.String() + ".",
		Args: cli.Arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if plan.text != "" && filter.Definitions {
				return cli.Usagef("--definitions are tasks without a plan: leave --plan out")
			}
			if err := checkStatuses(filter.Statuses, statuses.OfTasks()); err != nil {
				return err
			}
			if err := checkLimit(filter.Limit); err != nil {
				return err
			}
			return t.ask(cmd, func(ctx context.Context, s *store.Store) error {
				var err error
				if filter.PlanID, err = plan.id(ctx, cmd, s); err != nil {
					return err
				}
				tasks, err := s.ListTasks(ctx, filter)
				if err != nil {
					return err
				}
				table := taskTable(tasks, time.Now())
				if filter.Type != "" || filter.Name != "" || filter.PlanID != nil || len(filter.Statuses) > 0 {
					table.None = "no task" + meantType(ctx, s, filter.Type)
				}
				return t.out.Write(cmd, tasks, table)
			})
		},
	}
	flags := cmd.Flags()
	plan.register(cmd)
	flags.BoolVar(&filter.Definitions, "definitions", false, "tasks without a plan")
	flags.StringVar(&filter.Name, "name", "", "`name` of the task")
	flags.StringVar(&filter.Type, "type", "", "task `type`")
	cli.List(flags, &filter.Statuses, "status", nil, "statuses, separated by commas: "+strings.Join(statuses.OfTasks(), ", "))
	flags.IntVar(&filter.Limit, "limit", 50, "most tasks to list")
	return t.watched(cmd)
}

func taskTable(tasks []store.Task, now time.Time) cli.Table {
	t := cli.Table{
		Columns: []cli.Column{
			cli.Whole("TASK"), cli.Status(), cli.Free("NAME"), cli.Free("TYPE").Spare(), cli.Whole("PLAN"), cli.Free("DATABASE"), cli.Free("VERSION").Spare(),
			cli.Whole("RUN"), cli.Free("QUEUE").Wide(), cli.Whole("PRIORITY").Wide(), cli.Whole("CREATED").Spare(), cli.Free("DETAIL"),
		},
		None: "no task: `rowrun task define NAME --type TYPE` makes one",
	}
	for _, task := range tasks {
		t.Rows = append(t.Rows, []string{
			strconv.FormatInt(task.ID, 10), standing(task.Status, task.Paused), task.Name, task.Type, number(task.PlanID),
			text(task.DatabaseID), text(task.Version), number(task.LastRunID), task.Queue,
			strconv.Itoa(task.Priority), cli.Age(now, &task.CreatedAt), upshot(task),
		})
	}
	return t
}

// milliseconds is a duration for people, "" for none given; zero is named.
func milliseconds(ms *float64, zero string) string {
	switch {
	case ms == nil:
		return ""
	case *ms == 0:
		return zero
	}
	return store.Milliseconds(*ms).String()
}
