package commands

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/doctor"
)

// errFindings ends the command with exit code 1; what is wrong has been shown.
var errFindings = errors.New("there are warnings, see above")

func newDoctor(env cli.Environment) *cobra.Command {
	c := newClient(env)
	config := doctor.Config{Database: &c.database, Lookup: env.Lookup, Version: env.Version}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what is wrong or will be: server, schema, roles, pooler, replicas",
		Long: "Looks at the server's version and settings, privileges, poolers, the schema and its triggers, sequences, clocks, vacuum,\n" +
			"replication slots, the notification queue, the replicas, and runs that nobody can take. Changes nothing.\n" +
			"Each finding names the command that mends it. Exit code 1: there are warnings, which will hurt.\n\n" +
			"Give it the role of a sidecar, and its --config: it looks at what that role may do, and those of the target databases.",
		Args: cli.Arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if config.SnapshotAge < 0 {
				return cli.Usagef("--snapshot-age: %s is not accepted; accepted: a duration such as 5m", config.SnapshotAge)
			}
			if err := c.resolve(); err != nil {
				return err
			}
			config.Patience, config.Log = c.patience, c.log.ForPerson(cmd)
			findings, failed := doctor.Examine(cmd.Context(), config)
			if failed == nil || len(findings) > 0 { // what was found before it failed may be why
				if err := showFindings(cmd, &c.out, findings); err != nil {
					return errors.Join(failed, err)
				}
			}
			if failed != nil {
				return failed
			}
			if slices.ContainsFunc(findings, func(f doctor.Finding) bool { return f.Severity == doctor.Warning }) {
				return errFindings
			}
			return nil
		},
	}
	c.registerPatience(cmd.Flags(), quickPatience)
	cmd.Flags().StringVar(&config.ConfigPath, "config", "", "YAML `file` of the sidecars, to look at too")
	cmd.Flags().DurationVar(&config.SnapshotAge, "snapshot-age", 5*time.Minute, "how long a transaction may keep dead rows from being removed")
	return cmd
}

func showFindings(cmd *cobra.Command, out *cli.Output, findings []doctor.Finding) error {
	if !out.ForPeople() {
		t := cli.Table{}
		for _, f := range findings {
			t.Names = append(t.Names, f.Check)
		}
		return out.Write(cmd, findings, t)
	}
	w := cmd.OutOrStdout()
	for _, f := range findings {
		if _, err := fmt.Fprintf(w, "%-8s %-11s %s\n", f.Severity, f.Check, cli.Printable(f.Text)); err != nil {
			return fmt.Errorf("write output: %w", err)
		}
		if f.Fix != "" {
			if _, err := fmt.Fprintf(w, "%-20s → %s\n", "", cli.Printable(f.Fix)); err != nil {
				return fmt.Errorf("write output: %w", err)
			}
		}
	}
	return nil
}
