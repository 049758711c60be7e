package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// What the dashboard reads begins with Board. Its ids are texts in JSON: 64 bits are more than a browser's numbers hold.

// BoardRun is a run in a list.
type BoardRun struct {
	ID         int64    `json:"id,string"`
	RootID     int64    `json:"root_id,string"`
	Attempt    int      `json:"attempt"` // 0 for the first
	RetryOf    *int64   `json:"retry_of,string"`
	RetryRunID *int64   `json:"retry_run_id,string"`
	TaskID     int64    `json:"task_id,string"`
	Task       string   `json:"task"`
	Type       string   `json:"type"`
	PlanID     *int64   `json:"plan_id,string"`
	Plan       *string  `json:"plan"`
	Queue      string   `json:"queue"`
	DatabaseID *string  `json:"database_id"`
	Version    *string  `json:"version"`
	Status     string   `json:"status"`
	Priority   int      `json:"priority"`
	RunAt      Instant  `json:"run_at"`
	CreatedAt  Instant  `json:"created_at"`
	Available  *Instant `json:"available_at"`
	StartedAt  *Instant `json:"started_at"`
	EndedAt    *Instant `json:"ended_at"`
	ReplicaID  *string  `json:"replica_id"`
	Code       *string  `json:"code"`
	Detail     *string  `json:"detail"` // at most 300 characters
	// Progress is nil where there is none, or where it is more than a list shows.
	Progress        json.RawMessage `json:"progress"`
	CancelRequested bool            `json:"cancel_requested"`
	// Cause is what the last judgement of a PENDING run found: RUN_AT, DATABASE, PLAN, DEPENDENCY, PAUSED, PLAN_FAILED, NO_REPLICA.
	Cause *string `json:"cause"`
}

// RunSearch is a filter of runs, as rowrun.find_runs takes it; what is left empty holds for all.
type RunSearch struct {
	Statuses   []string   `json:"statuses,omitempty"`
	Type       string     `json:"type,omitempty"`
	Queue      string     `json:"queue,omitempty"`
	DatabaseID string     `json:"database_id,omitempty"`
	PlanID     int64      `json:"plan_id,omitempty"`
	TaskIDs    []string   `json:"task_ids,omitempty"`
	ActID      int64      `json:"act_id,omitempty"` // that made or ended them
	Text       string     `json:"text,omitempty"`   // a part of the failure's text, or its code
	Error      string     `json:"error,omitempty"`  // a failure's text as rowrun.normal_error makes it
	Since      *time.Time `json:"since,omitempty"`
	Until      *time.Time `json:"until,omitempty"`
	Failed     bool       `json:"failed,omitempty"`    // FAILED for good
	Unretried  bool       `json:"unretried,omitempty"` // the last of their chains
}

// Page says where a list goes on.
type Page struct {
	Limit int
	// After is the id behind which to go on; 0: at the beginning.
	After int64
	// Oldest: from the oldest on, otherwise from the newest.
	Oldest bool
}

// bounds are the ids between which a page lies: above the first, up to the second.
func (p Page) bounds() (lowest, highest int64) {
	const most = 1<<63 - 1
	switch {
	case p.Oldest:
		return p.After, most
	case p.After == 0:
		return 0, most
	}
	return 0, p.After - 1
}

// Found is a page of a list.
type Found[T any] struct {
	Items []T
	// Next is the id behind which the next page lies; 0: this was the last.
	Next int64
	// SearchedTo is how far a page has looked that ended at its bound; nil: it didn't.
	SearchedTo *Instant
}

// boardLook is how many rows one page looks at at most.
const boardLook = 20000

// SearchRuns reads a page of runs. However many there are, it looks at no more than 20,000 for one page.
func (s *Store) SearchRuns(ctx context.Context, f RunSearch, p Page) (Found[BoardRun], error) {
	return search(ctx, s, "search runs", statement("board_find_runs"), statement("board_runs"), pgx.RowToStructByPos[BoardRun], f, p, boardLook,
		func(r BoardRun) int64 { return r.ID })
}

// search finds the ids of a page and reads their rows.
func search[T any](ctx context.Context, s *Store, what, find, read string, to pgx.RowToFunc[T], f any, p Page, look int, id func(T) int64) (Found[T], error) {
	filter, err := json.Marshal(f)
	if err != nil {
		return Found[T]{}, fmt.Errorf("%s: %w", what, err)
	}
	lowest, highest := p.bounds()
	var ids []int64
	var reached int64
	var over bool
	var at *Instant
	if err := s.pool.QueryRow(ctx, find, string(filter), !p.Oldest, lowest, highest, p.Limit, look).Scan(&ids, &reached, &over, &at); err != nil {
		return Found[T]{}, fmt.Errorf("%s: %w", what, err)
	}
	found := Found[T]{Items: []T{}}
	if !over {
		found.Next = reached
		if len(ids) < p.Limit {
			found.SearchedTo = at
		}
	}
	if len(ids) == 0 {
		return found, nil
	}
	items, err := collect(ctx, s, what, read, to, ids)
	if err != nil {
		return Found[T]{}, err
	}
	place := make(map[int64]int, len(ids))
	for i, one := range ids {
		place[one] = i
	}
	slices.SortFunc(items, func(a, b T) int { return place[id(a)] - place[id(b)] })
	found.Items = append(found.Items, items...)
	return found, nil
}

// FailedAfter is where a list of failed runs goes on.
type FailedAfter struct {
	Micros int64 // of the end, since 1970
	ID     int64
}

