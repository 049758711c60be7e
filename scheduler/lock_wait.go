package scheduler

import "time"

const (
	// busyAgain is how long to leave the promotion to another replica that is at it, at first and at most.
	busyAgain, busyAtMost = 2 * time.Millisecond, 100 * time.Millisecond
)

// lockWait says how long to leave the lock of the gates to the replica that holds it: half as long as it has been found held already. So who waits
// comes at most half as late again, and a pass that takes long, on a server that is short of processor time, isn't kept from the processor by
// the questions of all others whether it is over. It is for one goroutine.
type lockWait struct {
	since time.Time // from when on the lock has been found held
	until time.Time // until when it is left alone
}

// busy takes that another replica holds the lock, and returns when to ask again.
func (w *lockWait) busy(now time.Time) time.Duration {
	if now.After(w.until.Add(busyAtMost)) { // nobody has asked for so long
		w.since = now
	}
	wait := min(max(now.Sub(w.since)/2, busyAgain), busyAtMost)
	w.until = now.Add(wait)
	return wait
}

// free takes that the lock could be had.
func (w *lockWait) free() { *w = lockWait{} }

// left returns for how long the lock is still left alone.
func (w *lockWait) left(now time.Time) time.Duration { return w.until.Sub(now) }
