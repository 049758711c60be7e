package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"time"
)

// riverWorkers is how many workers River's own benchmark has.
const riverWorkers = 2000

// noop is Rowrun with some flags.
func (b *bench) noop(d *database, name string, flags ...string) *contender {
	return &contender{
		name: name,
		fill: func(ctx context.Context, jobs int) error {
			if err := d.do(ctx, "TRUNCATE rowrun.task_run CASCADE", "VACUUM FULL rowrun.task_run",
				"SELECT rowrun.define_task('noop', 'NOOP')"); err != nil {
				return err
			}
			_, err := d.Exec(ctx, "INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task, generate_series(1, $1) WHERE name = 'noop'", jobs)
			if err != nil {
				return err
			}
			return d.do(ctx, "VACUUM ANALYZE rowrun.task_run", "CHECKPOINT")
		},
		drain: func(ctx context.Context, _ int) (took, cpu float64, err error) {
			r, err := b.serve(ctx, d.url, flags...)
			if err != nil {
				return 0, 0, err
			}
			if took, err = d.drained(ctx); err != nil {
				return 0, 0, r.blame(err)
			}
			if cpu, err = cpuSeconds(r.pid()); err != nil {
				return 0, 0, r.blame(err)
			}
			return took, cpu, r.stop()
		},
	}
}

// rounds bounds what a round waits for.
const rounds = 10 * time.Minute

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
	var task int64
	if err := d.QueryRow(ctx, "SELECT id FROM rowrun.task WHERE name = 'noop'").Scan(&task); err != nil {
		return 0, err
	}
	if err := d.allDone(ctx, task, rounds); err != nil {
		return 0, err
	}
	took, err := d.numbers(ctx, `SELECT extract(epoch FROM max(r.finished_at) - (SELECT max(h.started_at) FROM rowrun.replica_heartbeat h))::float8
		FROM rowrun.task_run r`)
	if err != nil {
		return 0, err
	}
	return took[0], nil
}

// river is the peer, in a process of its own as well.
func (b *bench) river(d *database, name, preset string, jobs int) *contender {
	return &contender{
		name: name, jobs: jobs,
		fill: func(ctx context.Context, jobs int) error {
			_, err := b.peer(ctx, d.url, preset, "fill", jobs)
			return err
		},
		drain: func(ctx context.Context, jobs int) (took, cpu float64, err error) {
			out, err := b.peer(ctx, d.url, preset, "drain", jobs)
			if err != nil {
				return 0, 0, err
			}
			var r struct {
				Seconds    float64 `json:"seconds"`
				CPUSeconds float64 `json:"cpu_seconds"`
			}
			if err := json.Unmarshal(out, &r); err != nil {
				return 0, 0, err
			}
			return r.Seconds, r.CPUSeconds, nil
		},
	}
}

// peer runs integration/peers.
func (b *bench) peer(ctx context.Context, url string, args ...any) ([]byte, error) {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = fmt.Sprint(arg)
	}
	cmd := exec.CommandContext(ctx, b.peers, words...)
	cmd.Env = environment(url)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return out, err
}
