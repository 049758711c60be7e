package main

import (
	"context"
	"time"
)

// arrival inserts single jobs at a steady rate into a worker that is idle otherwise, in alternating rounds. What is shown
// is the same for all: from the wall clock just before the insert is sent (a peer's: before its insert is called) to the
// first line of the worker's code, by the wall clock of its process on the same machine. Rowrun's own NOOP has no code of
// the user's; a replica that doesn't write the stream logs "run claimed" at that point. For the replica that does, the
// claim's time in the row is taken.
func (b *bench) arrival(ctx context.Context) error {
	return b.on(ctx, func(s *server) error {
		ours, theirs, third, err := b.three(ctx, s)
		if err != nil {
			return err
		}
		const rate = 100
		seconds, rounds := b.scale(5, 10), b.scale(3, 5)
		starts := func(p peer, name string) *contender {
			return &contender{name: name, work: func(ctx context.Context, _ int) (outcome, error) {
				return p.measure(ctx, "starts", rate, seconds)
			}}
		}
		all := []*contender{
			b.arriving(ours, "Rowrun, stream off, by its log", rate, claimsByLog, "--stream-source", "off"),
			starts(b.riverPeer(theirs, "river-quick"), "River, FetchCooldown 2 ms"),
			b.arriving(ours, "Rowrun, stream on, by its rows", rate, claimsByRow),
			starts(b.graphilePeer(third, "graphile-defaults"), "graphile, defaults"),
			starts(b.riverPeer(theirs, "river-defaults"), "River, defaults"),
		}
		all[0].goal = "p50 ≤ 0.6 ms, p99 ≤ 2 ms, ≤ River"
		all[2].goal = all[0].goal
		if err := alternate(ctx, s, rounds, rate*(1+seconds), all); err != nil {
			return err
		}
		b.table.delays("insert → start, 100/s", all)
		return nil
	})
}

// claims are when runs began.
type claims func(ctx context.Context, d *database, r *replica) (map[int64]time.Time, error)

// arriving is Rowrun; the first second warms up.
func (b *bench) arriving(d *database, name string, rate int, when claims, flags ...string) *contender {
	return &contender{name: name, work: func(ctx context.Context, jobs int) (outcome, error) {
		out := b.settings(flags)
		r, err := b.serve(ctx, d.url, flags...)
		if err != nil {
			return out, err
		}
		sent, err := d.insertAtRate(ctx, 1, rate, jobs)
		if err != nil {
			return out, r.blame(err)
		}
		if err := d.everyDone(ctx, time.Minute); err != nil {
			return out, r.blame(err)
		}
		began, err := when(ctx, d, r)
		if err != nil {
			return out, r.blame(err)
		}
		if out.DelaysMS, err = delays(sent[0][rate:], began); err != nil {
			return out, r.blame(err)
		}
		return out, r.stop()
	}}
}
