package scheduler_test

import (
	"fmt"
	"time"
)

// may is what one row may have looked like to a promotion: as the last commit left it that its snapshot saw for sure,
// or as any later one did that was committed before the promotion. nil among them: perhaps there was no such row.
type may[T any] []*T

func (m may[T]) always(is func(*T) bool) bool {
	for _, row := range m {
		if row == nil || !is(row) {
			return false
		}
	}
	return len(m) > 0
}

func (m may[T]) ever(is func(*T) bool) bool {
	for _, row := range m {
		if row != nil && is(row) {
			return true
		}
	}
	return false
}

func exists[T any](*T) bool { return true }

// view is all that one promoting statement may have seen.
type view struct {
	at    time.Time
	runs  map[int64]may[runRow]
	tasks map[int64]may[taskRow]
	plans map[int64]may[planRow]
	deps  map[dependencyRow]may[dependencyRow]
	// ofTask and onDatabase name the runs to look at, in the order in which they came to be.
	ofTask     map[int64][]int64
	onDatabase map[string][]int64
	with       map[int64]*runRow
}

// see collects what the promotion of a run by commit i, whose snapshot is younger than its available_at, may have seen. An INSERT
// without gates holds no lock, and may stand behind what its own transaction has done to the task or the plan.
func (p *history) see(i int, promoted *runRow) *view {
	at, gated := promoted.availableAt, promoted.gated()
	v := &view{at: at, ofTask: map[int64][]int64{}, onDatabase: map[string][]int64{}, with: map[int64]*runRow{}}
	own := i + 1 // what the commit itself has changed
	if gated {
		own = i
	}
	sure := func(j int) bool { return gated && p.commits[j].exact || !p.commits[j].visible.After(at) }
	v.runs = collect(p.runs, i, i, sure)
	v.tasks = collect(p.tasks, i, own, sure)
	v.plans = collect(p.plans, i, own, sure)
	v.deps = collect(p.deps, i, i, sure)
	for _, id := range p.born {
		for _, r := range v.runs[id] {
			if r != nil {
				v.ofTask[r.task] = append(v.ofTask[r.task], id)
				v.onDatabase[r.db] = append(v.onDatabase[r.db], id)
				break
			}
		}
	}
	for _, r := range p.commits[i].promoted {
		v.with[r.id] = r
	}
	return v
}

// collect takes what is sure of the commits before commit i, and what may be of those before end.
func collect[K comparable, T any](all map[K][]version[T], i, end int, sure func(int) bool) map[K]may[T] {
	seen := map[K]may[T]{}
	for key, list := range all {
		m := may[T]{nil}
		for _, one := range list {
			if one.at >= end {
				break
			}
			if one.at < i && sure(one.at) {
				m = m[:0]
			}
			m = append(m, one.row)
		}
		seen[key] = m
	}
	return seen
}

// newest are the runs of a task that may have been its newest one; sure: there was one.
func (v *view) newest(task int64) (ids []int64, sure bool) {
	for _, id := range v.ofTask[task] {
		if v.runs[id].always(exists[runRow]) {
			ids, sure = ids[:0], true
		}
		ids = append(ids, id)
	}
	return ids, sure
}

// ended says that a task's newest run had ended so, whatever the snapshot was.
func (v *view) ended(task int64, as ...string) bool {
	ids, sure := v.newest(task)
	for _, id := range ids {
		if !v.runs[id].always(func(r *runRow) bool { return oneOf(r.status, as) }) {
			return false
		}
	}
	for _, id := range v.ofTask[task] {
		if v.runs[id].ever((*runRow).unfinished) {
			return false
		}
	}
	return sure
}

// mayHaveEnded is its counterpart: it may have looked so.
func (v *view) mayHaveEnded(task int64, as ...string) bool {
	ids, _ := v.newest(task)
	for _, id := range ids {
		if v.runs[id].ever(func(r *runRow) bool { return oneOf(r.status, as) }) {
			return true
		}
	}
	return false
}

func oneOf(s string, list []string) bool {
	for _, o := range list {
		if s == o {
			return true
		}
	}
	return false
}

