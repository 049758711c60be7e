package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// NewPlan is a plan that is to be made with its tasks.
type NewPlan struct {
	Project string // required
	Name    string // required
	Tasks   []NewTask
}

// NewTask is a task of a NewPlan. Payload is a JSON object; zero values are the columns' defaults.
type NewTask struct {
	Name        string // required; unique in the plan
	Type        string // required
	DatabaseID  string
	Version     string
	Payload     json.RawMessage
	MaxAttempts int
	RetryDelay  time.Duration
	// DependsOn names tasks that come earlier in the plan.
	DependsOn []string
}

// StartPlanOnce makes a plan with its tasks and a run for each, in one transaction, unless there is a plan of that
// project and name already. made says which. Two calls at the same moment may both make one: names of plans are free.
func (s *Store) StartPlanOnce(ctx context.Context, p NewPlan) (made bool, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		var planID int64
		rows, err := tx.Query(ctx, statement("make_plan"), p.Project, p.Name)
		if err != nil {
			return err
		}
		ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		if err != nil || len(ids) == 0 {
			return err
		}
		planID, made = ids[0], true
		tasks, byName := make([]int64, len(p.Tasks)), map[string]int64{}
		for i, t := range p.Tasks {
			err := tx.QueryRow(ctx, statement("make_task"), planID, t.Name, t.Type, t.DatabaseID, t.Version, t.Payload, t.MaxAttempts,
				seconds(t.RetryDelay)).Scan(&tasks[i])
			if err != nil {
				return fmt.Errorf("task %q: %w", t.Name, err)
			}
			byName[t.Name] = tasks[i]
			for _, name := range t.DependsOn {
				if _, err := tx.Exec(ctx, statement("make_dependency"), tasks[i], byName[name]); err != nil {
					return fmt.Errorf("task %q: %w", t.Name, err)
				}
			}
		}
		var n int
		return tx.QueryRow(ctx, statement("run_tasks"), tasks).Scan(&n)
	})
	if err != nil {
		return false, fmt.Errorf("start plan: %w", err)
	}
	return made, nil
}

// RunTaskOfPlan runs a task of each plan of that project and name once more, unless a run of it is unfinished; how
// many runs were made.
func (s *Store) RunTaskOfPlan(ctx context.Context, project, plan, task string) (int, error) {
	var n int
	if err := s.pool.QueryRow(ctx, statement("run_task_of_plan"), project, plan, task).Scan(&n); err != nil {
		return 0, fmt.Errorf("run task of plan: %w", err)
	}
	return n, nil
}
