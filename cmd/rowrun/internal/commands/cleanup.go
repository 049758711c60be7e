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
	var keep time.Duration
	cmd := &cobra.Command{
		Use:   "cleanup",
		Short: "Remove what ended longer ago than --retention, as replicas do each hour",
		Long: "Remove what ended longer ago than --retention, as replicas do each --cleanup-interval: chains of runs without a plan, " +
			"earlier runs of plans, plans as a whole, settled deliveries. A task's own retention goes before --retention. It works " +
			"in small transactions beside running replicas, and can be stopped and begun again.",
		Args: cli.Arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if keep <= 0 {
				return cli.Usagef("--retention: %s is not accepted; accepted: a duration above 0", keep)
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
	cmd.Flags().DurationVar(&keep, "retention", 720*time.Hour, "how long ended runs are kept")
	return cmd
}

func removed(gone store.Removed) string {
	return fmt.Sprintf("removed %d runs, %d plans, %d deliveries", gone.Runs, gone.Plans, gone.Deliveries)
}
