package scheduler

import (
	"context"
	"time"

	"github.com/rowrun/rowrun/store"
)

// park writes plan by plan, so that only those of the plan that is held wait, and leaves these to runStuck. err is why the whole
// batch could not be written.
func (r *recorder) park(ctx context.Context, batch []ending, err error) {
	for _, group := range byPlan(batch) {
		err := err
		if len(group) < len(batch) {
			err = r.try(ctx, r.s.cfg.Store.EndRuns, group, quickLock)
		}
		if err != nil {
			r.leaveStuck(group, err)
		}
	}
}

func (r *recorder) leaveStuck(group []ending, err error) {
	r.mu.Lock()
	r.stuck = append(r.stuck, group...)
	r.note(err, group...)
	r.mu.Unlock()
	signal(r.held)
}

// runStuck writes what waits behind a user's lock, on one connection, so that it takes none from the others. Each try is short:
// for who asks whom this replica waits for, all of them together are one statement that is under way.
func (r *recorder) runStuck(ctx context.Context) {
	var over func()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.held:
		}
		if over == nil {
			over = r.s.holdUps.begin()
		}
		if !r.tryStuck(ctx) {
			over()
			over = nil
		}
		sleep(ctx, 100*time.Millisecond)
	}
}

// tryStuck tries each once, and says whether some are still behind a lock.
func (r *recorder) tryStuck(ctx context.Context) (again bool) {
	r.mu.Lock()
	stuck := r.stuck
	r.stuck = nil
	r.mu.Unlock()
	for _, group := range byPlan(stuck) {
		err := r.try(ctx, r.s.cfg.Store.EndHeldRuns, group, slowLock)
		if err == nil {
			continue
		}
		if store.SQLState(err) == "55P03" || ctx.Err() != nil {
			r.leaveStuck(group, err)
			again = true
			continue
		}
		r.mu.Lock()
		r.queue = append(r.queue, group...)
		r.note(err, group...)
		r.mu.Unlock()
		signal(r.wake)
	}
	return again
}

// byPlan groups endings by plan; those without one, and hand-overs, which lock no plan, each stand alone.
func byPlan(batch []ending) [][]ending {
	plans := map[int64]int{}
	var groups [][]ending
	for _, e := range batch {
		if e.plan != nil && !e.handOver {
			if i, ok := plans[*e.plan]; ok {
				groups[i] = append(groups[i], e)
				continue
			}
			plans[*e.plan] = len(groups)
		}
		groups = append(groups, []ending{e})
	}
	return groups
}
