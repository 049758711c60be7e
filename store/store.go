package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowrun/rowrun/store/session"
)

// Channel is where the database announces changes of status.
const Channel = "rowrun_task_run"

// NotifyQueueLimit is how full the server's queue of notifications may be for rowrun.may_notify to say yes.
const NotifyQueueLimit = 0.5

// Config says how to reach the database.
type Config struct {
	// URL is a connection string as pgx takes it. Required.
	URL string
	// AppName is shown in pg_stat_activity. Default "rowrun".
	AppName string
	// MaxConns bounds the connections, those that a replica keeps apart included. Default 8; a replica has at least 5.
	MaxConns int
	// Lease is how long this replica may be silent. Every session ends statements, idle transactions and dead
	// connections in less than a third of it, so that a replica that was stopped in the middle can't hold up the one
	// that declares it dead. Zero: no such limits (commands that a person runs).
	Lease time.Duration
	// Indexed has each statement find its rows by an index, however a planner that doesn't know its limits judges that: for a command that does
	// what replicas do, to tables of any size. With a Lease it is always so.
	Indexed bool
	// Pooled says that URL leads through a connection pooler: session settings are then left to the server's roles,
	// each statement comes in a transaction that sets its search path, and none is prepared under a name.
	Pooled bool
	// OldPrimary is told of the first connection to each old primary that is refused; nobody else learns of it where
	// the next host is taken. May be nil.
	OldPrimary func(error)
}

// Store runs statements on Rowrun's tables. Safe for use by many goroutines.
type Store struct {
	pool *pool
	// A replica keeps three connections apart: heartbeats never queue behind other work, and the statements of the
	// pass and of the endings, whose first planning takes some 100 ms, are each planned on one connection only.
	beats, passes, ends *pool
	// sessions are the server processes behind the connections; none where a pooler stands between.
	sessions                                                                       sync.Map
	passSize, retentionSize, planRetentionSize, staleSize, overdueSize, workerSize Batch
	// encoding is how the database stores text, a string; nothing before the first connection.
	encoding atomic.Value
	standby  atomic.Bool
	// limited says that limits may apply to what the replica claims, as far as the last answers told. Statements that know none
	// do nothing then.
	limited atomic.Bool
	keys    keyring
	history session.History
}

// Guard has the connections of config refuse an old primary once this store, or another connection that it guards, has seen
// its successor. They must lead to the server itself.
func (s *Store) Guard(config *pgx.ConnConfig) { s.history.Guard(config) }

// Own says whether a server process serves one of the store's connections.
func (s *Store) Own(serverPID uint32) bool {
	_, own := s.sessions.Load(serverPID)
	return own
}

// Open prepares a pool; connections are made when they are needed.
func Open(ctx context.Context, c Config) (*Store, error) {
	pc, err := pgxpool.ParseConfig(c.URL)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	if c.AppName == "" {
		c.AppName = "rowrun"
	}
	if c.MaxConns == 0 {
		c.MaxConns = 8
	}
	pc.MaxConns = int32(c.MaxConns)
	if c.Lease > 0 {
		pc.MaxConns = int32(max(2, c.MaxConns-3))
	}
	if c.Lease > 0 {
		pc.MinConns = 1 // a command asks once: one connection kept ready beside its own would only be opened
	}
	pc.MaxConnIdleTime = 5 * time.Minute
	pc.HealthCheckPeriod = time.Minute
	pc.ShouldPing = mustPing
	pc.ConnConfig.ConnectTimeout = 5 * time.Second
	if c.Pooled {
		session.Encode(pc.ConnConfig)
		// A pooler in transaction mode hands each statement to another connection, which knows nothing of one that was
		// prepared before.
		pc.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	} else {
		switch pc.ConnConfig.DefaultQueryExecMode {
		case pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol:
			// The address may say so for the application's sake. In these the server isn't asked for the types of parameters, and
			// a map isn't known to be jsonb.
			pc.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
		}
		session.Pin(pc.ConnConfig)
		params := pc.ConnConfig.RuntimeParams
		params["application_name"] = c.AppName
		params["jit"] = "off"
		params["plan_cache_mode"] = "force_generic_plan"
		if c.Lease > 0 {
			limit := strconv.FormatInt(sessionLimit(c.Lease).Milliseconds(), 10)
			params["statement_timeout"] = limit
			params["idle_in_transaction_session_timeout"] = limit
			params["tcp_user_timeout"] = limit
		}
		if c.Lease > 0 || c.Indexed {
			params["enable_seqscan"] = "off"
			// A bitmap scan can't mark the entries that updates left behind as dead, so that it reads them again and again.
			params["enable_bitmapscan"] = "off"
		}
	}
	s := &Store{}
	s.history.Tell(c.OldPrimary)
	if c.Lease > 0 && !c.Pooled {
		s.Guard(pc.ConnConfig)
	}
	pc.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		useBoundedTimes(conn.TypeMap())
		s.encoding.Store(conn.PgConn().ParameterStatus("server_encoding"))
		s.standby.Store(conn.PgConn().ParameterStatus("in_hot_standby") == "on")
		if !c.Pooled {
			s.sessions.Store(conn.PgConn().PID(), true)
		}
		return nil
	}
	if !c.Pooled {
		pc.BeforeClose = func(conn *pgx.Conn) { s.sessions.Delete(conn.PgConn().PID()) }
	}
	shared, err := newPool(ctx, pc, c.Pooled)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	s.pool, s.beats, s.passes, s.ends = shared, shared, shared, shared
	if c.Lease == 0 {
		return s, nil
	}
	for _, own := range []**pool{&s.beats, &s.passes, &s.ends} {
		one := pc.Copy()
		one.MaxConns, one.MinConns = 1, 0
		one.MaxConnLifetime = 24 * time.Hour
		if *own, err = newPool(ctx, one, c.Pooled); err != nil {
			s.Close()
			return nil, fmt.Errorf("open store: %w", err)
		}
	}
	return s, nil
}

