package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

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
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show all of a run: its chain of retries, its log, and what it waits for",
		Args:  arguments("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := runID(cmd, args[0])
			if err != nil {
				return err
			}
			return r.ask(cmd, func(ctx context.Context, s *store.Store) error {
				shown, err := readShown(ctx, s, id)
				if err != nil {
					return err
				}
				if r.out.format == "json" {
					return r.out.write(cmd.OutOrStdout(), shown, table{})
				}
				return r.writeShown(cmd.OutOrStdout(), shown)
			})
		},
	}
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
	parts := []table{facts(shown.RunDetails)}
	if len(waits.rows) > 0 {
		parts = append(parts, waits)
	}
	if len(shown.Chain) > 1 {
		chain := runTable(shown.Chain)
		chain.header[0] = "CHAIN"
		parts = append(parts, chain)
	}
	if len(log.rows) > 0 {
		parts = append(parts, log)
	}
	for i, part := range parts {
		if i > 0 {
			if _, err := fmt.Fprintln(w); err != nil {
				return err
			}
		}
		if err := r.out.write(w, nil, part); err != nil {
			return err
		}
	}
	return nil
}

// facts is a run as one line per fact that is there.
func facts(run store.RunDetails) table {
	t := table{header: []string{"RUN", strconv.FormatInt(run.ID, 10)}}
	add := func(name, value string) {
		if value != "" {
			t.rows = append(t.rows, []string{name, value})
		}
	}
	exact := func(name string, at *time.Time) {
		if at != nil {
			add(name, at.UTC().Format("2006-01-02 15:04:05.000 MST"))
		}
	}
	add("status", run.Status)
	add("code", text(run.Code))
	add("detail", text(run.Detail))
	add("task", fmt.Sprintf("%d %s", run.TaskID, run.TaskName))
	add("type", run.Type)
	add("queue", run.Queue)
	add("plan", number(run.PlanID))
	add("database", text(run.DatabaseID))
	add("version", text(run.Version))
	add("attempt", fmt.Sprintf("%d of the chain of run %d", run.Attempt, run.RootID))
	add("retry of", number(run.RetryOf))
	add("retried by", number(run.RetryRunID))
	add("priority", strconv.Itoa(run.Priority))
	add("idempotency key", text(run.IdempotencyKey))
	add("creator", run.Creator)
	exact("run at", &run.RunAt)
	exact("created", &run.CreatedAt)
	exact("available", run.AvailableAt)
	exact("started", run.StartedAt)
	exact("finished", run.FinishedAt)
	exact("deadline", run.Deadline)
	add("replica", text(run.ReplicaID))
	exact("cancel asked", run.CancelRequestedAt)
	add("cancel reason", text(run.CancelReason))
	add("input", document(run.Input))
	add("progress", document(run.Progress))
	exact("progress at", run.ProgressAt)
	add("result", document(run.Result))
	return t
}

// document is JSON on one line, "" for nothing to show.
func document(raw json.RawMessage) string {
	if text := string(raw); text != "{}" && text != "null" {
		return text
	}
	return ""
}
