package simulation

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rowrun/rowrun/store"
)

// work is a trip, as store.Store.Work promises it.
func (db *database) work(ctx context.Context, tx *transaction, t *store.Trip, d *dice) (store.Round, error) {
	var r store.Round
	w := working{db: db, tx: tx, t: t, d: d, want: t.Want, promote: t.Promote}
	if err := w.statement(ctx); err != nil {
		return r, err
	}
	if len(t.Endings) > 0 {
		tx.share(db.replicas[t.Replica])
		if err := w.endings(ctx, &r); err != nil {
			return store.Round{}, err
		}
	}
	if t.Claim == store.ClaimAnyAndFresh && w.promote != store.PromoteNothing {
		w.search(&r)
		if err := w.between(ctx); err != nil {
			return store.Round{}, err
		}
	}
	var promoted []*run
	if w.promote != store.PromoteNothing {
		r.InFlight = db.inFlight(tx)
		promoted = w.pass(&r)
	}
	if t.Claim == store.ClaimAny && w.promote != store.PromoteNothing {
		if err := w.between(ctx); err != nil {
			return store.Round{}, err
		}
	}
	if t.Claim != store.ClaimFresh && (t.Claim == store.ClaimAny || w.promote == store.PromoteNothing) {
		w.search(&r)
	}
	searched := len(r.Claims)
	fresh := 0
	if t.Claim != store.ClaimAny && w.promote != store.PromoteNothing && w.promote != store.PromoteSweep {
		fresh = w.take(&r, promoted)
	} else if w.promote == store.PromoteSweep && t.Claim != store.ClaimAny {
		w.search(&r)
		searched = len(r.Claims)
	}
	left := len(w.opened) - w.take(&r, w.opened)
	unclaimed := len(promoted) - fresh
	r.Gated = unclaimed > 0 || left > 0
	if t.Claim == store.ClaimAny || w.promote == store.PromoteNothing {
		left, unclaimed = left+unclaimed, 0
	}
	r.Unclaimed = unclaimed + max(0, left-searched)
	r.Promoted = len(promoted) + len(w.opened)
	if !w.alive {
		return r, store.ErrDead
	}
	return r, nil
}

// statement is the beginning of one of a trip: whether the replica is there.
func (w *working) statement(ctx context.Context) error {
	me := w.db.replicas[w.t.Replica]
	if me != nil && me.alone != nil && me.alone != w.tx { // who declares it dead comes first
		if err := w.db.released(ctx, w.tx, me); err != nil {
			return err
		}
		me = w.db.replicas[w.t.Replica]
	}
	w.alive = me != nil && me.state == "ACTIVE"
	return nil
}

// between has a moment pass between two statements of some trips.
func (w *working) between(ctx context.Context) error {
	if !w.d.chance(0.2) {
		return nil
	}
	w.db.mu.Unlock()
	err := pause(ctx, w.d.between(0, pick(w.d, time.Millisecond, 10*time.Millisecond)))
	w.db.mu.Lock()
	switch {
	case err != nil:
		return err
	case w.tx.over:
		return errReset
	}
	return w.statement(ctx)
}

type working struct {
	db      *database
	tx      *transaction
	t       *store.Trip
	d       *dice
	want    int
	promote store.Promotion
	alive   bool
	opened  []*run // that ends have promoted
	below   []int  // how many were claimed below each priority of the trip
	rooms   map[string]int
	// searching: what is claimed was AVAILABLE before, not promoted by the same statement.
	searching bool
}

// endings are the first part of a trip.
func (w *working) endings(ctx context.Context, r *store.Round) error {
	plain := !slices.ContainsFunc(w.t.Endings, func(e store.Ending) bool { return e.Failed || e.PlanTask != 0 || e.Claim == "" })
	fills := !plain && !slices.ContainsFunc(w.t.Endings, func(e store.Ending) bool {
		return e.Failed || e.Claim == "" || e.PlanTask != 0 && e.Database != ""
	})
	if w.promote == store.PromoteNothing && !plain && !fills {
		w.promote = store.PromoteDue
	}
	var told []store.Ending
	for _, e := range w.t.Endings {
		if plain && w.d.chance(0.03) {
			w.db.s.count("ending left by a trip")
			r.Left = append(r.Left, e)
		} else {
			told = append(told, e)
		}
	}
	ended, gates, err := w.db.ends(ctx, w.tx, told, w.t.LockTimeout)
	if err != nil {
		return err
	}
	r.Ended = ended
	if !gates {
		return nil
	}
	if (plain || fills) && w.db.lockPromotion(w.tx) && w.d.chance(0.8) {
		w.opened, _ = w.db.promote(w.tx, w.db.candidates(w.tx, true), w.db.most)
		w.db.s.count("promoted by an end")
	}
	w.tx.then = append(w.tx.then, func() { w.db.marks++ })
	r.Marked = w.promote == store.PromoteNothing
	return nil
}

