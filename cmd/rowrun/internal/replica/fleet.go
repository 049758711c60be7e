package replica

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/scheduler/sqlexec"
)

const (
	// A target that can't be reached is set aside for firstAside, and for twice as long each time until it can, at most mostAside.
	firstAside = 5 * time.Second
	mostAside  = 5 * time.Minute
	// probes is how many targets are asked at once whether they are back, probeRound how many in a row, probeTimeout for how long.
	probes       = 8
	probeRound   = 16
	probeTimeout = 5 * time.Second
	// goneGrace is for how long a target that has gone is found by runs that were claimed just before.
	goneGrace = time.Minute
	// maxWhy is how much of a failure is said of a target that is set aside.
	maxWhy = 200
)

// fleet are the targets of a replica that has databases_from. Sources are read again and again; one that can't be read leaves its
// targets as they were. Its targets that can't be reached are set aside: the replica says no more that it reaches them, until a
// connection of its own succeeds.
type fleet struct {
	lookup  func(string) (string, bool)
	fixed   map[string]FileDatabase // of databases: never set aside
	sources []*fleetState
	log     zerolog.Logger
	// use has runs that begin from now on find these targets; announce says what is reached.
	use      func(map[string]FileDatabase) error
	announce func(reached map[string]FileDatabase, aside map[string]string)
	probe    func(context.Context, FileDatabase) error

	news  chan struct{} // a target was set aside
	grace time.Duration
	gone  map[string]goneTarget // of Run alone

	telling sync.Mutex // held while announcing, so that what is older is never told later

	mu    sync.Mutex
	now   map[string]FileDatabase // all, whether they are set aside or not
	aside map[string]*asideTarget
}

// fleetState is a source with what it gave last.
type fleetState struct {
	FleetSource
	targets map[string]FileDatabase
	next    time.Time
	failed  string // what was logged of it
}

// goneTarget is a target that no source gives any more.
type goneTarget struct {
	FileDatabase
	until time.Time
}

// asideTarget is a target that can't be reached.
type asideTarget struct {
	why   string
	tries int
	until time.Time
}

func newFleet(c *Config, log zerolog.Logger) *fleet {
	f := &fleet{
		lookup: c.lookup, fixed: c.File.Databases, log: log, probe: reach, news: make(chan struct{}, 1),
		now: maps.Clone(c.File.Databases), aside: map[string]*asideTarget{},
		grace: goneGrace, gone: map[string]goneTarget{},
	}
	for _, source := range c.File.DatabasesFrom {
		f.sources = append(f.sources, &fleetState{FleetSource: source})
	}
	return f
}

// Run reads the sources and asks for the targets that are set aside, until ctx ends.
func (f *fleet) Run(ctx context.Context) error {
	for {
		timer := time.NewTimer(time.Until(f.nextLook()))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-f.news:
		case <-timer.C:
		}
		timer.Stop()
		if ctx.Err() == nil {
			f.refresh(ctx)
			f.ask(ctx)
			f.tell()
		}
	}
}

