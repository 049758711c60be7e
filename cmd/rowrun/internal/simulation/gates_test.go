package simulation

import (
	"slices"
	"time"
)

// alive says whether a replica lives that may claim.
func (db *database) alive() bool {
	for _, h := range db.replicas {
		if h.state == "ACTIVE" && !db.now().After(h.beat.Add(h.lease)) {
			return true
		}
	}
	return false
}

// open judges a run as the gates do, at this moment, as tx sees it.
func (db *database) opened(tx *transaction, r *run) bool {
	k, v := r.task, tx.of(r)
	switch {
	case v.runAt.After(db.now()), k.paused:
		return false
	case k.plan == nil && k.database == "":
		return true
	case k.plan != nil && k.plan.paused, !db.alive():
		return false
	}
	active := 0
	for _, o := range db.order {
		if o == r || !tx.sees(o) {
			continue
		}
		w := tx.of(o)
		if k.plan != nil && o.task.plan == k.plan && w.active() {
			active++
		}
		if k.database != "" && o.task.database == k.database && !w.ended() {
			if k.version > 0 && o.task.version > 0 && o.task.version < k.version {
				return false
			}
			if w.active() && (k.sequential || o.task.sequential) {
				return false
			}
		}
	}
	if k.plan != nil && k.plan.limit > 0 && active >= k.plan.limit {
		return false
	}
	return k.after == nil || db.done(tx, k.after)
}

// done says whether the newest run of a task is DONE.
func (db *database) done(tx *transaction, k *task) bool {
	for _, o := range slices.Backward(db.order) {
		if o.task == k && tx.sees(o) {
			return tx.of(o).status == "DONE"
		}
	}
	return true // it has none, and gets none
}

// candidates are PENDING runs that nobody holds, in order. All of those with gates must be judged by one at a time.
func (db *database) candidates(tx *transaction, gated bool) []*run {
	var found []*run
	for _, r := range db.order {
		if r.task.gated() == gated && tx.sees(r) && tx.of(r).status == "PENDING" && (r.holds == nil || r.holds == tx) {
			found = append(found, r)
		}
	}
	first(tx, found)
	return found
}

// promote makes runs AVAILABLE whose gates are open, at most so many.
func (db *database) promote(tx *transaction, of []*run, most int) (promoted []*run, more bool) {
	for _, r := range of {
		if !db.opened(tx, r) {
			continue
		}
		if len(promoted) == most {
			return promoted, true
		}
		if tx.take(r) {
			db.change(tx, r, "AVAILABLE")
			promoted = append(promoted, r)
		}
	}
	return promoted, false
}

// due says whether a run with gates, or without, is due that is PENDING, and when the next one will be.
func (db *database) due(tx *transaction) (gated, ungated bool, next time.Duration) {
	now := db.now()
	for _, r := range db.order {
		v := tx.of(r)
		switch {
		case !tx.sees(r) || v.status != "PENDING":
		case v.runAt.After(now):
			if d := v.runAt.Sub(now); next == 0 || d < next {
				next = d
			}
		case !r.task.gated():
			ungated = true
		case !r.judged:
			gated = true
		}
	}
	return gated, ungated, next
}
