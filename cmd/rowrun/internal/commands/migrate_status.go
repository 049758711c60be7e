package commands

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/database"
	"github.com/rowrun/rowrun/migrations"
)

func (m *migrateCommand) status() *cobra.Command {
	var out cli.Output
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show which migrations were applied and which are missing",
		Args:  cli.Arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := m.config(cmd, database.PromptPatience)
			if err != nil {
				return err
			}
			status, err := migrations.ReadStatus(cmd.Context(), config)
			if err != nil {
				return err
			}
			return writeStatus(cmd, &out, status)
		},
	}
	out.Register(cmd.Flags())
	return cmd
}

type appliedMigration struct {
	Version int       `json:"version"`
	Name    string    `json:"name"`
	At      time.Time `json:"applied_at"`
}

func writeStatus(cmd *cobra.Command, out *cli.Output, status migrations.Status) error {
	shown := struct {
		Version int                `json:"version"`
		Latest  int                `json:"latest"`
		Current bool               `json:"current"`
		Dirty   bool               `json:"dirty"`
		Applied []appliedMigration `json:"applied"`
	}{status.Version, status.Latest, status.Current(), status.Dirty, []appliedMigration{}}
	t := cli.Table{Header: []string{"VERSION", "NAME", "APPLIED"}}
	for _, a := range status.Applied {
		shown.Applied = append(shown.Applied, appliedMigration(a))
		t.Rows = append(t.Rows, []string{strconv.Itoa(a.Version), a.Name, a.At.UTC().Format(time.RFC3339)})
	}
	if err := out.Write(cmd.OutOrStdout(), shown, t); err != nil {
		return err
	}
	verdict := "up to date"
	if !status.Current() {
		verdict = "run `rowrun migrate up`"
	}
	if status.Dirty {
		verdict = "one was interrupted or is under way; " + verdict
	}
	// Beside the output, so that what reads the table or the JSON is not in its way.
	_, err := fmt.Fprintf(cmd.ErrOrStderr(), "schema at version %d of %d: %s\n", status.Version, status.Latest, verdict)
	return err
}
