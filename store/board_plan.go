package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// BoardCounts are a plan's tasks by status, in the order of display.
type BoardCounts struct {
	NotStarted int64 `json:"NOT_STARTED"`
	Pending    int64 `json:"PENDING"`
	Available  int64 `json:"AVAILABLE"`
	Running    int64 `json:"RUNNING"`
	Done       int64 `json:"DONE"`
	Skipped    int64 `json:"SKIPPED"`
	Failed     int64 `json:"FAILED"`
	Canceled   int64 `json:"CANCELED"`
}

// BoardPlan is a plan in a list.
type BoardPlan struct {
	ID          int64       `json:"id,string"`
	Project     string      `json:"project"`
	Name        string      `json:"name"`
	Status      string      `json:"status"`
	Paused      bool        `json:"paused"`
	OnFailure   string      `json:"on_failure"`
	Round       int         `json:"round"`
	MaxParallel *int        `json:"max_parallel"` // nil: no limit
	Tasks       int64       `json:"tasks"`
	Counts      BoardCounts `json:"counts"`
	// Attention counts the tasks that somebody should look at: FAILED for good, CANCELED, those that no live replica could run.
	Attention int64    `json:"attention"`
	CreatedAt Instant  `json:"created_at"`
	StartedAt *Instant `json:"started_at"` // nil in lists
	EndedAt   *Instant `json:"ended_at"`   // nil in lists
}

// PlanSearch is a filter of plans; what is left empty holds for all.
type PlanSearch struct {
	Statuses []string
	Name     string // a part of it
	Project  string
}

// PlanWords is a filter of plans to act on, as rowrun.find_plans takes it; what is left empty holds for all.
type PlanWords struct {
	Statuses []string `json:"statuses,omitempty"`
	Name     string   `json:"q,omitempty"` // a part of it
	Project  string   `json:"project,omitempty"`
	Paused   *bool    `json:"paused,omitempty"`
	Having   []string `json:"having,omitempty"` // it has a task in one of these statuses
}

// How many plans one page looks at: the status of each is counted from its tasks.
const (
	planLook   = 5000
	statusLook = 200
)

// SearchPlans reads a page of plans, the newest first.
func (s *Store) SearchPlans(ctx context.Context, f PlanSearch, p Page) (Found[BoardPlan], error) {
	_, highest := p.bounds()
	look := planLook
	if len(f.Statuses) > 0 {
		look = statusLook
	}
	plans, err := collectPlanned(ctx, s, "search plans", statement("board_plans"), scanBoardPlan, list(f.Statuses), f.Name, f.Project, highest, p.Limit, look)
	if err != nil {
		return Found[BoardPlan]{}, err
	}
	found := Found[BoardPlan]{Items: append([]BoardPlan{}, plans...)}
	if len(plans) == p.Limit {
		found.Next = plans[p.Limit-1].ID
		return found, nil
	}
	var at Instant
	err = s.pool.QueryRow(ctx, statement("board_plans_edge"), highest, look).Scan(&found.Next, &at)
	if errors.Is(err, pgx.ErrNoRows) {
		return found, nil
	}
	if err != nil {
		return Found[BoardPlan]{}, fmt.Errorf("search plans: %w", err)
	}
	found.SearchedTo = &at
	return found, nil
}

func scanBoardPlan(row pgx.CollectableRow) (BoardPlan, error) {
	var p BoardPlan
	c := &p.Counts
	err := row.Scan(&p.ID, &p.Project, &p.Name, &p.Status, &p.Paused, &p.OnFailure, &p.Round, &p.MaxParallel, &p.Tasks,
		&c.NotStarted, &c.Pending, &c.Available, &c.Running, &c.Done, &c.Skipped, &c.Failed, &c.Canceled, &p.Attention, &p.CreatedAt)
	return p, err
}

// FindBoardPlan reads one plan. ErrNotFound: there is none of that id.
func (s *Store) FindBoardPlan(ctx context.Context, id int64) (BoardPlan, error) {
	return find(ctx, s, "plan", statement("board_plan"), scanBoardPlan, id)
}

// BoardAnnouncement is that of a plan's current round.
type BoardAnnouncement struct {
	EventType  string  `json:"event_type"`
	Round      int     `json:"round"`
	RetryCount int     `json:"retry_count"`
	At         Instant `json:"at"`
}

// BoardAnnouncement reads the announcement of a plan's current round; nil: there is none.
func (s *Store) BoardAnnouncement(ctx context.Context, plan int64) (*BoardAnnouncement, error) {
	found, err := collect(ctx, s, "read announcement", statement("board_announcement"), pgx.RowToStructByPos[BoardAnnouncement], plan)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// GridTask is a task of a plan with how its newest run stands.
type GridTask struct {
	ID         int64
	Name       string
	Type       string
	DatabaseID string // "": none
	Version    string // "": none
	VersionKey string
	Status     string
	Paused     bool
	RunID      int64 // 0: none
	Attempt    int
	StartedAt  *time.Time
	EndedAt    *time.Time
	Since      *time.Time // its last transition
	Cause      string     // of a PENDING run; "": none
	Code       string
	Error      string // of FAILED, as rowrun.normal_error makes it
	Now        time.Time
}

// MaxGrid is how many tasks of a plan are shown.
const MaxGrid = 20000

// Grid reads the tasks of a plan by id, at most MaxGrid and one more.
func (s *Store) Grid(ctx context.Context, plan int64) ([]GridTask, error) {
	return collect(ctx, s, "read tasks of plan", statement("board_grid"), pgx.RowToStructByPos[GridTask], plan, MaxGrid+1)
}

// Edge is a dependency.
type Edge struct{ TaskID, DependsOn int64 }

// Edges reads the dependencies of a plan, or those from and to one of its tasks (0: of all), at most limit.
func (s *Store) Edges(ctx context.Context, plan, task int64, limit int) ([]Edge, error) {
	return collectPlanned(ctx, s, "read dependencies", statement("board_edges"), pgx.RowToStructByPos[Edge], plan, task, limit)
}

// RunMoments are the moments of a run's transitions.
type RunMoments struct {
	RunID     int64
	TaskID    int64
	Attempt   int
	Created   time.Time
	Available *time.Time
	Started   *time.Time
	Ended     *time.Time
	Status    string
}

// PlanMoments reads when the runs of a plan's tasks came and went, by their ids behind one.
func (s *Store) PlanMoments(ctx context.Context, plan, after int64, limit int) ([]RunMoments, error) {
	return collect(ctx, s, "read transitions of plan", statement("board_moments"), pgx.RowToStructByPos[RunMoments], plan, after, limit)
}
