package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rowrun/rowrun/cmd/rowrun/measure"
)

// shape is a way in which runs are blocked. fill makes $1 tasks and a run of each; advances: a replica promotes the next
// in the transaction that ends the one before.
type shape struct {
	name     string
	advances bool
	fill     string
}

const insertRuns = "; INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task ORDER BY id"

func shapes() []shape {
	return []shape{
		{"1,000 databases × versions", true, `
			INSERT INTO rowrun.task (type, database_id, version)
			SELECT 'NOOP', 'db' || i % 1000, (i / 1000 + 1)::text FROM generate_series(0, $1::int - 1) i` + insertRuns},
		{"one plan with a limit", false, `
			WITH p AS (INSERT INTO rowrun.plan (parallel_limit) VALUES (1) RETURNING id)
			INSERT INTO rowrun.task (plan_id, type) SELECT p.id, 'NOOP' FROM p, generate_series(1, $1::int)` + insertRuns},
		{"one database of versions", true, `
			INSERT INTO rowrun.task (type, database_id, version)
			SELECT 'NOOP', 'db', i::text FROM generate_series(1, $1::int) i` + insertRuns},
		// A chain that is long enough for every step that is measured; all others wait for its end.
		{"dependencies", false, `
			WITH p AS (INSERT INTO rowrun.plan DEFAULT VALUES RETURNING id)
			INSERT INTO rowrun.task (plan_id, type) SELECT p.id, 'NOOP' FROM p, generate_series(1, $1::int) ORDER BY 1;
			INSERT INTO rowrun.task_dependency (task_id, depends_on_id)
			SELECT id, least(id - 1, 1000) FROM rowrun.task WHERE id > 1` + insertRuns},
		{"one limit", false, `INSERT INTO rowrun.concurrency_limit (name, max_running) VALUES ('one', 1)` + insertKeys(1)},
		{"1,000 keys of a limit", false, `INSERT INTO rowrun.concurrency_limit (name, key_path, max_running) VALUES ('keys', '{key}', 1)` + insertKeys(1000)},
		{"1,000 keys that take turns", false, `INSERT INTO rowrun.concurrency_limit (name, key_path, share) VALUES ('turns', '{key}', 'FAIR')` + insertKeys(1000)},
	}
}

// insertKeys makes a task and $1 runs of it, with so many keys.
func insertKeys(keys int) string {
	return fmt.Sprintf(`;
		INSERT INTO rowrun.task (type) VALUES ('NOOP');
		INSERT INTO rowrun.task_run (task_id, input) SELECT k.id, jsonb_build_object('key', n %% %d) FROM rowrun.task k, generate_series(1, $1::int) n`, keys)
}

// blocked measures the two statements that a replica sends for one run that ends and the one that follows it: end_runs
// and promote_runs, each with its commit; where versions follow each other, the plain end and promote_next_version in one
// transaction. On one connection with a replica's session settings. No replica runs; the row of one says that it could.
func (b *bench) blocked(ctx context.Context) error {
	few, many := 10_000, b.scale(50_000, 1_000_000)
	steps := b.scale(200, 500)
	for i, sh := range shapes() {
		if !strings.Contains(sh.name, b.shape) {
			continue
		}
		var both [2][]float64
		for j, n := range []int{few, many} {
			ends, promotes, err := b.steps(ctx, sh, fmt.Sprintf("blocked_%d_%d", i, j), n, steps)
			if err != nil {
				return fmt.Errorf("%s, %d: %w", sh.name, n, err)
			}
			both[j] = promotes
			b.table.row(fmt.Sprintf("%s, %d blocked", sh.name, n),
				fmt.Sprintf("promote %s; end %s", spread(promotes, 50, 95), spread(ends, 50, 95)), "promote p50 < 2 ms")
		}
		b.table.row(sh.name+", ratio", fmt.Sprintf("promote p50 %.2f ×", measure.Median(both[1])/measure.Median(both[0])), "≤ 2 ×")
	}
	return nil
}

