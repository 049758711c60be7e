package main

import (
	"context"
	"strings"
	"time"

	"github.com/rowrun/rowrun/cmd/rowrun/measure"
)

// noopRuns are runs of one task without gates; $1 is how many.
const noopRuns = `SELECT rowrun.define_task('noop', 'NOOP');
	INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task, generate_series(1, $1::int) WHERE name = 'noop'`

// noop is Rowrun with some flags that works such runs off.
func (b *bench) noop(d *database, name string, flags ...string) *contender {
	return b.runs(d, name, noopRuns, flags...)
}

// runs is Rowrun with some flags that begins with empty tables and works off what the statements insert.
func (b *bench) runs(d *database, name, statements string, flags ...string) *contender {
	c := b.more(d, name, statements, flags...)
	add := c.fill
	c.fill = func(ctx context.Context, jobs int) error {
		if err := d.do(ctx, "TRUNCATE rowrun.plan, rowrun.task, rowrun.task_run CASCADE", "VACUUM FULL rowrun.task_run"); err != nil {
			return err
		}
		return add(ctx, jobs)
	}
	return c
}

// more is the same for tables that keep what is in them.
func (b *bench) more(d *database, name, statements string, flags ...string) *contender {
	return &contender{
		name: name,
		fill: func(ctx context.Context, jobs int) error {
			if err := d.fill(ctx, statements, jobs); err != nil {
				return err
			}
			return d.do(ctx, "VACUUM ANALYZE rowrun.task_run, rowrun.task", "CHECKPOINT")
		},
		work: func(ctx context.Context, _ int) (outcome, error) {
			out := b.settings(flags)
			r, err := b.serve(ctx, d.url, flags...)
			if err != nil {
				return out, err
			}
			if out.Seconds, err = d.drained(ctx); err != nil {
				return out, r.blame(err)
			}
			if out.CPUSeconds, err = measure.CPUSeconds(r.pid()); err != nil {
				return out, r.blame(err)
			}
			return out, r.stop()
		},
	}
}

// settings name Rowrun's version and flags.
func (b *bench) settings(flags []string) outcome {
	if len(flags) == 0 {
		flags = []string{"default flags"}
	}
	return outcome{Peer: "Rowrun", Version: b.version, Settings: strings.Join(flags, " ")}
}

// rounds bounds what a round waits for.
const rounds = 20 * time.Minute

// lastDone waits until the newest run has ended: with its key, so that waiting costs little.
func (d *database) lastDone(ctx context.Context) error {
	var last int64
	if err := d.QueryRow(ctx, "SELECT max(id) FROM rowrun.task_run").Scan(&last); err != nil {
		return err
	}
	return poll(ctx, rounds, "the end of the newest run", func() (bool, error) {
		var ended bool
		err := d.QueryRow(ctx, "SELECT status IN ('DONE', 'FAILED', 'CANCELED') FROM rowrun.task_run WHERE id = $1", last).Scan(&ended)
		return ended, err
	})
}

// drained waits until every run is DONE; how long that took since the replica registered, in seconds.
func (d *database) drained(ctx context.Context) (float64, error) {
	if err := d.lastDone(ctx); err != nil {
		return 0, err
	}
	if err := d.everyDone(ctx, rounds); err != nil {
		return 0, err
	}
	took, err := d.numbers(ctx, `SELECT extract(epoch FROM max(r.finished_at) - (SELECT max(h.started_at) FROM rowrun.replica_heartbeat h))::float8
		FROM rowrun.task_run r`)
	if err != nil {
		return 0, err
	}
	return took[0], nil
}
