package replica

import (
	"errors"
	"fmt"
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
	named               *engineNames       // the same, for runs
	fleet               *fleet             // nil: targets are what databases says
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
	command, err := cmdexec.New(cmdexec.Config{Commands: commands, Grace: commandGrace(c.DrainTimeout)})
	if err != nil {
		return nil, cli.Usagef("--config %s: %w", c.ConfigPath, err)
	}
	if slices.Contains(c.Types, "COMMAND") {
		x.byType["COMMAND"], x.commands = command, command.Names()
	}
	return x, nil
}

// commandGrace is how long a command may go on after its SIGTERM: less than a drain waits for executors that it stops, so that what
// follows never starts beside it. 0, the executor's default, with drains so short that they wait for no command.
func commandGrace(drainTimeout time.Duration) time.Duration {
	grace := scheduler.StopTime(drainTimeout) * 4 / 5
	if grace < 100*time.Millisecond {
		return 0
	}
	return grace
}

// addSQL makes those that mark their work in the targets with the deployment.
func (x *executors) addSQL(c *Config, deployment string, log zerolog.Logger) error {
	if len(c.File.DatabasesFrom) > 0 && !c.Admin() {
		x.fleet = newFleet(c, log)
		x.fleet.use = x.setTargets
	}
	unreachable := func(name string, err error) {
		if x.fleet != nil {
			x.fleet.unreachable(name, err)
		}
	}
	var err error
	if x.sql, err = sqlexec.New(sqlexec.Config{Deployment: deployment, Unreachable: unreachable, Log: log}); err != nil {
		return cli.Usagef("--config %s: %w", c.ConfigPath, err)
	}
	if x.others, err = dbexec.New(dbexec.Config{Deployment: deployment, Unreachable: unreachable, Log: log}); err != nil {
		return cli.Usagef("--config %s: %w", c.ConfigPath, err)
	}
	x.named = &engineNames{}
	if err := x.setTargets(c.File.Databases); err != nil {
		return cli.Usagef("--config %s: %w", c.ConfigPath, err)
	}
	x.engines = enginesOf(c.File.Databases)
	if slices.Contains(c.Types, "SQL") {
		x.byType["SQL"], x.databases = byEngine{x.sql, x.others, x.named}, names(c.File.Databases)
	}
	if slices.Contains(c.Types, "DATABASE_MIGRATE") {
		x.byType["DATABASE_MIGRATE"], x.databases = byEngine{x.sql.Migrate(), x.others.Migrate(), x.named}, names(c.File.Databases)
	}
	return nil
}

// setTargets has runs that begin from now on find these targets; where one is refused nothing changes.
func (x *executors) setTargets(all map[string]FileDatabase) error {
	targets, others := map[string]sqlexec.Target{}, map[string]dbexec.Target{}
	named := map[string]bool{}
	for name, database := range all {
		engine, err := database.Engine()
		if err != nil {
			return fmt.Errorf("databases.%s: %w", name, err)
		}
		if engine != dbexec.PostgreSQL {
			others[name], named[name] = database.target(engine), true
			continue
		}
		targets[name] = sqlexec.Target{
			URL:              database.URL,
			LockTimeout:      time.Duration(database.LockTimeout),
			StatementTimeout: time.Duration(database.StatementTimeout),
		}
	}
	useTargets, err := x.sql.Prepare(targets)
	if err != nil {
		return err
	}
	useOthers, err := x.others.Prepare(others)
	if err != nil {
		return err
	}
	useTargets()
	useOthers()
	x.named.names.Store(&named)
	return nil
}

// enginesOf are those of targets that are not PostgreSQL, by name.
func enginesOf(targets map[string]FileDatabase) map[string]string {
	engines := map[string]string{}
	for name, target := range targets {
		if !target.IsPostgreSQL() {
			engine, _ := target.Engine()
			engines[name] = string(engine)
		}
	}
	return engines
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