// steps ends one run after the other, in ms.
func (b *bench) steps(ctx context.Context, sh shape, name string, n, steps int) (ends, promotes []float64, err error) {
	s, err := b.startServer(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = s.stop() }()
	d, err := b.newDatabase(ctx, s, name, true)
	if err != nil {
		return nil, nil, err
	}
	defer d.close()
	const replica = `INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease, types, concurrency)
		VALUES ('bench', now(), '1 day', '{NOOP}', 1)`
	if err := d.do(ctx, replica, "SET jit = off", "SET plan_cache_mode = force_generic_plan"); err != nil {
		return nil, nil, err
	}
	if err := d.fill(ctx, sh.fill, n); err != nil {
		return nil, nil, err
	}
	if err := d.settle(ctx); err != nil {
		return nil, nil, err
	}
	if err := d.do(ctx, "SET enable_seqscan = off"); err != nil {
		return nil, nil, err
	}
	const warmUp = 10
	for i := range warmUp + steps {
		end, promote, err := d.step(ctx, "default", sh.advances)
		if err != nil {
			return nil, nil, fmt.Errorf("step %d: %w", i, err)
		}
		if i >= warmUp {
			ends, promotes = append(ends, end), append(promotes, promote)
		}
	}
	return ends, promotes, nil
}

// step takes an AVAILABLE run of a queue as a person would by hand, and then ends it and promotes the one that follows as a replica does.
func (d *database) step(ctx context.Context, queue string, advances bool) (end, promote float64, err error) {
	var id int64
	var target *string
	err = d.QueryRow(ctx, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'bench'
		WHERE id = ANY (ARRAY(SELECT id FROM rowrun.task_run WHERE status = 'AVAILABLE' AND queue = $1 AND type = 'NOOP'
			ORDER BY priority DESC, run_at, id LIMIT 1)) RETURNING id, database_id`, queue).Scan(&id, &target)
	if err != nil {
		return 0, 0, fmt.Errorf("claim: %w", err)
	}
	var promoted int
	if advances {
		end, promote, promoted, err = d.advance(ctx, id, target)
	} else {
		end, promote, promoted, err = d.endAndPromote(ctx, id)
	}
	if err == nil && promoted != 1 {
		err = fmt.Errorf("%d runs were promoted instead of 1", promoted)
	}
	return end, promote, err
}

func (d *database) endAndPromote(ctx context.Context, id int64) (end, promote float64, promoted int, err error) {
	begun := time.Now()
	var ended int64
	err = d.QueryRow(ctx, `SELECT run_id FROM rowrun.end_runs(ARRAY[$1::bigint], '{NULL}'::uuid[], '{DONE}', '{"{}"}'::jsonb[], '{NONE}')`,
		id).Scan(&ended)
	if err != nil {
		return 0, 0, 0, fmt.Errorf("end: %w", err)
	}
	end = ms(begun)
	begun = time.Now()
	if err := d.QueryRow(ctx, "SELECT promoted FROM rowrun.promote_runs(false)").Scan(&promoted); err != nil {
		return 0, 0, 0, fmt.Errorf("promote: %w", err)
	}
	return end, ms(begun), promoted, nil
}

// advance ends a run as end_plain_runs does, and promotes the next; the commit counts with the promotion.
func (d *database) advance(ctx context.Context, id int64, target *string) (end, promote float64, promoted int, err error) {
	begun := time.Now()
	tx, err := d.Begin(ctx)
	if err != nil {
		return 0, 0, 0, fmt.Errorf("end: %w", err)
	}
	defer func() { _ = tx.Rollback(ctx) }() // after a commit it does nothing
	var ended int
	err = tx.QueryRow(ctx, `WITH done AS (
			UPDATE rowrun.task_run r
			SET status = 'DONE', prev_status = 'RUNNING', edited_directly = NULL, finished_at = now.t, updated_at = now.t, claim_hash = NULL, result = '{}'
			FROM (SELECT clock_timestamp() AS t) now
			WHERE r.id = $1 AND coalesce(r.status, '') = 'RUNNING' AND num_nonnulls(r.plan_id, r.tick) = 0
			RETURNING rowrun.transition(r) AS item)
		SELECT count(*), rowrun.announce(array_agg(item)) FROM done`, id).Scan(&ended, nil)
	if err == nil && ended != 1 {
		err = fmt.Errorf("run %d was not RUNNING", id)
	}
	if err != nil {
		return 0, 0, 0, fmt.Errorf("end: %w", err)
	}
	end = ms(begun)
	begun = time.Now()
	err = tx.QueryRow(ctx, "SELECT promoted FROM rowrun.promote_next_version(ARRAY[$1::text])", target).Scan(&promoted)
	if err == nil {
		err = tx.Commit(ctx)
	}
	if err != nil {
		return 0, 0, 0, fmt.Errorf("promote: %w", err)
	}
	return end, ms(begun), promoted, nil
}

func ms(since time.Time) float64 { return float64(time.Since(since)) / float64(time.Millisecond) }
