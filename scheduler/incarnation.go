package scheduler

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rowrun/rowrun/store"
)

// incarnation is the life of one replica id.
type incarnation struct {
	s  *Scheduler
	id string

	beat    atomic.Int64 // start of the last heartbeat that was written, since began
	contact atomic.Int64 // begin of unbroken contact, since began; -1: broken
	began   time.Time
	clock   clockWatch
	// silences are shorter than what breaks contact.
	silences silences
	over     atomic.Bool // it has no lease any more

	available available
	// passes are the trips of dispatch, ends those of the recorder, which claim while opened.
	passes, ends lane
	open         turnstile
	opened       bool
	// commitWatch says when dispatch looks again after a wake-up.
	commitWatch commitWatch
	// slow: searches are, and the log says so; warned: it does as a warning.
	slow, warned bool
	// promotedAt is when a pass last promoted; for dispatch.
	promotedAt time.Time
	// gates says how long another replica is left to promote, locked how long AVAILABLE runs are left alone that others have locked; for dispatch.
	gates, locked lockWait
	// claimedAt is when runs were last started, since began.
	claimedAt atomic.Int64
	// rules are what is claimed; passing is held by trips, so that they don't change under it. announced: the row says so
	// (of watchTypes alone). claimable says that runs of a type may be claimed that weren't before.
	rules     atomic.Pointer[typeRules]
	ruling    turnstile // held by who makes them anew
	passing   turnstile
	announced bool
	claimable chan struct{}
	// more asks for passes that promote a backlog; backlog: they are under way.
	more    chan struct{}
	backlog atomic.Bool
	// seen is what the surveys tell the other loops.
	seen *surveyed

	// trips is the parent of the trips of passes: what is under way when a stop comes is brought to its end, and a claim executed, but
	// for one that takes longer than work may.
	trips    context.Context
	endTrips context.CancelFunc
	// stopping is when the stop came, since began.
	stopping atomic.Int64

	// exec is the parent of this incarnation's executors; stop gives them the cause of their end.
	exec       context.Context
	stop       context.CancelCauseFunc
	executions sync.WaitGroup
}

var errFenced = errors.New("no heartbeat could be written for two thirds of the lease")

func newIncarnation(s *Scheduler) *incarnation {
	trips, endTrips := context.WithCancel(context.Background())
	return &incarnation{
		s: s, id: newReplicaID(s.cfg.Name), began: time.Now(), announced: true,
		ends: lane{on: store.LaneEnds}, opened: true,
		more: make(chan struct{}, 1), claimable: make(chan struct{}, 1),
		seen: newSurveyed(), trips: trips, endTrips: endTrips,
	}
}

// register writes the first heartbeat.
func (t *incarnation) register(ctx context.Context) error {
	c := t.s.cfg
	host, _ := os.Hostname()
	ctx, cancel := context.WithTimeout(ctx, c.HeartbeatInterval)
	defer cancel()
	rules, err := c.Store.TypeRules(ctx)
	if err != nil {
		return err
	}
	known, reaches := t.s.rulesOf(rules, false), t.s.reaches()
	known.capabilities.Databases = reaches.databases
	t.rules.Store(known)
	if names := t.s.limitsOfNothing(known); len(names) > 0 && !c.Admin {
		c.Log.Warn().Strs("types", names).Msg("limits of types that this replica doesn't run: it has neither an executor for them nor an alias; look at their names")
	}
	sent := time.Since(t.began)
	own := store.Replica{
		ID: t.id, Name: c.Name, Hostname: host, Version: c.Version, Lease: c.StaleAfter, Role: c.role(),
		Queues: c.Queues, Types: t.rules.Load().capabilities.Types, Databases: reaches.databases, Commands: c.Commands, Concurrency: t.s.slots(),
		Reserve: published(c.Reserve), TypeConcurrency: t.s.rooms.announced(),
	}
	if c.Admin {
		own.Queues, own.Concurrency, own.Reserve, own.TypeConcurrency = nil, 0, nil, nil
	} else {
		own.Engines = reaches.engines
	}
	err = c.Store.Register(ctx, own)
	if err != nil {
		return err
	}
	t.beat.Store(int64(sent))
	t.contact.Store(int64(sent))
	t.silences.answered(sent, time.Since(t.began))
	c.Log.Info().Str("replica_id", t.id).Dur("interval_ms", c.HeartbeatInterval).Dur("lease_ms", c.StaleAfter).Msg("heartbeat started")
	return nil
}