// violated names the gate that was closed for a run however the snapshot fell, "" where none was.
func (v *view) violated(r *runRow) string {
	for _, g := range []struct {
		name   string
		closed func(*runRow) string
	}{
		{"TIME", func(r *runRow) string {
			return unless(!r.runAt.After(r.availableAt), "due %s after it", r.runAt.Sub(r.availableAt))
		}},
		{"SKIPPED or PAUSED", v.heldByTask},
		{"VERSION", v.behindVersion},
		{"PLAN_FAILED", v.behindFailure},
		{"DATABASE_BUSY", v.busy},
		{"DATABASE_BUSY (order)", v.overtaking},
		{"PLAN_LIMIT", v.overLimit},
		{"DEPENDENCY", v.dependent},
		{"DEPENDENCY (job)", v.beforeItsJobs},
		{"NO_REPLICA", func(r *runRow) string { return unless(r.kind == workType || r.db == "", "of type %s", r.kind) }},
	} {
		if why := g.closed(r); why != "" {
			return fmt.Sprintf("run %d was promoted past a closed gate: %s: %s", r.id, g.name, why)
		}
	}
	return ""
}

func unless(ok bool, format string, args ...any) string {
	if ok {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

func (v *view) heldByTask(r *runRow) string {
	held := v.tasks[r.task].always(func(k *taskRow) bool { return k.paused || k.skipped }) ||
		v.plans[r.plan].always(func(p *planRow) bool { return p.paused })
	return unless(!held, "task %d or plan %d", r.task, r.plan)
}

func (v *view) behindVersion(r *runRow) string {
	for _, id := range v.onDatabase[r.db] {
		if r.db != "" && v.runs[id].always(func(u *runRow) bool { return smaller(u.version, r.version) && u.unfinished() }) {
			return fmt.Sprintf("run %d", id)
		}
	}
	return ""
}

func (v *view) behindFailure(r *runRow) string {
	for _, id := range sorted(v.tasks) {
		stops := func(rule string) bool {
			return v.plans[r.plan].always(func(p *planRow) bool { return p.onFailure == rule })
		}
		same := v.tasks[id].always(func(k *taskRow) bool { return k.plan == r.plan && k.plan != 0 && k.id != r.task && !k.skipped })
		earlier := v.tasks[id].always(func(k *taskRow) bool { return k.db == r.db && smaller(k.version, r.version) })
		if same && (stops("STOP") && v.ended(id, "FAILED") || earlier && stops("STOP_DATABASE") && v.ended(id, "FAILED", "CANCELED")) {
			return fmt.Sprintf("task %d", id)
		}
	}
	return ""
}

func (v *view) busy(r *runRow) string {
	for _, id := range v.onDatabase[r.db] {
		if r.db == "" || id == r.id {
			continue
		}
		u, also := v.with[id]
		if also && (u.sequential || r.sequential) ||
			v.runs[id].always(func(u *runRow) bool { return u.active() && (u.sequential || r.sequential) }) {
			return fmt.Sprintf("run %d", id)
		}
	}
	return ""
}

// overtaking: a sequential run that comes earlier and that nothing but mutual exclusion held.
func (v *view) overtaking(r *runRow) string {
	for _, id := range v.onDatabase[r.db] {
		if r.db == "" || r.sequential || id == r.id || v.with[id] != nil {
			continue
		}
		earlier := v.runs[id].always(func(s *runRow) bool {
			return s.sequential && s.status == "PENDING" && s.before(r) && !s.runAt.After(v.at)
		})
		if earlier && v.openButForExclusion(v.runs[id][len(v.runs[id])-1]) {
			return fmt.Sprintf("run %d", id)
		}
	}
	return ""
}

func (v *view) overLimit(r *runRow) string {
	limit := 0
	for _, p := range v.plans[r.plan] {
		if p == nil || p.limit == 0 {
			return ""
		}
		limit = max(limit, p.limit)
	}
	taken := 0
	for id, m := range v.runs {
		if u := v.with[id]; u != nil && u.plan == r.plan || m.always(func(u *runRow) bool { return u.plan == r.plan && u.active() }) {
			taken++
		}
	}
	return unless(r.plan == 0 || limit == 0 || taken <= limit, "%d of %d", taken, limit)
}

func (v *view) dependent(r *runRow) string {
	for d, m := range v.deps {
		if d.task != r.task || !m.always(exists[dependencyRow]) {
			continue
		}
		met := v.mayHaveEnded(d.on, "DONE") || !v.tasks[d.on].always(func(k *taskRow) bool { return !k.skipped })
		if !met {
			return fmt.Sprintf("task %d", d.on)
		}
	}
	return ""
}

// beforeItsJobs: a run of each job that it comes after must have been DONE.
func (v *view) beforeItsJobs(r *runRow) string {
	for _, root := range r.after {
		if !v.jobMayBeDone(root) {
			return fmt.Sprintf("job %d", root)
		}
	}
	return ""
}

func (v *view) jobMayBeDone(root int64) bool {
	for _, m := range v.runs {
		if m.ever(func(u *runRow) bool { return u.root == root && u.status == "DONE" }) {
			return true
		}
	}
	return false
}
