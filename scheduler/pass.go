package scheduler

import (
	"context"
	"errors"
	"time"

	"github.com/rowrun/rowrun/store"
)

const (
	// maxUnrecorded bounds the endings that wait to be written; beyond it nothing is claimed.
	maxUnrecorded = 5000
	// promotePause is how long promotions may be apart while more runs are AVAILABLE than slots are free.
	promotePause = 10 * time.Millisecond
	// slowSearch is how long a search must take to be worth a warning.
	slowSearch = 100 * time.Millisecond
)

// pass promotes and claims until there is nothing more to do now; it returns when to look again. Where no other run is
// known to be AVAILABLE, it claims what it promotes itself and looks for others only if that left some. Endings that
// came meanwhile go along in the same round trip.
func (t *incarnation) pass(ctx context.Context, promote store.Promotion) (next time.Duration, found sighting, err error) {
	next = forever
	carry := promote != store.PromoteSweep // which may take long
	for {
		var endings []ending
		if carry {
			t.gatherEndings(ctx)
			endings = t.s.recorder.takeCarried()
		}
		promote, next = t.putOff(promote, next)
		trip, since, some := t.nextTrip(promote, endings)
		if wait := t.admit(ctx, &trip); wait > 0 {
			next = min(next, wait)
		}
		if !some && trip.Want == 0 {
			return next, found, nil
		}
		var p store.Pass
		p, err = t.promoteAndClaim(ctx, trip, endings)
		found.add(p)
		t.giveBack(&trip, p, err)
		if err != nil && len(endings) > 0 && ctx.Err() == nil {
			carry = false // without them; whose fault it was shows
			continue
		}
		if err != nil || ctx.Err() != nil {
			return 0, found, err
		}
		t.available.learned(since, trip, p)
		next = min(next, t.lookAgainAfter(p))
		if backlogged(p) {
			signal(t.more)
		} else if wait := t.leaveAlone(trip, p, next); wait > 0 {
			return wait, found, nil
		}
		settled := t.settled(promote, p)
		promote = store.PromoteNothing
		if p.Marked {
			promote = store.PromoteDue
			continue
		}
		full := len(p.Claims) == t.s.batch()
		if trip.Claim != store.ClaimFresh && !full && !settled && (len(p.Claims) == 0 || t.s.freeSlots() < t.s.slots()/2) {
			return next, found, nil // slots that become free say so
		}
	}
}

// leaveAlone returns how long to leave alone what the trip found locked by others, no longer than until next; 0: it found nothing so.
func (t *incarnation) leaveAlone(trip store.Trip, p store.Pass, next time.Duration) time.Duration {
	now := time.Now()
	switch {
	case p.Busy:
		return t.gates.busy(min(next, gatesAgain), now)
	case p.Contended && len(p.Claims) == 0:
		return t.locked.busy(min(next, lockedAgain), now)
	case p.Contended:
		t.locked.free()
		return busyAgain
	case trip.Want > 0:
		t.locked.free()
	}
	return 0
}

// putOff has a promotion wait that may: while another replica is at it for longer, or while there are more AVAILABLE runs than slots: what it
// brings could not start, and one of many costs little more than one of few. There a look that follows a wake-up doesn't wait. next is when to look again.
func (t *incarnation) putOff(promote store.Promotion, next time.Duration) (store.Promotion, time.Duration) {
	now := time.Now()
	if wait := t.gates.left(now); promote == store.PromoteDue && wait > 0 {
		t.commitWatch.leave(t.gates.until)
		return store.PromoteNothing, min(next, wait)
	}
	wait := t.promotedAt.Add(promotePause).Sub(now)
	if promote != store.PromoteDue || wait <= 0 || t.commitWatch.due(now) || !t.available.isPlenty() {
		return promote, next
	}
	return store.PromoteNothing, min(next, wait)
}

