package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/store"
)

// running is a run that this process executes.
type running struct {
	claim       store.Claim
	incarnation *incarnation
	rules       *typeRules // it was claimed under
	started     time.Time
	cancel      context.CancelCauseFunc
	ctx         context.Context
	settle      sync.Once // its ending is handed to the recorder once

	// Guarded by Scheduler.mu.
	returned, isStalled, isStuck bool
}

// errLost stops an executor whose run isn't this replica's any more: there is nothing left to record.
var errLost = errors.New("the run ended or was given away")

// Claimed says whether a run was claimed here not long ago: it needs no further wake-up.
func (s *Scheduler) Claimed(runID int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.claimed[s.slotOf(runID)] == runID
}

// slotOf is a run's place in claimed. Ids below 0 are the owner's of the table to write.
func (s *Scheduler) slotOf(runID int64) uint64 { return uint64(runID) % uint64(len(s.claimed)) }

// here are the runs that execute here or have an ending that is still to be recorded, under whatever claim.
func (s *Scheduler) here() map[int64]bool {
	runs := s.recorder.unsettled()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.running {
		runs[r.claim.ID] = true
	}
	return runs
}

// execute starts a run that was claimed under these rules.
func (t *incarnation) execute(c store.Claim, rules *typeRules) {
	s := t.s
	ctx, cancel := context.WithCancelCause(t.exec)
	r := &running{claim: c, incarnation: t, rules: rules, started: time.Now(), cancel: cancel, ctx: ctx}
	s.mu.Lock()
	s.running[c.Claim] = r
	s.claimed[s.slotOf(c.ID)] = c.ID
	s.mu.Unlock()
	s.executing.Add(1)
	s.seat.started()
	s.shares.started(c.Priority, 1)
	s.rooms.started(c.Type)
	s.logRun("run claimed", &c, "")
	t.executions.Go(func() {
		defer cancel(nil)
		if c.Timeout > 0 {
			defer time.AfterFunc(c.Timeout, func() { cancel(ErrTimeout) }).Stop()
		}
		done := make(chan struct{})
		if c.ProgressTimeout > 0 {
			t.executions.Go(func() { r.watchProgress(done) })
		}
		unhook := context.AfterFunc(ctx, func() { r.hurry(done) })
		defer unhook()
		traced, endTrace := s.cfg.trace(ctx, &r.claim)
		out, err := Result{}, errNotReturned
		defer func() { // an executor may end its goroutine
			close(done)
			endTrace(r.code(err))
			r.over(out, err)
		}()
		out, err = r.call(traced)
	})
}

// over gives back what a run had whose executor is no more, and has its ending recorded.
func (r *running) over(out Result, err error) {
	t, c := r.incarnation, &r.claim
	s := t.s
	s.cfg.Observer.executed(c.Type, time.Since(r.started))
	s.mu.Lock()
	delete(s.running, c.Claim)
	r.noLongerHung()
	s.mu.Unlock()
	s.shares.started(c.Priority, -1)
	s.executing.Add(-1)
	s.seat.give(1)
	if s.rooms.ended(c.Type) {
		t.roomCame()
	}
	defer signal(s.freed) // the end may end the goroutine
	r.end(out, err)
}

// resolveAgain is how long after a connection failed the results of other tasks are asked for again.
const resolveAgain = 200 * time.Millisecond

// resolve puts results of other tasks into the payload. While the database can't be reached it waits; what the database refuses is
// the run's failure.
func (r *running) resolve(ctx context.Context) error {
	for {
		rt, cancel := context.WithTimeout(ctx, passTimeout)
		err := r.incarnation.s.cfg.Store.Resolve(rt, &r.claim)
		cancel()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case store.OneByOne(err):
			return &Failure{Code: CodeError, Detail: "the results that the task's payload names could not be read: " + err.Error(), Retryable: true}
		}
		sleep(ctx, resolveAgain)
	}
}

// handout is what the executor is told. What it says to the database has a deadline, as a connection may have gone silent.
func (r *running) handout() *Run {
	c, st, id := &r.claim, r.incarnation.s.cfg.Store, r.incarnation.id
	return &Run{
		ID: c.ID, RootID: c.RootID, TaskID: c.TaskID, TaskName: c.TaskName, PlanID: c.PlanID, Attempt: c.Attempt,
		Type: c.Type, Queue: c.Queue, DatabaseID: c.DatabaseID, Version: c.Version, Payload: c.Payload, Claim: c.Claim, Manual: c.Manual,
		Log: func(ctx context.Context, kind string, detail any) error {
			b, err := document(detail)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(ctx, passTimeout)
			defer cancel()
			return st.AppendLog(ctx, c.ID, id, kind, b)
		},
		Progress: func(ctx context.Context, progress any) error {
			b, err := document(progress)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(ctx, passTimeout)
			defer cancel()
			held, err := st.ReportProgress(ctx, c.ID, c.Claim, b)
			if err == nil && !held {
				r.cancel(errLost)
				return errLost
			}
			return err
		},
	}
}

// hurry gives an executor that was told to stop its grace; then its run is recorded without it.
func (r *running) hurry(done <-chan struct{}) {
	timer := time.NewTimer(r.incarnation.s.cfg.CancelGrace)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		r.end(Result{}, context.Cause(r.ctx))
		r.ignoresCancel()
	}
}

// abandon records the runs of executors that did not stop in time.
func (t *incarnation) abandon(cause error) {
	t.s.mu.Lock()
	var left []*running
	for _, r := range t.s.running {
		if r.incarnation == t {
			left = append(left, r)
		}
	}
	t.s.mu.Unlock()
	for _, r := range left {
		r.end(Result{}, cause)
	}
}

