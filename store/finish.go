package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Retry says whether a failure may get a successor.
type Retry string

// What may follow a failure.
const (
	RetryNone    Retry = "NONE"    // nothing
	RetryFailure Retry = "FAILURE" // a retry, while max_attempts lasts
	RetryStale   Retry = "STALE"   // a recovery, where the task's on_stale says so
)

// Ending is how a RUNNING run ends. One of which a cancel was asked for ends CANCELED instead of FAILED.
type Ending struct {
	ID    int64
	Claim string // "" asks for none: only where the holder is known to be gone
	// PlanTask is the task of a run that belongs to a plan, 0 for one that doesn't.
	PlanTask int64
	// Failed ends it FAILED with Result's code and detail, otherwise it is DONE.
	Failed bool
	Result json.RawMessage // a JSON object
	Retry  Retry
}

// Ended is what was recorded.
type Ended struct {
	ID         int64
	Status     string
	RetryRunID *int64
}

const endRuns = `-- end_runs
SELECT run_id, status, retry_run_id FROM rowrun.end_runs($1, $2, $3, $4, $5, $6)`

// EndRuns ends runs in one transaction. Runs that are missing in the answer had ended or belong to somebody else by
// now; nothing was written for them. A row that somebody holds for longer than lockTimeout costs the batch: SQLSTATE
// 55P03, nothing is recorded, and the caller tries again in smaller parts. lockTimeout 0: no limit of its own. The
// slice is put in the order of ids.
func (s *Store) EndRuns(ctx context.Context, endings []Ending, lockTimeout time.Duration) ([]Ended, error) {
	return endRunsOn(ctx, s.ends, endings, lockTimeout)
}

// EndHeldRuns is EndRuns for endings that wait behind somebody's lock: on another connection, so that others don't.
func (s *Store) EndHeldRuns(ctx context.Context, endings []Ending, lockTimeout time.Duration) ([]Ended, error) {
	return endRunsOn(ctx, s.pool, endings, lockTimeout)
}

func endRunsOn(ctx context.Context, pool *pgxpool.Pool, endings []Ending, lockTimeout time.Duration) ([]Ended, error) {
	slices.SortFunc(endings, func(a, b Ending) int { return cmp.Compare(a.ID, b.ID) })
	planTasks := []int64{}
	ids := make([]int64, len(endings))
	claims := make([]*string, len(endings))
	statuses := make([]string, len(endings))
	results := make([]string, len(endings))
	retries := make([]string, len(endings))
	for i, e := range endings {
		ids[i] = e.ID
		if e.PlanTask != 0 {
			planTasks = append(planTasks, e.PlanTask)
		}
		if e.Claim != "" {
			claims[i] = &endings[i].Claim
		}
		statuses[i] = "DONE"
		if e.Failed {
			statuses[i] = "FAILED"
		}
		results[i] = "{}"
		if len(e.Result) > 0 {
			results[i] = string(e.Result)
		}
		retries[i] = string(RetryNone)
		if e.Retry != "" {
			retries[i] = string(e.Retry)
		}
	}
	var ended []Ended
	b := &pgx.Batch{}
	if lockTimeout > 0 {
		b.Queue(`SELECT set_config('lock_timeout', $1, true)`, fmt.Sprintf("%dms", lockTimeout.Milliseconds()))
	}
	b.Queue(endRuns, ids, claims, statuses, results, retries, planTasks).Query(func(rows pgx.Rows) error {
		var err error
		ended, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Ended])
		return err
	})
	if err := pool.SendBatch(ctx, b).Close(); err != nil {
		return nil, fmt.Errorf("end runs: %w", err)
	}
	return ended, nil
}

// HandOver leaves a RUNNING run to the app: no replica holds it any more. False: it had ended or belongs to somebody
// else.
func (s *Store) HandOver(ctx context.Context, id int64, claim string) (bool, error) {
	const q = `-- hand_over_run
UPDATE rowrun.task_run SET replica_id = NULL
WHERE id = $1 AND status = 'RUNNING' AND claim_hash = sha256(uuid_send($2::uuid)) AND cancel_requested_at IS NULL`
	tag, err := s.pool.Exec(ctx, q, id, claim)
	if err != nil {
		return false, fmt.Errorf("hand over run: %w", err)
	}
	return tag.RowsAffected() == 1, nil
}

// ReportProgress stores what an executor reports. False: the run had ended or belongs to somebody else.
func (s *Store) ReportProgress(ctx context.Context, id int64, claim string, progress json.RawMessage) (bool, error) {
	const q = `-- report_progress
UPDATE rowrun.task_run SET progress = $3, progress_at = clock_timestamp()
WHERE id = $1 AND status = 'RUNNING' AND claim_hash = sha256(uuid_send($2::uuid))`
	tag, err := s.pool.Exec(ctx, q, id, claim, string(progress))
	if err != nil {
		return false, fmt.Errorf("report progress: %w", err)
	}
	return tag.RowsAffected() == 1, nil
}

// AppendLog adds a row to a run's log. detail is JSON of at most 1 MiB.
func (s *Store) AppendLog(ctx context.Context, id int64, replicaID, kind string, detail json.RawMessage) error {
	const q = `-- append_log
INSERT INTO rowrun.task_run_log (task_run_id, replica_id, type, detail) VALUES ($1, $2, $3, $4)`
	if _, err := s.pool.Exec(ctx, q, id, replicaID, kind, string(detail)); err != nil {
		return fmt.Errorf("append to run log: %w", err)
	}
	return nil
}
