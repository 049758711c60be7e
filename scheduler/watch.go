package scheduler

import (
	"context"
	"time"

	"github.com/rowrun/rowrun/store"
)

// watchPause is how often, at most, the rows of what executes here are looked at.
const watchPause = 25 * time.Millisecond

// watch finds runs that were canceled, ended by hand or given away, and stops their executors: at each wake-up, and at
// each sweep.
func (t *incarnation) watch(ctx context.Context) {
	errs := t.s.newOnce("watch")
	for ctx.Err() == nil {
		timer := time.NewTimer(t.s.pace.next(t.s.cfg.SweepInterval))
		woken := false
		select {
		case <-ctx.Done():
		case <-t.s.lookAtRuns:
			woken = true
		case <-t.s.cfg.Ended:
			woken = true
		case <-timer.C:
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
		if err := t.watchOnce(ctx); err != nil && ctx.Err() == nil {
			errs.failed(err)
		} else if err == nil {
			errs.ok()
		}
		if woken {
			sleep(ctx, watchPause)
		}
	}
}

func (t *incarnation) watchOnce(ctx context.Context) error {
	ids := t.runIDs()
	if len(ids) == 0 {
		return nil
	}
	pass, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	held, err := t.s.cfg.Store.Watch(pass, t.id, ids)
	if err != nil {
		return err
	}
	found := make(map[int64]store.Held, len(held))
	for _, h := range held {
		found[h.ID] = h
	}
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	for _, id := range ids {
		r := t.s.running[id]
		if r == nil || r.incarnation != t {
			continue
		}
		switch h, ok := found[id]; {
		case !ok || h.Lost:
			r.cancel(errLost)
			signal(t.s.opened) // a person ended it: others may have waited for that
		case h.CancelRequested:
			r.cancel(ErrCanceled)
		}
	}
	return nil
}

// runIDs lists what this incarnation executes and has not been told to stop.
func (t *incarnation) runIDs() []int64 {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	ids := make([]int64, 0, len(t.s.running))
	for id, r := range t.s.running {
		if r.incarnation == t && r.ctx.Err() == nil {
			ids = append(ids, id)
		}
	}
	return ids
}
