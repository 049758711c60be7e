package client

import (
	"context"
	"encoding/json"
	"fmt"
)

// One INSERT for all of them, in their order, so that triggers and notifications come once. A key that exists already is
// skipped there, without a lock on the run that has it, and looked up after: run_task also sees what was committed since
// this statement began. NOT IN is on purpose: it is a hash table whatever the planner expects of a CTE. Where a name leads
// nowhere nothing is inserted, and the row without an id says which.
const insertMany = `-- client_enqueue_many
WITH job AS MATERIALIZED (
    SELECT e.n, e.j ->> 'task' AS task, e.j -> 'input' AS input, (e.j ->> 'run_at')::timestamptz AS run_at,
           (e.j ->> 'priority')::integer AS priority, e.j ->> 'key' AS key
    FROM jsonb_array_elements($1::text::jsonb) WITH ORDINALITY AS e(j, n)
), named AS MATERIALIZED (
    SELECT w.task, coalesce(
        (SELECT k.id FROM rowrun.task k WHERE k.name = w.task AND k.name <> '' AND k.plan_id IS NULL),
        (SELECT k.id FROM rowrun.task k WHERE k.id = CASE WHEN w.task ~ '^[0-9]{1,18}$' THEN w.task::bigint END)) AS task_id
    FROM (SELECT DISTINCT task FROM job) w
), wanted AS MATERIALIZED (
    SELECT j.n, t.task_id, j.input, j.run_at, j.priority, j.key, row_number() OVER (PARTITION BY t.task_id, j.key ORDER BY j.n) AS nth
    FROM job j JOIN named t USING (task)
    WHERE NOT EXISTS (SELECT FROM named WHERE task_id IS NULL)
), made AS (
    INSERT INTO rowrun.task_run AS r (task_id, input, run_at, priority, idempotency_key)
    SELECT w.task_id, w.input, w.run_at, w.priority, w.key FROM wanted w WHERE w.key IS NULL OR w.nth = 1 ORDER BY w.n
    ON CONFLICT (task_id, idempotency_key) DO NOTHING
    RETURNING r.id, r.task_id, r.idempotency_key AS key
)
SELECT t.task, t.task_id, NULL::text AS key, NULL::bigint AS id FROM named t
UNION ALL
SELECT NULL, m.task_id, m.key, m.id FROM made m
UNION ALL
SELECT NULL, w.task_id, w.key, rowrun.run_task(w.task_id, w.input, coalesce(w.run_at, now()), w.priority, w.key)
FROM wanted w
WHERE w.key IS NOT NULL AND w.nth = 1 AND (w.task_id, w.key) NOT IN (SELECT m.task_id, m.key FROM made m WHERE m.key IS NOT NULL)`

// entry is a job as the statement reads it.
type entry struct {
	Task     string          `json:"task"`
	Input    json.RawMessage `json:"input"`
	RunAt    any             `json:"run_at,omitempty"`
	Priority *int32          `json:"priority,omitempty"`
	Key      string          `json:"key,omitempty"`
}

// place is where runs are counted: those of a task with one key, or those of a task without one.
type place struct {
	task int64
	key  string
}

func many(ctx context.Context, ask query, jobs []Job) ([]int64, error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	entries := make([]entry, len(jobs))
	for i := range jobs {
		job := &jobs[i]
		if err := job.check(); err != nil {
			return nil, fmt.Errorf("client: job %d: %w", i, err)
		}
		input, err := job.input()
		if err != nil {
			return nil, fmt.Errorf("client: job %d: %w", i, err)
		}
		entries[i] = entry{Task: job.Task, Input: input, RunAt: job.runAt(), Priority: job.Priority, Key: job.IdempotencyKey}
	}
	text, err := json.Marshal(entries)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	tasks, made := map[string]int64{}, map[place][]int64{}
	missing := ""
	err = ask(ctx, insertMany, func(scan func(...any) error) error {
		var name, key *string
		var task, id *int64
		if err := scan(&name, &task, &key, &id); err != nil {
			return err
		}
		switch {
		case name != nil && task == nil:
			missing = *name
		case name != nil:
			tasks[*name] = *task
		default:
			p := place{task: *task}
			if key != nil {
				p.key = *key
			}
			made[p] = append(made[p], *id)
		}
		return nil
	}, string(text))
	if err != nil {
		return nil, fmt.Errorf("client: enqueue %d runs: %w", len(jobs), err)
	}
	if missing != "" {
		return nil, noTask(missing, nil)
	}
	return inOrder(jobs, tasks, made)
}

// inOrder gives each job its run: the one with its key, or the next of those without one, whose ids were drawn in the
// order of the jobs.
func inOrder(jobs []Job, tasks map[string]int64, made map[place][]int64) ([]int64, error) {
	ids := make([]int64, len(jobs))
	for i := range jobs {
		p := place{tasks[jobs[i].Task], jobs[i].IdempotencyKey}
		found := made[p]
		if len(found) == 0 {
			return nil, fmt.Errorf("client: no run came back for job %d, of %q; is there a trigger or a policy on rowrun.task_run?", i, jobs[i].Task)
		}
		ids[i] = found[0]
		if p.key == "" {
			made[p] = found[1:]
		}
	}
	return ids, nil
}
