package commands

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/database"
	"github.com/rowrun/rowrun/migrations"
)

// deployment says which of the two a copied database is.
func (m *migrateCommand) deployment() *cobra.Command {
	cmd := cli.Group(&cobra.Command{
		Use:   "deployment",
		Short: "Say what a copied database is: a deployment of its own, or the old one in another place",
		Long: "A database that was copied (pg_dump, CREATE DATABASE … TEMPLATE, pg_upgrade) still names the place of its\n" +
			"origin. Replicas of it wait until one of these says what it is, as both would do the same work.",
	})
	cmd.AddCommand(
		m.renew("new", "The origin goes on: this one gets an identity, a ledger and a slot of its own", true),
		m.renew("moved", "The origin is gone (a restore, pg_upgrade, another server): this one is what it was", false),
	)
	return cmd
}

func (m *migrateCommand) renew(name, short string, copied bool) *cobra.Command {
	return &cobra.Command{
		Use:   name,
		Short: short,
		Args:  cli.Arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := m.config(cmd, database.PromptPatience)
			if err != nil {
				return err
			}
			renewed, err := migrations.Renew(cmd.Context(), config, copied)
			if err != nil {
				return err
			}
			text := "deployment " + renewed.ID + " belongs here now\n"
			if copied && renewed.Unfinished+renewed.Messages > 0 {
				text += fmt.Sprintf("%d unfinished runs and %d messages came along: replicas run and send them here too. To prevent it, before one starts:\n", renewed.Unfinished, renewed.Messages)
				if renewed.Schedules > 0 {
					text += "    UPDATE rowrun.task SET paused = true WHERE schedule <> '-';\n"
				}
				text += "    SELECT rowrun.cancel_run(id, 'copied') FROM rowrun.task_run WHERE status IN ('PENDING', 'AVAILABLE', 'RUNNING');\n" +
					"    UPDATE rowrun.webhook SET enabled = false;\n"
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), text)
			return err
		},
	}
}
