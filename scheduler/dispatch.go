package scheduler

import (
	"context"
	"errors"
	"time"

	"github.com/rowrun/rowrun/store"
)

const (
	// lookAgain is how long after a wake-up the second look follows (see late).
	lookAgain = 6 * time.Millisecond
	// busyAgain is how long to leave the promotion to another replica that is at it.
	busyAgain = 2 * time.Millisecond
	// maxUnrecorded bounds the endings that wait to be written; beyond it nothing is claimed.
	maxUnrecorded = 5000
	// gatherFor is how long freed slots are gathered.
	gatherFor = 200 * time.Microsecond
	// manyPromoted is more than a pass claims without a search.
	manyPromoted = 100
	passTimeout  = 15 * time.Second
	// replaced is when a pass is tried again that failed after one that didn't: what fails first is a connection that
	// died while it was idle, and the pool has another by then.
	replaced = 10 * time.Millisecond
	// smallerAgain is when a pass that took too long is followed by a smaller one.
	smallerAgain = 50 * time.Millisecond
	forever      = time.Hour // the sweep comes before
	// slowSearch is how long a search must take to be worth a warning.
	slowSearch = 100 * time.Millisecond
)

// dispatch promotes and claims: woken by a notification, by a slot of ours that became free, by a run_at, or by the
// sweep.
func (t *term) dispatch(ctx context.Context) {
	errs := t.s.newOnce("promote and claim")
	timer := time.NewTimer(0)
	defer timer.Stop()
	var strays map[int64]bool
	sweepAt := time.Now()
	promoteAt := sweepAt // when to promote again without being told
	wholeAt := sweepAt   // when a sweep is a whole pass at the latest
	lost := lostWakeUps{observer: &t.s.cfg.Observer}
	failing := false
	var futile vain
	defer t.s.recorder.carry(false)
	for {
		promote := store.PromoteNothing
		woken, told := false, false
		wake, available := t.s.cfg.Wake, t.s.cfg.Available
		var rested <-chan time.Time
		if rest := futile.pause(time.Now()); rest > 0 {
			wake, available, rested = nil, nil, time.After(rest)
		}
		t.s.recorder.carry(!failing && !t.mayClaim)
		select {
		case <-ctx.Done():
			return
		case <-rested:
			continue
		case <-wake:
			woken, told = true, true
		case <-t.s.opened:
			woken = true
		case <-available:
			told = true
			t.s.news.Store(true)
			t.mayClaim = true
			lost.toClaim()
		case <-t.s.promoted:
			t.mayClaim = true
		case <-t.claimable:
			t.mayClaim = true
			t.s.news.Store(true)
		case <-t.s.freed:
			t.gather(ctx)
		case <-timer.C:
		}
		// "Look" wakes both: one pass does for them.
		if woken && told {
			drain(available)
		} else if told {
			woken = drain(wake)
		}
		if woken && told {
			t.heardLook(&lost)
		}
		if ctx.Err() != nil {
			return
		}
		now := time.Now()
		sweep := !now.Before(sweepAt)
		var err error
		var seen store.Survey
		if woken {
			t.late.woken()
		}
		if sweep {
			t.s.recorder.carry(false) // until the next round
			seen, err = t.survey(ctx)
		}
		switch {
		case sweep && (seen.Work || !now.Before(wholeAt)):
			promote = store.PromoteSweep
		case sweep && !woken: // nothing is due
		case (woken || !now.Before(promoteAt)) && t.backlog.Load():
			signal(t.more) // the backlog's passes find it, and its end is a wake-up
			promoteAt, t.late = sweepAt, late{}
		case woken, !now.Before(promoteAt):
			promote = store.PromoteDue
			t.mayClaim = t.mayClaim || t.late.due(now)
		}
		lost.look(now)
		expected := woken || t.mayClaim || t.backlog.Load() || t.s.cfg.Wake == nil
		next := forever
		var found sighting
		if err == nil {
			if sweep {
				strays = t.endStrays(ctx, seen.Owned, strays)
			}
			next, found, err = t.pass(ctx, promote)
		}
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			t.s.unable.failed(err)
			again := time.Second
			switch {
			case errors.Is(err, store.ErrDead):
			case store.TookTooLong(err): // the next one is for fewer
				errs.failed(err)
				again = smallerAgain
			case failing:
				errs.failed(err)
			default:
				again = replaced
			}
			failing = true
			t.mayClaim = true // what was promoted, if it was, is announced to others only
			promoteAt = time.Now().Add(again)
			reset(timer, again)
			continue
		}
		failing = false
		t.s.unable.ok()
		errs.ok()
		if told {
			futile.looked(found.runs > 0, time.Now())
		}
		if sweep {
			sweepAt = now.Add(t.s.cfg.SweepInterval)
			lost.sweep(now, found, expected)
			if seen.NextDue > 0 {
				next = min(next, seen.NextDue)
			}
		}
		if promote == store.PromoteSweep {
			wholeAt = now.Add(wholeEvery)
		}
		if sweep || promote != store.PromoteNothing || next < time.Until(promoteAt) {
			promoteAt = time.Now().Add(next)
		}
		promoteAt = t.late.before(promoteAt)
		if !promoteAt.Equal(sweepAt) {
			lost.due = promoteAt
		}
		if sweepAt.Before(promoteAt) {
			promoteAt = sweepAt
		}
		reset(timer, max(0, time.Until(promoteAt)))
	}
}

