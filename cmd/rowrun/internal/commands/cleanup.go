package commands

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/database"
	"github.com/rowrun/rowrun/store"
)

// newCleanup is what a replica does each --cleanup-interval, by hand: before an upgrade, or when the disk is full.
func newCleanup(env cli.Environment) *cobra.Command {
	c := newClient(env)
	c.indexed = true
	var keep store.Retention
	cmd := &cobra.Command{
		Use:   "cleanup",
		Short: "Remove what ended longer ago than --retention, as replicas do each hour",
		Long: "Remove what ended longer ago than --retention, as replicas do each --cleanup-interval: chains of runs without a plan, " +
			"earlier runs of plans, plans as a whole, settled deliveries. A task's own retention goes before --retention. It works " +
			"in small transactions beside running replicas, and can be stopped and begun again.",
		Args: cli.Arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if keep.Runs <= 0 {
				return cli.Usagef("--retention: %s is not accepted; accepted: a duration above 0", keep.Runs)
			}
			if keep.Failed < 0 {
				return cli.Usagef("--retention-failed: %s is not accepted; accepted: a duration above 0, or 0 for that of --retention", keep.Failed)
			}
			s, err := c.open(cmd)
			if err != nil {
				return err
			}
			defer s.Close()
			shown := cli.NewProgress(cmd.ErrOrStderr(), c.lookup)
			stop := shown.Ticking()
			gone, err := s.RemoveOld(cmd.Context(), keep, func(gone store.Removed) { shown.Show(-1, removed(gone)) })
			stop()
			if err != nil {
				return database.InWords(fmt.Errorf("%s; %w", removed(gone), err))
			}
			return c.answer(cmd, map[string]int64{"runs": gone.Runs, "plans": gone.Plans, "deliveries": gone.Deliveries}, removed(gone))
		},
	}
	c.register(cmd.Flags())
	cmd.Flags().DurationVar(&keep.Runs, "retention", 720*time.Hour, "how long ended runs are kept")
	cmd.Flags().DurationVar(&keep.Failed, "retention-failed", 0, "how long ended runs are kept that are FAILED; 0: as --retention")
	return cmd
}

func removed(gone store.Removed) string {
	return fmt.Sprintf("removed %d runs, %d plans, %d deliveries", gone.Runs, gone.Plans, gone.Deliveries)
}
