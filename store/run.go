package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// Run is a run as people are shown it. What has not come yet is nil.
type Run struct {
	ID          int64      `json:"run_id"`
	RootID      int64      `json:"root_id"`
	TaskID      int64      `json:"task_id"`
	TaskName    string     `json:"task"`
	Type        string     `json:"type"`
	Queue       string     `json:"queue"`
	PlanID      *int64     `json:"plan_id"`
	DatabaseID  *string    `json:"database_id"`
	Version     *string    `json:"version"`
	Attempt     int        `json:"attempt"` // 0 for the first
	RetryOf     *int64     `json:"retry_of"`
	RetryRunID  *int64     `json:"retry_run_id"` // the run that follows this one
	Status      string     `json:"status"`
	RunAt       time.Time  `json:"run_at"`
	ReplicaID   *string    `json:"replica_id"`
	CreatedAt   time.Time  `json:"created_at"`
	AvailableAt *time.Time `json:"available_at"`
	StartedAt   *time.Time `json:"started_at"`
	FinishedAt  *time.Time `json:"finished_at"`
	UpdatedAt   time.Time  `json:"updated_at"`
	Code        *string    `json:"code"`
	Detail      *string    `json:"detail"` // at most 4,096 characters; whole in the result
}

// Ended says that the status is final.
func (r Run) Ended() bool {
	return r.Status == "DONE" || r.Status == "FAILED" || r.Status == "CANCELED"
}

// RunDetails is a run with its documents, and with what only a close look asks for.
type RunDetails struct {
	Run
	Priority          int             `json:"priority"`
	IdempotencyKey    *string         `json:"idempotency_key"`
	Creator           string          `json:"creator"`
	Deadline          *time.Time      `json:"deadline"`
	CancelRequestedAt *time.Time      `json:"cancel_requested_at"`
	CancelReason      *string         `json:"cancel_reason"`
	Input             json.RawMessage `json:"input"`
	Progress          json.RawMessage `json:"progress"`
	ProgressAt        *time.Time      `json:"progress_at"`
	Result            json.RawMessage `json:"result"`
}

// FindRun reads one run. ErrNotFound: there is none of that id.
func (s *Store) FindRun(ctx context.Context, id int64) (RunDetails, error) {
	return find(ctx, s, "run", statement("find_run"), pgx.RowToStructByName[RunDetails], id)
}

// LastRun reads the last run of the chain that a run belongs to; while it has not ended or has no successor, how it
// stands is how the job stands. ErrNotFound: there is no run of that id.
func (s *Store) LastRun(ctx context.Context, id int64) (Run, error) {
	return find(ctx, s, "run", statement("last_run"), pgx.RowToStructByName[Run], id)
}

// maxChain is how many runs of a chain are shown: its last ones.
const maxChain = 1000

// Chain reads the runs of the chain that a run belongs to, first to last, at most the last 1,000. Of a plan's task
// earlier ones may have been removed.
func (s *Store) Chain(ctx context.Context, id int64) ([]Run, error) {
	rows, err := s.pool.Query(ctx, statement("chain"), id, maxChain)
	if err != nil {
		return nil, fmt.Errorf("read chain: %w", err)
	}
	chain, err := pgx.CollectRows(rows, pgx.RowToStructByName[Run])
	if err != nil {
		return nil, fmt.Errorf("read chain: %w", err)
	}
	slices.Reverse(chain)
	return chain, nil
}

// LogEntry is a row of task_run_log.
type LogEntry struct {
	ID        int64           `json:"id"`
	CreatedAt time.Time       `json:"created_at"`
	ReplicaID *string         `json:"replica_id"`
	Type      string          `json:"type"`
	Detail    json.RawMessage `json:"detail"`
	// EndOfCut: Detail is the beginning of a longer one, no JSON, and this its end.
	EndOfCut *string `json:"-"`
}

// RunLog reads what executors wrote about a run, in order, at most limit rows. more: there are further ones. ends: how
// many characters of the beginning and of the end of a detail are enough for the caller; 0: all of it.
func (s *Store) RunLog(ctx context.Context, id int64, limit, ends int) (entries []LogEntry, more bool, err error) {
	var enough *int
	if ends > 0 {
		enough = &ends
	}
	entries, err = collect(ctx, s, "read run log", statement("run_log"), pgx.RowToStructByName[LogEntry], id, limit+1, enough)
	if len(entries) > limit {
		return entries[:limit], true, err
	}
	return entries, false, err
}

// Cause is one reason why a run is not running.
type Cause struct {
	RunID   int64           `json:"run_id"`
	Cause   string          `json:"cause"`
	Message string          `json:"message"`
	Detail  json.RawMessage `json:"detail"`
}

// Waiting tells why a run is not running: all causes that hold. None: nothing holds it, or it doesn't wait.
func (s *Store) Waiting(ctx context.Context, id int64) ([]Cause, error) {
	return collect(ctx, s, "ask what a run waits for", statement("waiting"), pgx.RowToStructByName[Cause], id)
}

// RetryRun makes a successor of a FAILED or CANCELED run; its id, or that of the successor that it has.
func (s *Store) RetryRun(ctx context.Context, id int64) (int64, error) {
	var made int64
	if err := s.pool.QueryRow(ctx, statement("retry_run"), id).Scan(&made); err != nil {
		return 0, fmt.Errorf("retry run: %w", err)
	}
	return made, nil
}

// CancelRun cancels the last run of a chain, or asks for it where it is RUNNING; the status after it. An empty reason
// is none.
func (s *Store) CancelRun(ctx context.Context, id int64, reason string) (string, error) {
	var status string
	if err := s.pool.QueryRow(ctx, statement("cancel_run"), id, reason).Scan(&status); err != nil {
		return "", fmt.Errorf("cancel run: %w", err)
	}
	return status, nil
}
