package main

import (
	"context"
	"time"

	"github.com/rowrun/rowrun/cmd/rowrun/measure"
)

// bursts inserts 500 jobs at once into a worker with 10 slots that waits: from just before the insert to the last end.
func (b *bench) bursts(ctx context.Context) error {
	return b.on(ctx, func(s *server) error {
		ours, theirs, third, err := b.three(ctx, s)
		if err != nil {
			return err
		}
		all := []*contender{
			b.bursting(ours, "Rowrun", "--concurrency", "10"),
			b.riverPeer(theirs, "river-ten").contender("River", "", "burst"),
			b.graphilePeer(third, "graphile-ten").contender("graphile", "", "burst"),
		}
		all[0].goal = "≥ 2,000 jobs/s"
		rounds := b.scale(3, 7)
		if err := alternate(ctx, s, rounds, 500, all); err != nil {
			return err
		}
		b.table.rates(rounds, 500, all, all[1:]...)
		return nil
	})
}

// bursting is Rowrun; its end is that of the last row.
func (b *bench) bursting(d *database, name string, flags ...string) *contender {
	return &contender{name: name, work: func(ctx context.Context, jobs int) (outcome, error) {
		out := b.settings(flags)
		r, err := b.serve(ctx, d.url, flags...)
		if err != nil {
			return out, err
		}
		if err := d.do(ctx, "SELECT rowrun.define_task('noop', 'NOOP')"); err != nil {
			return out, r.blame(err)
		}
		if err := wait(ctx, time.Second); err != nil { // as the peers wait
			return out, r.blame(err)
		}
		used, err := measure.CPUSeconds(r.pid())
		if err != nil {
			return out, r.blame(err)
		}
		begun := time.Now()
		_, err = d.Exec(ctx, "INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task, generate_series(1, $1::int) WHERE name = 'noop'", jobs)
		if err != nil {
			return out, r.blame(err)
		}
		if err := d.everyDone(ctx, time.Minute); err != nil {
			return out, r.blame(err)
		}
		var last time.Time
		if err := d.QueryRow(ctx, "SELECT max(finished_at) FROM rowrun.task_run").Scan(&last); err != nil {
			return out, r.blame(err)
		}
		now, err := measure.CPUSeconds(r.pid())
		if err != nil {
			return out, r.blame(err)
		}
		out.Seconds, out.CPUSeconds = last.Sub(begun).Seconds(), now-used
		return out, r.stop()
	}}
}
