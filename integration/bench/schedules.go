package main

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// schedules has recurring tasks due in the same second, and measures when the last of their runs was started and when
// each had its next; a second time beside many schedules at rest.
func (b *bench) schedules(ctx context.Context) error {
	const due = 10_000
	s, err := b.startServer(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = s.stop() }()
	for i, c := range []struct{ rest, concurrency int }{{0, 20}, {0, riverWorkers}, {b.scale(20_000, 1_000_000), 20}} {
		started, next, twice, err := b.dueAtOnce(ctx, s, "schedules_"+strconv.Itoa(i), c.rest, due, c.concurrency)
		if err != nil {
			return fmt.Errorf("%d at rest, --concurrency %d: %w", c.rest, c.concurrency, err)
		}
		b.table.row(fmt.Sprintf("%d due at once, %d at rest, --concurrency %d", due, c.rest, c.concurrency),
			fmt.Sprintf("last start %.2f s after the tick, each has its next after %.2f s; %d ticks started twice", started, next, twice), "≤ 3 s, 0")
	}
	return nil
}

func (b *bench) dueAtOnce(ctx context.Context, s *server, name string, rest, due, concurrency int) (started, next float64, twice int, err error) {
	d, err := b.newDatabase(ctx, s, name, true)
	if err != nil {
		return 0, 0, 0, err
	}
	defer d.close()
	if err := d.fill(ctx, `INSERT INTO rowrun.task (type, schedule, starts_at)
		SELECT 'NOOP', '@every 1h', now() + interval '1 year' + n * interval '1 ms' FROM generate_series(1, $1::int) n`, rest); err != nil {
		return 0, 0, 0, err
	}
	r, err := b.serve(ctx, d.url, "--concurrency", strconv.Itoa(concurrency))
	if err != nil {
		return 0, 0, 0, err
	}
	defer func() {
		if stopped := r.stop(); err == nil {
			err = stopped
		}
	}()
	// One insert takes some seconds; the tick comes after it.
	if err := d.fill(ctx, `INSERT INTO rowrun.task (name, type, schedule, starts_at)
		SELECT 'due ' || n, 'NOOP', '@every 1h', date_trunc('second', now()) + interval '20 s' FROM generate_series(1, $1::int) n`, due); err != nil {
		return 0, 0, 0, err
	}
	var late bool
	if err := d.QueryRow(ctx, `SELECT clock_timestamp() > max(starts_at) FROM rowrun.task WHERE name <> ''`).Scan(&late); err != nil {
		return 0, 0, 0, err
	}
	if late {
		return 0, 0, 0, fmt.Errorf("the tasks were inserted too late for their tick")
	}
	err = poll(ctx, 2*time.Minute, "the next runs", func() (bool, error) {
		var more int
		err := d.QueryRow(ctx, `SELECT count(*) FROM rowrun.task_run WHERE status = 'PENDING' AND tick > now() AND tick < now() + interval '2 hours'
			AND id > (SELECT max(r.id) FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id AND r.tick = k.starts_at WHERE k.name <> '')`).Scan(&more)
		return more == due, err
	})
	if err != nil {
		return 0, 0, 0, err
	}
	err = d.QueryRow(ctx, `SELECT extract(epoch FROM max(r.started_at) - max(r.tick))::float8, extract(epoch FROM max(n.created_at) - max(r.tick))::float8,
			count(*) - count(DISTINCT r.task_id)
		FROM rowrun.task k JOIN rowrun.task_run r ON r.task_id = k.id AND r.tick = k.starts_at
		JOIN rowrun.task_run n ON n.task_id = k.id AND n.tick = k.starts_at + interval '1 hour'
		WHERE k.name <> ''`).Scan(&started, &next, &twice)
	return started, next, twice, err
}
