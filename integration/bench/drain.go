package main

import (
	"context"
	"strconv"
)

// riverWorkers is how many workers River's own benchmark has.
const riverWorkers = 2000

// drain alternates: each round begins with an empty table, vacuumed as River's own benchmark does, NOOP runs inserted
// beforehand, statistics and a checkpoint. Rowrun's time is from the replica's registration to the last end, by the
// rows; a peer's from its client's start to the last job that is recorded as completed.
func (b *bench) drain(ctx context.Context) error {
	return b.on(ctx, func(s *server) error {
		ours, theirs, third, err := b.three(ctx, s)
		if err != nil {
			return err
		}
		many := strconv.Itoa(riverWorkers)
		tuned := b.river(theirs, "River tuned", "river-tuned")
		slow := b.river(theirs, "River, defaults", "river-defaults")
		slow.jobs = b.scale(3000, 20_000)
		full := b.noop(ours, "Rowrun, "+many+" slots, stream on", "--concurrency", many)
		quiet := b.noop(ours, "Rowrun, "+many+" slots, stream off", "--concurrency", many, "--stream-source", "off")
		all := []*contender{
			b.noop(ours, "Rowrun, default flags, stream on"), tuned,
			b.noop(ours, "Rowrun, default flags, stream off", "--stream-source", "off"), full, quiet, slow,
		}
		beside := []*contender{tuned}
		full.goal = "≥ 1.5 × River tuned"
		if b.graphile != "" {
			batched := b.graphileWorker(third, "graphile batched", "graphile-batched")
			single := b.graphileWorker(third, "graphile unbatched", "graphile-unbatched")
			single.jobs = b.scale(5000, 30_000)
			all, beside = append(all, batched, single), append(beside, batched)
			full.goal += ", ≥ 1.0 × graphile batched"
		}
		quiet.goal = full.goal
		jobs, rounds := b.scale(30_000, 100_000), b.scale(3, 5)
		if err := alternate(ctx, s, rounds, jobs, all); err != nil {
			return err
		}
		b.table.rates(rounds, jobs, all, beside...)
		return nil
	})
}
