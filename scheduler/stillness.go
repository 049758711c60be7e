package scheduler

import "time"

// stillness is for how long a run has reported nothing. Behind a database's clock that was set back its last report lies ahead;
// then what counts is the process's own time since that was first seen.
type stillness struct {
	since  time.Time     // the report has been ahead of the clock since then, in each look
	at     time.Time     // of the last look
	silent time.Duration // what it found
}

// lasts takes what a look found by the database's clock; below 0: the report is ahead. Where that is less than the time since the
// last look explains, a report came and the clock was set back again: the time begins anew.
func (q *stillness) lasts(now time.Time, silent time.Duration) time.Duration {
	passed := now.Sub(q.at)
	if silent >= 0 || q.since.IsZero() || silent < q.silent+passed-time.Second-passed/clockDrift {
		q.since = now
	}
	q.at, q.silent = now, silent
	return max(silent, now.Sub(q.since))
}
