package scheduler

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/store"
)

// Config says what a scheduler runs and how patient it is. Durations that are zero get their default.
type Config struct {
	// Store is the database. Required; a *store.Store is opened with Lease = StaleAfter.
	Store Store
	// Admin has this replica claim nothing: it promotes, sweeps and settles, and announces no types, so that no gate counts on it.
	Admin bool
	// Executors by task type. Required, at least one; an admin has none.
	Executors map[string]Executor
	// Databases are the targets that the SQL executors reach, Commands those that COMMAND knows.
	Databases, Commands []string
	// Engines are those of Databases that are not PostgreSQL, by name: they are shown where databases are.
	Engines map[string]string
	// Queues that are served. Default: default.
	Queues []string
	// Name is what the operator calls this replica, Version that of its binary.
	Name, Version string
	// Concurrency is how many runs execute at once. Default 20.
	Concurrency int
	// Pool, where not nil, is what this scheduler shares with others: its slots are Concurrency, its reserves are Reserve.
	Pool *Pool
	// Reserve are slots of Concurrency that only runs of at least a priority take, at most one of each priority. Default: none.
	Reserve []Reserve
	// MaxBatch (default 1000) is how many runs at most are claimed or ended by one statement. 1: each by itself, for
	// measurements and tests.
	MaxBatch int
	// TwoSteps has runs promoted and claimed in two versions of their rows even where one does for both: for measurements
	// and tests.
	TwoSteps bool
	// HeartbeatInterval (default 10 s); StaleAfter is the lease: how long this replica may be silent before others
	// declare it dead (default 60 s, at least 3 heartbeats).
	HeartbeatInterval, StaleAfter time.Duration
	// StaleSweepInterval (default 30 s): how often to look for dead replicas.
	StaleSweepInterval time.Duration
	// SweepInterval (default 5 s): how often to look for everything that a wake-up should have brought.
	SweepInterval time.Duration
	// CleanupInterval (default 1 h) and Retention (default 720 h): how often old rows are removed, and how old they are.
	CleanupInterval, Retention time.Duration
	// RetentionFailed is how old FAILED runs are when they are removed; 0: as Retention.
	RetentionFailed time.Duration
	// TaskTimeout is for runs whose task has none; 0: no limit.
	TaskTimeout time.Duration
	// DrainTimeout (default 30 s) bounds a stop, all in all.
	DrainTimeout time.Duration
	// CancelGrace (default 20 s) is how long an executor may take to return once it was told to stop. Beyond it the run is
	// recorded without it, and it keeps its slot until it does return.
	CancelGrace time.Duration
	// TypeLimits are by task type what this replica allows runs of it, MaxPerType is how many of each other type execute at once;
	// 0: as many as there are slots.
	TypeLimits map[string]TypeLimit
	MaxPerType int
	// Recovery (default RecoveryAuto): whether this replica looks for an outage of the deployment when it comes, and takes part in
	// the recovery from it: meanwhile RecoveryConcurrency (0: Concurrency) is its Concurrency, and all replicas together start at
	// most RecoveryRate runs per second; 0: no cap.
	Recovery            string
	RecoveryConcurrency int
	RecoveryRate        int
	// StuckLimit (default 5) is how many such executors a replica bears. With more, or with no slot left, Run drains and
	// returns ErrStuck.
	StuckLimit int
	// Wake says that something may be due or a gate may have opened, Available that a run may be claimed, Ended that
	// a run of this replica ended, perhaps by somebody else's hand. All say "look again", no more. nil: only sweeps.
	Wake, Available, Ended <-chan struct{}
	// LogRuns, where not nil and true, asks for a log line for each run claimed and ended here: for replicas that
	// don't write the stream.
	LogRuns func() bool
	// Surveyed, where not nil, is told what each sweep's look at the database saw, for those who would have to look
	// themselves. One goroutine calls it; it must return at once.
	Surveyed func(store.Survey)
	// Identified, where not nil, is told the deployment's identity before each incarnation: a person may have given a copied
	// database another one while this replica waited.
	Identified func(deployment string)
	// Observer is told what happens; its zero value isn't.
	Observer Observer
	// Trace, where not nil, is called before each executor: the context that it returns is the executor's, and end is
	// called when it has returned, with the code of its failure, "": it didn't fail. Both must return at once.
	Trace func(ctx context.Context, c *store.Claim) (traced context.Context, end func(code string))
	// Random gives numbers from 0 on, below 1, which keep apart in time what replicas do that began together. Default: by chance.
	Random func() float64
	Log    zerolog.Logger
}

