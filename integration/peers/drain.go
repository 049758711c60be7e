package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivermigrate"
)

// migrate makes River's schema where it is missing.
func (p *peer) migrate(ctx context.Context) error {
	migrator, err := rivermigrate.New(p.driver, &rivermigrate.Config{Logger: quiet()})
	if err != nil {
		return err
	}
	if _, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("migrate River: %w", err)
	}
	return nil
}

// fill begins as River's own benchmark does, with an empty table, and leaves it as autovacuum would.
func (p *peer) fill(ctx context.Context, numbers []int) (*result, error) {
	if err := p.migrate(ctx); err != nil {
		return nil, err
	}
	if err := p.do(ctx, "TRUNCATE river_job", "VACUUM FULL river_job"); err != nil {
		return nil, err
	}
	return p.add(ctx, numbers)
}

func (p *peer) add(ctx context.Context, numbers []int) (*result, error) {
	if err := p.migrate(ctx); err != nil {
		return nil, err
	}
	client, err := p.client(nil)
	if err != nil {
		return nil, err
	}
	const batch = 5000
	for begin := 0; begin < numbers[0]; begin += batch {
		if err := insert(ctx, client, begin, min(batch, numbers[0]-begin), nil); err != nil {
			return nil, err
		}
	}
	return nil, p.do(ctx, "VACUUM ANALYZE river_job", "CHECKPOINT")
}

// insert inserts jobs with one statement; opts, where not nil, are those of the job of this number.
func insert(ctx context.Context, client *river.Client[pgx.Tx], first, jobs int, opts func(number int) *river.InsertOpts) error {
	params := make([]river.InsertManyParams, jobs)
	for i := range params {
		params[i].Args = noopArgs{Number: first + i}
		if opts != nil {
			params[i].InsertOpts = opts(first + i)
		}
	}
	if _, err := client.InsertManyFast(ctx, params); err != nil {
		return fmt.Errorf("insert jobs: %w", err)
	}
	return nil
}

// drain counts by the client's events, which follow the record of a job in the database.
func (p *peer) drain(ctx context.Context, numbers []int) (r *result, err error) {
	client, err := p.client(nil)
	if err != nil {
		return nil, err
	}
	completed, unsubscribe := subscribe(client, numbers[0])
	defer unsubscribe()
	started, cpu := time.Now(), cpuSeconds()
	if err := client.Start(ctx); err != nil {
		return nil, fmt.Errorf("start client: %w", err)
	}
	defer func() { err = errors.Join(err, client.Stop(context.WithoutCancel(ctx))) }()
	if err := all(ctx, completed, numbers[0]); err != nil {
		return nil, err
	}
	return &result{Jobs: numbers[0], Seconds: time.Since(started).Seconds(), CPUSeconds: cpuSeconds() - cpu}, nil
}

// burst is a drain of jobs that come all at once to a client that waits.
func (p *peer) burst(ctx context.Context, numbers []int) (r *result, err error) {
	if err := p.migrate(ctx); err != nil {
		return nil, err
	}
	client, err := p.client(nil)
	if err != nil {
		return nil, err
	}
	completed, unsubscribe := subscribe(client, numbers[0])
	defer unsubscribe()
	if err := client.Start(ctx); err != nil {
		return nil, fmt.Errorf("start client: %w", err)
	}
	defer func() { err = errors.Join(err, client.Stop(context.WithoutCancel(ctx))) }()
	if err := wait(ctx, time.Second); err != nil {
		return nil, err
	}
	started, cpu := time.Now(), cpuSeconds()
	if err := insert(ctx, client, 0, numbers[0], nil); err != nil {
		return nil, err
	}
	if err := all(ctx, completed, numbers[0]); err != nil {
		return nil, err
	}
	return &result{Jobs: numbers[0], Seconds: time.Since(started).Seconds(), CPUSeconds: cpuSeconds() - cpu}, nil
}

// subscribe asks for the end of each job; an event that finds the channel full would be dropped.
func subscribe(client *river.Client[pgx.Tx], jobs int) (<-chan *river.Event, func()) {
	return client.SubscribeConfig(&river.SubscribeConfig{
		ChanSize: jobs + 1,
		Kinds:    []river.EventKind{river.EventKindJobCompleted, river.EventKindJobFailed, river.EventKindJobCancelled},
	})
}

// all waits until so many jobs have completed.
func all(ctx context.Context, completed <-chan *river.Event, jobs int) error {
	for n := range jobs {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d jobs completed: %w", n, jobs, ctx.Err())
		case event := <-completed:
			if event.Kind != river.EventKindJobCompleted {
				return fmt.Errorf("a job ended with %s", event.Kind)
			}
		}
	}
	return nil
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
