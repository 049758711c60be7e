package main

import (
	"context"
	"fmt"

	"github.com/rowrun/rowrun/cmd/rowrun/measure"
)

// limited is one of the databases of the section limits.
type limited struct {
	*bench
	*database

	about, limit string
	keys         int
	least        string // goal of its rate beside that without a limit
	rate, cpu    []float64
}

// limits measures drains in databases of one server, in turn: without a limit, by another binary if there is one (-before), with a limit
// that applies to nothing of it, with 10,000 keys of one run at once, and with 1,000 keys that share what there is or don't.
func (b *bench) limits(ctx context.Context) error {
	s, err := b.startServer(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = s.stop() }()
	const insert = "INSERT INTO rowrun.concurrency_limit "
	all := []*limited{
		{bench: b, about: "no limit", keys: 10_000},
		{bench: b, about: "a limit on another type", limit: insert + `(name, type, max_running) VALUES ('other', 'OTHER', 1)`, keys: 10_000, least: "≥ 0.97 ×"},
		{bench: b, about: "10,000 keys, one run of each at once", limit: insert + `(name, key_path, max_running) VALUES ('keys', '{key}', 1)`, keys: 10_000, least: "≥ 0.5 ×"},
		{bench: b, about: "1,000 keys, any number at once", limit: insert + `(name, key_path, max_running) VALUES ('keys', '{key}', 1000000)`, keys: 1000},
		{bench: b, about: "1,000 keys that take turns", limit: insert + `(name, key_path, share) VALUES ('keys', '{key}', 'FAIR')`, keys: 1000},
	}
	if b.before != "" {
		before := *b
		before.rowrun = b.before
		all = append(all, &limited{bench: &before, about: "the other binary, no limit", keys: 10_000})
	}
	for i, m := range all {
		if m.database, err = m.newDatabase(ctx, s, fmt.Sprintf("limits_%d", i), true); err != nil {
			return err
		}
		defer m.close()
		if m.limit != "" {
			if err := m.do(ctx, m.limit); err != nil {
				return err
			}
		}
	}
	jobs := b.scale(20_000, 100_000)
	for range b.scale(3, 10) {
		for _, m := range all {
			w, err := m.backlogOf(ctx, m.database, fmt.Sprintf(`SELECT $1, jsonb_build_object('key', n %% %d) FROM generate_series(1, $2::int) n`, m.keys), jobs, s)
			if err != nil {
				return fmt.Errorf("%s: %w", m.about, err)
			}
			m.rate, m.cpu = append(m.rate, w.rate), append(m.cpu, w.cpu)
		}
	}
	rate, cpu := measure.Median(all[0].rate), measure.Median(all[0].cpu)
	for _, m := range all {
		b.table.row(m.about, fmt.Sprintf("drain %.0f runs/s, %.2f × that without a limit; CPU %.0f µs a run, %.3f ×",
			measure.Median(m.rate), measure.Median(m.rate)/rate, measure.Median(m.cpu), measure.Median(m.cpu)/cpu), m.least)
	}
	if b.before != "" {
		b.table.row("no limit, beside the other binary", fmt.Sprintf("CPU %.3f ×", cpu/measure.Median(all[len(all)-1].cpu)), "≤ 1.03 ×")
	}
	fair := measure.Median(all[4].rate) / measure.Median(all[3].rate)
	b.table.row("the same keys, with turns beside without", fmt.Sprintf("%.2f ×", fair), "≥ 0.9 ×")
	return nil
}
