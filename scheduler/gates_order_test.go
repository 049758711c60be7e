package scheduler_test

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// places holds every commit against what limits let go at once, and every stretch of time against their rates.
func (w *orderWorld) places(past *history) (starts int, violations []string) {
	state := map[int64]*runRow{}
	for _, c := range past.commits {
		for _, ch := range c.changes {
			if ch.table != "task_run" {
				continue
			}
			r := ch.cols.run()
			if r.status == "RUNNING" && ch.was != "RUNNING" {
				starts++
			}
			state[r.id] = r
			if ch.op == "DELETE" {
				delete(state, r.id)
			}
		}
		violations = append(violations, w.limits.places(state)...)
	}
	return starts, append(violations, w.limits.pace(past.commits)...)
}

// waiter is a run that waits for its turn.
type waiter struct {
	key       string
	seq       int // which one of all
	nth       int // which one of its key
	came      int // how many had started when it came
	slots     int // the most there were since, or had been taken then
	contested map[string]bool
}

// turns holds every start of a FAIR limit's runs against the bound: the n-th run of a key starts after at most
// n * (sum of weights / its weight) + slots starts since it came. What starts in one commit starts at once.
func (w *orderWorld) turns(past *history) (starts int, violations []string) {
	if w.fair == "" {
		return 0, nil
	}
	waiting, slots, active, seq := map[int64]*waiter{}, map[string]int{}, map[int64]bool{}, 0
	for _, c := range past.commits {
		begun := 0
		var came []*waiter
		for _, ch := range c.changes {
			switch ch.table {
			case "replica_heartbeat":
				slots[ch.cols["replica_id"]] = 0
				if ch.op != "DELETE" && ch.cols["state"] == "ACTIVE" {
					slots[ch.cols["replica_id"]] = int(ch.cols.int("concurrency"))
				}
			case "task_run":
				r := ch.cols.run()
				delete(active, r.id)
				if ch.op != "DELETE" && r.active() {
					active[r.id] = true
				}
				switch mine := waiting[r.id]; {
				case mine == nil && ch.was == "" && r.unfinished():
					seq++
					waiting[r.id] = w.come(r, seq, waiting)
					came = append(came, waiting[r.id])
				case mine != nil && r.status == "RUNNING":
					begun++
					violations = append(violations, w.late(r, mine, starts)...)
					delete(waiting, r.id)
					for _, other := range waiting { // that has gone past others of its key
						if other.key == mine.key && other.seq < mine.seq {
							other.nth++
						}
					}
				case mine != nil && !r.unfinished():
					delete(waiting, r.id)
				}
			}
		}
		starts += begun
		all := 0
		for _, n := range slots {
			all += n
		}
		for _, mine := range came { // what was AVAILABLE by then had its turn, when there may have been more slots
			mine.came, mine.slots = starts, len(active)
		}
		for _, other := range waiting {
			other.slots = max(other.slots, all)
		}
	}
	for _, id := range sorted(waiting) {
		violations = append(violations, fmt.Sprintf("run %d of %s never started", id, waiting[id].key))
	}
	return starts, violations
}

// come is a run that comes while others wait.
func (w *orderWorld) come(r *runRow, seq int, waiting map[int64]*waiter) *waiter {
	mine := &waiter{seq: seq, nth: 1, contested: map[string]bool{}}
	for _, key := range r.limits {
		if after, fair := strings.CutPrefix(key, w.fair); fair {
			mine.key = after
		}
	}
	for _, other := range waiting {
		if other.key == mine.key {
			mine.nth++
		}
		mine.contested[other.key] = true
		other.contested[mine.key] = true
	}
	mine.contested[mine.key] = true
	return mine
}

func (w *orderWorld) late(r *runRow, mine *waiter, starts int) []string {
	sum := 0
	for key := range mine.contested {
		sum += w.weight(key)
	}
	bound := float64(mine.nth)*float64(sum)/float64(w.weight(mine.key)) + float64(mine.slots)
	if after := starts - mine.came; float64(after) > bound {
		return []string{fmt.Sprintf("run %d, the %d. of key %s with weight %d of %d, started after %d starts since it came, and not after %.1f at most, with %d slots",
			r.id, mine.nth, mine.key, w.weight(mine.key), sum, after, bound, mine.slots)}
	}
	return nil
}

func (w *orderWorld) weight(key string) int { return max(w.weights[key], 1) }

// grown holds the priorities of runs that wait against what they should have grown by: never before their time, and always to
// where the next step is due at an interval of its own.
func (w *orderWorld) grown(past *history) (raised int, violations []string) {
	base, first := map[int64]int64{}, map[int64]time.Time{}
	for _, c := range past.commits {
		for _, ch := range c.changes {
			if ch.table != "task_run" || ch.op == "DELETE" {
				continue
			}
			r := ch.cols.run()
			if _, known := base[r.id]; !known {
				base[r.id], first[r.id] = r.priority, ch.cols.time("age_at")
			}
			steps := r.priority - base[r.id]
			every, ages := w.aging[r.task]
			if !ages && steps != 0 {
				violations = append(violations, fmt.Sprintf("run %d has grown by %d without aging", r.id, steps))
			}
			if !ages || r.status != "PENDING" && r.status != "AVAILABLE" {
				continue
			}
			next := first[r.id].Add(time.Duration(steps) * every)
			if waits := next.Add(-every); waits.Before(r.runAt) || waits.Before(ch.cols.time("created_at")) || steps > 0 && !c.visible.After(waits) {
				violations = append(violations, fmt.Sprintf("run %d has grown by %d before its time, at %s", r.id, steps, waits))
			}
			if at := ch.cols.time("age_at"); !at.Equal(next) {
				violations = append(violations, fmt.Sprintf("run %d grows at %s, and not at %s", r.id, at, next))
			}
			if steps > 0 && r.status == "PENDING" {
				raised++
			}
		}
	}
	return raised, violations
}

// recoveries holds what is started in a recovery against its rate: since it began, and in every stretch of time. A claim follows its grant by
// some ms, on a machine with much to do by some hundred.
func (w *orderWorld) recoveries(past *history) (starts int, violations []string) {
	if w.rate == 0 {
		return 0, nil
	}
	const delay = 500 * time.Millisecond
	rate := float64(w.rate)
	burst := max(1, rate/10)
	var began, ended time.Time
	var times []time.Time
	for _, c := range past.commits {
		for _, ch := range c.changes {
			switch {
			case ch.table == "recovery" && ch.op != "DELETE":
				began, ended = ch.cols.time("began_at"), ch.cols.time("ended_at")
			case ch.table == "task_run" && ch.cols["status"] == "RUNNING" && ch.was != "RUNNING" && !began.IsZero() && ended.IsZero():
				times = append(times, ch.cols.time("started_at"))
			}
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	for i, at := range times {
		if n, may := float64(i+1), burst+rate*at.Sub(began).Seconds(); n > may+0.001 {
			violations = append(violations, fmt.Sprintf("%v starts %s after a recovery began, and not %.3f", n, at.Sub(began), may))
		}
		for j := range i {
			if n, may := float64(i-j+1), burst+rate*(at.Sub(times[j])+delay).Seconds(); n > may {
				violations = append(violations, fmt.Sprintf("%v starts in %s of a recovery, and not %.3f", n, at.Sub(times[j]), may))
			}
		}
	}
	return len(times), violations
}
