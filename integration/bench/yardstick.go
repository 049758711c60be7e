package main

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// yardstick is what the least that could be done takes on this machine at this moment: a table of three columns whose
// INSERT notifies at its commit, and a client that hears it and updates the row with one prepared statement. No gates, no
// statuses, no history. Absolute figures of insert → start are read beside it: in ms.
func (b *bench) yardstick(ctx context.Context, s *server, rate, rows int) ([]float64, error) {
	d, err := b.newDatabase(ctx, s, "yardstick", false)
	if err != nil {
		return nil, err
	}
	defer d.close()
	err = d.do(ctx,
		`CREATE TABLE item (id bigserial PRIMARY KEY, created_at timestamptz DEFAULT now(), started_at timestamptz)`,
		`CREATE FUNCTION say() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_notify('item', NEW.id::text); RETURN NULL; END $$`,
		`CREATE CONSTRAINT TRIGGER said AFTER INSERT ON item DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION say()`)
	if err != nil {
		return nil, err
	}
	ear, err := pgx.Connect(ctx, d.url)
	if err != nil {
		return nil, err
	}
	defer func() { _ = ear.Close(context.WithoutCancel(ctx)) }()
	hand, err := pgx.Connect(ctx, d.url)
	if err != nil {
		return nil, err
	}
	defer func() { _ = hand.Close(context.WithoutCancel(ctx)) }()
	if _, err := ear.Exec(ctx, "LISTEN item"); err != nil {
		return nil, err
	}
	started := make(chan error, 1)
	go func() {
		for range rate + rows {
			heard, err := ear.WaitForNotification(ctx)
			if err == nil {
				_, err = hand.Exec(ctx, "UPDATE item SET started_at = clock_timestamp() WHERE id = $1::text::bigint", heard.Payload)
			}
			if err != nil {
				started <- err
				return
			}
		}
		started <- nil
	}()
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	for range rate + rows {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
		if _, err := d.PgConn().Exec(ctx, "INSERT INTO item DEFAULT VALUES").ReadAll(); err != nil {
			return nil, err
		}
	}
	if err := <-started; err != nil {
		return nil, err
	}
	return d.numbers(ctx, "SELECT extract(epoch FROM started_at - created_at)::float8 * 1000 FROM item ORDER BY id OFFSET $1", rate)
}
