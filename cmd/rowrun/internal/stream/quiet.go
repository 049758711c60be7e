package stream

import (
	"context"
	"math"
	"time"

	"github.com/rowrun/rowrun/store"
)

// Reasons of gaps around a time in which changes may not have been notified.
const (
	gapQueueFull  = "the server's notification queue is full"
	gapQueueFreed = "the server's notification queue was full"
)

// untold says whose changes of status may not have been notified, as the server's queue of notifications was full: those of
// transactions with a lower number. 0: nobody's.
//
// What they have changed the rows tell, in one look at all that changed, as soon as each of them has ended. While the queue is
// full, such looks are repeated. Until the last one the point before which everything was heard stays.
type untold struct{ below uint64 }

func (u *untold) waits() bool { return u.below != 0 }

// quiet takes in what a look says of the queue.
func (r *Reader) quiet(look *store.StreamInserts) {
	u := &r.untold
	switch {
	case look.Quiet:
		if u.below == 0 {
			r.owed = gapQueueFull
		}
		u.below, r.owes = math.MaxUint64, true
	case u.below == math.MaxUint64: // who has found it full has a number by now
		u.below, r.owes = look.Next, true
	case u.below != 0 && look.Xmin >= u.below:
		u.below, r.owed, r.owes = 0, gapQueueFreed, true
	}
}

// settle tells what is owed, at the end.
func (r *Reader) settle(ctx context.Context) error {
	if !r.owes {
		return nil
	}
	if r.owed != "" {
		r.config.Printer.gap(time.Now(), r.owed)
	}
	r.owed, r.owes = "", false
	if err := r.mended(ctx, time.Now()); err != nil {
		return err
	}
	return r.config.Printer.flush()
}
