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

func newTask(env cli.Environment) *cobra.Command {
	t := taskCommand{newClient(env)}
	cmd := cli.Group(&cobra.Command{
		Use:   "task",
		Short: "Define tasks, list them, look at one, skip or pause it",
	})
	t.register(cmd.PersistentFlags())
	cmd.AddCommand(t.define(), t.list(), t.show(), t.skip(), t.unskip(), t.pause(), t.resume())
	return cmd
}

// taskCommand is what the commands under task have in common.
type taskCommand struct{ client }

// findTask reads a task, and says in words where there is none.
func findTask(ctx context.Context, s *store.Store, id int64) (store.TaskDetails, error) {
	task, err := s.FindTask(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return task, noSuchTask(id)
	}
	return task, err
}

func noSuchTask(id int64) error {
	return &absentError{fmt.Sprintf("there is no task %d", id)}
}

func (t *taskCommand) skip() *cobra.Command {
	var reason string
	cmd := t.changing(&cobra.Command{
		Use:   "skip ID|NAME",
		Short: "Let a task count as done, and print its status after that",
		Long: "Let a task count as done: what depends on it goes on, and its PENDING run is canceled. Refused while a run of\n" +
			"it is AVAILABLE or RUNNING. Prints its status after that.",
	}, func(ctx context.Context, s *store.Store, id int64) error { return s.SkipTask(ctx, id, reason) })
	cmd.Flags().StringVar(&reason, "reason", "", "why, for people")
	return cmd
}

func (t *taskCommand) unskip() *cobra.Command {
	return t.changing(&cobra.Command{
		Use:   "unskip ID|NAME",
		Short: "Let a skipped task count again, and print its status after that",
	}, func(ctx context.Context, s *store.Store, id int64) error { return s.UnskipTask(ctx, id) })
}

func (t *taskCommand) pause() *cobra.Command {
	return t.changing(&cobra.Command{
		Use:   "pause ID|NAME",
		Short: "Start no further run of a task; one that is RUNNING goes on",
	}, func(ctx context.Context, s *store.Store, id int64) error { return s.PauseTask(ctx, id, true) })
}

func (t *taskCommand) resume() *cobra.Command {
	return t.changing(&cobra.Command{
		Use:   "resume ID|NAME",
		Short: "Let a paused task go on",
	}, func(ctx context.Context, s *store.Store, id int64) error { return s.PauseTask(ctx, id, false) })
}

// changing completes a command that changes a task and prints how it stands then.
func (t *taskCommand) changing(cmd *cobra.Command, change func(context.Context, *store.Store, int64) error) *cobra.Command {
	return t.about(taskRow, cmd, func(ctx context.Context, cmd *cobra.Command, s *store.Store, id int64) error {
		if _, err := findTask(ctx, s, id); err != nil {
			return err
		}
		if err := change(ctx, s, id); err != nil {
			return err
		}
		task, err := findTask(ctx, s, id)
		if err != nil {
			return err
		}
		return t.answer(cmd, struct {
			TaskID int64  `json:"task_id"`
			Status string `json:"status"`
			Paused bool   `json:"paused"`
		}{id, task.Status, task.Paused}, standing(task.Status, task.Paused))
	})
}

func (t *taskCommand) show() *cobra.Command {
	return t.about(taskRow, &cobra.Command{
		Use:   "show ID|NAME",
		Short: "Show all of a task, and what its newest run waits for",
	}, func(ctx context.Context, cmd *cobra.Command, s *store.Store, id int64) error {
		task, err := findTask(ctx, s, id)
		if err != nil {
			return err
		}
		causes := []store.Cause{}
		if task.LastRunID != nil {
			if causes, err = s.Waiting(ctx, *task.LastRunID); err != nil {
				return err
			}
		}
		if !t.out.ForPeople() {
			return t.out.Write(cmd, struct {
				store.TaskDetails
				Waiting []store.Cause `json:"waiting"`
			}{task, causes}, idTable(id))
		}
		waits := waitsTable()
		for _, cause := range causes {
			waits.Rows = append(waits.Rows, []string{cause.Cause, cause.Message})
		}
		return t.out.WriteParts(cmd.OutOrStdout(), taskFacts(task), waits)
	})
}

// taskFacts is a task as one line per fact that is there.
func taskFacts(task store.TaskDetails) cli.Table {
	f := cli.NewFacts("TASK", task.ID)
	f.Add("status", standing(task.Status, task.Paused))
	f.Add("outcome", upshot(task.Task))
	f.Add("last run", number(task.LastRunID))
	f.Add("name", task.Name)
	f.Add("plan", number(task.PlanID))
	f.Add("type", task.Type)
	f.Add("queue", task.Queue)
	f.Add("database", text(task.DatabaseID))
	f.Add("version", text(task.Version))
	if task.Sequential {
		f.Add("sequential", "alone on its database")
	}
	f.Add("depends on", ids(task.DependsOn))
	f.Add("needed by", ids(task.NeededBy))
	f.Add("priority", strconv.Itoa(task.Priority))
	f.Add("aging", milliseconds(task.AgingMS, "none"))
	f.Add("timeout", milliseconds(task.TimeoutMS, "none"))
	f.Add("progress timeout", milliseconds(task.ProgressTimeoutMS, "none"))
	f.Add("attempts", fmt.Sprintf("at most %d, the first retry after %s", task.MaxAttempts, milliseconds(&task.RetryDelayMS, "0s")))
	f.Add("on stale", task.OnStale)
	if task.Schedule != nil {
		f.Add("schedule", *task.Schedule)
		f.Add("time zone", task.TimeZone)
		f.Add("misfire", task.Misfire)
		f.Add("overlap", task.Overlap)
		f.Exact("starts", task.StartsAt)
		f.Exact("ends", task.EndsAt)
		f.Add("schedule error", text(task.ScheduleError))
	}
	f.Add("spread", milliseconds(task.SpreadMS, "none"))
	f.Exact("created", &task.CreatedAt)
	f.Add("payload", cli.Document(task.Payload))
	f.Add("labels", cli.Document(task.Labels))
	return f.Table
}