// heardLook takes a notification that tells nothing: something may be due, and what was inserted may be claimed.
func (t *term) heardLook(lost *lostWakeUps) {
	t.s.news.Store(true)
	t.mayClaim = true
	lost.woken()
	signal(t.s.lookAtRuns)
}

// pass promotes and claims until there is nothing more to do now; it returns when to look again. Where no other run is
// known to be AVAILABLE, it claims what it promotes itself and looks for others only if that left some. Endings that
// came meanwhile go along in the same round trip.
func (t *term) pass(ctx context.Context, promote store.Promotion) (next time.Duration, found sighting, err error) {
	next = forever
	carry := promote != store.PromoteSweep // which may take long
	for {
		want := min(t.s.freeSlots(), t.s.cfg.MaxBatch)
		if t.rules.Load().paused {
			want = 0
		}
		var endings []ending
		if carry {
			t.gatherEndings(ctx)
			endings = t.s.recorder.takeCarried()
		}
		if promote == store.PromoteNothing && len(endings) == 0 && (want == 0 || !t.mayClaim) {
			return next, found, nil
		}
		fresh := promote != store.PromoteSweep && !t.mayClaim && want > 0 && !t.s.cfg.TwoSteps
		var p store.Pass
		p, err = t.trip(ctx, endings, promote, fresh, want)
		found.add(p)
		if err != nil && len(endings) > 0 && ctx.Err() == nil {
			carry = false // without them; whose fault it was shows
			continue
		}
		if err != nil || ctx.Err() != nil {
			return 0, found, err
		}
		switch {
		case fresh, want == 0:
			t.mayClaim = t.mayClaim || p.Promoted > len(p.Claims)
		default:
			t.mayClaim = len(p.Claims) == want || p.Contended || p.Promoted > len(p.Claims)
		}
		if p.NextDue > 0 {
			next = min(next, p.NextDue)
		}
		if p.Behind > 0 {
			next = min(next, p.Behind)
			t.mayClaim = true
		}
		switch {
		case backlogged(p):
			signal(t.more)
		case p.Busy, p.Contended:
			return busyAgain, found, nil
		}
		promote = store.PromoteNothing
		if p.Marked {
			promote = store.PromoteDue
			continue
		}
		full := len(p.Claims) == t.s.cfg.MaxBatch
		if !fresh && !full && (len(p.Claims) == 0 || t.s.freeSlots() < t.s.cfg.Concurrency/2) {
			return next, found, nil // slots that become free say so
		}
	}
}

