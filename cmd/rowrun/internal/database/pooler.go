package database

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/rowrun/rowrun/events"
)

// FindPooler finds out that the database's address leads through a pooler in
// transaction mode: statements are then not prepared on connections that the
// next one may not get.
func (c *Config) FindPooler(ctx context.Context) error {
	if c.Pooled() {
		return nil // said by whoever gave another way
	}
	config, err := pgx.ParseConfig(c.URL)
	if err != nil {
		return errors.New("not a connection string") // validate has parsed it before
	}
	err = events.ProbeListen(ctx, config)
	switch {
	case errors.Is(err, events.ErrNoNotify), errors.Is(err, events.ErrQueueFull):
		// Nobody can tell while the queue is full: what a pooler bears goes without one too, and the listener asks again.
		c.pooler = true
		return nil
	case err != nil && ctx.Err() == nil && Diagnose(err).Wait:
		return fmt.Errorf("%s: listen: %w: %s", Place(c.URL), ErrAway, Diagnose(err).Text)
	case err != nil && ctx.Err() == nil:
		return fmt.Errorf("%s: listen: %s", Place(c.URL), Diagnose(err).Text)
	}
	return err
}
