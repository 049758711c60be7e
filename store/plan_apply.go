package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/jackc/pgx/v5"
)

// WantedTask is a task of a plan as a file wants it; nil is the column's default. Times are seconds.
type WantedTask struct {
	Name            string          `json:"name"`
	Type            string          `json:"type"`
	Queue           *string         `json:"queue"`
	DatabaseID      *string         `json:"database_id"`
	Version         *string         `json:"version"`
	Sequential      *bool           `json:"sequential"`
	Payload         json.RawMessage `json:"payload"`
	Priority        *int            `json:"priority"`
	Timeout         *float64        `json:"timeout"`
	ProgressTimeout *float64        `json:"progress_timeout"`
	MaxAttempts     *int            `json:"max_attempts"`
	RetryDelay      *float64        `json:"retry_delay"`
	OnStale         *string         `json:"on_stale"`
	DependsOn       []string        `json:"depends_on"` // names of tasks of the plan
	Labels          map[string]any  `json:"labels"`
	// What isn't there is left out, so that the hash of a task which says none of these is what it was before there were any.
	Aging             *float64          `json:"aging,omitempty"`
	Retention         *float64          `json:"retention,omitempty"`
	RetentionByStatus map[string]string `json:"retention_by_status,omitempty"` // intervals
	FailureLogLevel   *string           `json:"failure_log_level,omitempty"`
	// Hash tells whether it is still what was applied. It is kept as the label sha256.
	Hash string `json:"-"`
}

// WantedPlan is a plan as a file wants it.
type WantedPlan struct {
	Project, Name string
	ParallelLimit *int    // nil: what the plan has, or none
	OnFailure     *string // nil: what the plan has, or the column's default
	OnFinish      *string // name or id of a task without a plan; nil: what the plan has
	Tasks         []WantedTask
}

// AppliedPlan is the plan of a project and name as it stands.
type AppliedPlan struct {
	ID            int64 // 0: there is none
	ParallelLimit *int
	OnFailure     string
	Tasks         map[string]AppliedTask // by name
	// Elsewhere are migrations that other plans have applied to the same databases.
	Elsewhere []Elsewhere
}

// AppliedTask is a task of it.
type AppliedTask struct {
	ID         int64
	Name       string
	Type       string
	DatabaseID *string
	Version    *string
	Hash       string // "": it was not made by applying a plan
	Status     string
	LastRunID  *int64
}

// Elsewhere is a migration that another plan has applied.
type Elsewhere struct {
	PlanID                                int64
	Plan, Task, DatabaseID, Version, Hash string
}

// Apply says what is to be done of a wanted plan: the positions of its tasks.
type Apply struct {
	Make, Change []int
	// Terms says that a plan that is there gets the wanted one's ParallelLimit and OnFailure.
	Terms bool
	// Run are those that get a run: of the ones that are made, changed, or were never run.
	Run []int
	// Waves are those of tasks that are made; one that is in none waits for none.
	Waves []WantedWave
}

// ErrDryRun ends ApplyPlan before it changes anything.
var ErrDryRun = errors.New("nothing is changed")

// applyBatch is how many tasks one statement makes, applyBytes how much their documents have together at most.
const (
	applyBatch = 1000
	applyBytes = 8 << 20
)

// ApplyPlan looks at the plan of the wanted one's project and name, asks decide what is to be done, and does it in the same
// transaction, in which nobody else applies that plan. It returns the plan's id and how many runs were made. An error of
// decide is returned as it is, and nothing is changed.
func (s *Store) ApplyPlan(ctx context.Context, wanted WantedPlan, decide func(AppliedPlan) (Apply, error)) (id int64, runs int, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		a := applying{tx: tx, wanted: wanted, ids: map[string]int64{}}
		applied, err := a.look(ctx)
		if err != nil {
			return fmt.Errorf("look at what was applied: %w", err)
		}
		todo, err := decide(applied)
		if err != nil {
			return err
		}
		if a.plan = applied.ID; a.plan == 0 {
			err := tx.QueryRow(ctx, statement("apply_plan"), wanted.Project, wanted.Name, wanted.ParallelLimit, wanted.OnFailure).Scan(&a.plan)
			if err != nil {
				return fmt.Errorf("make plan: %w", err)
			}
		}
		id = a.plan
		if todo.Terms {
			if _, err := tx.Exec(ctx, statement("apply_terms"), id, wanted.ParallelLimit, wanted.OnFailure); err != nil {
				return fmt.Errorf("set parallel_limit and on_failure, as members of rowrun_operator may: %w", err)
			}
		}
		if wanted.OnFinish != nil {
			if _, err := tx.Exec(ctx, statement("apply_on_finish"), id, *wanted.OnFinish); err != nil {
				return fmt.Errorf("set what the plan ends with: %w", err)
			}
		}
		if err := a.write(ctx, todo); err != nil {
			return err
		}
		if err := a.addWaves(ctx, todo.Waves); err != nil {
			return err
		}
		runs, err = a.run(ctx, todo.Run)
		return err
	})
	return id, runs, err
}

