package dbexec

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rowrun/rowrun/scheduler"
)

const (
	// connectLimit bounds connecting.
	connectLimit = 15 * time.Second
	// closeLimit bounds giving back what an ending session holds.
	closeLimit = 5 * time.Second
	// stopLimit is how long a statement may take to obey a request to end.
	stopLimit = 9 * time.Second
	// askEvery is how often it is asked, and how often a session that is to end is looked for.
	askEvery = 250 * time.Millisecond
	// terminateLimit bounds what comes after: ending the session from another one.
	terminateLimit = 5 * time.Second
	// settleLimit bounds finding out what became of a run whose context has ended.
	settleLimit = 15 * time.Second
)

// session is one connection to a target.
type session struct {
	engine engine
	target *target
	label  string
	db     *sql.DB
	conn   *sql.Conn
	lost   bool // the connection can't be used any more
	// Of MySQL and MariaDB.
	id   string // of the connection, on the server
	peer string // address that it leads to
	lock string // name of the lock that it holds; "": none
	// Of SQLite.
	vacuums *bool // an ATTACH of VACUUM's own is let through
}

// stoppedError says that the context or the statement's time ended before the statement did.
type stoppedError struct {
	cause   error
	sent    bool  // false: the engine has seen nothing of the statement
	refused bool  // the engine said that it has ended the statement
	alive   error // why it could not be ended; nil: it was
}

func (e *stoppedError) Error() string {
	if !e.sent {
		return "not sent: " + e.cause.Error()
	}
	if e.alive != nil {
		return e.cause.Error() + "; the statement could not be ended on the server and may go on: " + scheduler.WithoutPlaces(e.alive)
	}
	return e.cause.Error() + "; the statement was ended"
}

func (e *stoppedError) Unwrap() error { return e.cause }

// timeoutError is the target's statement_timeout.
type timeoutError struct{ limit time.Duration }

func (e *timeoutError) Error() string {
	return fmt.Sprintf("the database's statement_timeout of %s is over", e.limit)
}

// guard calls f, which talks to the engine. When ctx ends before f does, or f takes longer than limit (0: any time), the statement
// is ended, and only then guard returns. f gets a context that ends when nothing else has helped. quiet is true where f may return
// nil although its statement was ended.
func (s *session) guard(ctx context.Context, limit time.Duration, quiet bool, f func(context.Context) error) error {
	if ctx.Err() != nil {
		return &stoppedError{cause: context.Cause(ctx)}
	}
	inner, abort := context.WithCancel(context.WithoutCancel(ctx))
	defer abort()
	var (
		done    = make(chan struct{})
		watcher sync.WaitGroup
		over    <-chan time.Time
		why     error // these two are set before the watcher ends
		alive   error
	)
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		over = timer.C
	}
	watcher.Go(func() {
		select {
		case <-done:
			return
		case <-ctx.Done():
			why = context.Cause(ctx)
		case <-over:
			why = &timeoutError{limit}
		}
		alive = s.engine.stop(inner, s, done)
		abort()
	})
	err := f(inner)
	close(done)
	watcher.Wait()
	s.note(err)
	if why != nil && (err != nil || quiet) {
		return &stoppedError{cause: why, sent: true, refused: s.engine.read(err) != nil, alive: alive}
	}
	return err
}

// note remembers that a connection can't be used any more.
func (s *session) note(err error) {
	if err != nil && s.engine.read(err) == nil && !errors.Is(err, sql.ErrNoRows) {
		s.lost = s.lost || s.engine.kind() != SQLite || errors.Is(err, driver.ErrBadConn)
	}
	if r := s.engine.read(err); r != nil && r.fatal {
		s.lost = true
	}
}

// exec sends one statement of the user's and drops its rows.
func (s *session) exec(ctx context.Context, statement *statement) (int64, error) {
	var rows int64
	err := s.guard(ctx, s.target.statementTimeout, statement.quiet, func(ctx context.Context) error {
		result, err := s.conn.ExecContext(ctx, s.engine.sent(s, statement.text))
		if err == nil && statement.counts {
			rows, err = result.RowsAffected()
		}
		return err
	})
	return rows, err
}

// do sends one short statement of this package's own. It may wait for a lock, and is then ended as a statement of the user's is.
func (s *session) do(ctx context.Context, text string, args ...any) (int64, error) {
	var rows int64
	err := s.guard(ctx, 0, false, func(ctx context.Context) error {
		result, err := s.conn.ExecContext(ctx, text, args...)
		if err == nil {
			rows, err = result.RowsAffected()
		}
		return err
	})
	return rows, err
}

// query sends one short statement of this package's own and returns its rows as text, a NULL as an empty string.
func (s *session) query(ctx context.Context, text string, args ...any) (out []map[string]string, err error) {
	defer func() { s.note(err) }()
	rows, err := s.conn.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		values := make([]sql.NullString, len(names))
		into := make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		row := make(map[string]string, len(names))
		for i, name := range names {
			row[name] = values[i].String
		}
		out = append(out, row)
	}
	return out, rows.Err()
}

// value is query for one value; "" also where there is none.
func (s *session) value(ctx context.Context, text string, args ...any) (string, error) {
	rows, err := s.query(ctx, text, args...)
	if err != nil || len(rows) == 0 {
		return "", err
	}
	for _, value := range rows[0] {
		return value, nil
	}
	return "", nil
}

// close ends the session, its transaction and locks before.
func (s *session) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
	defer cancel()
	if !s.lost {
		_, _ = s.conn.ExecContext(ctx, "ROLLBACK")
	}
	_ = s.conn.Close()
	_ = s.db.Close()
}

// leave closes the session, and where its connection is lost makes sure that the engine does not work for it any more.
func (s *session) leave(ctx context.Context) {
	s.close(ctx)
	if !s.lost {
		return
	}
	settle, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleLimit)
	defer cancel()
	_ = s.engine.gone(settle, s)
}

// open connects to the target.
func (t *target) open(ctx context.Context, label string) (*session, error) {
	connecting, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	s, err := t.engine.connect(connecting, t, label)
	switch {
	case err != nil && ctx.Err() != nil:
		err = context.Cause(ctx)
	case err != nil:
		t.reach.Failed(err, errors.New(scheduler.WithoutPlaces(inWords(t.engine, err))))
	}
	if err != nil {
		return nil, fmt.Errorf("connect to database %q: %w", t.name, err)
	}
	t.reach.Succeeded()
	return s, nil
}

// fresh calls f with a short session of its own until it succeeds, the engine refuses for good, or ctx ends.
func (t *target) fresh(ctx context.Context, label string, f func(context.Context, *session) error) error {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		err := t.once(ctx, label, f)
		if err == nil {
			return nil
		}
		if r := t.engine.read(err); r != nil && r.permanent {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}

func (t *target) once(ctx context.Context, label string, f func(context.Context, *session) error) error {
	s, err := t.open(ctx, label)
	if err != nil {
		return err
	}
	defer s.close(ctx)
	return f(ctx, s)
}
