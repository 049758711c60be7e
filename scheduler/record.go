package scheduler

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/store"
)

const (
	// quickLock is how long a batch waits for a row that a user holds (a task or plan in a transaction of their own);
	// then what belongs to that plan is split off, so that nobody else waits.
	quickLock = 100 * time.Millisecond
	slowLock  = 500 * time.Millisecond
)

// unsettled is a run whose ending is still to be recorded or refused, and the replica id under which it was claimed.
type unsettled struct {
	run     int64
	replica string
}

// recorder writes endings: the first at once, those that come while a batch is being written as the next batch. It
// outlives incarnations: an ending is tried until it is recorded or refused.
type recorder struct {
	s    *Scheduler
	errs *once
	wake chan struct{}

	mu      sync.Mutex
	queue   []ending
	back    []ending             // that dispatch could not write
	stuck   []ending             // behind a row that somebody holds
	held    chan struct{}        // some are
	refused []ending             // that the database doesn't take, however little they say
	pending map[string]unsettled // by claim, all that isn't settled
	settled chan struct{}        // closed and replaced whenever something settles
	untaken map[string]bool      // of pending: the database answered, and did not take it, when it was last tried

	busy     bool // a batch is being written
	carrying bool // dispatch takes plain endings meanwhile

	size store.Batch // of what is written at once
}

func newRecorder(s *Scheduler) *recorder {
	return &recorder{
		s: s, errs: s.newOnce("record endings"), wake: make(chan struct{}, 1), held: make(chan struct{}, 1),
		pending: map[string]unsettled{}, settled: make(chan struct{}), untaken: map[string]bool{},
	}
}

func (r *recorder) add(e ending) {
	r.mu.Lock()
	r.queue = append(r.queue, e)
	r.pending[e.store.Claim] = unsettled{run: e.store.ID, replica: e.replica}
	carried := r.carried(&e)
	r.mu.Unlock()
	if carried {
		signal(r.s.freed)
		return
	}
	signal(r.wake)
}

func (r *recorder) waiting() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.pending)
}

// knows says whether the ending of a claim isn't settled yet.
func (r *recorder) knows(claim string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.pending[claim]
	return ok
}

// unsettled are the runs of which an ending isn't settled yet.
func (r *recorder) unsettled() map[int64]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	runs := make(map[int64]bool, len(r.pending))
	for _, p := range r.pending {
		runs[p.run] = true
	}
	return runs
}

// run writes until ctx ends.
func (r *recorder) run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { r.runStuck(ctx) })
	wg.Go(func() { r.runRefused(ctx) })
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		}
		for ctx.Err() == nil {
			batch := r.take()
			if len(batch) == 0 {
				break
			}
			if !r.writeAndClaim(ctx, batch) {
				r.write(ctx, batch, quickLock)
			}
		}
	}
}

func (r *recorder) take() []ending {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy = len(r.back)+len(r.queue) > 0
	if len(r.back) > 0 {
		return cutOff(&r.back, r.size.Most(r.s.cfg.MaxBatch))
	}
	return cutOff(&r.queue, r.size.Most(r.s.cfg.MaxBatch))
}

// cutOff takes the first of a queue.
func cutOff(queue *[]ending, most int) []ending {
	n := min(len(*queue), most)
	batch := (*queue)[:n:n]
	*queue = (*queue)[n:]
	if len(*queue) == 0 {
		*queue = nil
	}
	return batch
}

// write records a batch, however long the database takes to answer; what a user's lock holds back goes to the stuck
// ones. What can't be stored is stored without its result or its successor; and what even then isn't taken is set aside,
// so that it holds no other ending up.
func (r *recorder) write(ctx context.Context, batch []ending, lock time.Duration) {
	for wait := 50 * time.Millisecond; len(batch) > 0; {
		err := r.try(ctx, r.s.cfg.Store.EndRuns, batch, lock)
		smaller := r.size.Done(len(batch), err)
		if err == nil {
			r.errs.ok()
			return
		}
		if ctx.Err() != nil {
			return
		}
		switch code := store.SQLState(err); {
		case smaller: // all of it again would run out of time again
			r.errs.failed(err)
			r.write(ctx, batch[:len(batch)/2], lock)
			batch = batch[len(batch)/2:]
			continue
		case code == "55P03":
			r.park(ctx, batch, err)
			return
		case code == "40P01" || code == "40001":
			continue
		case store.NotifyQueueFull(err): // no fault of any ending
			r.errs.failed(err)
		case store.OneByOne(err) && len(batch) > 1:
			for _, e := range batch {
				r.write(ctx, []ending{e}, lock)
			}
			return
		case store.OneByOne(err):
			r.errs.failed(err)
			if !store.RefusedRow(err) || !batch[0].lighten(err) {
				r.setAside(batch[0], err)
				return
			}
			continue
		default:
			r.errs.failed(err)
		}
		sleep(ctx, r.s.pace.again(wait))
		wait = min(2*wait, time.Second)
	}
}

