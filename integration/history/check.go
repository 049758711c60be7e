package history

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// clock is how a time is told, stamp how the log has it.
const (
	clock = "15:04:05.000000 "
	stamp = "2006-01-02 15:04:05.999999-07"
)

func (h *History) wrong(at time.Time, plan int64, format string, args ...any) {
	h.Violations = append(h.Violations, at.Format(clock)+fmt.Sprintf(format, args...))
	h.suspects[plan] = true
}

// note keeps what a failure is explained with.
func (h *History) note(c Change, at time.Time) {
	plan := c.Number("plan_id")
	var shown []string
	switch c.Table {
	case "plan":
		plan, shown = c.Number("id"), []string{"round", "announced_round", "paused"}
	case "task":
		shown = []string{"id", "skipped", "outcome", "outcome_round"}
	case "task_run":
		shown = []string{"id", "task_id", "status", "round", "retry_of"}
	case "webhook_delivery_log":
		shown = []string{"event_type", "round"}
	default:
		return
	}
	line := at.Format(clock) + c.Op + " " + c.Table
	for _, name := range shown {
		line += " " + name + "=" + c.Columns[name]
	}
	h.trail[plan] = append(h.trail[plan], line)
}

// apply takes in what a transaction committed, and then looks whether it was allowed to.
func (h *History) apply(commit []Change, at time.Time) {
	var promoted, lost []int64
	var announced []Change
	for _, c := range commit {
		h.note(c, at)
		switch c.Table {
		case "plan":
			h.planChanged(c, at)
		case "task":
			h.taskChanged(c, at)
		case "task_dependency":
			if c.Op == "INSERT" {
				h.tasks[c.Number("task_id")].needs[c.Number("depends_on_id")] = true
			}
		case "task_run":
			was, now := h.runChanged(c, at)
			if now.promotedFrom(was) {
				promoted = append(promoted, c.Number("id"))
			}
			if was == "RUNNING" && now.status == "FAILED" && !now.retried {
				lost = append(lost, now.task)
			}
		case "webhook_delivery_log":
			if c.Op != "DELETE" {
				announced = append(announced, c)
			} else {
				h.plans[c.Number("plan_id")].event = ""
			}
		}
	}
	h.derive(commit, at)
	for _, c := range announced {
		h.checkEvent(c, at)
	}
	for _, task := range lost {
		plan := h.tasks[task].plan
		if plan == 0 {
			continue
		}
		if h.tasks[task].skipped.is {
			continue // a run that was promoted while somebody's skip was not committed yet: the task counts as done
		}
		if round := h.plans[plan].round; h.events[[2]int64{plan, round}] != "PIPELINE_FAILED" {
			h.wrong(at, plan, "task %d failed for good in round %d of plan %d, whose event is %q", task, round, plan, h.events[[2]int64{plan, round}])
		}
	}
	for _, id := range promoted {
		h.Promotions++
		h.checkPromotion(id, at)
	}
}

func (h *History) planChanged(c Change, at time.Time) {
	id := c.Number("id")
	p := h.plans[id]
	if p == nil {
		p = &seenPlan{}
		h.plans[id] = p
	}
	if c.Number("round") < p.round {
		h.wrong(at, id, "plan %d went back to round %d", id, c.Number("round"))
	}
	p.round, p.onFailure = c.Number("round"), c.Columns["on_failure"]
	if !p.changed.Equal(at) {
		p.rounds, p.changed = nil, at
	}
	p.rounds = append(p.rounds, p.round)
	p.paused.set(c.Columns["paused"] == "true", at)
	for i := range p.limits {
		p.limits[i].set(false, at)
	}
	p.limits, p.values = append(p.limits, fact{true, at}), append(p.values, c.Number("parallel_limit"))
}

func (h *History) taskChanged(c Change, at time.Time) {
	id := c.Number("id")
	k := h.tasks[id]
	if k == nil {
		k = &seenTask{needs: map[int64]bool{}, born: at}
		h.tasks[id] = k
	}
	k.plan, k.version, k.database = c.Number("plan_id"), versionOf(c.Columns["version"]), c.Columns["database_id"]
	k.sequential = c.Columns["sequential"] == "true"
	k.skipped.set(c.Columns["skipped"] == "true", at)
	k.paused.set(c.Columns["paused"] == "true", at)
	if k.skipped.is {
		k.skippedAt = at
	}
}

