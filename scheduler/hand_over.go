package scheduler

import (
	"context"

	"github.com/rowrun/rowrun/store"
)

// handOver leaves runs of a batch to the app, each by itself, and returns what is to be ended: all others, and those of which
// a cancel came first. Those of a batch that is tried again are passed over where they are settled.
func (r *recorder) handOver(ctx context.Context, batch []ending) (endings []store.Ending, err error) {
	for i := range batch {
		e := &batch[i]
		if !r.knows(e.store.Claim) {
			continue
		}
		if e.handOver {
			answered := r.s.holdUps.begin()
			held, err := r.s.cfg.Store.HandOver(ctx, e.store.ID, e.store.Claim)
			answered()
			if err != nil {
				return nil, err
			}
			if held {
				r.settle(e.store.Claim)
				if r.s.limited.Load() {
					signal(r.s.opened) // what the app has takes no slot of a FAIR limit
				}
				continue
			}
			// A cancel came first, or the run is gone: end it as canceled; refused if it is gone.
			e.handOver = false
			e.store.Failed, e.store.Retry = true, store.RetryNone
			e.store.Result = result(CodeCanceled, "Task run canceled", nil)
		}
		endings = append(endings, e.store)
	}
	return endings, nil
}
