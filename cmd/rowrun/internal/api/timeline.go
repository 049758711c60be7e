package api

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/rowrun/rowrun/store"
)

// phase is a time that a run was in a status.
type phase struct {
	Phase string         `json:"phase"`
	At    store.Instant  `json:"at"`
	To    *store.Instant `json:"to"`
	// Cause is why it waited; nil: nothing of what it waited for is known, or there was nothing to wait for.
	Cause *string `json:"cause"`
	// RunID is the run whose end it waited for.
	RunID *string `json:"run_id"`
	// Maybe are the causes that may have held it, where none is known.
	Maybe []string `json:"maybe"`
}

// unseen is how long a wait may be without a cause: it is what a pass or a claim takes.
const unseen = 100 * time.Millisecond

// timeline reads for what a run has waited.
func (a *API) timeline(ctx context.Context, r *store.BoardRunDetails, held []waiting) ([]phase, error) {
	if r.Status == "PENDING" {
		return timelineOf(r, held, nil), nil
	}
	waits, err := a.store.BoardWaits(ctx, r.ID)
	return timelineOf(r, held, waits), err
}

// timelineOf says which statuses a run was in, and why it waited where that is known.
func timelineOf(r *store.BoardRunDetails, held []waiting, waits []store.Wait) []phase {
	first := func(times ...*store.Instant) *store.Instant {
		for _, at := range times {
			if at != nil {
				return at
			}
		}
		return nil
	}
	var now *string
	if len(held) > 0 {
		now = &held[0].Cause
	}
	var phases []phase
	if to := first(r.Available, r.StartedAt, r.EndedAt); to == nil {
		phases = append(phases, phase{Phase: "PENDING", At: r.CreatedAt, Cause: now, Maybe: []string{}})
	} else {
		phases = pastWaits(r, *to, waits)
	}
	if r.Available != nil {
		p := phase{Phase: "AVAILABLE", At: *r.Available, To: first(r.StartedAt, r.EndedAt), Maybe: []string{}}
		switch {
		case p.To == nil:
			p.Cause = now
		case p.To.Sub(p.At.Time) > unseen:
			p.Maybe = []string{"CAPACITY", "NO_REPLICA", "PAUSED"}
			if len(r.Limits) > 0 {
				p.Maybe = append(p.Maybe, "LIMIT", "RATE_LIMIT")
			}
		}
		phases = append(phases, p)
	}
	if r.StartedAt != nil {
		phases = append(phases, phase{Phase: "RUNNING", At: *r.StartedAt, To: r.EndedAt, Maybe: []string{}})
	}
	return phases
}

// pastWaits divides the time that a run was PENDING where what held it changed. Of several that held it at once that one is told
// which held it longest.
func pastWaits(r *store.BoardRunDetails, to store.Instant, waits []store.Wait) []phase {
	edges := []time.Time{r.CreatedAt.Time, to.Time}
	for i := range waits {
		edges = append(edges, waits[i].Since.Time, waits[i].Until.Time)
	}
	slices.SortFunc(edges, time.Time.Compare)
	var phases []phase
	for i, at := range edges[:len(edges)-1] {
		end := edges[i+1]
		if !end.After(at) {
			continue
		}
		p := phase{Phase: "PENDING", At: store.Instant{Time: at}, To: &store.Instant{Time: end}, Maybe: []string{}}
		for j := range waits { // in the order of their ends
			if w := &waits[j]; !w.Since.After(at) && !w.Until.Before(end) {
				p.Cause, p.RunID = &w.Cause, nil
				if w.RunID != nil {
					p.RunID = some(strconv.FormatInt(*w.RunID, 10))
				}
			}
		}
		phases = follow(phases, p)
	}
	for i := range phases {
		if p := &phases[i]; p.Cause == nil && r.Available != nil && p.To.Sub(p.At.Time) > unseen {
			p.Maybe = untold(r)
		}
	}
	if len(phases) == 0 { // it was AVAILABLE at once
		phases = append(phases, phase{Phase: "PENDING", At: r.CreatedAt, To: &to, Maybe: []string{}})
	}
	return phases
}

// follow has a phase follow others, as a part of the last where nothing else held the run, or nothing for longer than a pass takes.
func follow(phases []phase, p phase) []phase {
	if len(phases) == 0 {
		return append(phases, p)
	}
	last := &phases[len(phases)-1]
	if text(last.Cause) == text(p.Cause) && text(last.RunID) == text(p.RunID) || p.Cause == nil && p.To.Sub(p.At.Time) <= unseen {
		last.To = p.To
		return phases
	}
	return append(phases, p)
}

// untold are the causes that leave no trace in the rows and may have held a run.
func untold(r *store.BoardRunDetails) []string {
	var all []string
	if r.DatabaseID != nil {
		all = append(all, "DATABASE_BUSY")
	}
	if r.DatabaseID != nil && r.Version != nil {
		all = append(all, "VERSION")
	}
	if r.Terms.ParallelLimit != nil {
		all = append(all, "PLAN_LIMIT")
	}
	if len(r.Limits) > 0 {
		all = append(all, "LIMIT", "RATE_LIMIT")
	}
	if r.Terms.Dependencies > 0 || r.Terms.Jobs > 0 {
		all = append(all, "DEPENDENCY")
	}
	all = append(all, "PAUSED")
	if r.PlanID != nil {
		all = append(all, "PLAN_FAILED")
	}
	if r.DatabaseID != nil || r.Terms.ParallelLimit != nil || len(r.Limits) > 0 {
		all = append(all, "NO_REPLICA")
	}
	return all
}
