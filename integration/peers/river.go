package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// riverSettings are the three that decide how fast River works jobs off.
type riverSettings struct {
	workers  int
	cooldown time.Duration
	poll     time.Duration
}

// riverTuned are the settings of River's own benchmark (river bench).
func riverTuned() riverSettings {
	return riverSettings{workers: 2000, cooldown: 2 * time.Millisecond, poll: 20 * time.Millisecond}
}

// riverDefaults are River's defaults, with the number of workers that its documentation starts with.
func riverDefaults() riverSettings {
	return riverSettings{workers: 100, cooldown: river.FetchCooldownDefault, poll: river.FetchPollIntervalDefault}
}

func (s riverSettings) String() string {
	return fmt.Sprintf("MaxWorkers %d, FetchCooldown %s, FetchPollInterval %s", s.workers, s.cooldown, s.poll)
}

type noopArgs struct {
	Number int `json:"number"`
}

// Kind names the jobs.
func (noopArgs) Kind() string { return "noop" }

type noopWorker struct {
	river.WorkerDefaults[noopArgs]
}

// Work does nothing.
func (noopWorker) Work(context.Context, *river.Job[noopArgs]) error { return nil }

// peer is a client of River and its pool.
type peer struct {
	settings riverSettings
	pool     *pgxpool.Pool
	driver   *riverpgxv5.Driver
	client   *river.Client[pgx.Tx]
}

// openRiver prepares a client; nothing of it works yet.
func openRiver(ctx context.Context, url string, s riverSettings) (*peer, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errors.New("DATABASE_URL is not a connection string")
	}
	config.MaxConns = connections
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, noopWorker{})
	p := &peer{settings: s, pool: pool, driver: riverpgxv5.New(pool)}
	p.client, err = river.NewClient(p.driver, &river.Config{
		FetchCooldown:     s.cooldown,
		FetchPollInterval: s.poll,
		Logger:            quiet(),
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: s.workers}},
		Workers:           workers,
	})
	if err != nil {
		pool.Close()
		return nil, err
	}
	return p, nil
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// fill begins as River's own benchmark does, with an empty table, and leaves it as autovacuum would.
func (p *peer) fill(ctx context.Context, jobs int) error {
	migrator, err := rivermigrate.New(p.driver, &rivermigrate.Config{Logger: quiet()})
	if err != nil {
		return err
	}
	if _, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("migrate River: %w", err)
	}
	if err := p.do(ctx, "TRUNCATE river_job", "VACUUM FULL river_job"); err != nil {
		return err
	}
	const batch = 5000
	for begin := 0; begin < jobs; begin += batch {
		params := make([]river.InsertManyParams, min(batch, jobs-begin))
		for i := range params {
			params[i].Args = noopArgs{Number: begin + i}
		}
		if _, err := p.client.InsertManyFast(ctx, params); err != nil {
			return fmt.Errorf("insert jobs: %w", err)
		}
	}
	return p.do(ctx, "VACUUM ANALYZE river_job", "CHECKPOINT")
}

func (p *peer) do(ctx context.Context, statements ...string) error {
	for _, statement := range statements {
		if _, err := p.pool.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// drain counts by the client's events, which follow the record of a job in the database.
func (p *peer) drain(ctx context.Context, jobs int) (r result, err error) {
	completed, unsubscribe := p.client.SubscribeConfig(&river.SubscribeConfig{
		// An event that finds the channel full is dropped.
		ChanSize: jobs + 1,
		Kinds:    []river.EventKind{river.EventKindJobCompleted, river.EventKindJobFailed, river.EventKindJobCancelled},
	})
	defer unsubscribe()
	begun, cpu := time.Now(), cpuSeconds()
	if err := p.client.Start(ctx); err != nil {
		return result{}, fmt.Errorf("start client: %w", err)
	}
	defer func() { err = errors.Join(err, p.client.Stop(context.WithoutCancel(ctx))) }()
	for n := range jobs {
		select {
		case <-ctx.Done():
			return result{}, fmt.Errorf("%d of %d jobs completed: %w", n, jobs, ctx.Err())
		case event := <-completed:
			if event.Kind != river.EventKindJobCompleted {
				return result{}, fmt.Errorf("a job ended with %s", event.Kind)
			}
		}
	}
	return result{
		Peer: "River", Version: version("github.com/riverqueue/river"), Settings: p.settings.String(),
		Jobs: jobs, Seconds: time.Since(begun).Seconds(), CPUSeconds: cpuSeconds() - cpu,
	}, nil
}
