package simulation

import (
	"context"
	"slices"
	"time"

	"github.com/rowrun/rowrun/store"
)

// released waits until nobody holds a replica's row alone. mu is held, but for the wait.
func (db *database) released(ctx context.Context, tx *transaction, h *replicaRow) error {
	for h.alone != nil && h.alone != tx {
		if err := db.release(ctx, h); err != nil {
			return err
		}
	}
	return nil
}

// release waits until somebody lets a replica's row go. mu is held, but for the wait.
func (db *database) release(ctx context.Context, h *replicaRow) error {
	again := h.released
	db.mu.Unlock()
	defer db.mu.Lock()
	select {
	case <-again:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (db *database) register(tx *transaction, r store.Replica) {
	tx.then = append(tx.then, func() {
		db.replicas[r.ID] = &replicaRow{id: r.ID, state: "ACTIVE", beat: db.now(), lease: r.Lease, shared: map[*transaction]bool{}, released: make(chan struct{})}
		db.marks++ // runs may have waited for one
	})
}

func (db *database) heartbeat(ctx context.Context, tx *transaction, id string) error {
	h := db.replicas[id]
	if h == nil {
		return store.ErrDead
	}
	if err := db.released(ctx, tx, h); err != nil {
		return err
	}
	if db.replicas[id] != h || h.state == "DEAD" {
		return store.ErrDead
	}
	now := db.now()
	// The row's lock has heartbeats commit in their order.
	tx.then = append(tx.then, func() {
		if now.After(h.beat) {
			h.beat = now
		}
	})
	return nil
}

// deregister waits for claims under the name.
func (db *database) deregister(ctx context.Context, tx *transaction, id string) error {
	for {
		h := db.replicas[id]
		if h == nil {
			return nil
		}
		if len(h.shared) == 0 && h.alone == nil {
			tx.then = append(tx.then, func() { delete(db.replicas, id) })
			return nil
		}
		if err := db.release(ctx, h); err != nil {
			return err
		}
	}
}

// deadReplicas are those whose lease is over, and names under which runs are RUNNING that have no row.
func (db *database) deadReplicas(contact time.Duration) []string {
	var dead []string
	for _, h := range db.replicas {
		if h.state != "DEAD" && h.beat.Add(h.lease).Before(db.now()) && h.lease <= contact {
			dead = append(dead, h.id)
		}
	}
	for _, r := range db.order {
		if r.seen && r.status == "RUNNING" && r.replica != "" {
			if h := db.replicas[r.replica]; h == nil || h.state == "DEAD" {
				dead = append(dead, r.replica)
			}
		}
	}
	slices.Sort(dead)
	return slices.Compact(dead)
}

// endDeadReplica declares a replica dead whose lease is over, and ends its runs.
func (db *database) endDeadReplica(tx *transaction, id string) []store.Ended {
	h := db.replicas[id]
	if h != nil {
		if h.alone != nil || len(h.shared) > 0 {
			db.s.count("dead replica's row held")
			return nil
		}
		h.alone = tx
		tx.replicas = append(tx.replicas, h)
		if h.state != "DEAD" {
			if !h.beat.Add(h.lease).Before(db.now()) {
				return nil
			}
			db.s.count("replica declared dead")
			db.s.model.declaredDead(id)
			tx.then = append(tx.then, func() { h.state = "DEAD" })
		}
	}
	var ended []store.Ended
	for _, r := range slices.Clone(db.order) {
		if len(ended) < db.most && r.seen && r.status == "RUNNING" && r.replica == id && tx.take(r) {
			db.s.model.takenAway(r, "declared dead")
			ended = append(ended, db.finish(tx, r, true, store.RetryStale, "STALE", ""))
			db.s.count("run ended as stale")
		}
	}
	if len(ended) > 0 {
		tx.then = append(tx.then, func() { db.marks++ })
	}
	return ended
}

// endOverdue ends runs that an app has taken over and that are out of time.
func (db *database) endOverdue(tx *transaction) []store.Ended {
	var ended []store.Ended
	for _, r := range slices.Clone(db.order) {
		if r.seen && r.status == "RUNNING" && r.replica == "" && !r.deadline.IsZero() && r.deadline.Before(db.now()) && tx.take(r) {
			ended = append(ended, db.finish(tx, r, true, store.RetryFailure, "TIMEOUT", ""))
			db.s.count("run of an app ended as overdue")
		}
	}
	if len(ended) > 0 {
		tx.then = append(tx.then, func() { db.marks++ })
	}
	return ended
}

// survey is one look at what there is to do, or at what no other replica finds.
func (db *database) survey(id string, w store.Capabilities, depth store.SurveyDepth) (store.Survey, error) {
	h := db.replicas[id]
	if h == nil || h.state != "ACTIVE" {
		return store.Survey{}, store.ErrDead
	}
	v := store.Survey{Now: db.now()}
	gated, ungated, next := db.due(nil)
	v.Peers = 3 * len(db.replicas) // so that some leave looks for later
	v.Work, v.NextDue, v.Rules = gated || ungated || depth != store.SurveyOwn && db.marks > 0, next, "none"
	for _, r := range db.order {
		switch {
		case !r.seen, depth == store.SurveyOwn && r.replica != id:
		case r.status == "AVAILABLE" && slices.Contains(w.Types, r.task.kind):
			v.Work = true
		case r.status == "RUNNING" && r.replica == id:
			v.Owned = append(v.Owned, r.id)
		case r.status == "RUNNING" && r.replica == "" && !r.deadline.IsZero() && r.deadline.Before(db.now()):
			v.Overdue = true
		}
	}
	if depth == store.SurveyOwn {
		db.s.count("survey of a replica that leaves the rest to others")
		return v, nil
	}
	if gated == false && db.marks == 0 { // what is PENDING behind nothing, as rowrun.overlooked_… find
		for _, r := range db.order {
			v.Work = v.Work || r.seen && r.status == "PENDING" && r.task.gated()
		}
	}
	return v, nil
}

// watch tells how runs stand.
func (db *database) watch(id string, executed []store.Watched) []store.Held {
	var held []store.Held
	for _, w := range executed {
		if r := db.runs[w.ID]; r != nil && r.seen {
			held = append(held, store.Held{Watched: w, Lost: r.status != "RUNNING" || r.replica != id || r.claim != w.Claim, CancelRequested: r.cancel, Silent: db.now().Sub(r.progressAt)})
		}
	}
	return held
}
