package scheduler

import (
	"time"

	"github.com/rowrun/rowrun/store"
)

// lookAgain is how long after a wake-up the second look follows: longer than one notification speaks for others (task_run_inserted, 5 ms).
const lookAgain = 6 * time.Millisecond

// commitWatch says when to look again after a wake-up. A transaction for which another one's notification speaks may commit behind that one, and even
// have begun behind it: the server tells of a commit before it has let go of all locks, by which the silent one knows that another one speaks. But the
// silent one had its id within the 5 ms for which the notification speaks. So the first look that begins lookAgain after the wake-up tells
// which transactions may be silent (store.InFlight), and looks go on until all of these have ended. A look that finds that they
// have searches for AVAILABLE runs behind that finding. Something that stays open for long is looked for less and less often. A second look follows in
// any case: the next wake-up finds everything warm, which at 100 a second makes a start a seventh quicker. It is for one goroutine.
type commitWatch struct {
	on    bool
	many  bool
	began time.Time     // of the wake-up
	until uint64        // the first transaction that is not waited for; 0: no late look has told
	pause time.Duration // before the next look
	at    time.Time     // of the next look
}

// woken begins anew. many: other replicas look some ms later, so that this one does only for what is in flight.
func (l *commitWatch) woken(many bool, now time.Time) {
	*l = commitWatch{on: true, pause: lookAgain, many: many, began: now}
}

// search is when a look searched for AVAILABLE runs, as those that are so from their INSERT on: not at all, before it saw what was in flight, or
// behind that.
type search int

const (
	searchedNot search = iota
	searchedBefore
	searchedBehind
)

// looked takes what a pass that began at a moment couldn't see. over: all have ended that may have been silent.
func (l *commitWatch) looked(inFlight store.InFlight, searched search, began, now time.Time) (over bool) {
	if !l.on || inFlight.Next == 0 {
		return false
	}
	late := began.Sub(l.began) >= lookAgain
	if late && l.until == 0 {
		l.until = inFlight.Next
	}
	over = late && searched == searchedBehind && inFlight.Oldest >= l.until
	if over || l.many && l.at.IsZero() && searched != searchedNot && inFlight.Oldest >= inFlight.Next {
		*l = commitWatch{}
		return over
	}
	if l.at.IsZero() || !began.Before(l.at) {
		l.at = now.Add(l.pause)
		l.pause *= 2
	}
	return false
}

// before returns the next look, where it comes before t.
func (l *commitWatch) before(t time.Time) time.Time {
	if l.on && !l.at.IsZero() && l.at.Before(t) {
		return l.at
	}
	return t
}

// leave has no look come before a moment: only a look that promotes tells what is in flight.
func (l *commitWatch) leave(until time.Time) {
	if l.on && !l.at.IsZero() && l.at.Before(until) {
		l.at = until
	}
}

// due says that a look is due: what it is for may have been inserted, and is claimed without a promotion.
func (l *commitWatch) due(now time.Time) bool { return l.on && !l.at.IsZero() && !now.Before(l.at) }
