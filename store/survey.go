package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Survey is one look at everything that a sweep may find, so that an idle replica needs no other.
type Survey struct {
	// Work: a whole pass (PromoteSweep) may find something to promote, to claim or to announce.
	Work bool
	// NextDue is when the next PENDING run is due, 0: none is known.
	NextDue time.Duration
	// Owned are the RUNNING runs under the replica's name.
	Owned []int64
	// Overdue: EndOverdue would find a run, as far as nobody holds it.
	Overdue bool
	// Deliveries: a webhook delivery is due, or being tried.
	Deliveries bool
	// Notes: there is something that the stream has not said.
	Notes bool
	// Aging: a run has waited so long that AgeRuns would raise its priority.
	Aging bool
	// Rules is another text whenever what ClaimRules reads is other.
	Rules string
	// NotifyQueue is how full the server's notification queue is, 0 to 1. Reading it also frees a queue that got stuck.
	NotifyQueue float64
	// Peers is how many live replicas hear notifications, can do all that this one can (its queues, types, databases, commands) and had a free
	// slot by their last heartbeat; this one may be among them. At most 1,000 are counted.
	Peers int
	// Now is the database's clock.
	Now time.Time
	// HoldUps are sessions that hold locks which something of ours goes without, where that was asked.
	HoldUps []HoldUp
}

// SurveyDepth is how much of a survey is asked for.
type SurveyDepth int

const (
	// SurveyAll is everything. What it costs grows with the sessions of the server, as HoldUps are among it.
	SurveyAll SurveyDepth = iota
	// SurveyWork is all but HoldUps.
	SurveyWork
	// SurveyOwn is what no other replica finds for this one: Work is that a run is due; Overdue and Aging are false, whatever there is to do.
	SurveyOwn
)

// Survey looks once at what the sweeps of a replica are for. ErrDead: the replica may not claim any more.
func (s *Store) Survey(ctx context.Context, replicaID string, w Capabilities, depth SurveyDepth) (Survey, error) {
	var v Survey
	var alive bool
	var next *float64
	var batch pgx.Batch
	if depth == SurveyOwn {
		batch.Queue(statement("survey_own"), replicaID, list(w.Queues), list(w.Types)).QueryRow(func(row pgx.Row) error {
			return row.Scan(&alive, &v.Work, &next, &v.Owned, &v.Deliveries, &v.Notes, &v.Rules, &v.NotifyQueue, &v.Peers, &v.Now)
		})
	} else {
		batch.Queue(statement("survey"), replicaID, list(w.Queues), list(w.Types)).QueryRow(func(row pgx.Row) error {
			var limited bool
			err := row.Scan(&alive, &v.Work, &next, &v.Owned, &v.Overdue, &v.Deliveries, &v.Notes, &v.Aging, &v.Rules, &v.NotifyQueue, &limited, &v.Peers, &v.Now)
			if err == nil {
				s.limited.Store(limited)
			}
			return err
		})
	}
	if depth == SurveyAll {
		// A statement of its own: as a part of the survey's it would be prepared for each execution, asked for or not.
		batch.Queue(statement("hold_ups")).Query(func(rows pgx.Rows) (err error) {
			v.HoldUps, err = pgx.AppendRows(v.HoldUps, rows, pgx.RowToStructByPos[HoldUp])
			return err
		})
	}
	err := s.passes.SendBatch(ctx, &batch).Close()
	if err != nil {
		return Survey{}, fmt.Errorf("survey: %w", err)
	}
	if !alive {
		return Survey{}, ErrDead
	}
	if next != nil {
		v.NextDue = max(time.Duration(min(*next, 1e9)*float64(time.Millisecond)), time.Microsecond)
	}
	return v, nil
}
