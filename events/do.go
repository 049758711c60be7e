package events

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
)

// request is one call of Do on its way to Run.
type request struct {
	ctx  context.Context
	fn   func(context.Context, *pgx.Conn) error
	done chan error // one slot: Run never waits for the caller
}

// Do runs fn on the listening connection, between two waits for notifications,
// and returns fn's error. fn must be short: it has PingTimeout in all, nothing
// is heard meanwhile, and a statement that is cut off costs the connection. It
// must not keep conn, close it, or leave a transaction open. ErrNotConnected
// means that fn was not called. Do returns ctx's error only if fn was not
// called or ended by it; when Do has returned, fn is not running. Where fn returns
// nil it has had an answer from the server, so that no ping is due.
func (l *Listener) Do(ctx context.Context, fn func(ctx context.Context, conn *pgx.Conn) error) error {
	r := &request{ctx: ctx, fn: fn, done: make(chan error, 1)}
	l.mu.Lock()
	if !l.open {
		l.mu.Unlock()
		return ErrNotConnected
	}
	l.requests = append(l.requests, r)
	if l.interrupt != nil {
		l.interrupt()
	}
	l.mu.Unlock()

	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
	}
	l.mu.Lock()
	i := slices.Index(l.requests, r)
	if i >= 0 {
		l.requests = slices.Delete(l.requests, i, i+1)
	}
	l.mu.Unlock()
	if i >= 0 {
		return ctx.Err()
	}
	return <-r.done
}

// runRequests runs what Do has asked for; answered: one of them went well, so that
// the server is there. An error means that the connection can't be used any more.
func (l *Listener) runRequests(ctx context.Context, k *link) (answered bool, err error) {
	for {
		l.mu.Lock()
		if len(l.requests) == 0 {
			l.mu.Unlock()
			return answered, nil
		}
		r := l.requests[0]
		l.requests = l.requests[1:]
		l.mu.Unlock()

		err := l.runRequest(ctx, k, r)
		r.done <- err
		answered = answered || err == nil
		if unusable := k.usable(); unusable != nil {
			if err != nil {
				return false, fmt.Errorf("%w: %w", unusable, err)
			}
			return false, unusable
		}
	}
}

func (l *Listener) runRequest(ctx context.Context, k *link, r *request) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, l.config.PingTimeout)
	defer cancel()
	defer context.AfterFunc(r.ctx, cancel)()
	return r.fn(ctx, k.conn)
}
