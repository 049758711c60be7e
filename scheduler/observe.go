package scheduler

import (
	"context"
	"errors"
	"time"

	"github.com/rowrun/rowrun/store"
)

// Observer is told what a scheduler does, at the moment that it does it, on the goroutine that does it: each func must
// return at once and may be called from many goroutines. A func that is nil is not called.
type Observer struct {
	// Promoted is told of each pass that made runs AVAILABLE: how many.
	Promoted func(runs int)
	// Claimed is told of each pass that claimed runs. The slice belongs to the scheduler.
	Claimed func(claims []store.Claim)
	// Executed is told that an executor returned, of the type of its task and how long it took.
	Executed func(kind string, took time.Duration)
	// Recorded is told of each batch of endings that was written: how many endings it had.
	Recorded func(endings int)
	// Ended is told of each run whose end was recorded: its type and DONE, FAILED, CANCELED, or SNOOZED for one that was put off.
	Ended func(kind, status string)
	// Recording is told of the ends that were recorded, before anything else here hears of them. The slice belongs to the scheduler.
	Recording func(ended []store.Ended)
	// Swept is told of each sweep: which, and how many runs it found.
	Swept func(sweep Sweep, runs int)
	// Stalled is told that a run of this type reported no progress in time.
	Stalled func(kind string)
	// Stuck is told that the executor of a run of this type ignores its cancel.
	Stuck func(kind string)
	// LostWakeUp is told that a sweep found work which a wake-up should have brought.
	LostWakeUp func()
	// PassFailed is told of each failure of a pass that goes on trying: which of Passes it was.
	PassFailed func(pass string)
}

// Passes are the names of all that PassFailed is told of.
func Passes() []string {
	return []string{
		"cleanup", "heartbeat", "orphans", "overdue sweep", "promote a backlog", "promote and claim", "record endings",
		"recovery functions", "register", "schedule sweep", "stale sweep", "types", "watch",
	}
}

// Sweep names one of the passes that nothing has to announce.
type Sweep string

// The sweeps.
const (
	SweepWork    Sweep = "work"    // what may be promoted or claimed
	SweepStale   Sweep = "stale"   // runs of replicas that are dead
	SweepOverdue Sweep = "overdue" // runs that the app took over and that ran out of time
	SweepStray   Sweep = "stray"   // runs under this replica's name that it doesn't run
)

// Sweeps are all there are.
func Sweeps() []Sweep { return []Sweep{SweepWork, SweepStale, SweepOverdue, SweepStray} }

func (o *Observer) passed(p store.Pass) {
	if o.Promoted != nil && p.Promoted > 0 {
		o.Promoted(p.Promoted)
	}
	if o.Claimed != nil && len(p.Claims) > 0 {
		o.Claimed(p.Claims)
	}
}

func (o *Observer) executed(kind string, took time.Duration) {
	if o.Executed != nil {
		o.Executed(kind, took)
	}
}

func (o *Observer) recorded(batch []ending, ended []store.Ended) {
	if o.Recording != nil && len(ended) > 0 {
		o.Recording(ended)
	}
	if o.Recorded != nil {
		o.Recorded(len(batch))
	}
	if o.Ended == nil || len(ended) == 0 {
		return
	}
	by := make(map[int64]*ending, len(batch))
	for i := range batch {
		by[batch[i].store.ID] = &batch[i]
	}
	for i := range ended {
		e, kind, status := &ended[i], "", ended[i].Status
		if b := by[e.ID]; b != nil {
			kind = b.kind
			if b.putOff(e) {
				status = CodeSnoozed
			}
		}
		o.Ended(kind, status)
	}
}

func (o *Observer) swept(sweep Sweep, runs int) {
	if o.Swept != nil {
		o.Swept(sweep, runs)
	}
}

// trace begins the trace of an execution, if there are any.
func (c *Config) trace(ctx context.Context, claim *store.Claim) (context.Context, func(code string)) {
	if c.Trace == nil {
		return ctx, func(string) {}
	}
	return c.Trace(ctx, claim)
}

// code is that under which an execution that ended with err is recorded, "": it didn't fail.
func (r *running) code(err error) string {
	if err == nil {
		return ""
	}
	if errors.Is(context.Cause(r.ctx), errLost) {
		return "GIVEN_AWAY" // recorded by somebody else, as what is not known here
	}
	failure, _ := verdict(context.Cause(r.ctx), err, time.Since(r.started), &r.claim)
	return failure.Code
}

// wakeUpMayTake is by how much a wake-up may be later than a sweep that found its work.
const wakeUpMayTake = 250 * time.Millisecond

// sighting is what a sweep found.
type sighting struct {
	runs     int
	promoted bool // some were PENDING: an announcement that they became AVAILABLE is our own
}

func (f *sighting) add(p store.Pass) {
	f.runs = max(f.runs, p.Promoted, len(p.Claims))
	f.promoted = f.promoted || p.Promoted > 0
}

// lostWakeUps tells a sweep that had to find its work from one that was only a little earlier than the wake-up. It is
// for one goroutine.
type lostWakeUps struct {
	observer  *Observer
	swept     bool      // one was there before: the first finds what no wake-up of ours could bring
	suspect   time.Time // when a sweep found work; zero: none is under suspicion
	promoted  bool      // that work was PENDING
	due       time.Time // when dispatch would have looked without the sweep
	wokenAt   time.Time
	available time.Time // when it was last said that runs are AVAILABLE
}

// woken says that a wake-up came: what a sweep has just found was announced.
func (l *lostWakeUps) woken() { l.suspect, l.wokenAt = time.Time{}, time.Now() }

// toClaim says that runs became AVAILABLE, through another replica or through our own sweep.
func (l *lostWakeUps) toClaim() {
	l.available = time.Now()
	if !l.promoted {
		l.suspect = time.Time{}
	}
}

// look judges a sweep that found work a while ago; it is called whenever dispatch goes round.
func (l *lostWakeUps) look(now time.Time) {
	if l.suspect.IsZero() || now.Sub(l.suspect) < wakeUpMayTake {
		return
	}
	l.suspect = time.Time{}
	if l.observer.LostWakeUp != nil {
		l.observer.LostWakeUp()
	}
}

// sweep notes what a sweep found; expected: dispatch knew that there was something.
func (l *lostWakeUps) sweep(now time.Time, found sighting, expected bool) {
	l.observer.swept(SweepWork, found.runs)
	soon := l.due.Sub(now) < wakeUpMayTake || now.Sub(l.wokenAt) < wakeUpMayTake ||
		(!found.promoted && now.Sub(l.available) < wakeUpMayTake)
	if found.runs > 0 && l.swept && !expected && !soon {
		l.suspect, l.promoted = now, found.promoted
	}
	l.swept = true
}