// sessionLimit is a little below a third of the lease, and no more than the server's settings take.
func sessionLimit(lease time.Duration) time.Duration {
	return min(lease/10*3, math.MaxInt32*time.Millisecond)
}

// Close ends all connections.
func (s *Store) Close() {
	for _, own := range []*pool{s.beats, s.passes, s.ends} {
		if own != nil && own != s.pool {
			own.Close()
		}
	}
	s.pool.Close()
}

// Fill opens one connection of each kind that a replica works with, all at once, so that a limit on connections shows
// when it starts and not when there is work.
func (s *Store) Fill(ctx context.Context) error {
	seen := map[*pool]bool{}
	for _, p := range []*pool{s.pool, s.beats, s.passes, s.ends} {
		if seen[p] {
			continue
		}
		seen[p] = true
		conn, err := p.Acquire(ctx)
		if err != nil {
			return fmt.Errorf("open connection %d of %d: %w", len(seen), 4, err)
		}
		defer conn.Release()
	}
	return nil
}

// ErrOldSchema says that the schema was made before table steps were numbered as they are now: their records have no
// checksum.
var ErrOldSchema = errors.New("schema rowrun is of before the first release, and can't be converted: make a new one, in another database " +
	"or after DROP SCHEMA rowrun CASCADE, with which all plans and runs are lost")

// SchemaVersion is the newest table step that was applied; 0 where there is no schema.
func (s *Store) SchemaVersion(ctx context.Context) (int64, error) {
	var v int64
	var known bool
	err := s.pool.QueryRow(ctx, statement("schema_version")).Scan(&v, &known)
	if code := SQLState(err); code == "42P01" || code == "3F000" {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read schema version: %w", err)
	}
	if !known {
		return 0, ErrOldSchema
	}
	return v, nil
}

// SchemaCode tells which functions, triggers and views the schema has: of which release, and the hash of their source;
// 0 and an empty hash where it has none.
func (s *Store) SchemaCode(ctx context.Context) (release int, hash string, err error) {
	err = s.pool.QueryRow(ctx, statement("schema_code")).Scan(&release, &hash)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return 0, "", fmt.Errorf("read the schema's code: %w", err)
	}
	return release, hash, nil
}

// Standby tells whether the server that a connection was last made to is a standby, as the server reports of itself.
func (s *Store) Standby() bool { return s.standby.Load() }

// Deployment is the identity of this deployment, a uuid.
func (s *Store) Deployment(ctx context.Context) (string, error) {
	var id string
	if err := s.pool.QueryRow(ctx, statement("deployment")).Scan(&id); err != nil {
		return "", fmt.Errorf("read deployment: %w", err)
	}
	return id, nil
}

var (
	// ErrDead says that this replica's row is gone or was declared dead: it may not write any more.
	ErrDead = errors.New("this replica was declared dead")
	// ErrDrain says that an operator has asked this replica to drain.
	ErrDrain = errors.New("this replica was asked to drain")
	// ErrStandby says that the server is a standby and takes no writes.
	ErrStandby = errors.New("the server is a standby and takes no writes")
	// ErrNotFound says that there is no such row.
	ErrNotFound = errors.New("not found")
)

// uniqueViolation is the SQLSTATE of a key that is taken.
const uniqueViolation = "23505"

// SQLState is the SQLSTATE of the error that the server answered with, "" for any other error.
func SQLState(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

// NotifyQueueFull says that a transaction could not commit because the server's queue of notifications is full: it may
// be tried again, and says nothing then.
func NotifyQueueFull(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "54000" && pg.Routine == "PreCommit_Notify"
}

// Reason is an error's text for logs: a failed connection is told without the user and database that it was for.
func Reason(err error) string {
	if outer, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return "no connection to the database: " + outer.Unwrap().Error()
	}
	return err.Error()
}

func seconds(d time.Duration) float64 { return d.Seconds() }

func fromSeconds(s *float64) time.Duration {
	if s == nil {
		return 0
	}
	return duration(*s)
}

// inTx runs fn in a READ COMMITTED transaction.
func (s *Store) inTx(ctx context.Context, fn func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, s.pool, fn)
}
