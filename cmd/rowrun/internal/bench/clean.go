package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// cleaning bounds the removal of what a bench made, also after Ctrl-C.
const cleaning = 30 * time.Minute

// Clean removes what benches that were killed have left behind, and returns
// their names. It fails where a bench is under way.
func Clean(ctx context.Context, c Config) (names []string, err error) {
	b, err := New(c)
	if err != nil {
		return nil, err
	}
	if err := b.connect(ctx); err != nil {
		return nil, err
	}
	defer b.disconnect(ctx)
	if err := b.checkRights(ctx); err != nil {
		return nil, err
	}
	if names, err = b.leftovers(ctx); err != nil {
		return nil, err
	}
	for i, name := range names {
		if err := b.remove(ctx, name); err != nil {
			return names[:i], err
		}
	}
	return names, nil
}

// leftovers are the names of benches whose schema is there.
func (b *Bench) leftovers(ctx context.Context) ([]string, error) {
	const q = `-- bench_leftovers
SELECT n.nspname::text FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = 'bench'
WHERE n.nspname ~ ('^' || $1 || '[0-9a-f]{8}$') ORDER BY 1`
	names, err := column[string](ctx, b, q, prefix)
	if err != nil {
		return nil, fmt.Errorf("look for what other benches left: %w", err)
	}
	return names, nil
}

// remove takes away all that carries a bench's name, its schema last. It goes on where ctx is over.
func (b *Bench) remove(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleaning)
	defer cancel()
	var first int64
	var stream bool
	if err := b.ask(ctx, "-- bench_marker\nSELECT first_run, stream FROM "+name+".bench", nil, &first, &stream); err != nil {
		return fmt.Errorf("read what bench %s was: %w", name, err)
	}
	steps := []func(context.Context) error{
		func(ctx context.Context) error { return b.removeRuns(ctx, name, first) },
		func(ctx context.Context) error { return b.removeDefinitions(ctx, name) },
		func(ctx context.Context) error {
			if !stream {
				return nil
			}
			return b.removeStream(ctx, name)
		},
		func(ctx context.Context) error {
			return b.exec(ctx, "-- bench_replicas\nDELETE FROM rowrun.replica_heartbeat WHERE name LIKE $1", like(name))
		},
		func(ctx context.Context) error { return b.exec(ctx, "DROP SCHEMA "+name+" CASCADE") },
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return fmt.Errorf("remove what bench %s made (`rowrun bench --clean` tries again): %w", name, err)
		}
	}
	return nil
}

// like matches names that begin with a bench's.
func like(name string) string { return name[:6] + `\_` + name[7:12] + `\_` + name[13:] + "%" }

// clear removes the runs of what was measured last and has the tables vacuumed, so that what comes next begins alike.
func (b *Bench) clear(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleaning)
	defer cancel()
	if err := b.removeRuns(ctx, b.name, b.first); err != nil {
		return fmt.Errorf("remove runs: %w", err)
	}
	return b.vacuum(ctx)
}

func (b *Bench) vacuum(ctx context.Context) error {
	if err := b.exec(ctx, "VACUUM (ANALYZE) rowrun.task_run, rowrun.task, rowrun.gate_mark"); err != nil {
		return fmt.Errorf("vacuum: %w", err)
	}
	return nil
}

// removeRuns ends and deletes a bench's runs. No replica of it runs any more; where others promote one in between, or the last
// statement of one that was killed still ends one, it begins again.
func (b *Bench) removeRuns(ctx context.Context, name string, first int64) error {
	const cancel = `-- bench_cancel
UPDATE rowrun.task_run SET status = 'CANCELED' WHERE queue = $1 AND status = 'AVAILABLE'`
	const abandon = `-- bench_abandon
SELECT rowrun.abandon_run(id, 'the bench was interrupted') FROM rowrun.task_run WHERE status = 'RUNNING' AND queue = $1`
	for tries := 0; ; tries++ {
		err := b.exec(ctx, cancel, name)
		if err == nil {
			err = b.exec(ctx, abandon, name)
		}
		if err == nil {
			err = b.deleteRuns(ctx, name, first)
		}
		var refused *pgconn.PgError
		if tries < 100 && errors.As(err, &refused) && (refused.Code == "RR004" || refused.Code == "RR006") {
			continue
		}
		return err
	}
}

