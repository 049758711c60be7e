package commands

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/database"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/connect"
)

// client is what the commands of a person have in common: a way to the
// database and the form of what they show.
type client struct {
	database database.Config
	log      cli.LogConfig
	out      cli.Output
	lookup   func(string) (string, bool)
	// patience is how long a database that can't be reached is waited for.
	patience time.Duration
	// indexed has statements find their rows as a replica's do: for work on tables of any size.
	indexed bool
}

// newClient is what a command of a person begins with.
func newClient(env cli.Environment) client {
	return client{lookup: env.Lookup, out: cli.Output{Lookup: env.Lookup}}
}

func (c *client) register(flags *pflag.FlagSet) {
	c.registerPatience(flags, database.PromptPatience)
}

// quickPatience is for the commands that are asked when something is wrong.
const quickPatience = 5 * time.Second

// registerPatience is register with how long a database that can't be reached is waited for.
func (c *client) registerPatience(flags *pflag.FlagSet, patience time.Duration) {
	flags.DurationVar(&c.patience, "connect-timeout", patience, "how long to wait for a database that can't be reached")
	c.database.Register(flags)
	c.log.Register(flags)
	c.out.Register(flags)
}

// open waits for the database and looks at its schema. A pooler is gone
// around where there is a way: a person's few questions don't need it.
func (c *client) open(cmd *cobra.Command) (*store.Store, error) {
	if err := c.resolve(); err != nil {
		return nil, err
	}
	// All is well most of the time, and one connection tells so. Only where it isn't, it is found out why, or waited.
	ctx, log := cmd.Context(), c.log.ForPerson(cmd)
	try, cancel := context.WithTimeout(ctx, time.Second)
	s, err := c.connected(try)
	cancel()
	if err == nil && !s.Standby() {
		return s, nil
	} else if err == nil {
		s.Close()
	}
	if err := connect.Wait(ctx, c.database.DirectURL, c.database.Source, c.patience, log); err != nil {
		return nil, err
	}
	return c.connected(ctx)
}

// connected has a connection to a database with the schema.
func (c *client) connected(ctx context.Context) (*store.Store, error) {
	s, err := store.Open(ctx, store.Config{URL: c.database.DirectURL, MaxConns: 2, Indexed: c.indexed})
	if err != nil {
		return nil, err
	}
	if err := connect.CheckSchema(ctx, s); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// resolve finds the database and checks what it is waited for.
func (c *client) resolve() error {
	if c.patience <= 0 {
		return cli.Usagef("--connect-timeout: %s is not accepted; accepted: a duration above 0", c.patience)
	}
	return c.database.Resolve(c.lookup)
}

// ask opens the database, asks one question of it within database.AnswerPatience, and
// puts what went wrong into words.
func (c *client) ask(cmd *cobra.Command, question func(ctx context.Context, s *store.Store) error) error {
	s, err := c.open(cmd)
	if err != nil {
		return err
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(cmd.Context(), database.AnswerPatience)
	defer cancel()
	return database.InWords(question(ctx, s))
}

// about completes a command about one row, a run, plan or task, that the argument on its command line names.
func (c *client) about(what thing, cmd *cobra.Command, do func(context.Context, *cobra.Command, *store.Store, int64) error) *cobra.Command {
	cmd.Args = cli.Arguments(strings.TrimPrefix(cmd.Use, cmd.Name()+" "))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkNamed(cmd, what, args[0]); err != nil {
			return err
		}
		return c.ask(cmd, func(ctx context.Context, s *store.Store) error {
			id, err := resolve(ctx, cmd, s, what, args[0])
			if err != nil {
				return err
			}
			return do(ctx, cmd, s, id)
		})
	}
	return cmd
}

// checkNamed refuses what can be neither the id nor the name of a row.
func checkNamed(cmd *cobra.Command, what thing, text string) error {
	id, err := strconv.ParseInt(text, 10, 64)
	if err == nil && id == 0 || text == "" || err != nil && what == deliveryRow { // ids below 1 are not drawn, but the owner of the tables may have written some
		return cli.Usagef("%s: %q is not accepted; accepted: %s", cmd.CommandPath(), text, what.form())
	}
	return nil
}

// absentError says that an id leads nowhere: asking again changes nothing.
type absentError struct{ text string }

func (e *absentError) Error() string { return e.text }

// answer prints one short line, or value as JSON.
func (c *client) answer(cmd *cobra.Command, value any, line string) error {
	if c.out.Document() {
		return c.out.Write(cmd, value, cli.Table{})
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), line)
	return err
}

// answerRemoved says what a command that cleans up has removed, by name.
func (c *client) answerRemoved(cmd *cobra.Command, names []string) error {
	line := "nothing was left"
	if len(names) > 0 {
		line = "removed " + strings.Join(names, ", ")
	} else {
		names = []string{}
	}
	return c.answer(cmd, struct {
		Removed []string `json:"removed"`
	}{names}, line)
}

// lost puts a lost connection into words, as the driver's own name the login; clean is the command that removes what was left.
// Other errors stay as they are.
func lost(cmd *cobra.Command, err error, clean string) error {
	var gone *pgconn.ConnectError
	if cmd.Context().Err() == nil && errors.As(err, &gone) {
		return fmt.Errorf("connection to the database lost: %s; `%s` removes what may be left", connect.Diagnose(err).Text, clean)
	}
	return err
}
