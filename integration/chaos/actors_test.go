package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

var errRollBack = errors.New("rolled back on purpose")

// act is one client: random statements until ctx ends. What is refused, or lost with a connection, was not acknowledged.
func (w *world) act(ctx context.Context, rnd *rand.Rand) {
	for ctx.Err() == nil {
		step, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
		_ = w.do(step, rnd)
		cancel()
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(rnd.IntN(40)) * time.Millisecond):
		}
	}
}

func (w *world) do(ctx context.Context, rnd *rand.Rand) error {
	plan, task := w.aPlan(rnd)
	switch n := rnd.IntN(100); {
	case n < 36:
		return w.insert(ctx, rnd)
	case n < 37: // once more, by hand
		return w.acknowledge(ctx, "INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id", task)
	case n < 41:
		return w.insertMany(ctx, rnd)
	case n < 44:
		return w.insertAtOnce(ctx, rnd)
	case n < 47:
		return w.insertBurst(ctx)
	case n < 48:
		return w.pauseAtEnd(ctx)
	case n < 54:
		return w.insertKeyed(ctx, rnd)
	case n < 62:
		return w.cancel(ctx, rnd)
	case n < 66:
		return w.acknowledge(ctx, "SELECT rowrun.retry_run($1)", w.known(rnd))
	case n < 76:
		return w.acknowledge(ctx, "SELECT rowrun.run_plan($1)", plan)
	case n < 84:
		return w.acknowledge(ctx, "SELECT rowrun.retry_plan($1)", plan)
	case n < 85:
		return w.exec(ctx, "SELECT rowrun.cancel_plan($1, 'chaos')", plan)
	case n < 87:
		return w.exec(ctx, "SELECT rowrun.skip_task($1, 'chaos')", task)
	case n < 89:
		return w.exec(ctx, "SELECT rowrun.unskip_task($1)", task)
	case n < 92:
		return w.exec(ctx, "UPDATE rowrun.plan SET paused = $2 WHERE id = $1", plan, rnd.IntN(3) == 0)
	case n < 96: // over some hundred acts few tasks stay paused
		return w.exec(ctx, "UPDATE rowrun.task SET paused = $2 WHERE id = $1", anyOf(rnd, task, w.job(rnd), w.job(rnd)), rnd.IntN(2) == 0)
	case n < 98:
		return w.forge(ctx)
	default:
		return w.exec(ctx, "UPDATE rowrun.task SET payload = payload - 'fail' WHERE id = $1", task)
	}
}

func (w *world) exec(ctx context.Context, sql string, args ...any) error {
	_, err := w.pool.Exec(ctx, sql, args...)
	return err
}

// acknowledge remembers the runs that a statement returned: it was committed before it was answered.
func (w *world) acknowledge(ctx context.Context, sql string, args ...any) error {
	rows, err := w.pool.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ids = append(w.ids, ids...)
	return nil
}

func (w *world) insert(ctx context.Context, rnd *rand.Rand) error {
	return w.acknowledge(ctx, "INSERT INTO rowrun.task_run (task_id, run_at, priority) VALUES ($1, now() + $2 * interval '1 ms', $3) RETURNING id",
		w.job(rnd), max(0, rnd.IntN(1600)-800), rnd.IntN(3))
}

// insertAtOnce is several clients that have work for one database in the same moment, so that replicas judge it at the same time.
func (w *world) insertAtOnce(ctx context.Context, rnd *rand.Rand) error {
	var clients sync.WaitGroup
	failed := make([]error, 3)
	for i := range failed {
		task, after := anyOf(rnd, w.alone...), time.Duration(rnd.IntN(4000))*time.Microsecond
		clients.Go(func() {
			<-time.After(after)
			failed[i] = w.acknowledge(ctx, "INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id", task)
		})
	}
	clients.Wait()
	return errors.Join(failed...)
}

// insertBurst is work that every replica, and every worker, wants a part of in the same moment.
func (w *world) insertBurst(ctx context.Context) error {
	return w.acknowledge(ctx, "INSERT INTO rowrun.task_run (task_id) SELECT CASE WHEN n > 4 THEN $1::bigint ELSE $2 END FROM generate_series(1, 12) n RETURNING id", w.jobs[0], w.jobs[outsideJob])
}

