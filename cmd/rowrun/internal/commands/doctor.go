package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/database"
	"github.com/rowrun/rowrun/migrations"
	"github.com/rowrun/rowrun/store"
)

// severity says what a finding asks for.
type severity string

const (
	fine    severity = "ok"      // looked at, nothing to do
	note    severity = "note"    // worth knowing
	warning severity = "warning" // will hurt: exit code 1
)

// finding is what doctor says of one thing.
type finding struct {
	Check    string   `json:"check"`
	Severity severity `json:"severity"`
	Text     string   `json:"text"`
	Fix      string   `json:"fix"` // the command that mends it; "" where there is nothing to do
}

// errFindings ends the command with exit code 1; what is wrong has been shown.
var errFindings = errors.New("there are warnings, see above")

// doctor looks at a deployment.
type doctor struct {
	database *database.Config
	store    *store.Store
	now      func() time.Time
	// snapshotAge is how long a snapshot may be held.
	snapshotAge time.Duration
	configPath  string

	hears    bool // notifications arrive where replicas listen
	hearsErr error
	server   store.ServerFacts
	schema   int64
	owner    string // of the tables; set by checkRole
	lookup   func(string) (string, bool)
	version  string // of the program
	findings []finding
}

func newDoctor(env cli.Environment) *cobra.Command {
	c := client{lookup: env.Lookup}
	d := doctor{now: time.Now, version: env.Version}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what is wrong or will be: server, schema, roles, pooler, replicas",
		Long: "Looks at the server's version and settings, privileges, poolers, the schema and its triggers, sequences, clocks, vacuum,\n" +
			"replication slots, the notification queue, the replicas, and runs that nobody can take. Changes nothing.\n" +
			"Each finding names the command that mends it. Exit code 1: there are warnings, which will hurt.\n\n" +
			"Give it the role of a sidecar, and its --config: it looks at what that role may do, and those of the target databases.",
		Args: cli.Arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if d.snapshotAge < 0 {
				return cli.Usagef("--snapshot-age: %s is not accepted; accepted: a duration such as 5m", d.snapshotAge)
			}
			d.lookup = c.lookup
			return d.run(cmd, &c)
		},
	}
	c.registerPatience(cmd.Flags(), quickPatience)
	cmd.Flags().StringVar(&d.configPath, "config", "", "YAML `file` of the sidecars, to look at too")
	cmd.Flags().DurationVar(&d.snapshotAge, "snapshot-age", 5*time.Minute, "how long a transaction may keep dead rows from being removed")
	return cmd
}

func (d *doctor) run(cmd *cobra.Command, c *client) error {
	if err := c.resolve(); err != nil {
		return err
	}
	d.database = &c.database
	d.checkConfig(c.lookup)
	// Beside the wait, so that both are within its time.
	reached := startReach(cmd.Context(), c.database.DirectURL, c.patience)
	err := database.Wait(cmd.Context(), c.database.DirectURL, c.database.Source, c.patience, c.log.ForPerson(cmd))
	looked := reached(err != nil)
	if cmd.Context().Err() != nil {
		return cmd.Context().Err()
	}
	if err != nil {
		d.reportDead(err, looked, c.lookup)
		return d.conclude(cmd, c)
	}
	probe, cancel := context.WithTimeout(cmd.Context(), database.AnswerPatience)
	d.hears, d.hearsErr = hears(probe, c.database.DirectURL)
	cancel()
	opened, err := store.Open(cmd.Context(), store.Config{URL: c.database.DirectURL, AppName: "rowrun doctor", MaxConns: 2, Pooled: !d.hears})
	if err != nil {
		return err
	}
	defer opened.Close()
	d.store = opened
	if err := d.examine(cmd.Context()); err != nil {
		return inWords(err)
	}
	return d.conclude(cmd, c)
}

// conclude shows the findings. Warnings are an error.
func (d *doctor) conclude(cmd *cobra.Command, c *client) error {
	if err := d.show(cmd.OutOrStdout(), &c.out); err != nil {
		return err
	}
	for _, f := range d.findings {
		if f.Severity == warning {
			return errFindings
		}
	}
	return nil
}

// examine asks one thing after the other; only the first question, and a lost
// database, end it: what else can't be asked is a finding itself.
func (d *doctor) examine(ctx context.Context) error {
	ask, cancel := context.WithTimeout(ctx, database.AnswerPatience)
	defer cancel()
	var err error
	if d.server, err = d.store.ServerFacts(ask); err != nil {
		return err
	}
	d.checkServer()
	for _, check := range []struct {
		name string
		ask  func(ctx context.Context) error
	}{
		{"pooler", d.checkPoolers},
		{"encryption", d.checkEncryption},
		{"clock", d.checkClock},
		{"schema", d.checkSchema},
	} {
		if err := d.try(ctx, check.name, check.ask); err != nil {
			return err
		}
	}
	if d.schema < int64(migrations.Version()) {
		return nil // the rest asks for what isn't there
	}
	for _, check := range []struct {
		name string
		ask  func(ctx context.Context) error
	}{
		{"deployment", d.checkDeployment},
		{"privileges", d.checkPrivileges},
		{"role", d.checkRole},
		{"attached", d.checkAttachments},
		{"target", d.checkTargets},
		{"drift", d.checkDrift},
		{"sequence", d.checkSequences},
		{"settings", d.checkTraps},
		{"vacuum", d.checkVacuum},
		{"snapshot", d.checkSnapshots},
		{"slot", d.checkSlots},
		{"replicas", d.checkReplicas},
		{"orphans", d.checkOrphans},
		{"locks", d.checkLocks},
		{"webhooks", d.checkWebhooks},
		{"schedules", d.checkSchedules},
	} {
		if err := d.try(ctx, check.name, check.ask); err != nil {
			return err
		}
	}
	return nil
}

// try asks one thing within database.AnswerPatience.
func (d *doctor) try(ctx context.Context, name string, question func(ctx context.Context) error) error {
	ask, cancel := context.WithTimeout(ctx, database.AnswerPatience)
	defer cancel()
	err := question(ask)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case store.SQLState(err) == "42501":
		d.add(name, warning, "this role may not look: "+inWords(err).Error(), d.grants())
		return nil
	case store.SQLState(err) != "":
		d.add(name, warning, "could not be looked at: "+inWords(err).Error(), "rowrun migrate status")
		return nil
	}
	return err
}

// grants gives the role what a sidecar needs.
func (d *doctor) grants() string {
	if d.server.Member || !d.server.Known {
		return "rowrun migrate grants  # as the owner of the schema"
	}
	return "GRANT rowrun_replica TO " + quoteIdentifier(d.server.Role) + ";"
}

func (d *doctor) add(check string, s severity, text, fix string) {
	d.findings = append(d.findings, finding{Check: check, Severity: s, Text: text, Fix: fix})
}

func (d *doctor) show(w io.Writer, out *cli.Output) error {
	if out.Format == "json" {
		return out.Write(w, d.findings, cli.Table{})
	}
	for _, f := range d.findings {
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

func quoteIdentifier(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
func quoteLiteral(text string) string    { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
