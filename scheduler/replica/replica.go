package replica

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/scheduler/wake"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/connect"
)

// Run serves as a replica until ctx ends, which asks for a drain, or an operator asks for one (rowrun.drain_replica). url is a
// connection string of PostgreSQL.
//
// It returns nil where nothing of it is left behind. Any error: the configuration, the database or its schema can't be
// worked with, which is found before anything is claimed; a drain left a run's end unrecorded; or ErrStuck. A database
// that isn't up yet is waited for. Run may be called more than once, also at the same time: each call is a replica.
func Run(ctx context.Context, url string, c Config) error {
	if err := run(ctx, url, &c); err != nil {
		return fmt.Errorf("replica: %w", err)
	}
	return nil
}

func run(ctx context.Context, url string, c *Config) error {
	way, err := c.way(url)
	if err != nil {
		return err
	}
	if err := c.complete(); err != nil {
		return err
	}
	config, err := c.scheduler()
	if err != nil {
		return err
	}
	if err := way.FindPooler(ctx, c.Log); err != nil {
		return stopped(ctx, err)
	}
	opened, _, err := way.Open(ctx, store.Config{MaxConns: c.MaxConns, Lease: config.StaleAfter}, c.Log)
	if err != nil {
		return stopped(ctx, err)
	}
	defer opened.Close()
	config.Store = opened
	return serve(ctx, &way, opened, config)
}

// serve runs a scheduler, and what wakes it for longer: cancels arrive during the drain too.
func serve(ctx context.Context, way *connect.Way, opened *store.Store, config scheduler.Config) error {
	conn, err := connect.Parse(way.DirectURL)
	if err != nil {
		return err
	}
	opened.Guard(conn)
	hub := events.NewHub()
	listener, err := events.NewListener(events.ListenConfig{
		ConnConfig: conn, Channel: store.Channel, Hub: hub, Log: config.Log, Probe: true, Own: opened.Own,
	})
	if err != nil {
		return err
	}
	s, unsubscribe, err := wake.Scheduler(hub, config)
	if err != nil {
		return err
	}
	defer unsubscribe()
	teller := wake.Teller{
		Store: opened, Scheduler: s, Deaf: listener.Deaf, DeafText: "; set DirectURL to the server itself", Log: config.Log,
		Source: func() string {
			if listener.Connected() {
				return wake.ByNotify
			}
			return wake.BySweeps
		},
	}

	around, stopAround := context.WithCancel(context.WithoutCancel(ctx))
	defer stopAround()
	var support errgroup.Group
	support.Go(func() error { return listener.Run(around) })
	support.Go(func() error { return teller.Run(around) })
	err = s.Run(ctx)
	stopAround()
	return errors.Join(err, support.Wait())
}

// stopped is nil where a stop, and no fault, ended a start.
func stopped(ctx context.Context, err error) error {
	select {
	case <-ctx.Done():
		return nil
	default:
		return err
	}
}
