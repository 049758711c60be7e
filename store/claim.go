package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
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

// claiming says what a pass claims.
type claiming int

const (
	claimNothing claiming = iota
	claimAny              // the first in the order of priority
	claimFresh            // what the pass itself promoted, all of it or nothing
)

// Work promotes what may be promoted and claims up to want runs for a replica, in one transaction and one round trip.
// ErrDead: the replica may not claim any more; what was promoted stands.
func (s *Store) Work(ctx context.Context, replicaID string, w Wants, promote Promotion, want int) (Pass, error) {
	claim := claimAny
	if want <= 0 {
		claim = claimNothing
	}
	pass, found, err := s.workOn(ctx, s.passes, replicaID, w, promote, claim, want, want)
	if err == nil && found > len(pass.Claims) && len(pass.Claims) < want {
		// Others were at the same rows: look further down the list, once.
		var again Pass
		again, _, err = s.workOn(ctx, s.passes, replicaID, w, PromoteNothing, claimAny, want-len(pass.Claims), 4*want+100)
		pass.Claims = append(pass.Claims, again.Claims...)
		pass.Contended = len(pass.Claims) < want
	}
	return pass, err
}

// WorkPromoted promotes what is due and claims what it promoted, where these are at most want runs, without a search
// for others: the quickest way from an INSERT to its start, for a replica that knows of no other AVAILABLE run.
func (s *Store) WorkPromoted(ctx context.Context, replicaID string, w Wants, want int) (Pass, error) {
	pass, _, err := s.workOn(ctx, s.passes, replicaID, w, PromoteDue, claimFresh, want, want)
	return pass, err
}

// Promote is Work without the claims, on another connection: for a backlog, so that promoting it and claiming what was
// promoted go on side by side.
func (s *Store) Promote(ctx context.Context, replicaID string) (Pass, error) {
	pass, _, err := s.workOn(ctx, s.pool, replicaID, Wants{}, PromoteDue, claimNothing, 0, 0)
	return pass, err
}

// The whole pass is rowrun.promote_runs. What most wake-ups are about is a run without plan and database, which only
// time and a pause may hold; for these the pass is spelled out here as one statement, which takes half the time of a
// call, and the function is called where a mark, a due run with gates, or the sweep asks for it.
//
// available_at is a time before the statement's snapshot, so that whatever gate was closed by then was seen closed.
//
// Each pass begins with a lock on the replica's own row, so that whoever declares it dead either waits for what it
// claims or comes first.
const promoteFree = `-- promote_free_runs
WITH me AS MATERIALIZED (
    SELECT FROM rowrun.replica_heartbeat WHERE replica_id = $1 AND state = 'ACTIVE' FOR KEY SHARE
), now AS MATERIALIZED (
    SELECT statement_timestamp() AS t, (SELECT count(*) FROM me) AS alive
), picked AS MATERIALIZED (
    SELECT ARRAY(SELECT r.id FROM rowrun.task_run r
                 WHERE r.status = 'PENDING' AND r.hold = 'READY' AND r.plan_id IS NULL
                 ORDER BY r.plan_id, r.priority DESC, r.run_at, r.id LIMIT 1000 FOR NO KEY UPDATE SKIP LOCKED)
        || ARRAY(SELECT r.id FROM rowrun.task_run r
                 WHERE r.judge_at <= (SELECT t FROM now) AND r.plan_id IS NULL AND r.database_id IS NULL AND r.status = 'PENDING'
                 ORDER BY r.judge_at LIMIT 1000 FOR NO KEY UPDATE SKIP LOCKED) AS ids
), promoted AS (
    UPDATE rowrun.task_run r
    SET status = 'AVAILABLE', prev_status = 'PENDING', available_at = greatest(now.t, r.run_at, r.created_at),
        updated_at = greatest(now.t, r.updated_at + interval '1 us'), hold = NULL, judge_at = NULL
    FROM picked, rowrun.task k, now
    WHERE r.id = ANY (picked.ids) AND k.id = r.task_id AND NOT k.paused AND NOT k.skipped
    RETURNING r.id, rowrun.transition(r) AS item
), said AS (
    SELECT count(*) AS n, rowrun.announce(array_agg(p.item)), rowrun.note_promoted(array_agg(p.id)) FROM promoted p
)
SELECT now.alive > 0, cardinality(picked.ids), said.n,
       (extract(epoch FROM least(
           (SELECT r.judge_at FROM rowrun.task_run r
            WHERE r.judge_at > now.t AND r.plan_id IS NULL AND r.database_id IS NULL ORDER BY r.judge_at LIMIT 1),
           (SELECT r.judge_at FROM rowrun.task_run r
            WHERE r.judge_at > now.t AND (r.plan_id IS NOT NULL OR r.database_id IS NOT NULL) ORDER BY r.judge_at LIMIT 1)) - now.t) * 1000)::float8
FROM picked, now, said`

