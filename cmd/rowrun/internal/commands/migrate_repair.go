package commands

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/database"
	"github.com/rowrun/rowrun/migrations"
)

func (m *migrateCommand) repair() *cobra.Command {
	return &cobra.Command{
		Use:   "repair",
		Short: "Make functions, views, triggers, constraints, indexes and grants anew where they were lost or changed",
		Long: "Makes what the migrations made where it is missing or not as they make it, and touches nothing else: tables\n" +
			"and their data stay as they are. To know what it should be it runs the migrations beside the schema, in a\n" +
			"transaction that is taken back. Indexes are built without blocking who writes, after the transactions that\n" +
			"are open. `rowrun doctor` says what is wrong.",
		Args: cli.Arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := m.config(cmd, database.PromptPatience)
			if err != nil {
				return err
			}
			repaired, err := migrations.Repair(cmd.Context(), config)
			for _, o := range repaired {
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s %s was %s, repaired\n", o.Kind, o.Name, o.How); err != nil {
					return err
				}
			}
			if err != nil {
				return err
			}
			return m.report(cmd, config, "%d objects repaired", len(repaired))
		},
	}
}
