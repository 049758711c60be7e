package main

import (
	"context"
	"os/exec"
	"strings"
)

// single has neither side batch anything: each job is claimed and ended by itself.
func (b *bench) single(ctx context.Context) error {
	help, err := exec.CommandContext(ctx, b.rowrun, "serve", "--help").Output()
	if err != nil {
		return err
	}
	if !strings.Contains(string(help), "--max-batch ") {
		b.table.row("not measured", "this binary has no --max-batch", "")
		return nil
	}
	return b.on(ctx, func(s *server) error {
		ours, _, third, err := b.three(ctx, s)
		if err != nil {
			return err
		}
		theirs := b.graphileWorker(third, "graphile unbatched", "graphile-unbatched")
		one := b.noop(ours, "Rowrun, 24 slots, --max-batch 1", "--max-batch", "1", "--concurrency", "24")
		one.goal = "≥ 1.3 × graphile unbatched"
		all := []*contender{one, theirs}
		rounds, jobs := b.scale(3, 5), b.scale(10_000, 50_000)
		if err := alternate(ctx, s, rounds, jobs, all); err != nil {
			return err
		}
		b.table.rates(rounds, jobs, all, theirs)
		return nil
	})
}