// nextTrip is the trip that promotes so much, writes these endings and claims for the slots that are free. since is what was known
// of AVAILABLE runs before; some: there is anything to do besides claims.
func (t *incarnation) nextTrip(promote store.Promotion, endings []ending) (trip store.Trip, since int, some bool) {
	may, since := t.available.ask()
	if promote == store.PromoteNothing && len(endings) > 0 && t.s.limited.Load() {
		promote = store.PromoteDue // of what the places let go that come free
	}
	trip = store.Trip{Endings: endingsOf(endings), LockTimeout: quickLock, Promote: promote}
	some = promote != store.PromoteNothing || len(endings) > 0
	if some || may {
		trip.Want, trip.Below = t.reserve(may)
	}
	trip.Claim = t.claiming(promote, may)
	return trip, since, some
}

// claiming is what a trip claims that promotes so much. may: others may be AVAILABLE.
func (t *incarnation) claiming(promote store.Promotion, may bool) store.Claiming {
	switch {
	case t.s.cfg.TwoSteps || t.s.shares != nil || promote == store.PromoteSweep || t.s.recovering.Load() != nil: // what is promoted is claimed by a search
		return store.ClaimAny
	case t.commitWatch.due(time.Now()): // its search comes behind the promotion, which tells what is in flight
		return store.ClaimAny
	case may:
		return store.ClaimAnyAndFresh
	default:
		return store.ClaimFresh
	}
}

// lookAgainAfter is when to look again behind a trip: something is due, or searches have gone past runs.
func (t *incarnation) lookAgainAfter(p store.Pass) time.Duration {
	next := forever
	if p.NextDue > 0 {
		next = p.NextDue
	}
	if p.Rescan > 0 {
		next = min(next, p.Rescan)
		t.available.came()
	}
	return next
}

// promoteAndClaim makes a trip of a pass.
func (t *incarnation) promoteAndClaim(ctx context.Context, trip store.Trip, endings []ending) (store.Pass, error) {
	rt, cancel := context.WithTimeout(t.trips, passTimeout)
	defer cancel()
	began := time.Now()
	round, err := t.trip(rt, &t.passes, trip)
	t.noteSearches(t.passes.cursor.Slow())
	if trip.Promote != store.PromoteNothing && err == nil {
		t.promotedAt = time.Now()
		if !round.Busy {
			t.gates.free()
		}
	}
	if t.commitWatch.looked(round.InFlight, t.searched(trip), began, time.Now()) && trip.Want == 0 {
		t.available.came() // the next free slot has it searched
	}
	switch {
	case len(endings) == 0:
	case err != nil && !errors.Is(err, store.ErrDead):
		t.s.recorder.giveBack(endings)
	default:
		t.s.recorder.carriedOver(endings, round)
	}
	return round.Pass, err
}

// searched is when a trip searched for AVAILABLE runs, or has it done when a slot is free.
func (t *incarnation) searched(trip store.Trip) search {
	switch {
	case trip.Claim == store.ClaimAny:
		return searchedBehind
	case trip.Want > 0 && trip.Claim != store.ClaimFresh, t.available.may():
		return searchedBefore
	default:
		return searchedNot
	}
}

// noteSearches says when searches for runs begin to read much for what they find, and when they don't any more.
func (t *incarnation) noteSearches(took time.Duration) {
	const text = "searches for runs pass by many that they can't take: ended ones, as long as something holds an old snapshot (rowrun doctor says who), or those of paused tasks"
	switch {
	case took >= slowSearch && !t.warned:
		t.slow, t.warned = true, true
		t.s.cfg.Log.Warn().Dur("took_ms", took).Msg(text)
	case took > 0 && !t.slow:
		t.slow = true
		t.s.cfg.Log.Debug().Dur("took_ms", took).Msg(text)
	case took == 0 && t.slow:
		if t.warned {
			t.s.cfg.Log.Info().Msg("searches for runs are quick again")
		}
		t.slow, t.warned = false, false
	}
}
