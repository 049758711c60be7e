package dbexec

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/scheduler/targets"
)

// Target is a database that tasks name in database_id.
type Target struct {
	// Engine is required: MySQL, MariaDB or SQLite.
	Engine Engine
	// URL is required: mysql://user:password@host:3306/database, mariadb://… or sqlite:/path/to/file.
	URL string
	// LockTimeout is how long a statement may wait for a lock, at most targets.MaxTimeout. 0: as the server has it; 5 s on SQLite.
	LockTimeout time.Duration
	// StatementTimeout is how long one statement may take, at most targets.MaxTimeout. 0: any time.
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
	reach            *targets.Reach // told by open
}

// Executor executes SQL tasks. It holds no connection between runs.
type Executor struct {
	targets    *targets.Set[Target, *target]
	deployment atomic.Pointer[string]
	log        zerolog.Logger
}

// New returns the executor for SQL tasks; its Migrate returns the one for DATABASE_MIGRATE. It connects to nothing. An error names
// the target but never its URL.
func New(c Config) (*Executor, error) {
	x := &Executor{log: c.Log}
	x.targets = targets.NewSet(c.Log, func(name string, t Target) (*target, error) {
		if name == "" {
			return nil, errors.New("dbexec: a target database has no name")
		}
		made, err := newTarget(t, name, targets.NewReach(name, c.Unreachable, c.Log))
		if err != nil {
			return nil, fmt.Errorf("dbexec: database %q: %w", name, err)
		}
		return made, nil
	})
	if err := x.SetDeployment(c.Deployment); err != nil {
		return nil, err
	}
	return x, x.SetTargets(c.Targets)
}

// SetTargets gives the executor other targets, for runs that begin after it. Where one is refused nothing changes; the error names it
// but never its URL.
func (x *Executor) SetTargets(configs map[string]Target) error { return x.targets.Replace(configs) }

// Prepare makes targets, which use gives to runs that begin after it. They are made anew each time, as files that their URLs name
// may have changed; one that was made before and can't be any more, say as its file is gone, stays as it is.
func (x *Executor) Prepare(configs map[string]Target) (use func(), err error) {
	return x.targets.Prepare(configs)
}

func newTarget(t Target, name string, reach *targets.Reach) (*target, error) {
	if t.URL == "" {
		return nil, errors.New("it has no url")
	}
	err := targets.CheckTimeouts(t.LockTimeout, t.StatementTimeout)
	if err != nil {
		return nil, err
	}
	known := &target{name: name, reach: reach, lockTimeout: t.LockTimeout, statementTimeout: t.StatementTimeout}
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
	_, err := newTarget(Target{Engine: e, URL: address}, "", nil)
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
func (x *Executor) Databases() []string { return x.targets.Names() }
