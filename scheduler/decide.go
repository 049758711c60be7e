package scheduler

import (
	"errors"
	"time"

	"github.com/rowrun/rowrun/store"
)

const (
	forever = time.Hour // the sweep comes before
	// replaced is when a pass is tried again that failed after one that didn't: what fails first is a connection that
	// died while it was idle, and the pool has another by then.
	replaced = 10 * time.Millisecond
	// smallerAgain is when a pass that took too long is followed by a smaller one.
	smallerAgain = 50 * time.Millisecond
)

// timetable is when dispatch goes round without being told.
type timetable struct {
	sweep, promote time.Time
	whole          time.Time     // when a sweep is a whole pass at the latest
	rested         time.Time     // when one may be for what its survey saw
	took           time.Duration // the last whole pass; 0: there was none
}

// wholeRest is for how many times as long as a whole pass took the next one, which a survey asks for, is left to passes that look at what is
// due: a whole pass looks at each database, plan and key of a limit for which runs wait, takes 0.3 s where that are 11,000, and delays claims for so long.
// One that took long because the server stood still isn't followed by such a rest: the quicker of the last two counts.
const wholeRest = 50

// decide says what a round promotes. work: its survey saw something to do. leave: that is left to the passes of a backlog, which
// are under way.
func decide(w wake, at timetable, work, backlog bool, now time.Time) (promote store.Promotion, leave bool) {
	sweep, due := !now.Before(at.sweep), w.woken || !now.Before(at.promote)
	if sweep {
		due = w.woken || work
	}
	switch {
	case sweep && (work && !now.Before(at.rested) || !now.Before(at.whole)):
		return store.PromoteSweep, false
	case !due:
		return store.PromoteNothing, false
	case backlog:
		return store.PromoteNothing, true
	default:
		return store.PromoteDue, false
	}
}

// after is the timetable behind a round that began at a moment and promoted so much. next is in how long something is due as
// far as that is known, every in how long it sweeps again, whole in how long at the latest as a whole pass.
func (at timetable) after(promote store.Promotion, next time.Duration, began, now time.Time, every, whole time.Duration) timetable {
	sweep := !began.Before(at.sweep)
	if sweep {
		at.sweep = began.Add(every)
	}
	if promote == store.PromoteSweep {
		took := now.Sub(began)
		at.whole, at.rested, at.took = began.Add(whole), now.Add(wholeRest*min(took, at.took)), took
	}
	if sweep || promote != store.PromoteNothing || next < at.promote.Sub(now) {
		at.promote = now.Add(next)
	}
	return at
}

// again is how long after a pass that failed the next one follows, and whether the failure is worth a line. failing: the one
// before failed too.
func again(err error, failing bool) (wait time.Duration, say bool) {
	switch {
	case errors.Is(err, store.ErrDead):
		return time.Second, false
	case store.TookTooLong(err): // the next one is for fewer
		return smallerAgain, true
	case failing:
		return time.Second, true
	default:
		return replaced, false
	}
}