func (f *fleet) nextLook() time.Time {
	next := time.Now().Add(mostAside)
	for _, s := range f.sources {
		if s.next.Before(next) {
			next = s.next
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range f.aside {
		if a.until.Before(next) {
			next = a.until
		}
	}
	return next
}

// refresh reads the sources whose time has come. Targets that have gone stay usable for a while, as runs on them may just have been
// claimed.
func (f *fleet) refresh(ctx context.Context) {
	read := false
	for _, s := range f.sources {
		if time.Now().Before(s.next) {
			continue
		}
		found, err := s.read(ctx, f.lookup)
		if ctx.Err() != nil {
			return
		}
		s.next = time.Now().Add(time.Duration(s.Refresh))
		if err != nil {
			if text := err.Error(); text != s.failed {
				f.log.Error().Err(err).Str("source", s.String()).Int("targets", len(s.targets)).Msg("databases_from can't be read: its targets stay as they were")
				s.failed = text
			}
			continue
		}
		if s.failed != "" {
			f.log.Info().Str("source", s.String()).Msg("databases_from can be read again")
			s.failed = ""
		}
		s.targets, read = found, true
	}
	if !read {
		return
	}
	all := maps.Clone(f.fixed)
	if all == nil {
		all = map[string]FileDatabase{}
	}
	for _, s := range f.sources {
		for name, target := range s.targets {
			if _, taken := all[name]; !taken {
				all[name] = target
			}
		}
	}
	f.mu.Lock()
	before := f.now
	f.mu.Unlock()
	usable := f.withGone(all, before)
	if err := f.use(usable); err != nil {
		f.log.Error().Err(err).Msg("databases_from has a target that can't be used: targets stay as they were")
		return
	}
	f.mu.Lock()
	f.now = all
	maps.DeleteFunc(f.aside, func(name string, _ *asideTarget) bool { _, there := all[name]; return !there })
	for name, a := range f.aside {
		if all[name].URL != before[name].URL { // it leads elsewhere: nobody knows yet whether that can be reached
			a.tries, a.until = 0, time.Time{}
		}
	}
	f.mu.Unlock()
	if came, went := missing(all, before), missing(before, all); came+went > 0 {
		f.log.Info().Int("targets", len(all)).Int("new", came).Int("gone", went).Msg("target databases changed")
	}
}

// withGone adds those that have gone not long ago.
func (f *fleet) withGone(all, before map[string]FileDatabase) map[string]FileDatabase {
	now := time.Now()
	maps.DeleteFunc(f.gone, func(name string, gone goneTarget) bool {
		_, back := all[name]
		return back || now.After(gone.until)
	})
	for name, target := range before {
		if _, there := all[name]; !there {
			f.gone[name] = goneTarget{target, now.Add(f.grace)}
		}
	}
	usable := maps.Clone(all)
	for name, gone := range f.gone {
		usable[name] = gone.FileDatabase
	}
	return usable
}

// missing is how many of some aren't among others.
func missing(some, others map[string]FileDatabase) int {
	n := 0
	for name := range some {
		if _, there := others[name]; !there {
			n++
		}
	}
	return n
}

// unreachable sets a target aside. It may be called by any goroutine.
func (f *fleet) unreachable(name string, err error) {
	f.mu.Lock()
	_, fixed := f.fixed[name]
	_, known := f.now[name]
	_, aside := f.aside[name]
	if !fixed && known && !aside {
		why := cli.Printable(err.Error())
		f.aside[name] = &asideTarget{why: why[:min(len(why), maxWhy)], tries: 1, until: time.Now().Add(firstAside)}
	}
	f.mu.Unlock()
	if !fixed && known && !aside {
		f.log.Warn().Err(err).Str("database_id", name).Msg("a target database can't be reached: it is set aside until it can")
		f.tell() // at once: Run may be waiting for a source or for targets that don't answer, and a retry would come first
		select {
		case f.news <- struct{}{}:
		default:
		}
	}
}

// ask connects to targets that are set aside and whose time has come.
func (f *fleet) ask(ctx context.Context) {
	f.mu.Lock()
	due := map[string]FileDatabase{}
	for name, a := range f.aside {
		if len(due) < probeRound && !time.Now().Before(a.until) {
			due[name] = f.now[name]
		}
	}
	f.mu.Unlock()
	var group errgroup.Group
	group.SetLimit(probes)
	for name, target := range due {
		group.Go(func() error {
			one, cancel := context.WithTimeout(ctx, probeTimeout)
			defer cancel()
			err := f.probe(one, target)
			if ctx.Err() == nil {
				f.probed(name, err)
			}
			return nil
		})
	}
	_ = group.Wait()
}

func (f *fleet) probed(name string, err error) {
	f.mu.Lock()
	a := f.aside[name]
	back := a != nil && err == nil
	switch {
	case a == nil:
	case back:
		delete(f.aside, name)
	default:
		a.until = time.Now().Add(min(firstAside<<min(a.tries, 10), mostAside))
		a.tries++
	}
	f.mu.Unlock()
	if back {
		f.log.Info().Str("database_id", name).Msg("a target database can be reached again")
		f.tell() // others of the round may not answer for long
	}
}

// tell announces what is reached now. It may be called by any goroutine.
func (f *fleet) tell() {
	f.telling.Lock()
	defer f.telling.Unlock()
	f.mu.Lock()
	reached, aside := maps.Clone(f.now), map[string]string{}
	for name, a := range f.aside {
		delete(reached, name)
		aside[name] = a.why
	}
	f.mu.Unlock()
	f.announce(reached, aside)
}

// reach connects to a target.
func reach(ctx context.Context, target FileDatabase) error {
	if !target.IsPostgreSQL() {
		_, err := target.Look(ctx)
		return err
	}
	config, err := pgconn.ParseConfig(target.URL)
	if err != nil {
		return errors.New("url is not one that PostgreSQL understands")
	}
	config.BuildFrontend = sqlexec.BoundedFrontend
	config.RuntimeParams["application_name"] = "rowrun is it back"
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	return conn.Close(ctx)
}

// names are those of targets, sorted.
func names(targets map[string]FileDatabase) []string { return slices.Sorted(maps.Keys(targets)) }
