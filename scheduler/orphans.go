package scheduler

import "context"

// sweepOrphans looks for runs that no live replica could run. A type is announced when two looks have found it.
func (t *incarnation) sweepOrphans(ctx context.Context) {
	c := t.s.cfg
	errs := t.s.newOnce("orphans")
	turns := rounds{pace: t.s.pace}
	for {
		t.s.sleepAmong(ctx, turns.wait(c.StaleSweepInterval))
		if ctx.Err() != nil {
			return
		}
		pass, cancel := context.WithTimeout(ctx, passTimeout)
		_, err := c.Store.NoteOrphans(pass, c.StaleSweepInterval/2, c.StaleSweepInterval*3/4)
		cancel()
		if err == nil {
			errs.ok()
		} else if ctx.Err() == nil {
			errs.failed(err)
		}
	}
}