func (h *History) runChanged(c Change, at time.Time) (was string, now *seenRun) {
	id := c.Number("id")
	if now = h.runs[id]; now == nil {
		now = &seenRun{task: c.Number("task_id"), born: at}
		h.runs[id] = now
	}
	was = now.status
	now.status, now.retried = c.Columns["status"], c.Columns["retry_run_id"] != ""
	now.availableAt, _ = c.Time("available_at")
	if now.availableAt.After(at) { // the clock went back between the judgement and its commit: which others that one saw can't be told
		now.availableAt = time.Time{}
	}
	edges := map[string]string{
		"PENDING": "AVAILABLE RUNNING CANCELED", "AVAILABLE": "RUNNING CANCELED", "RUNNING": "DONE FAILED CANCELED", "": "PENDING AVAILABLE",
	}
	if was != now.status && !slices.Contains(strings.Fields(edges[was]), now.status) {
		h.wrong(at, h.tasks[now.task].plan, "run %d went from %q to %s", id, was, now.status)
	}
	if was != now.status && !now.unfinished() {
		now.ended = at
		h.tasks[now.task].outcome, h.tasks[now.task].last = now.status, now
	}
	return was, now
}

// derive brings up to date what follows from the rows for the tasks that a commit touched.
func (h *History) derive(commit []Change, at time.Time) {
	for _, c := range commit {
		id := c.Number("task_id")
		switch c.Table {
		case "task":
			id = c.Number("id")
		case "task_run":
		default:
			continue
		}
		k, unfinished := h.tasks[id], false
		for _, r := range h.runs {
			unfinished = unfinished || r.task == id && r.unfinished()
		}
		k.done.set(k.skipped.is || !unfinished && k.outcome == "DONE", at)
		k.lost.set(!k.skipped.is && !unfinished && k.outcome == "FAILED", at)
		k.canceled.set(!k.skipped.is && !unfinished && k.outcome == "CANCELED", at)
	}
}

// checkEvent holds a row of the log against the plan, as it was when the event was decided: its transaction may have gone
// on for some time after that.
func (h *History) checkEvent(c Change, at time.Time) {
	plan, round, event := c.Number("plan_id"), c.Number("round"), c.Columns["event_type"]
	seen, err := c.Time("delivered_at")
	if err != nil {
		h.wrong(at, plan, "when its event was decided: %v", err)
	}
	p, key := h.plans[plan], [2]int64{plan, round}
	if before, twice := h.events[key]; twice {
		h.wrong(at, plan, "round %d of plan %d has the event %s and then %s", round, plan, before, event)
	}
	current := round == p.round || p.changed.Equal(at) && slices.Contains(p.rounds, round)
	if !current {
		h.wrong(at, plan, "plan %d is in round %d, and %s of round %d was announced", plan, p.round, event, round)
	}
	h.events[key], p.event = event, event
	tasks, open, failed := 0, []int64{}, false
	for id, k := range h.tasks {
		if k.plan != plan {
			continue
		}
		tasks++
		if !k.done.maybe(seen) && !k.skippedAt.Equal(at) && k.born.Before(seen.Add(-margin)) {
			open = append(open, id)
		}
		failed = failed || k.lost.maybe(seen)
	}
	switch {
	case event == "PIPELINE_FAILED" && !failed:
		h.wrong(at, plan, "plan %d was announced as failed in round %d, and no task of it is", plan, round)
	case event == "PIPELINE_COMPLETED" && (tasks == 0 || len(open) > 0):
		h.wrong(at, plan, "plan %d was announced as completed in round %d with %d tasks, not done: %v", plan, round, tasks, open)
	case event == "PIPELINE_COMPLETED" && p.paused.surely(seen):
		h.wrong(at, plan, "plan %d was announced as completed in round %d while it was paused", plan, round)
	}
}

