package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
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
	// Timeout is what is left of the run's time, 0: no limit. By the database's clock at the claim.
	Timeout time.Duration
	// ProgressTimeout is how long it may go without reporting progress, 0: no limit.
	ProgressTimeout time.Duration
}

// Wants says which runs a replica can take.
type Wants struct {
	Queues         []string
	Types          []string
	Databases      []string
	Commands       []string
	DefaultTimeout time.Duration // of runs whose task has none; 0: none
}

// Pass is what one round trip did.
type Pass struct {
	Promoted int
	// Busy: another replica was promoting; look again in some ms.
	Busy bool
	// More: there is more to promote now.
	More bool
	// Contended: claims were lost to other replicas while runs may be left.
	Contended bool
	// NextDue is when the next PENDING run is due, 0: none is known.
	NextDue time.Duration
	Claims  []Claim
}

// Promotion says what a pass promotes before it claims.
type Promotion int

// What a pass promotes.
const (
	PromoteNothing Promotion = iota // only claim: a slot became free
	PromoteDue                      // what is due and what the marks name
	PromoteSweep                    // and everything that could have been overlooked
)

// Work promotes what may be promoted and claims up to want runs for a replica, in one transaction and one round trip.
// ErrDead: the replica may not claim any more; what was promoted stands.
func (s *Store) Work(ctx context.Context, replicaID string, w Wants, promote Promotion, want int) (Pass, error) {
	pass, found, err := s.work(ctx, replicaID, w, promote, want, want)
	if err == nil && found > len(pass.Claims) && len(pass.Claims) < want {
		// Others were at the same rows: look further down the list, once.
		var again Pass
		again, _, err = s.work(ctx, replicaID, w, PromoteNothing, want-len(pass.Claims), 4*want+100)
		pass.Claims = append(pass.Claims, again.Claims...)
		pass.Contended = len(pass.Claims) < want
	}
	return pass, err
}

const holdReplica = `-- hold_replica
SELECT count(*) FROM (SELECT FROM rowrun.replica_heartbeat WHERE replica_id = $1 AND state = 'ACTIVE' FOR KEY SHARE) me`

const promoteRuns = `-- promote_runs
SELECT promoted, busy, more, next_ms FROM rowrun.promote_runs($1)`

// The candidates are read first, by queue and type along their index; then the best of them are locked. Rows that
// another replica is just taking are skipped; the count of candidates tells whether there were such. Where rows are
// named by id, status is asked as coalesce(status, ”), so that the planner takes the key and not a partial index.
const claimRuns = `-- claim_runs
WITH me AS MATERIALIZED (
    SELECT FROM rowrun.replica_heartbeat WHERE replica_id = $1 AND state = 'ACTIVE'
), seen AS MATERIALIZED (
    SELECT c.id FROM me
    CROSS JOIN unnest($2::text[]) q(queue)
    CROSS JOIN unnest($3::text[]) y(type)
    CROSS JOIN LATERAL (
        SELECT r.id, r.priority, r.run_at
        FROM rowrun.task_run r
        JOIN rowrun.task k ON k.id = r.task_id
        LEFT JOIN rowrun.plan p ON p.id = r.plan_id
        WHERE r.status = 'AVAILABLE' AND r.queue = q.queue AND r.type = y.type
          AND NOT k.paused AND p.paused IS NOT TRUE
          AND (r.type NOT IN ('SQL', 'DATABASE_MIGRATE') OR r.database_id IS NULL OR r.database_id = ANY ($4::text[]))
          AND (r.type <> 'COMMAND' OR jsonb_typeof(k.payload -> 'command') IS DISTINCT FROM 'string'
               OR k.payload ->> 'command' = ANY ($5::text[]))
        ORDER BY r.priority DESC, r.run_at, r.id LIMIT $6
    ) c
    ORDER BY c.priority DESC, c.run_at, c.id LIMIT $6
), picked AS MATERIALIZED (
    SELECT r.id
    FROM rowrun.task_run r
    WHERE r.id = ANY (ARRAY(SELECT id FROM seen)) AND coalesce(r.status, '') = 'AVAILABLE'
    ORDER BY r.priority DESC, r.run_at, r.id LIMIT $7
    FOR NO KEY UPDATE SKIP LOCKED
), taken AS (
    UPDATE rowrun.task_run r
    SET status = 'RUNNING', prev_status = 'AVAILABLE', replica_id = $1,
        claim_hash = sha256(substring(sha256($9::bytea || int8send(r.id)) FOR 16)),
        started_at = now.t, updated_at = now.t,
        deadline = CASE WHEN coalesce(k.timeout, make_interval(secs => $8)) > interval '0'
                        THEN now.t + coalesce(k.timeout, make_interval(secs => $8)) END
    FROM rowrun.task k, (SELECT clock_timestamp() AS t) now
    WHERE r.id = ANY (ARRAY(SELECT id FROM picked)) AND k.id = r.task_id
    RETURNING r.id, r.root_id, r.task_id, k.name, r.plan_id, r.attempt, r.type, r.queue, coalesce(r.database_id, '') AS database_id,
        coalesce(r.version, '') AS version, (k.payload || r.input) AS payload,
        r.failures = 0 AND r.recoveries = 0 AS manual,
        extract(epoch FROM r.deadline - now.t)::float8 AS timeout, extract(epoch FROM k.progress_timeout)::float8 AS progress_timeout,
        r.priority, r.run_at
)
SELECT (SELECT count(*) FROM seen), t.id, t.root_id, t.task_id, t.name, t.plan_id, t.attempt, t.type, t.queue, t.database_id,
       t.version, t.payload, t.manual, t.timeout, t.progress_timeout
FROM (SELECT) one LEFT JOIN taken t ON true
ORDER BY t.priority DESC, t.run_at, t.id`

