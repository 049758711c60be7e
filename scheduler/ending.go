package scheduler

import (
	"encoding/json"

	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/store"
)

// ending is a run's end on its way into the table.
type ending struct {
	store    store.Ending
	kind     string // the task's type
	plan     *int64
	replica  string
	handOver bool
	fresh    bool          // the run was claimed as soon as it might start
	byItself bool          // a trip that also claimed could not write it
	loud     zerolog.Level // of the line that says that it FAILED
	refusals int           // how often the database refused this very row
}

// plain says whether the run ended well and belongs to no plan: its end may share a transaction with claims.
func (e *ending) plain() bool {
	return !e.store.Failed && e.plan == nil && !e.handOver && !e.byItself
}

// refills says whether the run ended well and others of its plan most likely wait for its slot: its end may share a transaction with
// their claims, which begin no round of the plan. An end of one round and the start of the next stay two commits.
func (e *ending) refills() bool {
	return !e.store.Failed && e.plan != nil && e.fresh && e.store.Database == "" && !e.handOver && !e.byItself
}

// putOff says that the run ended because its executor asked to be called again later: no failure that anybody counts.
func (e *ending) putOff(ended *store.Ended) bool {
	return e.store.Retry == store.RetrySnoozed && ended.Status == "FAILED" && ended.RetryRunID != nil
}

// lighten takes out of an ending what the database may have refused it for: its result, or the successor that it asks
// for; false: neither was it.
func (e *ending) lighten(err error) bool {
	e.refusals++
	successor := e.store.Retry == store.RetryFailure || e.store.Retry == store.RetryStale || e.store.Retry == store.RetrySnoozed
	switch code := store.SQLState(err); {
	case e.refusals > 2:
		return false
	case successor && (e.refusals == 2 || code == "23505" || code[:2] == "RR" || code[:2] == "P0"):
		e.store.Retry = store.RetryNone
	default:
		e.store.Result = e.withoutOutput(err)
	}
	return true
}

// withoutOutput is what is stored instead of a result that the database refused: a failure keeps its code and detail, unless
// these were refused too; what is DONE has no code of a failure.
func (e *ending) withoutOutput(err error) json.RawMessage {
	why := "the result could not be stored: " + err.Error()
	if !e.store.Failed {
		return result("", why, nil)
	}
	var was struct{ Code, Detail string }
	if e.refusals > 1 || json.Unmarshal(e.store.Result, &was) != nil || was.Code == "" {
		return result(CodeError, why, nil)
	}
	return result(was.Code, cut(was.Detail, maxDetail/2)+" ("+why+")", nil)
}
