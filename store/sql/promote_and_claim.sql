-- promote_and_claim
-- promote, and the claim of what it promotes in the same versions of the rows: what comes first of that, as far as a search of the
-- same transaction has left hashes (rowrun.claimed); the rest is AVAILABLE.
-- $1 text: the replica
-- $2 integer: how many runs and marks it takes on at once
-- $3 bytea: the hashes of the claims, 32 bytes each, one behind the other
-- $4 float8: timeout in s of runs whose task has none; 0: none
-- $5 text[]: queues that the replica serves
-- $6 text[]: types
-- $7 text[]: databases
-- $8 text[]: commands
-- Returns: at least one row: what promote does; then what claim_runs does, of claims
-- A replica that is paused or may not claim any more promotes without a claim; its row is locked before. What stands in
-- promote about the look holds here.
WITH asked AS MATERIALIZED (
    SELECT a.next_ms, a.marked OR a.due OR a.ungated AS work
    FROM (SELECT clock_timestamp() AS t) now CROSS JOIN LATERAL rowrun.asked_for(now.t) a
), me AS MATERIALIZED (
    SELECT h.paused_at FROM rowrun.replica_heartbeat h WHERE h.replica_id = $1 AND h.state = 'ACTIVE' AND (SELECT work FROM asked) FOR KEY SHARE
), pass AS MATERIALIZED (
    SELECT CASE WHEN asked.work THEN (SELECT count(*) FROM me) > 0
                ELSE EXISTS (SELECT FROM rowrun.replica_heartbeat h WHERE h.replica_id = $1 AND h.state = 'ACTIVE') END AS alive,
           asked.next_ms, p.pass, pg_current_xact_id_if_assigned()::text::bigint AS xid
    FROM asked LEFT JOIN LATERAL (
        SELECT rowrun.promote_runs(false, true, $2,
            (SELECT ROW($1, $3, coalesce(nullif(current_setting('rowrun.claimed', true), '')::integer, 0), $4, $5, $6, $7, $8)::rowrun.claim_request FROM me WHERE me.paused_at IS NULL)) AS pass WHERE asked.work
    ) p ON true
)
SELECT p.alive, pg_current_snapshot()::text || ':' || age('3'::xid), coalesce((p.pass).promoted, 0), coalesce((p.pass).busy, false), coalesce((p.pass).more, false),
       coalesce((p.pass).next_ms, p.next_ms),
       coalesce(cardinality((p.pass).claims), 0), p.alive,
       c.n, c.id, c.root_id, c.task_id, c.name, c.plan_id, c.attempt, c.type, c.queue, c.database_id, c.version, c.input, c.manual, c.timeout,
       c.task_type, c.alias_of, c.task_database_id, c.task_version, c.payload, c.state, c.traceparent, c.progress_timeout, c.failure_log_level,
       c.retry_of, c.created_at, c.available_at, c.started_at, p.xid
FROM pass p LEFT JOIN LATERAL unnest((p.pass).claims) c ON true