const promoteRuns = `-- promote_runs
SELECT p.promoted, p.busy, p.more, p.next_ms
FROM (SELECT WHERE $1 OR EXISTS (SELECT FROM rowrun.gate_mark)
          OR EXISTS (SELECT FROM rowrun.task_run r
                     WHERE r.judge_at <= clock_timestamp() AND (r.plan_id IS NOT NULL OR r.database_id IS NOT NULL))) asked
CROSS JOIN LATERAL rowrun.promote_runs($1) p`

// How a run is handed over. $1 is the replica, $2 the secret of the claims, $3 the timeout of runs whose task has none.
const (
	take = `UPDATE rowrun.task_run r
    SET status = 'RUNNING', prev_status = 'AVAILABLE', by_hand = NULL, replica_id = $1,
        claim_hash = sha256(substring(sha256($2::bytea || int8send(r.id)) FOR 16)),
        started_at = now.t, updated_at = now.t,
        deadline = CASE WHEN coalesce(k.timeout, make_interval(secs => $3)) > interval '0'
                        THEN now.t + coalesce(k.timeout, make_interval(secs => $3)) END
    FROM rowrun.task k, (SELECT clock_timestamp() AS t) now
    WHERE k.id = r.task_id AND `
	returnTaken = `
    RETURNING r.id, r.root_id, r.task_id, k.name, r.plan_id, r.attempt, r.type, r.queue, coalesce(r.database_id, '') AS database_id,
        coalesce(r.version, '') AS version, (k.payload || r.input) AS payload,
        r.failures = 0 AND r.recoveries = 0 AS manual,
        extract(epoch FROM r.deadline - now.t)::float8 AS timeout, extract(epoch FROM k.progress_timeout)::float8 AS progress_timeout,
        r.priority, r.run_at, rowrun.transition(r) AS item`
	selectTaken = `t.id, t.root_id, t.task_id, t.name, t.plan_id, t.attempt, t.type, t.queue, t.database_id,
       t.version, t.payload, t.manual, t.timeout, t.progress_timeout
FROM said LEFT JOIN taken t ON true
ORDER BY t.priority DESC, t.run_at, t.id`
	fits = `(r.type NOT IN ('SQL', 'DATABASE_MIGRATE') OR r.database_id IS NULL OR r.database_id = ANY ($6::text[]))
          AND (r.type <> 'COMMAND' OR jsonb_typeof(k.payload -> 'command') IS DISTINCT FROM 'string'
               OR k.payload ->> 'command' = ANY ($7::text[]))`
)

// The candidates are read first, by queue and type along their index; then the best of them are locked. Rows that
// another replica is just taking are skipped; the count of candidates tells whether there were such. Where rows are
// named by id, status is asked through coalesce, so that the planner takes the key and not a partial index.
const claimRuns = `-- claim_runs
WITH me AS MATERIALIZED (
    SELECT FROM rowrun.replica_heartbeat WHERE replica_id = $1 AND state = 'ACTIVE' FOR KEY SHARE
), seen AS MATERIALIZED (
    SELECT c.id FROM me
    CROSS JOIN unnest($4::text[]) q(queue)
    CROSS JOIN unnest($5::text[]) y(type)
    CROSS JOIN LATERAL (
        SELECT r.id, r.priority, r.run_at
        FROM rowrun.task_run r
        JOIN rowrun.task k ON k.id = r.task_id
        LEFT JOIN rowrun.plan p ON p.id = r.plan_id
        WHERE r.status = 'AVAILABLE' AND r.queue = q.queue AND r.type = y.type
          AND NOT k.paused AND p.paused IS NOT TRUE
          AND ` + fits + `
        ORDER BY r.priority DESC, r.run_at, r.id LIMIT $8
    ) c
    ORDER BY c.priority DESC, c.run_at, c.id LIMIT $8
), picked AS MATERIALIZED (
    SELECT r.id
    FROM rowrun.task_run r
    WHERE r.id = ANY (ARRAY(SELECT id FROM seen)) AND coalesce(r.status, '') = 'AVAILABLE'
    ORDER BY r.priority DESC, r.run_at, r.id LIMIT $9
    FOR NO KEY UPDATE SKIP LOCKED
), taken AS (
    ` + take + `r.id = ANY (ARRAY(SELECT id FROM picked))` + returnTaken + `
), said AS (
    SELECT rowrun.announce(array_agg(item)) FROM taken
)
SELECT (SELECT count(*) FROM me) > 0, (SELECT count(*) FROM seen), ` + selectTaken

