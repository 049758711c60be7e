package store

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
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
	// Fresh: it was promoted and claimed at once, as a slot or a gate opened for it; others may wait for its end.
	Fresh bool
	// Replica is who claimed it.
	Replica string
	// CreatedAt, AvailableAt and StartedAt are the run's, RetryOf the run that it follows, and Xid is the transaction of the claim:
	// what a reader of the row finds. Xid 0: the claim doesn't tell them all; the run was due later than it was inserted.
	CreatedAt, AvailableAt, StartedAt time.Time
	RetryOf                           *int64
	Xid                               uint64
	// Priority is set where the trip says how many runs it claims below some priorities.
	Priority int
	number   int64 // among those of one claim
	// unresolved: its payload names results of other tasks, which Resolve puts there; nil: none.
	unresolved *assignment
}

// collectClaims reads a claim's answer, behind columns that the caller reads, in the order in which the runs were claimed. The
// first used of the keys are taken. found is how many candidates there were, alive whether the replica may claim, as far as
// that was asked.
func collectClaims(rows pgx.Rows, keys []key, before ...any) (claims []Claim, used, found int, alive bool, err error) {
	defer rows.Close()
	var (
		n, id, root, task                    pgtype.Int8
		attempt                              pgtype.Int4
		plan                                 *int64
		name, trace, level                   pgtype.Text
		timeout, progressTimeout             *float64
		manual                               pgtype.Bool
		given                                assignment
		input, payload, state                []byte
		kind, queue, db, version             pgtype.Text
		taskKind, alias, taskDB, taskVersion pgtype.Text
		created, available, started          pgtype.Timestamptz
		retryOf, xid                         pgtype.Int8
	)
	targets := append(before[:len(before):len(before)], &found, &alive,
		&n, &id, &root, &task, &name, &plan, &attempt, &kind, &queue, &db, &version, &input, &manual, &timeout,
		&taskKind, &alias, &taskDB, &taskVersion, &payload, &state, &trace, &progressTimeout, &level,
		&retryOf, &created, &available, &started, &xid)
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return nil, 0, 0, false, err
		}
		if !id.Valid {
			continue
		}
		used = max(used, int(n.Int64))
		given = assignment{
			kind: kind.String, taskKind: taskKind.String, alias: alias.String, database: text(db), taskDatabase: text(taskDB),
			version: text(version), taskVersion: text(taskVersion), input: input, payload: payload, state: state,
		}
		c := Claim{
			number: n.Int64, ID: id.Int64, RootID: root.Int64, TaskID: task.Int64, TaskName: name.String, PlanID: plan, Attempt: int(attempt.Int32),
			Type: kind.String, Queue: queue.String, DatabaseID: db.String, Version: version.String, Claim: keys[n.Int64-1].claim.String(),
			Manual: manual.Bool, TraceParent: trace.String, Timeout: fromSeconds(timeout), ProgressTimeout: fromSeconds(progressTimeout),
			RetryOf: number(retryOf), CreatedAt: created.Time, AvailableAt: available.Time, StartedAt: started.Time, Xid: uint64(xid.Int64), //nolint:gosec // above 0
		}
		if !created.Valid {
			c.Xid = 0
		}
		if level.String != "info" {
			c.FailureLogLevel = level.String
		}
		if own := given.traceParent(); own != "" {
			c.TraceParent = own
		}
		if c.Unfit = given.unfit(); c.Unfit == "" {
			c.Payload = given.whole()
		} else {
			c.Payload = json.RawMessage(`{}`)
		}
		if plan != nil && c.Unfit == "" && given.namesResults() {
			named := given
			c.unresolved = &named
		}
		claims = append(claims, c)
	}
	slices.SortFunc(claims, func(a, b Claim) int { return cmp.Compare(a.number, b.number) })
	return claims, used, found, alive, rows.Err()
}

// StreamRow is what the row of a claimed run tells the stream, as the claim has written it; nil where the claim doesn't tell.
func (c *Claim) StreamRow() *StreamRow {
	if c.Xid == 0 {
		return nil
	}
	r := &StreamRow{
		ID: c.ID, RootID: c.RootID, TaskID: c.TaskID, TaskName: c.TaskName, Type: c.Type, Queue: c.Queue, PlanID: c.PlanID, Attempt: c.Attempt,
		RetryOf: c.RetryOf, CreatedAt: c.CreatedAt, RunAt: c.CreatedAt, AvailableAt: c.AvailableAt, StartedAt: c.StartedAt, Status: "RUNNING", ReplicaID: &c.Replica,
		Prev: "AVAILABLE", Xid: c.Xid, FailureLogLevel: c.FailureLogLevel,
	}
	if c.Fresh {
		r.Prev = "PENDING"
	}
	if c.DatabaseID != "" {
		r.DatabaseID = &c.DatabaseID
	}
	if c.Version != "" {
		r.Version = &c.Version
	}
	return r
}
