package scheduler_test

import (
	"fmt"
	"strings"
)

// waiter is a run that waits for its start.
type waiter struct {
	id        int64
	key       string
	seq       int // which one of all
	nth       int // which one of its key
	came      int // how many had started when it came
	slots     int // the most there were since, or had been taken then
	contested map[string]bool
	behind    int // how much had happened when it came
}

// turnWatch goes through a history, and holds every start of a FAIR limit's runs against the bound.
type turnWatch struct {
	w         *orderWorld
	waiting   map[int64]*waiter
	slots     map[string]int // of each replica
	active    map[int64]bool // AVAILABLE and RUNNING
	turn      map[int64]int64
	started   []int64 // runs, in the order of commits
	came      int     // runs
	overtaken int     // the most that have overtaken one
	trail     []string
	wrong     []string
}

// turns holds every start of a FAIR limit's runs against the bound: the n-th run of a key starts after at most
// n * (sum of weights / its weight) + slots starts since it came. What starts in one commit starts at once. Claims that are under way at once
// may commit in another order than that of the turns that they have taken: a start whose turn is a later one has overtaken it, and isn't counted;
// there are no more of these than two rounds of claims for all slots.
func (w *orderWorld) turns(past *history) (starts int, violations []string) {
	if w.fair == "" {
		return 0, nil
	}
	watch := &turnWatch{w: w, waiting: map[int64]*waiter{}, slots: map[string]int{}, active: map[int64]bool{}, turn: map[int64]int64{}}
	for _, c := range past.commits {
		watch.commit(c)
	}
	for _, id := range sorted(watch.waiting) {
		watch.wrong = append(watch.wrong, fmt.Sprintf("run %d of %s never started", id, watch.waiting[id].key))
	}
	w.overtaken = watch.overtaken
	return len(watch.started), watch.wrong
}

func (t *turnWatch) commit(c *commit) {
	t.trail = append(t.trail, "|")
	for _, ch := range c.changes {
		switch {
		case ch.table == "limit_holder" && ch.op != "DELETE" && ch.cols["turn"] != "":
			t.turn[ch.cols.int("run_id")] = ch.cols.int("turn")
			t.trail = append(t.trail, fmt.Sprintf("turn %s of run %s", ch.cols["turn"], ch.cols["run_id"]))
		case ch.table == "replica_heartbeat":
			t.slots[ch.cols["replica_id"]] = 0
			if ch.op != "DELETE" && ch.cols["state"] == "ACTIVE" {
				t.slots[ch.cols["replica_id"]] = int(ch.cols.int("concurrency"))
			}
		}
	}
	var came []*waiter
	var begun []int64
	for _, ch := range c.changes {
		if ch.table != "task_run" {
			continue
		}
		r := ch.cols.run()
		t.trail = append(t.trail, fmt.Sprintf("run %d %s", r.id, strings.ToLower(r.status)))
		delete(t.active, r.id)
		if ch.op != "DELETE" && r.active() {
			t.active[r.id] = true
		}
		switch mine := t.waiting[r.id]; {
		case mine == nil && ch.was == "" && r.unfinished():
			came = append(came, t.come(r))
		case mine != nil && r.status == "RUNNING":
			begun = append(begun, r.id)
			t.start(mine)
		case mine != nil && !r.unfinished():
			delete(t.waiting, r.id)
		}
	}
	t.started = append(t.started, begun...)
	all := 0
	for _, n := range t.slots {
		all += n
	}
	for _, mine := range came { // what was AVAILABLE by then had its turn, when there may have been more slots
		mine.came, mine.slots, mine.behind = len(t.started), len(t.active), len(t.trail)
	}
	for _, other := range t.waiting {
		other.slots = max(other.slots, all)
	}
}

// come is a run that comes while others wait.
func (t *turnWatch) come(r *runRow) *waiter {
	t.came++
	mine := &waiter{id: r.id, seq: t.came, nth: 1, contested: map[string]bool{}}
	for _, key := range r.limits {
		if after, fair := strings.CutPrefix(key, t.w.fair); fair {
			mine.key = after
		}
	}
	for _, other := range t.waiting {
		if other.key == mine.key {
			mine.nth++
		}
		mine.contested[other.key] = true
		other.contested[mine.key] = true
	}
	mine.contested[mine.key] = true
	t.waiting[r.id] = mine
	return mine
}

func (t *turnWatch) start(mine *waiter) {
	delete(t.waiting, mine.id)
	for _, other := range t.waiting {
		if other.key == mine.key && other.seq < mine.seq && (t.turn[other.id] == 0 || t.turn[other.id] > t.turn[mine.id]) { // its turn is before those of others of its key
			other.nth++
		}
	}
	if t.turn[mine.id] == 0 {
		t.wrong = append(t.wrong, fmt.Sprintf("run %d started without a turn", mine.id))
	}
	sum, after, overtaken := 0, 0, 0
	for key := range mine.contested {
		sum += t.w.weight(key)
	}
	for _, id := range t.started[mine.came:] {
		if t.turn[id] > t.turn[mine.id] {
			overtaken++
		} else {
			after++
		}
	}
	t.overtaken = max(t.overtaken, overtaken)
	if overtaken > 2*mine.slots {
		t.wrong = append(t.wrong, fmt.Sprintf("run %d was overtaken by %d with %d slots", mine.id, overtaken, mine.slots))
	}
	if bound := float64(mine.nth)*float64(sum)/float64(t.w.weight(mine.key)) + float64(mine.slots); float64(after) > bound {
		t.wrong = append(t.wrong, fmt.Sprintf("run %d, the %d. of key %s with weight %d of %d, started after %d starts since it came, and not after %.1f at most, with %d slots: %s",
			mine.id, mine.nth, mine.key, t.w.weight(mine.key), sum, after, bound, mine.slots, strings.Join(t.trail[mine.behind:], ", ")))
	}
}
