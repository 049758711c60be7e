package drill

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// cleaning bounds the removal of what a drill made, also after Ctrl-C.
const cleaning = time.Minute

const cleaningReason = "some runs are canceled, and a task and some rows are deleted"

// leftover is a drill by its task.
type leftover struct {
	Task        int64
	Name, Queue string
}

// Clean removes what drills that were killed have left behind, and returns their names. It fails where a drill is under way.
func Clean(ctx context.Context, c Config) (names []string, err error) {
	d, err := New(c)
	if err != nil {
		return nil, err
	}
	if err := d.connect(ctx); err != nil {
		return nil, err
	}
	defer d.disconnect(ctx)
	d.cfg.ByHand = true // what cleans starts no worker
	if err := d.checkRights(ctx); err != nil {
		return nil, err
	}
	return d.clean(ctx)
}

// clean removes what is left of other drills: this one holds the lock, so none of them goes on.
func (d *Drill) clean(ctx context.Context) (names []string, err error) {
	const q = `-- drill_leftovers
SELECT k.id, k.name, k.queue FROM rowrun.task k
WHERE k.plan_id IS NULL AND k.name ~ '^rowrun_drill_[0-9a-f]{8}$' AND k.labels ->> 'rowrun_drill' = k.name ORDER BY k.id`
	left, err := list[leftover](ctx, d, q)
	if err != nil {
		return nil, fmt.Errorf("look for what other drills left: %w", err)
	}
	for _, l := range left {
		if err := d.remove(ctx, l); err != nil {
			return names, err
		}
		names = append(names, l.Name)
	}
	return names, nil
}

// remove takes away all that carries a drill's name. It goes on where ctx is over.
func (d *Drill) remove(ctx context.Context, l leftover) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleaning)
	defer cancel()
	for _, step := range []func(context.Context, leftover) error{d.removeTask, d.removeWorkers, d.forgetOrphans} {
		if err := step(ctx, l); err != nil {
			return fmt.Errorf("remove what drill %s made (`rowrun drill --clean` tries again): %w", l.Name, err)
		}
	}
	return nil
}

// removeTask ends and deletes a drill's runs and task. A cancel comes first, also of what runs: what was canceled is no failure
// that anybody is told of. Where a replica claims one in between, it begins again.
func (d *Drill) removeTask(ctx context.Context, l leftover) error {
	const cancel = `-- drill_cancel
SELECT count(rowrun.cancel_run(r.id, 'the drill is over')) FROM rowrun.task_run r WHERE r.task_id = $1 AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING')`
	const abandon = `-- drill_abandon
SELECT count(rowrun.abandon_run(r.id, 'the drill is over')) FROM rowrun.task_run r WHERE r.task_id = $1 AND r.status = 'RUNNING'`
	const remove = `-- drill_delete
SELECT rowrun.delete_task(k.id) FROM rowrun.task k WHERE k.id = $1`
	for tries := 0; ; tries++ {
		err := d.exec(ctx, cancel, l.Task)
		if err == nil {
			err = d.exec(ctx, abandon, l.Task)
		}
		if err == nil {
			err = d.exec(ctx, remove, l.Task)
		}
		var refused *pgconn.PgError
		if tries < 100 && errors.As(err, &refused) && (refused.Code == "RR004" || refused.Code == "RR006" || refused.Code == "40P01") {
			continue
		}
		return err
	}
}

// removeWorkers deletes the rows of a drill's workers. Who may not leaves them: the deployment's replicas do within some hours.
func (d *Drill) removeWorkers(ctx context.Context, l leftover) error {
	const q = `-- drill_workers
DELETE FROM rowrun.replica_heartbeat WHERE name LIKE replace($1, '_', '\_') || '\_%' AND types <@ ARRAY[$2::text]`
	return d.whereAllowed(ctx, "rowrun.replica_heartbeat", q, l.Name, Type)
}

// forgetOrphans has no alert go on about runs that are gone, where no replica lives that would look.
func (d *Drill) forgetOrphans(ctx context.Context, _ leftover) error {
	const q = `-- drill_orphans
DELETE FROM rowrun.orphan_type o WHERE o.type = $1
  AND NOT EXISTS (SELECT FROM rowrun.replica_heartbeat h WHERE h.state <> 'DEAD' AND NOT h.worker AND h.last_heartbeat + h.lease > clock_timestamp())`
	return d.whereAllowed(ctx, "rowrun.orphan_type", q, Type)
}

// whereAllowed deletes where the role may.
func (d *Drill) whereAllowed(ctx context.Context, table, sql string, args ...any) error {
	var may bool
	if err := d.ask(ctx, "-- drill_may\nSELECT has_table_privilege($1, 'DELETE')", []any{table}, &may); err != nil || !may {
		return err
	}
	return d.exec(ctx, sql, args...)
}
