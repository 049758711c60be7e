package commands

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/store"
)

func (r *runCommand) why() *cobra.Command {
	return r.about(runRow, &cobra.Command{
		Use:   "why ID|TASK",
		Short: "Tell why a run is not running: all causes that hold",
		Long: "Tell why a run is not running: all causes that hold. Where the run has ended and was retried, the\n" +
			"answer is that of the last run of its chain.",
	}, r.explain)
}

func (r *runCommand) explain(ctx context.Context, cmd *cobra.Command, s *store.Store, id int64) error {
	run, err := last(ctx, s, id)
	if err != nil {
		return err
	}
	if run.ID != id {
		asked, err := s.FindRun(ctx, id)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if err == nil {
			if _, err := fmt.Fprintf(cmd.ErrOrStderr(), "run %d is %s and was retried, the last time as run %d\n", id, asked.Status, run.ID); err != nil {
				return err
			}
		}
	}
	causes, err := s.Waiting(ctx, run.ID)
	if err != nil {
		return err
	}
	if len(causes) == 0 && r.out.ForPeople() {
		_, err := fmt.Fprintln(cmd.OutOrStdout(), cli.Printable(noCause(run)))
		return err
	}
	t := cli.Table{Columns: []cli.Column{cli.Whole("RUN"), cli.Whole("CAUSE"), cli.Free("MESSAGE")}, Uncut: true}
	for _, cause := range causes {
		t.Rows = append(t.Rows, []string{number(&cause.RunID), cause.Cause, cause.Message})
	}
	return r.out.Write(cmd, struct {
		RunID  int64         `json:"run_id"`
		Status string        `json:"status"`
		Causes []store.Cause `json:"causes"`
	}{run.ID, run.Status, causes}, t)
}

// noCause says what is the matter with a run that waits for nothing.
func noCause(run store.Run) string {
	switch run.Status {
	case "PENDING":
		return fmt.Sprintf("run %d is PENDING and nothing holds it: passes of replicas take it in its turn, by priority and time", run.ID)
	case "AVAILABLE":
		return fmt.Sprintf("run %d is AVAILABLE and nothing holds it: a replica with a free slot claims it in its turn", run.ID)
	case "RUNNING":
		if run.ReplicaID == nil {
			return fmt.Sprintf("run %d is RUNNING since %s UTC: the app has taken it over", run.ID, cli.Moment(run.StartedAt))
		}
		return fmt.Sprintf("run %d is RUNNING since %s UTC on replica %s", run.ID, cli.Moment(run.StartedAt), *run.ReplicaID)
	}
	return fmt.Sprintf("run %d is %s: nothing to wait for", run.ID, run.Status)
}
