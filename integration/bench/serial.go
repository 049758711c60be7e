package main

import (
	"context"
	"fmt"

	"github.com/rowrun/rowrun/cmd/rowrun/measure"
)

// serial lets a replica with default flags go through the versions of 10 databases, which all go on at once: a step is
// the time from a chain's first start to its last end, divided by its length.
func (b *bench) serial(ctx context.Context) error {
	return b.on(ctx, func(s *server) error {
		d, err := b.database(ctx, s, "rowrun", true)
		if err != nil {
			return err
		}
		const chains = 10
		steps, rounds := b.scale(300, 2000), b.scale(3, 5)
		c := b.runs(d, fmt.Sprintf("%d databases × %d versions, default flags", chains, steps), versionsOf(chains))
		var took []float64
		for range rounds {
			if err := c.play(ctx, s, chains*steps); err != nil {
				return err
			}
			each, err := d.numbers(ctx, `SELECT extract(epoch FROM max(finished_at) - min(started_at))::float8 * 1000 / count(*)
				FROM rowrun.task_run GROUP BY database_id`)
			if err != nil {
				return err
			}
			took = append(took, each...)
		}
		b.table.rates(rounds, chains*steps, []*contender{c})
		b.table.row("a step of one chain", fmt.Sprintf("median of %d chains %.2f ms (%.2f to %.2f)", len(took), measure.Median(took),
			measure.Percentile(took, 0), measure.Percentile(took, 100)), "≤ 1.5 ms")
		return nil
	})
}
