-- claim_promoted
-- Hands a replica the runs that this very transaction has promoted, without a search: rowrun.note_promoted has noted them.
-- $1 text: the replica
-- $2 bytea: the hashes of the claims, 32 bytes each, one behind the other
-- $3 float8: timeout in s of runs whose task has none; 0: none
-- $4 text[]: queues that the replica serves
-- $5 text[]: types
-- $6 text[]: databases
-- $7 text[]: commands
-- $8 integer: how many at most; where there are more, none is handed over
-- Returns: at least one row: whether the replica may claim, how many candidates there were, what the search took in s, and how
-- many entries of the index it read; then the run, or NULLs
-- The replica's row has been locked since the promotion began.
WITH taken AS (
    UPDATE rowrun.task_run r
    SET status = 'RUNNING', prev_status = 'AVAILABLE', by_hand = NULL, hold = NULL, replica_id = $1,
        claim_hash = substring($2::bytea FROM 32 * (i.n::int - 1) + 1 FOR 32),
        started_at = now.t, updated_at = now.t,
        deadline = CASE WHEN coalesce(k.timeout, make_interval(secs => $3)) > interval '0'
                        THEN now.t + coalesce(k.timeout, make_interval(secs => $3)) END
    FROM (SELECT p.id, p.n FROM unnest(rowrun.promoted_now()) WITH ORDINALITY p(id, n)) i, rowrun.task k, (SELECT clock_timestamp() AS t) now
    WHERE k.id = r.task_id AND r.id = i.id AND cardinality(rowrun.promoted_now()) <= $8::int
      AND EXISTS (SELECT FROM rowrun.replica_heartbeat WHERE replica_id = $1 AND state = 'ACTIVE' AND paused_at IS NULL)
      AND coalesce(r.status, '') = 'AVAILABLE' AND r.queue = ANY ($4::text[]) AND r.type = ANY ($5::text[]) AND NOT k.paused
      AND rowrun.may_take(r, k, $6, $7)
    RETURNING r.id, i.n, r.root_id, r.task_id, k.name, r.plan_id, r.attempt, r.type, r.queue, coalesce(r.database_id, '') AS database_id,
        coalesce(r.version, '') AS version, rowrun.payload_of(r, k) AS payload, rowrun.unfit(r, k, r.type <> k.type
            AND NOT EXISTS (SELECT FROM rowrun.task_type a WHERE a.type = r.type AND a.alias_of = k.type)) AS unfit,
        r.failures = 0 AND r.recoveries = 0 AS manual,
        coalesce(r.input ->> 'traceparent', k.labels ->> 'traceparent') AS traceparent,
        extract(epoch FROM r.deadline - now.t)::float8 AS timeout, extract(epoch FROM k.progress_timeout)::float8 AS progress_timeout,
        nullif(k.failure_log_level, 'info') AS failure_log_level, r.priority, r.run_at, rowrun.transition(r) AS item
), said AS (
    SELECT count(*) AS n, rowrun.announce(array_agg(item)) FROM taken
)
SELECT false, said.n, 0::float8, 0::bigint, t.id, t.n, t.root_id, t.task_id, t.name, t.plan_id, t.attempt, t.type, t.queue, t.database_id,
       t.version, t.payload, t.unfit, t.manual, t.traceparent, t.timeout, t.progress_timeout, t.failure_log_level
FROM said LEFT JOIN taken t ON true
ORDER BY t.priority DESC, t.run_at, t.id