// deleteRuns deletes a bench's runs in batches, in the order of their ids.
func (b *Bench) deleteRuns(ctx context.Context, name string, first int64) error {
	const q = `-- bench_remove
WITH gone AS (
    DELETE FROM rowrun.task_run WHERE id = ANY (ARRAY(
        SELECT id FROM rowrun.task_run WHERE id > $1 AND queue = $2 ORDER BY id LIMIT 5000))
    RETURNING id
)
SELECT coalesce(max(id), 0) FROM gone`
	for {
		var last int64
		if err := b.ask(ctx, q, []any{first, name}, &last); err != nil {
			return err
		}
		if last == 0 {
			return nil
		}
		first = last
	}
}

// removeDefinitions deletes a bench's tasks, plans and marks.
func (b *Bench) removeDefinitions(ctx context.Context, name string) error {
	// Each task that goes has the table of runs read once: the fewer pages the better.
	if err := b.vacuum(ctx); err != nil {
		return err
	}
	plans, err := column[int64](ctx, b, "-- bench_plan_ids\nSELECT id FROM rowrun.plan WHERE project = $1", name)
	if err != nil {
		return err
	}
	tasks, err := column[int64](ctx, b, "-- bench_task_ids\nSELECT id FROM rowrun.task WHERE queue = $1", name)
	if err != nil {
		return err
	}
	if err := b.exec(ctx, "-- bench_remove_tasks\nDELETE FROM rowrun.task WHERE id = ANY ($1)", tasks); err != nil {
		return err
	}
	if err := b.exec(ctx, "-- bench_remove_plans\nDELETE FROM rowrun.plan WHERE id = ANY ($1)", plans); err != nil {
		return err
	}
	const marks = `-- bench_remove_marks
DELETE FROM rowrun.gate_mark WHERE task_id = ANY ($1) OR plan_id = ANY ($2) OR database_id LIKE $3`
	return b.exec(ctx, marks, tasks, plans, like(name))
}

// removeStream forgets the stream that a bench's replicas wrote: nobody had written one before. Where somebody began
// to meanwhile, it is theirs.
func (b *Bench) removeStream(ctx context.Context, name string) error {
	const others = `-- bench_stream_others
SELECT EXISTS (SELECT FROM rowrun.replica_heartbeat WHERE state <> 'DEAD' AND last_heartbeat + lease > clock_timestamp() AND name NOT LIKE $1)`
	var taken bool
	if err := b.ask(ctx, others, []any{like(name)}, &taken); err != nil || taken {
		return err
	}
	const slot = `-- bench_slot
SELECT l.slot_name::text, l.active FROM rowrun.deployment d
JOIN pg_catalog.pg_replication_slots l ON l.slot_name = 'rowrun_stream_' || left(d.id::text, 8) AND l.database = current_database()`
	err := poll(ctx, 20*time.Millisecond, manners, "the stream's slot is let go", func() (bool, error) {
		var found string
		var active bool
		err := b.ask(ctx, slot, nil, &found, &active)
		if errors.Is(err, pgx.ErrNoRows) {
			return true, nil
		}
		if err != nil || active {
			return false, err // the server notices the end of a killed replica in its own time
		}
		return true, b.exec(ctx, "-- bench_drop_slot\nSELECT pg_drop_replication_slot($1)", found)
	})
	if err != nil {
		return err
	}
	if err := b.exec(ctx, "-- bench_forget_positions\nWITH left_behind AS (DELETE FROM rowrun.stream_handover) DELETE FROM rowrun.stream_position"); err != nil {
		return err
	}
	return b.exec(ctx, "-- bench_forget_writer\nUPDATE rowrun.deployment SET stream_replica_id = NULL WHERE stream_replica_id IS NOT NULL")
}