// Scheduler runs what the database holds. Make it with New; Run it once.
type Scheduler struct {
	cfg          Config
	types        []string
	capabilities store.Capabilities

	recorder *recorder
	freed    chan struct{} // a slot became free: claim
	opened   chan struct{} // a gate may have opened through us: promote and claim
	promoted chan struct{} // runs were promoted beside dispatch: claim
	// invalidations counts how often runs may have come before those that searches have come to.
	invalidations atomic.Int64
	// limited says whether limits may apply to what is claimed here, as far as the last trip told.
	limited atomic.Bool
	// lookAtRuns passes wake-ups on to the watch: a cancel may have been asked for.
	lookAtRuns chan struct{}
	// peers are store.Survey's, of the last one.
	peers atomic.Int64
	// othersClaimed says that another replica has claimed, claimsOfOthers how many runs.
	othersClaimed  chan struct{}
	claimsOfOthers atomic.Int64

	mu      sync.Mutex
	running map[string]*running // by claim: after a failover an id may be given twice
	claimed [1024]int64         // the last runs claimed, each at its id modulo the length

	seat       *seat // nil: its slots are its own
	rooms      rooms
	recovering atomic.Pointer[recovering] // nil: no recovery is under way, as far as this replica knows

	executing atomic.Int64
	reserved  atomic.Int64 // slots that trips under way may fill
	stalled   atomic.Int64 // executors whose run reported no progress in time, and that have not returned
	stuck     atomic.Int64 // executors that ignore their cancel
	missed    atomic.Int64 // heartbeats that could not be written
	completed atomic.Int64
	failed    atomic.Int64
	current   atomic.Pointer[incarnation]
	draining  atomic.Bool
	unable    unable
	elsewhere atomic.Pointer[string] // why the database is not this deployment's; empty: it is

	holdUps     holdUps
	notifyQueue atomic.Uint64 // how full the queue of notifications is, as bits of a float64

	giveUp context.CancelCauseFunc // asks for a drain; set by Run
	pace   pace
	shares *shares
	// reached is what SetDatabases gave, nil: the configuration's.
	reached   atomic.Pointer[reached]
	reachable chan struct{} // it was called
}

// Check fills in defaults and refuses what can't work. Store, and what hangs on it, may still be missing.
func (c *Config) Check() error {
	switch {
	case c.Admin && len(c.Executors) > 0:
		return errors.New("an admin runs nothing: executors are not for it")
	case c.Admin && c.Pool != nil:
		return errors.New("an admin runs nothing: it shares no slots")
	case !c.Admin && len(c.Executors) == 0:
		return errors.New("at least one executor is required")
	}
	c.setDefaults()
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"heartbeat interval", c.HeartbeatInterval},
		{"stale after", c.StaleAfter},
		{"stale sweep interval", c.StaleSweepInterval},
		{"sweep interval", c.SweepInterval},
		{"cleanup interval", c.CleanupInterval},
		{"retention", c.Retention},
		{"retention of failed runs", c.RetentionFailed},
		{"drain timeout", c.DrainTimeout},
		{"cancel grace", c.CancelGrace},
	} {
		if d.value < 0 {
			return fmt.Errorf("%s must be above zero", d.name)
		}
	}
	if c.StaleAfter < 3*c.HeartbeatInterval {
		return fmt.Errorf("stale after (%s) must be at least 3 heartbeat intervals (%s)", c.StaleAfter, c.HeartbeatInterval)
	}
	if c.Concurrency < 0 || c.MaxBatch < 0 || c.TaskTimeout < 0 || c.StuckLimit < 0 {
		return errors.New("concurrency, max batch, task timeout and stuck limit may not be negative")
	}
	if err := errors.Join(checkReserves(c.Reserve, c.Concurrency), c.checkLimits(), c.checkRecovery()); err != nil {
		return err
	}
	return c.checkNames()
}

func (c *Config) role() string {
	if c.Admin {
		return store.RoleAdmin
	}
	return store.RoleWorker
}

func (c *Config) setDefaults() {
	if c.Pool != nil {
		c.Concurrency, c.Reserve = c.Pool.size, c.Pool.reserves
	}
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&c.HeartbeatInterval, 10*time.Second)
	def(&c.StaleAfter, 60*time.Second)
	def(&c.StaleSweepInterval, 30*time.Second)
	def(&c.SweepInterval, 5*time.Second)
	def(&c.CleanupInterval, time.Hour)
	def(&c.Retention, 720*time.Hour)
	def(&c.DrainTimeout, 30*time.Second)
	def(&c.CancelGrace, 20*time.Second)
	if c.StuckLimit == 0 {
		c.StuckLimit = 5
	}
	if c.Concurrency == 0 {
		c.Concurrency = 20
	}
	if c.MaxBatch == 0 {
		c.MaxBatch = 1000
	}
	if c.Recovery == "" {
		c.Recovery = RecoveryAuto
	}
	if len(c.Queues) == 0 {
		c.Queues = []string{"default"}
	}
	if c.Random == nil {
		c.Random = rand.Float64
	}
}

