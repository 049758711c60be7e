package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// lockFreeClaims locks what workers hold of runs, and says which of the runs no worker is just prolonging or ending. It comes
// before the locks of plans, as a worker's own statements take them in this order.
func lockFreeClaims(ctx context.Context, tx pgx.Tx, runs []int64) ([]int64, error) {
	rows, err := tx.Query(ctx, statement("lock_free_claims"), runs)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}

// removeEndedClaims forgets what workers held of runs that have just ended.
func removeEndedClaims(ctx context.Context, tx pgx.Tx, ended []Ended) error {
	ids := make([]int64, len(ended))
	for i, e := range ended {
		ids[i] = e.ID
	}
	_, err := tx.Exec(ctx, statement("remove_ended_claims"), ids)
	return err
}

// RemoveOldWorkerRequests removes the requests of workers that nobody sends again.
func (s *Store) RemoveOldWorkerRequests(ctx context.Context) error {
	const some = 5000
	for gone := int64(some); gone >= some; {
		if err := s.pool.QueryRow(ctx, statement("remove_old_worker_requests"), some).Scan(&gone); err != nil {
			return fmt.Errorf("remove old requests of workers: %w", err)
		}
	}
	return nil
}

// WorkerClaim is what a worker asks for: see rowrun.claim_runs.
type WorkerClaim struct {
	RequestID string
	Worker    string
	Types     []string
	Max       int
	Lease     *string // as PostgreSQL reads an interval; nil: the default
}

// ClaimForWorker claims AVAILABLE runs for a worker. The answer, here and below, is JSON as it is sent to the worker. rests: it is
// given nothing whatever there is, because it is paused or drains, or sends a request again whose runs have ended.
func (s *Store) ClaimForWorker(ctx context.Context, c WorkerClaim) (answer json.RawMessage, rests bool, err error) {
	err = s.claimFitting(ctx, &c, func(most int) error {
		return s.pool.QueryRow(ctx, statement("worker_claim"), c.request(), c.Worker, c.Types, most, c.Lease).Scan((*[]byte)(&answer), &rests) // as json.RawMessage it would be parsed
	})
	if err != nil {
		return nil, false, fmt.Errorf("claim for a worker: %w", err)
	}
	return answer, rests, nil
}

// claimFitting claims no more runs at once than PostgreSQL can hold: an array of JSON has at most 256 MiB, and each run may bring some.
// Nothing was claimed where it was too much, or took too long. How many fit is remembered: a try may take most of the time that a request has.
func (s *Store) claimFitting(ctx context.Context, c *WorkerClaim, claim func(most int) error) error {
	for {
		limit := s.workerSize.Most(fullBatch)
		most := min(c.Max, limit)
		err := claim(most)
		tooMuch := tookTooMuch(err)
		told := TookTooLong(err) || tooMuch || err == nil && most == limit
		smaller := told && s.workerSize.Done(most, err)
		for tooMuch && smaller && s.workerSize.Most(fullBatch) >= most { // the same would be too much again
			smaller = s.workerSize.Done(most, err)
		}
		if !smaller || ctx.Err() != nil { // the caller has no time for another try
			return err
		}
	}
}

// request is its id, NULL where there is none.
func (c *WorkerClaim) request() *string {
	if c.RequestID == "" {
		return nil
	}
	return &c.RequestID
}

// HeartbeatForWorker prolongs a worker's claims.
func (s *Store) HeartbeatForWorker(ctx context.Context, worker string, claims []string) (json.RawMessage, error) {
	return s.askForWorker(ctx, "heartbeat of a worker", statement("worker_heartbeat"), worker, claims)
}

// FinishForWorker records a worker's results, and claims what comes next where that is asked for.
func (s *Store) FinishForWorker(ctx context.Context, results json.RawMessage, next WorkerClaim) (answer json.RawMessage, err error) {
	err = s.claimFitting(ctx, &next, func(most int) error {
		answer, err = s.askForWorker(ctx, "finish for a worker", statement("worker_finish"), next.request(), next.Worker, results, next.Types, most, next.Lease)
		return err
	})
	return answer, err
}

// ReleaseForWorker gives a worker's runs back.
func (s *Store) ReleaseForWorker(ctx context.Context, claims []string) (json.RawMessage, error) {
	return s.askForWorker(ctx, "release for a worker", statement("worker_release"), claims)
}

func (s *Store) askForWorker(ctx context.Context, what, statement string, args ...any) (answer json.RawMessage, err error) {
	if err := s.pool.QueryRow(ctx, statement, args...).Scan((*[]byte)(&answer)); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return answer, nil
}
