package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	gatedSteps  = 50
	gatedWarmUp = 5
)

// gated sends the two statements of a replica for a run that ends and the one that may start then, in one transaction,
// beside a tenth of --runs that are blocked, and beside all of them: versions on up to 100 databases. No
// replica runs; the row of one says that it could.
func (b *Bench) gated(ctx context.Context) ([]*Case, error) {
	few, many := &Case{Name: fmt.Sprintf("%d blocked", b.cfg.Runs/10)}, &Case{Name: fmt.Sprintf("%d blocked", b.cfg.Runs)}
	for range b.cfg.Rounds {
		if err := b.gatedRound(ctx, few, many); err != nil {
			return nil, err
		}
	}
	if a, z := few.figure("promote_p50"), many.figure("promote_p50"); a.Value > 0 {
		many.add("promote_ratio", "×", z.Value/a.Value)
	}
	return []*Case{few, many}, nil
}

func (b *Bench) gatedRound(ctx context.Context, few, many *Case) (err error) {
	conn, err := b.replicaSession(ctx)
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), manners)
		defer cancel()
		_ = conn.Close(closing)
		err = errors.Join(err, b.exec(closing, "-- bench_gated_gone\nDELETE FROM rowrun.replica_heartbeat WHERE replica_id = $1", b.name+"_gated"), b.clear(ctx))
	}()
	const shape = "gated"
	if b.members[shape] == nil {
		const q = `-- bench_gated_tasks
INSERT INTO rowrun.task (type, queue, database_id) SELECT 'NOOP', $1, $1 || '_gated_' || i FROM generate_series(1, $2::int) i RETURNING id`
		if b.members[shape], err = column[int64](ctx, b, q, b.name, min(100, max(1, b.cfg.Runs/100))); err != nil {
			return fmt.Errorf("make tasks: %w", err)
		}
	}
	// Of each database one is AVAILABLE, the others are blocked.
	_, version, err := b.fillDatabases(ctx, shape, b.cfg.Runs/10+len(b.members[shape]), 1)
	if err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	if err := b.steps(ctx, conn, few); err != nil {
		return err
	}
	if _, _, err := b.fillDatabases(ctx, shape, b.cfg.Runs-b.cfg.Runs/10, version+1); err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	return b.steps(ctx, conn, many)
}

// replicaSession is a connection as replicas have them, and a row that says that one serves the queue.
func (b *Bench) replicaSession(ctx context.Context) (*pgx.Conn, error) {
	const row = `-- bench_gated_replica
INSERT INTO rowrun.replica_heartbeat (replica_id, name, last_heartbeat, lease, queues, types, concurrency)
VALUES ($1, $1, now(), interval '1 day', ARRAY[$2], '{NOOP}', 1)`
	if err := b.exec(ctx, row, b.name+"_gated", b.name); err != nil {
		return nil, fmt.Errorf("register: %w", err)
	}
	limited, cancel := context.WithTimeout(ctx, manners)
	defer cancel()
	config := b.pool.Config().ConnConfig
	config.RuntimeParams["jit"], config.RuntimeParams["plan_cache_mode"] = "off", "force_generic_plan"
	config.RuntimeParams["enable_seqscan"] = "off"
	conn, err := pgx.ConnectConfig(limited, config)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return conn, nil
}

// steps ends one run after the other.
func (b *Bench) steps(ctx context.Context, conn *pgx.Conn, c *Case) error {
	if err := b.settle(ctx, conn); err != nil {
		return err
	}
	var promotes, ends []float64
	n := min(gatedSteps, b.cfg.Runs/20)
	for i := range gatedWarmUp + n {
		end, promote, err := b.step(ctx, conn)
		if err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		if i >= gatedWarmUp {
			ends, promotes = append(ends, end), append(promotes, promote)
		}
	}
	c.Runs += gatedWarmUp + n
	c.spread("promote", promotes)
	c.add("end_p50", "ms", percentile(ends, 50))
	return nil
}

// settle promotes what can be promoted and leaves the tables as autovacuum would.
func (b *Bench) settle(ctx context.Context, conn *pgx.Conn) error {
	for idle := false; !idle; {
		promoted, again, err := promote(ctx, conn)
		if err != nil {
			return err
		}
		idle = promoted == 0 && !again
	}
	return b.vacuum(ctx)
}

// promote is the call of a replica's pass. Again: somebody else has the turn, or there is more to judge.
func promote(ctx context.Context, conn *pgx.Conn) (promoted int, again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	const q = `-- bench_promote
SELECT promoted, busy OR more FROM rowrun.promote_runs(false)`
	if err := conn.QueryRow(ctx, q).Scan(&promoted, &again); err != nil {
		return 0, false, fmt.Errorf("promote: %w", err)
	}
	return promoted, again, nil
}

// step takes an AVAILABLE run by hand, and then ends it and promotes the one that follows as a replica does; both in ms.
func (b *Bench) step(ctx context.Context, conn *pgx.Conn) (end, next float64, err error) {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	const take = `-- bench_take
UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = $2
WHERE id = ANY (ARRAY(SELECT id FROM rowrun.task_run WHERE status = 'AVAILABLE' AND queue = $1 AND type = 'NOOP'
    ORDER BY priority DESC, run_at, id LIMIT 1)) RETURNING id`
	var id int64
	if err := conn.QueryRow(limited, take, b.name, b.name+"_gated").Scan(&id); err != nil {
		return 0, 0, fmt.Errorf("take: %w", err)
	}
	begun := time.Now()
	tx, err := conn.Begin(limited)
	if err != nil {
		return 0, 0, fmt.Errorf("end: %w", err)
	}
	defer func() { _ = tx.Rollback(limited) }() // after a commit it does nothing
	const finish = `-- bench_end
UPDATE rowrun.task_run r
SET status = 'DONE', prev_status = 'RUNNING', edited_directly = NULL, finished_at = now.t, updated_at = now.t, claim_hash = NULL
FROM (SELECT clock_timestamp() AS t) now
WHERE r.id = $1 AND coalesce(r.status, '') = 'RUNNING'
RETURNING r.database_id, rowrun.announce(ARRAY[rowrun.transition(r)])`
	var database string
	if err := tx.QueryRow(limited, finish, id).Scan(&database, nil); err != nil {
		return 0, 0, fmt.Errorf("end: %w", err)
	}
	end = milliseconds(begun)
	begun = time.Now()
	const advance = `-- bench_advance
SELECT promoted FROM rowrun.promote_next_version(ARRAY[$1])`
	var promoted int
	if err := tx.QueryRow(limited, advance, database).Scan(&promoted); err != nil {
		return 0, 0, fmt.Errorf("promote: %w", err)
	}
	if err := tx.Commit(limited); err != nil {
		return 0, 0, fmt.Errorf("promote: %w", err)
	}
	for again := true; promoted == 0; { // somebody else was at it
		if !again {
			return 0, 0, errors.New("no run was promoted")
		}
		if promoted, again, err = promote(ctx, conn); err != nil {
			return 0, 0, err
		}
	}
	return end, milliseconds(begun), nil
}

func milliseconds(since time.Time) float64 {
	return float64(time.Since(since)) / float64(time.Millisecond)
}