// New checks a configuration.
func New(c Config) (*Scheduler, error) {
	if c.Store == nil {
		return nil, errors.New("scheduler: a store is required")
	}
	if err := c.Check(); err != nil {
		return nil, fmt.Errorf("scheduler: %w", err)
	}
	s := &Scheduler{cfg: c, freed: make(chan struct{}, 1), opened: make(chan struct{}, 1), promoted: make(chan struct{}, 1), lookAtRuns: make(chan struct{}, 1), othersClaimed: make(chan struct{}, 1), reachable: make(chan struct{}, 1), running: map[string]*running{}, pace: c.Random, shares: newShares(c.Reserve)}
	for t := range c.Executors {
		s.types = append(s.types, t)
	}
	sort.Strings(s.types)
	s.capabilities = store.Capabilities{
		Queues: slices.Clone(c.Queues), Types: s.types, Databases: c.Databases, Commands: c.Commands, DefaultTimeout: c.TaskTimeout,
	}
	s.rooms = rooms{limits: c.TypeLimits, most: c.MaxPerType, common: c.TaskTimeout, busy: map[string]int{}}
	s.recorder = newRecorder(s)
	if s.seat = c.Pool.seat(s.freed); s.seat != nil {
		s.shares = c.Pool.shares
	}
	return s, nil
}

// Status is what a replica says of itself.
type Status struct {
	ReplicaID string // "" before the first heartbeat and between incarnations
	Name      string
	Draining  bool
	Paused    bool   // it claims nothing, because an operator said so
	Role      string // store.RoleWorker or store.RoleAdmin
	Executing int
	Slots     int   // how many runs execute at once, at most
	Completed int64 // runs that ended DONE here, since the process started
	Failed    int64
	// Silent is for how long no heartbeat was written.
	Silent time.Duration
	// Fenced says that the lease was given up, or another replica took it: no heartbeat follows under ReplicaID, and what is left
	// of its runs is recorded.
	Fenced bool
	// HeartbeatFailures counts heartbeats that could not be written, since the process started.
	HeartbeatFailures int64
	// Stalled executors have a run that reported no progress in time, Stuck ones ignore their cancel; both now.
	Stalled, Stuck int64
	// HoldUps are sessions of others that hold locks which this replica goes without or waits for.
	HoldUps []store.HoldUp
	// NotifyQueue is how full the server's queue of notifications was when it was last looked at, 0 to 1. From
	// store.NotifyQueueLimit on nothing is notified.
	NotifyQueue float64
	// Elsewhere says why nothing is done: the database is a copy of another deployment's. "": it isn't.
	Elsewhere string
	// Unable is for how long every pass that promotes and claims has failed, 0: the last one didn't; UnableWhy says why.
	Unable    time.Duration
	UnableWhy string
}

// Status never asks the database.
func (s *Scheduler) Status() Status {
	st := Status{
		Name: s.cfg.Name, Role: s.cfg.role(), Draining: s.draining.Load(), Executing: int(s.executing.Load()),
		Completed: s.completed.Load(), Failed: s.failed.Load(),
		HeartbeatFailures: s.missed.Load(), Stalled: s.stalled.Load(), Stuck: s.stuck.Load(),
		HoldUps: s.holdUps.all(), NotifyQueue: math.Float64frombits(s.notifyQueue.Load()),
		Elsewhere: s.waits(),
	}
	if !s.cfg.Admin {
		st.Slots = s.slots()
	}
	st.Unable, st.UnableWhy = s.unable.read()
	if t := s.current.Load(); t != nil {
		st.ReplicaID = t.id
		st.Silent, st.Fenced = time.Since(t.lastBeat()), t.over.Load()
		st.Paused = t.rules.Load().paused && !s.cfg.Admin
	}
	return st
}

// Run serves until ctx is canceled, or an operator has asked for it (rowrun.drain_replica), which begins a drain; it returns
// when nothing of it is left running. An error: the drain had to leave something behind. ErrStuck: it drained by itself, and
// executors that ignore their cancel are still there.
func (s *Scheduler) Run(ctx context.Context) error {
	defer s.seat.sit()()
	ctx, s.giveUp = context.WithCancelCause(ctx)
	defer s.giveUp(nil)
	err := s.incarnations(ctx)
	if cause := context.Cause(ctx); errors.Is(cause, ErrStuck) {
		return errors.Join(cause, err)
	}
	return err
}

// incarnations serves one incarnation after another.
func (s *Scheduler) incarnations(ctx context.Context) error {
	base := context.WithoutCancel(ctx)
	recording, stopRecording := context.WithCancel(base)
	var wg sync.WaitGroup
	wg.Go(func() { s.recorder.run(recording) })
	defer wg.Wait()
	defer stopRecording()

	errs := s.newOnce("register")
	for ctx.Err() == nil {
		if err := s.settle(ctx); err != nil {
			if !errors.Is(err, store.ErrElsewhere) { // that is said in full
				errs.failed(err)
			}
			sleep(ctx, s.pace.again(time.Second))
			continue
		}
		t := newIncarnation(s)
		err := s.lookForOutage(ctx)
		if err == nil {
			err = t.register(ctx)
		}
		if err != nil {
			errs.failed(err)
			sleep(ctx, s.pace.again(time.Second))
			continue
		}
		errs.ok()
		s.current.Store(t)
		over, err := t.serve(ctx, base)
		s.current.Store(nil)
		if ctx.Err() != nil {
			return err
		}
		if err = errors.Join(over, err); err != nil {
			s.cfg.Log.Warn().Err(err).Str("replica_id", t.id).Msg("incarnation ended, a new one begins")
		}
	}
	return nil
}

// signal fills a one-slot channel; it never blocks.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// sleep waits for d or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
