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
	out := cli.Output{Lookup: m.lookup}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show which table steps and which code were applied, and what is missing",
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

// schemaCode is what the schema has besides tables, and what this program brings.
type schemaCode struct {
	Release      int       `json:"release"` // 0: none
	Hash         string    `json:"hash"`
	At           time.Time `json:"applied_at,omitzero"`
	KnownRelease int       `json:"known_release"`
	KnownHash    string    `json:"known_hash"`
	Current      bool      `json:"current"`
}

func writeStatus(cmd *cobra.Command, out *cli.Output, status migrations.Status) error {
	shown := struct {
		Version int                `json:"version"`
		Latest  int                `json:"latest"`
		Current bool               `json:"current"`
		Dirty   bool               `json:"dirty"`
		Applied []appliedMigration `json:"applied"`
		Code    schemaCode         `json:"code"`
	}{
		Version: status.Version, Latest: status.Latest, Current: status.Current(), Dirty: status.Dirty, Applied: []appliedMigration{},
		Code: schemaCode{status.Code.Release, status.Code.Hash, status.Code.At, status.Known.Release, status.Known.Hash, status.CodeCurrent()},
	}
	t := cli.Table{Columns: []cli.Column{cli.Whole("VERSION"), cli.Free("NAME"), cli.Whole("APPLIED")}}
	for _, a := range status.Applied {
		shown.Applied = append(shown.Applied, appliedMigration(a))
		t.Rows = append(t.Rows, []string{strconv.Itoa(a.Version), a.Name, a.At.UTC().Format(time.RFC3339)})
	}
	if status.Code.Hash != "" {
		t.Rows = append(t.Rows, []string{"code", fmt.Sprintf("%s (release %d)", status.Code.Hash, status.Code.Release), status.Code.At.UTC().Format(time.RFC3339)})
	}
	if err := out.Write(cmd, shown, t); err != nil {
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
	_, err := fmt.Fprintf(cmd.ErrOrStderr(), "schema at version %d of %d, %s: %s\n", status.Version, status.Latest, codeVerdict(status), verdict)
	return err
}

func codeVerdict(status migrations.Status) string {
	switch has, own := status.Code, status.Known; {
	case has.Hash == "":
		return "without code"
	case has.Hash == own.Hash && has.Release == own.Release:
		return "its code is this program's"
	default:
		return fmt.Sprintf("its code is another than this program's %s (release %d)", own.Hash, own.Release)
	}
}
