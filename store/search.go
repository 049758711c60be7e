package store

import "time"

// Searches is where the searches of one replica begin; for one goroutine.
//
// While a snapshot is held open anywhere on the server (a backup, a forgotten transaction), nothing removes the entries
// that runs have left behind in the index of AVAILABLE runs, and each search for the next ones passes by all
// of them: after a million runs that takes half a second. So where a search read many more entries than it found runs, the
// next ones begin behind the last run that was found. They miss nothing of another priority, but runs of the same one
// that came into the order before that place: these are found by a search from the first run, which follows after ten times
// as long as the last of its kind took, and after twice as long where it was told that there may be such. The pile then
// costs a part of the time that doesn't grow with it, and where there is none every search begins at the first run.
type Searches struct {
	available search
}

const (
	// A search is slow that reads more entries than these, and eachRead more for each run that it finds. What it takes
	// would not do: on a busy machine any search takes long.
	fewRead  = 10_000
	eachRead = 10
	// weighEvery is how often a search is asked what it cost while none is slow: the question takes a tenth of the time of a
	// claim of one run.
	weighEvery = 20 * time.Millisecond
	// untold and told are after how many times what a search from the first run took the next one follows.
	untold = 10
	told   = 2
)

// search is the search along one index.
type search struct {
	last  int64         // the run that it came to
	whole time.Time     // when the last one from the first run ended
	took  time.Duration // how long that one took
	slow  bool          // it was
	told  bool          // since then
	// weighed is when one was last asked what it cost.
	weighed time.Time
}

// cost is what a search cost: how long it took, and how many entries of its index it read: 0 where track_counts is off.
type cost struct {
	took time.Duration
	read int64
}

// Told says that there may be runs before those that searches have come to.
func (s *Searches) Told() {
	s.available.told = true
}

// Slow is how long the last search from the first run took where the next begin behind one; 0: they don't.
func (s *Searches) Slow() time.Duration {
	if !s.available.slow {
		return 0
	}
	return s.available.took
}

// from is the run behind which to search now; 0: from the first.
func (s *search) from(now time.Time) int64 {
	if !s.slow || s.rest(now) <= 0 {
		return 0
	}
	return s.last
}

// weighs says whether the search from the first run is to say what it cost.
func (s *search) weighs(now time.Time) bool { return s.slow || now.Sub(s.weighed) >= weighEvery }

// rest is for how long searches may go on behind a run.
func (s *search) rest(now time.Time) time.Duration {
	times := time.Duration(untold)
	if s.told {
		times = told
	}
	return times*s.took - now.Sub(s.whole)
}

// found notes what a search behind a run, 0: from the first, has found: n runs of at most so many, and the last of them.
// weighed: it was asked what it cost. It returns when to look again for what lies before, 0: there is no need.
func (s *search) found(behind int64, weighed bool, c cost, n, most int, last int64, now time.Time) time.Duration {
	if last == 0 {
		last = s.last
	}
	switch {
	case behind != 0:
		s.last = last
		if n < most {
			return max(time.Millisecond, s.rest(now))
		}
	case !weighed:
	case c.read > fewRead+int64(n)*eachRead:
		*s = search{last: last, whole: now, took: c.took, slow: true, weighed: now}
	default:
		*s = search{weighed: now}
	}
	return 0
}