// serve runs the incarnation's loops until ctx ends (drain) or the incarnation does (over: a fence, declared dead). base
// outlives ctx. An error: something was left behind.
func (t *incarnation) serve(ctx, base context.Context) (over, err error) {
	t.exec, t.stop = context.WithCancelCause(base)
	defer t.stop(nil)
	live, die := context.WithCancelCause(base)
	defer die(nil)
	watching, stopWatching := context.WithCancel(base) // whoever holds up what is recorded after a fence is named, too
	defer stopWatching()
	taking, stopTaking := context.WithCancel(live)
	defer stopTaking()
	defer t.endTrips()
	unhook := context.AfterFunc(ctx, func() {
		t.s.draining.Store(true)
		t.stopping.Store(int64(time.Since(t.began)))
		stopTaking()
		work, _ := drainParts(t.s.cfg.DrainTimeout)
		sleep(t.trips, max(work, leastTrip))
		t.endTrips()
	})
	defer unhook()
	// An incarnation that is over stops its executors at once, also in the middle of a drain.
	defer context.AfterFunc(live, func() {
		t.over.Store(true)
		t.stop(ErrLostContact)
	})()

	var dispatch, loops, heart sync.WaitGroup
	heart.Go(func() {
		if err := t.heartbeat(live); err != nil {
			die(err)
		}
	})
	dispatch.Go(func() { t.dispatch(taking) })
	dispatch.Go(func() { t.promoteBacklog(taking) })
	loops.Go(func() { t.watch(live) })
	loops.Go(func() { t.watchHoldUps(watching) })
	loops.Go(func() { t.sweepStale(live) })
	loops.Go(func() { t.sweepOverdue(live) })
	loops.Go(func() { t.sweepAging(live) })
	loops.Go(func() { t.sweepOrphans(live) })
	loops.Go(func() { t.sweepSchedules(live) })
	loops.Go(func() { t.watchTypes(taking) })
	loops.Go(func() { t.watchDatabases(taking) })
	loops.Go(func() { t.cleanup(live) })
	loops.Go(func() { t.recover(live) })

	<-taking.Done()
	dispatch.Wait() // a claim that is under way is executed
	t.close()
	var drained time.Time
	if live.Err() == nil {
		drained, err = t.drain(base)
	} else {
		over = context.Cause(live)
		err = t.surrender(ctx, base, over)
		drained = time.Now()
	}
	die(nil)
	stopWatching()
	loops.Wait()
	heart.Wait()
	if bye := t.leave(base, drained); err == nil && ctx.Err() != nil {
		err = bye
	}
	return over, err
}

const (
	// lateEndings is how long a drain goes on trying to record what has ended when its time is over, at most as long again as
	// that: a busy database needs longer than what a short drain has for it, and what is left would be ended as STALE.
	lateEndings = 2 * time.Second
	// farewell is how long the incarnation tries to remove its row, lateEndings included; at least a second.
	farewell = 3 * time.Second
)

// leastTrip is what a trip that is under way when a stop comes may take at least.
const leastTrip = time.Second

// drain lets work finish, then stops what is left; heartbeats go on meanwhile. Its time counts from the stop. Where trips that were
// under way then have taken more of it than work may, what was claimed by them still gets its time to stop. drained is
// when its time is over.
func (t *incarnation) drain(base context.Context) (drained time.Time, err error) {
	c := t.s.cfg
	work, stop := drainParts(c.DrainTimeout)
	stopped := t.began.Add(time.Duration(t.stopping.Load())).Add(work)
	if now := time.Now(); stopped.Before(now) {
		stopped = now
	}
	c.Log.Info().Str("replica_id", t.id).Int64("executing", t.s.executing.Load()).Dur("timeout_ms", c.DrainTimeout).Msg("drain started")
	drained = stopped.Add(c.DrainTimeout - work)
	ctx, cancel := context.WithDeadline(base, drained)
	defer cancel()
	say, done := context.WithTimeout(ctx, c.DrainTimeout/10)
	if err := c.Store.Drain(say, t.id); err != nil {
		c.Log.Warn().Err(err).Msg("drain could not be announced")
	}
	done()

	if !waitFor(&t.executions, time.Until(stopped)) {
		t.stop(ErrDrained)
		if !waitFor(&t.executions, time.Until(stopped.Add(stop))) {
			t.abandon(ErrDrained)
		}
	}
	late, giveUp := context.WithDeadline(base, drained.Add(min(lateEndings, c.DrainTimeout)))
	defer giveUp()
	if err := t.s.recorder.flush(late, "", 0); err != nil { // with what earlier incarnations left
		return drained, fmt.Errorf("drain: some endings could not be recorded: %w", err)
	}
	c.Log.Info().Str("replica_id", t.id).Msg("drain finished")
	return drained, nil
}

