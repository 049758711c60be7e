package main

import (
	"context"
	"fmt"

	"github.com/rowrun/rowrun/cmd/rowrun/measure"
)

// others measures latency and drain in two databases of one server, in turn: one of them also holds many AVAILABLE
// runs of a type that no replica has.
func (b *bench) others(ctx context.Context) error {
	s, err := b.startServer(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = s.stop() }()
	crowd := b.scale(100_000, 1_000_000)
	type measured struct {
		*database
		about       string
		rate, waits []float64
	}
	var both [2]*measured
	for i, about := range []string{"alone", fmt.Sprintf("beside %d runs of a type that nobody has", crowd)} {
		d, err := b.newDatabase(ctx, s, fmt.Sprintf("others_%d", i), true)
		if err != nil {
			return err
		}
		defer d.close()
		both[i] = &measured{database: d, about: about}
		if i == 1 {
			if err := d.fill(ctx, `SELECT rowrun.define_task('foreign', 'FOREIGN');
				INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task, generate_series(1, $1::int) WHERE name = 'foreign'`, crowd); err != nil {
				return err
			}
			if err := d.settle(ctx); err != nil {
				return err
			}
		}
	}
	jobs, rate := b.scale(10_000, 50_000), 100
	for range b.scale(3, 5) {
		for _, m := range both {
			waits, err := b.delaysOf(ctx, m.database, rate, rate*b.scale(3, 10))
			if err != nil {
				return err
			}
			m.waits = append(m.waits, waits...)
			r, err := b.backlog(ctx, m.database, jobs)
			if err != nil {
				return err
			}
			m.rate = append(m.rate, r)
		}
	}
	for _, m := range both {
		b.table.row(m.about, fmt.Sprintf("insert → start %s; drain %.0f jobs/s", spread(m.waits, 50, 99), measure.Median(m.rate)), "")
	}
	b.table.row("ratio", fmt.Sprintf("insert → start p50 %.2f ×, drain %.2f ×", measure.Median(both[1].waits)/measure.Median(both[0].waits),
		measure.Median(both[1].rate)/measure.Median(both[0].rate)), "1 ×")
	return nil
}

func (b *bench) delaysOf(ctx context.Context, d *database, rate, runs int) ([]float64, error) {
	r, err := b.serve(ctx, d.url, rareSweeps()...)
	if err != nil {
		return nil, err
	}
	waits, err := d.startDelays(ctx, rate, runs)
	if err != nil {
		return nil, r.blame(err)
	}
	return waits, r.stop()
}

// backlog inserts runs beforehand and returns the rate at which a replica worked them off, by the rows.
func (b *bench) backlog(ctx context.Context, d *database, jobs int) (float64, error) {
	worked, err := b.backlogOf(ctx, d, "SELECT $1, '{}' FROM generate_series(1, $2::int)", jobs)
	return worked.rate, err
}

// backlogWork is how a backlog was worked off: runs/s by the rows, and the CPU of the replica and, where that is asked for, of the
// server, in µs per run.
type backlogWork struct{ rate, cpu float64 }

// backlogOf is backlog of runs that a query gives: the task, $1, and the input of each of $2. The server's CPU is that of all its
// processes.
func (b *bench) backlogOf(ctx context.Context, d *database, runs string, jobs int, on ...*server) (w backlogWork, err error) {
	var task, first int64
	err = d.QueryRow(ctx, "SELECT rowrun.define_task('backlog', 'NOOP'), coalesce(max(id), 0) FROM rowrun.task_run").Scan(&task, &first)
	if err != nil {
		return w, err
	}
	if _, err := d.Exec(ctx, "INSERT INTO rowrun.task_run (task_id, input) "+runs, task, jobs); err != nil {
		return w, err
	}
	if err := d.do(ctx, "VACUUM ANALYZE rowrun.task_run", "CHECKPOINT"); err != nil {
		return w, err
	}
	used := func(pids ...int) (err error) {
		sum := -w.cpu
		for _, pid := range pids {
			own, err := measure.CPUSeconds(pid)
			if err != nil {
				return err
			}
			sum += own
		}
		for _, s := range on {
			own, err := measure.ServerSeconds(s.PID())
			if err != nil {
				return err
			}
			sum += own
		}
		w.cpu = sum
		return nil
	}
	if err := used(); err != nil {
		return w, err
	}
	r, err := b.serve(ctx, d.url)
	if err != nil {
		return w, err
	}
	if err := d.lastDone(ctx); err != nil {
		return w, r.blame(err)
	}
	if err := d.allDone(ctx, task, rounds); err != nil {
		return w, r.blame(err)
	}
	if err := used(r.pid()); err != nil {
		return w, r.blame(err)
	}
	if err := r.stop(); err != nil {
		return w, err
	}
	w.cpu *= 1e6 / float64(jobs)
	var took float64
	err = d.QueryRow(ctx, `SELECT extract(epoch FROM max(finished_at) - min(started_at))::float8 FROM rowrun.task_run
		WHERE task_id = $1 AND id > $2`, task, first).Scan(&took)
	w.rate = float64(jobs) / took
	return w, err
}
