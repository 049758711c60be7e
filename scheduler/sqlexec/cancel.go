package sqlexec

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// cancelLimit is how long a statement may take to obey a cancel request.
	cancelLimit = 9 * time.Second
	// cancelEvery is how often it is asked: a request that reaches the server
	// before the statement does is lost.
	cancelEvery = 500 * time.Millisecond
	// terminateLimit bounds what comes after: ending the backend from another connection.
	terminateLimit = 5 * time.Second
	// settleLimit and settleAfterEnd bound finding out what became of a run: in
	// all, and since its context ended.
	settleLimit    = 30 * time.Second
	settleAfterEnd = 10 * time.Second
)

const terminateBackend = `-- rowrun_terminate
SELECT pg_catalog.pg_terminate_backend(pid)
  FROM pg_catalog.pg_stat_activity
 WHERE pid = $1::int AND extract(epoch FROM backend_start)::text = $2`

// stoppedError says that the context ended before a statement did.
type stoppedError struct {
	cause error
	sent  bool // false: the server has seen nothing of the statement
}

func (e *stoppedError) Error() string {
	if !e.sent {
		return "not sent: " + e.cause.Error()
	}
	return e.cause.Error() + "; the connection was closed"
}

func (e *stoppedError) Unwrap() error { return e.cause }

// guard calls f, which talks to the server. When ctx ends before f does, the
// statement is ended on the server, and only then guard returns. f gets a context
// that ends when nothing else has helped.
func (s *session) guard(ctx context.Context, f func(context.Context) error) error {
	if ctx.Err() != nil {
		return &stoppedError{cause: context.Cause(ctx)}
	}
	inner, abort := context.WithCancel(context.WithoutCancel(ctx))
	defer abort()
	var (
		done    = make(chan struct{})
		watcher sync.WaitGroup
	)
	watcher.Go(func() {
		select {
		case <-done:
		case <-ctx.Done():
			s.end(inner, done)
			abort()
		}
	})
	err := f(inner)
	close(done)
	watcher.Wait()
	if err != nil && ctx.Err() != nil && !isServers(err) {
		return &stoppedError{cause: context.Cause(ctx), sent: true}
	}
	return err
}

// isServers is true for an error that the server sent.
func isServers(err error) bool {
	var server *pgconn.PgError
	return errors.As(err, &server)
}

// end ends the running statement on the server.
func (s *session) end(ctx context.Context, done <-chan struct{}) {
	polite, cancel := context.WithTimeout(ctx, cancelLimit)
	defer cancel()
	for polite.Err() == nil {
		_ = s.conn.CancelRequest(polite)
		select {
		case <-done:
			return
		case <-polite.Done():
		case <-time.After(cancelEvery):
		}
	}
	forced, cancel := context.WithTimeout(ctx, terminateLimit)
	defer cancel()
	_ = s.gone(forced)
}

// gone returns nil once the session's backend is not there any more, after asking
// it to end: what it did is then decided. It looks once, and later gives the same answer.
func (s *session) gone(ctx context.Context) error {
	if !s.sought {
		s.sought = true
		s.soughtErr = s.terminate(ctx)
	}
	return s.soughtErr
}

func (s *session) terminate(ctx context.Context) error {
	if s.pid == "" {
		return nil // it never got as far as a statement of the run
	}
	return s.target.fresh(ctx, s.name+" end", func(ctx context.Context, other *session) error {
		for {
			rows, err := other.query(ctx, terminateBackend, s.pid, s.backendStart)
			if err != nil || len(rows) == 0 {
				return err
			}
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(50 * time.Millisecond):
			}
		}
	})
}

// settleContext is for finding out what became of a run, for a while also after
// its own context has ended.
func settleContext(ctx context.Context) (context.Context, context.CancelFunc) {
	settle, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleLimit)
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-settle.Done():
		case <-time.After(settleAfterEnd):
			cancel()
		}
	})
	return settle, func() { stop(); cancel() }
}

// mayPass is true for errors that another try with a new connection may not meet.
func mayPass(err error) bool {
	var server *pgconn.PgError
	if !errors.As(err, &server) {
		return true
	}
	switch {
	case len(server.Code) != 5:
		return false
	case server.Code == "40001", server.Code == "40P01":
		return true
	}
	switch server.Code[:2] {
	case "08", "53", "57":
		return true
	}
	return false
}