// lockPromotion is the lock of who judges; false: another has it.
func (db *database) lockPromotion(tx *transaction) bool {
	if db.lock != nil && db.lock != tx {
		db.s.count("promotion lock busy")
		return false
	}
	tx.writes()
	db.lock = tx
	return true
}

// pass promotes.
func (w *working) pass(r *store.Round) []*run {
	db, sweep := w.db, w.promote == store.PromoteSweep
	promoted, more := db.promote(w.tx, db.candidates(w.tx, false), db.most)
	gated, _, next := db.due(w.tx)
	if me := db.replicas[w.t.Replica]; len(promoted) > 0 || gated || sweep || db.marks > 0 {
		w.tx.share(me)
	}
	r.NextDue, r.More = next, more
	if !gated && db.marks == 0 && !sweep {
		return promoted
	}
	if !db.lockPromotion(w.tx) {
		r.Busy = true
		return promoted
	}
	marks, of := db.marks, db.candidates(w.tx, true)
	judged, further := db.promote(w.tx, of, db.most)
	r.More = r.More || further
	now := db.now()
	w.tx.then = append(w.tx.then, func() {
		db.marks -= marks
		for _, one := range of {
			one.judged = one.judged || !w.tx.of(one).runAt.After(now)
		}
		if further {
			db.marks++
		}
	})
	return append(promoted, judged...)
}

// search claims AVAILABLE runs.
func (w *working) search(r *store.Round) {
	var found []*run
	skipped := false
	for _, one := range w.db.order {
		if !w.tx.sees(one) || w.tx.of(one).status != "AVAILABLE" || one.task.paused || one.task.plan != nil && one.task.plan.paused ||
			!slices.Contains(w.t.Capabilities.Types, one.task.kind) {
			continue
		}
		if one.holds != nil && one.holds != w.tx {
			skipped = true
			continue
		}
		found = append(found, one)
	}
	if len(found) > 0 {
		w.tx.share(w.db.replicas[w.t.Replica])
	}
	first(w.tx, found)
	w.searching = true
	w.take(r, found)
	w.searching = false
	for i := range r.Claims {
		r.Claims[i].Fresh = false
	}
	if skipped && len(r.Claims) < w.t.Want {
		r.Contended = true
		w.db.s.count("claim lost to another replica")
	}
}

// take claims of these runs what there are slots for; how many.
func (w *working) take(r *store.Round, runs []*run) int {
	n := 0
	if w.below == nil {
		w.below, w.rooms = make([]int, len(w.t.Below)), map[string]int{}
	}
	for _, one := range runs {
		v := w.tx.of(one)
		if len(r.Claims) >= w.want || !w.alive {
			break
		}
		if v.status != "AVAILABLE" || !w.fits(one, v) || !w.tx.take(one) {
			continue
		}
		v = w.tx.of(one)
		w.db.claims++
		n++
		claim := fmt.Sprintf("claim-%d", w.db.claims)
		v.replica, v.claim, v.progressAt = w.t.Replica, claim, w.db.now()
		atOnce := v.prev == "PENDING" && v.xid == w.tx.xid && !w.searching
		w.db.change(w.tx, one, "RUNNING")
		if atOnce { // one version of the row has both edges
			v.prev = "PENDING"
		}
		if w.db.s.logs {
			w.db.s.say("run %d claimed by replica %d, %s", one.id, w.tx.replica, claim)
		}
		w.db.s.model.claimed(one, claim, w.t.Replica)
		r.Claims = append(r.Claims, w.db.handed(w.tx, one, v))
	}
	return n
}

