package scheduler

import (
	"time"

	"github.com/rowrun/rowrun/store"
)

// lookAgain is how long after a wake-up the second look follows.
const lookAgain = 6 * time.Millisecond

// patient is the longest pause between looks for a transaction that no snapshot names: some seconds in all.
const patient = 2 * time.Second

// commitWatch says when to look again after a wake-up. A transaction for which another one's notification speaks may commit
// behind that one; it was open then, so that a pass which sees the end of all that the first pass couldn't see has seen
// it too. Something that stays open for long is looked for less and less often. A second look follows in any case: an
// INSERT seen in the log may be invisible for a moment, and the next wake-up finds everything warm, which at 100 a second
// makes a start a seventh quicker. It is for one goroutine.
//
// A snapshot names no transaction beyond the last one that has ended. So what it can't have seen is bounded by the first later
// look whose snapshot reaches further; where nothing ends meanwhile, looks go on until patient.
type commitWatch struct {
	on    bool
	until uint64        // the first transaction that is not waited for; 0: no pass has told
	bound bool          // a later snapshot has told until
	pause time.Duration // before the next look
	at    time.Time     // of the next look
}

// woken begins anew: the next pass tells what is in flight.
func (l *commitWatch) woken() { *l = commitWatch{on: true, pause: lookAgain} }

// looked takes what a pass couldn't see.
func (l *commitWatch) looked(inFlight store.InFlight, now time.Time) {
	if !l.on || inFlight.Next == 0 {
		return
	}
	if l.until == 0 {
		l.until = inFlight.Next
	}
	if !l.bound && inFlight.Next > l.until {
		l.until, l.bound = inFlight.Next, true
	}
	if inFlight.Oldest >= l.until && !l.at.IsZero() && (l.bound || l.pause > patient) {
		*l = commitWatch{}
		return
	}
	if l.at.IsZero() || !now.Before(l.at) {
		l.at = now.Add(l.pause)
		l.pause *= 2
	}
}

// before returns the next look, where it comes before t.
func (l *commitWatch) before(t time.Time) time.Time {
	if l.on && !l.at.IsZero() && l.at.Before(t) {
		return l.at
	}
	return t
}

// due says that a look is due: what it is for may have been inserted, and is claimed without a promotion.
func (l *commitWatch) due(now time.Time) bool { return l.on && !l.at.IsZero() && !now.Before(l.at) }
