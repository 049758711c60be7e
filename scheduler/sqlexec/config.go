package sqlexec

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/scheduler/targets"
)

// Target is a database that tasks name in database_id.
type Target struct {
	// URL is required: a PostgreSQL URL or keyword string that leads to the server
	// itself, not to a pooler that hands out its connections per transaction.
	URL string
	// LockTimeout is how long a statement may wait for a lock, at most targets.MaxTimeout. 0: as the server has it.
	LockTimeout time.Duration
	// StatementTimeout is how long one statement may take, at most targets.MaxTimeout. 0: as the server has it.
	StatementTimeout time.Duration
}

// Config is what New needs.
type Config struct {
	// Targets by the names that tasks use in database_id. May be empty: each
	// task is then BAD_INPUT.
	Targets map[string]Target
	// Deployment is required: the uuid of the deployment, which keeps the ledger
	// rows of two deployments with one target apart.
	Deployment string
	// Unreachable, where not nil, is told that a run could not connect to a target.
	Unreachable func(name string, err error)
	// Log gets what a person who runs the sidecar should know. Default: nothing is logged.
	Log zerolog.Logger
}

// target is a Target that was found to be valid.
type target struct {
	name             string
	conn             *pgx.ConnConfig
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

// New returns the executor for SQL tasks; its Migrate returns the one for
// DATABASE_MIGRATE. It connects to nothing. An error names the target but never its URL.
func New(c Config) (*Executor, error) {
	var id pgtype.UUID
	if err := id.Scan(c.Deployment); err != nil || !id.Valid {
		return nil, errors.New("sqlexec: Deployment must be a uuid")
	}
	x := &Executor{log: c.Log}
	x.targets = targets.NewSet(c.Log, func(name string, t Target) (*target, error) {
		return newTarget(t, name, targets.NewReach(name, c.Unreachable, c.Log))
	})
	x.deployment.Store(new(id.String()))
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
	switch {
	case name == "":
		return nil, errors.New("sqlexec: a target database has no name")
	case t.URL == "":
		return nil, fmt.Errorf("sqlexec: database %q has no url", name)
	}
	if err := targets.CheckTimeouts(t.LockTimeout, t.StatementTimeout); err != nil {
		return nil, fmt.Errorf("sqlexec: database %q: %w", name, err)
	}
	conn, err := pgx.ParseConfig(t.URL)
	if err != nil {
		// The parser's own text quotes the URL, and hides passwords only as well as it can.
		return nil, fmt.Errorf("sqlexec: database %q: url is not one that PostgreSQL understands, or names a file that can't be read "+
			"(postgres://user:password@host:5432/database, or keywords: host=… dbname=…)", name)
	}
	return &target{
		name:             name,
		conn:             conn,
		lockTimeout:      t.LockTimeout,
		statementTimeout: t.StatementTimeout,
		reach:            reach,
	}, nil
}

// SetDeployment gives the executor another deployment's uuid, for runs that begin after it: scheduler.Config.Identified
// tells it. Anything but a uuid is an error.
func (x *Executor) SetDeployment(deployment string) error {
	var id pgtype.UUID
	if err := id.Scan(deployment); err != nil || !id.Valid {
		return errors.New("sqlexec: a deployment must be a uuid")
	}
	x.deployment.Store(new(id.String()))
	return nil
}

// Databases returns the names of the targets, sorted.
func (x *Executor) Databases() []string {
	return x.targets.Names()
}