// What this very transaction promoted needs no search: rowrun.note_promoted has noted it, if it isn't more than $8. The
// replica's row has been locked since the promotion began.
const claimPromoted = `-- claim_promoted
WITH taken AS (
    ` + take + `r.id = ANY (rowrun.promoted_now()) AND cardinality(rowrun.promoted_now()) <= $8::int
      AND EXISTS (SELECT FROM rowrun.replica_heartbeat WHERE replica_id = $1 AND state = 'ACTIVE')
      AND coalesce(r.status, '') = 'AVAILABLE' AND r.queue = ANY ($4::text[]) AND r.type = ANY ($5::text[]) AND NOT k.paused
          AND ` + fits + returnTaken + `
), said AS (
    SELECT count(*) AS n, rowrun.announce(array_agg(item)) FROM taken
)
SELECT false, said.n, ` + selectTaken

// claimOf derives a run's claim, a uuid, from the secret of the pass that claims it: the database is told the secret
// and keeps the claim's hash, so that no statement has to carry a list of claims.
func claimOf(secret [32]byte, runID int64) string {
	var id [8]byte
	binary.BigEndian.PutUint64(id[:], uint64(runID))
	sum := sha256.Sum256(append(secret[:], id[:]...))
	return uuid.UUID(sum[:16]).String()
}

func (s *Store) workOn(ctx context.Context, pool *pgxpool.Pool, replicaID string, w Wants, promote Promotion, claim claiming, want, look int) (pass Pass, seen int, err error) {
	alive := false
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // never fails: crypto/rand
	b := &pgx.Batch{}
	held := 0 // free runs whose task is paused or skipped: the next whole pass puts them aside
	if promote != PromoteNothing {
		b.Queue(promoteFree, replicaID).QueryRow(func(row pgx.Row) error {
			var picked int
			var next *float64
			if err := row.Scan(&alive, &picked, &pass.Promoted, &next); err != nil {
				return err
			}
			held = picked - pass.Promoted
			pass.More = pass.Promoted >= 1000
			pass.due(next)
			return nil
		})
		b.Queue(promoteRuns, promote == PromoteSweep).QueryRow(func(row pgx.Row) error {
			var promoted int
			var more bool
			var next *float64
			err := row.Scan(&promoted, &pass.Busy, &more, &next)
			if errors.Is(err, pgx.ErrNoRows) {
				return nil // nothing asked for it
			}
			pass.Promoted += promoted
			pass.More = pass.More || more
			pass.due(next)
			return err
		})
	}
	collect := func(rows pgx.Rows) error {
		var sure bool
		var err error
		pass.Claims, sure, seen, err = collectClaims(rows, secret)
		alive = alive || sure
		return err
	}
	args := []any{replicaID, secret[:], seconds(w.DefaultTimeout), list(w.Queues), list(w.Types), list(w.Databases), list(w.Commands)}
	switch claim {
	case claimAny:
		b.Queue(claimRuns, append(args, look, want)...).Query(collect)
	case claimFresh:
		b.Queue(claimPromoted, append(args, want)...).Query(collect)
	}
	if err := pool.SendBatch(ctx, b).Close(); err != nil {
		return Pass{}, 0, fmt.Errorf("promote and claim: %w", err)
	}
	if !alive {
		return pass, seen, ErrDead
	}
	if held > 0 {
		var more bool
		var next *float64
		if err := pool.QueryRow(ctx, promoteRuns, true).Scan(&held, &pass.Busy, &more, &next); err != nil {
			return pass, seen, fmt.Errorf("put paused runs aside: %w", err)
		}
		pass.More = pass.More || more
	}
	return pass, seen, nil
}

// due notes when the next PENDING run is due, in ms from now.
func (p *Pass) due(ms *float64) {
	if ms == nil {
		return
	}
	if d := time.Duration(min(*ms, 1e9) * float64(time.Millisecond)); p.NextDue == 0 || d < p.NextDue {
		p.NextDue = max(d, time.Microsecond)
	}
}

func collectClaims(rows pgx.Rows, secret [32]byte) (claims []Claim, alive bool, seen int, err error) {
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
		if err := rows.Scan(&alive, &seen, &id, &root, &task, &name, &plan, &attempt, &typ, &queue, &db, &version, &payload, &manual,
			&timeout, &progressTO); err != nil {
			return nil, false, 0, err
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
	return claims, alive, seen, rows.Err()
}
