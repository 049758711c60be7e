package scheduler

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rowrun/rowrun/store"
)

// What a replica does about outages of the deployment.
const (
	RecoveryAuto = "auto"
	RecoveryOff  = "off"
)

const (
	// countRecoveryEvery is how often the backlog of a recovery is counted, noteRecoveryEvery how often the stream tells of it.
	countRecoveryEvery = 2 * time.Second
	noteRecoveryEvery  = 10 * time.Second
	// tokensFor is for how long tokens gather that nobody takes, pacedFor how long a replica waits at least for the next ones.
	tokensFor = 100 * time.Millisecond
	pacedFor  = 20 * time.Millisecond
	maxBatch  = 1000
)

// recovering is a recovery that this replica takes part in.
type recovering struct {
	id    int64
	slots int
	batch int
	rate  float64 // of the deployment; 0: no cap
	// What is due is promoted before anything is claimed, so that the first in the order is claimed first; until patience is over.
	isSettled atomic.Bool
	patience  time.Time
	started   atomic.Int64 // runs, since the row was last told
	over      atomic.Bool  // nobody tells the row any more, but for who has started a run since
}

// settle says that what was due has been promoted.
func (r *recovering) settle() {
	if r != nil {
		r.isSettled.Store(true)
	}
}

// holds is for how long claims are held back at most; 0: they aren't.
func (r *recovering) holds(now time.Time) time.Duration {
	if r.isSettled.Load() {
		return 0
	}
	return max(0, r.patience.Sub(now))
}

// checkRecovery refuses what can't be meant.
func (c *Config) checkRecovery() error {
	switch {
	case c.Recovery != RecoveryAuto && c.Recovery != RecoveryOff:
		return fmt.Errorf("recovery: %q is not accepted; accepted: %s, %s", c.Recovery, RecoveryAuto, RecoveryOff)
	case c.RecoveryConcurrency < 0:
		return fmt.Errorf("recovery concurrency: %d is not accepted; accepted: 1 or more, or 0 for that of other times", c.RecoveryConcurrency)
	case c.RecoveryRate < 0:
		return fmt.Errorf("recovery rate: %d is not accepted; accepted: runs per second, or 0 for no cap", c.RecoveryRate)
	case c.RecoveryConcurrency > 0:
		if err := checkReserves(c.Reserve, c.RecoveryConcurrency); err != nil {
			return fmt.Errorf("recovery concurrency: %w", err)
		}
	}
	return nil
}

// answer is what a replica does about what it found when it came.
type answer int

const (
	goOn          answer = iota
	joinRecovery         // one is under way
	beginRecovery        // no replica was alive for longer than the lease, and runs are overdue
	tellOutage           // so it was, and none are
)

// answerTo decides what a replica with such a lease does. Whether others are alive is asked before it registers, and a recovery
// is begun before that too: who comes later finds it under way, or somebody alive who found that there is none to begin.
func answerTo(o store.Outage, lease time.Duration) answer {
	switch {
	case o.Recovery != 0:
		return joinRecovery
	case o.Live, o.Silent <= lease: // also where nobody knows when the last one was alive
		return goOn
	case o.Backlog == 0:
		return tellOutage
	default:
		return beginRecovery
	}
}