// fits says whether there is room of the run's priority and of its type.
func (w *working) fits(one *run, v *row) bool {
	if room, limited := w.t.Capabilities.Rooms[one.task.kind]; limited {
		if w.rooms[one.task.kind] >= room.Most {
			return false
		}
	}
	for i, b := range w.t.Below {
		if v.priority < b.Priority && w.below[i] >= b.Most {
			return false
		}
	}
	w.rooms[one.task.kind]++
	for i, b := range w.t.Below {
		if v.priority < b.Priority {
			w.below[i]++
		}
	}
	return true
}

func (db *database) handed(tx *transaction, r *run, v *row) store.Claim {
	c := store.Claim{
		ID: r.id, RootID: r.root, TaskID: r.task.id, TaskName: "simulated", Attempt: r.attempt, Type: r.task.kind, Queue: "default", DatabaseID: r.task.database,
		Payload: []byte("{}"), Claim: v.claim, Timeout: r.task.timeout, ProgressTimeout: r.task.silence, Fresh: true, Priority: v.priority,
		Replica: v.replica, CreatedAt: r.created, AvailableAt: v.available, StartedAt: v.started, Xid: tx.xid,
	}
	if r.retryOf != 0 {
		c.RetryOf = &r.retryOf
	}
	if r.task.plan != nil {
		c.PlanID = &r.task.plan.id
	}
	return c
}

// inFlight are the transactions of others that are under way. As in PostgreSQL a snapshot ends behind the last one that has ended,
// and names no transaction from there on; the next number is known beside it, or the transaction's own.
func (db *database) inFlight(tx *transaction) store.InFlight {
	seen := store.InFlight{Oldest: db.lastEnded + 1, Next: db.lastXid + 1}
	if tx.xid != 0 {
		seen.Next = max(tx.xid, seen.Oldest)
	}
	for _, o := range db.open {
		if o != tx && o.xid != 0 {
			seen.Oldest = min(seen.Oldest, o.xid)
		}
	}
	return seen
}

// ends ends runs by compare-and-set; gates: others may have waited for some.
func (db *database) ends(ctx context.Context, tx *transaction, endings []store.Ending, lock time.Duration) (ended []store.Ended, gates bool, err error) {
	slices.SortFunc(endings, func(a, b store.Ending) int { return int(a.ID - b.ID) })
	for i := range endings {
		e := &endings[i]
		r := db.runs[e.ID]
		if r == nil || !tx.sees(r) {
			continue
		}
		if err := db.wait(ctx, tx, r, lock); err != nil {
			return nil, false, err
		}
		v := tx.of(r)
		if v.status != "RUNNING" || e.Claim != "" && v.claim != e.Claim {
			db.s.count("ending refused")
			continue
		}
		if db.s.logs {
			db.s.say("run %d ends failed=%t by %q", r.id, e.Failed, e.Claim)
		}
		one := db.finish(tx, r, e.Failed, e.Retry, codeOf(e), e.Claim)
		one.FinishedAt, one.Xid = v.finished, tx.xid
		gates = gates || r.task.gated() || db.awaited(r.task)
		ended = append(ended, one)
	}
	return ended, gates, nil
}

func (db *database) awaited(k *task) bool {
	return slices.ContainsFunc(db.tasks, func(o *task) bool { return o.after == k })
}

// finish ends a run that tx holds, and adds its successor.
func (db *database) finish(tx *transaction, r *run, failed bool, retry store.Retry, code, by string) store.Ended {
	v := tx.of(r)
	status := "DONE"
	if failed {
		status = "FAILED"
		if v.cancel {
			status = "CANCELED"
		}
	}
	v.code, v.by = code, by
	again := status == "FAILED" && (retry == store.RetrySnoozed || retry == store.RetryFailure && r.failures < r.task.maxAttempts-1 ||
		retry == store.RetryStale && r.task.again && r.recoveries < 5)
	db.change(tx, r, status)
	one := store.Ended{ID: r.id, Status: status}
	if again {
		at := db.now()
		if retry != store.RetryStale {
			at = at.Add(r.task.retryDelay)
		}
		next := db.insert(tx, r.task, at, r)
		switch retry {
		case store.RetryFailure:
			next.failures++
		case store.RetryStale:
			next.recoveries++
		}
		v.retryRun = next.id
		one.RetryRunID = &v.retryRun
		db.s.count("successor after " + string(retry))
	}
	return one
}
