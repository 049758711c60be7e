package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowrun/rowrun/cmd/rowrun/measure"
)

const hours = 24 // of a day

// simulation is a deployment that lives for some simulated days.
type simulation struct {
	b        *bench
	d        *database
	day      time.Duration
	single   int64               // the task of single runs
	replicas map[string]*replica // steady, restarted, killed
	told     int64               // single runs up to this id were looked at
	next     int64               // and up to this one next time: by then they have started

	memory, connections, dead, waits []float64 // of the day under way
	drawn                            int64     // ids of runs so far
}

// week has three sidecars: one that is never restarted, one that is replaced twice a day, and one that is killed once a day. In
// 24 hours of a simulated day come single runs at a steady rate, ticks of schedules, a plan and failing runs each hour, and four
// bursts. Retention is half a day, and a day for what failed. At its end no run may be lost, and judgeWeek has the last word.
func (b *bench) week(ctx context.Context) (err error) {
	// Autovacuum wakes each simulated minute too.
	s, err := b.startServer(ctx, map[string]string{"autovacuum_naptime": "1s"})
	if err != nil {
		return err
	}
	defer func() { _ = s.stop() }()
	d, err := b.newDatabase(ctx, s, "week", true)
	if err != nil {
		return err
	}
	defer d.close()
	w := &simulation{b: b, d: d, day: b.day, replicas: map[string]*replica{}}
	defer func() {
		for _, r := range w.replicas {
			r.kill() // those that were stopped have ended
		}
	}()
	if err := w.define(ctx); err != nil {
		return err
	}
	for _, name := range []string{"steady", "restarted", "killed"} {
		if err := w.start(ctx, name); err != nil {
			return err
		}
	}
	days, err := w.live(ctx, b.days)
	if err != nil {
		return err
	}
	if err := w.finish(ctx); err != nil {
		return err
	}
	w.show(days)
	if grown := judgeWeek(days); len(grown) > 0 {
		return errors.New("grown:\n  " + strings.Join(grown, "\n  "))
	}
	return nil
}

// hour is a simulated one.
func (w *simulation) hour() time.Duration { return w.day / hours }

// start starts a sidecar. Leases and sweeps are the shortest that make sense, not a sixtieth.
func (w *simulation) start(ctx context.Context, name string) error {
	r, err := w.b.launch(w.d.url, nil, "--replica-name", name, "--log-level", "warn",
		"--heartbeat-interval", "500ms", "--stale-after", "2s", "--stale-sweep-interval", "1s", "--sweep-interval", "1s",
		"--retention", (w.day / 2).String(), "--retention-failed", w.day.String(), "--cleanup-interval", max(w.hour(), 500*time.Millisecond).String())
	if err != nil {
		return err
	}
	w.replicas[name] = r
	return poll(ctx, time.Minute, "sidecar "+name, func() (ok bool, err error) {
		select {
		case <-r.exited:
			return false, r.blame(errors.New("it ended"))
		default:
		}
		err = w.d.QueryRow(ctx, `SELECT EXISTS (SELECT FROM rowrun.replica_status h WHERE h.name = $1 AND h.live AND h.state = 'ACTIVE' AND h.wake_source <> '')`, name).Scan(&ok)
		return ok, err
	})
}

// live lets the days pass.
func (w *simulation) live(ctx context.Context, days int) (all []dayFigures, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	inserted := make(chan struct{})
	defer func() {
		cancel(nil)
		<-inserted
	}()
	go func() {
		defer close(inserted)
		if err := w.insertSingles(ctx); err != nil && ctx.Err() == nil {
			cancel(fmt.Errorf("single runs: %w", err))
		}
	}()
	begun := time.Now()
	for hour := range days * hours {
		if err := wait(ctx, time.Until(begun.Add(time.Duration(hour)*w.hour()))); err != nil {
			return nil, context.Cause(ctx)
		}
		if err := w.pass(ctx, hour); err != nil {
			return nil, fmt.Errorf("day %d, hour %d: %w", hour/hours+1, hour%hours, err)
		}
		if hour%hours < hours-1 {
			continue
		}
		if err := wait(ctx, time.Until(begun.Add(time.Duration(hour+1)*w.hour()))); err != nil {
			return nil, context.Cause(ctx)
		}
		figures, err := w.close(ctx)
		if err != nil {
			return nil, fmt.Errorf("end of day %d: %w", hour/hours+1, err)
		}
		all = append(all, figures)
		_, _ = fmt.Fprintf(w.b.table.out, "  day %d is over: %d runs\n", len(all), figures.runs)
	}
	return all, nil
}

// pass is an hour: what comes in it, and a look.
func (w *simulation) pass(ctx context.Context, hour int) error {
	if err := w.load(ctx, hour); err != nil {
		return err
	}
	switch hour % hours {
	case 6, 18:
		if err := w.replicas["restarted"].stop(); err != nil {
			return err
		}
		if err := w.start(ctx, "restarted"); err != nil {
			return err
		}
	case 12:
		w.replicas["killed"].kill()
		if err := w.start(ctx, "killed"); err != nil {
			return err
		}
	}
	return w.look(ctx)
}

