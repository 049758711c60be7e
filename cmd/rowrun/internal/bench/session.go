package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowrun/rowrun/store/session"
)

const (
	// patience bounds each statement; filling and cleaning take the longest.
	patience = 10 * time.Minute
	// manners bounds what should be there at once.
	manners = 30 * time.Second
	// spare connections of the pool, beside those that insert.
	spare = 6
)

// errBusy says that another bench is under way in this database.
var errBusy = errors.New("another rowrun bench runs in this database: wait for its end")

// connect opens the pool and takes the lock.
func (b *Bench) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, manners)
	defer cancel()
	config, err := pgxpool.ParseConfig(b.cfg.DirectURL)
	if err != nil {
		return errors.New("not a connection string") // the parser's words may show parts of it
	}
	config.ConnConfig.RuntimeParams["application_name"] = "rowrun bench"
	config.ConnConfig.RuntimeParams["idle_in_transaction_session_timeout"] = "0" // pinned holds one open
	config.ConnConfig.RuntimeParams["statement_timeout"] = "0"                   // patience bounds statements; the role's may be short
	session.Pin(config.ConnConfig)
	config.MaxConns = int32(max(b.cfg.Writers, b.inserters()) + spare) //nolint:gosec // New has bounded both
	if b.guard, err = pgx.ConnectConfig(ctx, config.ConnConfig.Copy()); err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	const q = `-- bench_lock
SELECT pg_try_advisory_lock(1920298607, 5)`
	var mine bool
	if err := b.guard.QueryRow(ctx, q).Scan(&mine); err != nil {
		b.disconnect(ctx)
		return fmt.Errorf("lock: %w", err)
	}
	if !mine {
		b.disconnect(ctx)
		return errBusy
	}
	if b.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		b.disconnect(ctx)
		return fmt.Errorf("connect: %w", err)
	}
	return nil
}

// disconnect is for the end, also where ctx is over.
func (b *Bench) disconnect(ctx context.Context) {
	if b.pool != nil {
		b.pool.Close()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	// The server lets go of the lock some time after a connection's end; the next bench may be there before.
	_, _ = b.guard.Exec(ctx, `SELECT pg_advisory_unlock_all()`)
	_ = b.guard.Close(ctx) // a connection that won't say goodbye is dropped
}

// exec runs one statement within patience.
func (b *Bench) exec(ctx context.Context, sql string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := b.pool.Exec(ctx, sql, args...)
	return err
}

// ask reads one row within patience.
func (b *Bench) ask(ctx context.Context, sql string, args []any, into ...any) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return b.pool.QueryRow(ctx, sql, args...).Scan(into...)
}

// column reads the only column of a query within patience.
func column[T any](ctx context.Context, b *Bench, sql string, args ...any) ([]T, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	rows, err := b.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[T])
}

// poll asks until ok, for at most within. When something happened is read from rows, not from here.
func poll(ctx context.Context, every, within time.Duration, what string, ok func() (bool, error)) error {
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		done, err := ok()
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline.C:
			return fmt.Errorf("%s: not within %s", what, within)
		case <-tick.C:
		}
	}
}

// wait lets a time pass.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