// checkPromotion holds a promotion against the gates. Exact where the database is exact whatever else commits; where
// something that closes a gate may have been committed beside the promotion, it must have been there before.
func (h *History) checkPromotion(id int64, at time.Time) {
	r := h.runs[id]
	k := h.tasks[r.task]
	p, seen := h.plans[k.plan], r.availableAt
	if p == nil {
		p = &seenPlan{} // of no plan
	}
	if p.paused.surely(seen) || k.paused.surely(seen) {
		h.wrong(at, k.plan, "run %d was promoted while plan %d or task %d was paused", id, k.plan, r.task)
	}
	if k.skipped.surely(seen) {
		h.wrong(at, k.plan, "run %d was promoted while task %d was skipped", id, r.task)
	}
	for need := range k.needs {
		if d := h.tasks[need]; !d.done.is && d.done.since.Before(seen.Add(-margin)) {
			h.wrong(at, k.plan, "run %d was promoted, and task %d that it depends on isn't done", id, need)
		}
	}
	h.checkDatabase(id, r, k, at)
	if k.plan == 0 {
		return
	}
	h.checkLimit(p, k, seen, at)
	for other, o := range h.tasks {
		if o.plan == k.plan && other != r.task && p.stops(o, k, r) {
			h.wrong(at, k.plan, "run %d was promoted, and task %d of its plan had failed (%s)", id, other, p.onFailure)
		}
	}
}

// checkDatabase holds a promotion against the other runs of its database: their versions, and who must be alone.
func (h *History) checkDatabase(id int64, r *seenRun, k *seenTask, at time.Time) {
	for other, o := range h.runs {
		ok := h.tasks[o.task]
		if other == id || k.database == "" || ok.database != k.database || !o.unfinished() {
			continue
		}
		if o.active() && (k.sequential || ok.sequential) {
			h.wrong(at, k.plan, "run %d was promoted beside run %d on %s, and one is sequential", id, other, k.database)
		}
		if ok.before(k) && r.sawBirth(o) {
			h.wrong(at, k.plan, "run %d of version %v was promoted, and run %d of version %v has not ended", id, k.version, other, ok.version)
		}
	}
}

// checkLimit counts the active runs of a plan, once one more was promoted.
func (h *History) checkLimit(p *seenPlan, k *seenTask, seen, at time.Time) {
	active := 0
	for _, o := range h.runs {
		if h.tasks[o.task].plan == k.plan && o.active() {
			active++
		}
	}
	if most := p.most(seen); most > 0 && active > most {
		h.wrong(at, k.plan, "plan %d has %d runs at once, its limit is %d", k.plan, active, most)
	}
}

// stops says whether the failure of another task of the plan surely held a run back when it was promoted.
func (p *seenPlan) stops(other, k *seenTask, r *seenRun) bool {
	switch p.onFailure {
	case "STOP":
		return other.lost.surely(r.availableAt)
	case "STOP_DATABASE":
		if !other.before(k) {
			return false
		}
		for _, f := range []fact{other.lost, other.canceled} {
			// A smaller version that has not ended holds it too: who saw it begin let nothing pass before having seen its end.
			if f.surely(r.availableAt) || f.is && f.since.Equal(other.last.ended) && r.sawBirth(other.last) {
				return true
			}
		}
	}
	return false
}

// before says whether a task is of the same database and of a smaller version.
func (k *seenTask) before(other *seenTask) bool {
	return k.database != "" && k.database == other.database && k.version != nil && other.version != nil && slices.Compare(k.version, other.version) < 0
}

// versionOf is a version of numbers and points; nil: none.
func versionOf(text string) (version []int) {
	for part := range strings.SplitSeq(text, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil
		}
		version = append(version, n)
	}
	return version
}

// most is the largest limit that a statement at that time may have seen; 0: none.
func (p *seenPlan) most(at time.Time) int {
	most := 0
	for i, limit := range p.limits {
		if !limit.maybe(at) {
			continue
		}
		if p.values[i] == 0 {
			return 0
		}
		most = max(most, int(p.values[i]))
	}
	return most
}
