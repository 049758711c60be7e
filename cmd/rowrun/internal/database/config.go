package database

import (
	"errors"

	"github.com/spf13/pflag"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/store/connect"
)

// Config says where Rowrun's own database is: Resolve finds it, and fills in all of the way there.
type Config struct{ connect.Way }

// URLForm is what is accepted as the address of a database, in words.
const URLForm = connect.Form + " (also env:NAME or file:PATH)"

const directFlag = "--direct-url"

// Register adds --database-url and --direct-url.
func (c *Config) Register(flags *pflag.FlagSet) {
	flags.StringVar(&c.URL, "database-url", "",
		"the database, as a URL or key=value `text`, env:NAME or file:PATH (also DATABASE_URL, PGHOST and its siblings)")
	flags.StringVar(&c.DirectURL, "direct-url", "",
		"the same database without a pooler in between, `text` as for --database-url")
}

// Resolve finds the database in the order of the contract: the flag,
// ROWRUN_DATABASE_URL (both in c.URL by now), DATABASE_URL, the PG* variables.
func (c *Config) Resolve(lookup func(string) (string, bool)) error {
	c.Source, c.DirectSource = "--database-url", directFlag
	if c.URL == "" {
		if value, ok := lookup("DATABASE_URL"); ok && value != "" {
			c.URL, c.Source = value, "DATABASE_URL"
		}
	}
	if c.URL == "" {
		for _, name := range []string{"PGHOST", "PGDATABASE", "PGSERVICE", "PGPORT", "PGUSER"} {
			if value, ok := lookup(name); ok && value != "" {
				// pgx fills in from PG* whatever a connection string leaves open.
				c.URL, c.Source = "application_name=rowrun", "the PG* variables"
				break
			}
		}
	}
	if c.URL == "" {
		return cli.Usagef("no database given: set --database-url, ROWRUN_DATABASE_URL, DATABASE_URL or PGHOST; " +
			"`rowrun dev` needs none, it brings its own PostgreSQL for trying out")
	}
	return c.ResolveAs(c.Source, directFlag, lookup)
}

// ResolveAs replaces env:NAME and file:PATH in what was given, and checks it; the sources are where it was given. Without a direct way
// the other one is direct.
func (c *Config) ResolveAs(source, directSource string, lookup func(string) (string, bool)) error {
	c.Source, c.DirectSource = source, directSource
	var err error
	if c.URL, err = ResolveURL(source, c.URL, lookup); err != nil {
		return err
	}
	if c.DirectURL == "" {
		c.DirectURL = c.URL
		return nil
	}
	c.DirectURL, err = ResolveURL(directSource, c.DirectURL, lookup)
	return err
}

// ResolveURL resolves and checks a connection string. What is wrong in it is
// not shown: a mistyped URL shows parts of its password in the parser's words.
func ResolveURL(source, value string, lookup func(string) (string, bool)) (string, error) {
	value, err := cli.ResolveSecret(source, value, lookup)
	if err != nil {
		return "", err
	}
	if value == "" {
		return "", cli.Usagef("%s: is empty; accepted: %s", source, URLForm)
	}
	switch _, err := connect.Parse(value); {
	case errors.Is(err, connect.ErrForm):
		return "", cli.Usagef("%s: %w; accepted: %s", source, err, URLForm)
	case err != nil:
		return "", cli.Usagef("%s: %w", source, err)
	}
	return value, nil
}
