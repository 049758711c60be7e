package main

import (
	"context"
	"fmt"

	"github.com/rowrun/rowrun/cmd/rowrun/measure"
)

// limits measures drains in databases of one server, in turn: without a limit, with one that applies to nothing of it, with 10,000 keys
// of one run at once, and with 1,000 keys that share what there is or don't.
func (b *bench) limits(ctx context.Context) error {
	s, err := b.startServer(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = s.stop() }()
	type measured struct {
		*database
		about string
		keys  int
		rate  []float64
	}
	var all []*measured
	for i, m := range []struct {
		about, limit string
		keys         int
	}{
		{"no limit", "", 10_000},
		{"a limit on another type", `INSERT INTO rowrun.concurrency_limit (name, type, max_running) VALUES ('other', 'OTHER', 1)`, 10_000},
		{"10,000 keys, one run of each at once", `INSERT INTO rowrun.concurrency_limit (name, key_path, max_running) VALUES ('keys', '{key}', 1)`, 10_000},
		{"1,000 keys, any number at once", `INSERT INTO rowrun.concurrency_limit (name, key_path, max_running) VALUES ('keys', '{key}', 1000000)`, 1000},
		{"1,000 keys that take turns", `INSERT INTO rowrun.concurrency_limit (name, key_path, share) VALUES ('keys', '{key}', 'FAIR')`, 1000},
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
		all = append(all, &measured{database: d, about: m.about, keys: m.keys})
	}
	jobs := b.scale(20_000, 100_000)
	for range b.scale(3, 10) {
		for _, m := range all {
			r, err := b.backlogOf(ctx, m.database, fmt.Sprintf(`SELECT $1, jsonb_build_object('key', n %% %d) FROM generate_series(1, $2::int) n`, m.keys), jobs)
			if err != nil {
				return fmt.Errorf("%s: %w", m.about, err)
			}
			m.rate = append(m.rate, r)
		}
	}
	least := []string{"", "≥ 0.97 ×", "≥ 0.5 ×", "", ""}
	for i, m := range all {
		b.table.row(m.about, fmt.Sprintf("drain %.0f runs/s, %.2f × that without a limit", measure.Median(m.rate), measure.Median(m.rate)/measure.Median(all[0].rate)), least[i])
	}
	fair := measure.Median(all[4].rate) / measure.Median(all[3].rate)
	b.table.row("the same keys, with turns beside without", fmt.Sprintf("%.2f ×", fair), "≥ 0.9 ×")
	return nil
}
