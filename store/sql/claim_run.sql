-- claim_run
-- claim_runs for one run, as one UPDATE: three quarters of the time.
-- $1 text: the replica
-- $2 bytea: the hash of the claim
-- $3 float8: timeout in s of a run whose task has none; 0: none
-- $4 text[]: queues that the replica serves
-- $5 text[]: types
-- $6 text[]: databases
-- $7 text[]: commands
-- Returns: whether the claim was notified; 1; true; then what claim_runs does. No row: nothing was AVAILABLE, somebody else is at
-- it, or the replica may not claim: claim_runs tells.
-- What stands in claim_runs about locks and places holds here. The run is picked in a part that is MATERIALIZED: a subquery in FROM may be
-- executed once for each row of another table, and locks another run each time, as the one before is RUNNING by then. Limits are asked about
-- for the run that was picked, so that it is locked by then; the replica's row is asked for once, before.
WITH picked AS MATERIALIZED (
    SELECT a.ctid AS place, a.cause = 'UNTOLD' AS untold
    FROM rowrun.task_run a
    WHERE a.ctid = ANY (ARRAY(
        SELECT c.place FROM unnest($4::text[]) q(queue)
        CROSS JOIN unnest($5::text[]) y(type)
        CROSS JOIN LATERAL (
            SELECT r.ctid AS place, r.priority, r.run_at, r.id
             FROM rowrun.task_run r
             JOIN rowrun.task k ON k.id = r.task_id
             LEFT JOIN rowrun.plan p ON p.id = r.plan_id
             WHERE r.status = 'AVAILABLE' AND r.queue = q.queue AND r.type = y.type
               AND NOT k.paused AND NOT k.skipped AND p.paused IS NOT TRUE
               AND rowrun.can_take(r, k, $6, $7)
             ORDER BY r.priority DESC, r.run_at, r.id LIMIT 4
        ) c
        ORDER BY c.priority DESC, c.run_at, c.id LIMIT 4))
      AND coalesce(a.status, '') = 'AVAILABLE'
    ORDER BY a.priority DESC, a.run_at, a.id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE rowrun.task_run r
SET status = 'RUNNING', prev_status = 'AVAILABLE', edited_directly = NULL, cause = NULL, replica_id = $1, claim_hash = $2,
    started_at = now.t, updated_at = greatest(now.t, r.updated_at + interval '1 us'),
    deadline = CASE WHEN coalesce(k.timeout, make_interval(secs => $3)) > interval '0'
                    THEN now.t + coalesce(k.timeout, make_interval(secs => $3)) END
FROM picked i, rowrun.task k, (SELECT clock_timestamp() AS t) now
WHERE k.id = r.task_id AND r.ctid = i.place
  AND (SELECT h.paused_at IS NULL FROM rowrun.replica_heartbeat h WHERE h.replica_id = $1 AND h.state = 'ACTIVE' FOR KEY SHARE)
  AND CASE WHEN i.place IS NOT NULL THEN NOT (rowrun.may_be_limited() AND rowrun.may_limit($4, $5)) END
RETURNING set_config('rowrun.claimed', '1', true) = '1' AND rowrun.announce_one(CASE WHEN i.untold THEN rowrun.arrival(r) || ',' ELSE '' END || rowrun.transition(r)), 1::bigint, true,
    1::bigint, r.id, r.root_id, r.task_id, k.name, r.plan_id, r.attempt, r.type, r.queue, r.database_id, r.version, r.input,
    r.failures = 0 AND r.recoveries = 0, date_part('epoch', r.deadline - now.t),
    k.type, CASE WHEN r.type <> k.type THEN (SELECT a.alias_of FROM rowrun.task_type a WHERE a.type = r.type) END,
    k.database_id, k.version, k.payload, k.state, k.labels ->> 'traceparent', date_part('epoch', k.progress_timeout), k.failure_log_level,
    r.retry_of, CASE WHEN r.run_at <= r.created_at THEN r.created_at END, r.available_at, r.started_at, pg_current_xact_id()::text::bigint
