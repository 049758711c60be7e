package store

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowrun/rowrun/store/session"
)

// pool hands out connections whose statements find names in pg_catalog only. Behind a pooler in transaction mode a
// setting of the session reaches whatever server process comes next, and others have used that one: there each
// statement comes in a transaction of its own that begins with path and isolation.
type pool struct {
	*pgxpool.Pool
	pooled bool
}

func newPool(ctx context.Context, config *pgxpool.Config, pooled bool) (*pool, error) {
	p, err := pgxpool.NewWithConfig(ctx, config)
	return &pool{p, pooled}, err
}

// transaction completes options for BeginTx, on this pool and on its connections.
func (p *pool) transaction(options pgx.TxOptions) pgx.TxOptions {
	if !p.pooled {
		return options
	}
	return pgx.TxOptions{BeginQuery: session.Begin(options)}
}

func (p *pool) Begin(ctx context.Context) (pgx.Tx, error) { return p.BeginTx(ctx, pgx.TxOptions{}) }

func (p *pool) BeginTx(ctx context.Context, options pgx.TxOptions) (pgx.Tx, error) {
	return p.Pool.BeginTx(ctx, p.transaction(options))
}

func (p *pool) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	if !p.pooled {
		return p.Pool.Exec(ctx, sql, args...)
	}
	var tag pgconn.CommandTag
	err := pgx.BeginFunc(ctx, p, func(tx pgx.Tx) (err error) {
		tag, err = tx.Exec(ctx, sql, args...)
		return err
	})
	return tag, err
}

func (p *pool) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if !p.pooled {
		return p.Pool.Query(ctx, sql, args...)
	}
	tx, err := p.Begin(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, errors.Join(err, tx.Rollback(ctx))
	}
	return &pooledRows{Rows: rows, end: txEnd{ctx: ctx, tx: tx}}, nil
}

func (p *pool) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	if !p.pooled {
		return p.Pool.QueryRow(ctx, sql, args...)
	}
	rows, err := p.Query(ctx, sql, args...)
	return pooledRow{rows, err}
}

func (p *pool) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	if !p.pooled {
		return p.Pool.SendBatch(ctx, b)
	}
	tx, err := p.Begin(ctx)
	if err != nil {
		return failedBatch{err: err}
	}
	return &pooledBatch{BatchResults: tx.SendBatch(ctx, b), end: txEnd{ctx: ctx, tx: tx}}
}

// txEnd ends a transaction once.
type txEnd struct {
	ctx  context.Context //nolint:containedctx // of the one call whose rows are being read
	tx   pgx.Tx
	done bool
	err  error
}

func (e *txEnd) close(err error) {
	if e.done {
		return
	}
	e.done = true
	if err != nil {
		_ = e.tx.Rollback(e.ctx) // why it is rolled back is told
		return
	}
	e.err = e.tx.Commit(e.ctx)
}

type pooledRows struct {
	pgx.Rows
	end txEnd
}

func (r *pooledRows) Next() bool {
	if r.Rows.Next() {
		return true
	}
	r.Close()
	return false
}

func (r *pooledRows) Close() {
	r.Rows.Close()
	r.end.close(r.Rows.Err())
}

func (r *pooledRows) Err() error {
	if err := r.Rows.Err(); err != nil {
		return err
	}
	return r.end.err
}

type pooledRow struct {
	rows pgx.Rows
	err  error
}

func (r pooledRow) Scan(into ...any) error {
	if r.err != nil {
		return r.err
	}
	defer r.rows.Close()
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return err
		}
		return pgx.ErrNoRows
	}
	if err := r.rows.Scan(into...); err != nil {
		return err
	}
	r.rows.Close()
	return r.rows.Err()
}

type pooledBatch struct {
	pgx.BatchResults
	end txEnd
}

func (b *pooledBatch) Close() error {
	err := b.BatchResults.Close()
	b.end.close(err)
	return errors.Join(err, b.end.err)
}

// failedBatch is one that could not be sent.
type failedBatch struct {
	pgx.BatchResults
	err error
}

func (b failedBatch) Close() error { return b.err }
