package scheduler

import (
	"context"
	"time"

	"github.com/rowrun/rowrun/store"
)

const heartbeatKeep = time.Hour // rows of replicas that were not heard of for longer are removed

// sweepStale looks for dead replicas and fails their runs: at start, where only runs without any owner are found; once
// when the first full window of contact is over; and at each interval, which many replicas share. Nothing of it is a leader's: whoever locks the
// dead replica's row first does it.
func (t *incarnation) sweepStale(ctx context.Context) {
	c := t.s.cfg
	errs := t.s.newOnce("stale sweep")
	firstWindow := t.began.Add(c.StaleAfter + 50*time.Millisecond + t.s.pace.first(c.HeartbeatInterval/10))
	turns := rounds{pace: t.s.pace}
	for ctx.Err() == nil {
		if err := t.failStale(ctx); err != nil && ctx.Err() == nil {
			errs.failed(err)
			turns.lost()
		} else if err == nil {
			errs.ok()
		}
		wait := turns.wait(c.StaleSweepInterval)
		if left := time.Until(firstWindow); left > 0 {
			sleep(ctx, min(wait, left))
		} else {
			t.s.sleepAmong(ctx, wait)
		}
	}
}

// failStale is one pass.
func (t *incarnation) failStale(ctx context.Context) error {
	c := t.s.cfg
	pass, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	contact := t.contact.Load()
	dead, err := c.Store.DeadReplicas(pass, t.contactFor())
	if err != nil {
		return err
	}
	if len(dead) > 0 {
		_, jumped, err := t.clockJumped(pass)
		if jumped || err != nil || t.contact.Load() != contact { // a survey may have seen the step first
			return err
		}
	}
	var failed error
	found := 0
	if len(dead) > 0 { // what its process left open may keep its row from being locked
		ended, err := c.Store.EndFrozenSessions(pass, c.StaleAfter)
		for _, pid := range ended {
			c.Log.Warn().Int32("pid", pid).Msg("ended a session of a replica that stands still: it took no answer, and held what others need")
		}
		failed = err
	}
	defer func() { c.Observer.swept(SweepStale, found) }()
	for _, id := range dead {
		tries := 0
		for more := true; more; {
			ended, err := c.Store.EndDeadReplica(pass, id)
			if err != nil {
				failed = err // its row is locked, perhaps: the next one may not be
				tries++      // fewer at once, down to one
			}
			found += len(ended)
			more = len(ended) > 0 || store.TookTooLong(err) && tries <= 10
			if len(ended) > 0 {
				c.Log.Warn().Int("count", len(ended)).Str("dead_replica_id", id).Msg("stale runs failed")
				signal(t.s.opened)
			}
		}
	}
	return failed
}

// sweepOverdue ends runs that the app or a worker executes and that ran out of time, or whose worker fell silent.
func (t *incarnation) sweepOverdue(ctx context.Context) {
	c := t.s.cfg
	errs := t.s.newOnce("overdue sweep")
	for ctx.Err() == nil {
		err := t.endOverdue(ctx)
		if err == nil {
			errs.ok()
		} else if ctx.Err() == nil {
			errs.failed(err)
		}
		t.seen.overdue.wait(ctx, t.patience(c.SweepInterval))
	}
}

// endOverdue is one pass.
func (t *incarnation) endOverdue(ctx context.Context) error {
	c := t.s.cfg
	pass, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	now, jumped, err := t.clockJumped(pass)
	if jumped || err != nil {
		return err
	}
	ended, err := c.Store.EndOverdue(pass, store.Contact{For: t.contactFor(), AsOf: now.now, Silences: t.silences.by(now)})
	c.Observer.swept(SweepOverdue, len(ended))
	if len(ended) > 0 {
		c.Log.Warn().Int("count", len(ended)).Msg("runs of the app or of workers ran out of time")
		signal(t.s.opened)
	}
	return err
}

// cleanup removes what is old.
func (t *incarnation) cleanup(ctx context.Context) {
	c := t.s.cfg
	errs := t.s.newOnce("cleanup")
	turns := rounds{pace: t.s.pace}
	for {
		sleep(ctx, turns.wait(c.CleanupInterval))
		if ctx.Err() != nil {
			return
		}
		err := func() error {
			pass, cancel := context.WithTimeout(ctx, max(c.CleanupInterval, time.Minute))
			defer cancel()
			beats, err := c.Store.RemoveOldHeartbeats(pass, heartbeatKeep)
			if err != nil {
				return err
			}
			if beats > 0 {
				c.Log.Info().Int64("count", beats).Msg("old heartbeats removed")
			}
			if _, err := c.Store.RemoveOldNotes(pass); err != nil {
				return err
			}
			if err := c.Store.RemoveOldWorkerRequests(pass); err != nil {
				return err
			}
			gone, err := c.Store.RemoveOld(pass, store.Retention{Runs: c.Retention, Failed: c.RetentionFailed}, nil)
			if gone.Runs+gone.Plans+gone.Deliveries > 0 {
				c.Log.Info().Int64("runs", gone.Runs).Int64("plans", gone.Plans).Int64("deliveries", gone.Deliveries).Msg("old runs removed")
			}
			return err
		}()
		if err == nil {
			errs.ok()
		} else if ctx.Err() == nil {
			errs.failed(err)
		}
	}
}
