package scheduler

import (
	"context"
	"errors"
	"time"
)

// ErrStuck says that a replica ended because too many of its executors ignore their cancel: their slots, and what they
// hold, only come back with a new process.
var ErrStuck = errors.New("too many executors ignore their cancel: this process has to be replaced")

// announceStall says that the run reported no progress in time, after its executor was told to stop. What can't be written is
// only logged.
func (r *running) announceStall() {
	s := r.incarnation.s
	s.mu.Lock()
	if !r.returned {
		r.isStalled = true
		s.stalled.Add(1)
	}
	s.mu.Unlock()
	if s.cfg.Observer.Stalled != nil {
		s.cfg.Observer.Stalled(r.claim.Type)
	}
	s.cfg.Log.Warn().Int64("run_id", r.claim.ID).Str("type", r.claim.Type).Dur("progress_timeout_ms", r.claim.ProgressTimeout).
		Msg("run stalled: no progress was reported in time, its executor is stopped")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), stallNoteTimeout)
	defer cancel()
	if err := s.cfg.Store.NoteStalled(ctx, r.claim.ID); err != nil {
		s.cfg.Log.Warn().Err(err).Int64("run_id", r.claim.ID).Msg("the stream could not be told of a stalled run")
	}
}

const stallNoteTimeout = 2 * time.Second

// ignoresCancel counts an executor that did not return in its grace. Beyond the limit, or with no slot left, the
// replica drains.
func (r *running) ignoresCancel() {
	s := r.incarnation.s
	s.mu.Lock()
	if r.returned {
		s.mu.Unlock()
		return
	}
	r.isStuck = true
	stuck := s.stuck.Add(1)
	all := s.seat.hung(1, stuck)
	s.mu.Unlock()
	if s.cfg.Observer.Stuck != nil {
		s.cfg.Observer.Stuck(r.claim.Type)
	}
	s.cfg.Log.Error().Int64("run_id", r.claim.ID).Str("type", r.claim.Type).Int64("stuck", stuck).
		Msg("an executor ignores its cancel: its run is recorded, its slot stays taken until it returns")
	if stuck > int64(s.cfg.StuckLimit) || all >= int64(s.slots()) {
		s.giveUp(ErrStuck)
	}
}

// noLongerHung takes an executor that has returned out of what is counted as hung. The caller holds Scheduler.mu.
func (r *running) noLongerHung() {
	r.returned = true
	if r.isStalled {
		r.incarnation.s.stalled.Add(-1)
	}
	if r.isStuck {
		r.incarnation.s.seat.hung(-1, r.incarnation.s.stuck.Add(-1))
	}
}
