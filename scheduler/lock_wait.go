package scheduler

import "time"

const (
	// busyAgain is how long at first something is left alone that another session has locked.
	busyAgain = 2 * time.Millisecond
	// gatesAgain and lockedAgain are how long at most the gates and locked runs are. Who asks for the gates also promotes what has none.
	gatesAgain, lockedAgain = 100 * time.Millisecond, 500 * time.Millisecond
)

// lockWait says how long to leave alone what another session has locked, the gates or runs: half as long as it has been found locked already. So who
// waits comes at most half as late again; and a pass that takes long, on a server that is short of processor time, isn't kept from the
// processor by the questions of all others whether it is over. It is for one goroutine.
type lockWait struct {
	since time.Time // from when on it has been found locked
	until time.Time // until when it is left alone
}

// busy takes that another session has it, and returns when to ask again: in most at the latest.
func (w *lockWait) busy(most time.Duration, now time.Time) time.Duration {
	if now.After(w.until.Add(lockedAgain)) { // nobody has asked for so long
		w.since = now
	}
	wait := min(max(now.Sub(w.since)/2, busyAgain), most)
	w.until = now.Add(wait)
	return wait
}

// free takes that it could be had.
func (w *lockWait) free() { *w = lockWait{} }

// left returns for how long it is still left alone.
func (w *lockWait) left(now time.Time) time.Duration { return w.until.Sub(now) }
