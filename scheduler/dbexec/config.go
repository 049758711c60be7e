package dbexec

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
)

// Target is a database that tasks name in database_id.
type Target struct {
	// Engine is required: MySQL, MariaDB or SQLite.
	Engine Engine
	// URL is required: mysql://user:password@host:3306/database, mariadb://… or sqlite:/path/to/file.
	URL string
	// LockTimeout is how long a statement may wait for a lock. 0: as the server has it; 5 s on SQLite.
	LockTimeout time.Duration
	// StatementTimeout is how long one statement may take. 0: any time.
	StatementTimeout time.Duration
}

// Config is what New needs.
type Config struct {
	// Targets by the names that tasks use in database_id. May be empty.
	Targets map[string]Target
	// Deployment is required: the uuid of the deployment, which keeps the ledger rows of two deployments with one target apart.
	Deployment string
	// Unreachable, where not nil, is told that a run could not connect to a target.
	Unreachable func(name string, err error)
	// Log gets what a person who runs the sidecar should know. Default: nothing is logged.
	Log zerolog.Logger
}

// target is a Target that was found to be valid.
type target struct {
	name             string
	engine           engine
	lockTimeout      time.Duration
	statementTimeout time.Duration
	unreachable      func(name string, err error) // may be nil
	log              zerolog.Logger
	said             atomic.Pointer[string] // why it could not be reached, as it was logged; nil: it could
	made             Target                 // of which it was made
	kept             atomic.Bool            // it can't be made any more, and that was logged
}

// Executor executes SQL tasks. It holds no connection between runs.
type Executor struct {
	targets     atomic.Pointer[map[string]*target]
	deployment  atomic.Pointer[string]
	unreachable func(name string, err error)
	log         zerolog.Logger
}

// New returns the executor for SQL tasks; its Migrate returns the one for DATABASE_MIGRATE. It connects to nothing. An error names
// the target but never its URL.
func New(c Config) (*Executor, error) {
	x := &Executor{unreachable: c.Unreachable, log: c.Log}
	if err := x.SetDeployment(c.Deployment); err != nil {
		return nil, err
	}
	return x, x.SetTargets(c.Targets)
}

// SetTargets gives the executor other targets, for runs that begin after it. Where one is refused nothing changes; the error names it
// but never its URL.
func (x *Executor) SetTargets(targets map[string]Target) error {
	use, err := x.Prepare(targets)
	if err == nil {
		use()
	}
	return err
}

// Prepare makes targets, which use gives to runs that begin after it. They are made anew each time, as files that their URLs name
// may have changed; one that was made before and can't be any more, say as its file is gone, stays as it is.
func (x *Executor) Prepare(targets map[string]Target) (use func(), err error) {
	all, before := make(map[string]*target, len(targets)), map[string]*target{}
	if now := x.targets.Load(); now != nil {
		before = *now
	}
	for name, t := range targets {
		if name == "" {
			return nil, errors.New("dbexec: a target database has no name")
		}
		known, err := newTarget(name, t)
		if old := before[name]; err != nil && old != nil && old.made == t {
			if known = old; !old.kept.Swap(true) {
				x.log.Warn().Str("database_id", name).Err(err).Msg("a target database can't be set up anew: it stays as it was")
			}
		} else if err != nil {
			return nil, fmt.Errorf("dbexec: database %q: %w", name, err)
		} else {
			known.unreachable, known.log = x.unreachable, x.log
		}
		all[name] = known
	}
	return func() { x.targets.Store(&all) }, nil
}

func newTarget(name string, t Target) (*target, error) {
	switch {
	case t.URL == "":
		return nil, errors.New("it has no url")
	case t.LockTimeout < 0:
		return nil, errors.New("lock_timeout is negative")
	case t.StatementTimeout < 0:
		return nil, errors.New("statement_timeout is negative")
	}
	known := &target{name: name, made: t, lockTimeout: t.LockTimeout, statementTimeout: t.StatementTimeout}
	var err error
	switch t.Engine {
	case MySQL, MariaDB:
		known.engine, err = newMySQL(t.Engine, t.URL)
	case SQLite:
		known.engine, err = newSQLite(t.URL)
	default:
		err = fmt.Errorf("engine %q is not one of this executor's", t.Engine)
	}
	if err != nil {
		return nil, err
	}
	return known, nil
}

// CheckURL looks whether a URL is one that its engine understands. Its error never shows the URL.
func CheckURL(e Engine, address string) error {
	_, err := newTarget("", Target{Engine: e, URL: address})
	return err
}

// SetDeployment gives the executor another deployment's uuid, for runs that begin after it: scheduler.Config.Identified
// tells it. Anything but a uuid is an error.
func (x *Executor) SetDeployment(deployment string) error {
	id, err := uuid.Parse(deployment)
	if err != nil {
		return errors.New("dbexec: a deployment must be a uuid")
	}
	x.deployment.Store(new(id.String()))
	return nil
}

// Databases returns the names of the targets, sorted.
func (x *Executor) Databases() []string { return slices.Sorted(maps.Keys(*x.targets.Load())) }
