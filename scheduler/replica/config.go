package replica

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store/connect"
)

// Config says what a replica runs. Only Executors is required; what is left out has the default of `rowrun serve`.
type Config struct {
	// Executors by task type; the type of a run is that of its task. Required, at least one. SQL, DATABASE_MIGRATE, HTTP,
	// COMMAND and NOOP are not accepted: they are run by `rowrun serve`.
	Executors map[string]Executor
	// Name is what people know this replica by. Default: the host's name.
	Name string
	// Queues that are served. Default: default.
	Queues []string
	// Concurrency is how many runs execute at once. Default 20.
	Concurrency int
	// MaxClaimsPerType is how many runs of one type execute at once, where TypeConcurrency has no number for it. Default: as many
	// as Concurrency.
	MaxClaimsPerType int
	// TypeConcurrency is how many runs of a type execute at once.
	TypeConcurrency map[string]int
	// TypeTimeout is for tasks of a type that have none of their own. Default TaskTimeout; 0: none.
	TypeTimeout map[string]time.Duration
	// Reserve is how many slots only runs of at least a priority take: {50: 4} keeps four for runs from 50 on. Those of several
	// priorities add up, to at most Concurrency, and RecoveryConcurrency. Default: none.
	Reserve map[int]int
	// Recovery is auto (the default) or off: whether this replica looks for an outage of the deployment when it comes, and takes
	// part in the recovery from it. Meanwhile RecoveryConcurrency (default Concurrency) runs execute at once, and all replicas
	// together start at most RecoveryRate runs per second. Default 0: no cap; the same on all replicas.
	Recovery            string
	RecoveryConcurrency int
	RecoveryRate        int
	// TaskTimeout is for tasks that have none of their own. Default 1 h; below 0: none.
	TaskTimeout time.Duration
	// DrainTimeout (default 30 s) bounds a stop, all in all. Let whoever stops the process wait longer.
	DrainTimeout time.Duration
	// StaleAfter (default 60 s, 1 s to 24 h) is the lease: how long this replica may be silent before others declare it
	// dead. It sends six heartbeats in that time.
	StaleAfter time.Duration
	// SweepInterval (default 5 s) is how often to look for what no notification told of.
	SweepInterval time.Duration
	// Retention (default 720 h) is how long ended runs of the whole deployment are kept: the same on all replicas.
	Retention time.Duration
	// RetentionFailed (default: Retention) is that of runs that are FAILED.
	RetentionFailed time.Duration
	// DirectURL leads to the same database without a pooler, where Run's URL leads through one in transaction mode: on it
	// notifications are heard. Without it sweeps find everything, later.
	DirectURL string
	// MaxConns bounds the connections of the pool, besides one that listens. Default 10, at least 5.
	MaxConns int
	// Log gets what happens here, at level info a line for each run claimed and ended. The zero value says nothing.
	Log zerolog.Logger
}

const module = "github.com/rowrun/rowrun"

const (
	minConns       = 5
	maxConns       = 1000
	maxConcurrency = 10_000
	minStaleAfter  = time.Second
	maxStaleAfter  = 24 * time.Hour
	// Below this a replica would do nothing but look.
	minInterval = 10 * time.Millisecond
	heartbeats  = 6 // in a lease
)

// builtIn are the types of `rowrun serve`. What they may do depends on lists of databases and commands and on who wrote
// the task; a program has neither.
func builtIn() []string { return []string{"SQL", "DATABASE_MIGRATE", "HTTP", "COMMAND", "NOOP"} }

