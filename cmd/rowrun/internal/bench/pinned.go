package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// keptRuns is how many times --runs are kept, ended, before the last case.
const keptRuns = 2

// pinned takes in turn: a drain as it is; one with a snapshot held open that is older than the drain before it, so that
// nothing of that could be vacuumed; and one after many runs have ended and stay.
func (b *Bench) pinned(ctx context.Context) ([]*Case, error) {
	fresh, held := &Case{Name: "fresh"}, &Case{Name: "an old snapshot held"}
	kept := &Case{Name: fmt.Sprintf("after %d ended runs", keptRuns*b.cfg.Runs)}
	for range b.cfg.Rounds {
		for _, c := range []*Case{fresh, held, kept} {
			var err error
			switch c {
			case fresh:
				err = b.drainOnce(ctx, c, plain, b.cfg.Runs)
			case held:
				err = b.drainHeld(ctx, c)
			case kept:
				if err = b.drainOnce(ctx, &Case{}, plain, keptRuns*b.cfg.Runs); err == nil {
					err = b.vacuum(ctx)
				}
				if err == nil {
					err = b.drainOnce(ctx, c, plain, b.cfg.Runs)
				}
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.Name, err)
			}
			if err := b.clear(ctx); err != nil {
				return nil, err
			}
		}
	}
	for _, c := range []*Case{held, kept} {
		// Few runs may all end in one statement, which leaves no time between the first quarter and the last.
		if c.figure("warm_rate") != nil && fresh.figure("warm_rate") != nil {
			c.compare("of_fresh", "warm_rate", fresh)
		} else {
			c.compare("of_fresh", "rate", fresh)
		}
	}
	return []*Case{fresh, held, kept}, nil
}

// drainHeld holds a snapshot, drains once for the dead rows, and once more for the figures.
func (b *Bench) drainHeld(ctx context.Context, c *Case) (err error) {
	tx, err := b.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		if failed := tx.Rollback(closing); err == nil {
			err = failed
		}
	}()
	limited, cancel := context.WithTimeout(ctx, manners)
	defer cancel()
	var taken bool
	if err := tx.QueryRow(limited, "-- bench_snapshot\nSELECT true").Scan(&taken); err != nil {
		return err
	}
	if err := b.drainOnce(ctx, &Case{}, plain, b.cfg.Runs); err != nil {
		return err
	}
	return b.drainOnce(ctx, c, plain, b.cfg.Runs)
}
