package store

import "time"

// Cursor is where the searches of one lane of a replica begin; for one goroutine.
//
// While a snapshot is held open anywhere on the server (a backup, a forgotten transaction), nothing removes the entries
// that runs have left behind in the index of AVAILABLE runs, and each search for the next ones passes by all
// of them: after a million runs that takes half a second. So where a search read many more entries than it found runs, the
// next ones begin after the last run that was found. They miss nothing of another priority, but runs of the same one
// that came into the order before that place: these are found by a search from the first run, which follows after ten times
// as long as the last of its kind took, and after twice as long where it was invalidated. The pile then
// costs a part of the time that doesn't grow with it, and where there is none every search begins at the first run.
type Cursor struct {
	last    int64         // the run that searches came to
	whole   time.Time     // when the last one from the first run ended
	took    time.Duration // how long that one took
	slow    bool          // it was
	invalid bool          // since then there may have come runs before last
	// weighed is when one was last asked what it cost.
	weighed time.Time
}

const (
	// A search is slow that reads more entries than these, and eachRead more for each run that it finds. What it takes
	// would not do: on a busy machine any search takes long.
	fewRead  = 10_000
	eachRead = 10
	// weighEvery is how often a search is asked what it cost while none is slow: the question takes a tenth of the time of a
	// claim of one run.
	weighEvery = 20 * time.Millisecond
	// whileValid and whileInvalid are after how many times what a search from the first run took the next one follows.
	whileValid   = 10
	whileInvalid = 2
)

// cost is what a search cost: how long it took, and how many entries of its index it read: 0 where track_counts is off.
type cost struct {
	took time.Duration
	read int64
}

// Invalidate says that there may be runs before those that searches have come to.
func (c *Cursor) Invalidate() { c.invalid = true }

// Slow is how long the last search from the first run took where the next begin after one; 0: they don't.
func (c *Cursor) Slow() time.Duration {
	if !c.slow {
		return 0
	}
	return c.took
}

// after is the run after which to search now; 0: from the first.
func (c *Cursor) after(now time.Time) int64 {
	if !c.slow || c.rest(now) <= 0 {
		return 0
	}
	return c.last
}

// weighs says whether the search from the first run is to say what it cost.
func (c *Cursor) weighs(now time.Time) bool { return c.slow || now.Sub(c.weighed) >= weighEvery }

// rest is for how long searches may go on after a run.
func (c *Cursor) rest(now time.Time) time.Duration {
	times := time.Duration(whileValid)
	if c.invalid {
		times = whileInvalid
	}
	return times*c.took - now.Sub(c.whole)
}

// found notes what a search after a run, 0: from the first, has found: n runs of at most so many, and the last of them.
// weighed: it was asked what it cost. It returns when to search again from the first, 0: there is no need.
func (c *Cursor) found(after int64, weighed bool, spent cost, n, most int, last int64, now time.Time) time.Duration {
	if last == 0 {
		last = c.last
	}
	switch {
	case after != 0:
		c.last = last
		if n < most {
			return max(time.Millisecond, c.rest(now))
		}
	case !weighed:
	case spent.read > fewRead+int64(n)*eachRead:
		*c = Cursor{last: last, whole: now, took: spent.took, slow: true, weighed: now}
	default:
		*c = Cursor{weighed: now}
	}
	return 0
}
