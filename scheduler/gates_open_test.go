package scheduler_test

// openButForExclusion says that every other gate of a PENDING run was open, whatever the snapshot was.
func (v *view) openButForExclusion(s *runRow) bool {
	if s.limits != nil { // which may have been closed
		return false
	}
	if s.kind != workType || v.tasks[s.task].ever(func(k *taskRow) bool { return k.paused || k.skipped }) ||
		v.plans[s.plan].ever(func(p *planRow) bool { return p.paused }) {
		return false
	}
	for _, id := range v.onDatabase[s.db] {
		if v.runs[id].ever(func(u *runRow) bool { return smaller(u.version, s.version) && u.unfinished() }) {
			return false
		}
	}
	for d, m := range v.deps {
		if d.task == s.task && m.ever(exists[dependencyRow]) &&
			!v.ended(d.on, "DONE") && !v.tasks[d.on].always(func(k *taskRow) bool { return k.skipped }) {
			return false
		}
	}
	for _, root := range s.after {
		if !v.jobIsDone(root) {
			return false
		}
	}
	return s.plan == 0 || v.planLets(s)
}

// jobIsDone says that a run of a job was DONE, whatever the snapshot was.
func (v *view) jobIsDone(root int64) bool {
	for _, m := range v.runs {
		if m.always(func(u *runRow) bool { return u.root == root && u.status == "DONE" }) {
			return true
		}
	}
	return false
}

// planLets says that the plan of a run neither stopped nor was full.
func (v *view) planLets(s *runRow) bool {
	for id, m := range v.tasks {
		same := m.ever(func(k *taskRow) bool { return k.plan == s.plan && k.id != s.task && !k.skipped })
		if same && v.mayHaveEnded(id, "FAILED", "CANCELED") &&
			v.plans[s.plan].ever(func(p *planRow) bool { return p.onFailure != "CONTINUE" }) {
			return false
		}
	}
	taken := 0
	for id, m := range v.runs {
		if v.with[id] != nil && v.with[id].plan == s.plan || m.ever(func(u *runRow) bool { return u.plan == s.plan && u.active() }) {
			taken++
		}
	}
	return !v.plans[s.plan].ever(func(p *planRow) bool { return p.limit != 0 && taken >= p.limit })
}

// check replays a history: the gates at every promotion, and what must hold after every commit.
func (p *history) check(limits worldLimits) (violations []string, promotions int) {
	state := map[int64]*runRow{}
	for i, c := range p.commits {
		for _, r := range c.promoted {
			promotions++
			if why := p.see(i, r).violated(r); why != "" {
				violations = append(violations, why)
			}
		}
		touched := false
		for _, ch := range c.changes {
			if ch.table == "task_run" {
				touched = true
				id := ch.cols.int("id")
				if ch.op == "DELETE" {
					delete(state, id)
				} else {
					state[id] = ch.cols.run()
				}
			}
		}
		if touched {
			violations = append(violations, invariants(state)...)
			violations = append(violations, limits.places(state)...)
		}
	}
	return append(violations, limits.pace(p.commits)...), promotions
}

// invariants hold after every commit: one unfinished run per task of a plan, sequential runs alone.
func invariants(state map[int64]*runRow) (violations []string) {
	unfinished := map[int64]int64{}
	active := map[string]*runRow{}
	for _, id := range sorted(state) {
		r := state[id]
		if r.plan != 0 && r.unfinished() {
			if other, taken := unfinished[r.task]; taken {
				violations = append(violations, unless(false, "runs %d and %d of task %d are both unfinished", other, r.id, r.task))
			}
			unfinished[r.task] = r.id
		}
		if r.db == "" || !r.active() {
			continue
		}
		if o := active[r.db]; o != nil && (o.sequential || r.sequential) {
			violations = append(violations, unless(false, "runs %d and %d are both active on %s", o.id, r.id, r.db))
		}
		if o := active[r.db]; o == nil || r.sequential {
			active[r.db] = r
		}
	}
	return violations
}
