package sqlexec

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rowrun/rowrun/scheduler"
	rowrun "github.com/rowrun/rowrun/store/session"
)

const (
	// connectLimit bounds connecting, over all hosts of a URL.
	connectLimit = 15 * time.Second
	// closeLimit bounds giving back what an ending session holds.
	closeLimit = 5 * time.Second
)

const prepareSession = `-- rowrun_session
SELECT pg_catalog.set_config('standard_conforming_strings', 'on', false),
       pg_catalog.set_config('idle_in_transaction_session_timeout', '60s', false),
       pg_catalog.pg_backend_pid(),
       extract(epoch FROM pg_catalog.pg_postmaster_start_time())::text,
       (SELECT extract(epoch FROM backend_start)::text FROM pg_catalog.pg_stat_activity WHERE pid = pg_catalog.pg_backend_pid())`

const setClientCheck = `-- rowrun_client_check
SELECT pg_catalog.set_config('client_connection_check_interval', '2s', false)`

const setTimeout = `-- rowrun_timeout
SELECT pg_catalog.set_config($1, $2, false)`

const ownPath = `-- rowrun_own_path
RESET search_path`

const unlockAll = `-- rowrun_unlock
SELECT pg_catalog.pg_advisory_unlock_all()`

// session is one connection to a target.
type session struct {
	conn   *pgconn.PgConn
	target *target
	name   string
	// Which backend it is: a pid alone may have been given out again.
	pid, backendStart, serverStart string
	locked                         bool // holds advisory locks
	// What gone has found out.
	sought    bool
	soughtErr error
}

// open connects to the target under an application_name. onNotice may be nil.
func (t *target) open(ctx context.Context, name string, onNotice func(*pgconn.Notice)) (*session, error) {
	asked := ctx
	ctx, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	config := t.conn.Copy()
	config.RuntimeParams["application_name"] = name
	rowrun.Pin(config)
	config.BuildFrontend = BoundedFrontend
	// A statement may be silent for hours: only keepalives find out that its host is gone.
	config.DialFunc = (&net.Dialer{KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: 15 * time.Second, Interval: 15 * time.Second, Count: 4,
	}}).DialContext
	if onNotice != nil {
		config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { onNotice(n) }
	}
	conn, err := pgconn.ConnectConfig(ctx, &config.Config)
	if err != nil {
		// The outer error names the login and the database behind the target's name.
		if outer, ok := errors.AsType[*pgconn.ConnectError](err); ok {
			err = outer.Unwrap()
		}
		full := err
		err = unplaced(err)
		if asked.Err() != nil {
			err = context.Cause(asked)
		} else {
			t.reach.Failed(full, err)
		}
		return nil, fmt.Errorf("connect to database %q: %w", t.name, err)
	}
	t.reach.Succeeded()
	s := &session{conn: conn, target: t, name: name}
	if err := s.prepare(ctx); err != nil {
		s.close(ctx)
		return nil, fmt.Errorf("prepare the session on database %q: %w", t.name, err)
	}
	return s, nil
}

// unplaced is why no server could be connected to, without where: what the last of them said, or how the last try went wrong.
func unplaced(err error) error {
	if server, ok := errors.AsType[*pgconn.PgError](err); ok {
		return server
	}
	inner := err
	for {
		switch next := inner.(type) { //nolint:errorlint // it goes down the chain itself
		case *net.OpError, *net.DNSError:
			return &placelessError{scheduler.WithoutPlaces(inner), err}
		case interface{ Unwrap() []error }:
			all := next.Unwrap()
			inner = all[len(all)-1]
		case interface{ Unwrap() error }:
			if next.Unwrap() == nil {
				return &placelessError{scheduler.WithoutPlaces(inner), err}
			}
			inner = next.Unwrap()
		default:
			return &placelessError{scheduler.WithoutPlaces(inner), err}
		}
	}
}

// placelessError is an error whose own text names an address or a host.
type placelessError struct {
	text string
	err  error
}

func (e *placelessError) Error() string { return e.text }
func (e *placelessError) Unwrap() error { return e.err }

func (s *session) prepare(ctx context.Context) error {
	rows, err := s.query(ctx, prepareSession)
	if err != nil {
		return err
	}
	s.pid, s.serverStart, s.backendStart = rows[0][2], rows[0][3], rows[0][4]
	// With it the server ends the statement of a sidecar that was killed. Servers on
	// systems that can't look refuse the setting, and there the statement just runs on.
	if _, err := s.query(ctx, setClientCheck); err != nil && s.conn.IsClosed() {
		return err
	}
	return nil
}

