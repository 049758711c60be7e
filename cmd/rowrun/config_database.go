package main

import (
	"errors"
	"io/fs"
	"net"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/pflag"
)

// databaseConfig says where Rowrun's own database is.
type databaseConfig struct {
	// URL reaches the database; a pooler may stand in between. Never empty after resolve.
	URL string
	// DirectURL reaches it without a pooler; the same as URL where none was given.
	DirectURL string
	// source names where URL came from, for messages; a URL is never shown.
	source string
	// pooler says that URL was found to lead through a pooler, see findPooler.
	pooler bool
}

const databaseForm = "postgres://user@host:5432/database or host=… dbname=… (also env:NAME or file:PATH)"

func (c *databaseConfig) register(flags *pflag.FlagSet) {
	flags.StringVar(&c.URL, "database-url", "",
		"the database, as a URL or key=value `text`, env:NAME or file:PATH (also DATABASE_URL, PGHOST and its siblings)")
	flags.StringVar(&c.DirectURL, "direct-url", "",
		"the same database without a pooler in between, `text` as for --database-url")
}

// resolve finds the database in the order of the contract: the flag,
// ROWRUN_DATABASE_URL (both in c.URL by now), DATABASE_URL, the PG* variables.
func (c *databaseConfig) resolve(lookup func(string) (string, bool)) error {
	c.source = "--database-url"
	if c.URL == "" {
		if value, ok := lookup("DATABASE_URL"); ok && value != "" {
			c.URL, c.source = value, "DATABASE_URL"
		}
	}
	if c.URL == "" {
		for _, name := range []string{"PGHOST", "PGDATABASE", "PGSERVICE", "PGPORT", "PGUSER"} {
			if value, ok := lookup(name); ok && value != "" {
				// pgx fills in from PG* whatever a connection string leaves open.
				c.URL, c.source = "application_name=rowrun", "the PG* variables"
				break
			}
		}
	}
	if c.URL == "" {
		return usagef("no database given: set --database-url, ROWRUN_DATABASE_URL, DATABASE_URL or PGHOST; " +
			"`rowrun dev` needs none, it brings its own PostgreSQL for trying out")
	}
	var err error
	if c.URL, err = databaseURL(c.source, c.URL, lookup); err != nil {
		return err
	}
	if c.DirectURL == "" {
		c.DirectURL = c.URL
		return nil
	}
	c.DirectURL, err = databaseURL("--direct-url", c.DirectURL, lookup)
	return err
}

// pooled says that URL may lead through a pooler: another way was given as well, or one was found.
func (c *databaseConfig) pooled() bool { return c.pooler || c.DirectURL != c.URL }

// databaseURL resolves and checks a connection string. What is wrong in it is
// not shown: a mistyped URL shows parts of its password in the parser's words.
func databaseURL(source, value string, lookup func(string) (string, bool)) (string, error) {
	value, err := resolveSecret(source, value, lookup)
	if err != nil {
		return "", err
	}
	if value == "" {
		return "", usagef("%s: is empty; accepted: %s", source, databaseForm)
	}
	if _, err := pgx.ParseConfig(value); err != nil {
		var path *fs.PathError
		if errors.As(err, &path) {
			return "", usagef("%s: names a file that can't be used: %w", source, path)
		}
		return "", usagef("%s: not a connection string; accepted: %s", source, databaseForm)
	}
	return value, nil
}

// place names the database for messages: host, port and name, never the login.
func place(url string) string {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return "the database"
	}
	return net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))) + "/" + config.Database
}