// complete fills in defaults and refuses what can't work.
func (c *Config) complete() error {
	for _, name := range builtIn() {
		if _, given := c.Executors[name]; given {
			return fmt.Errorf("executors: %s is a type of `rowrun serve`; accepted: types of your own", name)
		}
	}
	if c.Name == "" {
		c.Name, _ = os.Hostname()
		c.Name = scheduler.ShortName(c.Name)
	}
	if c.StaleAfter == 0 {
		c.StaleAfter = time.Minute
	}
	if c.StaleAfter < minStaleAfter || c.StaleAfter > maxStaleAfter {
		return fmt.Errorf("stale after: %s is not accepted; accepted: %s to %s", c.StaleAfter, minStaleAfter, maxStaleAfter)
	}
	if c.SweepInterval != 0 && c.SweepInterval < minInterval {
		return fmt.Errorf("sweep interval: %s is not accepted; accepted: at least %s", c.SweepInterval, minInterval)
	}
	if c.Concurrency < 0 || c.Concurrency > maxConcurrency {
		return fmt.Errorf("concurrency: %d is not accepted; accepted: 1 to %d", c.Concurrency, maxConcurrency)
	}
	if c.TaskTimeout == 0 {
		c.TaskTimeout = time.Hour
	}
	if c.MaxConns == 0 {
		c.MaxConns = 10
	}
	if c.MaxConns < minConns || c.MaxConns > maxConns {
		return fmt.Errorf("max conns: %d is not accepted; accepted: %d to %d", c.MaxConns, minConns, maxConns)
	}
	return nil
}

// scheduler is the configuration of what runs, still without what hangs on the database.
func (c *Config) scheduler() (scheduler.Config, error) {
	s := scheduler.Config{
		Executors: maps.Clone(c.Executors), Name: c.Name, Version: moduleVersion(), Queues: slices.Clone(c.Queues), Concurrency: c.Concurrency,
		HeartbeatInterval: c.StaleAfter / heartbeats, StaleAfter: c.StaleAfter, SweepInterval: c.SweepInterval,
		Retention: c.Retention, RetentionFailed: c.RetentionFailed, TaskTimeout: max(c.TaskTimeout, 0), DrainTimeout: c.DrainTimeout,
		MaxPerType: c.MaxClaimsPerType, TypeLimits: c.typeLimits(), Reserve: c.reserves(),
		Recovery: c.Recovery, RecoveryConcurrency: c.RecoveryConcurrency, RecoveryRate: c.RecoveryRate,
		LogRuns: func() bool { return true }, // it never writes the stream
		Log:     c.Log,
	}
	return s, s.Check()
}

// typeLimits are TypeConcurrency and TypeTimeout as one.
func (c *Config) typeLimits() map[string]scheduler.TypeLimit {
	limits := make(map[string]scheduler.TypeLimit, len(c.TypeConcurrency)+len(c.TypeTimeout))
	for name, most := range c.TypeConcurrency {
		limits[name] = scheduler.TypeLimit{Concurrency: most}
	}
	for name, timeout := range c.TypeTimeout {
		limit := limits[name]
		limit.Timeout = &timeout
		limits[name] = limit
	}
	return limits
}

// reserves are Reserve in the order of their priorities.
func (c *Config) reserves() (all []scheduler.Reserve) {
	for _, priority := range slices.Sorted(maps.Keys(c.Reserve)) {
		all = append(all, scheduler.Reserve{Priority: priority, Slots: c.Reserve[priority]})
	}
	return all
}

// moduleVersion is which release of Rowrun the program was built with, as a sidecar shows its own; "" where that has none.
func moduleVersion() string {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	i := slices.IndexFunc(build.Deps, func(m *debug.Module) bool { return m.Path == module })
	if i < 0 || build.Deps[i].Replace != nil {
		return ""
	}
	return build.Deps[i].Version
}

// way is how the database at url is reached.
func (c *Config) way(url string) (connect.Way, error) {
	w := connect.Way{URL: url, DirectURL: c.DirectURL, Source: "the url of Run", DirectSource: "DirectURL"}
	if w.URL == "" {
		return w, errors.New("the url of Run is empty; accepted: " + connect.Form)
	}
	if w.DirectURL == "" {
		w.DirectURL = w.URL
	}
	for _, given := range []struct{ source, url string }{{w.Source, w.URL}, {w.DirectSource, w.DirectURL}} {
		switch _, err := connect.Parse(given.url); {
		case errors.Is(err, connect.ErrForm):
			return w, fmt.Errorf("%s: %w; accepted: %s", given.source, err, connect.Form)
		case err != nil:
			return w, fmt.Errorf("%s: %w", given.source, err)
		}
	}
	return w, nil
}
