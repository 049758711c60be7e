package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/rowrun/rowrun/cmd/rowrun/measure"
)

// footprint is the most that a replica's process held resident from its start to the end of a backlog.
func (b *bench) footprint(ctx context.Context) error {
	return b.on(ctx, func(s *server) error {
		d, err := b.database(ctx, s, "rowrun", true)
		if err != nil {
			return err
		}
		backlog := b.scale(100_000, 1_000_000)
		for _, flags := range [][]string{nil, {"--concurrency", strconv.Itoa(riverWorkers)}} {
			c := b.noop(d, "", flags...)
			if err := c.fill(ctx, backlog); err != nil {
				return err
			}
			r, err := b.serve(ctx, d.url, flags...)
			if err != nil {
				return err
			}
			took, err := d.drained(ctx)
			if err != nil {
				return r.blame(err)
			}
			now, peak, err := measure.Memory(r.pid())
			if err != nil {
				return r.blame(err)
			}
			if err := r.stop(); err != nil {
				return err
			}
			b.table.row(fmt.Sprintf("%d runs, %s", backlog, b.settings(flags).Settings),
				fmt.Sprintf("%.1f MiB at most, %.1f MiB at the end; %.0f jobs/s", peak, now, float64(backlog)/took), "≤ 100 MiB")
		}
		return nil
	})
}
