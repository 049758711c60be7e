package store

import (
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"
)

// Claim is a run that was handed to a replica, with what its executor needs.
type Claim struct {
	ID         int64
	RootID     int64
	TaskID     int64
	TaskName   string
	PlanID     *int64
	Attempt    int
	Type       string
	Queue      string
	DatabaseID string
	Version    string
	Payload    json.RawMessage
	Claim      string
	Manual     bool
	// Unfit says why the run must not be executed, "": it may. Its Payload is then {}.
	Unfit string
	// TraceParent is that of the run's input, otherwise of its task's labels, "" where there is none. Not checked.
	TraceParent string
	// Timeout is what is left of the run's time, 0: no limit. By the database's clock at the claim.
	Timeout time.Duration
	// ProgressTimeout is how long it may go without reporting progress, 0: no limit.
	ProgressTimeout time.Duration
	// FailureLogLevel is the task's, "" for info, the default.
	FailureLogLevel string
}

// collectClaims reads a claim's answer, behind columns that the caller reads. The first used of the keys are taken.
func collectClaims(rows pgx.Rows, keys []key, before ...any) (claims []Claim, used int, alive bool, seen int, cost cost, err error) {
	defer rows.Close()
	for rows.Next() {
		var (
			id, n, root, task   *int64
			name, typ, queue    *string
			db, version         *string
			attempt             *int
			payload             []byte
			unfit               *string
			manual              *bool
			timeout, progressTO *float64
			plan                *int64
			trace, level        *string
			spent               float64
		)
		if err := rows.Scan(append(before[:len(before):len(before)], &alive, &seen, &spent, &cost.read, &id, &n, &root, &task, &name, &plan, &attempt, &typ, &queue, &db, &version, &payload, &unfit, &manual,
			&trace, &timeout, &progressTO, &level)...); err != nil {
			return nil, 0, false, 0, cost, err
		}
		cost.took = duration(spent)
		if id == nil {
			continue
		}
		used = max(used, int(*n))
		if trace == nil {
			trace = new(string)
		}
		if level == nil {
			level = new(string)
		}
		if unfit == nil {
			unfit = new(string)
		} else {
			payload = []byte(`{}`)
		}
		claims = append(claims, Claim{
			ID: *id, RootID: *root, TaskID: *task, TaskName: *name, PlanID: plan, Attempt: *attempt, Type: *typ, Queue: *queue,
			DatabaseID: *db, Version: *version, Payload: payload, Unfit: *unfit, Claim: keys[*n-1].claim.String(), Manual: *manual, TraceParent: *trace,
			Timeout: fromSeconds(timeout), ProgressTimeout: fromSeconds(progressTO), FailureLogLevel: *level,
		})
	}
	return claims, used, alive, seen, cost, rows.Err()
}