// trip is one round trip of a pass: it ends, promotes, claims and starts what it claimed.
func (t *term) trip(ctx context.Context, endings []ending, promote store.Promotion, fresh bool, want int) (store.Pass, error) {
	st := t.s.cfg.Store
	rt, cancel := context.WithTimeout(context.WithoutCancel(ctx), passTimeout)
	defer cancel()
	var round store.Round
	var err error
	defer t.s.holdUps.begin()()
	t.passing.Lock()
	rules := t.rules.Load()
	if t.s.news.Swap(false) {
		rules.wants.Searches.Told()
	}
	switch {
	case len(endings) > 0:
		round, err = st.EndAndWork(rt, t.id, endingsOf(endings), quickLock, rules.wants, promote, fresh, want)
	case fresh:
		round.Pass, err = st.WorkPromoted(rt, t.id, rules.wants, want)
	default:
		round.Pass, err = st.Work(rt, t.id, rules.wants, promote, want)
	}
	t.passing.Unlock()
	t.noteSearches(rules.wants.Searches.Slow())
	if round.Gated {
		t.s.news.Store(true)
	}
	t.s.cfg.Observer.passed(round.Pass)
	t.late.looked(round.Unseen, time.Now())
	switch {
	case len(endings) == 0:
	case err != nil && !errors.Is(err, store.ErrDead):
		t.s.recorder.giveBack(endings)
	default:
		t.s.recorder.carriedOver(endings, round)
	}
	for _, c := range round.Claims {
		t.execute(c, rules)
	}
	if len(round.Claims) > 0 {
		t.claimedAt = time.Now()
	}
	return round.Pass, err
}

// noteSearches says when searches for runs begin to read much for what they find, and when they don't any more.
func (t *term) noteSearches(took time.Duration) {
	const text = "searches for runs pass by many that they can't take: ended ones, as long as something holds an old snapshot (rowrun doctor says who), or those of paused tasks"
	switch {
	case took >= slowSearch && !t.warned:
		t.slow, t.warned = true, true
		t.s.cfg.Log.Warn().Dur("took_ms", took).Msg(text)
	case took > 0 && !t.slow:
		t.slow = true
		t.s.cfg.Log.Debug().Dur("took_ms", took).Msg(text)
	case took == 0 && t.slow:
		if t.warned {
			t.s.cfg.Log.Info().Msg("searches for runs are quick again")
		}
		t.slow, t.warned = false, false
	}
}

// backlogged says whether more is likely to promote: after a pass for many, what ended meanwhile has left as many marks,
// and is promoted beside the claims.
func backlogged(p store.Pass) bool { return p.More || p.Promoted > manyPromoted }

// promoteBacklog promotes what a pass has left, while dispatch claims what was promoted.
func (t *term) promoteBacklog(ctx context.Context) {
	errs := t.s.newOnce("promote a backlog")
	var searches store.Searches
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.more:
		}
		t.backlog.Store(true)
		for more := true; more && ctx.Err() == nil; {
			rt, cancel := context.WithTimeout(context.WithoutCancel(ctx), passTimeout)
			answered := t.s.holdUps.begin()
			p, err := t.s.cfg.Store.Promote(rt, t.id, &searches)
			answered()
			cancel()
			if err != nil {
				if !errors.Is(err, store.ErrDead) {
					errs.failed(err)
				}
				signal(t.s.promoted) // it may stand, and is announced to others only
				if store.TookTooLong(err) {
					sleep(ctx, smallerAgain)
					continue
				}
				break // the next sweep comes to it
			}
			errs.ok()
			if p.Gated {
				t.s.news.Store(true)
			}
			t.s.cfg.Observer.passed(p)
			signal(t.s.promoted)
			more = backlogged(p)
			if p.Busy {
				more = true
				sleep(ctx, busyAgain)
			}
		}
		t.backlog.Store(false)
		signal(t.s.opened) // for what came between the last look and now
	}
}

// gather lets some more slots become free before they are filled, where most are taken and runs are waiting for them:
// one claim for many costs little more than one for one.
func (t *term) gather(ctx context.Context) {
	if t.mayClaim && t.s.freeSlots() < t.s.cfg.Concurrency/2 {
		sleep(ctx, gatherFor)
	}
}

// freeSlots is how many runs may be claimed now.
func (s *Scheduler) freeSlots() int {
	if s.recorder.waiting() >= maxUnrecorded {
		return 0
	}
	return max(0, s.cfg.Concurrency-int(s.executing.Load()))
}

// drain takes a signal that waits, and says whether there was one.
func drain(signals <-chan struct{}) bool {
	select {
	case <-signals:
		return true
	default:
		return false
	}
}

// reset sets a timer whether or not it has fired.
func reset(timer *time.Timer, d time.Duration) {
	timer.Stop()
	timer.Reset(d)
}