// drainParts says for how long of a drain work may finish, and how long executors then have to stop. Most of it belongs to the
// work; a fifth, at most 5 s, to stopping and recording what is left, of which recording has a twentieth, at most 1.5 s.
func drainParts(timeout time.Duration) (work, stop time.Duration) {
	rest := min(timeout/5, 5*time.Second)
	return timeout - rest, rest - min(timeout/20, 1500*time.Millisecond)
}

// StopTime is how long executors that a drain stops have to return; then their runs are recorded without them, and others may
// run what follows.
func StopTime(drainTimeout time.Duration) time.Duration {
	_, stop := drainParts(drainTimeout)
	return stop
}

// surrender stops the incarnation's executors and sees that their runs are recorded, however long the database is away. Where it
// answers and takes none of them for as long as a drain, the next incarnation begins all the same: the recorder goes on trying,
// and what a sweep has ended as STALE by then is refused, as is any end without its claim. From the end of ctx on it has as
// long as a drain: what it hasn't recorded then, which is an error, the sweeps of other replicas end as STALE.
func (t *incarnation) surrender(ctx, base context.Context, cause error) error {
	t.s.cfg.Log.Warn().Err(cause).Str("replica_id", t.id).Int64("executing", t.s.executing.Load()).Msg("replica fenced itself, its runs are stopped")
	t.stop(ErrLostContact)
	if !waitFor(&t.executions, t.s.cfg.CancelGrace) {
		t.abandon(ErrLostContact)
	}
	flush, giveUp := context.WithCancel(base)
	defer giveUp()
	defer context.AfterFunc(ctx, func() {
		sleep(flush, t.s.cfg.DrainTimeout)
		giveUp()
	})()
	if err := t.s.recorder.flush(flush, t.id, t.s.cfg.DrainTimeout); err != nil {
		return fmt.Errorf("%w; some endings could not be recorded: %w", cause, err)
	}
	return nil
}

// leave removes the incarnation's row: the last thing that is written under its id. drained is when the time of its drain is over.
func (t *incarnation) leave(base context.Context, drained time.Time) error {
	ctx, cancel := context.WithTimeout(base, min(farewell, max(time.Until(drained.Add(farewell)), time.Second)))
	defer cancel()
	for {
		err := t.s.cfg.Store.Deregister(ctx, t.id)
		if err == nil || ctx.Err() != nil {
			return err
		}
		sleep(ctx, 50*time.Millisecond) // the connection may be one that an outage left dead
	}
}

// trusted says whether the lease still holds as far as this process can tell: until two thirds of it are over.
func (t *incarnation) trusted() bool { return time.Since(t.lastBeat()) < t.s.cfg.StaleAfter*2/3 }

// lastBeat is when the last heartbeat that was written was sent.
func (t *incarnation) lastBeat() time.Time { return t.began.Add(time.Duration(t.beat.Load())) }

// contactFor is for how long this replica has been in unbroken contact.
func (t *incarnation) contactFor() time.Duration {
	since := t.contact.Load()
	if since < 0 {
		return 0
	}
	return max(0, time.Since(t.began)-time.Duration(since))
}

// waitFor waits for a group, at most d; whether it was done.
func waitFor(wg *sync.WaitGroup, d time.Duration) bool {
	done := make(chan struct{})
	go func() {
		wg.Wait()
		close(done)
	}()
	timer := time.NewTimer(max(d, 0))
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
