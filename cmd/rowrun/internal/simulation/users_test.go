package simulation

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// makeWorld makes plans and tasks, and faults of the server.
func (s *sim) makeWorld(d *dice) {
	db := s.db
	for range d.n(3) {
		db.plans = append(db.plans, &plan{id: int64(len(db.plans) + 1), limit: d.n(4)})
	}
	for range d.from(2, 8) {
		k := &task{
			id: int64(len(db.tasks) + 1), kind: pick(d, "WORK", "WORK", "OTHER"), priority: d.n(3), maxAttempts: d.from(1, 3),
			retryDelay: d.between(0, 500*time.Millisecond), again: d.chance(0.7),
		}
		if d.chance(0.2) {
			k.timeout = d.between(50*time.Millisecond, 3*time.Second)
		}
		if d.chance(0.2) {
			k.silence = d.between(50*time.Millisecond, 3*time.Second)
		}
		if d.chance(0.3) {
			k.database, k.sequential, k.version = pick(d, "a", "b"), d.chance(0.3), d.n(3)
		}
		if len(db.plans) > 0 && d.chance(0.4) {
			k.plan = db.plans[d.n(len(db.plans))]
		}
		db.tasks = append(db.tasks, k)
	}
}

// left names runs that have not ended; "": all have.
func (db *database) left() string {
	db.mu.Lock()
	defer db.mu.Unlock()
	left := ""
	if db.users > 0 {
		left = fmt.Sprintf(" %d transactions of users", db.users)
	}
	for _, r := range db.order {
		if !r.ended() || !r.seen {
			left += fmt.Sprintf(" run %d of task %d is %s at %q (held %t, seen %t, plan %t, database %q)", r.id, r.task.id, r.status, r.replica, r.holds != nil, r.seen, r.task.plan != nil, r.task.database)
		}
	}
	return left
}

// users do what users do, each in a transaction of its own, at moments of their own.
func (s *sim) users() {
	d := roll(s.seed, 5)
	last := time.Duration(0)
	for i := range d.from(3, 14) {
		at := d.between(0, s.active)
		if d.chance(0.4) { // within the moment for which one notification speaks
			at = last + d.between(0, 5*time.Millisecond)
		}
		last = at
		own := roll(s.seed, 6, uint64(i)) //nolint:gosec // few
		s.user(at, func() { s.transaction(own) })
	}
	if s.quiet {
		at := s.active + d.between(0, 3*time.Second)
		s.user(at, func() { s.pair(d) })
		return
	}
	for range d.n(3) {
		at, f := d.between(0, s.faults), d.n(4)
		long := d.between(0, 2*s.timing.lease)
		step := d.between(-20*time.Second, 20*time.Second)
		s.running.Go(func() {
			_ = pause(context.Background(), at)
			s.strike(f, min(long, max(0, s.faults-time.Since(s.began))), step)
		})
	}
}

// user has somebody do something at a moment.
func (s *sim) user(at time.Duration, act func()) {
	s.db.mu.Lock()
	s.db.users++
	s.db.mu.Unlock()
	s.running.Go(func() {
		_ = pause(context.Background(), at)
		act()
	})
}

// strike is a fault of the server.
func (s *sim) strike(which int, long, step time.Duration) {
	db := s.db
	db.mu.Lock()
	defer db.mu.Unlock()
	during := func(flag *bool) {
		*flag = true
		db.mu.Unlock()
		_ = pause(context.Background(), long)
		db.mu.Lock()
		*flag = false
	}
	switch which {
	case 0:
		s.count("server restarted")
		db.restart()
		during(&db.down)
	case 1:
		s.count("nothing notified for a while")
		during(&db.mute)
	case 2:
		s.count("clock of the database stepped")
		s.told.stepped(db.now())
		db.offset += step
		s.back += max(0, -step)
	case 3:
		s.count("connections of listeners cut")
		for len(db.sessions) > 0 {
			db.sessions[0].cut()
		}
	}
}

// transaction is one of a user's.
func (s *sim) transaction(d *dice) {
	db := s.db
	db.mu.Lock()
	defer db.mu.Unlock()
	defer func() { db.users-- }()
	for db.down {
		db.mu.Unlock()
		_ = pause(context.Background(), d.between(0, time.Second))
		db.mu.Lock()
	}
	tx := db.begin(-1, 1)
	inserted := false
	switch d.n(10) {
	case 0, 1:
		s.cancel(tx, d)
	case 2:
		s.pausePlan(d)
	default:
		inserted = true
		for range d.from(1, pick(d, 1, 3, 12)) {
			k := db.tasks[d.n(len(db.tasks))]
			if k.plan != nil && db.unfinished(tx, k) {
				continue
			}
			at := db.now()
			if d.chance(0.2) {
				at = at.Add(d.between(0, 2*time.Second))
			}
			id := db.draw()
			if d.chance(0.1) { // and uses it later, so that others pass it over
				s.count("stream: id drawn long before its run")
				db.mu.Unlock()
				_ = pause(context.Background(), d.between(0, pick(d, 5*time.Millisecond, s.late, s.patient)))
				db.mu.Lock()
			}
			if tx.over {
				return
			}
			db.insertAs(tx, id, k, at, nil)
		}
		if d.chance(0.3) { // it does something else meanwhile
			db.mu.Unlock()
			_ = pause(context.Background(), d.between(0, s.late))
			db.mu.Lock()
		}
	}
	if tx.over {
		return
	}
	if inserted && d.chance(0.05) {
		s.count("stream: ids that nobody uses")
		db.end(tx, false)
		return
	}
	tx.said()
	if bucket := time.Now().UnixMilli() / 5; inserted && db.buckets[bucket] == nil {
		db.buckets[bucket] = tx
		tx.says = append(tx.says, "[]")
	} else if inserted {
		s.count("notification left to another transaction")
	}
	db.mu.Unlock()
	_ = pause(context.Background(), pick(d, d.between(0, time.Millisecond), d.between(0, 4*time.Millisecond), d.between(0, s.late), d.between(0, s.patient)))
	db.mu.Lock()
	db.end(tx, true)
}

