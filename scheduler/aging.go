package scheduler

import (
	"context"

	"github.com/rowrun/rowrun/store"
)

// ageWindow is how many runs one statement raises at most.
const ageWindow = 1000

// sweepAging raises the priorities of runs that wait, when a survey says that some have waited long enough: as many as there are, one
// batch after the other. Replicas that are at it at the same moment share them.
func (t *incarnation) sweepAging(ctx context.Context) {
	c := t.s.cfg
	errs := t.s.newOnce("aging")
	var size store.Batch
	for ctx.Err() == nil {
		most := size.Most(ageWindow)
		pass, cancel := context.WithTimeout(ctx, passTimeout)
		raised, opened, err := c.Store.AgeRuns(pass, most)
		cancel()
		smaller := size.Done(most, err)
		if err == nil {
			errs.ok()
		} else if ctx.Err() == nil {
			errs.failed(err)
		}
		if raised > 0 {
			t.s.invalidations.Add(1)
		}
		if opened {
			signal(t.s.opened)
		}
		if raised < most && !smaller {
			t.seen.aging.wait(ctx, t.patience(c.SweepInterval))
		}
	}
}
