package scheduler

import (
	"context"
	"time"
)

// gatherFor is how long freed slots are gathered.
const gatherFor = 200 * time.Microsecond

// wake is why dispatch goes round.
type wake struct {
	woken bool // something may be due, or a gate may have opened
	told  bool // a notification said that, or that a run is AVAILABLE
}

// await waits for what asks for a round. false: ctx ended, wake-ups that were held back may be taken again, or a look waits.
func (d *dispatcher) await(ctx context.Context) (w wake, ok bool) {
	toWake, toClaim := d.s.cfg.Wake, d.s.cfg.Available
	var rested <-chan time.Time
	if rest := d.futile.pause(time.Now()); rest > 0 {
		toWake, toClaim, rested = nil, nil, time.After(rest)
	}
	ended, waited := false, false // a run has ended, and no more is known; a look waited, and is due
	d.s.recorder.carry(!d.failing)
	select {
	case <-ctx.Done():
	case <-rested:
		return w, false
	case <-toWake:
		w, ended = wake{woken: true, told: true}, true
	case <-d.s.opened:
		w.woken = true
	case <-toClaim:
		w.told = true
		d.s.invalidations.Add(1)
		d.available.came()
		d.lost.toClaim()
	case <-d.s.promoted:
		d.available.came()
	case <-d.claimable:
		d.available.came()
		d.s.invalidations.Add(1)
	case <-d.s.freed:
		d.gather(ctx)
	case <-d.yield.claims(d.s.othersClaimed):
		if !d.yield.claimed(d.s.claimsOfOthers.Load()) {
			return w, false
		}
		w, waited = wake{woken: true, told: true}, true
	case <-d.yield.later():
		w, waited = wake{woken: true, told: true}, true
	case <-d.timer.C:
	}
	if waited { // for whatever was told meanwhile, too
		d.yield.done()
		drain(d.s.cfg.Wake)
		drain(d.s.cfg.Available)
		d.heardLook()
		return w, ctx.Err() == nil
	}
	ok = d.heard(&w, ended)
	return w, ok && ctx.Err() == nil
}

// heard completes what was heard, and says whether a round follows now. ended: a run has ended, and no more is known.
func (d *dispatcher) heard(w *wake, ended bool) bool {
	// "Look" wakes both: one round does for them.
	if w.woken && w.told {
		ended = !drain(d.s.cfg.Available) && ended
	} else if w.told {
		w.woken = drain(d.s.cfg.Wake)
	}
	if w.woken && w.told {
		d.heardLook()
	}
	return !w.told || !d.yield.yields(ended, d.s.claimsOfOthers.Load())
}

// heardLook takes a notification that tells nothing: something may be due, and what was inserted may be claimed.
func (d *dispatcher) heardLook() {
	d.s.invalidations.Add(1)
	d.available.came()
	d.lost.woken()
	signal(d.s.lookAtRuns)
}

// gather lets some more slots become free before they are filled, where most are taken and runs are waiting for them:
// one claim for many costs little more than one for one.
func (t *incarnation) gather(ctx context.Context) {
	if t.available.may() && t.s.freeSlots() < t.s.slots()/2 {
		sleep(ctx, gatherFor)
	}
}

// drain takes a signal that waits, and says whether there was one.
func drain(signals <-chan struct{}) bool {
	select {
	case <-signals:
		return true
	default:
		return false
	}
}