// applying is one ApplyPlan under way.
type applying struct {
	tx     pgx.Tx
	wanted WantedPlan
	plan   int64
	ids    map[string]int64 // of the plan's tasks, by name
}

func (a *applying) look(ctx context.Context) (AppliedPlan, error) {
	found := AppliedPlan{Tasks: map[string]AppliedTask{}}
	if _, err := a.tx.Exec(ctx, statement("lock_plan_name"), a.wanted.Project, a.wanted.Name); err != nil {
		return found, err
	}
	err := a.tx.QueryRow(ctx, statement("applied_plan"), a.wanted.Project, a.wanted.Name).Scan(&found.ID, &found.ParallelLimit, &found.OnFailure)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return found, err
	}
	rows, err := a.tx.Query(ctx, statement("applied_tasks"), found.ID)
	if err != nil {
		return found, err
	}
	tasks, err := pgx.CollectRows(rows, pgx.RowToStructByPos[AppliedTask])
	if err != nil {
		return found, err
	}
	for _, task := range tasks {
		found.Tasks[task.Name], a.ids[task.Name] = task, task.ID
	}
	databases := map[string]bool{}
	for _, task := range a.wanted.Tasks {
		if task.Type == "DATABASE_MIGRATE" && task.DatabaseID != nil {
			databases[*task.DatabaseID] = true
		}
	}
	names := make([]string, 0, len(databases))
	for name := range databases {
		names = append(names, name)
	}
	if rows, err = a.tx.Query(ctx, statement("applied_elsewhere"), found.ID, names); err != nil {
		return found, err
	}
	found.Elsewhere, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Elsewhere])
	return found, err
}

// record is a task as the statements take it.
type record struct {
	ID int64 `json:"id,omitempty"`
	WantedTask
}

func (a *applying) record(i int) record {
	task := a.wanted.Tasks[i]
	labels := map[string]any{}
	maps.Copy(labels, task.Labels)
	labels["sha256"] = task.Hash
	task.Labels = labels
	return record{a.ids[task.Name], task}
}

// write makes and changes tasks and their dependencies.
func (a *applying) write(ctx context.Context, todo Apply) error {
	err := a.batches(todo.Make, func(records []record) error {
		rows, err := a.tx.Query(ctx, statement("apply_tasks"), a.plan, records)
		if err != nil {
			return err
		}
		ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		for i, id := range ids {
			a.ids[records[i].Name] = id
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("make tasks: %w", err)
	}
	err = a.batches(todo.Change, func(records []record) error {
		_, err := a.tx.Exec(ctx, statement("apply_changes"), records)
		return err
	})
	if err != nil {
		return fmt.Errorf("change tasks: %w", err)
	}
	if err := a.depend(ctx, todo); err != nil {
		return fmt.Errorf("make dependencies: %w", err)
	}
	return nil
}

// batches hands tasks over in pieces that a statement takes.
func (a *applying) batches(positions []int, do func([]record) error) error {
	var piece []record
	size := 0
	for _, i := range positions {
		r := a.record(i)
		if len(piece) == applyBatch || len(piece) > 0 && size+len(r.Payload) > applyBytes {
			if err := do(piece); err != nil {
				return err
			}
			piece, size = nil, 0
		}
		piece, size = append(piece, r), size+len(r.Payload)
	}
	if len(piece) == 0 {
		return nil
	}
	return do(piece)
}

func (a *applying) depend(ctx context.Context, todo Apply) error {
	var changed []int64
	waits, needs := []int64{}, []int64{}
	for n, positions := range [][]int{todo.Make, todo.Change} {
		for _, i := range positions {
			task := a.wanted.Tasks[i]
			if n == 1 {
				changed = append(changed, a.ids[task.Name])
			}
			for _, name := range task.DependsOn {
				waits, needs = append(waits, a.ids[task.Name]), append(needs, a.ids[name])
			}
		}
	}
	if len(changed) > 0 {
		if _, err := a.tx.Exec(ctx, statement("drop_dependencies"), changed, waits, needs); err != nil {
			return err
		}
	}
	if len(waits) == 0 {
		return nil
	}
	_, err := a.tx.Exec(ctx, statement("apply_dependencies"), waits, needs)
	return err
}

func (a *applying) run(ctx context.Context, positions []int) (int, error) {
	if len(positions) == 0 {
		return 0, nil
	}
	tasks := make([]int64, len(positions))
	for n, i := range positions {
		tasks[n] = a.ids[a.wanted.Tasks[i].Name]
	}
	var made int
	if err := a.tx.QueryRow(ctx, statement("run_tasks"), tasks).Scan(&made); err != nil {
		return 0, fmt.Errorf("run tasks: %w", err)
	}
	return made, nil
}
