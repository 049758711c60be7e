package main

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/migrations"
)

func newMigrate(env environment) *cobra.Command {
	var m migrateCommand
	m.lookup = env.lookup
	cmd := group(&cobra.Command{
		Use:   "migrate",
		Short: "Bring the schema up to date, or look at it",
	})
	m.database.register(cmd.PersistentFlags())
	m.log.register(cmd.PersistentFlags())
	cmd.AddCommand(m.up(), m.down(), m.status(), m.force(), m.sql(), m.grants(), m.repair(), m.deployment())
	return cmd
}

// migrateCommand is what the commands under migrate have in common. They go
// to the database directly: a pooler may break their lock.
type migrateCommand struct {
	database databaseConfig
	log      logConfig
	lookup   func(string) (string, bool)
}

// config waits for the database, at most patience (0: for ever), and says how
// to migrate it.
func (m *migrateCommand) config(cmd *cobra.Command, patience time.Duration) (migrations.Config, error) {
	if err := m.database.resolve(m.lookup); err != nil {
		return migrations.Config{}, err
	}
	log := m.log.logger(cmd.ErrOrStderr())
	if err := waitForDatabase(cmd.Context(), m.database.DirectURL, m.database.source, patience, log); err != nil {
		return migrations.Config{}, err
	}
	return migrations.Config{URL: m.database.DirectURL, Log: log}, nil
}

// versionArgument reads a version of the schema: 0 (none) to the newest.
func versionArgument(source, text string) (int, error) {
	latest := migrations.Version()
	version, err := strconv.Atoi(text)
	if err != nil || version < 0 || version > latest {
		return 0, usagef("%s: %q is not accepted; accepted: a version from 0 to %d", source, text, latest)
	}
	return version, nil
}

func (m *migrateCommand) up() *cobra.Command {
	return &cobra.Command{
		Use:   "up",
		Short: "Apply every table step that is missing, and the code where it differs; many at once are fine",
		Args:  arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := m.config(cmd, 0)
			if err != nil {
				return err
			}
			applied, err := migrations.Up(cmd.Context(), config)
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
		Args:  arguments("STEPS"),
		RunE: func(cmd *cobra.Command, args []string) error {
			steps, err := strconv.Atoi(args[0])
			if err != nil || steps < 1 {
				return usagef("migrate down: %q is not accepted; accepted: a number of migrations, 1 or more", args[0])
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
		Args:  arguments("VERSION"),
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
		Args:  arguments(),
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
		Args:  arguments(),
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