// pauseAtEnd pauses a plan while the last of it is under way, until that has ended and for some time more.
func (w *world) pauseAtEnd(ctx context.Context) error {
	if err := w.acknowledge(ctx, "INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id", w.plans[w.long][0]); err != nil {
		return err
	}
	for running := false; !running; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
		if err := w.pool.QueryRow(ctx, "SELECT EXISTS (SELECT FROM rowrun.task_run WHERE plan_id = $1 AND status = 'RUNNING')", w.long).Scan(&running); err != nil {
			return err
		}
	}
	if err := w.exec(ctx, "UPDATE rowrun.plan SET paused = true WHERE id = $1", w.long); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-time.After(time.Second):
	}
	return w.exec(ctx, "UPDATE rowrun.plan SET paused = false WHERE id = $1", w.long)
}

// insertMany is a transaction that lasts, and may be rolled back.
func (w *world) insertMany(ctx context.Context, rnd *rand.Rand) error {
	var ids []int64
	err := pgx.BeginFunc(ctx, w.pool, func(tx pgx.Tx) error {
		for range 1 + rnd.IntN(4) {
			var id int64
			if err := tx.QueryRow(ctx, "INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id", w.job(rnd)).Scan(&id); err != nil {
				return err
			}
			ids = append(ids, id)
		}
		if _, err := tx.Exec(ctx, "SELECT pg_sleep($1)", rnd.Float64()*0.1); err != nil {
			return err
		}
		if rnd.IntN(4) == 0 {
			return errRollBack
		}
		return nil
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err == nil:
		w.ids = append(w.ids, ids...)
	case errors.Is(err, errRollBack):
		w.undone = append(w.undone, ids...)
	}
	return err
}

// insertKeyed asks until it is answered, as a client with an idempotency key does.
func (w *world) insertKeyed(ctx context.Context, rnd *rand.Rand) error {
	task, key := w.jobs[rnd.IntN(2)], fmt.Sprintf("key-%d", rnd.IntN(12))
	for {
		var id int64
		err := w.pool.QueryRow(ctx, "SELECT rowrun.run_task($1::bigint, idempotency_key => $2)", task, key).Scan(&id)
		if err != nil {
			if ctx.Err() != nil {
				return err
			}
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
			continue
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		name := fmt.Sprint(task, " ", key)
		if known := w.keyed[name]; known != 0 && known != id {
			w.canceled[id] = fmt.Sprintf("key %s was answered with run %d before", name, known) // told by the checker
		}
		w.keyed[name] = id
		w.ids = append(w.ids, id)
		return nil
	}
}

// cancel is of a run that is known, or of one that somebody executes.
func (w *world) cancel(ctx context.Context, rnd *rand.Rand) error {
	id := w.known(rnd)
	if rnd.IntN(2) == 0 {
		err := w.pool.QueryRow(ctx, "SELECT id FROM rowrun.task_run WHERE status = 'RUNNING' AND type IN ('HTTP', 'EXT') ORDER BY random() LIMIT 1").Scan(&id)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
	}
	var status string
	if err := w.pool.QueryRow(ctx, "SELECT rowrun.cancel_run($1, 'chaos')", id).Scan(&status); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.canceled[id] == "" {
		w.canceled[id] = status
	}
	return nil
}

// forge sends a result for a run that somebody executes, with a claim that nobody has.
func (w *world) forge(ctx context.Context) error {
	var id int64
	err := w.pool.QueryRow(ctx, "SELECT id FROM rowrun.task_run WHERE status = 'RUNNING' ORDER BY random() LIMIT 1").Scan(&id)
	if err != nil {
		return err
	}
	err = w.exec(ctx, "SELECT rowrun.complete_run($1, gen_random_uuid())", id)
	w.mu.Lock()
	defer w.mu.Unlock()
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Code == "RR002" {
		w.refused++
	}
	if err == nil {
		w.forged = append(w.forged, id)
	}
	return err
}

// job is one of the tasks without a plan.
func (w *world) job(rnd *rand.Rand) int64 { return anyOf(rnd, w.jobs...) }
