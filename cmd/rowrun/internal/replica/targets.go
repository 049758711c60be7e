package replica

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/database"
	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/scheduler/dbexec"
)

// TargetFacts are what can be said of a target that is not PostgreSQL.
type TargetFacts = dbexec.Facts

// Engine tells what kind of a database a target is. Its URL is resolved, or names its engine by itself.
func (d FileDatabase) Engine() (dbexec.Engine, error) { return dbexec.EngineOf(d.Kind, d.URL) }

// IsPostgreSQL is true for a target of PostgreSQL's, and for one of which that can't be told.
func (d FileDatabase) IsPostgreSQL() bool {
	engine, err := d.Engine()
	return err != nil || engine == dbexec.PostgreSQL
}

// Resolve replaces env:NAME and file:PATH in the URL and checks it. With engine: sqlite a URL file:/… is SQLite's own.
func (d FileDatabase) Resolve(source string, lookup func(string) (string, bool)) (FileDatabase, error) {
	var err error
	if engine, wrong := dbexec.EngineOf(d.Kind, ""); wrong != nil {
		return d, cli.Usagef("%s.engine: %w", source, wrong)
	} else if engine != dbexec.SQLite || !strings.HasPrefix(d.URL, "file:") {
		if d.URL, err = cli.ResolveSecret(source+".url", d.URL, lookup); err != nil {
			return d, err
		}
	}
	engine, err := d.Engine()
	if err != nil {
		return d, cli.Usagef("%s: %w", source, err)
	}
	if engine == dbexec.PostgreSQL {
		// It has been looked up: what it holds now is never looked up again.
		d.URL, err = database.ResolveURL(source+".url", d.URL, func(string) (string, bool) { return "", false })
		return d, err
	}
	if err := dbexec.CheckURL(engine, d.URL); err != nil {
		return d, cli.Usagef("%s: %w", source, err)
	}
	return d, nil
}

// target is a target of dbexec's.
func (d FileDatabase) target(engine dbexec.Engine) dbexec.Target {
	return dbexec.Target{
		Engine: engine, URL: d.URL, LockTimeout: time.Duration(d.LockTimeout), StatementTimeout: time.Duration(d.StatementTimeout),
	}
}

// Look connects to a target that is not PostgreSQL.
func (d FileDatabase) Look(ctx context.Context) (TargetFacts, error) {
	engine, err := d.Engine()
	if err != nil {
		return TargetFacts{}, err
	}
	return dbexec.Look(ctx, d.target(engine))
}

// byEngine hands a run to the executor of its database's engine. One whose database isn't known goes to PostgreSQL's, which says so.
type byEngine struct {
	postgresql, others scheduler.Executor
	named              *engineNames
}

// engineNames are the names of targets that are not PostgreSQL.
type engineNames struct {
	names atomic.Pointer[map[string]bool]
}

func (e byEngine) Execute(ctx context.Context, run *scheduler.Run) (scheduler.Result, error) {
	if (*e.named.names.Load())[run.DatabaseID] {
		return e.others.Execute(ctx, run)
	}
	return e.postgresql.Execute(ctx, run)
}