// lookForOutage begins a recovery or takes part in one, before an incarnation registers.
func (s *Scheduler) lookForOutage(ctx context.Context) error {
	if s.cfg.Admin || s.cfg.Recovery != RecoveryAuto {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	seen, err := s.cfg.Store.LookForOutage(ctx, s.cfg.StaleAfter, s.capabilities)
	if store.TookTooLong(err) {
		s.cfg.Log.Warn().Err(err).Msg("the backlog could not be counted in time: no recovery is begun")
		return nil
	}
	if err != nil {
		return err
	}
	switch answerTo(seen, s.cfg.StaleAfter) {
	case beginRecovery:
		id, err := s.cfg.Store.BeginRecovery(ctx, seen)
		if err != nil {
			return err
		}
		if id != 0 {
			s.cfg.Log.Warn().Int64("recovery_id", id).Dur("outage_ms", seen.Silent).Int64("backlog", seen.Backlog).
				Msg("no replica was alive for longer than the lease: recovery begins")
		} else if seen, err = s.cfg.Store.LookForOutage(ctx, s.cfg.StaleAfter, s.capabilities); err != nil { // another was quicker
			return err
		} else {
			id = seen.Recovery
		}
		s.join(id)
	case joinRecovery:
		s.join(seen.Recovery)
	case tellOutage:
		s.cfg.Log.Info().Dur("outage_ms", seen.Silent).Msg("no replica was alive for longer than the lease, and nothing is overdue")
		s.join(0)
	default:
		s.join(0)
	}
	return nil
}

// join takes part in a recovery, 0: in none.
func (s *Scheduler) join(id int64) {
	if id == 0 {
		s.recovering.Store(nil)
		return
	}
	if r := s.recovering.Load(); r != nil && r.id == id {
		return // another incarnation did
	}
	r := &recovering{id: id, slots: s.cfg.Concurrency, rate: float64(s.cfg.RecoveryRate), patience: time.Now().Add(s.cfg.StaleAfter)}
	if s.cfg.RecoveryConcurrency > 0 {
		r.slots = s.cfg.RecoveryConcurrency
	}
	r.batch = max(s.cfg.MaxBatch, min(r.slots, maxBatch))
	s.recovering.Store(r)
	s.cfg.Log.Info().Int64("recovery_id", id).Int("concurrency", r.slots).Int("rate", s.cfg.RecoveryRate).Msg("replica takes part in a recovery")
}

// slots are how many runs execute at once.
func (s *Scheduler) slots() int {
	if r := s.recovering.Load(); r != nil {
		return r.slots
	}
	return s.cfg.Concurrency
}

// batch is how many runs one statement claims at most.
func (s *Scheduler) batch() int {
	if r := s.recovering.Load(); r != nil {
		return r.batch
	}
	return s.cfg.MaxBatch
}

// mayClaimBesideDispatch says that nothing asks for claims to be made by one goroutine alone. While trips fail, each may hold a slot
// that others could use.
func (s *Scheduler) mayClaimBesideDispatch() bool {
	return s.recovering.Load() == nil && !s.rooms.some() && (s.seat == nil || !s.failing())
}

// admit takes from a trip, in a recovery, the claims that it may not make yet. It returns when to ask again, 0: there is no need.
func (t *incarnation) admit(ctx context.Context, trip *store.Trip) time.Duration {
	r := t.s.recovering.Load()
	if r == nil || trip.Want == 0 {
		return 0
	}
	if held := r.holds(time.Now()); held > 0 {
		t.claimLess(trip, 0)
		return held
	}
	if r.rate == 0 {
		return 0
	}
	ask, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	granted, wait, err := t.s.cfg.Store.TakeRecoveryStarts(ask, r.id, trip.Want, r.rate, max(1, r.rate*tokensFor.Seconds()))
	if err != nil { // the trip will say why
		granted, wait = 0, time.Second
	}
	if granted == trip.Want {
		return 0
	}
	t.claimLess(trip, granted)
	return max(wait, pacedFor)
}

// giveBack has others make the starts that were granted to a trip, and that it didn't make. Nobody knows how many a trip has made
// whose answer is lost: they count as made.
func (t *incarnation) giveBack(trip *store.Trip, p store.Pass, err error) {
	r := t.s.recovering.Load()
	unused := trip.Want - len(p.Claims)
	if r == nil || r.rate == 0 || unused <= 0 || err != nil {
		return
	}
	give, cancel := context.WithTimeout(t.trips, passTimeout)
	defer cancel()
	if err := t.s.cfg.Store.GiveRecoveryStarts(give, r.id, unused, r.rate); err != nil {
		t.s.cfg.Log.Debug().Err(err).Msg("starts that were not made could not be given back: fewer are made")
	}
}

// claimLess leaves a trip that many claims.
func (t *incarnation) claimLess(trip *store.Trip, want int) {
	if want > 0 {
		t.s.release(trip.Want-want, nil) // its part below priorities comes back with the trip
	} else {
		t.s.release(trip.Want, trip.Below)
		trip.Below = nil
	}
	trip.Want = want
	if want == 0 {
		t.available.came() // the trip doesn't look for them
	}
}

// settled says that claims were held back until a trip, and needn't be any more.
func (t *incarnation) settled(promote store.Promotion, p store.Pass) bool {
	r := t.s.recovering.Load()
	if r == nil || r.isSettled.Load() || promote == store.PromoteNothing || p.Busy || backlogged(p) {
		return false
	}
	r.settle()
	return true
}

// recover follows a recovery that this replica takes part in, until it has ended.
func (t *incarnation) recover(ctx context.Context) {
	r := t.s.recovering.Load()
	if r == nil {
		return
	}
	errs := t.s.newOnce("recovery")
	for {
		sleep(ctx, countRecoveryEvery/2)
		if ctx.Err() != nil {
			return
		}
		open, err := t.countRecovery(ctx, r)
		switch {
		case err != nil && ctx.Err() == nil:
			errs.failed(err)
		case err == nil:
			errs.ok()
		}
		if !open && err == nil {
			t.recovered(ctx, r, errs)
			return
		}
	}
}

// countRecovery is one look.
func (t *incarnation) countRecovery(ctx context.Context, r *recovering) (open bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	started := r.started.Swap(0)
	idle := t.s.freeSlots() > 0 && !t.available.may() && !t.backlog.Load() && !t.s.rooms.full()
	open, counted, err := t.s.cfg.Store.CountRecovery(ctx, r.id, started, store.Counting{Every: countRecoveryEvery, Note: noteRecoveryEvery, Idle: idle, Lease: t.s.cfg.StaleAfter})
	if err != nil {
		if !open {
			r.started.Add(started) // told again
		}
		return true, err
	}
	if counted != nil {
		t.s.cfg.Log.Debug().Int64("recovery_id", r.id).Int64("remaining", counted.Remaining).Float64("rate", counted.Rate).Msg("recovery counted")
	}
	return open, nil
}

// begun counts the runs that a trip has started in a recovery which was under way when the trip began; r nil: none was.
func (t *incarnation) begun(r *recovering, runs int) {
	if r == nil || runs == 0 {
		return
	}
	if r.started.Add(int64(runs)); r.over.Load() {
		t.tellStarts(r)
	}
}

// tellStarts tells the row of a recovery that has ended what it wasn't told yet.
func (t *incarnation) tellStarts(r *recovering) {
	started := r.started.Swap(0)
	if started == 0 {
		return
	}
	tell, cancel := context.WithTimeout(t.trips, passTimeout)
	defer cancel()
	if _, _, err := t.s.cfg.Store.CountRecovery(tell, r.id, started, store.Counting{Every: countRecoveryEvery}); err != nil {
		t.s.cfg.Log.Debug().Err(err).Msg("the last starts of a recovery could not be told: its row says fewer")
	}
}

// recovered goes back to what holds at other times.
func (t *incarnation) recovered(ctx context.Context, r *recovering, errs *once) {
	t.s.recovering.Store(nil)
	r.over.Store(true)
	t.tellStarts(r)
	t.s.cfg.Log.Info().Int64("recovery_id", r.id).Msg("recovery ended")
	t.available.came() // what its rate held back
	signal(t.s.freed)
	if t.s.cfg.Concurrency == r.slots {
		return
	}
	for ctx.Err() == nil { // until it is written: others go by what the row says
		say, cancel := context.WithTimeout(ctx, passTimeout)
		err := t.s.cfg.Store.AnnounceConcurrency(say, t.id, t.s.cfg.Concurrency)
		cancel()
		if err == nil {
			errs.ok()
			return
		}
		if ctx.Err() == nil {
			errs.failed(fmt.Errorf("announce concurrency: %w", err))
		}
		sleep(ctx, t.s.pace.again(time.Second))
	}
}
