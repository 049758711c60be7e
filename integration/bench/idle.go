package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowrun/rowrun/cmd/rowrun/measure"
)

// idle counts what a replica with default flags sends while nothing happens, and what it holds in memory: after its
// start and after a burst. Statements are counted by pg_stat_statements (a contrib module of PostgreSQL's), those that a
// client sent, transactions by the server's own statistics; both are read from another database.
func (b *bench) idle(ctx context.Context) error {
	s, err := b.startServer(ctx, map[string]string{"shared_preload_libraries": "pg_stat_statements", "pg_stat_statements.track": "top"})
	if err != nil {
		return fmt.Errorf("with pg_stat_statements: %w", err)
	}
	defer func() { _ = s.stop() }()
	d, err := b.newDatabase(ctx, s, "idle", true)
	if err != nil {
		return err
	}
	d.close()
	watch, err := b.newDatabase(ctx, s, "watch", false)
	if err != nil {
		return err
	}
	defer watch.close()
	if err := watch.do(ctx, "CREATE EXTENSION pg_stat_statements"); err != nil {
		return err
	}
	r, err := b.serve(ctx, d.url)
	if err != nil {
		return err
	}
	if err := b.watchIdle(ctx, watch, r, "since its start"); err != nil {
		return r.blame(err)
	}
	if err := burst(ctx, d.url, b.scale(5000, 50_000)); err != nil {
		return r.blame(err)
	}
	if err := b.watchIdle(ctx, watch, r, "after a burst"); err != nil {
		return r.blame(err)
	}
	return r.stop()
}

// burst inserts runs and waits for their end.
func burst(ctx context.Context, url string, runs int) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	d := &database{Conn: conn, url: url}
	defer d.close()
	if _, err := d.Exec(ctx, "SELECT rowrun.define_task('burst', 'NOOP')"); err != nil {
		return err
	}
	if _, err := d.Exec(ctx, "INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task, generate_series(1, $1::int)", runs); err != nil {
		return err
	}
	return d.lastDone(ctx)
}

// lag is how late, at most, a session of the server tells what transactions it had: what a burst took must not be counted
// in the quiet that follows.
const lag = 11 * time.Second

// sent is what reached the database so far.
type sent struct{ statements, transactions int64 }

func (b *bench) watchIdle(ctx context.Context, watch *database, r *replica, when string) error {
	settle, window := lag, time.Duration(b.scale(30, 60))*time.Second
	if err := wait(ctx, settle); err != nil {
		return err
	}
	if err := watch.do(ctx, "SELECT pg_stat_statements_reset()"); err != nil {
		return err
	}
	before, err := watch.sent(ctx)
	if err != nil {
		return err
	}
	if err := wait(ctx, window); err != nil {
		return err
	}
	after, err := watch.sent(ctx)
	if err != nil {
		return err
	}
	now, peak, err := measure.Memory(r.pid())
	if err != nil {
		return err
	}
	b.table.row("idle "+when+", for "+window.String(), fmt.Sprintf("%.2f statements/s, %.2f transactions/s",
		float64(after.statements-before.statements)/window.Seconds(),
		float64(after.transactions-before.transactions)/window.Seconds()), "≤ 1 query/s")
	b.table.row("memory "+when, fmt.Sprintf("%.1f MiB resident, %.1f MiB at most", now, peak), "≤ 40 MiB")
	return b.frequent(ctx, watch, window)
}

func (d *database) sent(ctx context.Context) (sent, error) {
	var n sent
	err := d.QueryRow(ctx, `SELECT coalesce((SELECT sum(calls) FROM pg_stat_statements WHERE dbid = b.oid), 0)::bigint,
			(SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datid = b.oid)
		FROM pg_database b WHERE b.datname = 'idle'`).Scan(&n.statements, &n.transactions)
	return n, err
}

// frequent shows what was sent, the most frequent first.
func (b *bench) frequent(ctx context.Context, watch *database, window time.Duration) error {
	rows, err := watch.Query(ctx, `SELECT coalesce(substring(query FROM '^-- ([a-z_]+)'), left(translate(query, E'\n\t', '  '), 40)), sum(calls)::int8
		FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = 'idle') GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 12`)
	if err != nil {
		return err
	}
	var name string
	var calls int64
	_, err = pgx.ForEachRow(rows, []any{&name, &calls}, func() error {
		b.table.row("  "+name, fmt.Sprintf("%.2f/s", float64(calls)/window.Seconds()), "")
		return nil
	})
	return err
}

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
