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

// How the run with id i.id is handed over, with the claim number i.n. $1 is the replica, $2 the hashes of the claims, one
// behind the other, $3 the timeout of runs whose task has none.
const (
	take = `UPDATE rowrun.task_run r
    SET status = 'RUNNING', prev_status = 'AVAILABLE', by_hand = NULL, replica_id = $1,
        claim_hash = substring($2::bytea FROM 32 * (i.n::int - 1) + 1 FOR 32),
        started_at = now.t, updated_at = now.t,
        deadline = CASE WHEN coalesce(k.timeout, make_interval(secs => $3)) > interval '0'
                        THEN now.t + coalesce(k.timeout, make_interval(secs => $3)) END
    FROM `
	takeWhere = ` i, rowrun.task k, (SELECT clock_timestamp() AS t) now
    WHERE k.id = r.task_id AND `
	returnTaken = `
    RETURNING r.id, i.n, r.root_id, r.task_id, k.name, r.plan_id, r.attempt, r.type, r.queue, coalesce(r.database_id, '') AS database_id,
        coalesce(r.version, '') AS version, CASE WHEN k.state IS NULL THEN k.payload ELSE jsonb_build_object('state', k.state) || k.payload END || ` + input + ` AS payload,
        ` + unfit + ` AS unfit,
        r.failures = 0 AND r.recoveries = 0 AS manual,
        coalesce(r.input ->> 'traceparent', k.labels ->> 'traceparent') AS traceparent,
        extract(epoch FROM r.deadline - now.t)::float8 AS timeout, extract(epoch FROM k.progress_timeout)::float8 AS progress_timeout,
        nullif(k.failure_log_level, 'info') AS failure_log_level, r.priority, r.run_at, rowrun.transition(r) AS item`
	selectTaken = `t.id, t.n, t.root_id, t.task_id, t.name, t.plan_id, t.attempt, t.type, t.queue, t.database_id,
       t.version, t.payload, t.unfit, t.manual, t.traceparent, t.timeout, t.progress_timeout, t.failure_log_level
FROM said LEFT JOIN taken t ON true
ORDER BY t.priority DESC, t.run_at, t.id`
	// A run whose task is no COMMAND any more is taken by whoever runs commands, to say so.
	fits = `(rowrun.fits(r.type, r.database_id, k.payload, $6::text[], $7::text[]) OR r.type = 'COMMAND' AND k.type <> 'COMMAND')`
)

// What is laid over the task's payload, and why a run must not be executed: its input was written for what its task was
// when it was inserted, and for nothing that the task's author has made of it since. Type, target and payload are read
// from one version of the task's row. A type that was renamed says so in rowrun.task_type.
const (
	input = `CASE WHEN r.type IN ('SQL', 'DATABASE_MIGRATE', 'COMMAND') THEN r.input - '{sql,transaction,command}'::text[] ELSE r.input END`
	unfit = `CASE
            WHEN r.type <> k.type AND NOT EXISTS (SELECT FROM rowrun.task_type a WHERE a.type = r.type AND a.alias_of = k.type)
                THEN format('task type changed from %s to %s after the run was inserted: insert it again', r.type, k.type)
            WHEN r.type NOT IN ('SQL', 'DATABASE_MIGRATE', 'COMMAND') THEN NULL
            WHEN r.type <> 'COMMAND' AND r.database_id IS DISTINCT FROM k.database_id
                THEN format('the task''s database_id changed from %s to %s after the run was inserted: insert it again',
                            coalesce(r.database_id, 'none'), coalesce(k.database_id, 'none'))
            WHEN r.type = 'DATABASE_MIGRATE' AND r.version IS DISTINCT FROM k.version
                THEN format('the task''s version changed from %s to %s after the run was inserted: insert it again', r.version, k.version)
            WHEN r.input ?| '{sql,transaction,command}'
                THEN format('the input of a %s run names sql, transaction or command, which belong to the task''s payload: insert it again without', r.type)
        END`
)

// The search for what is next, of one queue and type: all of it, or a part of what is behind the run $10.
const (
	searchAvailable = `(SELECT r.id, r.priority, r.run_at
         FROM rowrun.task_run r
         JOIN rowrun.task k ON k.id = r.task_id
         LEFT JOIN rowrun.plan p ON p.id = r.plan_id
         WHERE r.status = 'AVAILABLE' AND r.queue = q.queue AND r.type = y.type
           AND NOT k.paused AND p.paused IS NOT TRUE
           AND ` + fits + ` AND `
	nextAvailable = `
         ORDER BY r.priority DESC, r.run_at, r.id LIMIT $8)`
)

