package replica

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/metrics"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/server"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/stream"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/systemd"
	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store/connect"
)

// maxShardPause is how long a shard that can't be started waits for the next try, at most.
const maxShardPause = 30 * time.Second

// shards is a process that serves several databases: a replica for each, which share slots, output and HTTP address. What ends a
// single replica ends all of them, in good order. A database that is away, or that refuses its replica, holds up that one alone.
type shards struct {
	config  *Config
	all     []*shard
	process process
	metrics *metrics.Process
	web     *server.Shards   // nil: nothing is served
	manager *systemd.Manager // nil: no service manager listens
	log     zerolog.Logger
}

// shard is one of them.
type shard struct {
	of      *shards
	name    string
	config  *Config
	log     zerolog.Logger
	running atomic.Pointer[replica] // nil: it isn't served now
	failure atomic.Pointer[error]   // why the last try to start it failed; nil: it didn't
}

// serveShards serves all of them until ctx ends.
func serveShards(ctx context.Context, c *Config, out io.Writer, log zerolog.Logger) error {
	traces, err := newTracer(ctx, c, log)
	if err != nil {
		return err
	}
	if traces != nil {
		defer traces.Close() // after the drain
	}
	s := &shards{config: c, log: log, process: process{output: stream.NewOutput(out, 0), color: cli.InColor(out), traces: traces}}
	for _, given := range c.Shards {
		s.all = append(s.all, &shard{of: s, name: given.Name, config: c.of(given), log: log.With().Str("shard", given.Name).Logger()})
	}
	for _, make := range []func() error{s.makePool, s.makeWeb, s.makeManager} {
		if err := make(); err != nil {
			return err
		}
	}
	return s.run(ctx)
}

// makePool makes the slots that all share. An admin has none.
func (s *shards) makePool() (err error) {
	if s.config.Admin() {
		return nil
	}
	s.process.pool, err = scheduler.NewPool(s.config.Concurrency, s.config.Reserve)
	return err
}

// used is how many slots there are, and how many are taken.
func (s *shards) used() (slots, used int) {
	if s.process.pool == nil {
		return 0, 0
	}
	return s.process.pool.Slots(), s.process.pool.Taken()
}

// makeWeb binds the HTTP address, unless there is none.
func (s *shards) makeWeb() (err error) {
	c := s.config
	if s.metrics, err = metrics.NewProcess(metrics.ProcessConfig{Shards: c.shardNames(), Slots: s.used}); err != nil || c.HTTPAddr == "" {
		return err
	}
	s.web, err = server.NewShards(server.ShardsConfig{
		Addr: c.HTTPAddr, Names: c.shardNames(), Away: s.away, Metrics: s.metrics.Handler(),
		Token: c.HTTPToken, Operators: c.Dashboard.Operators, Prefix: c.Dashboard.Prefix, List: c.Dashboard.UI != "off", Log: s.log,
	})
	if err != nil {
		return fmt.Errorf("--http-addr: %w", err)
	}
	s.process.guard = s.web.Guard()
	return nil
}

// away says why a shard isn't served.
func (s *shards) away(ctx context.Context, name string) error {
	for _, one := range s.all {
		if one.name == name {
			return one.away(ctx)
		}
	}
	return nil
}

func (s *shard) away(ctx context.Context) error {
	if failure := s.failure.Load(); failure != nil {
		return *failure
	}
	if err := connect.Try(ctx, s.config.Database.URL); err != nil {
		return errors.New(connect.Diagnose(err).Text)
	}
	return nil
}

// run serves until ctx ends, or until a replica does. HTTP is there from the beginning until all have drained.
func (s *shards) run(ctx context.Context) error {
	work, stopWork := context.WithCancel(ctx)
	defer stopWork()
	defer context.AfterFunc(work, s.manager.Stopping)()
	around, stopAround := context.WithCancel(context.WithoutCancel(ctx))
	defer stopAround()
	var support, serving errgroup.Group
	for _, p := range s.support() {
		support.Go(func() error {
			defer stopWork()
			return p.Run(around)
		})
	}
	var mu sync.Mutex
	var all error
	for _, one := range s.all {
		serving.Go(func() error {
			defer stopWork()
			if err := one.run(work); err != nil {
				mu.Lock()
				defer mu.Unlock()
				all = errors.Join(all, fmt.Errorf("shard %s: %w", one.name, err))
			}
			return nil
		})
	}
	_ = serving.Wait() // their errors are in all
	stopAround()
	return errors.Join(all, support.Wait())
}

func (s *shards) support() (parts []part) {
	if s.web != nil {
		parts = append(parts, s.web)
	}
	if s.manager != nil {
		parts = append(parts, s.manager)
	}
	return parts
}

// run serves one shard until ctx ends or its replica does. A start that fails is tried again.
func (s *shard) run(ctx context.Context) error {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = time.Second, maxShardPause
	said := ""
	for ctx.Err() == nil {
		began, err := s.serve(ctx)
		var wrong *cli.UsageError
		if began || err == nil || errors.As(err, &wrong) {
			return err
		}
		s.failure.Store(&err)
		if err.Error() != said {
			said = err.Error()
			s.log.Error().Err(err).Msg("shard can't be served; trying again")
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause.NextBackOff()):
		}
	}
	return nil
}

// serve is one try.
func (s *shard) serve(ctx context.Context) (began bool, err error) {
	executors, err := newExecutors(s.config)
	if err != nil {
		return false, err
	}
	defer executors.close()
	of := s.of.process
	of.shard, of.begin = s.name, s.begin
	config := *s.config
	return serveOne(ctx, &config, executors, &of, s.log)
}

// begin has a replica's answers served; nil: it has ended.
func (s *shard) begin(r *replica) {
	s.running.Store(r)
	var surface *server.Surface
	var counts *metrics.Metrics
	if r != nil {
		s.failure.Store(nil)
		surface, counts = r.surface, r.metrics
	}
	s.of.metrics.Serve(s.name, counts)
	if s.of.web != nil {
		s.of.web.Serve(s.name, surface)
	}
}