// look takes what is taken each hour.
func (w *simulation) look(ctx context.Context) error {
	now, _, err := measure.Memory(w.replicas["steady"].pid())
	if err != nil {
		return w.replicas["steady"].blame(err)
	}
	var connections, dead float64
	const q = `SELECT (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'rowrun%')::float8,
		(SELECT coalesce(sum(n_dead_tup), 0) FROM pg_stat_user_tables WHERE schemaname = 'rowrun')::float8`
	if err := w.d.QueryRow(ctx, q).Scan(&connections, &dead); err != nil {
		return err
	}
	w.memory, w.connections, w.dead = append(w.memory, now), append(w.connections, connections), append(w.dead, dead)
	return w.starts(ctx)
}

// starts reads how long single runs waited, of those that had an hour to start.
func (w *simulation) starts(ctx context.Context) error {
	waits, err := w.d.numbers(ctx, `SELECT extract(epoch FROM started_at - created_at)::float8 * 1000 FROM rowrun.task_run
		WHERE task_id = $1 AND id > $2 AND id <= $3 AND attempt = 0 AND started_at IS NOT NULL`, w.single, w.told, w.next)
	if err != nil {
		return err
	}
	w.waits, w.told = append(w.waits, waits...), w.next
	return w.d.QueryRow(ctx, "SELECT coalesce(max(id), 0) FROM rowrun.task_run").Scan(&w.next)
}

// close ends a day.
func (w *simulation) close(ctx context.Context) (f dayFigures, err error) {
	if err := w.look(ctx); err != nil {
		return f, err
	}
	f.memory, f.connections, f.dead = measure.Median(w.memory), slices.Max(w.connections), measure.Median(w.dead)
	f.p50, f.p99 = measure.Percentile(w.waits, 50), measure.Percentile(w.waits, 99)
	w.memory, w.connections, w.dead, w.waits = nil, nil, nil, nil
	const q = `SELECT pg_relation_size('rowrun.task_run') / 1048576.0::float8, pg_indexes_size('rowrun.task_run') / 1048576.0::float8,
		(SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c WHERE c.relnamespace = 'rowrun'::regnamespace AND c.relkind = 'r') / 1048576.0::float8,
		(SELECT last_value FROM rowrun.task_run_id_seq)`
	var last int64
	if err := w.d.QueryRow(ctx, q).Scan(&f.table, &f.indexes, &f.schema, &last); err != nil {
		return f, err
	}
	f.runs, w.drawn = last-w.drawn, last
	return f, nil
}

// finish stops the schedules, waits for what runs, and looks that nothing was lost on the way.
func (w *simulation) finish(ctx context.Context) error {
	if err := w.d.do(ctx, "UPDATE rowrun.task SET paused = true WHERE schedule IS NOT NULL"); err != nil {
		return err
	}
	err := poll(ctx, 2*time.Minute, "the end of all runs", func() (bool, error) {
		var left int
		err := w.d.QueryRow(ctx, `SELECT count(*) FROM rowrun.task_run WHERE status IN ('PENDING', 'AVAILABLE', 'RUNNING') AND tick IS NULL`).Scan(&left)
		return left == 0, err
	})
	if err != nil {
		return err
	}
	for _, r := range w.replicas {
		if err := r.stop(); err != nil {
			return err
		}
	}
	rows, err := w.d.Query(ctx, `SELECT task || ': ' || coalesce(detail, '') FROM rowrun.failed_run WHERE task <> 'fails' LIMIT 5`)
	if err != nil {
		return err
	}
	lost, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err == nil && len(lost) > 0 {
		err = fmt.Errorf("runs failed that should not: %s", strings.Join(lost, "; "))
	}
	return err
}

// show writes the table as docs/benchmarks.md has it.
func (w *simulation) show(days []dayFigures) {
	out := w.b.table.out
	_, _ = fmt.Fprintf(out, "\n%d days of %s\n\n| day | runs | memory MiB | connections | task_run MiB | its indexes MiB | schema MiB | dead rows | start p50 ms | start p99 ms |\n|---|---|---|---|---|---|---|---|---|---|\n", len(days), w.day)
	for i, d := range days {
		_, _ = fmt.Fprintf(out, "| %d | %d | %.1f | %.0f | %.1f | %.1f | %.1f | %.0f | %.2f | %.1f |\n",
			i+1, d.runs, d.memory, d.connections, d.table, d.indexes, d.schema, d.dead, d.p50, d.p99)
	}
	limits := make([]string, 0, len(bounds()))
	for _, b := range bounds() {
		limits = append(limits, b.String())
	}
	_, _ = fmt.Fprintf(out, "\nAccepted, the later half of days against the earlier one: %s.\n", strings.Join(limits, "; "))
}
