package scheduler

import (
	"context"

	"github.com/rowrun/rowrun/store"
)

// scheduleWindow is how many recurring tasks one pass of the sweep looks at: a few milliseconds.
const scheduleWindow = 1000

// sweepSchedules is the safety net of recurring tasks. The end of a run and the change of a task make the next run
// themselves; what this finds was deleted or restored by hand, and may wait.
func (t *incarnation) sweepSchedules(ctx context.Context) {
	c := t.s.cfg
	errs := t.s.newOnce("schedule sweep")
	after := int64(0)
	var size store.Batch
	turns := rounds{pace: t.s.pace}
	for ctx.Err() == nil {
		pass, cancel := context.WithTimeout(ctx, passTimeout)
		most := size.Most(scheduleWindow)
		last, made, err := c.Store.SweepSchedules(pass, after, most)
		cancel()
		size.Done(most, err)
		switch {
		case err == nil:
			errs.ok()
			after = last
			if made > 0 {
				c.Log.Warn().Int("count", made).Msg("schedules had no run to come: made")
				signal(t.s.opened)
			}
		case ctx.Err() == nil:
			errs.failed(err)
			turns.lost()
		}
		t.s.sleepAmong(ctx, turns.wait(c.StaleSweepInterval))
	}
}
