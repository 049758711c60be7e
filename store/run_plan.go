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
	const plan = `-- make_plan
INSERT INTO rowrun.plan (project, name)
SELECT $1, $2 WHERE NOT EXISTS (SELECT FROM rowrun.plan WHERE project = $1 AND name = $2)
RETURNING id`
	const task = `-- make_task
INSERT INTO rowrun.task (plan_id, name, type, database_id, version, payload, max_attempts, retry_delay)
VALUES ($1, $2, $3, nullif($4, ''), nullif($5, ''), $6, nullif($7, 0), nullif(make_interval(secs => $8), interval '0'))
RETURNING id`
	const dependency = `-- make_dependency
INSERT INTO rowrun.task_dependency (task_id, depends_on_id) VALUES ($1, $2)`
	const runs = `-- run_tasks
SELECT count(*) FROM rowrun.run_tasks($1)`
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		var planID int64
		rows, err := tx.Query(ctx, plan, p.Project, p.Name)
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
			err := tx.QueryRow(ctx, task, planID, t.Name, t.Type, t.DatabaseID, t.Version, t.Payload, t.MaxAttempts,
				seconds(t.RetryDelay)).Scan(&tasks[i])
			if err != nil {
				return fmt.Errorf("task %q: %w", t.Name, err)
			}
			byName[t.Name] = tasks[i]
			for _, name := range t.DependsOn {
				if _, err := tx.Exec(ctx, dependency, tasks[i], byName[name]); err != nil {
					return fmt.Errorf("task %q: %w", t.Name, err)
				}
			}
		}
		var n int
		return tx.QueryRow(ctx, runs, tasks).Scan(&n)
	})
	if err != nil {
		return false, fmt.Errorf("start plan: %w", err)
	}
	return made, nil
}

// RunTaskOfPlan runs a task of each plan of that project and name once more, unless a run of it is unfinished; how
// many runs were made.
func (s *Store) RunTaskOfPlan(ctx context.Context, project, plan, task string) (int, error) {
	const q = `-- run_task_of_plan
SELECT count(*) FROM rowrun.run_tasks(ARRAY(
    SELECT k.id FROM rowrun.plan p JOIN rowrun.task k ON k.plan_id = p.id
    WHERE p.project = $1 AND p.name = $2 AND k.name = $3))`
	var n int
	if err := s.pool.QueryRow(ctx, q, project, plan, task).Scan(&n); err != nil {
		return 0, fmt.Errorf("run task of plan: %w", err)
	}
	return n, nil
}
