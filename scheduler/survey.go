package scheduler

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"github.com/rowrun/rowrun/store"
)

// wholeEvery is how often a sweep is a whole pass, whatever the survey says: it should never find anything then.
const wholeEvery = time.Minute

// surveyed is what the loops of an incarnation learn from its surveys, so that those which find nothing send nothing.
type surveyed struct {
	overdue, aging, rules told
	// rulesNow is what the last survey saw of the rules, rulesDone what was followed. A change of the first asks for the other.
	rulesNow, rulesDone atomic.Pointer[string]
	queueFull           bool // dispatch only
}

func newSurveyed() *surveyed {
	s := &surveyed{overdue: make(told, 1), aging: make(told, 1), rules: make(told, 1)}
	s.rulesNow.Store(new(string))
	s.rulesDone.Store(new(string))
	return s
}

// told has one slot: whether the last survey saw something to do. One goroutine tells.
type told chan bool

func (c told) tell(found bool) {
	select {
	case <-c: // not heard yet, and not true any more
	default:
	}
	c <- found
}

// wait returns when it is told that there is something to do, when nobody has told anything for d, or when ctx ends.
func (c told) wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		case found := <-c:
			if found {
				return
			}
			timer.Reset(d)
		}
	}
}

// patience is for how long a loop that looks every so often relies on surveys to come.
func (t *incarnation) patience(every time.Duration) time.Duration {
	if interval := t.s.cfg.SweepInterval; interval <= every {
		return every + interval/2
	}
	return every
}

// survey looks once for all sweeps, and tells the loops. One that has found somebody who holds something up looks again, whatever the depth.
func (t *incarnation) survey(ctx context.Context, depth store.SurveyDepth) (store.Survey, error) {
	rt, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	end := t.s.holdUps.begin()
	if t.s.holdUps.found() {
		depth = store.SurveyAll
	}
	asked := time.Since(t.began)
	v, err := t.s.cfg.Store.Survey(rt, t.id, t.rules.Load().capabilities, depth)
	end()
	if err != nil {
		return v, err
	}
	t.readClock(v.Now, asked)
	t.seen.overdue.tell(v.Overdue)
	t.seen.aging.tell(v.Aging)
	t.seen.rulesNow.Store(&v.Rules)
	t.seen.rules.tell(v.Rules != *t.seen.rulesDone.Load())
	if t.s.cfg.Surveyed != nil {
		t.s.cfg.Surveyed(v)
	}
	if depth == store.SurveyAll {
		t.s.holdUps.surveyed(v.HoldUps)
	}
	t.s.notifyQueue.Store(math.Float64bits(v.NotifyQueue))
	if full := v.NotifyQueue >= store.NotifyQueueLimit; full != t.seen.queueFull {
		if t.seen.queueFull = full; full {
			t.s.cfg.Log.Warn().Float64("usage", v.NotifyQueue).
				Msg("the server's notification queue is more than half full: nothing is notified until it drains, sweeps find what is to do; " +
					"look for a session that listens in a long transaction: SELECT pid, usename, application_name, xact_start FROM pg_stat_activity " +
					"WHERE state LIKE 'idle in transaction%' ORDER BY xact_start")
		} else {
			t.s.cfg.Log.Info().Float64("usage", v.NotifyQueue).Msg("the server's notification queue has drained: everything is notified again")
		}
	}
	return v, nil
}
