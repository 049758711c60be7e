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

// riverDefaults are River's defaults. MaxWorkers has none; its documentation starts with 100.
func riverDefaults(workers int) riverSettings {
	return riverSettings{workers: workers, cooldown: river.FetchCooldownDefault, poll: river.FetchPollIntervalDefault}
}

// riverQuick is the least cooldown that River's own benchmark uses, and defaults otherwise: a notification is followed
// by a fetch at once.
func riverQuick() riverSettings {
	s := riverDefaults(100)
	s.cooldown = riverTuned().cooldown
	return s
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
	began chan<- begun // nil: nobody asks
}

// begun is the first line of a job.
type begun struct {
	number int
	at     time.Time
}

// Work does nothing but say that it began, where somebody asks.
func (w noopWorker) Work(ctx context.Context, job *river.Job[noopArgs]) error {
	if w.began == nil {
		return nil
	}
	select {
	case w.began <- begun{job.Args.Number, time.Now()}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// peer is a client of River and its pool.
type peer struct {
	pool   *pgxpool.Pool
	driver *riverpgxv5.Driver
	config river.Config
}

// openRiver prepares what clients need; none is there yet.
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
	return &peer{pool: pool, driver: riverpgxv5.New(pool), config: river.Config{
		FetchCooldown:     s.cooldown,
		FetchPollInterval: s.poll,
		Logger:            quiet(),
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: s.workers}},
	}}, nil
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// client is one whose jobs tell began when they begin; nil: nobody. Nothing of it works yet.
func (p *peer) client(began chan<- begun) (*river.Client[pgx.Tx], error) {
	config := p.config
	config.Workers = river.NewWorkers()
	river.AddWorker(config.Workers, noopWorker{began: began})
	return river.NewClient(p.driver, &config)
}

func (p *peer) do(ctx context.Context, statements ...string) error {
	for _, statement := range statements {
		if _, err := p.pool.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}
