package main

import (
	"context"
	"fmt"
	"time"

	"github.com/rowrun/rowrun/cmd/rowrun/measure"
)

// flood inserts 1,000 single runs a second by eight writers while three replicas with default flags work: from just before
// the insert is sent to the claim's time in the row.
func (b *bench) flood(ctx context.Context) error {
	return b.on(ctx, func(s *server) error {
		d, err := b.database(ctx, s, "rowrun", true)
		if err != nil {
			return err
		}
		const rate, writers, replicas = 1000, 8, 3
		seconds, rounds := b.scale(5, 15), b.scale(3, 5)
		var waits, reached []float64
		for range rounds {
			got, inserted, err := b.flooded(ctx, d, replicas, writers, rate, rate*seconds)
			if err != nil {
				return err
			}
			waits, reached = append(waits, got...), append(reached, inserted)
		}
		b.table.row(fmt.Sprintf("insert → start, %d/s offered, %.0f/s inserted, %d replicas, stream on", rate, measure.Median(reached), replicas),
			spread(waits, 50, 95, 99), "p99 ≤ 20 ms")
		return nil
	})
}

// flooded returns how long the runs waited, but for those of the first second, which warms up, and how many a second were
// inserted.
func (b *bench) flooded(ctx context.Context, d *database, replicas, writers, rate, runs int) (waits []float64, inserted float64, err error) {
	if err := d.do(ctx, "TRUNCATE rowrun.task_run CASCADE"); err != nil {
		return nil, 0, err
	}
	for range replicas {
		r, err := b.serve(ctx, d.url)
		if err != nil {
			return nil, 0, err
		}
		defer func() { _ = r.stop() }()
	}
	begun := time.Now()
	sent, err := d.insertAtRate(ctx, writers, rate, runs)
	if err != nil {
		return nil, 0, err
	}
	took := time.Since(begun).Seconds()
	if err := d.everyDone(ctx, time.Minute); err != nil {
		return nil, 0, err
	}
	began, err := claimsByRow(ctx, d, nil)
	if err != nil {
		return nil, 0, err
	}
	for _, own := range sent {
		got, err := delays(own[rate/writers:], began)
		if err != nil {
			return nil, 0, err
		}
		waits = append(waits, got...)
	}
	return waits, float64(runs) / took, nil
}