// limit sets the target's timeouts for the statements that follow.
func (s *session) limit(ctx context.Context) error {
	for _, t := range []struct {
		name  string
		value time.Duration
	}{
		{"lock_timeout", s.target.lockTimeout},
		{"statement_timeout", s.target.statementTimeout},
	} {
		if t.value == 0 {
			continue
		}
		ms := max(t.value.Milliseconds(), 1) // 0 would be no limit at all
		if _, err := s.query(ctx, setTimeout, t.name, strconv.FormatInt(ms, 10)); err != nil {
			return fmt.Errorf("set %s: %w", t.name, err)
		}
	}
	return nil
}

// handOver gives the session the search path that its role or URL says, for the statements of a run. Until then it is
// Rowrun's; what Rowrun sends after it names its functions with their schema and uses no operator.
func (s *session) handOver(ctx context.Context) error {
	if _, err := s.exec(ctx, ownPath); err != nil {
		return fmt.Errorf("reset the search path: %w", err)
	}
	return nil
}

// exec sends one statement and drops its rows.
func (s *session) exec(ctx context.Context, sql string) (pgconn.CommandTag, error) {
	var tag pgconn.CommandTag
	err := s.guard(ctx, func(ctx context.Context) error {
		var err error
		tag, err = s.conn.ExecParams(ctx, sql, nil, nil, nil, nil).Close()
		return err
	})
	return tag, err
}

// execWith is exec for a statement with parameters: as many of these as it has, the first of them. None: exec.
func (s *session) execWith(ctx context.Context, sql string, params [][]byte) (pgconn.CommandTag, error) {
	if len(params) == 0 {
		return s.exec(ctx, sql)
	}
	var tag pgconn.CommandTag
	err := s.guard(ctx, func(ctx context.Context) error {
		prepared, err := s.conn.Prepare(ctx, "", sql, nil)
		if err != nil {
			return err
		}
		if n := len(prepared.ParamOIDs); n > len(params) {
			return scheduler.BadInput(`the statement has $%d, and "params" in the payload has %d values`, n, len(params))
		}
		tag, err = s.conn.ExecPrepared(ctx, "", params[:len(prepared.ParamOIDs)], nil, nil).Close()
		return err
	})
	return tag, err
}

// query sends one short statement of this package's own and returns its rows as
// text, a NULL as an empty string. When ctx ends, the connection is closed.
func (s *session) query(ctx context.Context, sql string, args ...string) ([][]string, error) {
	values := make([][]byte, len(args))
	for i, arg := range args {
		values[i] = []byte(arg)
	}
	result := s.conn.ExecParams(ctx, sql, values, nil, nil, nil).Read()
	out := make([][]string, len(result.Rows))
	for i, row := range result.Rows {
		for _, value := range row {
			out[i] = append(out[i], string(value))
		}
	}
	return out, result.Err
}

// inTransaction is true between BEGIN and its end, also when the transaction has failed.
func (s *session) inTransaction() bool { return s.conn.TxStatus() != 'I' }

// close ends the session, its transaction and locks before: the server takes a
// moment to notice that a connection was closed.
func (s *session) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
	defer cancel()
	if !s.conn.IsClosed() && s.inTransaction() {
		_ = s.conn.ExecParams(ctx, "ROLLBACK", nil, nil, nil, nil).Read()
	}
	if !s.conn.IsClosed() && s.locked {
		_, _ = s.query(ctx, unlockAll)
	}
	_ = s.conn.Close(ctx)
}

// leave closes the session, or where its connection is lost already, makes sure
// that the server does not work for it any more.
func (s *session) leave(ctx context.Context) {
	if !s.conn.IsClosed() {
		s.close(ctx)
		return
	}
	ctx, cancel := settleContext(ctx)
	defer cancel()
	_ = s.gone(ctx)
}

// fresh calls f with a short session of its own, untouched by what statements
// SET, until it succeeds, the server refuses, or ctx ends.
func (t *target) fresh(ctx context.Context, name string, f func(context.Context, *session) error) error {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		err := t.once(ctx, name, f)
		if err == nil || !mayPass(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}

func (t *target) once(ctx context.Context, name string, f func(context.Context, *session) error) error {
	s, err := t.open(ctx, name, nil)
	if err != nil {
		return err
	}
	defer s.close(ctx)
	return f(ctx, s)
}
