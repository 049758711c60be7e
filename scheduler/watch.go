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
	executed := t.executed()
	if len(executed) == 0 {
		return nil
	}
	pass, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	held, err := t.s.cfg.Store.Watch(pass, t.id, executed)
	if err != nil {
		return err
	}
	found := make(map[string]store.Held, len(held))
	for _, h := range held {
		found[h.Claim] = h
	}
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	for _, w := range executed {
		r := t.s.running[w.Claim]
		if r == nil || r.incarnation != t {
			continue
		}
		switch h, ok := found[w.Claim]; {
		case !ok || h.Lost:
			r.cancel(errLost)
			signal(t.s.opened) // a person ended it: others may have waited for that
		case h.CancelRequested:
			r.cancel(ErrCanceled)
		}
	}
	return nil
}

// executed lists what this incarnation executes and has not been told to stop.
func (t *incarnation) executed() []store.Watched {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	list := make([]store.Watched, 0, len(t.s.running))
	for claim, r := range t.s.running {
		if r.incarnation == t && r.ctx.Err() == nil {
			list = append(list, store.Watched{ID: r.claim.ID, Claim: claim})
		}
	}
	return list
}