// watchProgress stops a run that reports nothing for too long. The app may report past us, so that the row is asked.
func (r *running) watchProgress(done <-chan struct{}) {
	limit := r.claim.ProgressTimeout
	wait := limit
	var quiet stillness
	for {
		timer := time.NewTimer(wait)
		select {
		case <-done:
			timer.Stop()
			return
		case <-timer.C:
		}
		ctx, cancel := context.WithTimeout(r.ctx, passTimeout)
		held, err := r.incarnation.s.cfg.Store.Watch(ctx, r.incarnation.id, []store.Watched{{ID: r.claim.ID, Claim: r.claim.Claim}})
		cancel()
		wait = time.Second
		if err == nil && len(held) == 1 && !held[0].Lost { // a lost one is the watch's to stop
			silent := quiet.lasts(time.Now(), held[0].Silent)
			if silent >= limit {
				r.cancel(ErrStalled)
				r.announceStall()
				return
			}
			wait = limit - silent
		}
	}
}

// notMarshaled stands in for a result whose marshaling ended the goroutine.
const notMarshaled = "the result could not be stored: marshaling it ended its goroutine (runtime.Goexit, as t.FailNow does)"

// end hands the run's ending to the recorder, once. What marshals the result may be the executor's code, and end the goroutine: then
// the run ends without it.
func (r *running) end(out Result, err error) {
	r.settle.Do(func() {
		s, c := r.incarnation.s, &r.claim
		e := ending{store: store.Ending{ID: c.ID, Claim: c.Claim, Database: c.DatabaseID}, kind: c.Type, plan: c.PlanID, replica: r.incarnation.id, fresh: c.Fresh, loud: failureLevel(c)}
		if c.PlanID != nil {
			e.store.PlanTask = c.TaskID
		}
		switch {
		case err == nil && out.HandedOver:
			e.handOver = true
			s.recorder.add(e)
		case err == nil:
			defer func() { s.recorder.add(e) }()
			e.store.Result = result("", notMarshaled, nil)
			doc, bad := document(out.Output)
			if bad != nil {
				doc = result("", "the result could not be stored: "+bad.Error(), nil)
			}
			e.store.Result = doc
		case errors.Is(context.Cause(r.ctx), errLost):
			s.logRun("run lost", c, "")
		default:
			defer func() { s.recorder.add(e) }()
			f, retry := verdict(context.Cause(r.ctx), err, time.Since(r.started), c)
			e.store.Failed, e.store.Retry = true, retry
			e.store.Result = result(f.Code, f.Detail, nil)
			if f.Output != nil {
				e.store.Result = result(f.Code, f.Detail, f.Output)
			}
		}
	})
}

// verdict says how an execution that ended with an error is recorded: by why it was stopped, where it was, otherwise
// by its error. What an executor says of one that was stopped, such as that its statement may go on, stands behind that.
func verdict(cause, err error, took time.Duration, c *store.Claim) (Failure, store.Retry) {
	also := ""
	var f *Failure
	if errors.As(err, &f) && f.Detail != "" {
		also = " (" + f.Detail + ")"
	}
	switch {
	case errors.Is(cause, ErrCanceled):
		return Failure{Code: CodeCanceled, Detail: "Task run canceled" + also}, store.RetryNone
	case errors.Is(cause, ErrTimeout):
		return Failure{Code: CodeTimeout, Detail: "Task run timed out after " + c.Timeout.Round(time.Millisecond).String() + also}, store.RetryFailure
	case errors.Is(cause, ErrStalled):
		return Failure{Code: CodeProgressTimeout, Detail: "Task run stalled: no progress for " + c.ProgressTimeout.String() + also}, store.RetryFailure
	case errors.Is(cause, ErrLostContact):
		return Failure{Code: CodeLostContact, Detail: store.DetailLostContact + also}, store.RetryStale
	case errors.Is(cause, ErrDrained):
		return Failure{Code: CodeDrained, Detail: store.DetailDrained + also}, store.RetryStale
	case f != nil:
		if f.snoozed {
			return *f, store.RetrySnoozed
		}
		if f.Retryable {
			return *f, store.RetryFailure
		}
		return *f, store.RetryNone
	}
	return Failure{Code: CodeError, Detail: err.Error()}, store.RetryFailure
}

func (s *Scheduler) logRun(what string, c *store.Claim, status string) {
	if s.cfg.LogRuns == nil || !s.cfg.LogRuns() {
		return
	}
	e := s.cfg.Log.Info().Int64("run_id", c.ID).Int64("task_id", c.TaskID).Str("type", c.Type).Int("attempt", c.Attempt)
	if status != "" {
		e = e.Str("status", status)
	}
	e.Msg(what)
}

// failureLevel is how loud the line is that says that a run FAILED.
func failureLevel(c *store.Claim) zerolog.Level {
	if c.FailureLogLevel == "" {
		return zerolog.InfoLevel
	}
	level, err := zerolog.ParseLevel(c.FailureLogLevel)
	if err != nil {
		return zerolog.InfoLevel // of a newer schema
	}
	return level
}

// result is the document of a run that failed.
func result(code, detail string, more map[string]any) json.RawMessage {
	doc := map[string]any{}
	for k, v := range more {
		doc[k] = v
	}
	if code != "" {
		doc["code"] = code
	}
	doc["detail"] = cut(detail, maxDetail)
	b, err := document(doc)
	if err != nil {
		b, _ = document(map[string]any{"code": code, "detail": cut(detail, maxDetail)})
	}
	return b
}
