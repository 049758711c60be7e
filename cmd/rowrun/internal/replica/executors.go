package replica

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/scheduler/cmdexec"
	"github.com/rowrun/rowrun/scheduler/dbexec"
	"github.com/rowrun/rowrun/scheduler/httpexec"
	"github.com/rowrun/rowrun/scheduler/sqlexec"
)

// executors are those of the types that this replica runs, and what it tells
// the others that it can reach.
type executors struct {
	byType              map[string]scheduler.Executor
	databases, commands []string
	http                *httpexec.Executor // nil where no app is called
	sql                 *sqlexec.Executor  // nil before addSQL
	others              *dbexec.Executor   // of targets that are not PostgreSQL; nil before addSQL
	engines             map[string]string  // of targets that are not PostgreSQL, by name
}

// newExecutors makes those that need no database; what they refuse is wrong use.
func newExecutors(c *Config) (*executors, error) {
	x := &executors{byType: map[string]scheduler.Executor{}}
	if slices.Contains(c.Types, "NOOP") {
		x.byType["NOOP"] = scheduler.Noop{}
	}
	if c.AppURL != "" {
		app, err := httpexec.New(httpexec.Config{BaseURL: c.AppURL, Secret: c.AppSecret})
		if err != nil {
			return nil, cli.Usagef("--app-url, --app-secret: %w", err)
		}
		x.http = app
		if slices.Contains(c.Types, "HTTP") {
			x.byType["HTTP"] = app
		}
	}
	commands := make(map[string]cmdexec.Command, len(c.File.Commands))
	for name, command := range c.File.Commands {
		commands[name] = cmdexec.Command(command)
	}
	command, err := cmdexec.New(cmdexec.Config{Commands: commands})
	if err != nil {
		return nil, cli.Usagef("--config %s: %w", c.ConfigPath, err)
	}
	if slices.Contains(c.Types, "COMMAND") {
		x.byType["COMMAND"], x.commands = command, command.Names()
	}
	return x, nil
}

// addSQL makes those that mark their work in the targets with the deployment.
func (x *executors) addSQL(c *Config, deployment string, log zerolog.Logger) error {
	targets, others := map[string]sqlexec.Target{}, map[string]dbexec.Target{}
	x.engines = map[string]string{}
	named := map[string]bool{}
	for name, database := range c.File.Databases {
		engine, err := database.Engine()
		if err != nil {
			return cli.Usagef("--config %s: databases.%s: %w", c.ConfigPath, name, err)
		}
		if engine != dbexec.PostgreSQL {
			others[name], named[name] = database.target(engine), true
			x.engines[name] = string(engine)
			continue
		}
		targets[name] = sqlexec.Target{
			URL:              database.URL,
			LockTimeout:      time.Duration(database.LockTimeout),
			StatementTimeout: time.Duration(database.StatementTimeout),
		}
	}
	sql, err := sqlexec.New(sqlexec.Config{Targets: targets, Deployment: deployment, Log: log})
	if err != nil {
		return cli.Usagef("--config %s: %w", c.ConfigPath, err)
	}
	other, err := dbexec.New(dbexec.Config{Targets: others, Deployment: deployment, Log: log})
	if err != nil {
		return cli.Usagef("--config %s: %w", c.ConfigPath, err)
	}
	x.sql, x.others = sql, other
	names := slices.Sorted(maps.Keys(c.File.Databases))
	if slices.Contains(c.Types, "SQL") {
		x.byType["SQL"], x.databases = byEngine{sql, other, named}, names
	}
	if slices.Contains(c.Types, "DATABASE_MIGRATE") {
		x.byType["DATABASE_MIGRATE"], x.databases = byEngine{sql.Migrate(), other.Migrate(), named}, names
	}
	return nil
}

// setDeployment gives those that mark their work another deployment's uuid.
func (x *executors) setDeployment(deployment string) error {
	return errors.Join(x.sql.SetDeployment(deployment), x.others.SetDeployment(deployment))
}

func (x *executors) close() {
	if x.http != nil {
		x.http.Close()
	}
}
