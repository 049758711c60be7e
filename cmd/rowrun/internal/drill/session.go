package drill

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
	// manners bounds each statement.
	manners = 30 * time.Second
	// every is how often the drill looks: its figures are as exact.
	every = 100 * time.Millisecond
)

// errBusy says that another drill is under way in this database.
var errBusy = errors.New("another rowrun drill runs in this database: wait for its end")

// connect opens the pool and takes the lock, on a connection of its own: a statement that is given up takes its connection along.
func (d *Drill) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, manners)
	defer cancel()
	config, err := pgxpool.ParseConfig(d.cfg.DirectURL)
	if err != nil {
		return errors.New("not a connection string") // the parser's words may show parts of it
	}
	config.ConnConfig.RuntimeParams["application_name"] = "rowrun drill"
	session.Pin(config.ConnConfig)
	config.MaxConns = 2
	if d.guard, err = pgx.ConnectConfig(ctx, config.ConnConfig.Copy()); err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	const q = `-- drill_lock
SELECT pg_try_advisory_lock(1920298607, 8)`
	var mine bool
	if err := d.guard.QueryRow(ctx, q).Scan(&mine); err != nil {
		d.disconnect(ctx)
		return fmt.Errorf("lock: %w", err)
	}
	if !mine {
		d.disconnect(ctx)
		return errBusy
	}
	if d.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		d.disconnect(ctx)
		return fmt.Errorf("connect: %w", err)
	}
	return nil
}

// disconnect is for the end, also where ctx is over.
func (d *Drill) disconnect(ctx context.Context) {
	if d.pool != nil {
		d.pool.Close()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	// The server ends a session some time after it was asked to: who begins next must not find the lock held.
	_, _ = d.guard.Exec(ctx, "-- drill_unlock\nSELECT pg_advisory_unlock_all()")
	_ = d.guard.Close(ctx) // a connection that won't say goodbye is dropped
}

// exec runs one statement.
func (d *Drill) exec(ctx context.Context, sql string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, manners)
	defer cancel()
	_, err := d.pool.Exec(ctx, sql, args...)
	return err
}

// ask reads one row.
func (d *Drill) ask(ctx context.Context, sql string, args []any, into ...any) error {
	ctx, cancel := context.WithTimeout(ctx, manners)
	defer cancel()
	return d.pool.QueryRow(ctx, sql, args...).Scan(into...)
}

// list reads all rows of a query, by position.
func list[T any](ctx context.Context, d *Drill, sql string, args ...any) ([]T, error) {
	ctx, cancel := context.WithTimeout(ctx, manners)
	defer cancel()
	rows, err := d.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[T])
}

// poll asks until ok or until within is over, which is no error.
func poll(ctx context.Context, within time.Duration, ok func() (bool, error)) (bool, error) {
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		done, err := ok()
		if done || err != nil {
			return done, err
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-deadline.C:
			return false, nil
		case <-tick.C:
		}
	}
}
