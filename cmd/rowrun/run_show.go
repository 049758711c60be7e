package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/store"
)

// maxLogRows is how much of a run's log is shown.
const maxLogRows = 1000

// shownRun is all that there is to say of a run.
type shownRun struct {
	store.RunDetails
	Waiting []store.Cause    `json:"waiting"`
	Chain   []store.Run      `json:"chain"`
	Log     []store.LogEntry `json:"log"`
	LogMore bool             `json:"log_more"` // there are further rows in task_run_log
}

func (r *runCommand) show() *cobra.Command {
	return r.about("run", &cobra.Command{
		Use:   "show ID",
		Short: "Show all of a run: its chain of retries, its log, and what it waits for",
	}, func(ctx context.Context, cmd *cobra.Command, s *store.Store, id int64) error {
		shown, err := readShown(ctx, s, id)
		if err != nil {
			return err
		}
		if r.out.format == "json" {
			return r.out.write(cmd.OutOrStdout(), shown, table{})
		}
		return r.writeShown(cmd.OutOrStdout(), shown)
	})
}

func readShown(ctx context.Context, s *store.Store, id int64) (shownRun, error) {
	var shown shownRun
	var err error
	if shown.RunDetails, err = s.FindRun(ctx, id); errors.Is(err, store.ErrNotFound) {
		return shown, noSuchRun(id)
	}
	if err == nil {
		shown.Waiting, err = s.Waiting(ctx, id)
	}
	if err == nil {
		shown.Chain, err = s.Chain(ctx, id)
	}
	if err == nil {
		shown.Log, shown.LogMore, err = s.RunLog(ctx, id, maxLogRows)
	}
	return shown, err
}

// writeShown writes a run for people, in parts that are left out where they are empty.
func (r *runCommand) writeShown(w io.Writer, shown shownRun) error {
	waits := table{header: []string{"WAITS FOR", ""}}
	for _, cause := range shown.Waiting {
		waits.rows = append(waits.rows, []string{cause.Cause, cause.Message})
	}
	log := table{header: []string{"LOG", "TYPE", "DETAIL"}}
	for _, entry := range shown.Log {
		log.rows = append(log.rows, []string{entry.CreatedAt.UTC().Format("15:04:05.000"), entry.Type, string(entry.Detail)})
	}
	if shown.LogMore {
		log.rows = append(log.rows, []string{"", "…", fmt.Sprintf("the first %d rows; the others are in rowrun.task_run_log", maxLogRows)})
	}
	chain := table{}
	if len(shown.Chain) > 1 {
		chain = runTable(shown.Chain)
		chain.header[0] = "CHAIN"
	}
	return r.out.writeParts(w, facts(shown.RunDetails), waits, chain, log)
}

// facts is a run as one line per fact that is there.
func facts(run store.RunDetails) table {
	f := newFacts("RUN", run.ID)
	f.add("status", run.Status)
	f.add("code", text(run.Code))
	f.add("detail", text(run.Detail))
	f.add("task", fmt.Sprintf("%d %s", run.TaskID, run.TaskName))
	f.add("type", run.Type)
	f.add("queue", run.Queue)
	f.add("plan", number(run.PlanID))
	f.add("database", text(run.DatabaseID))
	f.add("version", text(run.Version))
	f.add("attempt", fmt.Sprintf("%d of the chain of run %d", run.Attempt, run.RootID))
	f.add("retry of", number(run.RetryOf))
	f.add("retried by", number(run.RetryRunID))
	f.add("priority", strconv.Itoa(run.Priority))
	f.add("idempotency key", text(run.IdempotencyKey))
	f.add("creator", run.Creator)
	f.exact("run at", &run.RunAt)
	f.exact("created", &run.CreatedAt)
	f.exact("available", run.AvailableAt)
	f.exact("started", run.StartedAt)
	f.exact("finished", run.FinishedAt)
	f.exact("deadline", run.Deadline)
	f.add("replica", text(run.ReplicaID))
	f.exact("cancel asked", run.CancelRequestedAt)
	f.add("cancel reason", text(run.CancelReason))
	f.add("input", document(run.Input))
	f.add("progress", document(run.Progress))
	f.exact("progress at", run.ProgressAt)
	f.add("result", document(run.Result))
	return f.table
}
