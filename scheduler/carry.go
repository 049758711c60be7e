package scheduler

import (
	"context"
	"slices"

	"github.com/rowrun/rowrun/store"
)

// carried says whether an ending is left to dispatch: where others may wait for it, it is written in the trip that promotes and
// claims them; of a plan's, and where limits may apply, while nothing else waits for a slot. Others are written at once, and beside the claims, which uses both
// sides of a machine; where each is written by itself, dispatch takes its part. r.mu is held.
func (r *recorder) carried(e *ending) bool {
	switch {
	case !r.carrying:
		return false
	case e.refills():
		return !r.awaited()
	case !e.plain():
		return false
	case r.s.limited.Load() && !r.awaited(): // the next run most likely waits for the place that comes free
		return true
	}
	return r.busy && r.s.cfg.MaxBatch == 1 || e.store.Database != ""
}

// awaited says whether runs may be AVAILABLE that wait for a slot.
func (r *recorder) awaited() bool {
	t := r.s.current.Load()
	return t != nil && t.available.may()
}

// carry says whether dispatch takes endings along from now on; what it won't is written here.
func (r *recorder) carry(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.carrying = on
	for i := range r.queue {
		if !r.carried(&r.queue[i]) {
			signal(r.wake)
			return
		}
	}
	if len(r.queue) > 0 {
		signal(r.s.freed)
	}
}

// takeCarried takes the endings for a pass.
func (r *recorder) takeCarried() []ending {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue) == 0 {
		return nil
	}
	if slices.ContainsFunc(r.queue, func(e ending) bool { return !r.carried(&e) }) {
		signal(r.wake)
		return nil
	}
	batch := cutOff(&r.queue, r.s.cfg.MaxBatch)
	return slices.DeleteFunc(batch, func(e ending) bool { _, known := r.pending[e.store.Claim]; return !known })
}

// gatherEndings lets quick runs that have just been started end too, where endings are waiting for a trip already:
// otherwise those of two halves would take turns, each with a trip of its own. An ending that waits for no other
// goes at once.
func (t *incarnation) gatherEndings(ctx context.Context) {
	for ctx.Err() == nil && t.s.executing.Load() > 0 && t.s.recorder.gathers() && t.justClaimed() {
		sleep(ctx, gatherFor/8)
	}
}

// gathers says whether endings wait for a trip that has room for more.
func (r *recorder) gathers() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.carrying && len(r.queue) > 0 && len(r.queue) < r.s.cfg.MaxBatch
}

// writeAndClaim writes a single ending together with the claim of the run that takes its slot. false: nothing was done.
func (r *recorder) writeAndClaim(ctx context.Context, batch []ending) bool {
	t := r.s.current.Load()
	if t == nil || len(batch) > 1 || !batch[0].plain() || !r.knows(batch[0].store.Claim) {
		return false
	}
	round, done := t.endAndClaim(ctx, batch[0].store)
	if !done {
		return false
	}
	r.carriedOver(batch, round)
	if round.Marked {
		signal(r.s.opened)
	}
	if t.available.may() && r.s.freeSlots() > 0 {
		signal(r.s.freed)
	}
	return true
}

// giveBack leaves endings that a pass could not write to this recorder, which tells one cause from another.
func (r *recorder) giveBack(batch []ending) {
	for i := range batch {
		batch[i].byItself = true
	}
	r.mu.Lock()
	r.back = append(r.back, batch...)
	r.mu.Unlock()
	signal(r.wake)
}

// carriedOver settles what a pass has written.
func (r *recorder) carriedOver(batch []ending, round store.Round) {
	if len(round.Left) > 0 {
		left := map[int64]bool{}
		for i := range round.Left {
			left[round.Left[i].ID] = true
		}
		r.giveBack(slices.DeleteFunc(slices.Clone(batch), func(e ending) bool { return !left[e.store.ID] }))
		batch = slices.DeleteFunc(batch, func(e ending) bool { return left[e.store.ID] })
	}
	r.recorded(batch, endingsOf(batch), round.Ended)
}

func endingsOf(batch []ending) []store.Ending {
	endings := make([]store.Ending, len(batch))
	for i := range batch {
		endings[i] = batch[i].store
	}
	return endings
}
