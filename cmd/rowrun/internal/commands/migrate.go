package commands

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/database"
	"github.com/rowrun/rowrun/migrations"
	"github.com/rowrun/rowrun/store/connect"
)

func newMigrate(env cli.Environment) *cobra.Command {
	var m migrateCommand
	m.lookup = env.Lookup
	cmd := cli.Group(&cobra.Command{
		Use:   "migrate",
		Short: "Bring the schema up to date, or look at it",
	})
	m.database.Register(cmd.PersistentFlags())
	m.log.Register(cmd.PersistentFlags())
	cmd.AddCommand(m.up(), m.down(), m.status(), m.force(), m.sql(), m.grants(), m.repair(), m.deployment())
	return cmd
}

// migrateCommand is what the commands under migrate have in common. They go
// to the database directly: a pooler may break their lock.
type migrateCommand struct {
	database database.Config
	log      cli.LogConfig
	lookup   func(string) (string, bool)
}

// config waits for the database, at most patience (0: for ever), and says how
// to migrate it.
func (m *migrateCommand) config(cmd *cobra.Command, patience time.Duration) (migrations.Config, error) {
	if err := m.database.Resolve(m.lookup); err != nil {
		return migrations.Config{}, err
	}
	log := m.log.ForPerson(cmd)
	if err := connect.Wait(cmd.Context(), m.database.DirectURL, m.database.Source, patience, log); err != nil {
		return migrations.Config{}, err
	}
	return migrations.Config{URL: m.database.DirectURL, Log: log}, nil
}

// versionArgument reads a version of the schema: 0 (none) to the newest.
func versionArgument(source, text string) (int, error) {
	latest := migrations.Version()
	version, err := strconv.Atoi(text)
	if err != nil || version < 0 || version > latest {
		return 0, cli.Usagef("%s: %q is not accepted; accepted: a version from 0 to %d", source, text, latest)
	}
	return version, nil
}

func (m *migrateCommand) up() *cobra.Command {
	return &cobra.Command{
		Use:   "up",
		Short: "Apply every table step that is missing, and the code where it differs; many at once are fine",
		Args:  cli.Arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := m.config(cmd, 0)
			if err != nil {
				return err
			}
			shown := cli.NewProgress(cmd.ErrOrStderr(), m.lookup)
			defer shown.Ticking()()
			before, err := migrations.ReadStatus(cmd.Context(), config)
			if err != nil {
				return err
			}
			shown.Show(-1, fmt.Sprintf("applying %d table steps, and the code where it differs", before.Latest-before.Version))
			applied, err := migrations.Up(cmd.Context(), config)
			shown.Clear()
			if err != nil {
				return err
			}
			return m.report(cmd, config, "%d migrations applied", applied)
		},
	}
}

func (m *migrateCommand) down() *cobra.Command {
	return &cobra.Command{
		Use:   "down STEPS",
		Short: "Take back the code and the newest table steps, and lose the data that only they hold",
		Args:  cli.Arguments("STEPS"),
		RunE: func(cmd *cobra.Command, args []string) error {
			steps, err := strconv.Atoi(args[0])
			if err != nil || steps < 1 {
				return cli.Usagef("migrate down: %q is not accepted; accepted: a number of migrations, 1 or more", args[0])
			}
			config, err := m.config(cmd, 0)
			if err != nil {
				return err
			}
			undone, err := migrations.Down(cmd.Context(), config, steps)
			if err != nil {
				return err
			}
			return m.report(cmd, config, "%d migrations taken back", undone)
		},
	}
}

func (m *migrateCommand) force() *cobra.Command {
	return &cobra.Command{
		Use:   "force VERSION",
		Short: "Write down that the schema is at a version, and change nothing else",
		Args:  cli.Arguments("VERSION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			version, err := versionArgument("migrate force", args[0])
			if err != nil {
				return err
			}
			config, err := m.config(cmd, 0)
			if err != nil {
				return err
			}
			if err := migrations.Force(cmd.Context(), config, version); err != nil {
				return err
			}
			return m.report(cmd, config, "version %d written down", version)
		},
	}
}

func (m *migrateCommand) grants() *cobra.Command {
	return &cobra.Command{
		Use:   "grants",
		Short: "Make the roles and grant them their rights again",
		Args:  cli.Arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := m.config(cmd, 0)
			if err != nil {
				return err
			}
			if err := migrations.Grants(cmd.Context(), config); err != nil {
				return err
			}
			return m.report(cmd, config, "roles and grants repeated")
		},
	}
}

// report says what was done and where the schema stands now.
func (m *migrateCommand) report(cmd *cobra.Command, config migrations.Config, format string, args ...any) error {
	status, err := migrations.ReadStatus(cmd.Context(), config)
	if err != nil {
		return err
	}
	args = append(args, status.Version, status.Latest)
	_, err = fmt.Fprintf(cmd.OutOrStdout(), format+"; the schema is at version %d of %d\n", args...)
	return err
}

func (m *migrateCommand) sql() *cobra.Command {
	var from string
	cmd := &cobra.Command{
		Use:   "sql",
		Short: "Print table steps and code as SQL for who applies them by hand; asks no database",
		Args:  cli.Arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			version, err := versionArgument("--from", from)
			if err != nil {
				return err
			}
			text, err := migrations.SQL(version)
			if err != nil {
				return err
			}
			_, err = io.WriteString(cmd.OutOrStdout(), text)
			return err
		},
	}
	cmd.Flags().StringVar(&from, "from", "0", "`version` that is there already; 0: none")
	return cmd
}
