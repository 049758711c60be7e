-- promote_next_of_plans
-- Fills the slots of plans of which runs have ended, and the claim of what it promotes in the same versions of the rows, as far as there are hashes.
-- $1 bigint[]: the tasks of the runs that have ended
-- $2 text: the replica
-- $3 bytea: the hashes of the claims, 32 bytes each, one behind the other; NULL: nothing is claimed
-- $4 float8: timeout in s of runs whose task has none; 0: none
-- $5 text[]: queues that the replica serves
-- $6 text[]: types
-- $7 text[]: databases that it has
-- $8 text[]: commands
-- $9 integer: how many runs of a plan it takes on at once
-- Returns: at least one row: how many runs were promoted, whether there is something for a pass; then what claim_runs does, of claims
-- The row of the replica was locked when the round trip began.
WITH me AS MATERIALIZED (
    SELECT FROM rowrun.replica_heartbeat h WHERE h.replica_id = $2 AND h.state = 'ACTIVE' AND h.paused_at IS NULL FOR KEY SHARE
), filled AS MATERIALIZED (
    SELECT a.*, pg_current_xact_id_if_assigned()::text::bigint AS xid FROM rowrun.promote_next_of_plans($1, $9, (SELECT ROW($2, $3, 0, $4, $5, $6, $7, $8)::rowrun.claim_request FROM me WHERE $3 IS NOT NULL)) a
)
SELECT a.promoted, a.marked,
       cardinality(a.claims), false,
       c.n, c.id, c.root_id, c.task_id, c.name, c.plan_id, c.attempt, c.type, c.queue, c.database_id, c.version, c.input, c.manual, c.timeout,
       c.task_type, c.alias_of, c.task_database_id, c.task_version, c.payload, c.state, c.traceparent, c.progress_timeout, c.failure_log_level,
       c.retry_of, c.created_at, c.available_at, c.started_at, a.xid
FROM filled a LEFT JOIN LATERAL unnest(a.claims) c ON true
