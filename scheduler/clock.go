package scheduler

import (
	"context"
	"sync"
	"time"
)

// Leases are judged by the database's clock. Where that is set forward by more than a lease, each heartbeat looks old at once, and replicas
// that live would be declared dead, whose runs would begin elsewhere while they are still executed. So each replica watches how that clock
// goes beside its own time, which nobody sets: behind a step it judges no lease before it was in contact for one again, by when whoever lives
// has renewed its own.

// clockWatch has read the database's clock. A reading is taken between the moments at which it was asked for and answered, so that it bounds
// how far the clock is ahead of the process's own time; all readings since the last step bound it together.
type clockWatch struct {
	mu          sync.Mutex
	origin      time.Time     // the first reading
	least, most time.Duration // how far the clock is ahead of the time since origin
	at          time.Duration // when the last reading was answered
}

// clockSlack is what a clock may gain or lose without having been set, and 1 / clockDrift of the time that it may besides: kernels bring it to
// the right time at 500 ppm, little by little. Who does it quicker sets it.
const (
	clockSlack = 100 * time.Millisecond
	clockDrift = 2000
)

// step takes a reading: asked for and answered so long after one moment in the process's life. sure is by how much the clock has been set
// since the last one, at least: above 0 forward, below back, 0 where it may not have been. possible is by how much it may have been set forward.
func (w *clockWatch) step(now time.Time, asked, answered time.Duration) (sure, possible time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.origin.IsZero() {
		w.origin = now
		w.least, w.most, w.at = -answered, -asked, answered
		return 0, 0
	}
	drift := max(0, answered-w.at) / clockDrift
	least, most := now.Sub(w.origin)-answered, now.Sub(w.origin)-asked
	forward, back := least-w.most-drift, most-w.least+drift
	switch {
	case answered <= w.at: // another one has overtaken it
		return 0, max(0, back)
	case forward > clockSlack:
		sure = forward
	case back < -clockSlack:
		sure = back
	default:
		if known, still := w.least-drift, w.most+drift; max(least, known) <= min(most, still) {
			least, most = max(least, known), min(most, still)
		}
	}
	w.least, w.most, w.at = least, most, answered
	return sure, max(0, back)
}

// readClock takes a reading of the database's clock that was asked for at a moment of this incarnation. It says whether the clock has been set
// forward, so that contact begins anew, and whether it may have been by so much that leases tell nothing.
func (t *incarnation) readClock(now time.Time, asked time.Duration) (jumped, doubtful bool) {
	answered := time.Since(t.began)
	t.silences.answered(asked, answered)
	sure, possible := t.clock.step(now, asked, answered)
	switch {
	case sure > 0:
		if since := t.contact.Load(); since >= 0 {
			t.contact.CompareAndSwap(since, int64(answered))
		}
		t.s.cfg.Log.Warn().Dur("ms", sure).Msg("the database's clock was set forward: no lease is judged before this replica was in contact for one again")
	case sure < 0:
		t.s.cfg.Log.Warn().Dur("ms", -sure).Msg("the database's clock was set back: who dies before it is where it was is noticed as much later")
	}
	return sure > 0, possible > t.s.cfg.StaleAfter/6 // a replica has stopped what it ran a third of its lease before that is over
}

// reading is what the database's clock said between two moments of an incarnation.
type reading struct {
	now             time.Time
	asked, answered time.Duration
}

// clockJumped asks for the database's clock, once more where answers take long, and says whether it may have been set forward since it was last
// read.
func (t *incarnation) clockJumped(ctx context.Context) (r reading, jumped bool, err error) {
	for range 3 {
		r.asked = time.Since(t.began)
		if r.now, err = t.s.cfg.Store.Clock(ctx); err != nil {
			return r, false, err
		}
		r.answered = time.Since(t.began)
		if jumped, doubtful := t.readClock(r.now, r.asked); jumped || !doubtful {
			return r, jumped, nil
		}
	}
	return r, true, nil
}
