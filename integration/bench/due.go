package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// due inserts jobs at once that are due later, 100 a second: from the time for which each was asked to the first line of
// the worker's code, as in arrival.
func (b *bench) due(ctx context.Context) error {
	return b.on(ctx, func(s *server) error {
		ours, theirs, third, err := b.three(ctx, s)
		if err != nil {
			return err
		}
		const rate = 100
		seconds, rounds := b.scale(5, 20), b.scale(3, 5)
		later := func(p peer, name string) *contender {
			return &contender{name: name, work: func(ctx context.Context, _ int) (outcome, error) {
				return p.measure(ctx, "due", rate, seconds)
			}}
		}
		all := []*contender{
			b.fallingDue(ours, "Rowrun, stream off, by its log", rate, claimsByLog, "--stream-source", "off"),
			later(b.riverPeer(theirs, "river-defaults"), "River, defaults"),
			b.fallingDue(ours, "Rowrun, stream on, by its rows", rate, claimsByRow),
			later(b.graphilePeer(third, "graphile-defaults"), "graphile, defaults"),
		}
		all[0].goal, all[2].goal = "p99 ≤ 5 ms", "p99 ≤ 5 ms"
		if err := alternate(ctx, s, rounds, rate*seconds, all); err != nil {
			return err
		}
		b.table.delays(fmt.Sprintf("lateness, %d due/s", rate), all)
		return nil
	})
}

// fallingDue is Rowrun.
func (b *bench) fallingDue(d *database, name string, rate int, when claims, flags ...string) *contender {
	return &contender{name: name, work: func(ctx context.Context, jobs int) (outcome, error) {
		out := b.settings(flags)
		r, err := b.serve(ctx, d.url, flags...)
		if err != nil {
			return out, err
		}
		at, err := d.insertForLater(ctx, rate, jobs)
		if err != nil {
			return out, r.blame(err)
		}
		// Nothing is asked of the server meanwhile.
		if err := wait(ctx, time.Until(at[len(at)-1].at)); err != nil {
			return out, r.blame(err)
		}
		if err := d.everyDone(ctx, time.Minute); err != nil {
			return out, r.blame(err)
		}
		began, err := when(ctx, d, r)
		if err != nil {
			return out, r.blame(err)
		}
		if out.DelaysMS, err = delays(at, began); err != nil {
			return out, r.blame(err)
		}
		return out, r.stop()
	}}
}

// insertForLater begins three seconds from now, as the peers do.
func (d *database) insertForLater(ctx context.Context, rate, runs int) ([]sending, error) {
	if err := d.do(ctx, "SELECT rowrun.define_task('noop', 'NOOP')"); err != nil {
		return nil, err
	}
	first := time.Now().Add(3 * time.Second)
	rows, err := d.Query(ctx, `INSERT INTO rowrun.task_run (task_id, run_at)
		SELECT k.id, $1::timestamptz + i * interval '1 second' / $2::int FROM rowrun.task k, generate_series(0, $3::int - 1) i
		WHERE k.name = 'noop' RETURNING id, run_at`, first, rate, runs)
	if err != nil {
		return nil, err
	}
	at, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (s sending, err error) {
		return s, row.Scan(&s.id, &s.at)
	})
	if err == nil && time.Now().After(first) {
		err = errors.New("the runs were inserted too late for the first of them")
	}
	return at, err
}
