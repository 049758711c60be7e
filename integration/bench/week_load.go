package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	singleRate = 30   // single runs a second
	burstSize  = 1000 // runs at once
	failures   = 20   // runs an hour that fail, each tried three times
	recurring  = 20   // tasks with a schedule
	databases  = 4    // names that versions of plans are ordered by
)

// define makes the tasks. What is lost with a sidecar that is killed is run again.
func (w *simulation) define(ctx context.Context) error {
	err := w.d.QueryRow(ctx, `INSERT INTO rowrun.task (name, type, priority, on_stale) VALUES ('single', 'NOOP', 1, 'RETRY') RETURNING id`).Scan(&w.single)
	if err != nil {
		return err
	}
	if err := w.d.do(ctx,
		`INSERT INTO rowrun.task (name, type, payload, on_stale) VALUES ('burst', 'NOOP', '{"sleep": "1ms"}', 'RETRY')`,
		`INSERT INTO rowrun.task (name, type, payload, max_attempts, retry_delay, on_stale) VALUES ('fails', 'NOOP', '{"fail": "as asked"}', 3, '1 s', 'RETRY')`,
	); err != nil {
		return err
	}
	// From each simulated minute to each hour, and not more often than each second.
	for i := range recurring {
		every := max(time.Second, w.hour()*time.Duration(i+1)/recurring).Round(time.Second)
		if _, err := w.d.Exec(ctx, `INSERT INTO rowrun.task (name, type, payload, on_stale, schedule) VALUES ($1, 'NOOP', '{"sleep": "5ms"}', 'RETRY', $2)`,
			"recurring "+strconv.Itoa(i), "@every "+every.String()); err != nil {
			return err
		}
	}
	return nil
}

// insertSingles inserts single runs at a steady rate, each a transaction of its own, until ctx ends.
func (w *simulation) insertSingles(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, w.d.url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	insert := "INSERT INTO rowrun.task_run (task_id) VALUES (" + strconv.FormatInt(w.single, 10) + ")"
	tick := time.NewTicker(time.Second / singleRate)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if _, err := conn.PgConn().Exec(ctx, insert).ReadAll(); err != nil {
			return err
		}
	}
}

// load is what comes at the beginning of an hour.
func (w *simulation) load(ctx context.Context, hour int) error {
	if err := w.plan(ctx, hour); err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	if err := w.insert(ctx, "fails", failures); err != nil {
		return err
	}
	if hour%6 == 3 {
		return w.insert(ctx, "burst", burstSize)
	}
	return nil
}

func (w *simulation) insert(ctx context.Context, task string, runs int) error {
	_, err := w.d.Exec(ctx, "INSERT INTO rowrun.task_run (task_id) SELECT k.id FROM rowrun.task k, generate_series(1, $2::int) WHERE k.name = $1 AND k.plan_id IS NULL", task, runs)
	return err
}

// plan is a rollout: versions in order on some databases, then a task that waits for all of them.
func (w *simulation) plan(ctx context.Context, hour int) error {
	tasks, after := "", ""
	for i := range databases {
		for version := 1; version <= 3; version++ {
			name := fmt.Sprintf("v%d on %d", version, i)
			tasks += fmt.Sprintf(`{"name": %q, "type": "NOOP", "payload": {"sleep": "2ms"}, "database_id": "week %d", "version": "%d.%d", "on_stale": "RETRY"},`, name, i, hour+1, version)
			if after != "" {
				after += ", "
			}
			after += strconv.Quote(name)
		}
	}
	tasks += `{"name": "report", "type": "NOOP", "on_stale": "RETRY", "depends_on": [` + after + `]}`
	_, err := w.d.Exec(ctx, `SELECT rowrun.run_plan(p) FROM rowrun.create_plan($1, $2::jsonb, parallel_limit => 3) p`, fmt.Sprintf("week, hour %d", hour), "["+tasks+"]")
	return err
}
