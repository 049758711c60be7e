package scheduler

import (
	"context"
	"errors"
	"time"

	"github.com/rowrun/rowrun/store"
)

// manyPromoted is more than a pass claims without a search.
const manyPromoted = 100

// backlogged says whether more is likely to promote: after a pass for many, what ended meanwhile has left as many marks,
// and is promoted beside the claims.
func backlogged(p store.Pass) bool { return p.More || p.Promoted > manyPromoted }

// promoteBacklog promotes what a pass has left, while dispatch claims what was promoted.
func (t *incarnation) promoteBacklog(ctx context.Context) {
	errs := t.s.newOnce("promote a backlog")
	var gates lockWait
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.more:
		}
		t.backlog.Store(true)
		for more := true; more && ctx.Err() == nil; {
			rt, cancel := context.WithTimeout(t.trips, passTimeout)
			answered := t.s.holdUps.begin()
			round, err := t.s.cfg.Store.Work(rt, store.Trip{Replica: t.id, Promote: store.PromoteDue, Lane: store.LaneBacklog})
			p := round.Pass
			answered()
			cancel()
			if err != nil {
				if !errors.Is(err, store.ErrDead) {
					errs.failed(err)
				}
				signal(t.s.promoted) // it may stand, and is announced to others only
				if store.TookTooLong(err) {
					sleep(ctx, smallerAgain)
					continue
				}
				break // the next sweep comes to it
			}
			errs.ok()
			if p.Gated {
				t.s.invalidations.Add(1)
			}
			t.s.cfg.Observer.passed(p)
			signal(t.s.promoted)
			more = backlogged(p)
			if p.Busy {
				more = true
				sleep(ctx, gates.busy(gatesAgain, time.Now()))
			} else {
				gates.free()
			}
		}
		t.backlog.Store(false)
		t.s.recovering.Load().settle()
		signal(t.s.opened) // for what came between the last look and now
	}
}
