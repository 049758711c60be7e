package main

import (
	"context"
	"fmt"
	"time"
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
			sent, began, err := b.flooded(ctx, d, replicas, writers, rate, rate*seconds)
			if err != nil {
				return err
			}
			each := len(sent) / writers
			first, last := sent[0].at, sent[0].at
			for i := range writers {
				own := sent[i*each : (i+1)*each]
				got, err := delays(own[rate/writers:], began) // the first second warms up
				if err != nil {
					return err
				}
				waits = append(waits, got...)
				if at := own[each-1].at; at.After(last) {
					last = at
				}
			}
			reached = append(reached, float64(len(sent))/last.Sub(first).Seconds())
		}
		b.table.row(fmt.Sprintf("insert → start, %d/s offered, %.0f/s inserted, %d replicas, stream on", rate, median(reached), replicas),
			spread(waits, 50, 95, 99), "p99 ≤ 20 ms")
		return nil
	})
}

func (b *bench) flooded(ctx context.Context, d *database, replicas, writers, rate, runs int) (sent []sending, began map[int64]time.Time, err error) {
	if err := d.do(ctx, "TRUNCATE rowrun.task_run CASCADE"); err != nil {
		return nil, nil, err
	}
	for range replicas {
		r, err := b.serve(ctx, d.url)
		if err != nil {
			return nil, nil, err
		}
		defer func() { _ = r.stop() }()
	}
	if sent, err = d.insertAtRate(ctx, writers, rate, runs); err != nil {
		return nil, nil, err
	}
	if err := d.everyDone(ctx, time.Minute); err != nil {
		return nil, nil, err
	}
	began, err = claimsByRow(ctx, d, nil)
	return sent, began, err
}
