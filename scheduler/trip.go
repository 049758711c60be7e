package scheduler

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rowrun/rowrun/store"
)

// available is what is known here of AVAILABLE runs: whether some may be there that no trip has asked for.
type available struct {
	mu     sync.Mutex
	some   bool
	told   int  // how often somebody said so
	plenty bool // the last search found as many as it wanted
}

// isPlenty says whether there are more than slots, as far as the last search has seen.
func (a *available) isPlenty() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.plenty
}

// came says that there may be some.
func (a *available) came() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.some = true
	a.told++
}

// may says whether there may be some.
func (a *available) may() bool {
	some, _ := a.ask()
	return some
}

// ask is may before a trip, whose answer learned takes with the second result.
func (a *available) ask() (some bool, since int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.some, a.told
}

// learned takes what a trip has found. One that searched and found fewer than it wanted has left none, but those that came
// meanwhile; but for those of priorities below which it could take no more.
func (a *available) learned(since int, trip store.Trip, p store.Pass) {
	a.mu.Lock()
	defer a.mu.Unlock()
	searched := trip.Want > 0 && trip.Claim != store.ClaimFresh
	if searched {
		a.plenty = len(p.Claims) >= trip.Want && p.Unclaimed == 0
	}
	switch {
	case p.Unclaimed > 0, searched && (len(p.Claims) >= trip.Want || p.Contended):
		a.some = true
		a.told++ // a trip beside this one has not seen what this one left
	case searched && a.told == since && !trip.Bound(p.Claims):
		a.some = false
	}
}

// lane makes trips, one at a time.
type lane struct {
	on     store.Lane
	cursor store.Cursor
	known  int64 // of Scheduler.invalidations
}

// trip makes a trip of a lane, and starts what it claimed. The slots that it wants are reserved; they are given back.
func (t *incarnation) trip(ctx context.Context, l *lane, trip store.Trip) (store.Round, error) {
	defer t.s.release(trip.Want, trip.Below)
	defer t.s.holdUps.begin()()
	t.passing.RLock()
	rules := t.rules.Load()
	if n := t.s.invalidations.Load(); n != l.known {
		l.known = n
		l.cursor.Invalidate()
	}
	trip.Replica, trip.Capabilities, trip.Lane = t.id, rules.capabilities, l.on
	trip.Capabilities.Cursor = &l.cursor
	if trip.Want > 0 {
		trip.Capabilities.Rooms = t.s.rooms.of(rules.capabilities.Types, trip.Want)
	}
	recovering := t.s.recovering.Load()
	round, err := t.s.cfg.Store.Work(ctx, trip)
	t.passing.RUnlock()
	if round.Gated {
		t.s.invalidations.Add(1)
	}
	t.s.cfg.Observer.passed(round.Pass)
	if err == nil {
		t.s.limited.Store(round.Limited)
	}
	t.begun(recovering, len(round.Claims))
	for _, c := range round.Claims {
		t.execute(c, rules)
	}
	if len(round.Claims) > 0 {
		t.claimedAt.Store(int64(time.Since(t.began)))
	}
	if t.s.seat != nil && trip.Want > 0 && len(round.Claims) >= trip.Want {
		signal(t.s.freed) // it had a part of what was free, and there may be more runs
	}
	return round, err
}

// justClaimed says whether runs were started a moment ago, which may end as soon.
func (t *incarnation) justClaimed() bool {
	return time.Since(t.began)-time.Duration(t.claimedAt.Load()) < gatherFor
}

// endAndClaim ends a plain run, and claims in the same transaction one that is AVAILABLE. false: there is nothing to claim, or it
// failed; nothing was done.
func (t *incarnation) endAndClaim(ctx context.Context, ending store.Ending) (store.Round, bool) {
	t.open.RLock()
	defer t.open.RUnlock()
	some, since := t.available.ask()
	if !t.opened || !some || t.rules.Load().paused || !t.s.mayClaimBesideDispatch() {
		return store.Round{}, false
	}
	trip := store.Trip{Endings: []store.Ending{ending}, LockTimeout: quickLock}
	if trip.Want, trip.Below = t.s.reserve(1, true); trip.Want == 0 {
		return store.Round{}, false
	}
	rt, cancel := context.WithTimeout(t.trips, passTimeout)
	defer cancel()
	round, err := t.trip(rt, &t.ends, trip)
	if err != nil && !errors.Is(err, store.ErrDead) {
		return store.Round{}, false // without a claim it shows whose fault it is
	}
	t.available.learned(since, trip, round.Pass)
	return round, true
}

// close ends the claims of endAndClaim.
func (t *incarnation) close() {
	t.open.Lock()
	defer t.open.Unlock()
	t.opened = false
}

// reserve takes the slots that a trip may fill, as many as are free, up to a batch, and its part of what is left below priorities
// with slots of their own.
func (t *incarnation) reserve(wants bool) (slots int, below []store.Below) {
	if t.rules.Load().paused {
		return 0, nil
	}
	return t.s.reserve(t.s.batch(), wants)
}

// reserve takes free slots, at most so many. wants: runs may be there that wait for them.
func (s *Scheduler) reserve(most int, wants bool) (slots int, below []store.Below) {
	if s.recorder.waiting() >= maxUnrecorded {
		return 0, nil
	}
	all := s.slots()
	for {
		taken := s.reserved.Load()
		n := min(most, all-int(s.executing.Load()+taken))
		if n <= 0 {
			return 0, nil
		}
		if s.seat != nil {
			return s.reserveOfPool(n, wants)
		}
		if s.reserved.CompareAndSwap(taken, taken+int64(n)) {
			return n, s.shares.take(n, all)
		}
	}
}

// reserveOfPool takes free slots that other schedulers may take, too. While trips fail it takes one: nobody knows when that comes back.
func (s *Scheduler) reserveOfPool(most int, wants bool) (slots int, below []store.Below) {
	if s.failing() {
		most = 1
	}
	n := s.seat.take(most, wants)
	if n == 0 {
		return 0, nil
	}
	s.reserved.Add(int64(n))
	below = s.shares.take(n, s.seat.pool.size)
	if len(below) > 0 && below[0].Most < n {
		s.seat.wait()
	}
	return n, below
}

// failing says that the last pass failed.
func (s *Scheduler) failing() bool {
	since, _ := s.unable.read()
	return since > 0
}

// release gives slots back, after what was claimed has taken its own.
func (s *Scheduler) release(slots int, below []store.Below) {
	s.shares.give(below)
	s.reserved.Add(-int64(slots))
	s.seat.give(slots)
}

// freeSlots is how many runs may be claimed now, whatever their priority.
func (s *Scheduler) freeSlots() int {
	if s.recorder.waiting() >= maxUnrecorded {
		return 0
	}
	all := s.slots()
	free := max(0, all-int(s.executing.Load()+s.reserved.Load()))
	if s.seat != nil {
		free, all = min(free, s.seat.free()), s.seat.pool.size
	}
	return s.shares.open(free, all)
}
