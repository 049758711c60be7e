package scheduler_test

import (
	"fmt"
	"slices"
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
