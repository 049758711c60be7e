package stream

import "time"

// ErrBlocked means that whoever should read an output doesn't.
var ErrBlocked = errBlocked

// SetMendPause has a reader look at all rows more often.
func SetMendPause(c *Config, d time.Duration) { c.mendPause = d }

// Source is where this replica reads the stream from: wal or listen; "" while it doesn't write.
func (e *Election) Source() string {
	switch {
	case !e.Holding():
		return ""
	case e.wal != nil && e.wal.reading():
		return "wal"
	}
	return "listen"
}