// refusedAgain is how often endings are tried again that the database doesn't take: a person has to see to it.
const refusedAgain = 2 * time.Second

func (r *recorder) setAside(e ending, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused = append(r.refused, e)
	r.note(err, e)
}

// runRefused tries again what was set aside, each by itself, beside the others.
func (r *recorder) runRefused(ctx context.Context) {
	for sleep(ctx, r.s.pace.again(refusedAgain)); ctx.Err() == nil; sleep(ctx, r.s.pace.again(refusedAgain)) {
		r.mu.Lock()
		refused := r.refused
		r.refused = nil
		r.mu.Unlock()
		for _, e := range refused {
			if err := r.try(ctx, r.s.cfg.Store.EndHeldRuns, []ending{e}, slowLock); err != nil {
				r.setAside(e, err)
			}
		}
	}
}

// endFunc is one of the store's two ways to end runs.
type endFunc func(context.Context, []store.Ending, time.Duration) ([]store.Ended, store.Opened, error)

// try writes a batch once: endings in one transaction, hand-overs each by itself.
func (r *recorder) try(ctx context.Context, end endFunc, batch []ending, lock time.Duration) error {
	rt, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	endings, err := r.handOver(rt, batch)
	if err != nil {
		return err
	}
	if len(endings) == 0 {
		return nil
	}
	answered := r.s.holdUps.begin()
	ended, opened, err := end(rt, endings, lock)
	answered()
	if err != nil {
		return err
	}
	r.recorded(batch, endings, ended)
	signal(r.s.freed)
	if opened.Marked {
		signal(r.s.opened)
	}
	if opened.Promoted > 0 {
		r.s.invalidations.Add(1)
		signal(r.s.promoted)
	}
	return nil
}

// recorded settles endings that the database was told of.
func (r *recorder) recorded(batch []ending, endings []store.Ending, ended []store.Ended) {
	r.s.cfg.Observer.recorded(batch, ended)
	r.count(batch, ended)
	if len(ended) < len(endings) {
		r.s.cfg.Log.Debug().Int("count", len(endings)-len(ended)).Msg("endings refused: the runs had ended or were given away")
	}
	claims := make([]string, len(endings))
	for i := range endings {
		claims[i] = endings[i].Claim
	}
	r.settle(claims...)
	// A successor's time is not announced to the replica that made it; one that was due by its INSERT is AVAILABLE.
	if slices.ContainsFunc(ended, func(e store.Ended) bool { return e.RetryRunID != nil }) {
		if t := r.s.current.Load(); t != nil {
			t.available.came()
		}
		signal(r.s.opened)
	}
}

// count counts endings that were written, and says so where somebody else writes the stream.
func (r *recorder) count(batch []ending, ended []store.Ended) {
	told := r.s.cfg.LogRuns != nil && r.s.cfg.LogRuns()
	for _, e := range ended {
		level := zerolog.InfoLevel
		switch e.Status {
		case "DONE":
			r.s.completed.Add(1)
		case "FAILED":
			i := slices.IndexFunc(batch, func(b ending) bool { return b.store.ID == e.ID })
			if i >= 0 && batch[i].putOff(&e) {
				break
			}
			r.s.failed.Add(1)
			if told && i >= 0 {
				level = batch[i].loud
			}
		}
		if told {
			r.s.cfg.Log.WithLevel(level).Int64("run_id", e.ID).Str("status", e.Status).Msg("run ended")
		}
	}
}

func (r *recorder) settle(claims ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, claim := range claims {
		delete(r.pending, claim)
		delete(r.untaken, claim)
	}
	close(r.settled)
	r.settled = make(chan struct{})
}
