package migrations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	driver "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/rs/zerolog"

	pinned "github.com/rowrun/rowrun/store/session"
)

const (
	// lockKey is what everyone who migrates Rowrun's schema in a database locks ("rowrunmg").
	lockKey = 0x726f7772756e6d67
	// lockTimeout bounds each wait for a lock of somebody else's. It is well below the server's deadlock_timeout (1 s unless
	// set): where both wait for each other, the migration gives way, and no INSERT is the one that fails.
	lockTimeout = 400 * time.Millisecond
	// silence is how long the server keeps the session, and its lock, of a client that froze.
	silence = time.Minute
	// oldest is the first server version with all that the schema uses.
	oldest = 15
)

var errLost = errors.New("the connection was lost")

// session is the one database session of a call: it holds the lock, and
// everything runs on it.
type session struct {
	conn   *pgx.Conn
	db     *sql.DB          // hands out conn, never a second one
	driver *driver.Postgres // nil until the schema exists
	files  *files
	log    zerolog.Logger
	// obeyed waits, once the call is over, until its cancel has reached the server.
	obeyed func()
}

// locked calls do with a session that holds the lock, on a server that can be written to.
func locked(ctx context.Context, config Config, what string, do func(context.Context, *session) error) error {
	config, err := config.withDefaults()
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, config.Timeout, fmt.Errorf("not done within %s: %w", config.Timeout, context.DeadlineExceeded))
	defer cancel()
	s, err := open(ctx, config)
	if err != nil {
		return fmt.Errorf("%s: %w", what, explain(ctx, err))
	}
	defer s.close()
	release := s.follow(ctx)
	defer release()
	err = s.lock(ctx, config.LockWait)
	if err == nil {
		err = s.prepare(ctx)
	}
	if err == nil {
		err = refuseOldNumbering(ctx, s.conn)
	}
	if err == nil {
		err = do(ctx, s)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, explain(ctx, err))
	}
	return nil
}

func open(ctx context.Context, config Config) (*session, error) {
	files, err := readFiles(config.FS)
	if err != nil {
		return nil, err
	}
	conn, err := pgx.ParseConfig(config.URL)
	if err != nil {
		return nil, errors.New("not a connection string") // the parser's words may show the password
	}
	if conn.ConnectTimeout == 0 {
		conn.ConnectTimeout = 10 * time.Second
	}
	for name, value := range map[string]string{
		"application_name":                    "rowrun migrate",
		"lock_timeout":                        milliseconds(lockTimeout),
		"idle_session_timeout":                milliseconds(silence),
		"idle_in_transaction_session_timeout": milliseconds(silence),
		"statement_timeout":                   milliseconds(config.Timeout),
	} {
		conn.RuntimeParams[name] = value
	}
	pinned.Pin(conn, spelling)
	s := &session{files: files, log: config.Log}
	s.db = stdlib.OpenDB(*conn, stdlib.OptionAfterConnect(func(_ context.Context, conn *pgx.Conn) error {
		if s.conn != nil {
			return errLost // database/sql would go on with a session that has no lock
		}
		s.conn = conn
		return nil
	}))
	s.db.SetMaxOpenConns(1)
	if err := s.db.PingContext(ctx); err != nil {
		return nil, errors.Join(err, s.db.Close())
	}
	return s, nil
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

func (s *session) close() {
	if s.driver != nil {
		_ = s.driver.Close()
	}
	_ = s.db.Close() // what counts is committed; the server frees the lock with the session
}

// follow lets ctx end what runs, as golang-migrate's driver takes no context: the
// statement is canceled at the server, and a server that doesn't answer is given up.
func (s *session) follow(ctx context.Context) (release func()) {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		_ = s.conn.PgConn().Conn().SetDeadline(time.Now().Add(5 * time.Second))
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
		defer cancel()
		_ = s.conn.PgConn().CancelRequest(ctx)
	})
	s.obeyed = func() {
		if ctx.Err() != nil {
			<-done
		}
	}
	return func() {
		if !stop() {
			<-done
		}
	}
}

// lock polls: a session that waits inside of pg_advisory_lock has a snapshot
// that CREATE INDEX CONCURRENTLY of the holder's would wait for.
func (s *session) lock(ctx context.Context, wait time.Duration) error {
	const sql = "SELECT pg_catalog.pg_try_advisory_lock($1)"
	deadline := time.NewTimer(wait)
	defer deadline.Stop()
	for first := true; ; first = false {
		var got bool
		if err := s.conn.QueryRow(ctx, sql, int64(lockKey)).Scan(&got); err != nil {
			return fmt.Errorf("lock: %w", err)
		}
		if got {
			return nil
		}
		if first {
			s.log.Info().Msg("another process migrates, waiting for it")
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-deadline.C:
			return fmt.Errorf("another process has been migrating for more than %s: look for application_name 'rowrun migrate' in pg_stat_activity", wait)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// prepare refuses servers that can't be migrated and sees to schema and table.
func (s *session) prepare(ctx context.Context) error {
	var standby bool
	var version int
	const server = "SELECT pg_catalog.pg_is_in_recovery(), pg_catalog.current_setting('server_version_num')::int"
	if err := s.conn.QueryRow(ctx, server).Scan(&standby, &version); err != nil {
		return fmt.Errorf("look at the server: %w", err)
	}
	if version/10000 < oldest {
		return fmt.Errorf("the server is PostgreSQL %d: Rowrun needs %d or later", version/10000, oldest)
	}
	if standby {
		return errors.New("the server is a standby: connect to the primary (target_session_attrs=read-write picks it)")
	}
	var exists bool
	const schema = "SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = 'rowrun')"
	if err := s.conn.QueryRow(ctx, schema).Scan(&exists); err != nil {
		return fmt.Errorf("look for the schema: %w", err)
	}
	if !exists {
		// Somebody who doesn't know of our lock may create it just now.
		if _, err := s.conn.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS rowrun"); err != nil && !is(err, "23505", "42P06") {
			return fmt.Errorf("create schema rowrun: %w", err)
		}
	}
	if err := s.refusePlanted(ctx); err != nil {
		return err
	}
	opened, err := driver.WithInstance(s.db, &driver.Config{
		MigrationsTable:       `"rowrun"."schema_migrations"`,
		MigrationsTableQuoted: true,
		SchemaName:            "rowrun", // else it asks for the first schema of the search path, which may not exist
	})
	if err != nil {
		return fmt.Errorf("prepare rowrun.schema_migrations: %w", err)
	}
	pg, ok := opened.(*driver.Postgres)
	if !ok {
		return fmt.Errorf("unexpected driver %T", opened)
	}
	s.driver = pg
	return nil
}