// The candidates are read first, by queue and type along their index; then the best of them are locked. Rows that
// another replica is just taking are skipped; the count of candidates tells whether there were such. Where rows are
// named by id, status is asked through coalesce, so that the planner takes the key and not a partial index. What the search
// cost is measured before the locks.
const (
	claimRuns       = claimFrom + `(SELECT) b` + ofCandidates + searchAvailable + `true` + nextAvailable + claimThem
	claimRunsBehind = claimFrom + placeOf + `$10` + orFirst + ofCandidates +
		searchAvailable + `r.priority > b.priority` + nextAvailable + `
        UNION ALL ` + searchAvailable + `r.priority = b.priority AND (r.run_at, r.id) > (b.run_at, b.id)` + nextAvailable + `
        UNION ALL ` + searchAvailable + `r.priority < b.priority` + nextAvailable + claimThem

	claimFrom = `-- claim_runs
WITH me AS MATERIALIZED (
    SELECT paused_at, ` + readAvailable + ` AS read FROM rowrun.replica_heartbeat WHERE replica_id = $1 AND state = 'ACTIVE' FOR KEY SHARE
), seen AS MATERIALIZED (
    SELECT c.id FROM me
    CROSS JOIN `
	ofCandidates = `
    CROSS JOIN unnest($4::text[]) q(queue)
    CROSS JOIN unnest($5::text[]) y(type)
    CROSS JOIN LATERAL (
        `
	claimThem = `
    ) c
    WHERE me.paused_at IS NULL
    ORDER BY c.priority DESC, c.run_at, c.id LIMIT $8
), looked AS MATERIALIZED (
    SELECT count(*) AS n, extract(epoch FROM clock_timestamp() - statement_timestamp())::float8 AS took,
           coalesce(` + readAvailable + ` - (SELECT read FROM me), 0) AS read
    FROM seen
), picked AS MATERIALIZED (
    SELECT r.ctid AS place
    FROM rowrun.task_run r
    WHERE r.id = ANY (ARRAY(SELECT id FROM seen)) AND coalesce(r.status, '') = 'AVAILABLE' AND (SELECT n FROM looked) > 0
    ORDER BY r.priority DESC, r.run_at, r.id LIMIT $9
    FOR NO KEY UPDATE SKIP LOCKED
), taken AS (
    ` + take + `(SELECT place, row_number() OVER () AS n FROM picked)` + takeWhere + `r.ctid = i.place` + returnTaken + `
), said AS (
    SELECT rowrun.announce(array_agg(item)) FROM taken
)
SELECT (SELECT count(*) FROM me) > 0, (SELECT n FROM looked), (SELECT took FROM looked), (SELECT read FROM looked), ` + selectTaken
)

// What this very transaction promoted needs no search: rowrun.note_promoted has noted it, if it isn't more than $8. The
// replica's row has been locked since the promotion began.
const claimPromoted = `-- claim_promoted
WITH taken AS (
    ` + take + `(SELECT p.id, p.n FROM unnest(rowrun.promoted_now()) WITH ORDINALITY p(id, n))` + takeWhere + `r.id = i.id AND cardinality(rowrun.promoted_now()) <= $8::int
      AND EXISTS (SELECT FROM rowrun.replica_heartbeat WHERE replica_id = $1 AND state = 'ACTIVE' AND paused_at IS NULL)
      AND coalesce(r.status, '') = 'AVAILABLE' AND r.queue = ANY ($4::text[]) AND r.type = ANY ($5::text[]) AND NOT k.paused
          AND ` + fits + returnTaken + `
), said AS (
    SELECT count(*) AS n, rowrun.announce(array_agg(item)) FROM taken
)
SELECT false, said.n, 0::float8, 0::bigint, ` + selectTaken

// collectClaims reads a claim's answer. The first used of the keys are taken.
func collectClaims(rows pgx.Rows, keys []key) (claims []Claim, used int, alive bool, seen int, cost cost, err error) {
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
		if err := rows.Scan(&alive, &seen, &spent, &cost.read, &id, &n, &root, &task, &name, &plan, &attempt, &typ, &queue, &db, &version, &payload, &unfit, &manual,
			&trace, &timeout, &progressTO, &level); err != nil {
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
