package scheduler

import (
	"context"
	"time"

	"github.com/rowrun/rowrun/store"
)

const passTimeout = 15 * time.Second

// dispatcher is what dispatch knows between two rounds. It is for one goroutine.
type dispatcher struct {
	*incarnation
	errs    *once
	timer   *time.Timer
	times   timetable
	lost    lostWakeUps
	futile  vain
	yield   yielding
	failing bool // the last round did
	turns   rounds
	wholes  rounds
	strays  map[int64]bool
	claimed int64 // claimedAt behind the last round that a notification asked for
}

// dispatch promotes and claims: woken by a notification, by a slot of ours that became free, by a run_at, or by the
// sweep.
func (t *incarnation) dispatch(ctx context.Context) {
	now := time.Now()
	d := &dispatcher{
		incarnation: t, errs: t.s.newOnce("promote and claim"), timer: time.NewTimer(0), times: timetable{sweep: now, promote: now, whole: now},
		lost: lostWakeUps{observer: &t.s.cfg.Observer}, turns: rounds{pace: t.s.pace}, wholes: rounds{pace: t.s.pace},
		yield: yielding{pace: t.s.pace},
	}
	defer d.timer.Stop()
	defer d.yield.done()
	defer t.s.recorder.carry(false)
	for ctx.Err() == nil {
		if w, ok := d.await(ctx); ok {
			d.round(ctx, w)
		}
	}
}

// round looks where it is time to, promotes and claims, and sets the timer for the next one.
func (d *dispatcher) round(ctx context.Context, w wake) {
	now := time.Now()
	if w.woken {
		d.commitWatch.woken(d.yield.many(), now)
	}
	var seen store.Survey
	var err error
	sweep := !now.Before(d.times.sweep)
	if sweep {
		d.s.recorder.carry(false) // until the next round
		if seen, err = d.survey(ctx, d.yield.depth()); err == nil {
			d.yield.peers = seen.Peers
			d.s.peers.Store(int64(seen.Peers))
		}
	}
	promote, leave := decide(w, d.times, seen.Work, d.backlog.Load(), now)
	d.decided(promote, leave, sweep && seen.Work, now)
	d.lost.look(now)
	expected := w.woken || d.available.may() || d.backlog.Load() || d.s.cfg.Wake == nil
	var next time.Duration
	var found sighting
	if err == nil {
		if sweep {
			d.strays = d.endStrays(ctx, seen.Owned, d.strays)
		}
		next, found, err = d.pass(ctx, promote)
	}
	if err != nil {
		if ctx.Err() == nil {
			d.failed(err)
		}
		return
	}
	d.failing = false
	d.s.unable.ok()
	d.errs.ok()
	if w.told {
		claimed := d.claimedAt.Load() // the recorder's trip may have been quicker
		d.futile.looked(found.runs > 0 || claimed != d.claimed, time.Now())
		d.claimed = claimed
	}
	if sweep {
		d.lost.sweep(now, found, expected)
		if seen.NextDue > 0 {
			next = min(next, seen.NextDue)
		}
	}
	every, whole := d.s.cfg.SweepInterval, d.yield.shared(wholeEvery)
	if sweep {
		every = d.turns.wait(every)
	}
	if promote == store.PromoteSweep {
		whole = d.wholes.wait(whole)
	}
	d.times = d.times.after(promote, next, now, time.Now(), every, whole)
	d.rest()
}

// decided has the round claim what is AVAILABLE where something says that there may be some, and the backlog's passes do what is left to them. work:
// a survey saw something to do.
func (d *dispatcher) decided(promote store.Promotion, leave, work bool, now time.Time) {
	if work && promote != store.PromoteSweep { // which claims anyway
		d.available.came()
	}
	switch {
	case leave:
		signal(d.more) // the backlog's passes find it, and their end is a wake-up
		d.times.promote, d.commitWatch = d.times.sweep, commitWatch{}
	case promote == store.PromoteDue && d.commitWatch.due(now):
		d.available.came()
	}
}

// failed has the next round follow soon.
func (d *dispatcher) failed(err error) {
	d.s.unable.failed(err)
	wait, say := again(err, d.failing)
	wait = d.s.pace.again(wait)
	d.turns.lost()
	d.wholes.lost()
	if say {
		d.errs.failed(err)
	}
	d.failing = true
	d.available.came() // what was promoted, if it was, is announced to others only
	d.times.promote = time.Now().Add(wait)
	reset(d.timer, wait)
}

// rest sets the timer for the next round.
func (d *dispatcher) rest() {
	d.times.promote = d.commitWatch.before(d.times.promote)
	if !d.times.promote.Equal(d.times.sweep) {
		d.lost.due = d.times.promote
	}
	if d.times.sweep.Before(d.times.promote) {
		d.times.promote = d.times.sweep
	}
	reset(d.timer, max(0, time.Until(d.times.promote)))
}

// reset sets a timer whether or not it has fired.
func reset(timer *time.Timer, d time.Duration) {
	timer.Stop()
	timer.Reset(d)
}
