package scheduler

import (
	"context"
	"time"

	"github.com/rowrun/rowrun/store"
)

// Every replica is told of a run that may be claimed and of a run that ended, and one look is enough. Where replicas are many, each run
// cost a look of every one of them, at the same moment: 29 ms of CPU with 10, and with 100 more than two cores have at 50 runs a second. So of
// many replicas some look at once, by chance, quickLooks on the average: which, is another matter with each wake-up, so that
// work is spread. Each of the others looks some ms later, for all that it is told until then; and later still where it hears meanwhile that
// another one has claimed, as whoever claims takes what comes first, or where all that it is told of is an end: who has ended a run looks for
// what follows. Where others claim more runs than it was told of, many have come at once, and it looks too. Up to quickLooks replicas all look
// at once.
const (
	quickLooks = 3
	// surveyors is how many replicas survey everything in each sweep interval, on the average, where they are more; likewise for the other
	// sweeps. With so many it happens in 1 of 20,000 intervals that none does.
	surveyors = 10
	// yieldLeast and yieldEach: a look that waits does so for the one, and by chance up to the other for each replica.
	yieldLeast = 2 * time.Millisecond
	yieldEach  = 2 * time.Millisecond
	// yieldAgain is what it waits at most, for each replica, where others have claimed meanwhile, and yieldMost whatever their number; at
	// least half of that.
	yieldAgain = 20 * time.Millisecond
	yieldMost  = 500 * time.Millisecond
)

// yielding is the look that a replica leaves for later. It is for one goroutine.
type yielding struct {
	pace  pace
	peers int // store.Survey's; 0: not known
	timer *time.Timer
	put   bool  // off for long
	told  int64 // how often it was asked for
	begun int64 // claims of others that were heard of when it was first
}

// many says whether there are so many replicas that others look where this one doesn't.
func (y *yielding) many() bool { return y.peers > quickLooks }

// chosen says whether this is one of those that look: quickLooks on the average, all where they are no more.
func (y *yielding) chosen() bool { return y.place() < quickLooks }

// place is this one's among its peers, drawn anew each time; the first where they are not many.
func (y *yielding) place() float64 {
	if !y.many() {
		return 0
	}
	return y.pace() * float64(y.peers)
}

// depth is how much this one surveys: all where they are not many. Of many, some look for what any of them could find, and fewer who holds
// something up, which costs more with each session of the server.
func (y *yielding) depth() store.SurveyDepth {
	switch place := y.place(); {
	case place < quickLooks:
		return store.SurveyAll
	case place < surveyors:
		return store.SurveyWork
	default:
		return store.SurveyOwn
	}
}

// shared is how often each of many does what is enough once: as often together as quickLooks of them would, each at least every ten times.
func (y *yielding) shared(every time.Duration) time.Duration { return shared(every, y.peers) }

func shared(every time.Duration, peers int) time.Duration { return among(quickLooks, every, peers) }

// among is how often each does what so many would do often enough, at least every ten times.
func among(enough int, every time.Duration, peers int) time.Duration {
	return every * time.Duration(min(max(peers/enough, 1), 10))
}

// sleepAmong is the wait of a sweep that is enough where surveyors do it so often. Each survey counts anew who is there, so that who is left
// when most have died waits no longer than alone.
func (s *Scheduler) sleepAmong(ctx context.Context, every time.Duration) {
	for begun := time.Now(); ctx.Err() == nil; {
		left := among(surveyors, every, int(s.peers.Load())) - time.Since(begun)
		if left <= 0 {
			return
		}
		sleep(ctx, min(left, s.cfg.SweepInterval))
	}
}

// yields says whether a look that was asked for waits; another one that waits is one with it. ended: a run has ended, and nothing else
// is known. claims of others were heard of so far.
func (y *yielding) yields(ended bool, claims int64) bool {
	if y.chosen() {
		y.done()
		return false
	}
	switch {
	case y.timer == nil && ended:
		y.begin(y.long(), true, claims)
	case y.timer == nil, y.put && !ended:
		y.done()
		y.begin(yieldLeast+time.Duration(y.pace()*float64(y.peers)*float64(yieldEach)), false, claims)
	}
	y.told++
	return true
}

func (y *yielding) begin(wait time.Duration, put bool, claims int64) {
	y.timer, y.put, y.told, y.begun = time.NewTimer(wait), put, 0, claims
}

// long is for a look that others most likely make needless.
func (y *yielding) long() time.Duration {
	return y.pace.again(min(time.Duration(y.peers)*yieldAgain, yieldMost))
}

// later fires when the look that waits is due; nil where none waits.
func (y *yielding) later() <-chan time.Time {
	if y.timer == nil {
		return nil
	}
	return y.timer.C
}

// claims are of others; nil where no look waits.
func (y *yielding) claims(ofOthers <-chan struct{}) <-chan struct{} {
	if y.timer == nil {
		return nil
	}
	return ofOthers
}

// claimed says whether the look that waits is due, as others have claimed more than it is for; otherwise it waits for long.
func (y *yielding) claimed(claims int64) bool {
	if claims-y.begun > y.told {
		return true
	}
	if !y.put && claims > y.begun { // not one from before
		y.put = true
		y.timer.Stop()
		y.timer.Reset(y.long())
	}
	return false
}

// done: what waited is part of a look that begins.
func (y *yielding) done() {
	if y.timer != nil {
		y.timer.Stop()
		y.timer = nil
	}
}

// Shared is how often each replica does what is enough once, by as many as the last survey counted: up to three of them every so often,
// each of many less often, at least every ten times.
func (s *Scheduler) Shared(every time.Duration) time.Duration {
	return shared(every, int(s.peers.Load()))
}

// OthersClaimed says that another replica has claimed a run. It waits for nothing.
func (s *Scheduler) OthersClaimed() {
	s.claimsOfOthers.Add(1)
	signal(s.othersClaimed)
}
