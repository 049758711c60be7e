package store

import "time"

// SlowSearches are those of a replica that has met what a snapshot keeps, at a time: they go on behind last.
func SlowSearches(last int64, at time.Time, took time.Duration) *Searches {
	s := search{last: last, whole: at, took: took, slow: true}
	return &Searches{available: s}
}

// AvailableSearch gives tests the search of AVAILABLE runs: where it would begin now, and what it notes.
func (s *Searches) AvailableSearch() (from func(time.Time) int64, found func(behind int64, took time.Duration, read int64, n, most int, last int64, now time.Time) time.Duration) {
	found = func(behind int64, took time.Duration, read int64, n, most int, last int64, now time.Time) time.Duration {
		return s.available.found(behind, true, cost{took, read}, n, most, last, now)
	}
	return s.available.from, found
}
