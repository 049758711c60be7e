package store

import "time"

// SlowCursor is that of a replica that has met what a snapshot keeps, at a time: its searches go on after last.
func SlowCursor(last int64, at time.Time, took time.Duration) *Cursor {
	return &Cursor{last: last, whole: at, took: took, slow: true}
}

// After is the run after which a search would begin now.
func (c *Cursor) After(now time.Time) int64 { return c.after(now) }

// Found is what a search notes.
func (c *Cursor) Found(after int64, took time.Duration, read int64, n, most int, last int64, now time.Time) time.Duration {
	return c.found(after, true, cost{took, read}, n, most, last, now)
}
