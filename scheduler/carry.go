package scheduler

import (
	"context"
	"slices"
	"time"

	"github.com/rowrun/rowrun/store"
)

// maxCarried is with how many runs under way endings are carried. Where there are more, writing them on a connection of
// their own beside the claims uses both sides of a machine; below it, a round trip and a commit less count for more.
const maxCarried = 100

// carried says whether an ending is left to dispatch: where others may wait for it, and nothing else for a slot, it is
// written in the round trip that promotes and claims them. Others are written at once, and beside the claims: a promotion
// for each few ends would cost more than it saves while there is other work. Ends of plans are not carried: an end of one
// round and the start of the next stay two commits. r.mu is held.
func (r *recorder) carried(e *ending) bool {
	return r.carrying && e.store.Database != "" && e.plan == nil && !e.handOver && r.few()
}

// few says whether little enough is under way for endings to be carried. r.mu is held.
func (r *recorder) few() bool { return int(r.s.executing.Load())+len(r.pending) <= maxCarried }

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
	if !r.few() || !r.carrying || slices.ContainsFunc(r.queue, func(e ending) bool { return e.handOver || e.plan != nil }) {
		signal(r.wake)
		return nil
	}
	batch := cutOff(&r.queue, r.s.cfg.MaxBatch)
	return slices.DeleteFunc(batch, func(e ending) bool { _, known := r.pending[e.store.ID]; return !known })
}

// gatherEndings lets quick runs that have just been started end too, where endings are waiting for a pass already:
// otherwise those of two halves would take turns, each with a promotion of its own. An ending that waits for no other
// goes at once.
func (t *term) gatherEndings(ctx context.Context) {
	for ctx.Err() == nil && t.s.executing.Load() > 0 && t.s.recorder.carries() && time.Since(t.claimedAt) < gatherFor {
		sleep(ctx, gatherFor/8)
	}
}

// carries says whether endings wait for a pass.
func (r *recorder) carries() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.carrying && len(r.queue) > 0
}

// giveBack leaves endings that a pass could not write to this recorder, which tells one cause from another.
func (r *recorder) giveBack(batch []ending) {
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
