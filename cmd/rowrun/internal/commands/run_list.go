package commands

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/database"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/statuses"
	"github.com/rowrun/rowrun/store"
)

// maxListed bounds what one command holds in memory.
const maxListed = 10000

func (r *runCommand) list() *cobra.Command {
	var filter store.RunFilter
	var plan planFlag
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List runs, the newest first",
		Long: "List runs, the newest first. Filters narrow it down; all of them hold.\n\n" +
			"A filter that few runs of a large table pass, and that is neither a plan, --failed nor a status of\n" +
			"runs that haven't ended, may read all of them: it gives up after " + database.AnswerPatience.String() + ".",
		Args: cli.Arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkFilter(&filter); err != nil {
				return err
			}
			return r.ask(cmd, func(ctx context.Context, s *store.Store) error {
				var err error
				if filter.PlanID, err = plan.id(ctx, cmd, s); err != nil {
					return err
				}
				runs, err := s.ListRuns(ctx, filter)
				if errors.Is(err, store.ErrNoTask) {
					return errors.New("there is no task " + strconv.Quote(filter.Task) + cli.DidYouMean(filter.Task, namesOf(ctx, s, taskRow)))
				}
				if err != nil {
					return err
				}
				t := runTable(runs, time.Now())
				if len(runs) == 0 {
					t.None += meantType(ctx, s, filter.Type)
				}
				return r.out.Write(cmd, runs, t)
			})
		},
	}
	flags := cmd.Flags()
	cli.List(flags, &filter.Statuses, "status", nil, "statuses, separated by commas: "+strings.Join(statuses.OfRuns(), ", "))
	flags.BoolVar(&filter.FailedForGood, "failed", false, "runs that failed for good: FAILED without a successor, the last first")
	flags.StringVar(&filter.Type, "type", "", "task `type`")
	flags.StringVar(&filter.Queue, "queue", "", "`name` of a queue")
	plan.register(cmd)
	flags.StringVar(&filter.Task, "task", "", "`id` of a task, or its name")
	flags.StringVar(&filter.DatabaseID, "database", "", "`name` of a target database")
	flags.IntVar(&filter.Limit, "limit", 50, "most runs to list")
	return r.watched(cmd)
}

func checkFilter(filter *store.RunFilter) error {
	if err := checkStatuses(filter.Statuses, statuses.OfRuns()); err != nil {
		return err
	}
	if filter.FailedForGood && len(filter.Statuses) > 0 {
		return cli.Usagef("--failed is a status of its own: leave --status out")
	}
	return checkLimit(filter.Limit)
}

// runTable has a line per run. SINCE is when its status last changed.
func runTable(runs []store.Run, now time.Time) cli.Table {
	t := cli.Table{
		Columns: []cli.Column{
			cli.Whole("RUN"), cli.Status(), cli.Free("TASK"), cli.Free("TYPE").Spare(), cli.Whole("PLAN"), cli.Free("DATABASE"), cli.Free("VERSION").Spare(),
			cli.Whole("ATTEMPT").Spare(), cli.Whole("SINCE"), cli.Whole("AT").Wide(), cli.Free("QUEUE").Wide(), cli.Free("REPLICA").Wide(), cli.Free("DETAIL"),
		},
		None: "no run",
	}
	for _, run := range runs {
		t.Rows = append(t.Rows, []string{
			strconv.FormatInt(run.ID, 10), run.Status, taskOf(run), run.Type, number(run.PlanID), text(run.DatabaseID), text(run.Version),
			strconv.Itoa(run.Attempt), cli.Age(now, &run.UpdatedAt), cli.Moment(&run.UpdatedAt), run.Queue, text(run.ReplicaID), ending(run),
		})
	}
	return t
}

// taskOf names a run's task: by its name, or its id where it has none.
func taskOf(run store.Run) string {
	if run.TaskName != "" {
		return run.TaskName
	}
	return "task " + strconv.FormatInt(run.TaskID, 10)
}

// ending is how a run ended in one line: code and detail, as far as there are any.
func ending(run store.Run) string {
	code, detail := text(run.Code), text(run.Detail)
	if code != "" && detail != "" {
		code += ": "
	}
	end := code + detail
	if run.RetryRunID != nil {
		end = strings.TrimSpace(end + " (retried: run " + number(run.RetryRunID) + ")")
	}
	return end
}

func text(value *string) string {
	if value == nil {
		return ""
	}
	return *value
}

func number(value *int64) string {
	if value == nil {
		return ""
	}
	return strconv.FormatInt(*value, 10)
}