// pair are two transactions of which one notifies for both, and commits before the other: nothing else may tell of that one's run. In some
// the server stands still between the commit of the one and the end of its locks, when others have heard it already: the other one begins
// then, and has no number yet when the first of these look.
func (s *sim) pair(d *dice) {
	db := s.db
	db.mu.Lock()
	defer db.mu.Unlock()
	defer func() { db.users-- }()
	i := slices.IndexFunc(db.tasks, func(k *task) bool { return !k.gated() })
	if i < 0 {
		return
	}
	begin := func() *transaction {
		tx := db.begin(-1, 1)
		db.insert(tx, db.tasks[i], db.now(), nil)
		return tx
	}
	spoken := time.Now()
	behind, first := d.chance(0.3), d.chance(0.5)
	var speaks, silent *transaction
	if !behind && !first {
		silent = begin()
	}
	speaks = begin()
	if !behind && first {
		silent = begin()
	}
	speaks.says = append(speaks.says, "[]")
	s.count("notification left to another transaction")
	db.mu.Unlock()
	_ = pause(context.Background(), d.between(0, 4*time.Millisecond))
	db.mu.Lock()
	db.end(speaks, true)
	if behind { // while the locks of the first are held, and its slice of the clock lasts
		db.mu.Unlock()
		_ = pause(context.Background(), d.between(0, 5*time.Millisecond-time.Since(spoken)))
		db.mu.Lock()
		silent = begin()
		s.count("notification left to a transaction that has committed")
	}
	db.mu.Unlock()
	_ = pause(context.Background(), d.between(0, s.late))
	db.mu.Lock()
	db.end(silent, true)
}

// unfinished says whether a task has a run that has not ended.
func (db *database) unfinished(tx *transaction, k *task) bool {
	for _, r := range db.order {
		if r.task == k && (!tx.sees(r) || !tx.of(r).ended()) {
			return true
		}
	}
	return false
}

// cancel asks for the cancel of a run, or ends it where nobody executes it.
func (s *sim) cancel(tx *transaction, d *dice) {
	db := s.db
	if len(db.order) == 0 {
		return
	}
	r := db.order[d.n(len(db.order))]
	if !r.seen || db.wait(context.Background(), tx, r, time.Second) != nil || tx.over {
		return
	}
	switch v := tx.of(r); v.status {
	case "PENDING", "AVAILABLE":
		db.change(tx, r, "CANCELED")
		tx.then = append(tx.then, func() { db.marks++ })
		s.count("run canceled before its claim")
	case "RUNNING":
		v.cancel = true
		tx.touch(v)
		tx.says = append(tx.says, "[]")
		s.count("cancel asked for")
	}
}

// pausePlan pauses a plan for a while.
func (s *sim) pausePlan(d *dice) {
	db := s.db
	if len(db.plans) == 0 {
		return
	}
	p, long := db.plans[d.n(len(db.plans))], d.between(0, time.Second)
	p.paused = true
	s.count("plan paused")
	s.running.Go(func() {
		_ = pause(context.Background(), long)
		db.mu.Lock()
		defer db.mu.Unlock()
		tx := db.begin(-1, 1)
		tx.writes()
		tx.then = append(tx.then, func() {
			p.paused = false
			db.marks++
		})
		tx.says = append(tx.says, "[]")
		db.end(tx, true)
	})
}

// appTakes is what an app does that a run was handed over to.
func (s *sim) appTakes(r *run, claim string) {
	d := roll(s.seed, 7, uint64(r.id)) //nolint:gosec // above 0
	if !s.quiet && d.chance(0.2) {
		return // it never answers: the run's time is over then
	}
	long := d.between(0, 2*time.Second)
	s.running.Go(func() {
		_ = pause(context.Background(), long)
		db := s.db
		db.mu.Lock()
		defer db.mu.Unlock()
		tx := db.begin(-1, 1)
		if db.wait(context.Background(), tx, r, 0) == nil && !tx.over && tx.of(r).status == "RUNNING" && tx.of(r).claim == claim {
			db.finish(tx, r, false, "NONE", "", "")
			tx.then = append(tx.then, func() { db.marks++ })
			tx.said()
			s.count("run ended by an app")
		}
		db.end(tx, true)
	})
}
