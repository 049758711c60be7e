package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/rowrun/rowrun/cmd/rowrun/measure"
)

// rareSweeps leave everything to the wake-ups.
func rareSweeps() []string { return []string{"--sweep-interval", "10m"} }

// latency inserts single rows as psql would, each in a transaction of its own, at a steady rate. What is shown is
// started_at - created_at of the rows; created_at is the time at which the inserting transaction began.
func (b *bench) latency(ctx context.Context) error {
	s, err := b.startServer(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = s.stop() }()
	const rate = 100
	runs := rate * b.scale(10, 30)
	least, err := b.yardstick(ctx, s, rate, runs)
	if err != nil {
		return err
	}
	b.table.row("yardstick: bare NOTIFY and UPDATE at the same rate", spread(least, 50, 95, 99), "")
	for _, stream := range []string{"auto", "off"} {
		d, err := b.newDatabase(ctx, s, "latency_"+stream, true)
		if err != nil {
			return err
		}
		defer d.close()
		r, err := b.serve(ctx, d.url, append(rareSweeps(), "--stream-source", stream)...)
		if err != nil {
			return err
		}
		waits, err := d.startDelays(ctx, rate, runs)
		if err != nil {
			return r.blame(err)
		}
		if err := r.stop(); err != nil {
			return err
		}
		b.table.row(fmt.Sprintf("insert → start, %d/s for %d s, stream %s", rate, runs/rate, onOff(stream)),
			fmt.Sprintf("%s; p50 %.2f × the yardstick", spread(waits, 50, 95, 99), measure.Percentile(waits, 50)/measure.Percentile(least, 50)),
			"p50 < 1 ms, p99 < 5 ms")
	}
	return nil
}

func onOff(stream string) string {
	if stream == "off" {
		return "off"
	}
	return "on"
}

// startDelays inserts runs at a rate per second, after a second of warming up, and returns how long each waited for its
// start, in ms. All must end.
func (d *database) startDelays(ctx context.Context, rate, runs int) ([]float64, error) {
	var task, first int64
	err := d.QueryRow(ctx, "SELECT rowrun.define_task('latency', 'NOOP'), coalesce(max(id), 0) FROM rowrun.task_run").Scan(&task, &first)
	if err != nil {
		return nil, err
	}
	insert := "INSERT INTO rowrun.task_run (task_id) VALUES (" + strconv.FormatInt(task, 10) + ")"
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	for range rate + runs {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
		// As psql sends it: one simple query.
		if _, err := d.PgConn().Exec(ctx, insert).ReadAll(); err != nil {
			return nil, err
		}
	}
	if err := d.allDone(ctx, task, time.Minute); err != nil {
		return nil, err
	}
	return d.numbers(ctx, `SELECT extract(epoch FROM started_at - created_at)::float8 * 1000 FROM rowrun.task_run
		WHERE task_id = $1 AND id > $2 ORDER BY id OFFSET $3`, task, first, rate)
}

// allDone waits until every run of a task is DONE.
func (d *database) allDone(ctx context.Context, task int64, within time.Duration) error {
	return d.done(ctx, within, "WHERE task_id = $1", task)
}

// everyDone waits until every run there is is DONE.
func (d *database) everyDone(ctx context.Context, within time.Duration) error {
	return d.done(ctx, within, "")
}

func (d *database) done(ctx context.Context, within time.Duration, which string, args ...any) error {
	return poll(ctx, within, "every run DONE", func() (bool, error) {
		var left, failed int
		err := d.QueryRow(ctx, `SELECT count(*) FILTER (WHERE status <> 'DONE'), count(*) FILTER (WHERE status IN ('FAILED', 'CANCELED'))
			FROM rowrun.task_run `+which, args...).Scan(&left, &failed)
		if err == nil && failed > 0 {
			err = fmt.Errorf("%d runs failed", failed)
		}
		return left == 0, err
	})
}
