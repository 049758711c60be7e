package main

import (
	"context"
	"fmt"

	"github.com/rowrun/rowrun/cmd/rowrun/measure"
)

// limits measures drains in three databases of one server, in turn: without a limit, with one that applies to nothing of it, and
// with 10,000 keys of one run at once.
func (b *bench) limits(ctx context.Context) error {
	s, err := b.startServer(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = s.stop() }()
	type measured struct {
		*database
		about string
		rate  []float64
	}
	all := make([]*measured, 0, 3)
	for i, m := range []struct{ about, limit string }{
		{"no limit", ""},
		{"a limit on another type", `INSERT INTO rowrun.concurrency_limit (name, type, max_running) VALUES ('other', 'OTHER', 1)`},
		{"10,000 keys, one run of each at once", `INSERT INTO rowrun.concurrency_limit (name, key_path, max_running) VALUES ('keys', '{key}', 1)`},
	} {
		d, err := b.newDatabase(ctx, s, fmt.Sprintf("limits_%d", i), true)
		if err != nil {
			return err
		}
		defer d.close()
		if m.limit != "" {
			if err := d.do(ctx, m.limit); err != nil {
				return err
			}
		}
		all = append(all, &measured{database: d, about: m.about})
	}
	jobs := b.scale(20_000, 100_000)
	for range b.scale(3, 10) {
		for _, m := range all {
			r, err := b.backlogOf(ctx, m.database, `SELECT $1, jsonb_build_object('key', n % 10000) FROM generate_series(1, $2::int) n`, jobs)
			if err != nil {
				return fmt.Errorf("%s: %w", m.about, err)
			}
			m.rate = append(m.rate, r)
		}
	}
	least := []string{"", "≥ 0.97 ×", "≥ 0.5 ×"}
	for i, m := range all {
		b.table.row(m.about, fmt.Sprintf("drain %.0f runs/s, %.2f × that without a limit", measure.Median(m.rate), measure.Median(m.rate)/measure.Median(all[0].rate)), least[i])
	}
	return nil
}