// claimOf derives a run's claim, a uuid, from the secret of the pass that claims it: the database is told the secret
// and keeps the claim's hash, so that no statement has to carry a list of claims.
func claimOf(secret [32]byte, runID int64) string {
	var id [8]byte
	binary.BigEndian.PutUint64(id[:], uint64(runID))
	sum := sha256.Sum256(append(secret[:], id[:]...))
	return uuid.UUID(sum[:16]).String()
}

func (s *Store) work(ctx context.Context, replicaID string, w Wants, promote Promotion, want, look int) (pass Pass, seen int, err error) {
	alive := false
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // never fails: crypto/rand
	b := &pgx.Batch{}
	b.Queue(holdReplica, replicaID).QueryRow(func(row pgx.Row) error {
		var n int
		err := row.Scan(&n)
		alive = n > 0
		return err
	})
	if promote != PromoteNothing {
		b.Queue(promoteRuns, promote == PromoteSweep).QueryRow(func(row pgx.Row) error {
			var next *float64
			if err := row.Scan(&pass.Promoted, &pass.Busy, &pass.More, &next); err != nil {
				return err
			}
			if next != nil {
				pass.NextDue = time.Duration(min(*next, 1e9) * float64(time.Millisecond))
			}
			return nil
		})
	}
	if want > 0 {
		b.Queue(claimRuns, replicaID, list(w.Queues), list(w.Types), list(w.Databases), list(w.Commands), look, want,
			seconds(w.DefaultTimeout), secret[:]).Query(func(rows pgx.Rows) error {
			var err error
			pass.Claims, seen, err = collectClaims(rows, secret)
			return err
		})
	}
	if err := s.pool.SendBatch(ctx, b).Close(); err != nil {
		return Pass{}, 0, fmt.Errorf("promote and claim: %w", err)
	}
	if !alive {
		return pass, seen, ErrDead
	}
	return pass, seen, nil
}

func collectClaims(rows pgx.Rows, secret [32]byte) (claims []Claim, seen int, err error) {
	defer rows.Close()
	for rows.Next() {
		var (
			id, root, task      *int64
			name, typ, queue    *string
			db, version         *string
			attempt             *int
			payload             []byte
			manual              *bool
			timeout, progressTO *float64
			plan                *int64
		)
		if err := rows.Scan(&seen, &id, &root, &task, &name, &plan, &attempt, &typ, &queue, &db, &version, &payload, &manual,
			&timeout, &progressTO); err != nil {
			return nil, 0, err
		}
		if id == nil {
			continue
		}
		claims = append(claims, Claim{
			ID: *id, RootID: *root, TaskID: *task, TaskName: *name, PlanID: plan, Attempt: *attempt, Type: *typ, Queue: *queue,
			DatabaseID: *db, Version: *version, Payload: payload, Claim: claimOf(secret, *id), Manual: *manual,
			Timeout: fromSeconds(timeout), ProgressTimeout: fromSeconds(progressTO),
		})
	}
	return claims, seen, rows.Err()
}
