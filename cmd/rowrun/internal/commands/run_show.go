package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/store"
)

const (
	// maxLogRows is how much of a run's log is shown.
	maxLogRows = 1000
	// maxLogType and maxLogDetail are how many cells of a row of it a person is shown.
	maxLogType, maxLogDetail = 60, 2000
)

// shownRun is all that there is to say of a run.
type shownRun struct {
	store.RunDetails
	Waiting []store.Cause    `json:"waiting"`
	Chain   []store.Run      `json:"chain"`
	Log     []store.LogEntry `json:"log"`
	LogMore bool             `json:"log_more"` // there are further rows in task_run_log
}

func (r *runCommand) show() *cobra.Command {
	return r.about(runRow, &cobra.Command{
		Use:   "show ID|TASK",
		Short: "Show all of a run: its chain of retries, its log, and what it waits for",
	}, func(ctx context.Context, cmd *cobra.Command, s *store.Store, id int64) error {
		ends := 0
		if r.out.ForPeople() {
			ends = maxLogDetail
		}
		shown, err := readShown(ctx, s, id, ends)
		if err != nil {
			return err
		}
		if !r.out.ForPeople() {
			return r.out.Write(cmd, shown, idTable(id))
		}
		return r.writeShown(cmd.OutOrStdout(), shown)
	})
}

// readShown reads a run; of a detail in its log the first and last characters, as many as ends, or all where that is 0.
func readShown(ctx context.Context, s *store.Store, id int64, ends int) (shownRun, error) {
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
		shown.Log, shown.LogMore, err = s.RunLog(ctx, id, maxLogRows, ends)
	}
	return shown, err
}

func waitsTable() cli.Table {
	return cli.Table{Columns: []cli.Column{cli.Whole("WAITS FOR"), cli.Whole("")}, Uncut: true}
}

// idTable is what -o name shows of one row.
func idTable(id int64) cli.Table { return cli.Table{Names: []string{strconv.FormatInt(id, 10)}} }

// writeShown writes a run for people, in parts that are left out where they are empty.
func (r *runCommand) writeShown(w io.Writer, shown shownRun) error {
	waits := waitsTable()
	for _, cause := range shown.Waiting {
		waits.Rows = append(waits.Rows, []string{cause.Cause, cause.Message})
	}
	log := cli.Table{Columns: []cli.Column{cli.Whole("LOG"), cli.Whole("TYPE"), cli.Whole("DETAIL")}, Uncut: true}
	cut := false
	for _, entry := range shown.Log {
		whole := string(entry.Detail)
		if entry.EndOfCut != nil {
			whole, cut = whole+"…"+*entry.EndOfCut, true
		}
		kind, detail := cli.Cut(entry.Type, maxLogType), cli.Cut(whole, maxLogDetail)
		cut = cut || kind != entry.Type || detail != whole
		log.Rows = append(log.Rows, []string{entry.CreatedAt.UTC().Format("15:04:05.000"), kind, detail})
	}
	if shown.LogMore {
		log.Note = fmt.Sprintf("… the first %d rows; the others are in rowrun.task_run_log", maxLogRows)
	} else if cut {
		log.Note = "… where a text is longer; -o json has all of it"
	}
	chain := cli.Table{}
	if len(shown.Chain) > 1 {
		chain = runTable(shown.Chain, time.Now())
		chain.Columns[0] = cli.Whole("CHAIN")
	}
	return r.out.WriteParts(w, facts(shown.RunDetails), waits, chain, log)
}

// facts is a run as one line per fact that is there.
func facts(run store.RunDetails) cli.Table {
	f := cli.NewFacts("RUN", run.ID)
	f.Add("status", run.Status)
	f.Add("code", text(run.Code))
	f.Add("detail", text(run.Detail))
	f.Add("task", fmt.Sprintf("%d %s", run.TaskID, run.TaskName))
	f.Add("type", run.Type)
	f.Add("queue", run.Queue)
	f.Add("plan", number(run.PlanID))
	f.Add("database", text(run.DatabaseID))
	f.Add("version", text(run.Version))
	f.Add("attempt", fmt.Sprintf("%d of the chain of run %d", run.Attempt, run.RootID))
	f.Add("retry of", number(run.RetryOf))
	f.Add("retried by", number(run.RetryRunID))
	f.Add("priority", strconv.Itoa(run.Priority))
	f.Add("idempotency key", text(run.IdempotencyKey))
	f.Add("creator", run.Creator)
	f.Exact("run at", &run.RunAt)
	f.Exact("created", &run.CreatedAt)
	f.Exact("available", run.AvailableAt)
	f.Exact("started", run.StartedAt)
	f.Exact("finished", run.FinishedAt)
	f.Exact("deadline", run.Deadline)
	f.Add("replica", text(run.ReplicaID))
	f.Exact("cancel asked", run.CancelRequestedAt)
	f.Add("cancel reason", text(run.CancelReason))
	f.Add("input", cli.Document(run.Input))
	f.Add("progress", cli.Document(run.Progress))
	f.Exact("progress at", run.ProgressAt)
	f.Add("result", cli.Document(run.Result))
	return f.Table
}