// FailedRuns reads runs that failed for good, the last to fail first, and where to go on; nil: that was the last page.
func (s *Store) FailedRuns(ctx context.Context, f RunSearch, after *FailedAfter, limit int) ([]BoardRun, *FailedAfter, *Instant, error) {
	filter, err := json.Marshal(f)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("list failed runs: %w", err)
	}
	var micros, id *int64
	if after != nil {
		micros, id = &after.Micros, &after.ID
	}
	runs, err := collectPlanned(ctx, s, "list failed runs", statement("board_failed_runs"), pgx.RowToStructByPos[BoardRun], string(filter), micros, id, limit, boardLook)
	if err != nil {
		return nil, nil, nil, err
	}
	if len(runs) == limit {
		last := runs[limit-1]
		return runs, &FailedAfter{last.EndedAt.UnixMicro(), last.ID}, nil, nil
	}
	var next FailedAfter
	var at Instant
	err = s.pool.QueryRow(ctx, statement("board_failed_edge"), micros, id, boardLook).Scan(&next.Micros, &next.ID, &at)
	if errors.Is(err, pgx.ErrNoRows) {
		return runs, nil, nil, nil
	}
	if err != nil {
		return nil, nil, nil, fmt.Errorf("list failed runs: %w", err)
	}
	return runs, &next, &at, nil
}

// BoardRunDetails is a run with its documents.
type BoardRunDetails struct {
	BoardRun
	IdempotencyKey    *string         `json:"idempotency_key"`
	Creator           string          `json:"creator"`
	Deadline          *Instant        `json:"deadline"`
	CancelRequestedAt *Instant        `json:"cancel_requested_at"`
	CancelReason      *string         `json:"cancel_reason"`
	ProgressAt        *Instant        `json:"progress_at"`
	Payload           json.RawMessage `json:"payload"` // the task's
	Input             json.RawMessage `json:"input"`
	Result            json.RawMessage `json:"result"`
	Terms             RunTerms        `json:"-"`
	WholeDetail       *string         `json:"-"`
	Limits            []string        `json:"limits"` // that apply to it, by name
	After             []string        `json:"after"`  // runs whose jobs must be DONE first
}

// RunTerms are what the gates of a run ask, besides what stands in its row.
type RunTerms struct {
	Sequential    bool
	TaskPaused    bool
	TaskSkipped   bool
	PlanPaused    *bool
	ParallelLimit *int
	OnFailure     *string
	Dependencies  int
	Jobs          int  // that it comes after
	Newest        bool // of its task, or its chain's last where there is no plan
}

// FindBoardRun reads one run. ErrNotFound: there is none of that id.
func (s *Store) FindBoardRun(ctx context.Context, id int64) (BoardRunDetails, error) {
	return find(ctx, s, "run", statement("board_run"), scanRunDetails, id)
}

func scanRunDetails(row pgx.CollectableRow) (BoardRunDetails, error) {
	var d BoardRunDetails
	r, t := &d.BoardRun, &d.Terms
	err := row.Scan(&r.ID, &r.RootID, &r.Attempt, &r.RetryOf, &r.RetryRunID, &r.TaskID, &r.Task, &r.Type, &r.PlanID, &r.Plan, &r.Queue,
		&r.DatabaseID, &r.Version, &r.Status, &r.Priority, &r.RunAt, &r.CreatedAt, &r.Available, &r.StartedAt, &r.EndedAt, &r.ReplicaID,
		&r.Code, &r.Detail, &r.Progress, &r.CancelRequested, &r.Cause,
		&d.IdempotencyKey, &d.Creator, &d.Deadline, &d.CancelRequestedAt, &d.CancelReason, &d.ProgressAt, &d.Payload, &d.Input, &d.Result,
		&t.Sequential, &t.TaskPaused, &t.TaskSkipped, &t.PlanPaused, &t.ParallelLimit, &t.OnFailure, &t.Dependencies, &t.Jobs, &t.Newest, &d.WholeDetail, &d.Limits, &d.After)
	return d, err
}

// BoardChain reads the runs of the chain that a run belongs to, first to last, at most the last 200.
func (s *Store) BoardChain(ctx context.Context, id int64) ([]BoardRun, error) {
	chain, err := collect(ctx, s, "read chain", statement("board_chain"), pgx.RowToStructByPos[BoardRun], id)
	slices.Reverse(chain)
	return chain, err
}

// BoardLogEntry is a row of a run's log.
type BoardLogEntry struct {
	ID        int64           `json:"id,string"`
	At        Instant         `json:"at"`
	ReplicaID *string         `json:"replica_id"`
	Type      string          `json:"type"`
	Detail    json.RawMessage `json:"detail"`
}

// BoardLog reads what executors wrote about a run behind an entry, the oldest first.
func (s *Store) BoardLog(ctx context.Context, run, after int64, limit int) ([]BoardLogEntry, error) {
	return collect(ctx, s, "read run log", statement("board_log"), pgx.RowToStructByPos[BoardLogEntry], run, after, limit)
}

// NamedTasks gives the ids of the tasks of that id or name, at most 1,000.
func (s *Store) NamedTasks(ctx context.Context, task string) ([]int64, error) {
	ids, _, err := s.findTasks(ctx, task)
	if errors.Is(err, ErrNoTask) {
		return nil, nil
	}
	return ids[:min(len(ids), 1000)], err
}
