package scheduler

import (
	"time"

	"github.com/rowrun/rowrun/store"
)

// lookAgain is how long after a wake-up the second look follows.
const lookAgain = 6 * time.Millisecond

// commitWatch says when to look again after a wake-up. A transaction for which another one's notification speaks may commit
// behind that one; it had its id by then (store.InFlight tells the first that nobody had). When a pass tells that all have ended that the
// first pass couldn't see, the next search sees what these inserted. The pass's own may not have: a trip searches for AVAILABLE runs before it
// promotes, and the promotion tells who is in flight. Something that stays open for long is looked for less and less often. A second look
// follows in any case: an INSERT seen in the log may be invisible for a moment, and the next wake-up finds everything warm, which at 100 a second
// makes a start a seventh quicker. It is for one goroutine.
type commitWatch struct {
	on    bool
	many  bool
	until uint64        // the first transaction that is not waited for; 0: no pass has told
	over  bool          // all before that one had ended when the last pass was made
	pause time.Duration // before the next look
	at    time.Time     // of the next look
}

// woken begins anew: the next pass tells what is in flight. many: other replicas look some ms later, so that this one does only for what is
// in flight.
func (l *commitWatch) woken(many bool) { *l = commitWatch{on: true, pause: lookAgain, many: many} }

// looked takes what a pass couldn't see. searched: it looked for AVAILABLE runs, as those that are so from their INSERT on, or is to; one
// that came for something else ends no watch.
func (l *commitWatch) looked(inFlight store.InFlight, searched bool, now time.Time) {
	if !l.on || inFlight.Next == 0 {
		return
	}
	if l.until == 0 {
		l.until = inFlight.Next
	}
	over := inFlight.Oldest >= l.until
	if searched && (l.over || over && l.many && l.at.IsZero()) {
		*l = commitWatch{}
		return
	}
	if l.at.IsZero() || !now.Before(l.at) {
		if over {
			l.pause = lookAgain
		}
		l.at = now.Add(l.pause)
		l.pause *= 2
	}
	l.over = l.over || over
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
