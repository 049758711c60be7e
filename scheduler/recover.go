package scheduler

import (
	"context"
	"time"
)

// recoverLost calls the functions that tasks name in on_stale: when this replica has settled lost runs, when a
// survey finds one, and at each stale sweep. It is no part of that sweep, which must not wait for what users write.
func (t *term) recoverLost(ctx context.Context) {
	c := t.s.cfg
	errs := t.s.newOnce("recovery functions")
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.s.lost:
		case found := <-t.seen.recovery:
			if !found {
				reset(timer, t.patience(c.StaleSweepInterval))
				continue
			}
		case <-timer.C:
		}
		for called := true; called && ctx.Err() == nil; {
			pass, cancel := context.WithTimeout(ctx, passTimeout)
			r, err := c.Store.CallRecovery(pass)
			cancel()
			switch called = r != nil; {
			case err != nil && ctx.Err() == nil:
				errs.failed(err)
			case err == nil:
				errs.ok()
			}
			if r != nil && r.Failed != "" {
				c.Log.Warn().Int64("run_id", r.RunID).Str("function", r.Function).Str("error", r.Failed).Msg("recovery function failed")
			} else if r != nil {
				c.Log.Info().Int64("run_id", r.RunID).Str("function", r.Function).Msg("recovery function called")
			}
		}
		reset(timer, t.patience(c.StaleSweepInterval))
	}
}

// sweepOrphans looks for runs that no live replica could run. A type is announced when two looks have found it.
func (t *term) sweepOrphans(ctx context.Context) {
	c := t.s.cfg
	errs := t.s.newOnce("orphans")
	for {
		sleep(ctx, c.StaleSweepInterval)
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
